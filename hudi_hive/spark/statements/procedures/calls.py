"""A parsed ``CALL`` as a Spark command that runs a procedure of Hudi's.

What a call names is looked at when the statement is parsed: procedures and arguments that there are none of, and
missing ones, are errors of EXPLAIN as well. The values of arguments are computed by Spark when the command runs, so
that variables, parameters and expressions are what they are then.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, Final

from hudi_hive.errors import SparkError
from hudi_hive.spark.bridge import JavaValue, class_name, quoted, scala_items
from hudi_hive.spark.catalog import SessionHook
from hudi_hive.spark.statements.procedures.base import Parameter, Procedure, ProcedureCall, Rows
from hudi_hive.spark.statements.procedures.registry import columns_of, find_procedure
from hudi_hive.spark.statements.writes import call

_OWN_NAMESPACES: Final = frozenset({"spark_catalog", "system"})
_FILTER: Final = "filter"
_TEXTS = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/"
_BLANK = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_CALL: Final = re.compile(rf"{_BLANK}CALL\b", re.IGNORECASE | re.DOTALL)
_NO_ARGUMENTS: Final = re.compile(rf"{_BLANK}CALL\s+[\w.`]+\s*;?\s*", re.IGNORECASE | re.DOTALL)
_ARGUMENT_NAME: Final = re.compile(rf"{_TEXTS}|(?P<name>[^\W\d]\w*)(?={_BLANK}=>)", re.DOTALL)
_COMPACTION: Final = re.compile(
    rf"{_BLANK}(?P<what>RUN|SCHEDULE|SHOW)\s+COMPACTION\s+ON\s+(?:(?P<table>[\w.`]+)|(?P<path>'[^']+'|\"[^\"]+\"))"
    r"(?:\s+(?:AT\s+(?P<at>\d+)|LIMIT\s+(?P<limit>\d+)))?\s*;?\s*",
    re.IGNORECASE | re.DOTALL,
)


def parsable_call(text: str) -> str | None:
    """A statement of Hudi's grammar that Spark's parser refused, as a ``CALL`` that Spark's parser takes.

    The names of arguments may be words that Spark reserves (``table``, ``user``), parentheses may be left out where
    there are no arguments, and ``RUN COMPACTION ON t AT time``,
    ``SCHEDULE COMPACTION ON t`` and ``SHOW COMPACTION ON t LIMIT n`` are calls under other names.

    Returns:
        None: it is no such statement, or it is written as Spark wants it.
    """
    match = _COMPACTION.fullmatch(text)
    if match is not None:
        return _compaction_call(match)
    if not _CALL.match(text):
        return None
    if _NO_ARGUMENTS.fullmatch(text):
        return f"{text.strip().rstrip(';')}()"
    changed = _ARGUMENT_NAME.sub(lambda each: quoted(each["name"]) if each["name"] else each[0], text)
    return None if changed == text else changed


def _compaction_call(match: re.Match[str]) -> str:
    what = match["what"].lower()
    table = match["path"] or f"'{match['table']}'"
    arguments = [f"`{'path' if match['path'] else 'table'}` => {table}"]
    if what != "show":
        arguments.append(f"`op` => '{what}'")
    if match["at"]:
        arguments.append(f"`timestamp` => {match['at']}L")
    if match["limit"]:
        arguments.append(f"`limit` => {match['limit']}")
    return f"CALL {'show' if what == 'show' else 'run'}_compaction({', '.join(arguments)})"


def parsed_call(hook: SessionHook, text: str) -> JavaValue | None:
    """The plan of a ``CALL`` under releases of Spark whose parser has no such statement; None for others.

    Raises:
        SparkError: as :func:`call_plan`.
    """
    match = _CALL.match(text)
    if match is None:
        return None
    parser = hook.environment.jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
    function = parser.parseExpression(text[match.end() :].strip().rstrip(";"))
    parts = [str(part) for part in scala_items(function.nameParts())]
    return _planned(hook, parts, list(scala_items(function.arguments()))) if _is_own(hook, parts) else None


def call_plan(hook: SessionHook, node: JavaValue) -> JavaValue:
    """The command in the place of a parsed ``CALL``; the node itself where it is of another catalog's procedure.

    Raises:
        SparkError: there is no such procedure or argument, or one is missing or given twice.
    """
    parts = [str(part) for part in scala_items(node.productElement(0).nameParts())]
    return _planned(hook, parts, list(scala_items(node.productElement(1)))) if _is_own(hook, parts) else node


def _planned(hook: SessionHook, parts: list[str], expressions: list[JavaValue]) -> JavaValue:
    procedure = find_procedure(parts[-1])
    arguments = _arguments(procedure, expressions)
    names = list(arguments)

    def run(values: list[Any]) -> Rows | None:
        one = ProcedureCall(hook, procedure, dict(zip(names, values, strict=True)))
        _refuse_nulls(one)
        return procedure.run(one)

    def condition(values: list[Any]) -> str | None:
        return dict(zip(names, values, strict=True))[_FILTER] or None

    kinds = {name: (_parameter(procedure, name).kind, value) for name, value in arguments.items()}
    shown = condition if _FILTER in arguments else None
    return call(hook.environment.jvm, procedure.name, kinds, run, procedure.columns, shown)


def selected_call(hook: SessionHook, node: JavaValue) -> JavaValue:
    """A ``CALL`` inside a script as a query of its rows: scripts show the rows of queries alone."""
    plan = call_plan(hook, node)
    if plan is node:
        return node
    parser = hook.environment.jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
    procedure = find_procedure([str(part) for part in scala_items(node.productElement(0).nameParts())][-1])
    names = [parser.parseExpression(quoted(name)) for name, _ in columns_of(procedure)]
    return hook.environment.jvm.package("catalyst.plans.logical").Project(hook.environment.jvm.seq(names), plan)


def _is_own(hook: SessionHook, parts: list[str]) -> bool:
    """Whether a name is of a procedure of the session's own catalog: with ``system`` in front or not."""
    if len(parts) > 1:
        return all(part.lower() in _OWN_NAMESPACES for part in parts[:-1])
    return str(hook.session.sessionState().catalogManager().currentCatalog().name()) == "spark_catalog"


