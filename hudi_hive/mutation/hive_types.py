"""Hive's column types as Arrow's: what the rows of an ACID table look like to who writes and reads them.

Source: the type names of Hive's DDL as the metastore keeps them (``struct<a:int,b:array<string>>``).
"""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from hudi_hive.errors import SchemaError

_PLAIN: Final[dict[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    # Hive has nanoseconds, and years that nanoseconds since 1970 cannot reach: other units are taken as they come.
    "timestamp": pa.timestamp("us"),
}
_TOKEN: Final = re.compile(r"\s*([<>,:]|\(\s*\d+\s*(?:,\s*\d+\s*)?\)|[^\s<>,:()]+)")


def arrow_type(hive_type: str) -> pa.DataType:
    """Arrow type of a Hive column type.

    Raises:
        SchemaError: a type that cannot be written to ACID tables here (``uniontype``, ``interval`` …), or no type.
    """
    parser = _Parser(hive_type)
    found = parser.parse()
    if parser.peek() is not None:
        raise parser.error()
    return found


class _Parser:
    """Reads one type by recursive descent."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        if "".join(self._tokens).replace(" ", "") != "".join(text.split()):
            raise self.error()
        self._at = 0

    def error(self) -> SchemaError:
        return SchemaError(
            f"columns of Hive type {self._text!r} are not supported in ACID tables",
            remedy="leave the column to Hive, or give it another type",
        )

    def peek(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _next(self, expected: str | None = None) -> str:
        token = self.peek()
        if token is None or (expected is not None and token != expected):
            raise self.error()
        self._at += 1
        return str(token)

    def _digits(self) -> list[int]:
        token = self.peek()
        if token is None or not token.startswith("("):
            return []
        self._at += 1
        return [int(part) for part in token.strip("()").split(",")]

    def parse(self) -> pa.DataType:
        name = self._next().lower()
        if name in _PLAIN:
            return _PLAIN[name]
        if name in ("varchar", "char"):
            if len(self._digits()) != 1:
                raise self.error()
            return pa.string()
        if name == "decimal":
            return self._decimal()
        if name in ("array", "map", "struct"):
            self._next("<")
            found = getattr(self, f"_{name}")()
            self._next(">")
            return found
        raise self.error()

    def _decimal(self) -> pa.DataType:
        digits = self._digits() or [10]
        precision, scale = digits[0], digits[1] if len(digits) > 1 else 0
        if not (1 <= precision <= 38 and 0 <= scale <= precision):
            raise self.error()
        return pa.decimal128(precision, scale)

    def _array(self) -> pa.DataType:
        return pa.list_(self.parse())

    def _map(self) -> pa.DataType:
        key = self.parse()
        self._next(",")
        return pa.map_(key, self.parse())

    def _struct(self) -> pa.DataType:
        fields = [self._field()]
        while self.peek() == ",":
            self._next()
            fields.append(self._field())
        return pa.struct(fields)

    def _field(self) -> pa.Field:
        name = self._next()
        self._next(":")
        return pa.field(name, self.parse())
