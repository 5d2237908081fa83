"""Column statistics of a file: minimum and maximum, number of rows and nulls, bytes.

Bounds are wrapped in one record per type, as the metadata table has them for versions 6 and 8.

Source: docs/format.md#column-statistics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

WRAPPERS: Final[Mapping[str, pa.DataType]] = {
    "BooleanWrapper": pa.bool_(),
    "IntWrapper": pa.int32(),
    "LongWrapper": pa.int64(),
    "FloatWrapper": pa.float32(),
    "DoubleWrapper": pa.float64(),
    "BytesWrapper": pa.binary(),
    "StringWrapper": pa.string(),
    "DateWrapper": pa.int32(),
    "DecimalWrapper": pa.decimal128(30, 15),
    "TimeMicrosWrapper": pa.int64(),
    "TimestampMicrosWrapper": pa.int64(),
    "LocalDateWrapper": pa.int32(),
}
"""Records that hold a bound and what is in them (docs/format.md#column-statistics).

Dates are days, times microseconds of the day or since the epoch. Bounds in an ``ArrayWrapper`` are left out: nothing is
pruned by arrays."""

WRAPPED: Final = pa.struct(list(WRAPPERS.items()))
"""Type of a bound: one of its fields is set, or none where the bound is unknown."""

COLUMN_RANGES_SCHEMA: Final = pa.schema(
    [
        ("column", pa.string()),
        ("min", WRAPPED),
        ("max", WRAPPED),
        ("value_count", pa.int64()),
        ("null_count", pa.int64()),
        ("total_size", pa.int64()),
        ("total_uncompressed_size", pa.int64()),
    ]
)
"""Columns of ranges: name (dotted for fields of structs), bounds, rows, nulls among them, bytes in the file with and
without compression (0 for log files)."""

_DECIMAL_LIMIT: Final = 15


@dataclass(slots=True)
class _Seen:
    """The statistics of one column so far."""

    kind: pa.DataType
    wrapper: str
    bounds: list[pa.Array] = field(default_factory=list)
    values: int = 0
    nulls: int = 0
    unknown: bool = False


class ColumnRanges:
    """Collects the statistics of primitive columns, and of primitive fields of structs, batch by batch.

    Lists and maps have none. A decimal of more than 15 digits before or after the point is held as the big-endian
    bytes of its unscaled number. Columns with NaN have no bounds.

    Args:
        schema: the rows' schema.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._seen: dict[str, _Seen] = {}
        for entry in schema:
            for name, kind in _leaves(entry.name, entry.type):
                wrapper = wrapper_of(kind)
                if wrapper is not None:
                    self._seen[name] = _Seen(kind, wrapper)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch to the statistics."""
        for entry, column in zip(batch.schema, batch.columns, strict=True):
            for name, array in _arrays(entry.name, column):
                seen = self._seen.get(name)
                if seen is not None:
                    _add(seen, array)

    def table(self, sizes: Mapping[str, tuple[int, int]] | None = None) -> pa.Table:
        """The statistics so far, a table of :data:`COLUMN_RANGES_SCHEMA`.

        Args:
            sizes: bytes in the file, with and without compression, by column.
        """
        sizes = sizes or {}
        bounds = [_bounds(seen) for seen in self._seen.values()]
        columns = [
            pa.array(list(self._seen), pa.string()),
            *(self._wrapped([bound[side] for bound in bounds]) for side in (0, 1)),
            pa.array([seen.values for seen in self._seen.values()], pa.int64()),
            pa.array([seen.nulls for seen in self._seen.values()], pa.int64()),
            *(pa.array([sizes.get(name, (0, 0))[at] for name in self._seen], pa.int64()) for at in (0, 1)),
        ]
        return pa.table(columns, schema=COLUMN_RANGES_SCHEMA)

    def _wrapped(self, values: list[object]) -> pa.Array:
        """Wrap bounds, one for each column, in the wrapper records of the columns' types."""
        wrappers = [seen.wrapper for seen in self._seen.values()]
        arrays = [
            pa.array([value if own == name else None for value, own in zip(values, wrappers, strict=True)], kind)
            for name, kind in WRAPPERS.items()
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(WRAPPED))


def wrapper_of(kind: pa.DataType) -> str | None:
    """Name of the wrapper record that holds the bounds of an Arrow type; None for types without bounds.

    Timestamps and times are the numbers that Parquet files hold for them.
    """
    if pa.types.is_boolean(kind):
        return "BooleanWrapper"
    if pa.types.is_decimal(kind):
        fits = 0 <= kind.scale <= _DECIMAL_LIMIT and kind.precision - kind.scale <= _DECIMAL_LIMIT
        return "DecimalWrapper" if fits else "BytesWrapper"
    if pa.types.is_date32(kind):
        return "DateWrapper"
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind) or pa.types.is_int64(kind):
        return "LongWrapper"
    if pa.types.is_signed_integer(kind) or pa.types.is_time32(kind):
        return "IntWrapper"
    if pa.types.is_floating(kind):
        return {32: "FloatWrapper", 64: "DoubleWrapper"}.get(kind.bit_width)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "StringWrapper"
    return "BytesWrapper" if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else None


def _leaves(name: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    if not pa.types.is_struct(kind):
        yield name, kind
        return
    for entry in kind:
        yield from _leaves(f"{name}.{entry.name}", entry.type)


def _arrays(name: str, array: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """The array itself, or the leaves of a struct array, null where the struct is null."""
    if not isinstance(array, pa.StructArray):
        yield name, array
        return
    for entry, child in zip(array.type, array.flatten(), strict=True):
        yield from _arrays(f"{name}.{entry.name}", child)


def _add(seen: _Seen, array: pa.Array) -> None:
    seen.values += len(array)
    seen.nulls += array.null_count
    if seen.unknown or array.null_count == len(array):
        return
    # Behind a NaN there may be any number to those who take it for the greatest.
    if pa.types.is_floating(array.type) and pc.any(pc.is_nan(array)).as_py():
        seen.unknown = True
        return
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary.take(array.indices.unique())
    least_and_greatest = pc.min_max(array)
    seen.bounds.append(pa.array([least_and_greatest["min"], least_and_greatest["max"]], array.type))


def _bounds(seen: _Seen) -> tuple[object, object]:
    if seen.unknown or not seen.bounds:
        return None, None
    arrays = pa.concat_arrays([pc.cast(array, seen.kind) for array in seen.bounds])
    least_and_greatest = pc.min_max(arrays)
    pair = pa.array([least_and_greatest["min"], least_and_greatest["max"]], seen.kind)
    kind = WRAPPERS[seen.wrapper]
    if pa.types.is_decimal(seen.kind) and seen.wrapper == "BytesWrapper":
        return _unscaled(pair[0].as_py()), _unscaled(pair[1].as_py())
    if pa.types.is_temporal(seen.kind):
        pair = pair.cast(pa.int32() if seen.kind.bit_width == 32 else pa.int64())
    low, high = pair.cast(kind).to_pylist()
    if pa.types.is_floating(kind):  # zeros have two signs that Arrow does not tell apart
        return (-0.0 if low == 0 else low), (0.0 if high == 0 else high)
    return low, high


def _unscaled(value: Decimal) -> bytes:
    sign, digits, _ = value.as_tuple()
    number = int("".join(map(str, digits))) * (-1 if sign else 1)
    return number.to_bytes((8 + (number + (number < 0)).bit_length()) // 8, "big", signed=True)
