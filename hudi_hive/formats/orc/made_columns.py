"""Columns of whole numbers whose streams are made here, and the parts of an ORC stripe that they go into.

Source: ORC specification v1, "Stripes", "Row Group Index", "Compression", "File Tail".
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.formats.orc.footer import message_fields, unpacked, whole_number
from hudi_hive.formats.orc.run_lengths import constant_runs, counting_runs, number_runs, zigzag
from hudi_hive.formats.orc.tail import bytes_field, message_field, number_field, replaced_numbers
from hudi_hive.formats.varints import varint

BLOCK: Final = 64 * 1024
"""Size of a compression block, which the writer of other columns must use, too."""

PACKINGS: Final = {"uncompressed": 0, "zlib": 1, "snappy": 2}
"""Compressions by the names that Arrow has for them."""

PRESENT, DATA, ROW_INDEX = 0, 1, 6
"""Kinds of streams."""

INDEXES: Final = (6, 7, 8)
"""Kinds of the streams that stand before all others."""

_MOST_CACHED: Final = 1024
"""Statistics that are remembered: those of other files of as many rows are the same."""

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


class ConstantColumn(NamedTuple):
    """An integer column that has one value in all rows."""

    name: str
    kind: Literal["int", "bigint"]
    value: int

    def statistics(self, first: int, count: int) -> bytes:
        """Encoded ORC column statistics of ``count`` rows of the column from the row ``first`` on."""
        del first
        return _statistics(self.value, self.value, self.value * count, count)

    def runs(self, first: int, count: int) -> bytes:
        """Encoded runs of these rows, each run as long as the format allows."""
        del first
        return constant_runs(self.value, count)


class RowNumbers(NamedTuple):
    """An integer column that has the number of each row in the file: 0, 1, 2 …."""

    name: str
    kind: Literal["int", "bigint"] = "bigint"

    def statistics(self, first: int, count: int) -> bytes:
        """Encoded ORC column statistics of ``count`` rows of the column from the row ``first`` on."""
        return _statistics(first, first + count - 1, (2 * first + count - 1) * count // 2, count)

    def runs(self, first: int, count: int) -> bytes:
        """Encoded runs of these rows, each run as long as the format allows."""
        return counting_runs(first, count)


@dataclass(frozen=True, slots=True, eq=False)
class NumberColumn:
    """A column of integers that are not negative.

    Attributes:
        name: the column's.
        kind: its type.
        values: the numbers of all rows.
    """

    name: str
    kind: Literal["int", "bigint"]
    values: npt.NDArray[np.int64]

    def statistics(self, first: int, count: int) -> bytes:
        """Encoded ORC column statistics of ``count`` rows of the column from the row ``first`` on."""
        part = self.values[first : first + count]
        low = int((part & 0xFFFFFFFF).sum())  # the sum of all may be more than 64 bits have
        return _statistics(int(part.min()), int(part.max()), (int((part >> 32).sum()) << 32) + low, count)

    def runs(self, first: int, count: int) -> bytes:
        """Encoded runs of these rows, each run as long as the format allows."""
        return number_runs(self.values[first : first + count])


MadeColumn: TypeAlias = ConstantColumn | RowNumbers | NumberColumn
"""A column whose runs are made here."""


@lru_cache(_MOST_CACHED)
def _statistics(least: int, greatest: int, total: int, count: int) -> bytes:
    ends = number_field(1, zigzag(least)) + number_field(2, zigzag(greatest))
    if _LEAST <= total <= _MOST:
        ends += number_field(3, zigzag(total))
    return number_field(1, count) + bytes_field(2, ends) + number_field(10, 0)


class StripeInformation(NamedTuple):
    """The location of a stripe: its offset, bytes of indexes, data and footer, and rows."""

    offset: int
    indexes: int
    data: int
    footer: int
    rows: int

    @property
    def length(self) -> int:
        """Bytes of the stripe."""
        return self.indexes + self.data + self.footer

    @classmethod
    def parsed(cls, message: bytes) -> StripeInformation:
        """Parse its message in the file's footer."""
        fields = dict(message_fields(message))
        return cls(*(whole_number(fields.get(number, 0)) for number in range(1, 6)))

    def encoded(self) -> bytes:
        """Its message in the file's footer."""
        return b"".join(number_field(number, value) for number, value in enumerate(self, start=1))


class Stream(NamedTuple):
    """A stream of a stripe: its kind, column and bytes."""

    kind: int
    column: int
    data: bytes | memoryview

    @property
    def entry(self) -> bytes:
        """Its field in the stripe's footer."""
        parts = (self.kind, self.column, len(self.data))
        return bytes_field(1, b"".join(number_field(number, part) for number, part in enumerate(parts, start=1)))


@dataclass(frozen=True, slots=True)
class StripeFooter:
    """A stripe's footer: kind, column and length of its streams, encodings of its columns, and all other fields."""

    streams: tuple[tuple[int, int, int], ...]
    encodings: tuple[bytes, ...]
    others: bytes

    @classmethod
    def parsed(cls, message: bytes) -> StripeFooter:
        """Parse the footer's message."""
        streams, encodings, others = [], [], b""
        for number, value in message_fields(message):
            if number == 1 and isinstance(value, bytes):
                fields = dict(message_fields(value))
                kind, column, length = (whole_number(fields.get(part, 0)) for part in (1, 2, 3))
                streams.append((kind, column, length))
            elif number == 2 and isinstance(value, bytes):
                encodings.append(value)
            else:
                others += message_field(number, value)
        return cls(tuple(streams), tuple(encodings), others)

    @property
    def length(self) -> int:
        """Bytes of the streams."""
        return sum(length for _, _, length in self.streams)


