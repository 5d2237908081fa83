"""What the footers of ORC files say, and files compared with what Arrow's writer makes of the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import orc

from hudi_hive.formats.orc.footer import message_fields, read_varint, unpacked, whole_number
from hudi_hive.formats.orc.held_output import HeldOutput
from hudi_hive.formats.orc.made_columns import BLOCK


class Parsed:
    """All that a file's footers say."""

    def __init__(self, data: bytes) -> None:
        postscript = dict(message_fields(data[-1 - data[-1] : -1]))
        numbers = {number: value for number, value in postscript.items() if isinstance(value, int)}
        self.packing, self.block = numbers.get(2, 0), numbers.get(3, BLOCK)
        end = len(data) - 1 - data[-1]
        self.metadata = self.unpacked(data[end - numbers[1] - numbers[5] : end - numbers[1]])
        self.footer = list(message_fields(self.unpacked(data[end - numbers[1] : end])))
        self.stripes = []
        for message in (value for number, value in self.footer if number == 3):
            assert isinstance(message, bytes)
            fields = {number: whole_number(value) for number, value in message_fields(message)}
            self.stripes.append((fields[5], self.stripe(data, fields)))

    def unpacked(self, data: bytes) -> bytes:
        found = unpacked(data, self.packing, self.block)
        assert found is not None
        return found

    def stripe(self, data: bytes, fields: dict[int, int]) -> tuple[list[Any], dict[tuple[int, int], bytes]]:
        """Encodings and what else the footer says, and streams by kind and column."""
        start = fields[1]
        at = start + fields[2] + fields[3]
        streams, others = {}, []
        for number, value in message_fields(self.unpacked(data[at : at + fields[4]])):
            if number == 1:
                assert isinstance(value, bytes)
                entry = dict(message_fields(value))
                kind, column, length = (whole_number(entry.get(part, 0)) for part in (1, 2, 3))
                streams[kind, column] = data[start : start + length]
                start += length
            else:
                others.append((number, value))
        assert start == at
        return others, streams

    def index(self, streams: dict[tuple[int, int], bytes], column: int) -> list[tuple[list[int], bytes]]:
        """Positions and statistics of a column's row groups."""
        found = []
        for _, entry in message_fields(self.unpacked(streams[6, column])):
            assert isinstance(entry, bytes)
            fields = dict(message_fields(entry))
            positions, statistics = fields.get(1, b""), fields[2]
            assert isinstance(positions, bytes) and isinstance(statistics, bytes)
            found.append((list(_varints(positions)), statistics))
        return found


def same_but_runs(data: bytes, table: pa.Table, constants: Sequence[int], codec: str, **options: Any) -> None:
    """A file says of a table what Arrow's says of it."""
    sink = HeldOutput()
    writer = orc.ORCWriter(sink, compression=codec, compression_block_size=BLOCK, **options)
    writer.write(table)
    writer.close()
    ours, arrows = Parsed(data), Parsed(b"".join(sink.take()))
    assert ours.metadata == arrows.metadata
    left_out = {2, 3}  # bytes, and the places of stripes
    assert [one for one in ours.footer if one[0] not in left_out] == [
        one for one in arrows.footer if one[0] not in left_out
    ]
    assert len(ours.stripes) == len(arrows.stripes)
    for (rows, (others, streams)), (arrows_rows, (arrows_others, arrows_streams)) in zip(
        ours.stripes, arrows.stripes, strict=True
    ):
        assert (rows, others, list(streams)) == (arrows_rows, arrows_others, list(arrows_streams))
        for kind, column in streams:
            if column not in constants:
                assert ours.unpacked(streams[kind, column]) == arrows.unpacked(arrows_streams[kind, column])
            elif kind == 6:
                found = ours.index(streams, column)
                assert [one for _, one in found] == [one for _, one in arrows.index(arrows_streams, column)]


def _varints(data: bytes) -> Iterator[int]:
    position = 0
    while position < len(data):
        value, position = read_varint(data, position)
        yield value
