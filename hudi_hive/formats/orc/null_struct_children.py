"""Nulls out the children of null structs, whose values Arrow's ORC writer would give to later rows.

The writer looks below a struct only if that struct itself has nulls, and then overlooks offsets: a null inside of a
struct without nulls, such as the rows of an ACID file, moves the values of all later rows. Arrays that hide nothing and
have no offsets are written rightly.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def with_null_struct_children(array: pa.Array) -> pa.Array:
    """The same values in an array without offsets whose children are null wherever a struct above them is null.

    Args:
        array: of any type; without structs in it, it comes back as it is.
    """
    return _shown(array) if _has_struct(array.type) else array


def _shown(array: pa.Array) -> pa.Array:
    if isinstance(array, pa.StructArray):
        # flatten() makes null what is below a null.
        children = [_shown(child) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, fields=list(array.type), mask=array.is_null())
    if isinstance(array, pa.MapArray):
        kind = array.type
        pairs = pa.list_(pa.struct([kind.key_field.with_nullable(False), kind.item_field]))
        lists = array.cast(pairs)
        entries = _shown(lists.flatten())
        assert isinstance(entries, pa.StructArray)
        return pa.MapArray.from_arrays(list_offsets(lists), entries.field(0), entries.field(1), type=kind)
    if isinstance(array, (pa.ListArray, pa.LargeListArray)):
        return type(array).from_arrays(list_offsets(array), _shown(array.flatten()), type=array.type)
    return pa.concat_arrays([array, array.slice(0, 0)]) if array.offset else array


def _has_struct(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return _has_struct(kind.key_type) or _has_struct(kind.item_type)
    return pa.types.is_struct(kind) or any(_has_struct(kind.field(place).type) for place in range(kind.num_fields))


def list_offsets(lists: pa.Array) -> pa.Array:
    """Offsets of lists in their flattened values, null for a null list, and the end of the last one.

    Args:
        lists: an array of lists.
    """
    lengths = pc.list_value_length(lists)
    ends = pc.cumulative_sum(lengths.fill_null(0))
    last = ends[-1:] if len(ends) else pa.array([0], lengths.type)
    return pa.concat_arrays([pc.subtract(ends, lengths), last])
