"""Parses type texts of Hive and Spark, such as ``struct<a:int,b:array<decimal(10,2)>>``, and lists of columns.

A list is as SQL has it: ``id int, name string COMMENT 'who'``.

Source: Hive's ``TypeInfoUtils``, Spark's ``DataType`` in SQL.
"""

from __future__ import annotations

import re
from typing import Final

from hudi_hive.errors import SchemaError
from hudi_hive.schema.internal import ArrayType, InternalField, InternalType, MapType, RecordType

_PLAIN: Final = {
    "boolean": "boolean",
    "tinyint": "int",
    "smallint": "int",
    "byte": "int",
    "short": "int",
    "int": "int",
    "integer": "int",
    "bigint": "long",
    "long": "long",
    "float": "float",
    "real": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "time": "time",
    "timestamp": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp_ntz": "local-timestamp-micros",
}
_TOKEN: Final = re.compile(r"\s*(`(?:[^`]|``)+`|'(?:[^']|'')*'|[A-Za-z0-9_]+|[<>(),:])")
_NAME: Final = re.compile(r"`|\w")
_TYPES: Final = "as Hive and Spark write them: int, bigint, decimal(10,2), struct<a:int,b:string>, array<…>, map<…>"
_MOST_DIGITS: Final = 38
_MAX_NUMBER: Final = 9  # digits of a length or precision
_MAX_DEPTH: Final = 100


def parse_type(text: str) -> InternalType:
    """Parse the text of a type to a type with provisional ids.

    Raises:
        SchemaError: it names none.
    """
    reader = _Reader(text)
    kind = reader.type()
    reader.end()
    return kind


def parse_columns(text: str) -> tuple[InternalField, ...]:
    """Parse a list of columns as SQL has it, ``name type [COMMENT 'text'], …``, to fields with provisional ids.

    Raises:
        SchemaError: it is none.
    """
    reader = _Reader(
        text, "list of columns", "as in SQL: id int, name string COMMENT 'who', info struct<a:int,b:string>"
    )
    made = reader.fields()
    reader.end()
    return made


class _Reader:
    def __init__(self, text: str, what: str = "column type", remedy: str = _TYPES) -> None:
        self._text, self._what, self._remedy = text, what, remedy
        self._tokens: list[str] = []
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            if match is None:
                raise self._unknown()
            self._tokens.append(match[1])
            at = match.end()
        self._at = 0
        self._depth = 0

    def _unknown(self) -> SchemaError:
        shown = self._text if len(self._text) <= 200 else self._text[:200] + "…"
        return SchemaError(
            f"{shown!r} is no {self._what}",
            remedy=self._remedy,
        )

    def _next(self, expected: str | None = None) -> str:
        if self._at >= len(self._tokens):
            raise self._unknown()
        token = self._tokens[self._at]
        if expected is not None and token != expected:
            raise self._unknown()
        self._at += 1
        return token

    def _follows(self, token: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == token:
            self._at += 1
            return True
        return False

    def end(self) -> None:
        if self._at < len(self._tokens):
            raise self._unknown()

    def type(self) -> InternalType:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise SchemaError(f"a column type is nested deeper than {_MAX_DEPTH} levels")
        kind = self._type()
        self._depth -= 1
        return kind

    def _type(self) -> InternalType:
        word = self._next().lower()
        if word == "struct":
            return self._struct()
        if word == "array":
            self._next("<")
            element = self.type()
            self._next(">")
            return ArrayType(-1, element, True)
        if word == "map":
            return self._map()
        if word in ("decimal", "dec", "numeric"):
            return self._decimal()
        if word in ("varchar", "char"):
            self._next("(")
            self._number()
            self._next(")")
            return "string"
        if word not in _PLAIN:
            raise self._unknown()
        return _PLAIN[word]

    def _struct(self) -> InternalType:
        self._next("<")
        fields = self.fields()
        self._next(">")
        return RecordType(fields)

    def fields(self) -> tuple[InternalField, ...]:
        """Names, types and comments, with commas between."""
        made: list[InternalField] = []
        while not made or self._follows(","):
            name = self._next()
            if not _NAME.match(name):
                raise self._unknown()
            name = name[1:-1].replace("``", "`") if name.startswith("`") else name
            self._follows(":")
            made.append(InternalField(-1, name, True, self.type(), self._comment()))
        return tuple(made)

    def _comment(self) -> str | None:
        if self._at >= len(self._tokens) or self._tokens[self._at].lower() != "comment":
            return None
        self._at += 1
        text = self._next()
        if not text.startswith("'"):
            raise self._unknown()
        return text[1:-1].replace("''", "'")

    def _map(self) -> InternalType:
        self._next("<")
        key = self.type()
        self._next(",")
        value = self.type()
        self._next(">")
        if key != "string":
            raise SchemaError(f"{self._text!r}: keys of maps are text", remedy="map<string,…>")
        return MapType(-1, key, -1, value, True)

    def _decimal(self) -> InternalType:
        if not self._follows("("):
            return "decimal(10, 0)"
        precision, scale = self._number(), 0
        if self._follows(","):
            scale = self._number()
        self._next(")")
        if not 0 < precision <= _MOST_DIGITS or scale > precision:
            raise SchemaError(f"{self._text!r}: decimals have up to {_MOST_DIGITS} digits and no greater scale")
        return f"decimal({precision}, {scale})"

    def _number(self) -> int:
        token = self._next()
        if not token.isdecimal() or len(token) > _MAX_NUMBER:
            raise self._unknown()
        return int(token)
