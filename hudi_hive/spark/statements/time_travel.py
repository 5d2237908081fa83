"""``TIMESTAMP AS OF``, ``VERSION AS OF``, ``WITH (option = …)`` and ``hudi.`/path` ``: parsed nodes are replaced.

Spark keeps one plan for a table's name, whatever the options, and takes a path only for its own file formats.
"""

from __future__ import annotations

import re

from hudi_hive.errors import InvalidOptionError, SparkError
from hudi_hive.spark.bridge import JavaValue, Rewrite, class_name, option, scala_items
from hudi_hive.spark.catalog import SOURCE, SessionHook, entry_query, path_question
from hudi_hive.spark.scan import relation_plan

_MICROSECONDS = re.compile(r"(\.\d{3})\d+$")


def rewrite_time_travel(hook: SessionHook, plan: JavaValue) -> JavaValue:
    """The plan with each time travel to a synced table, in subqueries and common table expressions too, resolved."""
    return plan.transformDownWithSubqueries(Rewrite(lambda node: _rewrite(hook, node)))


def _rewrite(hook: SessionHook, node: JavaValue) -> JavaValue | None:
    kind = class_name(node)
    if kind == "UnresolvedWith":
        return _rewrite_ctes(hook, node)
    if kind == "UnresolvedRelation":
        return None if node.isStreaming() else _relation(hook, node)
    if kind != "RelationTimeTravel" or class_name(node.relation()) != "UnresolvedRelation":
        return None
    return _relation(hook, node.relation(), node)


def _relation(hook: SessionHook, relation: JavaValue, travel: JavaValue | None = None) -> JavaValue | None:
    """The plan of a table by name, with options or at a moment, or by path; None for what Spark does by itself."""
    parts = [str(part) for part in scala_items(relation.multipartIdentifier())]
    options = {str(name): str(value) for name, value in dict(relation.options()).items()}
    if len(parts) == 2 and parts[0].lower() == SOURCE and "/" in parts[1]:
        moment = None if travel is None else _moment(hook, travel)
        found = path_question(hook.environment.jvm, hook.session, {**options, "path": parts[1]}, as_of=moment)
        return relation_plan(hook.environment, hook.session, *found)
    if (travel is None and not options) or (len(parts) > 2 and parts[0].lower() != "spark_catalog"):
        return None
    entry = hook.find(parts[-2] if len(parts) > 1 else None, parts[-1])
    if entry is None:
        return None
    query = entry_query(entry, options, as_of=None if travel is None else _moment(hook, travel))
    return _alias(hook, parts, relation_plan(hook.environment, hook.session, entry.location, query, entry.declared))


def _rewrite_ctes(hook: SessionHook, node: JavaValue) -> JavaValue | None:
    """Common table expressions are no children of their node; None when nothing in them changes."""
    jvm = hook.environment.jvm
    changed = False
    relations = []
    for entry in scala_items(node.cteRelations()):
        alias = entry.productElement(1)
        rewritten = rewrite_time_travel(hook, alias)
        changed = changed or not rewritten.fastEquals(alias)
        rest = [entry.productElement(index) for index in range(2, entry.productArity())]
        relations.append(getattr(jvm.view.scala, f"Tuple{2 + len(rest)}")(entry.productElement(0), rewritten, *rest))
    if not changed:
        return None
    arguments = [node.productElement(index) for index in range(node.productArity())]
    arguments[1] = jvm.seq(relations)
    array = jvm.gateway.new_array(jvm.view.java.lang.Object, len(arguments))
    for index, argument in enumerate(arguments):
        array[index] = argument
    return node.makeCopy(array)


def _moment(hook: SessionHook, node: JavaValue) -> str:
    """The moment of a time travel clause as an instant or a time text."""
    version = option(node.version())
    if version is not None:
        return str(version)
    text, zone = _evaluate(hook, option(node.timestamp()))
    if text is None:
        raise InvalidOptionError("TIMESTAMP AS OF null", remedy="give a time or an instant")
    return _MICROSECONDS.sub(r"\1", text) + (zone or "")


def _evaluate(hook: SessionHook, expression: JavaValue) -> tuple[str | None, str | None]:
    """Value of an expression without columns as text, and its zone.

    A point in time (Spark's TIMESTAMP) is written in the session's time zone, which need not be the table's; a text and
    a TIMESTAMP_NTZ have no zone and are in the table's, as in Hudi.
    """
    jvm = hook.environment.jvm
    logical = jvm.package("catalyst.plans.logical")
    named = jvm.package("catalyst.analysis").UnresolvedAlias(expression, jvm.none())
    single = jvm.module("org.apache.spark.sql.catalyst.plans.logical.OneRowRelation").apply()
    frame = jvm.classic.Dataset.ofRows(hook.session, logical.Project(jvm.seq([named]), single))
    frame = frame.toDF(jvm.seq(["moment"]))
    is_point = str(frame.schema().apply("moment").dataType().typeName()) == "timestamp"
    zone = "date_format(moment, 'XXX')" if is_point else "CAST(NULL AS STRING)"
    rows = frame.selectExpr(jvm.seq(["CAST(moment AS STRING)", zone])).collectAsList()
    if rows.size() != 1:
        raise SparkError("TIMESTAMP AS OF needs a single value")
    text, offset = rows.get(0).get(0), rows.get(0).get(1)
    return None if text is None else str(text), None if offset is None else str(offset)


def _alias(hook: SessionHook, parts: list[str], plan: JavaValue) -> JavaValue:
    """The plan under the table's name, so that ``t.column`` resolves."""
    jvm = hook.environment.jvm
    identifier = jvm.package("catalyst").AliasIdentifier(parts[-1], jvm.seq(parts[:-1]))
    return jvm.package("catalyst.plans.logical").SubqueryAlias(identifier, plan)
