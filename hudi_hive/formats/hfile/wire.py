"""The small encodings inside an HFile: protobuf messages and Hadoop's variable-length integers.

Source: docs/format.md#hfile-indexes, docs/format.md#hfile-trailer.
"""

from __future__ import annotations

from typing import TypeAlias

from hudi_hive.errors import CorruptFileError

Message: TypeAlias = dict[int, list[int | bytes]]
"""Fields of a protobuf message: number → values in the order they came."""


def protobuf_varint(data: memoryview, position: int, path: str) -> tuple[int, int]:
    """Read an unsigned base-128 integer of at most 64 bits; returns it and the position behind it.

    Raises:
        CorruptFileError: it does not end in time.
    """
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position
        shift += 7
    raise CorruptFileError("HFile: a variable-length integer does not end", path=path)


def hadoop_vint(data: memoryview, position: int, path: str) -> tuple[int, int]:
    """Read a Hadoop ``VInt``; returns it and the position behind it.

    Raises:
        CorruptFileError: the bytes end within it.
    """
    if position < len(data):
        first = data[position] - 256 if data[position] > 127 else data[position]
        if first >= -112:
            return first, position + 1
        count = -112 - first if first >= -120 else -120 - first
        end = position + 1 + count
        if end <= len(data):
            magnitude = int.from_bytes(data[position + 1 : end], "big")
            return (magnitude if first >= -120 else ~magnitude), end
    raise CorruptFileError("HFile: a variable-length integer does not end", path=path)


def protobuf_message(data: memoryview, path: str) -> Message:
    """Parse a protobuf message to its fields.

    Raises:
        CorruptFileError: the bytes are no message.
    """
    fields: Message = {}
    position = 0
    while position < len(data):
        tag, position = protobuf_varint(data, position, path)
        kind = tag & 7
        value: int | bytes
        if kind == 0:
            value, position = protobuf_varint(data, position, path)
        else:
            if kind == 2:
                length, position = protobuf_varint(data, position, path)
            elif kind in (1, 5):
                length = 8 if kind == 1 else 4
            else:
                raise CorruptFileError(f"HFile: protobuf field of type {kind}", path=path)
            if length > len(data) - position:
                raise CorruptFileError("HFile: a protobuf field reaches beyond its message", path=path)
            value = bytes(data[position : position + length])
            position += length
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def delimited_message(data: memoryview, path: str) -> Message:
    """Parse a protobuf message with its length in front; bytes behind it are ignored.

    Raises:
        CorruptFileError: the bytes are no message.
    """
    length, position = protobuf_varint(data, 0, path)
    if length > len(data) - position:
        raise CorruptFileError("HFile: a protobuf message reaches beyond its block", path=path)
    return protobuf_message(data[position : position + length], path)
