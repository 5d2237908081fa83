"""Writes ORC files of columns of whole numbers, and of a struct column that is null in all rows, as delete deltas are.

Arrow's writer walks over every value of each column below a struct that is null. Whatever it writes of them is the same
for each row group, though, and they have no data: so it makes a file of one row here, and the stripes of all rows are
made of what is in that (ORC specification v1, "Stripes", "Row Group Index", "Byte Run Length Encoding").

Source: docs/format/hive.md#hive-acid-events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import pyarrow as pa

from hudi_hive.formats.orc.constant_columns import ConstantColumns
from hudi_hive.formats.orc.footer import message_fields, whole_number
from hudi_hive.formats.orc.held_output import HeldOutput
from hudi_hive.formats.orc.made_columns import (
    BLOCK,
    DATA,
    PACKINGS,
    PRESENT,
    ROW_INDEX,
    ConstantColumn,
    MadeColumn,
    Stream,
    StripeFooter,
    StripeInformation,
    embedded_message,
    file_tail,
    group_streams,
    packed,
    stripe_parts,
    unpacked_block,
    with_replaced,
)
from hudi_hive.formats.orc.tail import bytes_field, replaced_numbers

_MAGIC: Final = b"ORC"
_GROUP: Final = 10_000
"""Rows of a row group, as Arrow's writer has them."""

_LONGEST: Final = 130
"""Bytes of the longest run."""

_STRIPES, _STATISTICS, _CONTENT, _ROWS, _STRIDE = 3, 7, 2, 6, 8


@dataclass(frozen=True, slots=True)
class _OneRow:
    """What is taken from a file of one row.

    Attributes:
        streams: kind, column and bytes of each, those of indexes without their compression.
        footer: of the stripe.
        statistics: of each column.
        file_footer: the fields of the file's footer.
        postscript: of the file.
    """

    streams: tuple[Stream, ...]
    footer: StripeFooter
    statistics: tuple[bytes, ...]
    file_footer: tuple[tuple[int, int | bytes], ...]
    postscript: bytes

    @classmethod
    def parsed(cls, data: bytes, packing: int) -> _OneRow:
        postscript = data[-1 - data[-1] : -1]
        end = len(data) - 1 - data[-1]
        length = whole_number(dict(message_fields(postscript))[1])
        fields = tuple(message_fields(unpacked_block(data[end - length : end], packing)))
        stripe = StripeInformation.parsed(embedded_message(dict(fields)[_STRIPES]))
        start = stripe.offset
        footer_at = start + stripe.indexes + stripe.data
        footer = StripeFooter.parsed(unpacked_block(data[footer_at : footer_at + stripe.footer], packing))
        streams = []
        for kind, column, size in footer.streams:
            part = data[start : start + size]
            streams.append(Stream(kind, column, unpacked_block(part, packing) if kind == ROW_INDEX else part))
            start += size
        statistics = tuple(embedded_message(value) for number, value in fields if number == _STATISTICS)
        assert dict(fields)[_STRIDE] == _GROUP
        return cls(tuple(streams), footer, statistics, fields, postscript)


@lru_cache(64)
def _one_row(columns: tuple[ConstantColumn, ...], name: str, kind: pa.StructType, codec: str) -> _OneRow:
    """Have Arrow write a file of one row, and take it apart."""
    import pyarrow.orc as orc  # few tables have ORC files

    output, constants = HeldOutput(), ConstantColumns([*columns, name], codec, "")
    writer = orc.ORCWriter(output, compression=codec, compression_block_size=BLOCK)
    writer.write(pa.table({name: pa.nulls(1, kind)}))
    writer.close()
    return _OneRow.parsed(constants.finish(output.take()), PACKINGS[codec])


