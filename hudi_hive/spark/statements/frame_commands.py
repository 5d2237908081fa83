"""Commands of DataFrames about Hudi tables, which do not come from the parser, as the statements that mean the same.

``saveAsTable``, ``insertInto``, ``writeTo``, ``mergeInto`` and ``Catalog.createTable`` hand Spark's analyser a plan,
whoever calls them: PySpark, or code of the session's JVM. A rule of the analyser shows it to us first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pyspark.errors import PySparkException

from hudi_hive.errors import SparkError
from hudi_hive.options.write import OVERWRITE_MODE
from hudi_hive.spark.bridge import Function1, JavaValue, class_name, option, quoted, scala_items
from hudi_hive.spark.catalog import FORMATS, SessionHook
from hudi_hive.spark.statements.procedures import selected_call
from hudi_hive.spark.statements.rewrite import STATEMENTS, rewrite_statements, write_target
from hudi_hive.spark.statements.scripts import STATEMENT, with_name
from hudi_hive.spark.statements.statements import (
    OTHERS,
    REFUSED,
    check_statement,
    identifier_of,
    synced_table,
    target_of,
)
from hudi_hive.spark.statements.time_travel import rewrite_time_travel
from hudi_hive.spark.statements.writes import (
    Nodes,
    WriteTarget,
    alias_of,
    left_table,
    name_of_new_table,
    overwrite_where_plan,
    replace_as_plan,
    replace_plan,
    with_arguments,
)
from hudi_hive.spark.versions import SPARK, SUPPORTED, AnalyzerRule

LABEL: Final = "hudi_hive.CommandRule"
SOURCE: Final = "hudi_hive_source"
"""What the rows of a merge are called where the DataFrame has no alias."""

LAST_LABEL: Final = "hudi_hive.LastCommandRule"
COMMAND_RULES: Final = (LABEL, LAST_LABEL)

_SPARKS_OWN: Final = (
    "AlterTableAddPartitionCommand",
    "AlterTableDropPartitionCommand",
    "AlterTableRenamePartitionCommand",
    "AlterTableSetLocationCommand",
    "DropTableCommand",
    "InsertIntoHadoopFsRelationCommand",
    "LoadDataCommand",
    "RepairTableCommand",
    "TruncateTableCommand",
)
"""Spark's commands that would change files behind the timeline, or entries of Hudi tables."""


def install_command_rule(hook: SessionHook) -> None:
    """Have a session's analyser show us its commands. Idempotent.

    Args:
        hook: of the session.
    """
    jvm = hook.environment.jvm
    names = jvm.strings(sorted({*_CONVERSIONS, *STATEMENTS, *REFUSED}))
    first = (LABEL, names, jvm.strings(sorted(OTHERS)), STATEMENT, Function1(lambda plan: converted(hook, plan)))
    own = jvm.strings(_SPARKS_OWN)
    last = (LAST_LABEL, jvm.strings([]), own, STATEMENT, Function1(lambda plan: _without_sparks_own(hook, plan)))
    rules = [AnalyzerRule(each[0], functools.partial(jvm.made, "CommandRule", *each)) for each in (first, last)]
    SPARK.add_analyzer_rules(jvm, hook.session, *rules)


def _without_sparks_own(hook: SessionHook, plan: JavaValue) -> JavaValue:
    """Refuse a command of Spark's own about a Hudi table, which came past the statements that mean it.

    Raises:
        SparkError: it is one.
    """
    if class_name(plan) == "DropTableCommand" and plan.isView():
        return plan  # which Spark refuses of a table
    values = [plan.productElement(at) for at in range(plan.productArity())]
    values = [option(one) if class_name(one) == "Some" else one for one in values]
    named = [one.identifier() if class_name(one) == "CatalogTable" else one for one in values]
    for identifier in (one for one in named if class_name(one) == "TableIdentifier"):
        table = synced_table(hook, identifier_of(identifier))
        if table is not None:
            raise SparkError(
                f"{class_name(plan)} of Spark on {table[0]}",
                path=table[1],
                remedy="write the table's name into the statement, and run it by itself",
            )
    return plan


