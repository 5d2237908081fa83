"""Parses the index blocks of an HFile and finds the blocks that may hold rows.

Source: docs/format.md#hfile-indexes.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.hfile.wire import hadoop_vint, protobuf_varint

_LOCATION = struct.Struct(">qi")
_INT = struct.Struct(">i")
_SHORT = struct.Struct(">h")
_VarInt: TypeAlias = Callable[[memoryview, int, str], tuple[int, int]]


class EntryRows(NamedTuple):
    """An index entry and the range of sorted rows that can be in its block.

    Attributes:
        entry: number of the entry.
        begin: number of the first row.
        beyond: number of the row after the last.
    """

    entry: int
    begin: int
    beyond: int


@dataclass(frozen=True, slots=True)
class BlockIndex:
    """The entries of one index block, in ascending order.

    Args:
        keys: a row that is not greater than any row below the entry, and greater than (or, in a file that repeats
            rows, equal to) all rows before it.
        locations: offset in the file and size on disk, header included, of the block that each entry leads to.
    """

    keys: list[bytes]
    locations: list[tuple[int, int]]

    def entries_of_rows(self, rows: pa.Array, begin: int, beyond: int) -> Iterator[EntryRows]:
        """The entries whose blocks can hold some of the sorted rows ``begin`` to ``beyond`` (exclusive).

        Each entry costs one binary search.
        """
        row_values = _Rows(rows)
        count = len(self.keys)
        first = bisect_left(row_values, self.keys[0], begin, beyond) if count else beyond
        for entry in range(count):
            if first >= beyond:
                return
            # A row that is the next entry's key itself may be on both sides of it: that may split equal rows.
            following = self.keys[entry + 1] if entry + 1 < count else None
            split = beyond if following is None else bisect_left(row_values, following, first, beyond)
            last = split + 1 if split < beyond and row_values[split] == following else split
            if last > first:
                yield EntryRows(entry, first, last)
            first = split

    def entries_between(self, low: bytes, beyond: bytes | None) -> range:
        """The entries whose blocks can hold rows from ``low`` to ``beyond`` (exclusive)."""
        end = len(self.keys) if beyond is None else bisect_left(self.keys, beyond)
        return range(max(bisect_left(self.keys, low) - 1, 0), end)


class _Rows(Sequence[bytes]):
    """A Python sequence over an Arrow array, whose values are converted one at a time on access."""

    def __init__(self, values: pa.Array) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, at: int) -> bytes:  # type: ignore[override]
        row: bytes = self._values[at].as_py()
        return row


def parse_root(data: memoryview, count: int, limit: int, path: str, *, raw_keys: bool = False) -> BlockIndex:
    """Parse a root index, of data or of meta blocks.

    The release 1.1.1 of Hudi writes the length of a key as a protobuf integer, which differs from Hadoop's from 128
    on; so where the one gives nonsense the other is tried.

    Args:
        data: content of the block; HBase may put more behind the entries.
        count: number of entries.
        limit: offset that blocks must end before.
        path: the file, for errors.
        raw_keys: keys are names of meta blocks, not rows.

    Raises:
        CorruptFileError: the entries do not fit the block or lead out of the file.
    """
    if count * (_LOCATION.size + 1) > len(data):
        raise CorruptFileError(f"HFile: {count} index entries in {len(data)} bytes", path=path)
    try:
        return _root_entries(data, count, limit, path, hadoop_vint, raw_keys)
    except CorruptFileError:
        try:
            return _root_entries(data, count, limit, path, protobuf_varint, raw_keys)
        except CorruptFileError:
            pass
        raise


def _root_entries(data: memoryview, count: int, limit: int, path: str, varint: _VarInt, raw_keys: bool) -> BlockIndex:
    keys: list[bytes] = []
    locations: list[tuple[int, int]] = []
    position = 0
    for _ in range(count):
        if position + _LOCATION.size > len(data):
            raise CorruptFileError("HFile: an index block is cut short", path=path)
        offset, size = _LOCATION.unpack_from(data, position)
        length, position = varint(data, position + _LOCATION.size, path)
        if not 0 <= length <= len(data) - position:
            raise CorruptFileError("HFile: an index key reaches beyond its block", path=path)
        key = data[position : position + length]
        position += length
        keys.append(bytes(key) if raw_keys else _row(key, path))
        locations.append((offset, size))
    return _checked(keys, locations, limit, path)


def parse_branch(data: memoryview, limit: int, path: str) -> BlockIndex:
    """Parse a leaf or intermediate index block.

    Args:
        data: content of the block.
        limit: offset that blocks must end before.
        path: the file, for errors.

    Raises:
        CorruptFileError: the entries do not fit the block or lead out of the file.
    """
    if len(data) < _INT.size:
        raise CorruptFileError("HFile: an index block is cut short", path=path)
    count = _INT.unpack_from(data, 0)[0]
    base = _INT.size * (count + 2)
    if count <= 0 or base > len(data):
        raise CorruptFileError(f"HFile: an index block of {count} entries in {len(data)} bytes", path=path)
    relative = struct.unpack_from(f">{count + 1}i", data, _INT.size)
    keys: list[bytes] = []
    locations: list[tuple[int, int]] = []
    for begin, end in pairwise(relative):
        if begin < 0 or end < begin + _LOCATION.size or base + end > len(data):
            raise CorruptFileError("HFile: an index entry reaches beyond its block", path=path)
        offset, size = _LOCATION.unpack_from(data, base + begin)
        keys.append(_row(data[base + begin + _LOCATION.size : base + end], path))
        locations.append((offset, size))
    return _checked(keys, locations, limit, path)


def _row(key: memoryview, path: str) -> bytes:
    """The row of an index key, which may be a whole key or end behind the row."""
    if len(key) >= _SHORT.size:
        length = _SHORT.unpack_from(key, 0)[0]
        if 0 <= length <= len(key) - _SHORT.size:
            return bytes(key[_SHORT.size : _SHORT.size + length])
    raise CorruptFileError("HFile: an index key holds no row", path=path)


def _checked(keys: list[bytes], locations: list[tuple[int, int]], limit: int, path: str) -> BlockIndex:
    if any(left > right for left, right in pairwise(keys)):
        raise CorruptFileError("HFile: index keys are out of order", path=path)
    for offset, size in locations:
        if offset < 0 or size <= 0 or offset + size > limit:
            raise CorruptFileError(f"HFile: an index leads to {size} bytes at {offset}, out of its section", path=path)
    return BlockIndex(keys, locations)
