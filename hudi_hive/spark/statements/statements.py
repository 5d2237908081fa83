"""Refuses statements that would change a synced Hudi table or its metastore entry, with a remedy.

Spark cannot carry them out without a catalog plugin of Hudi's; what it would do is fail with a stack trace, or write a
file that is in no commit. They are found in the parsed plan: at its root, below ``EXPLAIN`` and ``WITH``, in an insert
into several tables. Those that are carried out have been replaced before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from py4j.java_gateway import JavaObject

from hudi_hive.errors import SparkError
from hudi_hive.spark.bridge import JavaValue, Jvm, class_name, option, scala_items
from hudi_hive.spark.catalog import FORMATS, PROVIDER, HudiTableEntry, SessionHook, managed_tables, path_of_view
from hudi_hive.spark.scan import location_of
from hudi_hive.spark.versions import SPARK
from hudi_hive.table import is_hudi_table

WRITE_REMEDY = "use INSERT INTO a Hudi table, or hudi_hive.spark.write(df, path, options)"

SYNC_REMEDY = "sync the table with `hudi-hive sync` or hudi_hive.sync.HiveSyncTool"
_ALTER = ("ALTER TABLE", f"change the table with Hudi; then {SYNC_REMEDY}")
_PARTITION = "SHOW PARTITIONS lists them, `hudi-hive stats` tells files, bytes and rows by partition"

_REFUSED = {
    **dict.fromkeys(
        ("InsertIntoStatement", "AppendData", "OverwriteByExpression", "OverwritePartitionsDynamic"),
        ("INSERT", WRITE_REMEDY),
    ),
    "DeleteFromTable": ("DELETE", WRITE_REMEDY),
    "UpdateTable": ("UPDATE", WRITE_REMEDY),
    "MergeIntoTable": ("MERGE", WRITE_REMEDY),
    "LoadData": ("LOAD DATA", WRITE_REMEDY),
    "RenamePartitions": ("RENAME PARTITION", "UPDATE cannot move rows: insert them anew, then DROP PARTITION"),
    "DescribeTablePartition": ("DESCRIBE … PARTITION", _PARTITION),
    "ShowTablePartition": ("SHOW TABLE EXTENDED … PARTITION", _PARTITION),
    **dict.fromkeys(("ReplaceTable", "ReplaceTableAsSelect"), ("REPLACE TABLE in another format", "drop it first")),
    **dict.fromkeys(
        (
            "SetTableLocation",
            "SetTableSerDeProperties",
            "AlterTableClusterBy",
            "AlterTableCollation",
            "AddConstraint",
            "AddCheckConstraint",
            "DropConstraint",
        ),
        _ALTER,
    ),
}
"""Node of a parsed statement whose first argument is the table -> what it is called, what to do instead."""

_SESSION_CATALOG: Final = "spark_catalog"

_CHANGES_OF_ROWS: Final = frozenset({"UPDATE", "DELETE", "MERGE"})
"""Statements that Spark does not refuse by name on a view, as it does an INSERT."""

_ROW_CHANGES = _CHANGES_OF_ROWS | {"INSERT", "insertInto"}

_CREATES = frozenset({"CreateTable", "CreateTableAsSelect"})
_REPLACES = frozenset({"ReplaceTable", "ReplaceTableAsSelect"})

_CONTAINERS = frozenset({"ExplainCommand", "UnresolvedWith", "WithCTE"})

_OWN_SYNTAX = re.compile(
    r"\s*(?P<what>OPTIMIZE|VACUUM)\s+(?P<table>[\w.`]+|'[^']+')",
    re.IGNORECASE,
)


REFUSED = frozenset(_REFUSED)
"""Nodes of the statements that are refused."""

OTHERS: Final = frozenset({"DropNamespace", "InsertIntoDir"})
"""Nodes that are refused for what they would do to tables that they do not name."""


def check_statement(hook: SessionHook, plan: JavaValue) -> None:
    """Refuse a parsed statement that, itself or inside, would change a synced table.

    Args:
        hook: of the session.
        plan: as Spark's parser gives it.

    Raises:
        SparkError: with the table's path, and the API to use instead.
    """
    for kind, node in _statements(hook.environment.jvm, plan):
        if kind in _REPLACES and _is_hudi(node):
            continue  # which our rule of the analyser carries out
        if kind in _REFUSED:
            _check_target(hook, node, *_REFUSED[kind])
        if kind in _CREATES:
            _check_create(node)
        check = _CHECKS.get(kind)
        if check is not None:
            check(hook, node)


def check_syntax(hook: SessionHook, text: str) -> None:
    """Refuse by name a statement in syntax that Hudi's parser has and Spark's has not.

    Raises:
        SparkError: it is one, about a synced table or a path.
    """
    match = _OWN_SYNTAX.match(text)
    if match is None:
        return
    what = " ".join(match["what"].upper().split()[:2])
    table = match["table"]
    parts = ["hudi", table.strip("'")] if table[0] == "'" else [part.strip("`") for part in table.split(".")]
    found = synced_table(hook, parts)
    if found is not None:
        remedy = "run table services with Hudi; `hudi-hive timeline` shows what ran"
        raise SparkError(f"{what} on {found[0]}", path=found[1], remedy=remedy)


def check_name(hook: SessionHook, name: str, what: str, remedy: str = WRITE_REMEDY) -> None:
    """Refuse a method of PySpark that would change a synced table.

    Args:
        hook: of the session.
        name: as the method takes it, ``db.table``.
        what: what it would do.
        remedy: what to do instead.

    Raises:
        SparkError: it is a synced table, or a view of a path.
    """
    parser = hook.environment.jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
    parts = [str(part) for part in scala_items(parser.parseMultipartIdentifier(name))]
    _check_parts(hook, parts, what, remedy)


# -- one statement ---------------------------------------------------------------------------------------------------


def _check_target(hook: SessionHook, node: JavaValue, what: str, remedy: str) -> None:
    _check_parts(hook, target_of(node), what, remedy)


def _check_parts(hook: SessionHook, parts: list[str], what: str, remedy: str) -> None:
    table = synced_table(hook, parts)
    if table is None and parts and what in _ROW_CHANGES:
        path = path_of_view(hook.environment.jvm, hook.session, parts)
        table = None if path is None else (f"the view {'.'.join(parts)} of a Hudi table", path)
    if table is not None:
        raise SparkError(f"{what} on {table[0]}", path=table[1], remedy=remedy)
    if what in _CHANGES_OF_ROWS and _is_view(hook, parts):
        raise SparkError(
            f"{what} on {'.'.join(parts)}, which is a view and keeps no rows",
            remedy="name the table that the view reads",
        )


def _is_view(hook: SessionHook, parts: list[str]) -> bool:
    """Whether a name stands for a view of the session or of its catalog."""
    catalog, seq = hook.session.sessionState().catalog(), hook.environment.jvm.seq
    if not parts or not (_in_session_catalog(hook, parts) or catalog.isTempView(seq(parts))):
        return False
    return bool(catalog.isView(seq(parts[-2:])))


def entry_of(hook: SessionHook, parts: list[str]) -> HudiTableEntry | None:
    """The catalog's entry of a table that a statement names; None for a table by path."""
    return None if _is_path(parts) else hook.find(parts[-2] if len(parts) > 1 else None, parts[-1])


