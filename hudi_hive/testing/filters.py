"""The metastore's partition filter language, as far as Hive 2.3 understands it.

Comparisons ``=``, ``!=``, ``<>``, ``<``, ``<=``, ``>``, ``>=``, ``like`` (a regular expression) and ``between`` of a
key and a literal, joined by ``and`` and ``or`` with parentheses. Literals: text in either quotes, whole numbers for
integral keys, dates for date keys.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

Test = Callable[[Sequence[str]], bool]

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"[^"]*"|'[^']*')|(?P<date>\d{4}-\d\d-\d\d)|(?P<number>-?\d+)|(?P<word>\w+)|(?P<sign><=|>=|<>|!=|[=<>()]))"""
)
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_INTEGRAL = ("tinyint", "smallint", "int", "bigint")


class FilterError(Exception):
    """A filter that Hive's parser or its translation to SQL refuses, with Hive's message."""


def parse_filter(text: str, keys: Sequence[tuple[str, str]]) -> Test:
    """Parse a filter to a predicate of partition values.

    Args:
        text: the filter; an empty one fits everything.
        keys: name and type of each partition key.

    Raises:
        FilterError: not a filter, an unknown key, or a literal that does not fit the key's type.
    """
    if not text.strip():
        return lambda values: True
    # What follows a whole filter is not looked at, as in Hive.
    return _Parser(_tokens(text), keys).alternatives()


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise FilterError(f"Error parsing partition filter; lexer error: line 1:{position}; exception null")
        tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
        position = match.end()
    return tokens


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]], keys: Sequence[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._keys = {name.lower(): (index, kind.lower()) for index, (name, kind) in enumerate(keys)}
        self._at = 0

    def peek(self) -> str | None:
        return self._tokens[self._at][1].lower() if self._at < len(self._tokens) else None

    def _take(self, *kinds: str) -> tuple[str, str]:
        if self._at >= len(self._tokens) or self._tokens[self._at][0] not in kinds:
            where = self._at if self._at < len(self._tokens) else -1
            raise FilterError(
                f"Error parsing partition filter; lexer error: null; exception NoViableAltException({where}@[])"
            )
        self._at += 1
        return self._tokens[self._at - 1]

    def alternatives(self) -> Test:
        tests = [self._conjunction()]
        while self.peek() == "or":
            self._at += 1
            tests.append(self._conjunction())
        return lambda values: any(test(values) for test in tests)

    def _conjunction(self) -> Test:
        tests = [self._term()]
        while self.peek() == "and":
            self._at += 1
            tests.append(self._term())
        return lambda values: all(test(values) for test in tests)

    def _term(self) -> Test:
        if self.peek() == "(":
            self._at += 1
            test = self.alternatives()
            if self.peek() != ")":
                raise FilterError("Error parsing partition filter; lexer error: null; exception MissingTokenException")
            self._at += 1
            return test
        if self._at + 1 < len(self._tokens) and self._tokens[self._at][0] != "word":
            literal, sign = self._take("text", "number", "date"), self._take("sign")[1]
            return self._compare(self._take("word")[1], _MIRRORED.get(sign, sign), literal)
        key = self._take("word")[1]
        if self.peek() == "between":
            self._at += 1
            low = self._take("text", "number", "date")
            if self._take("word")[1].lower() != "and":
                raise FilterError("Error parsing partition filter; lexer error: null; exception MissingTokenException")
            high = self._take("text", "number", "date")
            above, below = self._compare(key, ">=", low), self._compare(key, "<=", high)
            return lambda values: above(values) and below(values)
        sign = "like" if self.peek() == "like" else ""
        if sign:
            self._at += 1
        else:
            sign = self._take("sign")[1]
        return self._compare(key, sign, self._take("text", "number", "date"))

    def _compare(self, key: str, sign: str, literal: tuple[str, str]) -> Test:
        if key.lower() not in self._keys:
            raise FilterError(f"Specified key <{key}> is not a partitioning key for the table")
        index, kind = self._keys[key.lower()]
        operand = literal[1][1:-1] if literal[0] == "text" else literal[1]
        if sign == "like":
            pattern = re.compile(operand)
            return lambda values: pattern.fullmatch(values[index]) is not None
        if sign not in _OPERATORS:
            raise FilterError("Error parsing partition filter; lexer error: null; exception NoViableAltException")
        compare = _OPERATORS[sign]
        if literal[0] == "number":
            if kind not in _INTEGRAL:
                raise FilterError("Filtering is supported only on partition keys of type string")
            number = int(operand)
            return lambda values: (
                re.fullmatch(r"-?\d+", values[index]) is not None and compare(int(values[index]), number)
            )
        if kind not in (("date",) if literal[0] == "date" else ("string", "date")):
            raise FilterError("Filtering is supported only on partition keys of type string")
        return lambda values: compare(values[index], operand)
