"""Blocks of an HFile: header, decompression, and the trailer.

Source: docs/format.md#hfile-blocks, docs/format.md#hfile-trailer.
"""

from __future__ import annotations

import bz2
import struct
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from hudi_hive.errors import CorruptFileError, UnsupportedFormatError
from hudi_hive.formats.avro import describe, snappy_length
from hudi_hive.formats.gzip_codec import unpack
from hudi_hive.formats.hfile.wire import delimited_message

DATA: Final = b"DATABLK*"
LEAF_INDEX: Final = b"IDXLEAF2"
INTERMEDIATE_INDEX: Final = b"IDXINTE2"
ROOT_INDEX: Final = b"IDXROOT2"
META: Final = b"METABLKc"
FILE_INFO: Final = b"FILEINF2"
TRAILER_MAGIC: Final = b'TRABLK"$'

TRAILER_SIZE: Final = 4096
HEADER: Final = struct.Struct(">8siiqbii")
_INT: Final = struct.Struct(">i")
_MAJOR_VERSION: Final = 3

CODECS: Final = ("LZO", "GZ", "NONE", "SNAPPY", "LZ4", "BZIP2", "ZSTD")
"""Compression codecs by their number in the trailer."""

# How much greater than its input a codec's output can be at most (a generous bound): a damaged length must not make
# us reserve memory that no honest block would need.
_MOST_EXPANSION: Final = {"GZ": 1100, "SNAPPY": 64, "LZ4": 256, "ZSTD": 1 << 17, "BZIP2": 1 << 17}
_MOST_INFLATED: Final = 128
"""Bytes that each byte of a file may become in one reading of it where that is more than the next limit."""

_LEAST_INFLATED: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Trailer:
    """The trailer of an HFile: offsets in bytes, numbers of entries, name of the codec."""

    file_info_offset: int
    load_on_open_offset: int
    root_count: int
    meta_count: int
    entry_count: int
    levels: int
    codec: str


def parse_trailer(data: memoryview, file_size: int, path: str) -> Trailer:
    """Parse the trailer, the last 4096 bytes of an HFile.

    Raises:
        CorruptFileError: it is none, or contradicts the size of the file.
        UnsupportedFormatError: another major version, an encrypted file, an unknown codec.
    """
    if bytes(data[:8]) != TRAILER_MAGIC:
        raise CorruptFileError("not an HFile: its trailer does not begin with the magic", path=path)
    major = int.from_bytes(data[-3:], "big")
    if major != _MAJOR_VERSION:
        raise UnsupportedFormatError(f"HFile of major version {major}", path=path)
    fields = delimited_message(data[8:-4], path)

    def number(field: int, default: int = 0) -> int:
        value = fields.get(field, [default])[-1]
        if not isinstance(value, int):
            raise CorruptFileError(f"HFile: trailer field {field} is not a number", path=path)
        return value

    # Writers set these even to zero; without them a damaged trailer would pass for that of an empty file.
    if missing := [field for field in (2, 5, 7) if field not in fields]:
        raise CorruptFileError(f"HFile: the trailer lacks field {missing[0]}", path=path)
    codec = number(12, 2)
    if not codec < len(CODECS):
        raise UnsupportedFormatError(f"HFile compressed with codec number {codec}", path=path)
    if fields.get(13, [b""])[-1]:
        raise UnsupportedFormatError("HFile is encrypted", path=path)
    trailer = Trailer(number(1), number(2), number(5), number(6), number(7), number(8, 1), CODECS[codec])
    if trailer.load_on_open_offset > file_size - TRAILER_SIZE:
        raise CorruptFileError("HFile: the load-on-open section would begin within the trailer", path=path)
    # The level count bounds how deep a damaged index can lead; HBase's own default limit of splits stays far below.
    if not 1 <= trailer.levels <= 16:
        raise CorruptFileError(f"HFile: {trailer.levels} levels of index", path=path)
    return trailer


@dataclass(frozen=True, slots=True)
class HFileBlock:
    """A block: its magic, its decompressed content, and its size on disk with header and checksums."""

    magic: bytes
    content: pa.Buffer
    size: int


def block_size(data: memoryview, path: str) -> int:
    """Size on disk of the block at the beginning of ``data``, with header and checksums.

    Raises:
        CorruptFileError: there is no whole header, or the size is negative.
    """
    if len(data) < HEADER.size:
        raise CorruptFileError("HFile: a block header is cut short", path=path)
    size = int(HEADER.unpack_from(data, 0)[1])
    if size < 0:
        raise CorruptFileError("HFile: a block has a negative size", path=path)
    return size + HEADER.size


def most_inflated(file_size: int) -> int:
    """The greatest number of bytes that the blocks of a file may hold together when decompressed.

    Damaged or hostile files could claim any amount.

    Args:
        file_size: size of the file in bytes.
    """
    return max(_MOST_INFLATED * file_size, _LEAST_INFLATED)


