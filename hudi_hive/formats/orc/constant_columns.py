"""Adds integer columns of one value, or of the rows' numbers, to an ORC file whose other columns Arrow's writer makes.

Four of the five event columns of an ACID file are constant in all rows, the fifth counts the rows of an insert, and a
writer that looks at each value spends more time on them than on a narrow row. Here their runs are made without values.
Streams of other columns stay as they are; footers and the numbers of columns are made anew (ORC specification v1,
"Stripes", "Integer Run Length Encoding, version 2", "Row Group Index", "File Tail").
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

import pyarrow as pa

from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.orc.footer import message_fields, read_varint, unpacked, whole_number
from hudi_hive.formats.orc.tail import bytes_field, message_field, number_field, varint

BLOCK: Final = 64 * 1024
"""Size of a compression block, which the writer of the other columns must use, too."""

_MAGIC: Final = b"ORC"
_PACKINGS: Final = {"uncompressed": 0, "zlib": 1, "snappy": 2}
_KINDS: Final = {"int": 3, "bigint": 4}
_DATA, _ROW_INDEX, _INDEXES = 1, 6, (6, 7, 8)
_LONGEST: Final = 512
_ENCODING: Final = number_field(1, 2) + number_field(2, 0)
"""Direct, in the second version, without a dictionary."""
_MOST_PARTS: Final = 256
_MOST_CACHED: Final = 1024
"""Runs and statistics that are remembered: those of other files of as many rows are the same."""
_ERRORS: Final = (ValueError, IndexError, StopIteration, zlib.error, pa.ArrowException)
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1

_NO_LENGTHS: Final = b"".join(number_field(number, 0) for number in (4, 5, 6))
"""Length, precision and scale of types that have none, as Arrow writes them."""

_T = TypeVar("_T")


class ConstantColumn(NamedTuple):
    """An integer column that has one value in all rows."""

    name: str
    kind: Literal["int", "bigint"]
    value: int

    def statistics(self, first: int, count: int) -> bytes:
        """Encoded ORC column statistics of ``count`` rows of the column from the row ``first`` on."""
        del first
        return _statistics(self.value, self.value, count)

    def runs(self, first: int, count: int) -> bytes:
        """Encoded runs of these rows, each run as long as the format allows."""
        del first
        return _constant_runs(self.value, count)


class RowNumbers(NamedTuple):
    """An integer column that has the number of each row in the file: 0, 1, 2 …."""

    name: str
    kind: Literal["int", "bigint"] = "bigint"

    def statistics(self, first: int, count: int) -> bytes:
        """Encoded ORC column statistics of ``count`` rows of the column from the row ``first`` on."""
        return _statistics(first, first + count - 1, count)

    def runs(self, first: int, count: int) -> bytes:
        """Encoded runs of these rows, each run as long as the format allows."""
        return _counting_runs(first, count)


MadeColumn: TypeAlias = ConstantColumn | RowNumbers
"""A column whose runs are made without looking at values."""


@lru_cache(_MOST_CACHED)
def _statistics(least: int, greatest: int, count: int) -> bytes:
    """Statistics of numbers that are all the same, or that grow evenly."""
    ends = number_field(1, _zigzag(least)) + number_field(2, _zigzag(greatest))
    total = (least + greatest) * count // 2
    if _LEAST <= total <= _MOST:
        ends += number_field(3, _zigzag(total))
    return number_field(1, count) + bytes_field(2, ends) + number_field(10, 0)


@lru_cache(_MOST_CACHED)
def _index_entry(column: MadeColumn, rows: tuple[int, int], place: tuple[int, ...]) -> bytes:
    """Entry of a row group in the index: where its runs begin, and its statistics.

    Args:
        column: whose.
        rows: the group's first row, and how many it has.
        place: numbers of the position.
    """
    positions = b"".join(map(varint, place))
    return bytes_field(1, bytes_field(1, positions) + bytes_field(2, column.statistics(*rows)))


@lru_cache(_MOST_CACHED)
def _constant_runs(value: int, count: int) -> bytes:
    whole, rest = divmod(count, _LONGEST)
    return _constant_run(value, _LONGEST) * whole + (_constant_run(value, rest) if rest else b"")


def _constant_run(number: int, count: int) -> bytes:
    value = _zigzag(number)
    if count < 3:
        return _direct([value] * count)
    if count <= 10:
        width = max(1, (value.bit_length() + 7) // 8)
        return bytes([(width - 1) << 3 | count - 3]) + value.to_bytes(width, "big")
    return _even(value, 0, count)


@lru_cache(_MOST_CACHED)
def _counting_runs(first: int, count: int) -> bytes:
    end = first + count
    return b"".join(_counting_run(start, min(_LONGEST, end - start)) for start in range(first, end, _LONGEST))


def _counting_run(first: int, count: int) -> bytes:
    if count < 3:
        return _direct([_zigzag(value) for value in range(first, first + count)])
    return _even(_zigzag(first), 1, count)


def _direct(values: Sequence[int]) -> bytes:
    """A run of one or two numbers, of 64 bits each."""
    return bytes([1 << 6 | 31 << 1, len(values) - 1]) + b"".join(value.to_bytes(8, "big") for value in values)


def _even(value: int, difference: int, count: int) -> bytes:
    """A run whose numbers differ by the same from one to the next."""
    return bytes([3 << 6 | (count - 1) >> 8, count - 1 & 255]) + varint(value) + varint(_zigzag(difference))


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


class _Stripe(NamedTuple):
    """The location of a stripe: its offset, bytes of indexes, data and footer, and rows."""

    offset: int
    indexes: int
    data: int
    footer: int
    rows: int

    @property
    def length(self) -> int:
        return self.indexes + self.data + self.footer

    @classmethod
    def parsed(cls, message: bytes) -> _Stripe:
        fields = dict(message_fields(message))
        return cls(*(whole_number(fields.get(number, 0)) for number in range(1, 6)))

    def encoded(self) -> bytes:
        return b"".join(number_field(number, value) for number, value in enumerate(self, start=1))


class _Stream(NamedTuple):
    """A stream of a stripe: its kind, column and bytes."""

    kind: int
    column: int
    data: bytes | memoryview

    @property
    def entry(self) -> bytes:
        parts = (self.kind, self.column, len(self.data))
        return bytes_field(1, b"".join(number_field(number, part) for number, part in enumerate(parts, start=1)))


@dataclass(frozen=True, slots=True)
class _Footer:
    """A stripe's footer: kind, column and length of its streams, encodings of its columns, and all other fields."""

    streams: tuple[tuple[int, int, int], ...]
    encodings: tuple[bytes, ...]
    others: bytes

    @classmethod
    def parsed(cls, message: bytes) -> _Footer:
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


