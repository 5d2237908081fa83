"""Skips values that are not decoded, and finds where the items of arrays and maps begin.

Source: Avro specification 1.11 ("Binary Encoding").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from hudi_hive.formats.avro.cursor import Cursor, Positions, RecordBytes
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

_FEW: Final = 48
"""With fewer records than this left in a loop, walking them one by one costs less than another round of array steps."""

_SPARSE: Final = 1000
"""Bytes per number beyond which numbers are not looked for among all bytes, but stepped over."""

_ROUNDS: Final = 4
"""Blocks of an array that are read in array steps however few records have so many: writers make one or two of them."""

_MAX_EMPTY_ITEMS: Final = 1 << 22
"""Items without bytes (nulls, empty records) that arrays may claim to have: nothing in the data bounds their number."""

_NUMBER: Final = -1
_TEXT: Final = -2
"""Parts of a value whose width is not the same everywhere."""

_WIDTHS: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}


def fixed_width(node: Node) -> int | None:
    """The bytes that every value of a type takes, or None if values differ in length."""
    if isinstance(node, PlainNode):
        return _WIDTHS.get(node.kind)
    if isinstance(node, FixedNode):
        return node.size
    if isinstance(node, RecordNode):
        widths = [fixed_width(child) for child in node.children]
        return None if None in widths else sum(width for width in widths if width is not None)
    return None


def skip(node: Node, cursor: Cursor) -> None:
    """Skip one value of a type in each record.

    Raises:
        CorruptFileError: a value does not lie in its record.
    """
    width = fixed_width(node)
    if width is not None:
        cursor.advance(width)
    elif isinstance(node, UnionNode):
        _skip_union(node, cursor)
    elif isinstance(node, RecordNode):
        for child in node.children:
            skip(child, cursor)
    elif isinstance(node, (ArrayNode, MapNode)):
        find_items(node.item if isinstance(node, ArrayNode) else node.entry, cursor, keep=False)
    elif _is_varint(node):
        cursor.skip_varints()
    else:
        cursor.lengths()


def _is_varint(node: Node) -> bool:
    return isinstance(node, EnumNode) or (isinstance(node, PlainNode) and node.kind in ("int", "long"))


def _skip_union(node: UnionNode, cursor: Cursor) -> None:
    branch = cursor.choices(len(node.branches))
    for at in node.members:
        rows = np.flatnonzero(branch == at)
        if len(rows) == len(cursor):
            skip(node.branches[at], cursor)
        elif len(rows):
            selected = cursor.select(rows)
            skip(node.branches[at], selected)
            cursor.pos[rows] = selected.pos


def find_items(item: Node, cursor: Cursor, *, keep: bool = True) -> tuple[Positions, Positions]:
    """Where the items of one array or map in each record begin, and how many each record has.

    The cursor moves behind the arrays. Begins come in the order of records and items, or not at all unless they are
    to be kept.

    Raises:
        CorruptFileError: a count is more than the bytes that are left can hold, or an item does not lie in its record.
    """
    counts = np.zeros(len(cursor), np.int64)
    begins: list[Positions] = []
    rows, rounds = np.arange(len(cursor)), 0
    while len(rows) > _FEW or (len(rows) and rounds < _ROUNDS):
        rounds += 1
        selected = cursor.select(rows)
        count = _block_counts(item, selected)
        cursor.pos[rows] = selected.pos
        going_on = count > 0
        rows, count = rows[going_on], count[going_on]
        counts[rows] += count
        if item.least == 0 and int(counts.sum()) > _MAX_EMPTY_ITEMS:
            raise cursor.block.damaged("an array has too many items", int(cursor.pos[rows[0]]))
        if len(rows):
            selected = cursor.select(rows)
            width = fixed_width(item)
            if keep or width is None:
                begins.append(_block_items(item, selected, count))
            else:
                selected.advance(count * width)
            cursor.pos[rows] = selected.pos
    if len(rows):
        one_by_one: list[int] = []
        walk = _array_walker(item, cursor.block, one_by_one if keep else None)
        for row in rows.tolist():
            before = len(one_by_one)
            cursor.pos[row] = walk(int(cursor.pos[row]), int(cursor.end[row]))
            counts[row] += len(one_by_one) - before
        begins.append(np.array(one_by_one, np.int64))
    if not begins:
        return np.zeros(0, np.int64), counts
    # Records lie one behind the other, and so do the items of each: the order of bytes is the order of items.
    return np.sort(np.concatenate(begins)), counts


def _block_counts(item: Node, cursor: Cursor) -> Positions:
    """Read the number of items in the next block of each array; 0 at its end."""
    count = cursor.longs()
    sized = np.flatnonzero(count < 0)
    if len(sized):
        selected = cursor.select(sized)
        selected.longs()  # the block's size in bytes, which only serves those who skip it
        cursor.pos[sized] = selected.pos
        count[sized] = -count[sized]
    most = (cursor.end - cursor.pos) // item.least if item.least else np.int64(_MAX_EMPTY_ITEMS)
    wrong = (count < 0) | (count > most)
    if wrong.any():
        raise cursor.block.damaged("an array has more items than bytes", int(cursor.pos[np.argmax(wrong)]))
    return count


def _block_items(item: Node, cursor: Cursor, count: Positions) -> Positions:
    """Positions of the items of the next blocks, in any order; the cursor moves behind them."""
    width = fixed_width(item)
    if width is not None:
        begin = cursor.pos
        cursor.advance(count * width)
        return np.repeat(begin, count) + _ordinals(count) * width
    # Looking for the ends of numbers goes over all bytes between the first and the last array.
    if _is_varint(item) and int(cursor.end[-1] - cursor.pos[0]) <= _SPARSE * int(count.sum()):
        return _varint_items(cursor, count)
    begins: list[Positions] = []
    rows, left = np.arange(len(cursor)), count.copy()
    while len(rows) > _FEW:
        selected = cursor.select(rows)
        begins.append(selected.pos.copy())  # skipping may change the positions in place
        skip(item, selected)
        cursor.pos[rows] = selected.pos
        left[rows] -= 1
        rows = rows[left[rows] > 0]
    if not len(rows):
        return np.concatenate(begins)
    one_by_one: list[int] = []
    walk = _items_walker(item, cursor.block)
    for row in rows.tolist():
        cursor.pos[row] = walk(int(cursor.pos[row]), int(cursor.end[row]), int(left[row]), one_by_one)
    return np.concatenate([*begins, np.array(one_by_one, np.int64)])


def _ordinals(count: Positions) -> Positions:
    """Concatenate the ranges 0, 1, 2 … of each count."""
    ends = np.cumsum(count)
    return np.arange(int(ends[-1]), dtype=np.int64) - np.repeat(ends - count, count)


def _varint_items(cursor: Cursor, count: Positions) -> Positions:
    """Find the positions of consecutive varints, each of which ends at a byte without continuation bit."""
    low, high = int(cursor.pos[0]), int(cursor.end[-1])
    stops = np.flatnonzero(cursor.block.bytes[low:high] < 0x80) + low
    first = np.searchsorted(stops, cursor.pos)
    last = first + count - 1
    wrong = last >= len(stops)
    if not wrong.any():
        wrong = stops[last] >= cursor.end
    if wrong.any():
        raise cursor.block.damaged("a number reaches beyond its end", int(cursor.pos[np.argmax(wrong)]))
    ordinals = _ordinals(count)
    begins = np.repeat(cursor.pos, count)
    later = ordinals > 0
    begins[later] = stops[(np.repeat(first, count) + ordinals)[later] - 1] + 1
    cursor.pos = stops[last] + 1
    return begins


# -- One record at a time ---------------------------------------------------------------------------------------------


def _walker(node: Node, block: RecordBytes) -> Callable[[int, int], int]:
    """A function from the position and the end of a value's record to the position behind the value."""
    width = fixed_width(node)
    if width is not None:
        return _width_walker(width, block)
    if isinstance(node, UnionNode):
        return _union_walker([_walker(branch, block) for branch in node.branches], block)
    if isinstance(node, RecordNode):
        return _record_walker([_walker(child, block) for child in node.children])
    if isinstance(node, (ArrayNode, MapNode)):
        return _array_walker(node.item if isinstance(node, ArrayNode) else node.entry, block)
    return _number_walker(block) if _is_varint(node) else _text_walker(block)


