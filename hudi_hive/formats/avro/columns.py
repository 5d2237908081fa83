"""Decodes the values at the positions of a cursor to one Arrow array, by Avro type.

Nulls are not filled in afterwards: each array is made at its full length at once, with the values of the records that
have one put in their places.

Source: Avro specification 1.11 ("Binary Encoding"); docs/format.md#avro-schemas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hudi_hive.errors import CorruptFileError, UnsupportedFormatError
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
from hudi_hive.formats.avro.skipping import find_items

_NUMBERS: Final = {"float": "<f4", "double": "<f8"}
_MAX_OFFSET: Final = (1 << 31) - 1


class TargetRows:
    """The rows of an Arrow array that the values of a cursor fill; all other rows are null.

    Args:
        total: length of the array.
        rows: a row for each value, ascending, or None when every row has a value.
    """

    __slots__ = ("_validity", "rows", "total")

    def __init__(self, total: int, rows: Positions | None = None) -> None:
        self.total = total
        self.rows = rows
        self._validity: pa.Buffer | None = None

    def select(self, chosen: Positions) -> TargetRows:
        """The target rows of a selection of the values."""
        return TargetRows(self.total, chosen if self.rows is None else self.rows[chosen])

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """An array of full length with the values in their rows and zero in all others."""
        if self.rows is None:
            return np.ascontiguousarray(values)
        spread = np.zeros((self.total, *values.shape[1:]), values.dtype)
        spread[self.rows] = values
        return spread

    def array(
        self, arrow: pa.DataType, buffers: Sequence[NDArray[Any]] = (), children: Sequence[pa.Array] | None = None
    ) -> pa.Array:
        """An Arrow array made of data buffers that have its full length."""
        nulls = 0 if self.rows is None else self.total - len(self.rows)
        packed = [pa.py_buffer(buffer) for buffer in buffers]
        return pa.Array.from_buffers(arrow, self.total, [self.validity, *packed], nulls, children=children)

    @property
    def validity(self) -> pa.Buffer | None:
        """Bitmap of the rows that have a value."""
        if self._validity is None and self.rows is not None:
            present = np.zeros(self.total, np.bool_)
            present[self.rows] = True
            self._validity = pa.py_buffer(np.packbits(present, bitorder="little"))
        return self._validity


def decode(node: Node, cursor: Cursor, targets: TargetRows) -> pa.Array:
    """Decode one value at each position of a cursor to an Arrow array, and move the cursor behind the values.

    Args:
        node: the type.
        cursor: where the values begin.
        targets: their rows in the array.

    Raises:
        CorruptFileError: a value does not follow its type or does not lie in its record.
    """
    if isinstance(node, UnionNode):
        return _decode_union(node, cursor, targets)
    if isinstance(node, PlainNode):
        return _decode_plain(node, cursor, targets)
    if isinstance(node, RecordNode):
        children = [decode(child, cursor, targets) for child in node.children]
        return targets.array(node.arrow, children=children)
    if isinstance(node, ArrayNode):
        return _decode_items(node, node.item, cursor, targets)
    if isinstance(node, MapNode):
        return _decode_items(node, node.entry, cursor, targets)
    if isinstance(node, FixedNode):
        return _decode_fixed(node, cursor, targets)
    if isinstance(node, EnumNode):
        return _decode_enum(node, cursor, targets)
    raise AssertionError(node)


def _decode_plain(node: PlainNode, cursor: Cursor, targets: TargetRows) -> pa.Array:
    kind = node.kind
    if kind == "string":
        array = _decode_bytes(pa.binary(), cursor, targets)
        try:
            return array.cast(pa.string())  # checks that it is UTF-8
        except pa.ArrowInvalid as error:
            raise CorruptFileError("Avro string is not UTF-8") from error
    if kind == "bytes":
        if pa.types.is_decimal(node.arrow):
            length = cursor.lengths()
            return _decimals(node.arrow, cursor.block, cursor.pos, length, targets)
        return _decode_bytes(node.arrow, cursor, targets)
    if kind in ("int", "long"):
        values: NDArray[Any] = cursor.ints() if kind == "int" else cursor.longs()
        if pa.types.is_time(node.arrow) and len(values):
            day = 86_400 * (1000 if kind == "int" else 1_000_000)
            if values.min() < 0 or values.max() >= day:
                wrong = int(np.argmax((values < 0) | (values >= day)))
                raise cursor.block.damaged("a time of day is not within a day", int(cursor.pos[wrong]))
        return targets.array(node.arrow, [targets.spread(values)])
    if kind == "boolean":
        flags = cursor.fixed("u1")
        if int(flags.max(initial=0)) > 1:
            raise cursor.block.damaged("a boolean is neither 0 nor 1", int(cursor.pos[np.argmax(flags > 1)]) - 1)
        return targets.array(node.arrow, [np.packbits(targets.spread(flags), bitorder="little")])
    if kind == "null":
        return pa.nulls(targets.total)
    return targets.array(node.arrow, [targets.spread(cursor.fixed(_NUMBERS[kind]))])


def _decode_enum(node: EnumNode, cursor: Cursor, targets: TargetRows) -> pa.Array:
    chosen = cursor.choices(len(node.symbols)).astype(np.int32)
    text = int(np.array([len(symbol.encode()) for symbol in node.symbols], np.int64)[chosen].sum())
    cursor.block.reserve(text)
    if text > _MAX_OFFSET:
        raise UnsupportedFormatError("a column of one block has more than 2 GiB of text or bytes")
    return pa.array(node.symbols, pa.string()).take(targets.array(pa.int32(), [targets.spread(chosen)]))


def _decode_union(node: UnionNode, cursor: Cursor, targets: TargetRows) -> pa.Array:
    branch = cursor.choices(len(node.branches))
    if not node.members:
        return pa.nulls(targets.total)
    if len(node.members) == 1:
        return _decode_branch(node.branches[node.members[0]], branch == node.members[0], cursor, targets)
    children = [_decode_branch(node.branches[at], branch == at, cursor, targets) for at in node.members]
    present = np.flatnonzero(branch != node.null_at)
    return (targets if len(present) == len(cursor) else targets.select(present)).array(node.arrow, children=children)


def _decode_branch(node: Node, chosen: NDArray[np.bool_], cursor: Cursor, targets: TargetRows) -> pa.Array:
    rows = np.flatnonzero(chosen)
    if len(rows) == len(cursor):
        return decode(node, cursor, targets)
    if not len(rows):
        return pa.nulls(targets.total, node.arrow)
    selected = cursor.select(rows)
    array = decode(node, selected, targets.select(rows))
    cursor.pos[rows] = selected.pos
    return array


def _decode_bytes(arrow: pa.DataType, cursor: Cursor, targets: TargetRows) -> pa.Array:
    length = cursor.lengths()
    if int(length.sum()) > _MAX_OFFSET:
        raise UnsupportedFormatError("a column of one block has more than 2 GiB of text or bytes")
    # An array over the bytes as they lie, in which wanted values and what lies between them take turns: picking every
    # second one copies the values with Arrow's kernel, many times faster than numpy can gather bytes.
    wide = len(cursor.block.bytes) > _MAX_OFFSET
    offsets = np.empty(2 * len(cursor), np.int64 if wide else np.int32)
    offsets[0::2] = cursor.pos - length
    offsets[1::2] = cursor.pos
    source = pa.large_binary() if wide else arrow
    buffers = [None, pa.py_buffer(offsets), cursor.block.buffer]
    lying = pa.Array.from_buffers(source, max(len(offsets) - 1, 0), buffers, 0)
    picked = targets.array(pa.int64(), [targets.spread(np.arange(0, len(offsets), 2))])
    return lying.take(picked).cast(arrow) if wide else lying.take(picked)


def _decode_fixed(node: FixedNode, cursor: Cursor, targets: TargetRows) -> pa.Array:
    cursor.advance(node.size)
    if pa.types.is_decimal(node.arrow):
        return _decimals(node.arrow, cursor.block, cursor.pos, np.full(len(cursor), node.size), targets)
    if node.size == 0 or not len(cursor):
        return targets.array(node.arrow, [np.zeros(node.size * targets.total, np.uint8)])
    return targets.array(node.arrow, [targets.spread(cursor.block.words(f"V{node.size}")[cursor.pos - node.size])])


def _decimals(
    arrow: pa.DataType, block: RecordBytes, end: Positions, length: Positions, targets: TargetRows
) -> pa.Array:
    """Convert big-endian two's complements of any length to decimals."""
    count = arrow.bit_width // 64
    words, swapped = block.words(">i8"), np.empty((len(end), count), np.int64)
    for at in range(count):
        bits = np.clip(8 * length - 64 * at, 0, 64)
        shift = np.where(bits > 0, 64 - bits, 0)
        # The bytes below the number belong to what is before it: they are shifted out and the sign is shifted in.
        word = words[np.maximum(end - 8 * (at + 1), 0)].astype(np.int64) << shift >> shift
        swapped[:, at] = np.where(bits > 0, word, swapped[:, at - 1] >> 63 if at else 0)
    for row in np.flatnonzero(length > 8 * count).tolist():
        head = block.bytes[end[row] - length[row] : end[row] - 8 * count]
        if (head != (swapped[row, -1] >> 63).astype(np.uint8)).any():
            raise block.damaged(f"a decimal does not fit {arrow}", int(end[row]))
    array = targets.array(arrow, [targets.spread(swapped)])
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise CorruptFileError(f"Avro decimal does not fit {arrow}") from error
    return array


def _decode_items(node: Node, item: Node, cursor: Cursor, targets: TargetRows) -> pa.Array:
    ends = cursor.end
    begins, counts = find_items(item, cursor)
    if len(begins) > _MAX_OFFSET:
        raise UnsupportedFormatError("a column of one block has more than 2 billion items")
    cursor.block.reserve(len(begins) * item.width)
    offsets = np.zeros(targets.total + 1, np.int32)
    np.cumsum(targets.spread(counts), out=offsets[1:])
    items = decode(item, Cursor(cursor.block, begins, np.repeat(ends, counts)), TargetRows(len(begins)))
    return targets.array(node.arrow, [offsets], [items])
