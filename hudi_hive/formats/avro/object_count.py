"""Counts the Python objects that a decoder would make of Avro binaries, without making them.

A byte of Avro can stand for many objects: nulls take no byte at all, and a record takes none of its own. So what a
decoder is handed is counted first, by the schema alone where its densest values cannot exceed the limit, else value by
value until the limit is reached.

Source: Avro specification 1.11 ("Binary Encoding").
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.avro.schema import (
    ArrayNode,
    EnumNode,
    FixedNode,
    MapNode,
    Node,
    PlainNode,
    RecordNode,
    UnionNode,
)

_CONTAINER: Final = 2
"""Weight of a record, list or map: a dict takes more memory than what it refers to."""

_FIXED_WIDTHS: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}


def count_objects(root: RecordNode, data: bytes, count: int, limit: int) -> int:
    """An upper bound of the Python objects that records become; containers count twice.

    Args:
        root: type of the records.
        data: their binaries, one behind the other.
        count: number of records.
        limit: most objects that they may become.

    Raises:
        CorruptFileError: they are more than the limit.
        IndexError: the data ends early.
    """
    estimate = int(density(root) * (len(data) + 1)) + count * _CONTAINER
    if estimate <= limit:
        return estimate
    counter = _Counter(data, limit)
    for _ in range(count):
        counter.value(root)
    return counter.objects


@lru_cache(maxsize=128)
def density(node: Node) -> float:
    """The greatest number of Python objects that one byte of a type can become, items of lists and maps included."""
    return _flat(node) / max(node.least, 1) + sum(density(item) for item in _items(node))


def _flat(node: Node) -> int:
    """The greatest number of objects of one value, without the items of lists and maps."""
    if isinstance(node, RecordNode):
        return _CONTAINER + sum(_flat(child) for child in node.children)
    if isinstance(node, UnionNode):
        return max((_flat(branch) for branch in node.branches), default=1)
    return _CONTAINER if isinstance(node, (ArrayNode, MapNode)) else 1


def _items(node: Node) -> list[Node]:
    """The item types of all lists and maps in a value that are not nested in other lists and maps."""
    if isinstance(node, RecordNode):
        return [item for child in node.children for item in _items(child)]
    if isinstance(node, UnionNode):
        return [item for branch in node.branches for item in _items(branch)]
    if isinstance(node, ArrayNode):
        return [node.item]
    return [node.entry] if isinstance(node, MapNode) else []


class _Counter:
    """Steps over values and counts their objects; raises IndexError at the end of the data."""

    def __init__(self, data: bytes, limit: int) -> None:
        self._data = data
        self._limit = limit
        self._at = 0
        self.objects = 0

    def value(self, node: Node) -> None:
        self._add(_CONTAINER if isinstance(node, (RecordNode, ArrayNode, MapNode)) else 1)
        if isinstance(node, RecordNode):
            for child in node.children:
                self.value(child)
        elif isinstance(node, UnionNode):
            branch = self._long()
            if not 0 <= branch < len(node.branches):
                raise IndexError("no such branch")
            self.value(node.branches[branch])
        elif isinstance(node, (ArrayNode, MapNode)):
            self._items_of(node.item if isinstance(node, ArrayNode) else node.entry)
        elif isinstance(node, FixedNode):
            self._at += node.size
        elif isinstance(node, EnumNode):
            self._long()
        elif isinstance(node, PlainNode):
            self._plain(node.kind)

    def _plain(self, kind: str) -> None:
        if kind in _FIXED_WIDTHS:
            self._at += _FIXED_WIDTHS[kind]
            return
        value = self._long()
        if kind in ("string", "bytes"):
            if value < 0:
                raise IndexError("a length is negative")
            self._at += value

    def _items_of(self, item: Node) -> None:
        while count := self._long():
            if count < 0:  # followed by the size of this run of items
                count = -count
                self._long()
            self._add(count)
            for _ in range(count):
                self.value(item)

    def _add(self, objects: int) -> None:
        self.objects += objects
        if self.objects > self._limit:
            raise CorruptFileError(f"Avro records of {len(self._data):,} bytes would become too many objects")

    def _long(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7
        raise IndexError("a number has no end")