def _arguments(procedure: Procedure, nodes: list[JavaValue]) -> dict[str, JavaValue]:
    """Name of a parameter -> the expression that a call gives for it.

    Raises:
        SparkError: an argument has no parameter, or a parameter has none or two.
    """
    expressions: dict[str, JavaValue] = {}
    for position, node in enumerate(nodes):
        named = class_name(node) == "NamedArgumentExpression"
        parameter = _named(procedure, str(node.key())) if named else _positioned(procedure, position)
        if not named and expressions and any(class_name(one) == "NamedArgumentExpression" for one in nodes[:position]):
            raise _error(procedure, "an argument without a name stands behind one with a name", "name all arguments")
        if parameter.name in expressions:
            raise _error(procedure, f"{parameter.name} is given twice", "give it once")
        expressions[parameter.name] = node.value() if named else node
    missing = [one.name for one in procedure.parameters if one.required and one.name not in expressions]
    if missing == ["table"] and procedure.takes("path") and "path" in expressions:
        missing = []
    if missing:
        raise _error(procedure, f"{', '.join(missing)} must be given", _takes(procedure))
    return expressions


def _named(procedure: Procedure, name: str) -> Parameter:
    parameter = procedure.parameter(name)
    if parameter is not None:
        return parameter
    near = get_close_matches(name, [one.name for one in procedure.parameters], 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise _error(procedure, f"there is no argument {name!r}", hint + _takes(procedure))


def _positioned(procedure: Procedure, position: int) -> Parameter:
    if position < len(procedure.positional):
        return procedure.positional[position]
    raise _error(procedure, f"{position + 1} arguments are too many", _takes(procedure))


def _takes(procedure: Procedure) -> str:
    names = ", ".join(one.name for one in procedure.parameters)
    return f"its arguments are {names}" if names else "it has no arguments"


def _error(procedure: Procedure, message: str, remedy: str) -> SparkError:
    return SparkError(f"CALL {procedure.name}: {message}", remedy=remedy)


def _parameter(procedure: Procedure, name: str) -> Parameter:
    parameter = procedure.parameter(name)
    assert parameter is not None
    return parameter


def _refuse_nulls(call: ProcedureCall) -> None:
    """Refuse NULL for what must be given."""
    for parameter in call.procedure.parameters:
        named = parameter.name in call.values
        if parameter.required and named and call.values[parameter.name] is None:
            raise _error(call.procedure, f"{parameter.name} is NULL", "give it a value")


__all__ = ["call_plan", "parsable_call", "parsed_call", "selected_call"]
