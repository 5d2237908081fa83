"""Columns beside literals: whose comparison in Hive is that of the table's own values, and bounds where it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

import pyarrow as pa

from hudi_hive.errors import PredicateError
from hudi_hive.input_format.filters.expressions import DateBetween, HiveValue, Literal, WallClock
from hudi_hive.input_format.filters.folding import (
    DATE,
    DECIMAL,
    INTEGERS,
    TIMESTAMP,
    declared_length,
    double,
    moment,
    single,
)
from hudi_hive.predicate import ComparisonOperator, Name, Timestamp, Value


@dataclass(frozen=True, slots=True)
class Operand:
    """A column as a comparison sees it.

    Attributes:
        name: of the schema, parts and all.
        arrow: the schema's type.
        kind: the type that Hive compares: its own, or that of a cast that keeps value and order.
        length: of ``char`` and ``varchar``; None if it is not told.
        was_cast: whether a cast stands around it.
        in_utc: texts and dates stand for their time in UTC beside a timestamp, not in some zone that is not told.
    """

    name: Name
    arrow: pa.DataType
    kind: str
    length: int | None = None
    was_cast: bool = False
    in_utc: bool = True


# -- types ------------------------------------------------------------------------------------------------------------


def own_kind(arrow: pa.DataType) -> str:
    """Hive's type of a column of which nobody tells it."""
    if pa.types.is_integer(arrow):
        return "bigint"
    if pa.types.is_decimal(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    for test, kind in _OWN_KINDS:
        if test(arrow):
            return kind
    raise PredicateError(f"columns of type {arrow} are not compared")


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow))


def _is_bytes(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow) or pa.types.is_fixed_size_binary(arrow))


_OWN_KINDS: Final[tuple[tuple[Callable[[pa.DataType], bool], str], ...]] = (
    (pa.types.is_float32, "float"),
    (pa.types.is_float64, "double"),
    (_is_text, "string"),
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_date32, "date"),
    (pa.types.is_timestamp, "timestamp"),
    (_is_bytes, "binary"),
)
_FITTING: Final[Mapping[str, Callable[[pa.DataType], bool]]] = {
    **dict.fromkeys(("tinyint", "smallint", "int"), pa.types.is_integer),
    "bigint": lambda arrow: bool(pa.types.is_integer(arrow) or pa.types.is_timestamp(arrow)),
    "float": pa.types.is_float32,
    "double": lambda arrow: bool(pa.types.is_float32(arrow) or pa.types.is_float64(arrow)),
    **dict.fromkeys(("string", "varchar", "char"), _is_text),
    "boolean": pa.types.is_boolean,
    "date": pa.types.is_date32,
    "timestamp": pa.types.is_timestamp,
    "binary": _is_bytes,
}


def fits(kind: str, arrow: pa.DataType) -> bool:
    """Whether a column that Hive knows as ``kind`` has the table's own values there."""
    scaled = DECIMAL.fullmatch(kind)
    if scaled is not None:
        precision, scale = int(scaled[1]), int(scaled[2])
        return bool(
            pa.types.is_decimal(arrow) and arrow.scale <= scale and arrow.precision - arrow.scale <= precision - scale
        )
    return kind in _FITTING and bool(_FITTING[kind](arrow))


def keeps_order(kind: str, target: str) -> bool:
    """Whether a cast gives the same value or NULL, or rounds to doubles as comparing with doubles does."""
    if kind in INTEGERS:
        if target == "float":
            return INTEGERS[kind] <= 16
        return target == "double" or target.startswith("decimal(") or INTEGERS.get(target, 0) >= INTEGERS[kind]
    older, newer = DECIMAL.fullmatch(kind), DECIMAL.fullmatch(target)
    if older is not None and newer is not None:
        return int(newer[2]) >= int(older[2])
    return (kind, target) in (("float", "double"), ("date", "timestamp")) or kind == target


# -- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Loose:
    """Bounds of the values that Hive may find equal to a literal, or below or above it.

    Attributes:
        low: what is equal or greater is not below it.
        high: what is equal or less is not above it; None for no bound.
        below_high: ``<=``, or ``<`` if it is not the bound itself either.
        limit, below_limit: likewise for what is less.
    """

    low: Value
    high: Value | None
    below_high: ComparisonOperator
    limit: Value
    below_limit: ComparisonOperator


def literal_value(value: bool | float | Decimal | str | bytes | date | Timestamp) -> Value:
    """A value of a filter's tree."""
    return Value(value, repr(value))


def exact_value(operand: Operand, literal: Literal) -> Value | None:
    """The literal as the schema's column is compared with it; None if that differs from what Hive does.

    Raises:
        PredicateError: it is not known how Hive compares the two.
    """
    exact = _EXACT.get(operand.kind.partition("(")[0])
    if exact is None or literal.value is None:
        raise PredicateError(f"columns of Hive's type {operand.kind} are not compared")
    return exact(operand, literal)


def _mismatch(operand: Operand, literal: Literal) -> PredicateError:
    return PredicateError(f"{operand.kind} and {literal.type} are not compared")


def _is_number(value: HiveValue) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _exact_integer(operand: Operand, literal: Literal) -> Value:
    value = literal.value
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise _mismatch(operand, literal)
    if pa.types.is_timestamp(operand.arrow):  # its number of units since the epoch
        if not isinstance(value, int) or operand.was_cast:
            raise _mismatch(operand, literal)
        return literal_value(Timestamp(value * _UNIT_NANOS[operand.arrow.unit]))
    is_float = literal.type == "float" or (literal.type is None and not -(1 << 24) < value < 1 << 24)
    if INTEGERS[operand.kind] > 16 and not isinstance(value, int) and is_float:
        raise _mismatch(operand, literal)  # compared as floats, which whole numbers are rounded to
    return literal_value(value)


