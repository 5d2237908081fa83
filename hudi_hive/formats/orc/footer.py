"""Reads stripe offsets from an ORC file's footer, and refuses types that the ORC reader cannot handle.

The reader library shows no stripe offsets, and ends the whole process over a decimal type of impossible precision, so
both are taken from the footer here (ORC specification v1, "File Tail"; messages are Protocol Buffers).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from hudi_hive.errors import CorruptFileError

_MAGIC: Final = b"ORC"
_TAIL_BYTES: Final = 16 * 1024
_MAX_FOOTER: Final = 256 << 20
_MOST_INFLATED: Final = 128
"""Bytes that each byte of a footer may become where that is more than the next limit."""

_LEAST_INFLATED: Final = 16 << 20
_DECIMAL: Final = 14
_MAX_PRECISION: Final = 38

_NONE, _ZLIB, _SNAPPY, _ZSTD = 0, 1, 2, 5


@dataclass(frozen=True, slots=True)
class Stripe:
    """Offset and length of a stripe in bytes."""

    offset: int
    length: int


def read_stripes(stream: pa.NativeFile, path: str) -> list[Stripe] | None:
    """Offsets and lengths of an ORC file's stripes, in file order.

    Returns:
        The stripes; None if the footer has a compression that is not supported here (LZO, LZ4).

    Args:
        stream: the open file.
        path: its URI, for messages.

    Raises:
        CorruptFileError: the tail breaks the format, or names a decimal type that cannot be.
    """
    try:
        footer = _footer(stream)
        return None if footer is None else _check(footer)
    except (ValueError, IndexError, zlib.error, pa.ArrowException) as error:
        raise CorruptFileError(
            f"ORC file tail cannot be decoded: {error}", path=path, remedy="restore the file or roll its commit back"
        ) from error


def _footer(stream: pa.NativeFile) -> bytes | None:
    size = stream.size()
    tail = stream.read_at(min(size, _TAIL_BYTES), max(0, size - _TAIL_BYTES))
    if len(tail) < 4 or tail[-1] + 1 > len(tail):
        raise ValueError("too short")
    postscript = dict(message_fields(tail[-1 - tail[-1] : -1]))
    if postscript.get(8000) != _MAGIC:
        raise ValueError("no ORC magic")
    length, packing = whole_number(postscript.get(1, 0)), whole_number(postscript.get(2, _NONE))
    end = size - 1 - tail[-1]
    if not 0 < length <= min(end, _MAX_FOOTER):
        raise ValueError(f"footer of {length} bytes in a file of {size}")
    return unpacked(stream.read_at(length, end - length), packing, whole_number(postscript.get(3, 256 * 1024)))


def _check(footer: bytes) -> list[Stripe]:
    stripes = []
    for number, value in message_fields(footer):
        if number == 3 and isinstance(value, bytes):
            parts = dict(message_fields(value))
            lengths = [whole_number(parts.get(part, 0)) for part in (2, 3, 4)]
            stripes.append(Stripe(whole_number(parts.get(1, 0)), sum(lengths)))
        elif number == 4 and isinstance(value, bytes):
            kind = dict(message_fields(value))
            precision, scale = whole_number(kind.get(5, 0)), whole_number(kind.get(6, 0))
            if kind.get(1) == _DECIMAL and not (
                precision <= _MAX_PRECISION and scale <= max(precision, _MAX_PRECISION)
            ):
                raise ValueError(f"decimal type of precision {precision} and scale {scale}")
    return stripes


def whole_number(value: int | bytes) -> int:
    """Require that a field is a varint; raises ValueError if it is bytes."""
    if isinstance(value, bytes):
        raise ValueError("bytes where a number must be")
    return value


def message_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values of a protobuf message: integers for varints, bytes for all other fields."""
    position, end = 0, len(message)
    while position < end:
        key = message[position]  # most are one byte long
        position += 1
        if key > 127:
            key, position = read_varint(message, position - 1)
        kind = key & 7
        if kind == 0:
            value, position = read_varint(message, position)
            yield key >> 3, value
            continue
        if kind == 2:
            length = message[position]
            position += 1
            if length > 127:
                length, position = read_varint(message, position - 1)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if length > end - position:
            raise ValueError("field runs over its message")
        yield key >> 3, message[position : position + length]
        position += length


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Read a varint; returns it and the position behind it, raises ValueError beyond ten bytes."""
    result = shift = 0
    while shift < 70:
        byte = data[position]
        position += 1
        result |= (byte & 127) << shift
        if byte < 128:
            return result, position
        shift += 7
    raise ValueError("number too long")


def unpacked(data: bytes, packing: int, block: int) -> bytes | None:
    """Decompress an ORC stream: chunks with a header of three bytes (length * 2, + 1 if not compressed)."""
    if packing == _NONE:
        return data
    if packing not in (_ZLIB, _SNAPPY, _ZSTD) or not 0 < block <= _MAX_FOOTER:
        return None
    result = bytearray()
    position, most = 0, max(_MOST_INFLATED * len(data), _LEAST_INFLATED)
    while position < len(data):
        header = int.from_bytes(data[position : position + 3], "little")
        position += 3
        chunk = data[position : position + (header >> 1)]
        if len(chunk) != header >> 1:
            raise ValueError("chunk runs over the footer")
        position += len(chunk)
        result += chunk if header & 1 else _inflate(chunk, packing, block)
        if len(result) > most:
            raise ValueError("footer far larger than its compressed bytes")
    return bytes(result)


def _inflate(chunk: bytes, packing: int, block: int) -> bytes:
    if packing == _ZLIB:
        return zlib.decompressobj(-15).decompress(chunk, block)
    if packing == _ZSTD:
        with pa.CompressedInputStream(pa.BufferReader(chunk), "zstd") as stream:
            data: bytes = stream.read(block)
        return data
    size, _ = read_varint(chunk, 0)  # snappy begins with the size of what it holds
    if size > block:
        raise ValueError("chunk larger than the block size")
    plain: bytes = pa.decompress(chunk, size, codec="snappy", asbytes=True)
    return plain
