"""Replaces statements that write Hudi tables by plans that carry them out, wherever they stand in a parsed plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from py4j.java_gateway import JavaObject

from hudi_hive.errors import SparkError
from hudi_hive.spark.bridge import JavaValue, class_name, option, scala_items
from hudi_hive.spark.catalog import FORMATS, SessionHook
from hudi_hive.spark.statements.procedures import call_plan, selected_call
from hudi_hive.spark.statements.statements import entry_of, identifier_of, synced_table, target_of
from hudi_hive.spark.statements.writes import (
    WriteTarget,
    create_as_plan,
    create_like_plan,
    create_plan,
    delete_plan,
    insert_plan,
    merge_plan,
    truncate_plan,
    update_plan,
    with_arguments,
)

_WRITES: Final[dict[str, Callable[[WriteTarget, JavaValue], JavaValue]]] = {
    "InsertIntoStatement": insert_plan,
    "UpdateTable": update_plan,
    "DeleteFromTable": delete_plan,
    "MergeIntoTable": merge_plan,
    "TruncateTable": truncate_plan,
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
)
_SCRIPTS: Final = frozenset({"CompoundBody", "ExceptionHandler"})
_INSIDE: Final = {"ExplainCommand": "logicalPlan", "UnresolvedWith": "child"}
"""Node -> its argument that is a statement."""


def rewrite_writes(hook: SessionHook, plan: JavaValue) -> JavaValue:
    """The plan with each statement that writes a Hudi table as one that Spark carries out with us.

    Args:
        hook: of the session.
        plan: as Spark's parser gives it.

    Raises:
        SparkError: a statement asks for what cannot be done.
    """
    kind = class_name(plan)
    jvm = hook.environment.jvm
    if kind in _INSIDE:
        inner = getattr(plan, _INSIDE[kind])()
        changed = rewrite_writes(hook, inner)
        return plan if changed is inner else with_arguments(jvm, plan, {_INSIDE[kind]: changed})
    if kind == "Union" and class_name(next(scala_items(plan.children()))) == "InsertIntoStatement":
        # An insert into several tables.
        parts = [rewrite_writes(hook, child) for child in scala_items(plan.children())]
        return with_arguments(jvm, plan, {"children": jvm.seq(parts)})
    if kind == "Call":
        return call_plan(hook, plan)
    if kind == "CompoundBody":
        return _calls_of_script(hook, plan)
    if kind in _CREATES and str(option(plan.tableSpec().provider()) or "").lower() in FORMATS:
        return _CREATES[kind](hook, plan)
    if kind in _LIKES:
        return _create_like(hook, plan)
    if kind in _WRITES and _is_plain(plan):
        target = _target(hook, plan)
        return plan if target is None else _WRITES[kind](target, plan)
    return plan


def _calls_of_script(hook: SessionHook, part: JavaValue) -> JavaValue:
    """A part of a script with each ``CALL`` in it as one that we carry out; the part itself without any."""
    jvm = hook.environment.jvm
    if not isinstance(part, JavaObject):
        return part
    if jvm.class_("scala.Option").isInstance(part):
        inner = option(part)
        changed = _calls_of_script(hook, inner)
        return part if changed is inner else jvm.some(changed)
    if jvm.class_("scala.collection.Seq").isInstance(part):
        parts = list(scala_items(part))
        each = [_calls_of_script(hook, one) for one in parts]
        return part if all(new is old for new, old in zip(each, parts, strict=True)) else jvm.seq(each)
    if not jvm.class_("org.apache.spark.sql.catalyst.plans.logical.LogicalPlan").isInstance(part):
        return part
    kind = class_name(part)
    if kind == "Call":
        return selected_call(hook, part)
    if kind not in _SCRIPTS and (not kind.endswith("Statement") or kind == "InsertIntoStatement"):
        return part
    arguments = {str(part.productElementName(at)): part.productElement(at) for at in range(part.productArity())}
    replaced = {name: _calls_of_script(hook, value) for name, value in arguments.items()}
    if all(replaced[name] is value for name, value in arguments.items()):
        return part
    return with_arguments(jvm, part, replaced)


def _create_like(hook: SessionHook, plan: JavaValue) -> JavaValue:
    """The plan itself for a table of another format that is made like another."""
    parts = identifier_of(plan.productElement(1))
    entry = None if len(parts) > 2 and parts[0].lower() != "spark_catalog" else entry_of(hook, parts)
    provider = option(plan.provider())
    is_hudi = entry is not None if provider is None else str(provider).lower() in FORMATS
    return create_like_plan(hook, plan, entry) if is_hudi else plan


def _is_plain(node: JavaValue) -> bool:
    """Whether a statement names its table, and asks for nothing that is not carried out; others are refused by name."""
    table = node.productElement(0)
    while class_name(table) == "SubqueryAlias":
        table = table.child()
    if class_name(table) not in ("UnresolvedRelation", "UnresolvedTable"):
        return False
    if class_name(node) != "InsertIntoStatement":
        return True
    arguments = {str(node.productElementName(at)): node.productElement(at) for at in range(node.productArity())}
    further = {name: value for name, value in arguments.items() if name not in _INSERT_ARGUMENTS}
    return all(str(value) in ("False", "None") for value in further.values())


def _target(hook: SessionHook, node: JavaValue) -> WriteTarget | None:
    """The Hudi table that a statement is about; None for other tables."""
    parts = target_of(node)
    table = synced_table(hook, parts)
    if table is None:
        return None
    entry = entry_of(hook, parts)
    if entry is not None and entry.read_optimized:
        raise SparkError(
            f"{'.'.join(parts)} shows base files only and is not written",
            path=entry.location,
            remedy="write to the table's other name",
        )
    target = WriteTarget(hook, ".".join(parts), table[1], entry)
    _ = target.client  # before anything of it is read
    return target


__all__ = ["rewrite_writes"]