def converted(hook: SessionHook, plan: JavaValue) -> JavaValue:
    """The command in the place of one about a Hudi table; others stay as they are.

    Args:
        hook: of the session.
        plan: before its names are resolved.

    Raises:
        SparkError: it asks for what cannot be done.
    """
    hook.begin_statement()
    if class_name(plan) == "UnresolvedHint":
        return _of_script(hook, plan.child())
    named = with_name(hook, plan, computes=True)
    changed = _converted(hook, named)
    return plan if changed is named else changed


def _of_script(hook: SessionHook, plan: JavaValue) -> JavaValue:
    """A statement of a script, which runs now; of a ``CALL`` a query of its rows, as scripts show no others."""
    named = with_name(hook, plan, computes=True)
    changed = selected_call(hook, named) if class_name(named) == "Call" else _converted(hook, named)
    changed = plan if changed is named else changed
    if class_name(changed) == "ExplainCommand":  # whose statement is no child of it
        explained = rewrite_time_travel(hook, changed.logicalPlan())
        return with_arguments(hook.environment.jvm, changed, {"logicalPlan": explained})
    return rewrite_time_travel(hook, changed)


def _converted(hook: SessionHook, plan: JavaValue) -> JavaValue:
    kind = class_name(plan)
    if kind == "CreateTable" and class_name(plan.productElement(0)) == "CatalogTable":
        changed = _save_as_table(hook, plan)
        return plan if changed is plan else rewrite_statements(hook, changed)
    convert = _CONVERSIONS.get(kind)
    changed = plan if convert is None else convert(hook, plan)
    changed = rewrite_statements(hook, changed)
    if changed is plan:
        check_statement(hook, plan)
    return changed


# -- insert ------------------------------------------------------------------------------------------------------------


def insert_statement(
    hook: SessionHook,
    parts: Sequence[str],
    query: JavaValue,
    options: Mapping[str, str],
    *,
    overwrites: bool = False,
    by_name: bool = True,
) -> JavaValue:
    """``INSERT INTO`` or ``INSERT OVERWRITE`` of a query's rows, as the parser gives it.

    Args:
        hook: of the session.
        parts: name of the table.
        query: a plan.
        options: of the write.
        overwrites: the rows replace others.
        by_name: columns go by their names, in place of their positions.
    """
    jvm = hook.environment.jvm
    what = "OVERWRITE TABLE" if overwrites else "INTO"
    node = _parsed(hook, f"INSERT {what} {quoted(*parts)} {'BY NAME ' if by_name else ''}SELECT 1")
    texts = jvm.view.java.util.HashMap()
    for name, text in options.items():
        texts.put(name, text)
    case_insensitive = jvm.view.org.apache.spark.sql.util.CaseInsensitiveStringMap(texts)
    relation = with_arguments(jvm, node.table(), {"options": case_insensitive})
    return with_arguments(jvm, node, {"table": relation, "query": query})


def _append(hook: SessionHook, plan: JavaValue) -> JavaValue:
    parts = _of_hudi(hook, plan)
    return plan if parts is None else insert_statement(hook, parts, plan.query(), _texts(plan.writeOptions()))


def _overwrite_partitions(hook: SessionHook, plan: JavaValue) -> JavaValue:
    parts = _of_hudi(hook, plan)
    if parts is None:
        return plan
    options = {**_texts(plan.writeOptions()), OVERWRITE_MODE.name: "DYNAMIC"}
    return insert_statement(hook, parts, plan.query(), options, overwrites=True)


def _overwrite(hook: SessionHook, plan: JavaValue) -> JavaValue:
    parts = _of_hudi(hook, plan)
    if parts is None:
        return plan
    condition = plan.deleteExpr()
    if class_name(condition) == "Literal" and condition.value() is True:
        options = {**_texts(plan.writeOptions()), OVERWRITE_MODE.name: "STATIC"}
        return insert_statement(hook, parts, plan.query(), options, overwrites=True)
    named = insert_statement(hook, parts, plan.query(), _texts(plan.writeOptions()))
    target = write_target(hook, named)
    assert target is not None
    return overwrite_where_plan(target, named, condition)