def _items_walker(item: Node, block: RecordBytes) -> Callable[[int, int, int, list[int] | None], int]:
    """A function that walks over so many items and appends their positions to a list, if there is one."""
    flat = _flat(item)
    if flat is not None:
        return _flat_walker(flat, block)
    step = _walker(item, block)

    def walk(position: int, end: int, count: int, begins: list[int] | None) -> int:
        for _ in range(count):
            if begins is not None:
                begins.append(position)
            position = step(position, end)
        return position

    return walk


def _flat(node: Node) -> list[int] | None:
    """The parts of a value without unions and arrays: the width of each, or that it is a number or a text."""
    width = fixed_width(node)
    if width is not None:
        return [width]
    if isinstance(node, RecordNode):
        parts = [_flat(child) for child in node.children]
        return None if None in parts else [kind for part in parts if part is not None for kind in part]
    if isinstance(node, (UnionNode, ArrayNode, MapNode)):
        return None
    return [_NUMBER if _is_varint(node) else _TEXT]


def _flat_walker(parts: list[int], block: RecordBytes) -> Callable[[int, int, int, list[int] | None], int]:
    """As :func:`_items_walker`, without a call for each part: a map of a table's partitions has very many items."""
    view = block.view

    def walk(position: int, end: int, count: int, begins: list[int] | None) -> int:
        for _ in range(count):
            if begins is not None:
                begins.append(position)
            for part in parts:
                number = part
                if part < 0:
                    byte = view[position]
                    if byte < 0x80 and position < end:
                        number, position = (byte >> 1) ^ -(byte & 1), position + 1
                    else:
                        number, position = _long_at(block, position, end)
                    if part == _NUMBER:
                        continue
                if not 0 <= number <= end - position:
                    raise block.damaged("a length reaches beyond its end", position)
                position += number
        return position

    return walk


