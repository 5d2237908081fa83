"""Parses literals of dates, times and numbers, and compares exact numbers with values of a column's type.

Integers, decimals, dates and timestamps are all whole multiples of a step (1, 10^-scale, a day, a unit of time). A
literal between two multiples decides a comparison without a cast: ``x > 1.5`` is ``x > 1`` for integers. So nothing is
rounded and value ranges of files stay usable.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from hudi_hive.errors import PredicateError
from hudi_hive.predicate.nodes import ColumnRef, Comparison, Node, Operator, WhenValid
from hudi_hive.predicate.syntax import Timestamp

NANOS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Nanoseconds in an Arrow time unit."""

DAY_NANOS: Final = 86_400 * NANOS["s"]

_EPOCH: Final = datetime(1970, 1, 1)
_MAX_EXPONENT: Final = 400

_DATE: Final = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIMESTAMP: Final = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?:[ T](?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d{1,9}))?)?)?"
    r"\s*(?P<zone>Z|[+-]\d{1,2}(?::?\d{2})?|[A-Za-z][\w/+\-]*)?"
)
_OFFSET: Final = re.compile(r"([+-])(\d{1,2}):?(\d{2})?")
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?")


def parse_date(text: str) -> date:
    """``yyyy-MM-dd`` to a date.

    Raises:
        PredicateError: it is none.
    """
    try:
        year, month, day = text.strip().split("-")
        if len(year) == 4 and 1 <= len(month) <= 2 and 1 <= len(day) <= 2:
            return date(int(year), int(month), int(day))
    except ValueError:
        pass
    raise PredicateError(f"row filter: {text!r} is not a date", remedy="write yyyy-MM-dd")


def date_of_text(text: str) -> date:
    """The date that a text begins with: ``yyyy[-MM[-dd]]``, behind the day anything after a blank or ``T``.

    Raises:
        PredicateError: it does not.
    """
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return parse_date(text)
    return parse_date(f"{match['year']}-{match['month'] or 1}-{match['day'] or 1}")


def parse_timestamp(text: str) -> Timestamp:
    """``yyyy-MM-dd[ HH:mm[:ss[.fraction]]][zone]`` to nanoseconds since the epoch; without a zone it is UTC.

    Raises:
        PredicateError: it is none.
    """
    match = _TIMESTAMP.fullmatch(text.strip())
    try:
        if match is not None:
            fields = [int(match[name] or 0) for name in ("year", "month", "day", "hour", "minute", "second")]
            moment = datetime(fields[0], fields[1], fields[2], fields[3], fields[4], fields[5])
            nanos = int((match["fraction"] or "").ljust(9, "0"))
            zone = match["zone"]
            if zone is not None:
                moment = (moment.replace(tzinfo=_zone(zone))).astimezone(UTC).replace(tzinfo=None)
            return Timestamp(_nanos(moment - _EPOCH) + nanos)
    except (ValueError, OverflowError, KeyError, OSError):
        pass
    raise PredicateError(f"row filter: {text!r} is not a timestamp", remedy="write yyyy-MM-dd HH:mm:ss[.SSSSSS]")


def _zone(text: str) -> tzinfo:
    if text in ("Z", "UTC", "GMT"):
        return UTC
    match = _OFFSET.fullmatch(text)
    if match is None:
        return ZoneInfo(text)
    offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    return timezone(-offset if match[1] == "-" else offset)


def parse_time(text: str) -> int:
    """``HH:mm[:ss[.fraction]]`` to nanoseconds since midnight.

    Raises:
        PredicateError: it is none.
    """
    match = _TIME.fullmatch(text.strip())
    if match is not None:
        hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
        if hour < 24 and minute < 60 and second < 60:
            return (hour * 3600 + minute * 60 + second) * NANOS["s"] + int((match[4] or "").ljust(9, "0"))
    raise PredicateError(f"row filter: {text!r} is not a time of day", remedy="write HH:mm:ss[.SSSSSS]")


def parse_number(text: str) -> Decimal:
    """Exact number of a text.

    Raises:
        PredicateError: it is none, or it is infinite or NaN.
    """
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or abs(number.adjusted()) > _MAX_EXPONENT or abs(exponent) > _MAX_EXPONENT:
        raise PredicateError(f"row filter: {text!r} is not a number")
    return number


