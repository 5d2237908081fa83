"""Cursors: positions in many Avro records, at which numbers and lengths are read in a few array operations.

A cursor never leaves its record: each length is compared with the bytes that are left before it is used. What lies
behind a record may be looked at (numbers are read eight bytes at a time), but never counts.

Source: Avro specification 1.11 ("Binary Encoding").
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hudi_hive.errors import CorruptFileError, UnsupportedFormatError

Positions = NDArray[np.int64]
Words = NDArray[np.uint64]

PADDING: Final = 32
"""Zero bytes before and behind the data, so that a word may be read at any position in it, or end there."""

_MOST_MEMORY: Final = 64
"""Bytes of columns that each byte of records may become where that is more than the next limit: a null of one byte
takes a whole row of its type."""

_LEAST_LIMIT: Final = 64 << 20

_STOP_BITS: Final = np.uint64(0x8080808080808080)
_LOW_BITS: Final = np.uint64(0x0101010101010101)
_INT32_MIN: Final = -(1 << 31)
_INT32_MAX: Final = (1 << 31) - 1
# Squeezing the seven-bit groups of a varint together: pairs of groups, pairs of pairs, and so on.
_SQUEEZE: Final = (
    (np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), np.uint64(1)),
    (np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
)


def check_memory(columns: int, records: int) -> None:
    """Refuse records whose columns would take up far more memory than the records themselves.

    Args:
        columns: size of the columns in bytes.
        records: size of the records in bytes.

    Raises:
        UnsupportedFormatError: it is too much.
    """
    if columns > max(_MOST_MEMORY * records, _LEAST_LIMIT):
        raise UnsupportedFormatError(f"Avro records of {records:,} bytes would take {columns:,} bytes as columns")


class RecordBytes:
    """A padded copy of the bytes that records lie in.

    Args:
        data: the bytes.
        offset: where they begin in what the caller has, for errors.
    """

    def __init__(self, data: NDArray[np.uint8], offset: int) -> None:
        self.bytes = np.zeros(len(data) + 2 * PADDING, np.uint8)
        self.bytes[PADDING : PADDING + len(data)] = data
        self.offset = offset - PADDING
        self.buffer = pa.py_buffer(self.bytes)
        self.view = memoryview(self.buffer).cast("B")
        self._reserved = 0

    def reserve(self, columns: int) -> None:
        """Count bytes that columns are about to take; raises as :func:`check_memory` for all of them together."""
        self._reserved += columns
        check_memory(self._reserved, len(self.bytes))

    def words(self, dtype: str) -> NDArray[Any]:
        """A view of the bytes as elements of a fixed width, one beginning at each byte."""
        width = np.dtype(dtype).itemsize
        return np.ndarray((len(self.bytes) - width + 1,), dtype, self.view, strides=(1,))

    def damaged(self, what: str, position: int) -> CorruptFileError:
        """The error for a record that is damaged at a position."""
        return CorruptFileError(f"Avro record is damaged at byte {position + self.offset}: {what}")


class Cursor:
    """The current position in each of many Avro records.

    Args:
        block: the bytes.
        pos: positions; changed by reading.
        end: ends of the records.
    """

    __slots__ = ("block", "end", "pos")

    def __init__(self, block: RecordBytes, pos: Positions, end: Positions) -> None:
        self.block = block
        self.pos = pos
        self.end = end

    def __len__(self) -> int:
        return len(self.pos)

    def select(self, rows: Positions) -> Cursor:
        """A cursor over a selection of the records; its positions go back by ``cursor.pos[rows] = selected.pos``."""
        return Cursor(self.block, self.pos[rows], self.end[rows])

    def advance(self, lengths: Positions | int) -> None:
        """Move each position on by a number of bytes.

        Raises:
            CorruptFileError: one is negative, or more than is left of its record.
        """
        left = self.end - self.pos
        # As unsigned numbers negative lengths are greater than all that can be left.
        wrong = (left < lengths) if isinstance(lengths, int) else (lengths.view(np.uint64) > left.view(np.uint64))
        if wrong.any():
            raise self.block.damaged("a length reaches beyond its end", int(self.pos[np.argmax(wrong)]))
        self.pos = self.pos + lengths

    def longs(self) -> Positions:
        """Read an Avro ``long`` (zig-zag, up to 64 bits) at each position."""
        first = self.block.bytes[self.pos]
        if int(first.max(initial=0)) < 0x80:
            self.advance(1)
            return ((first >> 1) ^ -(first & 1)).view(np.int8).astype(np.int64)
        value, size = self._varints()
        self.advance(size)
        return ((value >> np.uint64(1)) ^ -(value & np.uint64(1))).view(np.int64)

    def ints(self) -> NDArray[np.int32]:
        """Read an Avro ``int`` (zig-zag, up to 32 bits) at each position."""
        values = self.longs()
        if len(values) and (values.min() < _INT32_MIN or values.max() > _INT32_MAX):
            wrong = (values < _INT32_MIN) | (values > _INT32_MAX)
            raise self.block.damaged("an int has more than 32 bits", int(self.pos[np.argmax(wrong)]))
        return values.astype(np.int32)

    def choices(self, count: int) -> NDArray[Any]:
        """Read the number of a union branch or enum symbol at each position, each less than ``count``."""
        first = self.block.bytes[self.pos]
        if int(first.max(initial=0)) < min(0x80, 2 * count) and not (first & 1).any():
            self.advance(1)
            return first >> 1
        values = self.longs()
        wrong = (values < 0) | (values >= count)
        if wrong.any():
            raise self.block.damaged("no such branch or symbol", int(self.pos[np.argmax(wrong)]))
        return values

    def lengths(self) -> Positions:
        """Read the length of a string or bytes at each position, and move the positions behind the value."""
        values = self.longs()
        self.advance(values)
        return values

    def skip_varints(self) -> None:
        """Skip a variable-length number at each position."""
        if int(self.block.bytes[self.pos].max(initial=0)) < 0x80:
            self.advance(1)
        else:
            self.advance(self._varints()[1])

    def fixed(self, dtype: str) -> NDArray[Any]:
        """Read a little-endian element of a fixed width at each position."""
        start = self.pos
        self.advance(np.dtype(dtype).itemsize)
        return self.block.words(dtype)[start]

    def _varints(self) -> tuple[Words, Positions]:
        """Read variable-length numbers that are still zig-zag encoded, and the bytes that each takes."""
        word = self.block.words("<u8")[self.pos]
        stops = ~word & _STOP_BITS
        lowest = stops & (~stops + np.uint64(1))
        mask = lowest ^ (lowest - np.uint64(1))  # the bytes of the number; all eight when it is longer
        size = (((mask & _LOW_BITS) * _LOW_BITS) >> np.uint64(56)).view(np.int64)
        longest = int(size.max(initial=0))
        word &= mask & ~_STOP_BITS
        for step, (low, high, shift) in enumerate(_SQUEEZE):
            if longest > 1 << step:
                word = (word & low) | ((word & high) >> shift)
        if longest == 8 and not stops.all():
            self._widen(word, size, np.flatnonzero(stops == 0))
        return word, size

    def _widen(self, word: Words, size: Positions, rows: Positions) -> None:
        """Add the ninth and tenth byte to numbers that have them."""
        ninth = self.block.bytes[self.pos[rows] + 8].astype(np.uint64)
        tenth = self.block.bytes[self.pos[rows] + 9].astype(np.uint64)
        more = ninth >= 0x80
        wrong = more & (tenth > 1)
        if wrong.any():
            raise self.block.damaged("a number has more than 64 bits", int(self.pos[rows[np.argmax(wrong)]]))
        word[rows] |= (ninth & np.uint64(0x7F)) << np.uint64(56)
        word[rows] |= np.where(more, tenth, np.uint64(0)) << np.uint64(63)
        size[rows] = np.where(more, 10, 9)