def group_streams(
    kind: int, column: int, runs: Sequence[bytes], statistics: Sequence[bytes], packing: int
) -> tuple[Stream, Stream]:
    """The index of a column's row groups, and the stream with their runs.

    Args:
        kind: of the stream: :data:`DATA` of integers, or :data:`PRESENT`.
        column: number of the column in the file.
        runs: of each row group. Groups begin with a run, so that none of its values are passed over.
        statistics: of each row group, encoded.
        packing: the file's compression.
    """
    data, chunks = packed(b"".join(runs), packing)
    entries, start = [], 0
    inside = (0, 0) if kind == PRESENT else (0,)  # values of a run, and bits of a byte
    for run, one in zip(runs, statistics, strict=True):
        place = (chunks[start // BLOCK], start % BLOCK) if packing else (start,)
        entries.append(_index_entry(one, (*place, *inside)))
        start += len(run)
    return Stream(ROW_INDEX, column, packed(b"".join(entries), packing)[0]), Stream(kind, column, data)


@lru_cache(_MOST_CACHED)
def _index_entry(statistics: bytes, place: tuple[int, ...]) -> bytes:
    return bytes_field(1, bytes_field(1, b"".join(map(varint, place))) + bytes_field(2, statistics))


def stripe_parts(streams: Sequence[Stream], encodings: Sequence[bytes], others: bytes, packing: int) -> StripeParts:
    """The bytes of a stripe.

    Args:
        streams: of all columns, those of one column together.
        encodings: of the columns.
        others: all other fields of the stripe's footer.
        packing: the file's compression.
    """
    indexes = [stream for stream in streams if stream.kind in INDEXES]
    behind = [stream for stream in streams if stream.kind not in INDEXES]
    entries = [stream.entry for stream in indexes + behind]
    footer = packed(b"".join([*entries, *(bytes_field(2, one) for one in encodings), others]), packing)[0]
    parts = [b"".join(stream.data for stream in part) for part in (indexes, behind)]
    return StripeParts(parts[0], parts[1], footer)


class StripeParts(NamedTuple):
    """The bytes of a stripe: of its indexes, its data and its footer."""

    indexes: bytes
    data: bytes
    footer: bytes

    def information(self, offset: int, rows: int) -> StripeInformation:
        """The location of the stripe, if it begins at an offset and has so many rows."""
        return StripeInformation(offset, len(self.indexes), len(self.data), len(self.footer), rows)


def with_replaced(
    fields: Iterable[tuple[int, int | bytes]], messages: Mapping[int, Sequence[bytes]], numbers: Mapping[int, int]
) -> bytes:
    """A message with other values in some of its fields.

    Args:
        fields: those of the message.
        messages: by the number of a field the messages for it, all of them where the first one was.
        numbers: by the number of a field the number for it.
    """
    parts: list[bytes] = []
    left = dict(messages)
    for number, value in fields:
        if number in left:
            parts.extend(bytes_field(number, one) for one in left[number])
            left[number] = ()
        else:
            parts.append(message_field(number, numbers.get(number, value)))
    return b"".join(parts)


def file_tail(statistics: bytes, footer: bytes, postscript: bytes, packing: int) -> bytes:
    """What is behind the stripes of a file.

    Args:
        statistics: the message with those of the stripes.
        footer: the file's footer.
        postscript: one of which the lengths of the two are replaced.
        packing: the file's compression.
    """
    statistics, footer = packed(statistics, packing)[0], packed(footer, packing)[0]
    postscript = replaced_numbers(postscript, {1: len(footer), 5: len(statistics)})
    return b"".join([statistics, footer, postscript, bytes([len(postscript)])])


def packed(data: bytes, packing: int) -> tuple[bytes, list[int]]:
    """Compress data in chunks; returns the bytes and the offset of each chunk.

    Args:
        data: what to compress.
        packing: the file's compression.
    """
    if not packing:
        return data, [0]
    chunks, starts, end = [], [], 0
    for start in range(0, len(data), BLOCK):
        plain = data[start : start + BLOCK]
        small = _compressed(plain, packing)
        body = min(plain, small, key=len)  # as it is, if it does not get smaller
        chunks.append((len(body) << 1 | (body is plain)).to_bytes(3, "little") + body)
        starts.append(end)
        end += len(chunks[-1])
    return b"".join(chunks), starts


def unpacked_block(data: bytes, packing: int) -> bytes:
    """Decompress data in chunks of :data:`BLOCK`.

    Args:
        data: what is compressed.
        packing: the file's compression, one of :data:`PACKINGS`.

    Raises:
        ValueError, IndexError, zlib.error, pyarrow.ArrowException: it breaks the format.
    """
    plain = unpacked(data, packing, BLOCK)
    assert plain is not None
    return plain


def _compressed(data: bytes, packing: int) -> bytes:
    if packing == PACKINGS["zlib"]:
        maker = zlib.compressobj(wbits=-15)
        return maker.compress(data) + maker.flush()
    small: bytes = pa.compress(data, codec="snappy", asbytes=True)
    return small


def embedded_message(value: int | bytes) -> bytes:
    """Require that a field holds a message; raises ValueError if it is a number."""
    if isinstance(value, int):
        raise ValueError("a number where a message must be")
    return value
