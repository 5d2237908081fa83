"""Arrow values as Arrow's ORC writer takes them, in the ORC types that Hudi's writer gives a column.

ORC has one timestamp without and one with a zone; Hudi's files have the first alone, for times of UTC. Timestamps
without a zone and times of the day are whole numbers, as in Avro.

Source: docs/format.md#base-files, ORC specification v1; ``AvroOrcUtils`` of Hudi.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from hudi_hive.formats.orc.null_struct_children import with_null_struct_children

_TICKS: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def has_early_fraction(array: pa.Array) -> bool:
    """Whether any timestamp is before 1970 and not on a whole second: Arrow's writer gives these negative nanoseconds.

    Args:
        array: timestamps.
    """
    assert pa.types.is_timestamp(array.type)
    ticks = array.drop_null().cast(pa.int64()).to_numpy(zero_copy_only=False)
    unit = _TICKS[array.type.unit]
    return unit > 1 and bool(((ticks < 0) & (ticks % unit != 0)).any())


def writable_type(kind: pa.DataType) -> pa.DataType:
    """The type that values of a type are written with: of times that have no zone and times of the day, whole numbers.

    Args:
        kind: type of a column, nested or not.
    """
    if pa.types.is_timestamp(kind):
        return pa.int64() if kind.tz is None else pa.timestamp(kind.unit)
    if pa.types.is_time32(kind):
        return pa.int32()
    if pa.types.is_time64(kind):
        return pa.int64()
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_map(kind):
        return pa.map_(writable_type(kind.key_type), writable_type(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, writable_type(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(writable_type(kind.value_type))
    return kind


def writable(array: pa.Array) -> pa.Array:
    """The values in their :func:`writable_type`, without anything below a null struct.

    Args:
        array: values of a column.

    Raises:
        ValueError: a time that the writer would write wrong.
        pa.ArrowException: a value that does not fit.
    """
    target = writable_type(array.type)
    array = with_null_struct_children(array if array.type == target else array.cast(target))
    if _any_early_fraction(array):
        raise ValueError("a time before 1970 with a fraction of a second")
    return array


def _any_early_fraction(array: pa.Array) -> bool:
    if pa.types.is_timestamp(array.type):
        return has_early_fraction(array)
    if isinstance(array, pa.MapArray):
        return any(map(_any_early_fraction, (array.keys, array.items)))
    if isinstance(array, pa.StructArray):
        return any(map(_any_early_fraction, array.flatten()))
    return isinstance(array, pa.ListArray) and _any_early_fraction(array.flatten())