def _width_walker(width: int, block: RecordBytes) -> Callable[[int, int], int]:
    def walk(position: int, end: int) -> int:
        if position + width > end:
            raise block.damaged("a length reaches beyond its end", position)
        return position + width

    return walk


def _union_walker(branches: list[Callable[[int, int], int]], block: RecordBytes) -> Callable[[int, int], int]:
    def walk(position: int, end: int) -> int:
        branch, position = _long_at(block, position, end)
        if not 0 <= branch < len(branches):
            raise block.damaged("no such branch or symbol", position)
        return branches[branch](position, end)

    return walk


def _record_walker(children: list[Callable[[int, int], int]]) -> Callable[[int, int], int]:
    def walk(position: int, end: int) -> int:
        for child in children:
            position = child(position, end)
        return position

    return walk


def _number_walker(block: RecordBytes) -> Callable[[int, int], int]:
    def walk(position: int, end: int) -> int:
        return _long_at(block, position, end)[1]

    return walk


def _text_walker(block: RecordBytes) -> Callable[[int, int], int]:
    def walk(position: int, end: int) -> int:
        length, position = _long_at(block, position, end)
        if not 0 <= length <= end - position:
            raise block.damaged("a length reaches beyond its end", position)
        return position + length

    return walk


def _array_walker(item: Node, block: RecordBytes, begins: list[int] | None = None) -> Callable[[int, int], int]:
    """As :func:`_walker`, for an array of items; appends their positions to a list if there is one."""
    width, step = fixed_width(item), _items_walker(item, block)

    def walk(position: int, end: int) -> int:
        while True:
            count, position = _long_at(block, position, end)
            if count == 0:
                return position
            if count < 0:
                count = -count
                _, position = _long_at(block, position, end)
            if count * item.least > end - position or (not item.least and count > _MAX_EMPTY_ITEMS):
                raise block.damaged("an array has more items than bytes", position)
            if not item.least and begins is not None and len(begins) + count > _MAX_EMPTY_ITEMS:
                raise block.damaged("an array has too many items", position)
            if width is not None:
                if begins is not None:
                    begins.extend(range(position, position + count * width, width) if width else [position] * count)
                position += count * width
                continue
            position = step(position, end, count, begins)

    return walk


def _long_at(block: RecordBytes, position: int, end: int) -> tuple[int, int]:
    """The zig-zag number at a position, and the position behind it."""
    view = block.view
    byte = view[position]
    if byte < 0x80 and position < end:
        return (byte >> 1) ^ -(byte & 1), position + 1
    value = shift = 0
    while position < end and shift < 70:
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return (value >> 1) ^ -(value & 1), position
        shift += 7
    raise block.damaged("a number has no end", position)
