"""Parses Hive's type texts such as ``struct<a:int,b:array<varchar(10)>>`` (Hive's ``TypeInfo`` grammar).

Only the types that ORC files of ACID tables are written and read with; others are refused by name.

Source: docs/format/hive.md#hive-acid-orc-footer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from hudi_hive.errors import SchemaError

_PLAIN: Final[dict[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
_MOST_CHARACTERS: Final = {"varchar": 65535, "char": 255}
_MAX_DEPTH: Final = 100
_MAX_DIGITS: Final = 9
_TOKEN: Final = re.compile(r"\s*(`(?:[^`]|``)+`|[^\s<>(),:`]+|[<>(),:])\s*")


@dataclass(frozen=True, slots=True)
class HiveType:
    """A Hive type as a tree, with its Arrow type.

    Attributes:
        kind: ``int``, ``varchar``, ``array``, …, in lower case.
        arrow: the Arrow type of its values.
        length: most characters of ``varchar`` and ``char``; 0 for others.
        children: types of an array's elements, a map's keys and values, a struct's fields.
    """

    kind: str
    arrow: pa.DataType
    length: int = 0
    children: tuple[HiveType, ...] = ()

    @property
    def primitive(self) -> bool:
        """Whether the type is neither array nor map nor struct."""
        return not self.children


def parse_hive_type(text: str) -> HiveType:
    """Parse the text of a type as the metastore writes it.

    Raises:
        SchemaError: text that names no type, or a type that is not handled (unions, intervals, time zones).
    """
    parser = _Parser(text)
    result = parser.one()
    parser.end()
    return result


class _Parser:
    """Reads one type text from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise self._wrong()
            self._tokens.append(match[1])
            position = match.end()
        self._next = 0
        self._depth = 0

    def _wrong(self) -> SchemaError:
        shown = self._text if len(self._text) <= 200 else self._text[:200] + "…"
        return SchemaError(f"Hive type {shown!r} is not understood")

    def _take(self, token: str | None = None) -> str:
        if self._next >= len(self._tokens) or token not in (None, self._tokens[self._next]):
            raise self._wrong()
        self._next += 1
        return self._tokens[self._next - 1]

    def _more(self, token: str) -> bool:
        matches = self._next < len(self._tokens) and self._tokens[self._next] == token
        self._next += matches
        return matches

    def end(self) -> None:
        if self._next != len(self._tokens):
            raise self._wrong()

    def one(self) -> HiveType:
        kind = self._take().lower()
        if kind in _PLAIN:
            return HiveType(kind, _PLAIN[kind])
        if kind in _MOST_CHARACTERS:
            (length,) = self._numbers(1)
            if not 1 <= length <= _MOST_CHARACTERS[kind]:
                raise self._wrong()
            return HiveType(kind, pa.string(), length)
        if kind == "decimal":
            return HiveType(kind, self._decimal())
        if kind in ("array", "map", "struct"):
            return self._nested(kind)
        raise self._wrong()

    def _numbers(self, count: int) -> list[int]:
        self._take("(")
        numbers = []
        for i in range(count):
            if i:
                self._take(",")
            token = self._take()
            if not token.isascii() or not token.isdigit() or len(token) > _MAX_DIGITS:
                raise self._wrong()
            numbers.append(int(token))
        self._take(")")
        return numbers

    def _decimal(self) -> pa.DataType:
        bare = self._next >= len(self._tokens) or self._tokens[self._next] != "("
        precision, scale = (10, 0) if bare else self._numbers(2)
        if not 1 <= precision <= 38 or scale > precision:
            raise self._wrong()
        return pa.decimal128(precision, scale)

    def _nested(self, kind: str) -> HiveType:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise SchemaError(f"a Hive type is nested deeper than {_MAX_DEPTH} levels")
        self._take("<")
        if kind == "array":
            element = self.one()
            result = HiveType(kind, pa.list_(element.arrow), children=(element,))
        elif kind == "map":
            key = self.one()
            self._take(",")
            value = self.one()
            result = HiveType(kind, pa.map_(key.arrow, value.arrow), children=(key, value))
        else:
            names: list[str] = []
            types: list[HiveType] = []
            while not names or self._more(","):
                name = self._take()
                names.append(name[1:-1].replace("``", "`") if name.startswith("`") else name)
                self._take(":")
                types.append(self.one())
            fields = [pa.field(name, child.arrow) for name, child in zip(names, types, strict=True)]
            result = HiveType(kind, pa.struct(fields), children=tuple(types))
        self._take(">")
        self._depth -= 1
        return result