class ConstantColumns:
    """Adds constant columns to one ORC file while it is written.

    Args:
        fields: the file's columns in order: those to put in, and the names of the others. All of these but the last
            one must be of primitive types.
        codec: of the file: zlib, snappy or uncompressed.
        path: the file's URI, for messages.
    """

    def __init__(self, fields: Sequence[MadeColumn | str], codec: str, path: str) -> None:
        self._path, self._packing = path, _PACKINGS[codec]
        self._names = [field if isinstance(field, str) else field.name for field in fields]
        self._constants = {number: field for number, field in enumerate(fields, 1) if not isinstance(field, str)}
        self._plain_numbers = [0, *(number for number, field in enumerate(fields, 1) if isinstance(field, str))]
        self._old: list[_Stripe] = []
        self._new: list[_Stripe] = []
        self._read = self._written = 0

    def add(self, parts: Sequence[bytes]) -> bytes:
        """Rewrite the stripes that the writer made since the last call, with the constant columns in them.

        Args:
            parts: what was written at once each.

        Raises:
            CorruptFileError: they are not understood.
        """
        data = b"".join(parts)
        if not data:
            return b""
        bounds = [0, *accumulate(map(len, parts))]
        parts_out = [self._begin(data)]
        start, end = len(parts_out[0]), len(data)
        runs: list[tuple[int, int, int]] = []
        while end > start:
            runs.append((*self._last_stripe(data, bounds, end), end))
            end = runs[-1][0]
        parts_out.extend(self._stripe(data[first:last], footer - first) for first, footer, last in reversed(runs))
        return b"".join(parts_out)

    def finish(self, parts: Sequence[bytes]) -> bytes:
        """Rewrite the last stripes and the file's tail; see :meth:`add`."""
        return self._understood(lambda: self._finished(b"".join(parts)))

    def _begin(self, data: bytes) -> bytes:
        """The bytes before the first stripe, if they were not written yet."""
        if self._read:
            return b""
        if not data.startswith(_MAGIC):
            raise self._corrupt("no ORC magic")
        self._read = self._written = len(_MAGIC)
        return _MAGIC

    # -- stripes ----------------------------------------------------------------------------------------------------

    def _last_stripe(self, data: bytes, bounds: Sequence[int], end: int) -> tuple[int, int]:
        """The start and the footer of the stripe that ends at an offset, by the lengths in its footer.

        That it is so is seen again when the file's own footer is there.
        """
        for begin in [bound for bound in bounds if bound < end][: -_MOST_PARTS - 1 : -1]:
            with suppress(*_ERRORS):
                first = begin - self._footer(data[begin:end]).length
                if first < begin and first >= 0 and (first in bounds or first == len(_MAGIC)):
                    return first, begin
        raise self._corrupt("stripes are not whole")

    def _footer(self, data: bytes) -> _Footer:
        return _Footer.parsed(self._unpacked(data))

    def _stripe(self, data: bytes, footer_at: int) -> bytes:
        """Encode a stripe with the constant columns in it."""
        footer = self._footer(data[footer_at:])
        streams = list(self._streams(footer, memoryview(data)))
        groups = self._groups(streams)
        first_row = self._rows
        for column, constant in self._constants.items():
            streams.extend(self._made(column, constant, first_row, groups))
        streams.sort(key=lambda stream: stream.column)  # keeps the order of streams of one column
        indexes = [stream for stream in streams if stream.kind in _INDEXES]
        others = [stream for stream in streams if stream.kind not in _INDEXES]
        encodings = self._filled(list(footer.encodings), lambda _: _ENCODING)
        message = b"".join(
            [*(stream.entry for stream in indexes + others), *(bytes_field(2, one) for one in encodings), footer.others]
        )
        made = b"".join([*(stream.data for stream in indexes + others), self._packed(message)[0]])
        size = sum(len(stream.data) for stream in indexes), sum(len(stream.data) for stream in others)
        old = sum(length for kind, _, length in footer.streams if kind in _INDEXES)
        self._old.append(_Stripe(self._read, old, footer_at - old, len(data) - footer_at, sum(groups)))
        self._new.append(_Stripe(self._written, *size, len(made) - sum(size), sum(groups)))
        self._read, self._written = self._read + len(data), self._written + len(made)
        return made

    def _streams(self, footer: _Footer, data: memoryview) -> Iterator[_Stream]:
        start = 0
        for kind, column, length in footer.streams:
            yield _Stream(kind, self._number(column), data[start : start + length])
            start += length

    def _groups(self, streams: Sequence[_Stream]) -> list[int]:
        """The number of rows of each row group, from the index of the root column."""
        data = next(bytes(stream.data) for stream in streams if (stream.kind, stream.column) == (_ROW_INDEX, 0))
        entries = [dict(message_fields(_message(entry))) for _, entry in message_fields(self._unpacked(data))]
        return [whole_number(dict(message_fields(_message(entry.get(2, b"")))).get(1, 0)) for entry in entries]

    def _made(
        self, column: int, constant: MadeColumn, first_row: int, groups: Sequence[int]
    ) -> tuple[_Stream, _Stream]:
        """Encode the index and data streams of a constant column in a stripe."""
        firsts = accumulate(groups, initial=first_row)
        rows = list(zip(firsts, groups, strict=False))
        runs = [constant.runs(*group) for group in rows]
        data, chunks = self._packed(b"".join(runs))
        entries, start = [], 0
        for group, run in zip(rows, runs, strict=True):
            # Groups begin with a run, so that none of its values are passed over.
            place = [chunks[start // BLOCK], start % BLOCK, 0] if self._packing else [start, 0]
            entries.append(_index_entry(constant, group, tuple(place)))
            start += len(run)
        return _Stream(_ROW_INDEX, column, self._packed(b"".join(entries))[0]), _Stream(_DATA, column, data)

    # -- the tail ---------------------------------------------------------------------------------------------------

    def _finished(self, data: bytes) -> bytes:
        postscript = data[-1 - data[-1] : -1]
        fields = dict(message_fields(postscript))
        lengths = [whole_number(fields.get(number, 0)) for number in (5, 1)]
        end = len(data) - 1 - data[-1]
        footer_at, metadata_at = end - lengths[1], end - sum(lengths)
        footer = list(message_fields(self._unpacked(data[footer_at:end])))
        stripes = [_Stripe.parsed(_message(value)) for number, value in footer if number == 3]
        self._check(fields, footer)
        first = self._read
        made = [self._begin(data)]
        for stripe in stripes[len(self._old) :]:
            start = stripe.offset - first
            made.append(self._stripe(data[start : start + stripe.length], stripe.indexes + stripe.data))
        if stripes != self._old or self._read - first != metadata_at:
            raise ValueError("stripes are elsewhere than the footer says")
        metadata = self._packed(self._stripe_statistics(self._unpacked(data[metadata_at:footer_at])))[0]
        packed = self._packed(self._file_footer(footer))[0]
        tail = _replaced(postscript, {1: len(packed), 5: len(metadata)})
        return b"".join([*made, metadata, packed, tail, bytes([len(tail)])])

    def _check(self, postscript: dict[int, int | bytes], footer: Sequence[tuple[int, int | bytes]]) -> None:
        """Refuse files whose columns are not numbered as expected."""
        if postscript.get(2, 0) != self._packing or (self._packing and postscript.get(3) != BLOCK):
            raise ValueError("another compression than was asked for")
        root = dict(message_fields(_message(next(value for number, value in footer if number == 4))))
        if _message(root.get(2, b"")) != b"".join(map(varint, range(1, len(self._plain_numbers)))):
            raise ValueError("columns before the last one are not primitive")

    def _file_footer(self, footer: Sequence[tuple[int, int | bytes]]) -> bytes:
        rows = self._rows
        grown = sum(new.length - old.length for new, old in zip(self._new, self._old, strict=True))
        parts: dict[int, list[bytes]] = {
            3: [stripe.encoded() for stripe in self._new],
            4: self._types([_message(value) for number, value in footer if number == 4]),
            7: self._statistics([_message(value) for number, value in footer if number == 7], 0, rows),
        }
        made: list[bytes] = []
        for number, value in footer:
            if number in parts:
                made.extend(bytes_field(number, part) for part in parts[number])
                parts[number] = []  # all of them where the first one was
            else:
                made.append(message_field(number, whole_number(value) + grown if number == 2 else value))
        return b"".join(made)

    def _types(self, types: Sequence[bytes]) -> list[bytes]:
        shifted = [b"".join(self._shifted(number, value) for number, value in message_fields(one)) for one in types]
        names = [bytes_field(3, name.encode()) for name in self._names]
        numbers = [*range(1, len(self._names) + 1)]
        other = [message_field(number, value) for number, value in message_fields(types[0]) if number > 3]
        shifted[0] = b"".join([number_field(1, 12), bytes_field(2, b"".join(map(varint, numbers))), *names, *other])
        return self._filled(shifted, lambda constant: number_field(1, _KINDS[constant.kind]) + _NO_LENGTHS)

    def _shifted(self, number: int, value: int | bytes) -> bytes:
        """Renumber the children in a field of a type."""
        if number != 2:
            return message_field(number, value)
        return bytes_field(2, b"".join(varint(self._number(child)) for child in _varints(_message(value))))

    def _stripe_statistics(self, metadata: bytes) -> bytes:
        made, first = [], 0
        for (number, value), stripe in zip(message_fields(metadata), self._new, strict=True):
            columns = [_message(one) for _, one in message_fields(_message(value))]
            statistics = self._statistics(columns, first, stripe.rows)
            made.append(message_field(number, b"".join(bytes_field(1, one) for one in statistics)))
            first += stripe.rows
        return b"".join(made)

    def _statistics(self, columns: Sequence[bytes], first: int, rows: int) -> list[bytes]:
        return self._filled(list(columns), lambda constant: constant.statistics(first, rows))

    @property
    def _rows(self) -> int:
        """Rows of the stripes so far."""
        return sum(stripe.rows for stripe in self._new)

    # -- numbers of columns, and bytes -------------------------------------------------------------------------------

    def _number(self, column: int) -> int:
        """The column id in the complete file of a column of the file without constants."""
        last = len(self._plain_numbers) - 1
        return self._plain_numbers[min(column, last)] + max(0, column - last)

    def _filled(self, items: list[_T], make: Callable[[MadeColumn], _T]) -> list[_T]:
        """Insert the result of ``make`` for each constant column among the items of the other columns."""
        for column, constant in self._constants.items():  # ascending
            items.insert(column, make(constant))
        return items

    def _unpacked(self, data: bytes) -> bytes:
        plain = unpacked(data, self._packing, BLOCK)
        assert plain is not None
        return plain

    def _packed(self, data: bytes) -> tuple[bytes, list[int]]:
        """Compress data in chunks; returns the bytes and the offset of each chunk."""
        if not self._packing:
            return data, [0]
        chunks, starts, end = [], [], 0
        for start in range(0, len(data), BLOCK):
            plain = data[start : start + BLOCK]
            small = _compressed(plain, self._packing)
            body = min(plain, small, key=len)  # as it is, if it does not get smaller
            chunks.append((len(body) << 1 | (body is plain)).to_bytes(3, "little") + body)
            starts.append(end)
            end += len(chunks[-1])
        return b"".join(chunks), starts

    def _understood(self, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except _ERRORS as error:
            raise self._corrupt(str(error)) from error

    def _corrupt(self, what: str) -> CorruptFileError:
        return CorruptFileError(f"ORC file is not as its writer writes them: {what}", path=self._path)


def _compressed(data: bytes, packing: int) -> bytes:
    if packing == _PACKINGS["zlib"]:
        maker = zlib.compressobj(wbits=-15)
        return maker.compress(data) + maker.flush()
    small: bytes = pa.compress(data, codec="snappy", asbytes=True)
    return small


def _message(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number where a message must be")
    return value


def _varints(data: bytes) -> Iterator[int]:
    position = 0
    while position < len(data):
        value, position = read_varint(data, position)
        yield value


def _replaced(message: bytes, numbers: dict[int, int]) -> bytes:
    """Replace the numbers in some fields of a protobuf message."""
    return b"".join(message_field(number, numbers.get(number, value)) for number, value in message_fields(message))
