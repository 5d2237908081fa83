"""Numbers of as many bytes as they need, seven bits in each: of Avro, protobuf and Thrift.

Source: Protocol Buffers, "Encoding"; Avro specification, binary encoding.
"""

from __future__ import annotations

from typing import Final

_BYTES: Final = tuple(bytes([value]) for value in range(128))


def varint(value: int) -> bytes:
    """Encode a non-negative number as a varint."""
    if value < 128:  # most are
        return _BYTES[value]
    result = bytearray()
    while value > 127:
        result.append(value & 127 | 128)
        value >>= 7
    result.append(value)
    return bytes(result)


def signed_varint(value: int) -> bytes:
    """Encode a number of up to 64 bits as a varint of its zigzag form."""
    return varint((value << 1) ^ (value >> 63))