def _in_session_catalog(hook: SessionHook, parts: list[str]) -> bool:
    """Whether a name is one of the session catalog's: it says so, or that is the current catalog."""
    if len(parts) > 2:
        return parts[0].lower() == _SESSION_CATALOG
    return str(hook.session.sessionState().catalogManager().currentCatalog().name()) == _SESSION_CATALOG


def _is_path(parts: list[str]) -> bool:
    return len(parts) > 1 and parts[-2].lower() == PROVIDER and "/" in parts[-1]


def synced_table(hook: SessionHook, parts: list[str]) -> tuple[str, str] | None:
    """What a name in a statement stands for, and the base path; None when it is no synced table and no path."""
    if not parts or not _in_session_catalog(hook, parts):
        return None
    if _is_path(parts):
        return "a Hudi table by path", location_of(parts[-1])
    entry = hook.find(parts[-2] if len(parts) > 1 else None, parts[-1])
    return None if entry is None else (f"the Hudi table {entry.declared.name}", entry.location)


def _check_create(node: JavaValue) -> None:
    if _is_hudi(node):
        raise SparkError(
            f"CREATE TABLE {'.'.join(target_of(node))} USING hudi", remedy="run it as a statement of its own"
        )


def _is_hudi(node: JavaValue) -> bool:
    """Whether a statement makes a Hudi table."""
    return str(option(node.tableSpec().provider()) or "").lower() in FORMATS


def _check_described(hook: SessionHook, node: JavaValue) -> None:
    """Before Spark 4.2 the description of a partition is that of its table with more arguments."""
    if SPARK.element_name(node, 1) == "partitionSpec" and not node.productElement(1).isEmpty():
        _check_target(hook, node, *_REFUSED["DescribeTablePartition"])


