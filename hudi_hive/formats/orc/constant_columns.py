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
from itertools import accumulate
from typing import Final, TypeVar

import pyarrow as pa

from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.orc.footer import message_fields, read_varint, whole_number
from hudi_hive.formats.orc.made_columns import (
    BLOCK,
    DATA,
    INDEXES,
    PACKINGS,
    ROW_INDEX,
    MadeColumn,
    Stream,
    StripeFooter,
    StripeInformation,
    embedded_message,
    file_tail,
    group_streams,
    stripe_parts,
    unpacked_block,
    with_replaced,
)
from hudi_hive.formats.orc.tail import bytes_field, message_field, number_field
from hudi_hive.formats.varints import varint

_MAGIC: Final = b"ORC"
_KINDS: Final = {"int": 3, "bigint": 4}
_ENCODING: Final = number_field(1, 2) + number_field(2, 0)
"""Direct, in the second version, without a dictionary."""
_MOST_PARTS: Final = 256
_ERRORS: Final = (ValueError, IndexError, StopIteration, zlib.error, pa.ArrowException)

_NO_LENGTHS: Final = b"".join(number_field(number, 0) for number in (4, 5, 6))
"""Length, precision and scale of types that have none, as Arrow writes them."""

_T = TypeVar("_T")


class ConstantColumns:
    """Adds constant columns to one ORC file while it is written.

    Args:
        fields: the file's columns in order: those to put in, and the names of the others. All of these but the last
            one must be of primitive types.
        codec: of the file: zlib, snappy or uncompressed.
        path: the file's URI, for messages.
    """

    def __init__(self, fields: Sequence[MadeColumn | str], codec: str, path: str) -> None:
        self._path, self._packing = path, PACKINGS[codec]
        self._names = [field if isinstance(field, str) else field.name for field in fields]
        self._constants = {number: field for number, field in enumerate(fields, 1) if not isinstance(field, str)}
        self._plain_numbers = [0, *(number for number, field in enumerate(fields, 1) if isinstance(field, str))]
        self._old: list[StripeInformation] = []
        self._new: list[StripeInformation] = []
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

    def _footer(self, data: bytes) -> StripeFooter:
        return StripeFooter.parsed(unpacked_block(data, self._packing))

    def _stripe(self, data: bytes, footer_at: int) -> bytes:
        """Encode a stripe with the constant columns in it."""
        footer = self._footer(data[footer_at:])
        streams = list(self._streams(footer, memoryview(data)))
        groups = self._groups(streams)
        first_row = self._rows
        for column, constant in self._constants.items():
            streams.extend(self._made(column, constant, first_row, groups))
        streams.sort(key=lambda stream: stream.column)  # keeps the order of streams of one column
        encodings = self._filled(list(footer.encodings), lambda _: _ENCODING)
        parts = stripe_parts(streams, encodings, footer.others, self._packing)
        made = b"".join(parts)
        old = sum(length for kind, _, length in footer.streams if kind in INDEXES)
        self._old.append(StripeInformation(self._read, old, footer_at - old, len(data) - footer_at, sum(groups)))
        self._new.append(parts.information(self._written, sum(groups)))
        self._read, self._written = self._read + len(data), self._written + len(made)
        return made

    def _streams(self, footer: StripeFooter, data: memoryview) -> Iterator[Stream]:
        start = 0
        for kind, column, length in footer.streams:
            yield Stream(kind, self._number(column), data[start : start + length])
            start += length

    def _groups(self, streams: Sequence[Stream]) -> list[int]:
        """The number of rows of each row group, from the index of the root column."""
        data = next(bytes(stream.data) for stream in streams if (stream.kind, stream.column) == (ROW_INDEX, 0))
        entries = [
            dict(message_fields(embedded_message(entry)))
            for _, entry in message_fields(unpacked_block(data, self._packing))
        ]
        return [whole_number(dict(message_fields(embedded_message(entry.get(2, b"")))).get(1, 0)) for entry in entries]

    def _made(self, column: int, constant: MadeColumn, first_row: int, groups: Sequence[int]) -> tuple[Stream, Stream]:
        """Encode the index and data streams of a constant column in a stripe."""
        rows = list(zip(accumulate(groups, initial=first_row), groups, strict=False))
        runs, statistics = [constant.runs(*group) for group in rows], [constant.statistics(*group) for group in rows]
        return group_streams(DATA, column, runs, statistics, self._packing)

    # -- the tail ---------------------------------------------------------------------------------------------------

    def _finished(self, data: bytes) -> bytes:
        postscript = data[-1 - data[-1] : -1]
        fields = dict(message_fields(postscript))
        lengths = [whole_number(fields.get(number, 0)) for number in (5, 1)]
        end = len(data) - 1 - data[-1]
        footer_at, metadata_at = end - lengths[1], end - sum(lengths)
        footer = list(message_fields(unpacked_block(data[footer_at:end], self._packing)))
        stripes = [StripeInformation.parsed(embedded_message(value)) for number, value in footer if number == 3]
        self._check(fields, footer)
        first = self._read
        made = [self._begin(data)]
        for stripe in stripes[len(self._old) :]:
            start = stripe.offset - first
            made.append(self._stripe(data[start : start + stripe.length], stripe.indexes + stripe.data))
        if stripes != self._old or self._read - first != metadata_at:
            raise ValueError("stripes are elsewhere than the footer says")
        statistics = self._stripe_statistics(unpacked_block(data[metadata_at:footer_at], self._packing))
        return b"".join([*made, file_tail(statistics, self._file_footer(footer), postscript, self._packing)])

    def _check(self, postscript: dict[int, int | bytes], footer: Sequence[tuple[int, int | bytes]]) -> None:
        """Refuse files whose columns are not numbered as expected."""
        if postscript.get(2, 0) != self._packing or (self._packing and postscript.get(3) != BLOCK):
            raise ValueError("another compression than was asked for")
        root = dict(message_fields(embedded_message(next(value for number, value in footer if number == 4))))
        if embedded_message(root.get(2, b"")) != b"".join(map(varint, range(1, len(self._plain_numbers)))):
            raise ValueError("columns before the last one are not primitive")

    def _file_footer(self, footer: Sequence[tuple[int, int | bytes]]) -> bytes:
        rows = self._rows
        grown = sum(new.length - old.length for new, old in zip(self._new, self._old, strict=True))
        parts = {
            3: [stripe.encoded() for stripe in self._new],
            4: self._types([embedded_message(value) for number, value in footer if number == 4]),
            7: self._statistics([embedded_message(value) for number, value in footer if number == 7], 0, rows),
        }
        content = {number: whole_number(value) + grown for number, value in footer if number == 2}
        return with_replaced(footer, parts, content)

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
        return bytes_field(2, b"".join(varint(self._number(child)) for child in _varints(embedded_message(value))))

    def _stripe_statistics(self, metadata: bytes) -> bytes:
        made, first = [], 0
        for (number, value), stripe in zip(message_fields(metadata), self._new, strict=True):
            columns = [embedded_message(one) for _, one in message_fields(embedded_message(value))]
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

    def _understood(self, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except _ERRORS as error:
            raise self._corrupt(str(error)) from error

    def _corrupt(self, what: str) -> CorruptFileError:
        return CorruptFileError(f"ORC file is not as its writer writes them: {what}", path=self._path)


def _varints(data: bytes) -> Iterator[int]:
    position = 0
    while position < len(data):
        value, position = read_varint(data, position)
        yield value