def datetime_nanos(moment: datetime) -> int:
    """Nanoseconds since the epoch; a datetime without zone is UTC."""
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return _nanos(moment - _EPOCH) + int(getattr(moment, "nanosecond", 0))  # pandas timestamps have nanoseconds


def time_nanos(moment: time) -> int:
    """Nanoseconds since midnight."""
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    return seconds * NANOS["s"] + moment.microsecond * 1000


def date_days(day: date) -> int:
    """Days since the epoch."""
    return day.toordinal() - date(1970, 1, 1).toordinal()


def _nanos(delta: timedelta) -> int:
    return (delta.days * 86_400 + delta.seconds) * NANOS["s"] + delta.microseconds * 1000


# -- the grid ---------------------------------------------------------------------------------------------------------


def grid_step(arrow: pa.DataType) -> Fraction | None:
    """The step of a type: in units of 1 for numbers, in nanoseconds for dates and times; None if it has none."""
    if pa.types.is_integer(arrow):
        return Fraction(1)
    if pa.types.is_decimal(arrow):
        return Fraction(1, 10**arrow.scale) if arrow.scale >= 0 else Fraction(10**-arrow.scale)
    if pa.types.is_date(arrow):
        return Fraction(DAY_NANOS)
    if pa.types.is_timestamp(arrow) or pa.types.is_time(arrow):
        return Fraction(NANOS[arrow.unit])
    return None


def _grid_range(arrow: pa.DataType) -> tuple[int, int]:
    """Least and greatest multiple of the step that the type can hold."""
    if pa.types.is_decimal(arrow):
        return -(10**arrow.precision) + 1, 10**arrow.precision - 1
    bits = arrow.bit_width
    if pa.types.is_date64(arrow):
        return -(2**63) // 86_400_000, (2**63 - 1) // 86_400_000
    if pa.types.is_unsigned_integer(arrow):
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def grid_scalar(arrow: pa.DataType, multiple: int) -> pa.Scalar:
    """The value of a type that is ``multiple`` steps."""
    if pa.types.is_decimal(arrow):
        digits = tuple(int(digit) for digit in str(abs(multiple)))
        return pa.scalar(Decimal((int(multiple < 0), digits, -arrow.scale)), arrow)
    if pa.types.is_integer(arrow):
        return pa.scalar(multiple, arrow)
    if pa.types.is_date64(arrow):
        return pa.scalar(multiple * 86_400_000, pa.int64()).cast(arrow)
    return pa.scalar(multiple, pa.int32() if arrow.bit_width == 32 else pa.int64()).cast(arrow)


def on_grid(arrow: pa.DataType, exact: Fraction) -> pa.Scalar | None:
    """The literal as a value of the type, None if the type cannot hold exactly this value."""
    step = grid_step(arrow)
    if step is None:
        raise PredicateError(f"row filter: type {arrow} cannot be compared with a number or a time")
    multiple = exact / step
    low, high = _grid_range(arrow)
    if multiple.denominator != 1 or not low <= multiple <= high:
        return None
    return grid_scalar(arrow, int(multiple))


def compare_on_grid(operator: Operator, column: ColumnRef, exact: Fraction) -> Node:
    """``column operator exact`` with a literal that the column's type can hold, or decided by the type alone."""
    arrow = column.type
    if operator in ("=", "!="):
        literal = on_grid(arrow, exact)
        if literal is None:
            return WhenValid(column, operator == "!=")
        return Comparison(operator, column, literal)
    step = grid_step(arrow)
    if step is None:
        raise PredicateError(f"row filter: type {arrow} cannot be compared with a number or a time")
    low, high = _grid_range(arrow)
    # The bound that keeps the set of multiples: strict "less" needs the next multiple up, strict "greater" the next
    # down.
    bound = math.ceil(exact / step) if operator in ("<", ">=") else math.floor(exact / step)
    if operator in ("<", "<="):
        always, never = (bound > high, bound <= low) if operator == "<" else (bound >= high, bound < low)
    else:
        always, never = (bound < low, bound >= high) if operator == ">" else (bound <= low, bound > high)
    if always or never:
        return WhenValid(column, always)
    return Comparison(operator, column, grid_scalar(arrow, bound))