def _check_create_like(hook: SessionHook, node: JavaValue) -> None:
    """Without a format, the new table has that of the old one."""
    source = node.productElement(1)
    parts = identifier_of(source)
    table = synced_table(hook, parts)
    provider = str(option(node.provider()) or "").lower()
    if provider in FORMATS or (table is not None and not provider):
        raise SparkError(
            "CREATE TABLE LIKE would make an entry of a Hudi table without the table",
            path=None if table is None else table[1],
            remedy="name another format (USING parquet), or use CREATE TABLE … USING parquet AS SELECT",
        )


def _check_directory(hook: SessionHook, node: JavaValue) -> None:
    """``INSERT OVERWRITE DIRECTORY`` empties the folder first."""
    storage, provider = node.productElement(1), option(node.productElement(2))
    location = option(storage.locationUri())
    if str(provider or "").lower() in FORMATS:
        raise SparkError("INSERT OVERWRITE DIRECTORY USING hudi", remedy=WRITE_REMEDY)
    text = "" if location is None else str(location.toString())
    place = location_of(text) if text else ""
    if text and is_hudi_table(place, hook.environment.store_options(hook.session, place)):
        raise SparkError(
            "INSERT OVERWRITE DIRECTORY would delete a Hudi table",
            path=text,
            remedy="write to another folder",
        )


def _check_drop_database(hook: SessionHook, node: JavaValue) -> None:
    """Of a database, with ``CASCADE``."""
    parts = target_of(node)
    if parts and node.productElement(2):
        _refuse_managed("DROP DATABASE", managed_tables(hook.environment.jvm, hook.session, parts))


def _refuse_managed(what: str, tables: list[tuple[str, str]]) -> None:
    """The metastore deletes the data of a managed table with its entry."""
    if tables:
        name, location = tables[0]
        raise SparkError(
            f"{what} would delete the data of {name}, which is a managed table in the metastore",
            path=location,
            remedy="drop the entry alone with hudi_hive.metastore.HiveMetastore.drop_table; delete data with Hudi",
        )


_CHECKS: dict[str, Callable[[SessionHook, JavaValue], None]] = {
    "CreateTableLike": _check_create_like,
    "CreateTableLikeCommand": _check_create_like,
    "DescribeRelation": _check_described,
    "DescribeRelationJsonCommand": _check_described,
    "DropNamespace": _check_drop_database,
    "InsertIntoDir": _check_directory,
}


# -- parsed plans ----------------------------------------------------------------------------------------------------


def target_of(plan: JavaValue) -> list[str]:
    """Name of the table that a statement is about: the first argument of all these nodes."""
    node = plan if class_name(plan).startswith("Unresolved") else plan.productElement(0)
    while class_name(node) in ("SubqueryAlias", "Filter"):
        node = node.child()
    if not class_name(node).startswith("Unresolved"):
        return []
    for method in ("multipartIdentifier", "nameParts"):
        if any(item.getName() == method for item in node.getClass().getMethods()):
            return [str(part) for part in scala_items(getattr(node, method)())]
    return []


def identifier_of(identifier: JavaValue) -> list[str]:
    """The name of a table that an argument of a statement is: a plan, or an identifier in older releases of Spark."""
    if class_name(identifier) != "TableIdentifier":
        return target_of(identifier)
    database = option(identifier.database())
    return [*([] if database is None else [str(database)]), str(identifier.table())]


def _statements(jvm: Jvm, plan: JavaValue) -> Iterator[tuple[str, JavaValue]]:
    """The statements in a parsed plan with the names of their classes."""
    kind = class_name(plan)
    if kind in _CONTAINERS:
        for index in range(plan.productArity()):
            yield from _inside(jvm, plan.productElement(index))
    elif kind == "Union":
        # An insert into several tables is a union of inserts.
        children = list(scala_items(plan.children()))
        if class_name(children[0]) == "InsertIntoStatement":
            yield from (("InsertIntoStatement", child) for child in children)
    else:
        yield kind, plan


def _inside(jvm: Jvm, item: JavaValue) -> Iterator[tuple[str, JavaValue]]:
    """Statements in an argument of a container: a plan, or an option or sequence of plans."""
    if not isinstance(item, JavaObject):
        return
    if jvm.class_("org.apache.spark.sql.catalyst.plans.logical.LogicalPlan").isInstance(item):
        yield from _statements(jvm, item)
    elif jvm.class_("scala.collection.Iterable").isInstance(item) or jvm.class_("scala.Option").isInstance(item):
        for inner in scala_items(item):
            yield from _inside(jvm, inner)
