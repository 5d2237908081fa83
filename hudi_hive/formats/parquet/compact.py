"""Walks through structs of Thrift's compact protocol without making objects of what is not looked at.

Source: Thrift, "thrift-compact-protocol.md".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

_MOST_DEPTH: Final = 32
"""Structs and lists inside of one another; Parquet's own have six."""

_VARINT_BITS: Final = 70

I32: Final = 5
I64: Final = 6
_DOUBLE, _BINARY, _LIST, _SET, _MAP, STRUCT = 7, 8, 9, 10, 11, 12
_FIXED: Final = {1: 0, 2: 0, 3: 1, _DOUBLE: 8, 13: 16}
"""Bytes of values by type: the booleans of a field are in its type."""

_LONG_LIST: Final = 15


class CompactError(ValueError):
    """Bytes that are no struct of the compact protocol."""


class Field(NamedTuple):
    """A field of a struct.

    Attributes:
        number: its id.
        kind: its type.
        start: where its value begins.
        end: behind its value.
    """

    number: int
    kind: int
    start: int
    end: int


def fields(data: bytes, position: int) -> Iterator[Field]:
    """The fields of the struct at a position; the last one, with the number and type 0, is the end of the struct.

    Args:
        data: the bytes.
        position: where the struct begins.

    Raises:
        CompactError: the bytes are no struct.
    """
    number = 0
    while True:
        byte = _byte(data, position)
        position += 1
        kind, delta = byte & 0x0F, byte >> 4
        if not kind:
            yield Field(0, 0, position, position)
            return
        if delta:
            number += delta
        else:
            number, position = integer(data, position)
        end = _behind(data, position, kind, 0)
        yield Field(number, kind, position, end)
        position = end


def structs(data: bytes, position: int) -> Iterator[int]:
    """Where each struct of a list of structs begins.

    Args:
        data: the bytes.
        position: where the list begins.

    Raises:
        CompactError: the bytes are no such list.
    """
    count, position = _items(data, position, STRUCT)
    for _ in range(count):
        yield position
        position = _behind(data, position, STRUCT, 0)


def texts(data: bytes, position: int) -> Iterator[bytes]:
    """The texts of a list of texts.

    Args:
        data: the bytes.
        position: where the list begins.

    Raises:
        CompactError: the bytes are no such list.
    """
    count, position = _items(data, position, _BINARY)
    for _ in range(count):
        length, start = _varint(data, position)
        position = _inside(data, start + length)
        yield data[start:position]


def integer(data: bytes, position: int) -> tuple[int, int]:
    """The 16-, 32- or 64-bit number at a position, and where its bytes end."""
    value, position = _varint(data, position)
    return (value >> 1) ^ -(value & 1), position


def _behind(data: bytes, position: int, kind: int, depth: int) -> int:
    """Where a value of a type ends."""
    if kind in _FIXED:
        return _inside(data, position + _FIXED[kind])
    if 4 <= kind <= I64:
        return _varint(data, position)[1]
    if kind == _BINARY:
        length, position = _varint(data, position)
        return _inside(data, position + length)
    if depth >= _MOST_DEPTH:
        raise CompactError("values inside of one another without an end")
    skip: Callable[[bytes, int, int], int] | None = _CONTAINERS.get(kind)
    if skip is None:
        raise CompactError(f"values of type {kind}")
    return skip(data, position, depth + 1)


def _behind_struct(data: bytes, position: int, depth: int) -> int:
    while True:
        byte = _byte(data, position)
        position += 1
        if not byte & 0x0F:
            return position
        if not byte >> 4:
            position = _varint(data, position)[1]
        position = _behind(data, position, byte & 0x0F, depth)


def _behind_list(data: bytes, position: int, depth: int) -> int:
    count, kind, position = _list_header(data, position)
    return _behind_items(data, position, count, (kind,), depth)


def _behind_map(data: bytes, position: int, depth: int) -> int:
    count, position = _varint(data, position)
    if not count:
        return position
    kinds = _byte(data, position)
    return _behind_items(data, position + 1, count, (kinds >> 4, kinds & 0x0F), depth)


def _behind_items(data: bytes, position: int, count: int, kinds: tuple[int, ...], depth: int) -> int:
    if count > len(data) - position:
        raise CompactError(f"{count} items in {len(data) - position} bytes")
    for _ in range(count):
        for kind in kinds:
            # A boolean of a list has a byte, since no field's header holds it.
            position = _inside(data, position + 1) if kind in (1, 2) else _behind(data, position, kind, depth)
    return position


_CONTAINERS: Final = {_LIST: _behind_list, _SET: _behind_list, _MAP: _behind_map, STRUCT: _behind_struct}


def _items(data: bytes, position: int, kind: int) -> tuple[int, int]:
    """Items of a list of a type, and where they begin."""
    count, of_list, position = _list_header(data, position)
    if count and of_list != kind:
        raise CompactError(f"a list of type {of_list} in place of {'structs' if kind == STRUCT else 'texts'}")
    return count, position


def _list_header(data: bytes, position: int) -> tuple[int, int, int]:
    """Items of a list, their type, and where they begin."""
    byte = _byte(data, position)
    count, position = byte >> 4, position + 1
    if count == _LONG_LIST:
        count, position = _varint(data, position)
    return count, byte & 0x0F, position


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = _byte(data, position)
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift >= _VARINT_BITS:
            raise CompactError("a number without an end")


def _byte(data: bytes, position: int) -> int:
    try:
        return data[position]
    except IndexError:
        raise CompactError("the bytes end inside of a struct") from None


def _inside(data: bytes, end: int) -> int:
    if end > len(data):
        raise CompactError("the bytes end inside of a value")
    return end
