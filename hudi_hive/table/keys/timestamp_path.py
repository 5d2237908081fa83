"""Formats numbers and texts as partition paths, as the timestamp key generator does.

Patterns are those of Joda-Time. Numbers are cut to the finest unit that the pattern shows before anything is formatted,
so that only distinct paths are looked at one by one.

Source: docs/format.md#key-generators.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hudi_hive.errors import InvalidOptionError, KeyGenerationError
from hudi_hive.names import HOODIE_DELTASTREAMER_KEYGEN_TIMEBASED_PREFIX, HOODIE_KEYGEN_TIMEBASED_PREFIX
from hudi_hive.table.keys.joda import format_time, parse_pattern, parse_time, smallest_unit

_PREFIXES: Final = (HOODIE_KEYGEN_TIMEBASED_PREFIX, HOODIE_DELTASTREAMER_KEYGEN_TIMEBASED_PREFIX)
_MILLIS: Final = {
    "NANOSECONDS": (1, 1_000_000),
    "MICROSECONDS": (1, 1000),
    "MILLISECONDS": (1, 1),
    "SECONDS": (1000, 1),
    "MINUTES": (60_000, 1),
    "HOURS": (3_600_000, 1),
    "DAYS": (86_400_000, 1),
}
"""Unit → by what to multiply and divide for milliseconds."""

_UNIT_OF_TYPE: Final = {
    "UNIX_TIMESTAMP": "SECONDS",
    "EPOCHMILLISECONDS": "MILLISECONDS",
    "EPOCHMICROSECONDS": "MICROSECONDS",
}


@dataclass(frozen=True, slots=True)
class TimestampFormat:
    """The format of the timestamp key generator: how values of a partition field become folder names.

    Attributes:
        unit: of numbers; None if the values are texts.
        inputs: patterns of texts, tried in order.
        input_zone: zone of texts that name none; None for this machine's.
        output: pattern of the folder.
        output_zone: its zone; None for the zone of the text, or this machine's.
    """

    unit: str | None
    inputs: tuple[str, ...]
    input_zone: str | None
    output: str
    output_zone: str | None

    @classmethod
    def of(cls, settings: Mapping[str, str], version: int = 8) -> TimestampFormat:
        """Read the format from options ``hoodie.keygen.timebased.*``, for a table version.

        Raises:
            InvalidOptionError: an option is missing or has a value that it does not take.
        """
        kind = _required(settings, "timestamp.type").upper()
        unit = _UNIT_OF_TYPE.get(kind)
        if kind == "EPOCHMICROSECONDS" and version < 8:
            raise InvalidOptionError(
                f"{_PREFIXES[0]}timestamp.type={kind} is not known to the releases of table version {version}",
                remedy=f"use SCALAR and {_PREFIXES[0]}timestamp.scalar.time.unit=microseconds",
            )
        inputs: tuple[str, ...] = ()
        if kind == "SCALAR":
            unit = (_get(settings, "timestamp.scalar.time.unit") or "SECONDS").upper()
            if unit not in _MILLIS:
                raise InvalidOptionError(f"{_PREFIXES[0]}timestamp.scalar.time.unit={unit} is no unit of time")
        elif kind in ("DATE_STRING", "MIXED"):
            delimiter = _get(settings, "input.dateformat.list.delimiter.regex") or ","
            inputs = tuple(part.strip() for part in re.split(delimiter, _required(settings, "input.dateformat")))
        elif unit is None:
            raise InvalidOptionError(
                f"{_PREFIXES[0]}timestamp.type={kind} is no kind of timestamp",
                remedy="UNIX_TIMESTAMP, EPOCHMILLISECONDS, EPOCHMICROSECONDS, DATE_STRING, MIXED and SCALAR are",
            )
        for pattern in (*inputs, _required(settings, "output.dateformat")):
            parse_pattern(pattern)
        both = _zone(settings, "timezone")
        return cls(
            unit=unit,
            inputs=inputs,
            input_zone=both or _zone(settings, "input.timezone"),
            output=_required(settings, "output.dateformat"),
            output_zone=both or _zone(settings, "output.timezone"),
        )

    def texts(self, values: pa.Array, name: str, *, consistent: bool = False) -> pa.Array:
        """Format each value of a column; null is formatted as the first millisecond or unit of the epoch.

        Args:
            values: a column.
            name: its name, for messages.
            consistent: columns of timestamps hold times, not numbers of this format's unit.

        Raises:
            KeyGenerationError: a text that no pattern reads, or a type that is neither text nor number.
        """
        if isinstance(values, pa.DictionaryArray):
            values = values.dictionary_decode()
        if pa.types.is_null(values.type):
            values = pa.nulls(len(values), pa.int64() if self.inputs == () else pa.string())
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            return self._of_texts(values, name)
        millis = self._milliseconds(values, name, consistent)
        return self._formatted(millis)

    def _of_texts(self, values: pa.Array, name: str) -> pa.Array:
        if not self.inputs:
            raise KeyGenerationError(
                f"partition field {name!r} holds text, the timestamp type says numbers",
                remedy=f"set {_PREFIXES[0]}timestamp.type=DATE_STRING and {_PREFIXES[0]}input.dateformat",
            )
        coded = values.dictionary_encode(null_encoding="encode")
        found = [self._of_text(text, name) for text in coded.dictionary.to_pylist()]
        return pa.array(found, pa.string()).take(coded.indices)

    def _of_text(self, text: str | None, name: str) -> str:
        if text is None:  # the first millisecond, as the first pattern would write and read it
            zone = zone_of(self.input_zone or self.output_zone or "GMT")
            moment = dt.datetime.fromtimestamp(0.001, dt.UTC).astimezone(zone)
            text = format_time(parse_pattern(self.inputs[0]), moment)
        for pattern in self.inputs:
            found = parse_time(parse_pattern(pattern), text, zone_of(self.input_zone))
            if found is not None:
                read = found if self.input_zone is None else found.astimezone(zone_of(self.input_zone))
                zone = read.tzinfo if self.output_zone is None else zone_of(self.output_zone)
                return format_time(parse_pattern(self.output), read.astimezone(zone))
        raise KeyGenerationError(
            f"partition field {name!r} has the value {text!r}, which is not of the form {' or '.join(self.inputs)}",
            remedy=f"see {_PREFIXES[0]}input.dateformat",
        )

    def _milliseconds(self, values: pa.Array, name: str, consistent: bool) -> pa.Array:
        arrow = values.type
        if pa.types.is_timestamp(arrow) and consistent:
            times, divisor = values.cast(pa.timestamp("us", arrow.tz)).view(pa.int64()), 1000
            return pc.floor(pc.divide(times.cast(pa.float64()), divisor)).cast(pa.int64())
        if self.unit is None:
            raise KeyGenerationError(
                f"partition field {name!r} is of type {arrow}, the timestamp type says text",
                remedy=f"set {_PREFIXES[0]}timestamp.type to the unit of its numbers",
            )
        multiplier, divisor = _MILLIS[self.unit]
        try:
            filled = _numbers(values, name).fill_null(1)
            # Java's conversion cuts off towards zero.
            return pc.multiply_checked(filled, multiplier) if divisor == 1 else pc.divide(filled, divisor)
        except pa.ArrowInvalid as error:
            raise KeyGenerationError(
                f"partition field {name!r} has a value that is no time: {' '.join(str(error).split())[:100]}",
                remedy=f"check {_PREFIXES[0]}timestamp.type and the values",
            ) from error

    def _formatted(self, millis: pa.Array) -> pa.Array:
        zone = zone_of(self.output_zone)
        pattern = parse_pattern(self.output)
        local, offset = _local(np.asarray(millis), zone)
        unit = smallest_unit(pattern)
        buckets = local - np.mod(local, unit)
        stacked = np.stack([buckets, offset]) if pattern.shows_zone else buckets[None, :]
        unique, indices = np.unique(stacked, axis=1, return_inverse=True)
        texts = []
        for column in unique.T:
            shift = dt.timedelta(milliseconds=int(column[1])) if pattern.shows_zone else dt.timedelta()
            moment = dt.datetime(1970, 1, 1, tzinfo=dt.timezone(shift)) + dt.timedelta(milliseconds=int(column[0]))
            texts.append(format_time(pattern, moment))
        return pa.array(texts, pa.string()).take(pa.array(indices.reshape(-1)))


def zone_of(name: str | None) -> dt.tzinfo | None:
    """Find a time zone by its name, as Java's ``TimeZone`` does; None for this machine's.

    Raises:
        InvalidOptionError: no such zone.
    """
    if name is None:
        return None
    if name.upper() in ("UTC", "GMT", "Z"):
        return dt.UTC
    match = re.fullmatch(r"GMT([+-])(\d{1,2})(?::?(\d{2}))?", name)
    if match:
        shift = dt.timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        return dt.timezone(shift if match[1] == "+" else -shift)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidOptionError(
            f"no time zone {name!r}", remedy="give a name as Europe/Berlin, or GMT+02:00"
        ) from None


def _numbers(values: pa.Array, name: str) -> pa.Array:
    """Values as Java's ``longValue`` gives them; timestamps count in their own unit, dates in days."""
    arrow = values.type
    if pa.types.is_timestamp(arrow) or pa.types.is_time64(arrow):
        return values.view(pa.int64())
    if pa.types.is_date32(arrow) or pa.types.is_time32(arrow):
        return values.view(pa.int32()).cast(pa.int64())
    if pa.types.is_floating(arrow):
        return pc.trunc(values.cast(pa.float64())).cast(pa.int64())
    if pa.types.is_decimal(arrow):
        return pc.trunc(values).cast(pa.decimal128(38, 0) if pa.types.is_decimal128(arrow) else arrow).cast(pa.int64())
    if pa.types.is_integer(arrow):
        return values.cast(pa.int64())
    raise KeyGenerationError(f"partition field {name!r} of type {arrow} is no time")