def _of_hudi(hook: SessionHook, plan: JavaValue) -> list[str] | None:
    """The name of the Hudi table that a command is about; None for others."""
    parts = target_of(plan)
    return parts if parts and synced_table(hook, parts) is not None else None


# -- merge -------------------------------------------------------------------------------------------------------------


def _merge(hook: SessionHook, plan: JavaValue) -> JavaValue:
    """A merge whose source has a name."""
    if _of_hudi(hook, plan) is None or alias_of(plan.sourceTable()):
        return plan
    jvm = hook.environment.jvm
    return with_arguments(jvm, plan, {"sourceTable": Nodes(jvm).named(plan.sourceTable(), SOURCE)})


# -- create and replace ------------------------------------------------------------------------------------------------


def _save_as_table(hook: SessionHook, plan: JavaValue) -> JavaValue:
    """What ``saveAsTable`` makes: a new table, or rows for one that is there."""
    description, query = plan.tableDesc(), option(plan.query())
    identifier = description.identifier()
    database = option(identifier.database())
    parts = [*([] if database is None else [str(database)]), str(identifier.table())]
    provider = str(option(description.provider()) or "").lower()
    table = synced_table(hook, parts)
    exists = table is not None and str(plan.mode().name()) == "Append"
    if query is None or (provider not in FORMATS and not exists):
        return plan
    if table is not None and provider not in FORMATS:
        raise SparkError(
            f"saveAsTable writes {provider} to {table[0]}",
            path=table[1],
            remedy='name the format: write.format("hudi")',
        )
    columns = [str(name) for name in scala_items(description.partitionColumnNames())]
    if option(description.bucketSpec()) is not None:
        raise SparkError(
            f"saveAsTable of the Hudi table {'.'.join(parts)} with bucketBy",
            remedy="leave bucketBy out; hoodie.index.type=BUCKET and hoodie.bucket.index.num.buckets make buckets",
        )
    storage = description.storage()
    texts, place = _texts(storage.properties()), option(storage.locationUri())
    if exists:
        _check_partitions(hook, parts, columns)
        return insert_statement(hook, parts, query, texts)
    made = create_as(hook, parts, query, texts, columns, None if place is None else str(place.toString()))
    return with_arguments(hook.environment.jvm, made, {"ignoreIfExists": str(plan.mode().name()) == "Ignore"})


def create_as(
    hook: SessionHook,
    parts: Sequence[str],
    query: JavaValue,
    properties: Mapping[str, str],
    partition_columns: Sequence[str],
    location: str | None,
) -> JavaValue:
    """``CREATE TABLE … USING hudi AS SELECT``, as the parser gives it."""
    jvm = hook.environment.jvm
    columns = ", ".join(quoted(name) for name in partition_columns)
    partitioned = f"PARTITIONED BY ({columns}) " if columns else ""
    node = _parsed(hook, f"CREATE TABLE {quoted(*parts)} USING hudi {partitioned}AS SELECT 1")
    place = jvm.none() if location is None else jvm.some(location)
    specification = with_arguments(jvm, node.tableSpec(), {"properties": jvm.map(dict(properties)), "location": place})
    return with_arguments(jvm, node, {"query": query, "tableSpec": specification})


def _create_as(hook: SessionHook, plan: JavaValue) -> JavaValue:
    """``writeTo(…).create()``: options of the writer are table properties; ``path`` is the place."""
    specification = plan.tableSpec()
    options = _texts(plan.writeOptions())
    if str(option(specification.provider()) or "").lower() not in FORMATS or not options:
        return plan
    jvm = hook.environment.jvm
    place = options.pop("path", None)
    changes = {"properties": jvm.map({**options, **_texts(specification.properties())})}
    if place is not None:
        changes["location"] = jvm.some(place)
    changed = with_arguments(jvm, specification, changes)
    return with_arguments(jvm, plan, {"tableSpec": changed, "writeOptions": jvm.map({})})


