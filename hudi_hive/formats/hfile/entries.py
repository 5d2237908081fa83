"""Decodes the entries of an HFile data block to columns.

Source: docs/format.md#hfile-entries.
"""

from __future__ import annotations

import struct
from typing import Final

import numpy as np
import pyarrow as pa

from hudi_hive.errors import CorruptFileError, UnsupportedFormatError

ENTRY_SCHEMA: Final = pa.schema([("key", pa.string()), ("value", pa.binary())])
"""Columns of what a reader gives."""

_LENGTHS = struct.Struct(">ii")
# A key is int16 row length, the row, int8 family length (always 0), int64 timestamp, int8 type.
_ROW_START = _LENGTHS.size + 2
_KEY_OVERHEAD: Final = 12
_PUT: Final = 4
# No family, the greatest timestamp, a put: what the keys of Hudi's files end with.
_KEY_END: Final = np.frombuffer(b"\0\x7f" + b"\xff" * 7 + b"\4", np.uint8)
_KEY_PLACES: Final = np.arange(len(_KEY_END))


def decode_entries(content: pa.Buffer, mvcc: bool, path: str) -> tuple[pa.Array, pa.Array]:
    """The rows and values of the entries of a data block, two ``binary`` arrays in the order of the block.

    Args:
        content: the uncompressed content.
        mvcc: whether each entry ends with an MVCC version, which is one zero byte.
        path: the file, for errors.

    Raises:
        CorruptFileError: a length does not fit the block.
        UnsupportedFormatError: keys with column families, other operations than puts, MVCC versions.
    """
    starts, value_starts, ends = _walk(content, int(mvcc), path)
    if not len(starts):
        return pa.array([], pa.binary()), pa.array([], pa.binary())
    data = np.frombuffer(memoryview(content), np.uint8)
    row_lengths = data[starts + _LENGTHS.size].astype(np.int64) << 8 | data[starts + _LENGTHS.size + 1]
    row_starts = starts + _ROW_START
    row_ends = row_starts + row_lengths
    if not np.array_equal(row_ends + _KEY_OVERHEAD - 2, value_starts):
        if np.array_equal(row_ends, value_starts):
            raise _keys_of_rows_alone(path)
        if np.any(row_ends + _KEY_OVERHEAD - 2 > value_starts):
            raise CorruptFileError("HFile: a row is longer than its key", path=path)
        raise UnsupportedFormatError("HFile with column families or qualifiers", path=path)
    if np.any(data[value_starts - 1] != _PUT):
        raise UnsupportedFormatError("HFile with entries that are not puts", path=path)
    if mvcc and np.any(data[ends] != 0):
        raise UnsupportedFormatError("HFile with MVCC versions", path=path)
    # One array of all stretches – header, row, rest of the key, value – whose offsets need no gaps; every second pair
    # of them is a row or a value.
    offsets = np.empty(4 * len(starts) + 1, np.int32)
    offsets[0:-1:4], offsets[1::4], offsets[2::4], offsets[3::4] = row_starts, row_ends, value_starts, ends
    offsets[-1] = offsets[-2]
    stretches = pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), content])
    places = pa.array(np.arange(0, len(offsets) - 1, 4, dtype=np.int64))
    return stretches.take(places), stretches.take(pa.array(np.arange(2, len(offsets) - 1, 4, dtype=np.int64)))


def _walk(content: pa.Buffer, tail: int, path: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offsets of each entry, its value and the end of its value; lengths are checked before they are used."""
    found = _stride(content, tail)
    return found if found is not None else _step(content, tail, path)


def _stride(content: pa.Buffer, tail: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """As :func:`_walk` for blocks whose keys have one length, in a few array operations; None for other blocks.

    The ends of keys are found by what they all end with. Each entry then has to begin where the one before it ends,
    from the first byte to the last: what only looks like the end of a key does not hold that.
    """
    data = np.frombuffer(memoryview(content), np.uint8)
    if len(data) < _LENGTHS.size + _KEY_OVERHEAD:
        return None
    key_length = _LENGTHS.unpack_from(content, 0)[0]
    marks = np.flatnonzero(data[1 : len(data) - 8] == _KEY_END[1])
    values = marks[np.all(data[marks[:, None] + _KEY_PLACES] == _KEY_END, axis=1)] + len(_KEY_END)
    starts = values - (8 + key_length)
    if not len(starts) or key_length < _KEY_OVERHEAD or starts[0] != 0:
        return None
    if np.any(starts[1:] <= starts[:-1]):
        return None
    lengths = data[starts[:, None] + np.arange(8)].view(">i4")
    ends = values + lengths[:, 1]
    following = np.append(starts[1:], len(data))
    if np.any(lengths[:, 0] != key_length) or np.any(lengths[:, 1] < 0) or np.any(ends + tail != following):
        return None
    return starts, values, ends.astype(np.int64)


def _step(content: pa.Buffer, tail: int, path: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As :func:`_walk`, entry by entry."""
    view = memoryview(content).cast("B")
    limit = len(view)
    unpack = _LENGTHS.unpack_from
    starts: list[int] = []
    values: list[int] = []
    position = 0
    while position < limit:
        if position + _ROW_START > limit:
            raise CorruptFileError("HFile: a data block ends within an entry", path=path)
        key_length, value_length = unpack(view, position)
        value = position + 8 + key_length
        following = value + value_length + tail
        row_length = int.from_bytes(view[position + 8 : position + 10], "big")
        if key_length == 2 + row_length < _KEY_OVERHEAD:
            raise _keys_of_rows_alone(path)
        if key_length < _KEY_OVERHEAD or value_length < 0 or following > limit:
            raise CorruptFileError("HFile: an entry reaches beyond its data block", path=path)
        starts.append(position)
        values.append(value)
        position = following
    begins = np.array(starts, np.int64)
    ends = np.append(begins[1:], limit) - tail if starts else begins
    return begins, np.array(values, np.int64), ends


def _keys_of_rows_alone(path: str) -> UnsupportedFormatError:
    return UnsupportedFormatError(
        "HFile whose keys are rows alone, without column family, timestamp and type: pre-releases of Hudi 1.1.0 wrote "
        "such ones; the file is not damaged",
        path=path,
        remedy="build the metadata table anew: `hudi-hive metadata delete`, then `hudi-hive metadata create`",
    )


def as_table(rows: list[pa.Array], values: list[pa.Array], path: str) -> pa.Table:
    """The rows and values of several blocks as one table of :data:`ENTRY_SCHEMA`.

    Raises:
        CorruptFileError: a row is not UTF-8.
    """
    try:
        keys = [row.cast(pa.string()) for row in rows]
    except pa.ArrowInvalid as error:
        raise CorruptFileError("HFile: a key is not UTF-8", path=path) from error
    return pa.table([pa.chunked_array(keys, pa.string()), pa.chunked_array(values, pa.binary())], schema=ENTRY_SCHEMA)
