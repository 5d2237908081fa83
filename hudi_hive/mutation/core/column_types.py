"""Types of columns: which Arrow types a table's column can hold without changing values, and what keys are joined by.

Arrow casts more than that: numbers to text, whole numbers to days, times to their days, doubles to the nearest float.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_KINDS: Final[tuple[tuple[str, Callable[[pa.DataType], bool]], ...]] = (
    ("boolean", pa.types.is_boolean),
    ("integer", pa.types.is_integer),
    ("floating", pa.types.is_floating),
    ("decimal", pa.types.is_decimal),
    ("text", lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)),
    ("binary", lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind)),
    ("date", pa.types.is_date),
    ("timestamp", lambda kind: pa.types.is_timestamp(kind) and kind.tz is None),
    ("list", lambda kind: pa.types.is_list(kind) or pa.types.is_large_list(kind)),
    ("map", pa.types.is_map),
    ("struct", pa.types.is_struct),
)
_LISTS: Final = (pa.ListType, pa.LargeListType)


def holds(column: pa.DataType, records: pa.DataType) -> bool:
    """Whether a column can hold values of a type, given that a safe cast succeeds.

    Args:
        column: type of the table's column.
        records: type of what is to be written.
    """
    if pa.types.is_dictionary(records):
        return holds(column, records.value_type)
    if pa.types.is_null(records) or column == records:
        return True
    column_kind, record_kind = _kind(column), _kind(records)
    if column_kind != record_kind:
        return record_kind == "integer" and column_kind in ("floating", "decimal")
    if column_kind == "floating":
        return bool(records.bit_width <= column.bit_width)
    if isinstance(column, _LISTS) and isinstance(records, _LISTS):
        return holds(column.value_type, records.value_type)
    if pa.types.is_map(column) and pa.types.is_map(records):
        return holds(column.key_type, records.key_type) and holds(column.item_type, records.item_type)
    if pa.types.is_struct(column) and pa.types.is_struct(records):
        return [field.name for field in column] == [field.name for field in records] and all(
            holds(ours.type, theirs.type) for ours, theirs in zip(column, records, strict=True)
        )
    return column_kind is not None


def join_values(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The values of a key as they are joined by: equal ones are the same, which of floats not all of Arrow knows.

    As in Spark, 0.0 is -0.0, and NaN is NaN.

    Args:
        column: of any type that rows are joined by.

    Returns:
        The column; of floats, whole numbers that are equal where the floats are.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_floating(array.type):
        return array
    zero, nan = pa.scalar(0.0, array.type), pa.scalar(float("nan"), array.type)
    plain = pc.if_else(pc.is_nan(array), nan, pc.add(array, zero))
    return plain.view(_BITS[array.type.bit_width])


_BITS: Final = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


def _kind(kind: pa.DataType) -> str | None:
    return next((name for name, fits in _KINDS if fits(kind)), None)