_UNIT_NANOS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def _exact_float(operand: Operand, literal: Literal) -> Value | None:
    value = literal.value
    if not _is_number(value):
        raise _mismatch(operand, literal)
    assert isinstance(value, (int, float, Decimal))
    if pa.types.is_timestamp(operand.arrow):
        raise _mismatch(operand, literal)
    number = double(value)
    if operand.kind == "float" and not isinstance(value, float) and single(number) != number:
        return None
    if number == 0 and pa.types.is_floating(operand.arrow):
        return None
    return literal_value(number)


def _exact_decimal(operand: Operand, literal: Literal) -> Value:
    value = literal.value
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)) or pa.types.is_timestamp(operand.arrow):
        raise _mismatch(operand, literal)
    is_short = pa.types.is_decimal(operand.arrow) and operand.arrow.precision <= 15
    if literal.type is None and isinstance(value, Decimal) and not is_short:
        # Perhaps it is a double, and decimals compare as doubles then: the same only if they are short.
        raise _mismatch(operand, literal)
    return literal_value(value)


def _exact_text(operand: Operand, literal: Literal) -> Value | None:
    value = literal.value
    if not isinstance(value, str):
        raise _mismatch(operand, literal)
    is_char = (literal.type or "").startswith("char")
    if operand.kind == "string":
        return None if is_char or (literal.type is None and value.endswith(" ")) else literal_value(value)
    length = operand.length
    if length is None or (is_char and operand.kind == "varchar"):
        raise _mismatch(operand, literal)
    if operand.kind == "varchar":
        if len(value) > length:
            raise _mismatch(operand, literal)
        return literal_value(value) if len(value) < length else None
    if not is_char and value.endswith(" ") and literal.type is not None:
        raise _mismatch(operand, literal)
    if len(value.rstrip(" ")) > length or any(character < " " for character in value):
        raise _mismatch(operand, literal)
    return None


def _exact_boolean(operand: Operand, literal: Literal) -> Value:
    if not isinstance(literal.value, bool):
        raise _mismatch(operand, literal)
    return literal_value(literal.value)


def _exact_time(operand: Operand, literal: Literal) -> Value | None:
    value = literal.value
    is_day = pa.types.is_date(operand.arrow)
    if not operand.in_utc and (is_day == isinstance(value, WallClock) or (is_day and operand.kind != "date")):
        raise _mismatch(operand, literal)  # a day, or a text, beside a timestamp
    if isinstance(value, DateBetween):
        return None
    if isinstance(value, str):
        value = _time_of_text(value, operand, literal)
    if isinstance(value, WallClock):
        return literal_value(Timestamp(value.nanos))
    if not isinstance(value, date):
        raise _mismatch(operand, literal)
    return literal_value(value)


def _time_of_text(text: str, operand: Operand, literal: Literal) -> WallClock | date:
    """A text as the date or timestamp that Hive makes of it, if it is written in full."""
    match = (DATE if operand.kind == "date" else TIMESTAMP).fullmatch(text)
    if match is None:
        raise _mismatch(operand, literal)
    return moment(match, operand.kind)


def _exact_bytes(operand: Operand, literal: Literal) -> Value:
    if not isinstance(literal.value, bytes):
        raise _mismatch(operand, literal)
    return literal_value(literal.value)


_EXACT: Final[Mapping[str, Callable[[Operand, Literal], Value | None]]] = {
    **dict.fromkeys(INTEGERS, _exact_integer),
    **dict.fromkeys(("float", "double"), _exact_float),
    "decimal": _exact_decimal,
    **dict.fromkeys(("string", "varchar", "char"), _exact_text),
    "boolean": _exact_boolean,
    **dict.fromkeys(("date", "timestamp"), _exact_time),
    "binary": _exact_bytes,
}


def loose_bounds(operand: Operand, literal: Literal) -> Loose:
    """Bounds for a literal of which :func:`exact_value` is None."""
    value = literal.value
    if isinstance(value, DateBetween):
        high = literal_value(value.high)
        return Loose(literal_value(value.low), high, "<=", high, "<")
    if isinstance(value, str):
        return _loose_text(operand, literal, value)
    assert isinstance(value, (int, float, Decimal))
    number = double(value)
    ends = sorted((number, single(number) if operand.kind == "float" else number))
    low, high = literal_value(ends[0]), literal_value(ends[1])
    return Loose(low, high, "<=", high, "<=")


def _loose_text(operand: Operand, literal: Literal, text: str) -> Loose:
    bare = text.rstrip(" ")
    if operand.kind == "string":
        padded = text if literal.type is None else text.ljust(declared_length(literal.type))
        return Loose(literal_value(bare), literal_value(padded), "<=", literal_value(padded), "<")
    # Behind the text stand blanks in a char, and in a varchar what Hive cuts off.
    equal = text if operand.kind == "varchar" else bare
    after = _successor(equal)
    high = None if after is None else literal_value(after)
    return Loose(literal_value(equal), high, "<", literal_value(text), "<")


def _successor(text: str) -> str | None:
    """The least text greater than all that begin with ``text``; None if there is none."""
    for end in range(len(text), 0, -1):
        following = ord(text[end - 1]) + 1
        if following == 0xD800:  # surrogates are no characters
            following = 0xE000
        if following <= 0x10FFFF:
            return text[: end - 1] + chr(following)
    return None
