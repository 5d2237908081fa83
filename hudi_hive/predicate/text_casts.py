"""Casts texts to dates, timestamps and whole numbers as Spark does without ANSI: what is none of them becomes null.

The zone of the session is UTC. Years have four to seven digits in dates and four to six in timestamps; months, days and
times have one or two digits; what stands behind the day of a date does not count. A time without a day is one of today.

Source: Spark's "Cast", docs/format.md#expression-indexes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.predicate.date_patterns import pattern_parts
from hudi_hive.predicate.text_zones import Ints, region_offsets, today, zone_of

_Mask = npt.NDArray[np.bool_]

_BLANK: Final = r"[\x00-\x20\x7f]*"
_DAY: Final = r"(?P<sign>[+-]?)(?P<y>\d{4,%d})(?:-(?P<mo>\d{1,2})(?:-(?P<d>\d{1,2})(?:[ T]%s)?)?)?"
_ZONE: Final = rf"(?P<zone>{_BLANK}[^0-9.\x00-\x20\x7f](?s:.*))?"
_MINUTES: Final = rf":(?P<mi>\d{{1,2}})(?::(?P<s>\d{{1,2}})(?:\.(?P<f>\d*))?{_ZONE})?"
_TIME: Final = rf"(?P<h>\d{{1,2}})(?:{_MINUTES})?"
_DATE: Final = f"^{_BLANK}{_DAY % (7, '(?s:.*)')}{_BLANK}$"
_TIMESTAMP: Final = f"^{_BLANK}{_DAY % (6, _TIME)}{_BLANK}$"
_TIMES_ALONE: Final = (f"^T{_TIME}{_BLANK}$", rf"^{_BLANK}(?P<h>\d{{1,2}}){_MINUTES}{_BLANK}$")
_WHOLE: Final = rf"^{_BLANK}(?P<sign>[+-]?)(?:(?P<n>\d+)(?:\.\d*)?|\.\d*){_BLANK}$"
_LONGS: Final = {"": "9223372036854775807", "-": "9223372036854775808"}
_LONG_DIGITS: Final = 19
_DAY_SECONDS: Final = 86_400
_MICROS: Final = 1_000_000
_LAST: Final = divmod(2**63 - 1, _MICROS)
_FIRST: Final = divmod(-(2**63), _MICROS)
_PARSED: Final = {
    "yyyy": r"(?P<y>\d{4}|\+\d{5,6}|-(?:[1-9]\d{3}|0[1-9]\d{2}|00[1-9]\d|000[1-9]|\d{5,6}))",
    "MM": r"(?P<mo>\d{2})",
    "dd": r"(?P<d>\d{2})",
    "HH": r"(?P<h>\d{2})",
    "mm": r"(?P<mi>\d{2})",
    "ss": r"(?P<s>\d{2})",
}


def text_to_dates(texts: pa.Array) -> pa.Array:
    """Cast texts to dates; arrays of ``date32``."""
    return _of_distinct(texts, _dates)


def text_to_moments(texts: pa.Array) -> pa.Array:
    """Cast texts to timestamps in UTC; those without a day are of today."""
    return _of_distinct(texts, _moments)


def text_to_longs(texts: pa.Array) -> pa.Array:
    """Cast texts to long integers; what stands behind a point is left out."""
    return _of_distinct(texts, _longs)


def parse_moments(texts: pa.Array, pattern: str) -> pa.Array:
    """Parse texts by a pattern that :func:`parsing_expression` takes, to timestamps in UTC."""
    expression = parsing_expression(pattern)
    assert expression is not None
    return _of_distinct(texts, lambda distinct: _Moments(distinct, expression).cast())


def parsing_expression(pattern: str) -> str | None:
    """The regular expression of texts that a pattern of ``DateTimeFormatter`` parses.

    Returns:
        None for a pattern that has letters twice, or other ones than ``yyyy``, ``MM``, ``dd``, ``HH``, ``mm``, ``ss``
        and, behind them, up to six ``S``.
    """
    parts = pattern_parts(pattern)
    letters = [letter for letter, _ in parts or () if letter]
    if parts is None or len(set(letters)) < len(letters) or "S" in letters[:-1]:
        return None
    expression = ""
    for letter, text in parts:
        if letter == "S":
            expression += rf"(?P<f>\d{{1,{len(text)}}})"
        elif letter:
            if text not in _PARSED:
                return None
            expression += _PARSED[text]
        else:
            expression += rf"(?i:{''.join(_literal(character) for character in text)})"
    return f"^{expression}$"


def _literal(character: str) -> str:
    return character if character.isalnum() else rf"\x{{{ord(character):x}}}"


def may_change(texts: pa.Array) -> bool:
    """Whether the timestamps that texts are cast to may be others at another time or place.

    So are those of times without a day, which are of today, and those in zones of regions, whose rules change.
    """
    distinct = pc.unique(texts).drop_null()
    if any(pc.any(pc.match_substring_regex(distinct, pattern)).as_py() for pattern in _TIMES_ALONE):
        return True
    lettered = distinct.filter(pc.match_substring_regex(distinct, ":[^A-Za-z]*[A-Za-z]"))
    zones = _fields(lettered, _TIMESTAMP)[1].field("zone")
    return any(isinstance(zone_of(zone), str) for zone in pc.unique(zones).to_pylist() if zone)


def _of_distinct(texts: pa.Array, cast: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Cast each distinct text once."""
    encoded = texts.dictionary_encode()
    return cast(encoded.dictionary).take(encoded.indices)


# -- parts of texts ----------------------------------------------------------------------------------------------------


def _fields(texts: pa.Array, pattern: str) -> tuple[Ints, pa.StructArray]:
    """Which texts match a pattern, and its groups."""
    groups = pc.extract_regex(texts, pattern)
    valid = groups.is_valid()
    return np.flatnonzero(valid.to_numpy(zero_copy_only=False)), groups.filter(valid)