def _local(millis: NDArray[np.int64], zone: dt.tzinfo | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Local time and the zone's offset, both in milliseconds; offsets change at quarters of an hour at the finest."""
    _check_range(millis)
    if zone is dt.UTC:
        return millis, np.zeros(len(millis), np.int64)
    quarters, indices = np.unique(millis // _QUARTER, return_inverse=True)
    offsets = np.empty(len(quarters), np.int64)
    for position, quarter in enumerate(quarters):
        moment = _EPOCH + dt.timedelta(milliseconds=int(quarter) * _QUARTER)
        shift = moment.astimezone(zone).utcoffset() or dt.timedelta()
        offsets[position] = int(shift.total_seconds() * 1000)
    offset = offsets[indices.reshape(-1)]
    return millis + offset, offset


def _check_range(millis: NDArray[np.int64]) -> None:
    if len(millis) and (millis.min() < _FIRST or millis.max() > _LAST):
        worst = int(millis.max() if millis.max() > _LAST else millis.min())
        raise KeyGenerationError(
            f"a partition value is {worst} milliseconds from 1970, which is beyond the years 2 to 9998",
            remedy=f"check {_PREFIXES[0]}timestamp.type",
        )


_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_QUARTER: Final = 900_000
_FIRST: Final = -62_104_060_800_000
_LAST: Final = 253_339_228_800_000


def _get(settings: Mapping[str, str], name: str) -> str | None:
    for prefix in _PREFIXES:
        value = settings.get(prefix + name, "").strip()
        if value:
            return value
    return None


def _required(settings: Mapping[str, str], name: str) -> str:
    value = _get(settings, name)
    if value is None:
        raise InvalidOptionError(
            f"option {_PREFIXES[0]}{name} is missing, which the timestamp key generator needs",
            remedy="the table's properties do not hold it: give it with each write",
        )
    return value


def _zone(settings: Mapping[str, str], name: str) -> str | None:
    value = _get(settings, name)
    zone_of(value)
    return value
