"""Reads ``hive.io.filter.text``, in which Hive does not escape quotes.

A value with a quote in it can look like further conditions. So only this is read: a text with one quoted value at most,
and of any other the operands of an outermost AND that end before the first quote or begin behind the last.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from hudi_hive.errors import HudiHiveError
from hudi_hive.input_format.filters.expressions import Call, Expression, HiveColumn, Literal, Other, WallClock
from hudi_hive.predicate import (
    AllOf,
    AnyOf,
    Compare,
    ComparisonOperator,
    InList,
    Name,
    Negation,
    NullTest,
    Syntax,
    Timestamp,
    TruthTest,
    Value,
    parse_sql,
)

_LISTED: Final = re.compile(r"\(([A-Za-z_][\w.]*)\) IN \(")
_MOST: Final = 1_000_000
_FUNCTIONS: Final[dict[ComparisonOperator, str]] = {
    "=": "GenericUDFOPEqualNS",  # early releases write <=> as = as well
    "!=": "GenericUDFOPNotEqual",
    "<": "GenericUDFOPLessThan",
    "<=": "GenericUDFOPEqualOrLessThan",
    ">": "GenericUDFOPGreaterThan",
    ">=": "GenericUDFOPEqualOrGreaterThan",
    "<=>": "GenericUDFOPEqualNS",
}


def read_text(text: str) -> Expression:
    """The condition, or what of it is beyond doubt; :class:`Other` for nothing."""
    # Constants of type binary stand in it as their bytes, without any quotes.
    if len(text) > _MOST or "binary" in text.lower() or '"' in text or "`" in text or "--" in text:
        return Other()
    quotes = [place for place, character in enumerate(text) if character == "'"]
    if len(quotes) == 1:
        return Other()
    if len(quotes) <= 2:
        whole = _parsed(text)
        if not isinstance(whole, Other):
            return whole
        return _all_of(_operands(text, quotes[0] if quotes else len(text), quotes[-1] if quotes else -1, quotes))
    return _all_of(_operands(text, quotes[0], quotes[-1], []))


def _all_of(operands: list[str]) -> Expression:
    parts = tuple(part for part in map(_parsed, operands) if not isinstance(part, Other))
    return Call("GenericUDFOPAnd", parts, "boolean") if parts else Other()


def _operands(text: str, first: int, last: int, quotes: list[int]) -> list[str]:
    """The operands of an outermost AND: those before ``first`` and behind ``last``; all if the quotes are a pair.

    Hive puts brackets round each AND and OR, and round the operands of both that are not simple, so that within the
    outermost brackets all operands are joined by one word.
    """
    if not text.startswith("(") or not text.endswith(")"):
        return []
    if not quotes and last < first:  # none at all
        return _split(text[1:-1], whole=True) or []
    if quotes:  # what stands in a pair of quotes is one value
        blank = text[: quotes[0] + 1] + "x" * (quotes[1] - quotes[0] - 1) + text[quotes[1] :]
        places = _places(blank[1:-1])
        return [] if places is None else [text[1:-1][start:end] for start, end in places]
    before = _split(text[1:first], whole=False)
    mirrored = _split_back(text[last + 1 : -1])
    if before is None or mirrored is None:
        return []
    return before + mirrored


def _split(inside: str, *, whole: bool) -> list[str] | None:
    """Operands of an AND from the left; without ``whole`` the last one, which is cut off, is left out.

    None if they are operands of an OR, or brackets close that were never opened.
    """
    places = _places(inside, cut=not whole)
    return None if places is None else [inside[start:end] for start, end in places]


def _places(inside: str, *, cut: bool = False) -> list[tuple[int, int]] | None:
    depth = start = 0
    places: list[tuple[int, int]] = []
    for match in re.finditer(r"\(|\)| and | or ", inside):
        word = match.group()
        if word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
            if depth < 0:
                return None
        elif depth == 0:
            if word == " or ":
                return None
            places.append((start, match.start()))
            start = match.end()
    if cut:
        return places
    return [*places, (start, len(inside))] if depth == 0 else None


def _split_back(inside: str) -> list[str] | None:
    """Operands of an AND from the right, without the first one, which is cut off; None as for :func:`_split`."""
    depth, end = 0, len(inside)
    operands: list[str] = []
    for match in reversed(list(re.finditer(r"\(|\)| and | or ", inside))):
        word = match.group()
        if word == ")":
            depth += 1
        elif word == "(":
            depth -= 1
            if depth < 0:
                return operands
        elif depth == 0:
            if word == " or ":
                return None
            operands.insert(0, inside[match.end() : end])
            end = match.start()
    return operands


def _parsed(text: str) -> Expression:
    try:
        return _converted(parse_sql(_LISTED.sub(r"\1 IN (", text)))
    except (HudiHiveError, RecursionError):
        return Other()


def _converted(tree: Syntax) -> Expression:
    convert = _CONVERSIONS.get(type(tree))
    return Other() if convert is None else convert(tree)


def _call(function: str, *arguments: Expression) -> Expression:
    return Call(function, arguments, "boolean")


def _literal(value: Value) -> Expression:
    plain = value.value
    if isinstance(plain, Timestamp):
        return Literal(WallClock(plain.nanos))
    if isinstance(plain, datetime):
        return Other()
    if plain is None or isinstance(plain, (bool, int, float, Decimal, str, date)):
        return Literal(plain)
    return Other()


_CONVERSIONS: Final[dict[type, Callable[..., Expression]]] = {
    Name: lambda tree: HiveColumn(tree.parts),
    Value: _literal,
    Compare: lambda tree: _call(_FUNCTIONS[tree.operator], _converted(tree.left), _converted(tree.right)),
    InList: lambda tree: _call("GenericUDFIn", _converted(tree.operand), *map(_literal, tree.items)),
    NullTest: lambda tree: _call("GenericUDFOPNull", _converted(tree.operand)),
    TruthTest: lambda tree: _call("GenericUDFOPTrue" if tree.value else "GenericUDFOPFalse", _converted(tree.operand)),
    Negation: lambda tree: _call("GenericUDFOPNot", _converted(tree.operand)),
    AllOf: lambda tree: _call("GenericUDFOPAnd", *map(_converted, tree.operands)),
    AnyOf: lambda tree: _call("GenericUDFOPOr", *map(_converted, tree.operands)),
}
