"""Constants: casts of them, and the dates and timestamps of texts."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Final

from hudi_hive.input_format.filters.expressions import Call, Expression, HiveValue, Literal, WallClock

INTEGERS: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
"""Bits of Hive's whole numbers."""

DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
DATE: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
TIMESTAMP: Final = re.compile(r"(\d{4}-\d{2}-\d{2})(?: (\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?)?")


def folded(tree: Expression) -> Expression:
    """A cast of a constant as a constant, where it keeps or cuts the value without a doubt; else what it was."""
    if not isinstance(tree, Call) or len(tree.arguments) != 1 or tree.function not in _FOLDED:
        return tree
    inner = folded(tree.arguments[0])
    if not isinstance(inner, Literal):
        return tree
    if inner.value is None:
        return Literal(None, tree.type)
    try:
        value = _FOLDED[tree.function](inner, tree.type or "")
    except (ValueError, OverflowError, ArithmeticError):
        return tree
    return tree if value is None else Literal(value, tree.type)


def _folded_text(inner: Literal, kind: str) -> HiveValue:
    length = declared_length(kind)
    if not isinstance(inner.value, str) or not length or (inner.type or "").startswith("char"):
        return None
    text = inner.value[:length]
    return text.ljust(length) if kind.startswith("char") else text


def _folded_decimal(inner: Literal, kind: str) -> HiveValue:
    scaled = DECIMAL.fullmatch(kind)
    if scaled is None or isinstance(inner.value, bool) or not isinstance(inner.value, (int, Decimal)):
        return None
    precision, scale = int(scaled[1]), int(scaled[2])
    value = Decimal(inner.value)
    whole = int(abs(value))
    is_exact = value == value.quantize(Decimal(1).scaleb(-scale)) if whole < 10**20 else False
    return value if is_exact and whole < 10 ** (precision - scale) else None


def _folded_float(inner: Literal, kind: str) -> HiveValue:
    value = inner.value
    if isinstance(value, str):
        value = float(value) if value in ("NaN", "Infinity", "-Infinity") else None
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    return single(double(value)) if kind == "float" else double(value)


def _folded_integer(inner: Literal, kind: str) -> HiveValue:
    value, bits = inner.value, INTEGERS[kind]
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -(1 << (bits - 1)) <= value < 1 << (bits - 1) else None


def _folded_time(inner: Literal, kind: str) -> HiveValue:
    value = inner.value
    if isinstance(value, str):
        match = (DATE if kind == "date" else TIMESTAMP).fullmatch(value)
        return None if match is None else moment(match, kind)
    return value if kind == inner.type else None


def _folded_bytes(inner: Literal, kind: str) -> HiveValue:
    return inner.value.encode() if isinstance(inner.value, str) and inner.type == "string" else None


_FOLDED: Final[Mapping[str, Callable[[Literal, str], HiveValue]]] = {
    **dict.fromkeys(("UDFToByte", "UDFToShort", "UDFToInteger", "UDFToLong"), _folded_integer),
    **dict.fromkeys(("UDFToFloat", "UDFToDouble"), _folded_float),
    **dict.fromkeys(("GenericUDFToChar", "GenericUDFToVarchar"), _folded_text),
    **dict.fromkeys(("GenericUDFToDate", "GenericUDFToTimestamp", "GenericUDFTimestamp"), _folded_time),
    "GenericUDFToDecimal": _folded_decimal,
    "GenericUDFToBinary": _folded_bytes,
}


def moment(match: re.Match[str], kind: str) -> WallClock | date:
    """The date or the timestamp of a text.

    Raises:
        ValueError: there is no such day or time.
    """
    if kind == "date":
        return date.fromisoformat(match.group())
    day = date.fromisoformat(match[1]).toordinal() - date(1970, 1, 1).toordinal()
    hour, minute, second = (int(match[place] or 0) for place in (2, 3, 4))
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(match.group())
    nanos = int((match[5] or "").ljust(9, "0"))
    return WallClock((((day * 24 + hour) * 60 + minute) * 60 + second) * 10**9 + nanos)


def double(value: float | Decimal) -> float:
    """The double nearest to a number."""
    return float(value)


def single(number: float) -> float:
    """The float nearest to a double, infinite beyond the greatest."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def declared_length(kind: str) -> int:
    """The length of a ``char`` or ``varchar`` type; 0 if it has none."""
    digits = kind.partition("(")[2].rstrip(")")
    return min(int(digits), 65_535) if digits.isdigit() else 0