class NullRowFile:
    """An ORC file of columns that are made here, and of a struct column behind them that is null in all rows.

    Args:
        columns: the columns, which have a value in each row.
        name: of the struct column.
        kind: its type.
        codec: zlib, snappy or uncompressed.
        rows: how many.
        stripe_bytes: bytes of the columns' runs from which on a stripe ends.
    """

    def __init__(
        self,
        columns: Sequence[MadeColumn],
        name: str,
        kind: pa.StructType,
        *,
        codec: str,
        rows: int,
        stripe_bytes: int,
    ) -> None:
        self._columns, self._rows, self._stripe_bytes = columns, rows, stripe_bytes
        self._packing = PACKINGS[codec]
        constants = tuple(ConstantColumn(column.name, column.kind, 0) for column in columns)
        self._one = _one_row(constants, name, kind, codec)
        self._struct = len(columns) + 1
        self._stripes: list[StripeInformation] = []

    def parts(self) -> Iterator[bytes]:
        """The bytes of the file: its stripes one by one, and last what is behind them."""
        written = len(_MAGIC)
        yield _MAGIC
        footer = self._one.footer
        for groups, runs in self._stripe_runs():
            parts = stripe_parts(self._streams(groups, runs), footer.encodings, footer.others, self._packing)
            self._stripes.append(parts.information(written, sum(count for _, count in groups)))
            written += self._stripes[-1].length
            yield b"".join(parts)
        yield self._tail(written)

    def _stripe_runs(self) -> Iterator[tuple[list[tuple[int, int]], list[list[bytes]]]]:
        """Row groups of each stripe, first row and number of rows, and the runs of each column in them."""
        groups: list[tuple[int, int]] = []
        runs: list[list[bytes]] = []
        size = 0
        for first in range(0, self._rows, _GROUP):
            groups.append((first, min(_GROUP, self._rows - first)))
            runs.append([column.runs(*groups[-1]) for column in self._columns])
            size += sum(map(len, runs[-1]))
            if size >= self._stripe_bytes:
                yield groups, runs
                groups, runs, size = [], [], 0
        if groups:
            yield groups, runs

    def _streams(self, groups: Sequence[tuple[int, int]], runs: Sequence[Sequence[bytes]]) -> list[Stream]:
        made: dict[tuple[int, int], Stream] = {}
        for number, column in enumerate(self._columns, start=1):
            statistics = [column.statistics(*group) for group in groups]
            index, data = group_streams(DATA, number, [run[number - 1] for run in runs], statistics, self._packing)
            made |= {(ROW_INDEX, number): index, (DATA, number): data}
        struct = self._struct
        nulls = [_zero_bits(count) for _, count in groups]
        index, data = group_streams(PRESENT, struct, nulls, [self._one.statistics[struct]] * len(groups), self._packing)
        made |= {(ROW_INDEX, struct): index, (PRESENT, struct): data}
        root = b"".join(bytes_field(1, bytes_field(2, self._counted(count))) for _, count in groups)
        made[ROW_INDEX, 0] = Stream(ROW_INDEX, 0, packed(root, self._packing)[0])
        return [made.get((one.kind, one.column)) or self._repeated(one, len(groups)) for one in self._one.streams]

    def _repeated(self, stream: Stream, groups: int) -> Stream:
        """A stream of a column below the struct, in which all row groups are alike."""
        assert stream.kind == ROW_INDEX or not stream.data
        return stream._replace(data=packed(bytes(stream.data) * groups, self._packing)[0])

    def _counted(self, rows: int) -> bytes:
        """Statistics of the root column, which counts the rows."""
        return replaced_numbers(self._one.statistics[0], {1: rows})

    def _statistics(self, first: int, rows: int) -> list[bytes]:
        """Statistics of all columns in some rows."""
        made = [column.statistics(first, rows) for column in self._columns]
        return [self._counted(rows), *made, *self._one.statistics[self._struct :]]

    def _tail(self, written: int) -> bytes:
        """Statistics of the stripes, footer, postscript and its length."""
        messages, first = [], 0
        for stripe in self._stripes:
            statistics = self._statistics(first, stripe.rows)
            messages.append(bytes_field(1, b"".join(bytes_field(1, one) for one in statistics)))
            first += stripe.rows
        lists = {
            _STRIPES: [stripe.encoded() for stripe in self._stripes],
            _STATISTICS: self._statistics(0, self._rows),
        }
        numbers = {_CONTENT: written - len(_MAGIC), _ROWS: self._rows}
        footer = with_replaced(self._one.file_footer, lists, numbers)
        return file_tail(b"".join(messages), footer, self._one.postscript, self._packing)


@lru_cache(64)
def _zero_bits(count: int) -> bytes:
    """Encode so many bits that are not set, as bytes in runs."""
    whole, rest = divmod((count + 7) // 8, _LONGEST)
    run = bytes([rest - 3, 0]) if rest > 2 else bytes([256 - rest]) + bytes(rest)
    return bytes([_LONGEST - 3, 0]) * whole + (run if rest else b"")
