"""Replaces statements that write or define Hudi tables by plans that carry them out, wherever they stand in a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from hudi_hive.errors import SparkError
from hudi_hive.spark.bridge import JavaValue, class_name, option, scala_items
from hudi_hive.spark.catalog import FORMATS, SessionHook
from hudi_hive.spark.statements.definitions import (
    DEFINITIONS,
    index_statement,
    refresh_index_plan,
    show_indexes_plan,
)
from hudi_hive.spark.statements.procedures import call_plan
from hudi_hive.spark.statements.scripts import deferred_statements, is_script, with_name
from hudi_hive.spark.statements.statements import entry_of, identifier_of, synced_table, target_of
from hudi_hive.spark.statements.writes import (
    WriteTarget,
    checked_options,
    create_as_plan,
    create_like_plan,
    create_plan,
    delete_plan,
    insert_plan,
    merge_plan,
    update_plan,
    with_arguments,
)
from hudi_hive.spark.versions import SPARK

_WRITES: Final[dict[str, Callable[[WriteTarget, JavaValue], JavaValue]]] = {
    "InsertIntoStatement": insert_plan,
    "UpdateTable": update_plan,
    "DeleteFromTable": delete_plan,
    "MergeIntoTable": merge_plan,
}
_CREATES: Final = {"CreateTable": create_plan, "CreateTableAsSelect": create_as_plan}
_LIKES: Final = frozenset({"CreateTableLike", "CreateTableLikeCommand"})
_INSERT_ARGUMENTS: Final = (
    "table",
    "partitionSpec",
    "userSpecifiedCols",
    "query",
    "overwrite",
    "ifPartitionNotExists",
    "byName",
    "withSchemaEvolution",
    "replaceCriteriaOpt",
)
_INSIDE: Final = {"ExplainCommand": "logicalPlan", "UnresolvedWith": "child", "WithCTE": "plan"}
"""Node -> its argument that is a statement."""

_CHANGES_OF_DATA: Final = frozenset({*_WRITES, "AddPartitions", "DropPartitions", "TruncatePartition", "TruncateTable"})
"""Statements that the table of base files alone does not take."""


def rewrite_statements(hook: SessionHook, plan: JavaValue, around: JavaValue | None = None) -> JavaValue:
    """The plan with each statement that writes or defines a Hudi table as one that Spark carries out with us.

    Args:
        hook: of the session.
        plan: as Spark's parser gives it.
        around: the WITH clause that it stands in.

    Raises:
        SparkError: a statement asks for what cannot be done.
    """
    jvm = hook.environment.jvm
    if is_script(jvm, plan):
        return deferred_statements(jvm, plan)
    plan = with_name(hook, plan, computes=False)
    kind = class_name(plan)
    if kind in _INSIDE:
        inner = getattr(plan, _INSIDE[kind])()
        changed = rewrite_statements(hook, inner, plan if kind == "UnresolvedWith" else around)
        return plan if changed is inner else with_arguments(jvm, plan, {_INSIDE[kind]: changed})
    if kind == "Union" and class_name(next(scala_items(plan.children()))) == "InsertIntoStatement":
        # An insert into several tables.
        parts = [rewrite_statements(hook, child, around) for child in scala_items(plan.children())]
        return with_arguments(jvm, plan, {"children": jvm.seq(parts)})
    if kind == "Call":
        return call_plan(hook, plan)
    if kind in _CREATES and str(option(plan.tableSpec().provider()) or "").lower() in FORMATS:
        return _CREATES[kind](hook, plan)
    if kind in _LIKES:
        return _create_like(hook, plan)
    if kind in _WRITES and _is_plain(plan):
        target = write_target(hook, plan, around)
        return plan if target is None else _WRITES[kind](target, plan)
    if kind in DEFINITIONS:
        target = write_target(hook, plan)
        return plan if target is None else DEFINITIONS[kind](target, plan)
    return plan


def _create_like(hook: SessionHook, plan: JavaValue) -> JavaValue:
    """The plan itself for a table of another format that is made like another."""
    parts = identifier_of(plan.productElement(1))
    entry = None if len(parts) > 2 and parts[0].lower() != "spark_catalog" else entry_of(hook, parts)
    provider = option(plan.provider())
    is_hudi = entry is not None if provider is None else str(provider).lower() in FORMATS
    return create_like_plan(hook, plan, entry) if is_hudi else plan


def index_plan(hook: SessionHook, text: str) -> JavaValue | None:
    """The plan of a statement on indexes that Spark's parser does not know; None for other texts and tables.

    Args:
        hook: of the session.
        text: of the statement.
    """
    statement = index_statement(text)
    if statement is None:
        return None
    what, name = statement
    parser = hook.environment.jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
    try:
        parts = [str(part) for part in scala_items(parser.parseMultipartIdentifier(name))]
    except (PySparkException, Py4JJavaError):
        return None
    target = _target_named(hook, parts)
    if target is None:
        return None
    return show_indexes_plan(target) if what == "SHOW" else refresh_index_plan(target)


def _is_plain(node: JavaValue) -> bool:
    """Whether a statement names its table, and asks for nothing that is not carried out; others are refused by name."""
    table = node.productElement(0)
    while class_name(table) == "SubqueryAlias":
        table = table.child()
    if class_name(table) not in ("UnresolvedRelation", "UnresolvedTable"):
        return False
    if class_name(node) != "InsertIntoStatement":
        return True
    arguments = {SPARK.element_name(node, at): node.productElement(at) for at in range(node.productArity())}
    further = {name: value for name, value in arguments.items() if name not in _INSERT_ARGUMENTS}
    return all(str(value) in ("False", "None") for value in further.values())


def write_target(hook: SessionHook, node: JavaValue, around: JavaValue | None = None) -> WriteTarget | None:
    """The Hudi table that a statement is about, with the options that it gives; None for other tables.

    Args:
        hook: of the session.
        node: a parsed statement that writes a table.
        around: the WITH clause that it stands in.

    Raises:
        InvalidOptionError: an option that writes do not have.
        SparkError: the table shows base files only.
    """
    target = _target_named(hook, target_of(node))
    if target is None:
        return None
    if class_name(node) in _CHANGES_OF_DATA and target.entry is not None and target.entry.read_optimized:
        raise SparkError(
            f"{target.name} shows base files only and is not written",
            path=target.location,
            remedy="write to the table's other name",
        )
    target = replace(target, options=_options(node, target.location), around=around)
    if class_name(node) in _WRITES:
        _ = target.client  # before anything of it is read
    return target


def _target_named(hook: SessionHook, parts: list[str]) -> WriteTarget | None:
    """The Hudi table of a name; None for other tables."""
    table = synced_table(hook, parts)
    return None if table is None else WriteTarget(hook, ".".join(parts), table[1], entry_of(hook, parts))


def _options(node: JavaValue, location: str) -> dict[str, str]:
    """What ``WITH (…)``, or the writer of a DataFrame, says of one write."""
    relation = node.productElement(0)
    while class_name(relation) == "SubqueryAlias":
        relation = relation.child()
    if class_name(relation) != "UnresolvedRelation":
        return {}
    texts = dict(relation.options().asCaseSensitiveMap())
    return checked_options({str(name): str(text) for name, text in texts.items()}, location)


STATEMENTS: Final = frozenset({*_WRITES, *_CREATES, *_LIKES, *DEFINITIONS})
"""Nodes of statements that are carried out; which table they are about is their first argument."""

__all__ = ["STATEMENTS", "index_plan", "rewrite_statements", "write_target"]
