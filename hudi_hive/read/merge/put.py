"""Replaces the values of some rows of a column.

What an update leaves as it was is neither copied nor built again: most columns of a wide row.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.read.merge.ordering_values import Ints

_PROBED_ROWS: Final = 32
"""Rows to compare before all of them are."""


def put(column: pa.Array, at: Ints, values: pa.Array) -> pa.Array:
    """Replace values of a column at the given rows; returns the column itself if nothing changes.

    Args:
        column: the column; it is not changed.
        at: rows, each once, ascending.
        values: a value a row, of the column's type.
    """
    if not len(at) or _holds(column, at, values):
        return column
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _put_text(column, at, values)
    primitive = pa.types.is_primitive(kind)
    in_bytes = (primitive and not pa.types.is_boolean(kind)) or pa.types.is_decimal(kind)
    if in_bytes and not column.null_count and not values.null_count:
        numbers = _numbers(column).copy()
        numbers[at] = _numbers(values)
        return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(numbers)], 0)
    if primitive:
        return pc.replace_with_mask(column, _mask(at, len(column)), values)
    indices = np.arange(len(column))
    indices[at] = len(column) + np.arange(len(at))
    return pa.concat_arrays([column, values]).take(pa.array(indices))


def _put_text(column: pa.Array, at: Ints, values: pa.Array) -> pa.Array:
    """As :func:`put`, for text and bytes: a third of what replace_with_mask costs."""
    old, new = _offsets(column), _offsets(values)
    length, width = np.diff(new), int(new[1] - new[0])
    rows, kind = len(column), column.type
    whole = not column.null_count and not values.null_count
    if whole and width and (length == width).all() and (old[at + 1] - old[at] == width).all():
        # Commit times and the like: the old bytes are overwritten in a copy of all.
        data = np.frombuffer(column.buffers()[2], np.uint8)[old[0] : old[-1]].copy()
        places = np.ndarray((len(data) - width + 1,), f"V{width}", data, strides=(1,))
        places[old[at] - old[0]] = np.frombuffer(values.buffers()[2], f"V{width}", len(at), int(new[0]))
        return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(old - old[0]), pa.py_buffer(data)], 0)
    # The values spread over all rows, empty text between them, without copying their bytes.
    offsets = np.zeros(rows + 1, np.int32)
    offsets[0] = new[0]
    offsets[at + 1] = length
    validity = None
    if values.null_count:
        valid = np.ones(rows, np.bool_)
        valid[at] = values.is_valid().to_numpy(zero_copy_only=False)
        validity = pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [validity, pa.py_buffer(np.cumsum(offsets, dtype=np.int32)), values.buffers()[2]]
    spread = pa.Array.from_buffers(kind, rows, buffers, values.null_count)
    return pc.if_else(_mask(at, rows), spread, column)


def _holds(column: pa.Array, at: Ints, values: pa.Array) -> bool:
    """Whether a column has these very values at the rows: keys always do, and most of a wide row's other columns."""
    # Equal is not the same for 0.0 and -0.0.
    if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
        return False
    few = at[:_PROBED_ROWS]
    if not column.take(pa.array(few)).equals(values.slice(0, len(few))):
        return False
    return bool(column.take(pa.array(at)).equals(values))


def _numbers(column: pa.Array) -> npt.NDArray[Any]:
    """Values of fixed width as unsigned numbers or as bytes."""
    width = column.type.bit_width // 8
    kind = f"u{width}" if width in (1, 2, 4, 8) else f"V{width}"
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * width)


def _offsets(column: pa.Array) -> npt.NDArray[np.int32]:
    """Where each value's bytes begin, and the end of the last one's."""
    return np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, 4 * column.offset)


def _mask(at: Ints, rows: int) -> pa.Array:
    mask = np.zeros(rows, np.bool_)
    mask[at] = True
    return pa.array(mask)