def _numbers(groups: pa.StructArray, name: str, default: int) -> Ints:
    """The numbers in a group; the default for those without it."""
    if groups.type.get_field_index(name) < 0:
        return np.full(len(groups), default, np.int64)
    column = groups.field(name)
    filled = pc.if_else(pc.equal(column, ""), str(default), column)
    numbers: Ints = pc.utf8_ltrim(filled, characters="+").cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers


def _array(rows: Ints, values: Ints, are_good: _Mask, count: int, kind: pa.DataType) -> pa.Array:
    """Values in their rows, and nulls in all others."""
    spread, mask = np.zeros(count, np.int64), np.ones(count, np.bool_)
    spread[rows[are_good]] = values[are_good]
    mask[rows[are_good]] = False
    return pa.array(spread, mask=mask).cast(pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)


def _days(groups: pa.StructArray) -> tuple[Ints, _Mask]:
    """Days since 1970-01-01, and whether the calendar has them."""
    years, months, days = (_numbers(groups, *part) for part in (("y", 1970), ("mo", 1), ("d", 1)))
    if groups.type.get_field_index("sign") >= 0:
        is_before = pc.equal(groups.field("sign"), "-").to_numpy(zero_copy_only=False)
        years = np.where(is_before, -years, years)
    of_month = ((years - 1970) * 12 + months - 1).astype("M8[M]")
    first, following = (part.astype("M8[D]").astype(np.int64) for part in (of_month, of_month + 1))
    in_year = (months >= 1) & (months <= 12)
    return first + days - 1, in_year & (days >= 1) & (days <= following - first)


def _dates(texts: pa.Array) -> pa.Array:
    rows, groups = _fields(texts, _DATE)
    days, are_good = _days(groups)
    return _array(rows, days, are_good & (np.abs(days + 0.5) < 2**31), len(texts), pa.date32())


def _moments(texts: pa.Array) -> pa.Array:
    moments = _Moments(texts, _TIMESTAMP).cast()
    for pattern in _TIMES_ALONE:
        if pc.any(pc.match_substring_regex(texts, pattern)).as_py():
            moments = pc.coalesce(moments, _Moments(texts, pattern).cast())
    return moments


class _Moments:
    """Timestamps of the texts that match a pattern."""

    def __init__(self, texts: pa.Array, pattern: str) -> None:
        self._count = len(texts)
        self._rows, self._groups = _fields(texts, pattern)
        self._is_of_today = pattern in _TIMES_ALONE

    def cast(self) -> pa.Array:
        hours, minutes, seconds = (_numbers(self._groups, name, 0) for name in ("h", "mi", "s"))
        are_good = (hours < 24) & (minutes < 60) & (seconds < 60)
        days, are_days = _days(self._groups)
        local = days * _DAY_SECONDS + hours * 3600 + minutes * 60 + seconds
        moments, are_zones = self._in_zones(local)
        micros = self._micros()
        are_good &= are_days & are_zones & _are_longs(moments, micros)
        with np.errstate(over="ignore"):
            return _array(self._rows, moments * _MICROS + micros, are_good, self._count, pa.timestamp("us", "UTC"))

    def _micros(self) -> Ints:
        if self._groups.type.get_field_index("f") < 0:
            return np.zeros(len(self._groups), np.int64)
        digits = pc.utf8_slice_codeunits(self._groups.field("f"), 0, 6)
        micros: Ints = pc.utf8_rpad(digits, 6, "0").cast(pa.int64()).to_numpy(zero_copy_only=False)
        return micros

    def _in_zones(self, local: Ints) -> tuple[Ints, _Mask]:
        """Seconds since 1970 in UTC, and whether there is such a zone."""
        are_good = np.ones(len(local), np.bool_)
        if self._groups.type.get_field_index("zone") < 0:
            return local, are_good
        coded = self._groups.field("zone").dictionary_encode()
        numbers = coded.indices.to_numpy(zero_copy_only=False)
        moments = local.copy()
        for number, text in enumerate(coded.dictionary.to_pylist()):
            here = numbers == number
            zone = zone_of(text) if text else 0
            if zone is None:
                are_good[here] = False
                continue
            if self._is_of_today:
                local[here] += today(zone) * _DAY_SECONDS
            moments[here] = local[here] - (zone if isinstance(zone, int) else region_offsets(zone, local[here]))
        return moments, are_good


def _are_longs(seconds: Ints, micros: Ints) -> _Mask:
    """Which moments are not beyond the microseconds that a long integer holds."""
    (last, last_micros), (first, first_micros) = _LAST, _FIRST
    good: _Mask = (seconds > first) | ((seconds == first) & (micros >= first_micros))
    good &= (seconds < last) | ((seconds == last) & (micros <= last_micros))
    return good


def _longs(texts: pa.Array) -> pa.Array:
    rows, groups = _fields(texts, _WHOLE)
    sign, digits = groups.field("sign"), pc.utf8_ltrim(groups.field("n"), characters="0")
    lengths = pc.utf8_length(digits)
    most = pc.if_else(pc.equal(sign, "-"), _LONGS["-"], _LONGS[""])
    fits = pc.or_(pc.less(lengths, _LONG_DIGITS), pc.and_(pc.equal(lengths, _LONG_DIGITS), pc.less_equal(digits, most)))
    signed = pc.binary_join_element_wise(pc.if_else(pc.equal(sign, "-"), "-", ""), digits, "")
    usable = pc.if_else(pc.and_(fits, pc.greater(lengths, 0)), signed, "0")
    values = usable.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return _array(rows, values, fits.to_numpy(zero_copy_only=False), len(texts), pa.int64())
