"""Scripts (``BEGIN … END``) and tables named by expressions: statements whose tables are known only when they run.

A script is parsed as a whole, and its statements run one after another, in loops more than once. So the parsed plan
gets a mark around each statement, a hint, which brings it to our rule of the analyser when Spark is about to run it:
what it names is looked up then, and is as the statements before left it.
"""

from __future__ import annotations

from typing import Final

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from hudi_hive.errors import SparkError
from hudi_hive.spark.bridge import JavaValue, Jvm, class_name, quoted, scala_items
from hudi_hive.spark.catalog import SessionHook
from hudi_hive.spark.statements.writes import Nodes, with_arguments
from hudi_hive.spark.versions import SPARK

STATEMENT: Final = "hudi_hive_statement"
"""Name of the hint around a statement of a script."""

_PLANS: Final = "org.apache.spark.sql.catalyst.plans.logical"
_ENABLED: Final = "spark.sql.scripting.enabled"
"""Spark's own setting, which is off where a release has scripts for the first time."""
_IDENTIFIER: Final = "PlanWithUnresolvedIdentifier"
_OWN_WAY: Final = ("Cursor", "ExecuteImmediate", "Variable")
"""Parts of the names of nodes that scripts know by their class; none is about a table."""


def is_script(jvm: Jvm, plan: JavaValue) -> bool:
    """Whether a parsed plan is a script, or a part of one."""
    return SPARK.has_scripts and bool(jvm.class_(f"{_PLANS}.CompoundPlanStatement").isInstance(plan))


def refuse_script(error: Py4JJavaError) -> None:
    """Say what Spark's parser has against a script: its exception is of a class that neither PySpark nor proxies know.

    Args:
        error: of the parser.

    Raises:
        SparkError: it is about a script.
    """
    if class_name(error.java_exception) != "SqlScriptingException":
        return
    text = str(error.java_exception.getMessage())
    remedy = f"set {_ENABLED} to true" if _ENABLED in text else "correct the script"
    raise SparkError(f"Spark does not take the script: {text}", remedy=remedy) from None


def deferred_statements(jvm: Jvm, part: JavaValue) -> JavaValue:
    """A script, or a part of it, in which each statement waits under a hint for the analyser.

    Args:
        jvm: the JVM.
        part: a parsed script.
    """
    changes = {}
    for at in range(part.productArity()):
        item = part.productElement(at)
        changed = _deferred(jvm, item)
        if changed is not item:
            changes[SPARK.element_name(part, at)] = changed
    return with_arguments(jvm, part, changes) if changes else part


def _deferred(jvm: Jvm, item: JavaValue) -> JavaValue:
    """An argument of a script's part: a plan, an option or sequence of plans, or something else."""
    if not isinstance(item, JavaObject):
        return item
    if is_script(jvm, item):
        return deferred_statements(jvm, item)
    if jvm.class_(f"{_PLANS}.LogicalPlan").isInstance(item):
        if any(part in class_name(item) for part in _OWN_WAY):
            return item
        return jvm.package("catalyst.plans.logical").UnresolvedHint(STATEMENT, jvm.seq([]), item)
    is_option = jvm.class_("scala.Option").isInstance(item)
    if not is_option and not jvm.class_(SPARK.seq_class).isInstance(item):
        return item
    before = list(scala_items(item))
    after = [_deferred(jvm, one) for one in before]
    if all(one is other for one, other in zip(before, after, strict=True)):
        return item
    return jvm.some(after[0]) if is_option else jvm.seq(after)


def with_name(hook: SessionHook, plan: JavaValue, *, computes: bool) -> JavaValue:
    """A statement about ``IDENTIFIER(…)`` with the name that it stands for; the plan itself where it has none.

    Args:
        hook: of the session.
        plan: a statement.
        computes: expressions of variables and functions are computed; else constants are taken alone.
    """
    jvm = hook.environment.jvm
    if class_name(plan) == _IDENTIFIER:
        parts = _name(hook, plan.productElement(0), computes=computes)
        return plan if parts is None else plan.planBuilder().apply(jvm.seq(parts), plan.children())
    if class_name(plan) == "WithCTE":
        return _with_clauses(hook, plan, computes=computes)
    if class_name(plan) == "UnresolvedInsert":
        return _insert(hook, plan, computes=computes)
    if plan.productArity() == 0:
        return plan
    table = plan.productElement(0)
    if not isinstance(table, JavaObject) or not jvm.class_(f"{_PLANS}.LogicalPlan").isInstance(table):
        return plan
    named = _named_table(hook, table, computes=computes)
    return plan if named is table else with_arguments(jvm, plan, {SPARK.element_name(plan, 0): named})


def _with_clauses(hook: SessionHook, plan: JavaValue, *, computes: bool) -> JavaValue:
    """A statement below a WITH clause, which goes to the query of an insert, as where the name is written out.

    The optimisers of Spark 4.0 and 4.1 find it nowhere else.
    """
    jvm = hook.environment.jvm
    statement = plan.productElement(0)
    named = with_name(hook, statement, computes=computes)
    if named is statement:
        return plan
    if class_name(named) == "InsertIntoStatement":
        query = with_arguments(jvm, plan, {SPARK.element_name(plan, 0): named.query()})
        return with_arguments(jvm, named, {"query": query})
    return with_arguments(jvm, plan, {SPARK.element_name(plan, 0): named})


def _insert(hook: SessionHook, plan: JavaValue, *, computes: bool) -> JavaValue:
    """The insert of a script of Spark 4.3 and later in the form that it has outside of scripts."""
    jvm = hook.environment.jvm
    parts = _name(hook, plan.table().productElement(0), computes=computes)
    if class_name(plan.table()) != _IDENTIFIER or parts is None:
        return plan
    parser = jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
    insert = parser.parsePlan(f"INSERT INTO {quoted(*parts)} SELECT 1")
    names = [SPARK.element_name(plan, at) for at in range(plan.productArity())]
    changes = {name: plan.productElement(at) for at, name in enumerate(names) if name != "table"}
    return with_arguments(jvm, insert, changes)


def _named_table(hook: SessionHook, table: JavaValue, *, computes: bool) -> JavaValue:
    kind = class_name(table)
    if kind == "SubqueryAlias":
        named = _named_table(hook, table.child(), computes=computes)
        return table if named is table.child() else with_arguments(hook.environment.jvm, table, {"child": named})
    return with_name(hook, table, computes=computes) if kind == _IDENTIFIER else table


def _name(hook: SessionHook, expression: JavaValue, *, computes: bool) -> list[str] | None:
    """The parts of the name that an expression gives; None where it gives none, which Spark tells by itself."""
    jvm = hook.environment.jvm
    if not computes and class_name(expression) != "Literal":
        return None
    nodes = Nodes(jvm)
    single = jvm.module(f"{_PLANS}.OneRowRelation").apply()
    try:
        plan = nodes.project([nodes.alias(expression, "name")], single)
        row = jvm.classic.Dataset.ofRows(hook.session, plan).head()
        if row.isNullAt(0):
            return None
        text = row.getString(0)
        parser = jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
        return [str(part) for part in scala_items(parser.parseMultipartIdentifier(str(text)))]
    except (PySparkException, Py4JJavaError):
        return None


__all__ = ["STATEMENT", "deferred_statements", "is_script", "refuse_script", "with_name"]