def _replace_as(hook: SessionHook, plan: JavaValue) -> JavaValue:
    """``writeTo(…).replace()`` and ``createOrReplace()``."""
    if str(option(plan.tableSpec().provider()) or "").lower() not in FORMATS:
        return plan
    plan = _create_as(hook, plan)
    parts = name_of_new_table(plan)
    changes = {name: getattr(plan, name)() for name in ("partitioning", "query", "tableSpec")}
    new = _parsed(hook, f"CREATE TABLE {quoted(*parts)} USING hudi AS SELECT 1")
    return replaced(hook, with_arguments(hook.environment.jvm, new, changes), creates=bool(plan.orCreate()))


def _replace(hook: SessionHook, plan: JavaValue) -> JavaValue:
    """``REPLACE TABLE`` without a query."""
    if str(option(plan.tableSpec().provider()) or "").lower() not in FORMATS:
        return plan
    parts = name_of_new_table(plan)
    changes = {name: getattr(plan, name)() for name in (SPARK.element_name(plan, 1), "partitioning", "tableSpec")}
    new = _parsed(hook, f"CREATE TABLE {quoted(*parts)} (a INT) USING hudi")
    return replaced(hook, with_arguments(hook.environment.jvm, new, changes), creates=bool(plan.orCreate()))


def replaced(hook: SessionHook, new: JavaValue, *, creates: bool) -> JavaValue:
    """A new table in the place of the one of its name.

    Args:
        hook: of the session.
        new: a parsed ``CreateTableAsSelect``, or ``CreateTable``.
        creates: the table need not be there.

    Raises:
        SparkError: it is not there, or is no Hudi table.
    """
    parts = name_of_new_table(new)
    if synced_table(hook, parts) is not None:
        target = write_target(hook, insert_statement(hook, parts, _parsed(hook, "SELECT 1"), {}))
        assert target is not None
        return _in_place_of(target, new)
    exists = bool(hook.session.catalog().tableExists(quoted(*parts)))
    if exists or not creates:
        what = "is no Hudi table" if exists else "is not there"
        raise SparkError(f"{'.'.join(parts)} cannot be replaced: it {what}", remedy="drop it first, or create it")
    left = left_table(hook, new)
    return new if left is None else _in_place_of(left, new)


def _in_place_of(target: WriteTarget, new: JavaValue) -> JavaValue:
    return replace_plan(target, new) if class_name(new) == "CreateTable" else replace_as_plan(target, new)


def _check_partitions(hook: SessionHook, parts: list[str], columns: Sequence[str]) -> None:
    """Refuse partition columns that are not the table's.

    Raises:
        SparkError: others are named.
    """
    if not columns:
        return
    target = write_target(hook, insert_statement(hook, parts, _parsed(hook, "SELECT 1"), {}))
    assert target is not None
    if [name.lower() for name in columns] != [name.lower() for name in target.partition_columns]:
        raise SparkError(
            f"{target.name} is partitioned by ({', '.join(target.partition_columns)}), not by ({', '.join(columns)})",
            path=target.location,
            remedy="leave partitionBy out: the table knows its partition columns",
        )


# -- plans -------------------------------------------------------------------------------------------------------------


def _parsed(hook: SessionHook, text: str) -> JavaValue:
    parser = hook.environment.jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
    try:
        return parser.parsePlan(text)
    except PySparkException as error:
        raise SparkError(f"Spark does not parse {text}", remedy=f"use {SUPPORTED}") from error


def _texts(options: JavaValue) -> dict[str, str]:
    """A map of Scala."""
    return {str(item._1()): str(item._2()) for item in scala_items(options)}


_CONVERSIONS: Final[dict[str, Callable[[SessionHook, JavaValue], JavaValue]]] = {
    "AppendData": _append,
    "OverwriteByExpression": _overwrite,
    "OverwritePartitionsDynamic": _overwrite_partitions,
    "MergeIntoTable": _merge,
    "CreateTableAsSelect": _create_as,
    "ReplaceTable": _replace,
    "ReplaceTableAsSelect": _replace_as,
}
"""Commands that statements have another form for."""

__all__ = ["converted", "create_as", "insert_statement", "install_command_rule", "replaced"]
