"""Timestamp columns that early releases labelled with a wrong type in files and schemas.

Hudi 0.14.1 to 1.0 could take a column of ``timestamp-millis`` for one of microseconds and a local timestamp for a plain
number, and labelled files, log blocks and the table's schema so, with the right numbers inside. Writers from 1.1 on put
the table's schema right. Readers from 1.1 on then go by the two types, never by values: where they are a pair of
:func:`is_mislabelled`, the file's numbers stand as they are.

Source: docs/format.md#mislabelled-timestamps.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa


def is_mislabelled(file: pa.DataType, table: pa.DataType) -> bool:
    """Whether a file's values are of the table's type although the file labels them with another one.

    So are microseconds in UTC where the table has milliseconds in UTC, and plain numbers where the table has timestamps
    without a time zone, or times of the day, which ORC has no type for.

    Args:
        file: a primitive type in a file or log block.
        table: the type in the table's schema.
    """
    if pa.types.is_time(table):
        return bool(pa.types.is_integer(file) and file.bit_width == table.bit_width)
    if not pa.types.is_timestamp(table) or table.unit not in ("ms", "us"):
        return False
    if table.tz is None:
        return bool(pa.types.is_int64(file))
    return bool(table.unit == "ms" and pa.types.is_timestamp(file) and file.unit == "us" and file.tz is not None)


def may_be_mislabelled(table: pa.DataType) -> bool:
    """Whether files may label a type of the table wrongly, on any level of nesting.

    Args:
        table: a type in the table's schema.
    """
    return any_leaf(table, _may_be_mislabelled)


def _may_be_mislabelled(kind: pa.DataType) -> bool:
    return bool(pa.types.is_time(kind) or (pa.types.is_timestamp(kind) and (kind.tz is None or kind.unit == "ms")))


def any_leaf(kind: pa.DataType, holds: Callable[[pa.DataType], bool]) -> bool:
    """Whether something holds of a primitive type in a type, on any level of nesting.

    Args:
        kind: nested or not.
        holds: of a primitive type.
    """
    if pa.types.is_nested(kind):
        return any(any_leaf(kind.field(i).type, holds) for i in range(kind.num_fields))
    return holds(kind)


def holds_mislabelled(file: pa.DataType, table: pa.DataType) -> bool:
    """Whether a type of a file is mislabelled, itself or on a level below; struct fields are matched by name.

    Args:
        file: a type in a file.
        table: the type in the table's schema.
    """
    if pa.types.is_struct(file) and pa.types.is_struct(table):
        wanted = {field.name.lower(): field.type for field in table}
        return any(
            holds_mislabelled(field.type, wanted[field.name.lower()]) for field in file if field.name.lower() in wanted
        )
    if pa.types.is_map(file) and pa.types.is_map(table):
        return holds_mislabelled(file.key_type, table.key_type) or holds_mislabelled(file.item_type, table.item_type)
    if pa.types.is_list(file) and pa.types.is_list(table):
        return holds_mislabelled(file.value_type, table.value_type)
    return is_mislabelled(file, table)


def as_in_table(array: pa.Array, table: pa.DataType) -> pa.Array:
    """Convert the timestamps of an array, also below structs, to the table's types; leave all else unchanged.

    Args:
        array: of a file's column.
        table: the column's type in the table's schema.

    Raises:
        pa.ArrowInvalid: a timestamp that the table's type cannot hold.
    """
    kind = array.type
    if kind.equals(table):
        return array
    if is_mislabelled(kind, table):
        return array.view(table)
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(table):
        return array.cast(pa.timestamp(table.unit, kind.tz)).cast(table)
    if not (isinstance(array, pa.StructArray) and pa.types.is_struct(table)):
        return array
    children, fields = [], []
    for field, child in zip(array.type, array.flatten(), strict=True):
        at = table.get_field_index(field.name)
        children.append(child if at < 0 else as_in_table(child, table.field(at).type))
        fields.append(field.with_type(children[-1].type))
    return pa.StructArray.from_arrays(children, fields=fields, mask=array.is_null() if array.null_count else None)
