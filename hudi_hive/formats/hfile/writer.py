"""Writes HFiles from sorted keys and their values.

The form is the one that the native readers of Hudi 1.x and the HBase reader of 0.15 agree on: one level of index,
whole keys with Hadoop's lengths, no checksums, and data blocks small enough for the readers that lose what lies at the
end of great ones.

Source: docs/format.md#hfile, docs/format.md#hfile-writing.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedFormatError
from hudi_hive.formats.gzip_codec import pack
from hudi_hive.formats.hash import BloomFilter
from hudi_hive.formats.hfile import blocks
from hudi_hive.formats.varints import varint

_BLOCK_BYTES: Final = 1 << 16
_CHUNK_ROWS: Final = 1 << 17
LONGEST_KEY: Final = (1 << 15) - 1
"""Bytes of a key, whose length is a Java short."""
_PER_CHECKSUM: Final = 16384
_ROOT: Final = struct.Struct(">qi")
_TAIL: Final = b"\0" + (2**63 - 1).to_bytes(8, "big") + b"\4"  # family of no length, timestamp, "put"
_OVERHEAD: Final = 4 + 4 + 2 + len(_TAIL) + 1
_COMPARATOR: Final = b"org.apache.hudi.io.storage.HoodieHBaseKVComparator"
_NOWHERE: Final = (1 << 64) - 1
_CODECS: Final[Mapping[str, int]] = {"gz": blocks.CODECS.index("GZ"), "none": blocks.CODECS.index("NONE")}

Sizes: TypeAlias = npt.NDArray[np.int64]


def write_hfile(
    keys: pa.Array | pa.ChunkedArray,
    values: pa.Array | pa.ChunkedArray,
    *,
    schema: str,
    codec: str = "gz",
    bloom: BloomFilter | None = None,
    extra: Mapping[str, bytes] | None = None,
) -> bytes:
    """Make the bytes of an HFile.

    Args:
        keys: texts or bytes, ascending by their bytes, none twice.
        values: bytes.
        schema: Avro schema of the values, as JSON.
        codec: how blocks are compressed.
        bloom: filter of the keys, for base files.
        extra: further entries of the file info (``minRecordKey``, ``maxRecordKey``).

    Raises:
        UnsupportedFormatError: keys that do not ascend or are too long, or an unknown codec.
    """
    if codec not in _CODECS:
        raise UnsupportedFormatError(f"HFile with codec {codec!r}", remedy="gz or none")
    rows, content = _column(keys), _column(values)
    if len(rows) != len(content) or rows.null_count or content.null_count:
        raise UnsupportedFormatError("an HFile needs a key and a value in each entry")
    row_sizes, value_sizes = _lengths(rows), _lengths(content)
    _check_keys(rows, row_sizes)
    out = _Out(codec)
    index = _data_blocks(out, rows, content, row_sizes + value_sizes + _OVERHEAD)
    first, last = (index[0][0], index[-1][0]) if index else (_NOWHERE, _NOWHERE)
    info = dict(extra or {})
    metas: list[tuple[int, int, bytes]] = []
    if bloom is not None:
        metas.append((*out.block(blocks.META, bloom.encode().encode(), -1), b"bloomFilter"))
        info["bloomFilterTypeCode"] = bloom.kind.encode()
    info |= _own_info(rows, row_sizes, value_sizes)
    info["schema"] = schema.encode()
    load_on_open = out.size
    root = _index(index)
    out.block(blocks.ROOT_INDEX, root, -1)
    out.block(blocks.ROOT_INDEX, _index(metas), -1)
    file_info = out.size
    out.block(blocks.FILE_INFO, b"PBUF" + _delimited(b"".join(_pair(name, info[name]) for name in sorted(info))), -1)
    numbers = {1: file_info, 2: load_on_open, 3: len(root), 4: out.uncompressed, 5: len(index), 6: len(metas)}
    numbers |= {7: len(rows), 8: 1, 9: first, 10: last}
    out.parts.append(_trailer(numbers, _CODECS[codec]))
    return b"".join(out.parts)


class _Out:
    """The blocks of a file that is being written, in order.

    Attributes:
        parts: the bytes so far, in pieces.
        size: how many they are.
        uncompressed: how many they would be without compression.
    """

    def __init__(self, codec: str) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self.uncompressed = 0
        self._compress = codec == "gz"

    def block(self, magic: bytes, content: bytes | memoryview, previous: int) -> tuple[int, int]:
        """Write a block; returns its offset and size on disk."""
        length = len(content)
        if self._compress:
            content = pack(content)
        size = blocks.HEADER.size + len(content)
        sums = bytes(4 * -(-size // _PER_CHECKSUM))  # type 0: there, but nothing in them
        header = blocks.HEADER.pack(magic, len(content) + len(sums), length, previous, 0, _PER_CHECKSUM, size)
        offset = self.size
        self.parts += [header, bytes(content), sums]
        self.size += size + len(sums)
        self.uncompressed += blocks.HEADER.size + length
        return offset, size + len(sums)


def _data_blocks(out: _Out, rows: pa.Array, values: pa.Array, sizes: Sizes) -> list[tuple[int, int, bytes]]:
    """Write the data blocks; returns offset, size and first key of each."""
    index: list[tuple[int, int, bytes]] = []
    previous = -1
    bounds = _cuts(sizes)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    for some in _runs(bounds):
        begin, end = some[0], some[-1]
        data = _entries(rows.slice(begin, end - begin), values.slice(begin, end - begin))
        for first, beyond in pairwise(some):
            content = data[ends[first] - ends[begin] : ends[beyond] - ends[begin]]
            offset, size = out.block(blocks.DATA, content, previous)
            index.append((offset, size, _full_key(rows[first].as_py())))
            previous = offset
    return index


def _cuts(sizes: Sizes) -> list[int]:
    """The index of the first entry of each block (as many entries as fit, at least one), then the number of entries."""
    ends = np.cumsum(sizes)
    cuts = [0]
    while cuts[-1] < len(sizes):
        before = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
        cuts.append(max(int(np.searchsorted(ends, before + _BLOCK_BYTES, "right")), cuts[-1] + 1))
    return cuts


def _runs(bounds: list[int]) -> Iterable[list[int]]:
    """Ranges of adjacent blocks whose entries are encoded in one step."""
    start = 0
    for at in range(1, len(bounds)):
        if at == len(bounds) - 1 or bounds[at + 1] - bounds[start] > _CHUNK_ROWS:
            yield bounds[start : at + 1]
            start = at


def _entries(rows: pa.Array, values: pa.Array) -> memoryview:
    row_sizes = _lengths(rows)
    head = np.empty(len(rows), np.dtype([("key", ">i4"), ("value", ">i4"), ("row", ">i2")]))
    head["key"] = row_sizes + 2 + len(_TAIL)
    head["value"] = _lengths(values)
    head["row"] = row_sizes
    kind = pa.binary(head.dtype.itemsize)
    heads = pa.Array.from_buffers(kind, len(rows), [None, pa.py_buffer(head.tobytes())])
    if values.nbytes + rows.nbytes > (1 << 30):
        # The kernel's result has 32-bit offsets unless its arguments have others.
        heads, rows, values = (array.cast(pa.large_binary()) for array in (heads.cast(pa.binary()), rows, values))
        tail, end, between = (pa.scalar(data, pa.large_binary()) for data in (_TAIL, b"\0", b""))
    else:
        heads = heads.cast(pa.binary())
        tail, end, between = (pa.scalar(data, pa.binary()) for data in (_TAIL, b"\0", b""))
    joined = pc.binary_join_element_wise(heads, rows, tail, values, end, between)
    return memoryview(joined.buffers()[2]) if len(rows) else memoryview(b"")


def _index(entries: Iterable[tuple[int, int, bytes]]) -> bytes:
    return b"".join(_ROOT.pack(offset, size) + _hadoop_vint(len(key)) + key for offset, size, key in entries)


def _full_key(row: bytes) -> bytes:
    return struct.pack(">h", len(row)) + row + _TAIL


def _own_info(rows: pa.Array, row_sizes: Sizes, value_sizes: Sizes) -> dict[str, bytes]:
    count = len(rows)
    info = {
        "KEY_VALUE_VERSION": struct.pack(">i", 1),
        "MAX_MEMSTORE_TS_KEY": struct.pack(">q", 0),
        "hfile.AVG_KEY_LEN": struct.pack(">i", int(row_sizes.sum()) // count + 2 + len(_TAIL) if count else 0),
        "hfile.AVG_VALUE_LEN": struct.pack(">i", int(value_sizes.sum()) // count if count else 0),
        "hfile.CREATE_TIME_TS": struct.pack(">q", time.time_ns() // 1_000_000),
    }
    if count:
        info["hfile.LASTKEY"] = _full_key(rows[count - 1].as_py())
    return info


def _trailer(numbers: Mapping[int, int], codec: int) -> bytes:
    message = b"".join(varint(field << 3) + varint(value) for field, value in numbers.items())
    message += varint(11 << 3 | 2) + _delimited(_COMPARATOR) + varint(12 << 3) + varint(codec)
    trailer = blocks.TRAILER_MAGIC + _delimited(message)
    return trailer.ljust(blocks.TRAILER_SIZE - 4, b"\0") + b"\3" + (3).to_bytes(3, "big")


def _pair(name: str, value: bytes) -> bytes:
    return b"\x0a" + _delimited(b"\x0a" + _delimited(name.encode()) + b"\x12" + _delimited(value))


def _delimited(data: bytes) -> bytes:
    return varint(len(data)) + data


def _hadoop_vint(value: int) -> bytes:
    """Encode a non-negative number as a Hadoop ``VInt``."""
    if value <= 127:
        return bytes([value])
    magnitude = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([(-112 - len(magnitude)) & 0xFF]) + magnitude


def _column(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Combine chunks to one binary array, with 64-bit offsets where 32 bits do not suffice."""
    if isinstance(column, pa.ChunkedArray):
        kind = pa.large_binary() if column.nbytes > (1 << 31) - 1 else pa.binary()
        chunks = [chunk.cast(kind) for chunk in column.chunks]
        return pa.concat_arrays(chunks) if chunks else pa.array([], kind)
    kind = pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary()
    return column if pa.types.is_large_binary(column.type) else column.cast(kind)


def _lengths(array: pa.Array) -> Sizes:
    return np.asarray(pc.binary_length(array).to_numpy(zero_copy_only=False), np.int64)


def _check_keys(rows: pa.Array, sizes: Sizes) -> None:
    if len(rows) > 1 and not pc.all(pc.less(rows[:-1], rows[1:])).as_py():
        raise UnsupportedFormatError("keys of an HFile must ascend by their bytes, none twice")
    if len(rows) and int(sizes.max()) > LONGEST_KEY:
        raise UnsupportedFormatError(f"a key of {int(sizes.max())} bytes: an HFile's have at most {LONGEST_KEY}")