def parse_block(data: pa.Buffer, codec: str, path: str, most: int) -> HFileBlock:
    """Parse and decompress the block at the beginning of ``data``; checksums are not verified, as in Hudi's reader.

    Args:
        data: bytes from the block's header on.
        codec: how its content is compressed; see :data:`CODECS`.
        path: the file, for errors.
        most: bytes that its content may have when it was compressed.

    Raises:
        CorruptFileError: sizes contradict each other, or the content cannot be decompressed.
        UnsupportedFormatError: the codec is not supported.
    """
    view = memoryview(data).cast("B")
    size = block_size(view, path)
    magic, _, uncompressed, _, _, _, data_size = HEADER.unpack_from(view, 0)
    if size > len(view):
        raise CorruptFileError("HFile: a block reaches beyond its section", path=path)
    if not HEADER.size <= data_size <= size or uncompressed < 0:
        raise CorruptFileError("HFile: the sizes in a block header contradict each other", path=path)
    content = data.slice(HEADER.size, data_size - HEADER.size)
    if codec != "NONE":
        content = _decompress(content, uncompressed, codec, path, most)
    # Without compression the content is longer than the header claims only if the header is damaged.
    if content.size != uncompressed:
        raise CorruptFileError(f"HFile: a block of {uncompressed} bytes holds {content.size}", path=path)
    return HFileBlock(magic, content, size)


def _decompress(data: pa.Buffer, size: int, codec: str, path: str, most: int) -> pa.Buffer:
    expansion = _MOST_EXPANSION.get(codec)
    if expansion is None:
        raise UnsupportedFormatError(f"HFile compressed with {codec}", path=path)
    if size > data.size * expansion + 64:
        raise CorruptFileError(f"HFile: {data.size} compressed bytes cannot hold {size}", path=path)
    if size > most:
        raise CorruptFileError(f"HFile: its blocks hold far more than its size, one of them {size:,} bytes", path=path)
    try:
        if codec == "GZ":
            # One byte more than due shows a block that is too long.
            return pa.py_buffer(unpack(data, size + 1))
        if codec == "BZIP2":
            return pa.py_buffer(bz2.BZ2Decompressor().decompress(data.to_pybytes(), size + 1))
        if codec == "ZSTD":
            return pa.Codec("zstd").decompress(data, decompressed_size=size)
        framed = _hadoop_frames(data, size, codec)
        return framed if framed is not None else pa.py_buffer(_chunk(data, size, codec) or b"")
    except (OSError, ValueError, EOFError, pa.ArrowException) as error:
        raise CorruptFileError(f"HFile: a block cannot be decompressed: {describe(error)}", path=path) from error


def _hadoop_frames(data: pa.Buffer, size: int, codec: str) -> pa.Buffer | None:
    """Content in the framing of Hadoop's block codecs; None if the data is not framed so.

    The framing is the length of the whole, then chunks with their lengths.
    """
    view = memoryview(data).cast("B")
    position = 0
    parts: list[bytes] = []
    inflated = 0
    due = 0  # bytes that the chunks of the current frame have still to give
    while position < len(view):
        if position + _INT.size > len(view):
            return None
        number = int(_INT.unpack_from(view, position)[0])
        position += _INT.size
        if due == 0:
            if not 0 <= number <= size - inflated:
                return None
            due = number
            continue
        if not 0 < number <= len(view) - position:
            return None
        chunk = _chunk(data.slice(position, number), due, codec)
        if not chunk:
            return None
        position += number
        parts.append(chunk)
        due -= len(chunk)
        inflated += len(chunk)
    return pa.py_buffer(b"".join(parts)) if inflated == size and due == 0 else None


def _chunk(data: pa.Buffer, most: int, codec: str) -> bytes | None:
    """Decompress one Snappy or LZ4 chunk of at most so many bytes; None if it is invalid."""
    view = memoryview(data).cast("B")
    length = snappy_length(view) if codec == "SNAPPY" else _lz4_length(view)
    if length is None or length > most:
        return None
    name = "snappy" if codec == "SNAPPY" else "lz4_raw"
    try:
        return bytes(pa.Codec(name).decompress(data, decompressed_size=length, asbytes=True))
    except (OSError, pa.ArrowException):
        return None


def _lz4_length(data: memoryview) -> int | None:
    """The uncompressed length of an LZ4 chunk: the sum over its sequences, since no header has it."""
    position = length = 0

    def extended(count: int, position: int) -> tuple[int, int]:
        while position < len(data):
            byte = data[position]
            count, position = count + byte, position + 1
            if byte != 255:
                return count, position
        return count, len(data) + 1

    while position < len(data):
        token = data[position]
        literals, position = token >> 4, position + 1
        if literals == 15:
            literals, position = extended(literals, position)
        position += literals
        length += literals
        if position >= len(data):
            break  # the last sequence has literals only
        position += 2  # the distance of the match
        match = token & 15
        if match == 15:
            match, position = extended(match, position)
        length += match + 4
    return length if position == len(data) else None
