"""Columns of one value, and of row numbers, put into ORC files: only the bytes of their runs are not Arrow's own."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import orc

from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.orc import made_columns as orc_made
from hudi_hive.formats.orc.acid_writer import CODECS
from hudi_hive.formats.orc.constant_columns import ConstantColumns
from hudi_hive.formats.orc.footer import message_fields
from hudi_hive.formats.orc.held_output import HeldOutput
from hudi_hive.formats.orc.made_columns import BLOCK, ConstantColumn, MadeColumn, RowNumbers
from hudi_hive.formats.orc.null_struct_children import with_null_struct_children
from tests.formats.shared.orc_files import Parsed, same_but_runs

ENDS = (-(1 << 63), (1 << 63) - 1, -1, 0)
COUNTS = [1, 2, 3, 10, 11, 511, 512, 513, 514, 515, 522, 523, 9_999, 10_000, 10_001, 10_002, 20_000, 21_025]


def made(
    table: pa.Table,
    fields: Sequence[MadeColumn | str],
    codec: str,
    *,
    block: int = BLOCK,
    writes: int = 1,
    **options: Any,
) -> tuple[bytes, list[int]]:
    """A file with columns put in, and the bytes that each write and the end have brought."""
    sink, columns = HeldOutput(), ConstantColumns(fields, codec, "f")
    writer = orc.ORCWriter(sink, compression=codec, compression_block_size=block, **options)
    rows = -(-table.num_rows // writes)
    parts = []
    for start in range(0, table.num_rows, rows):
        part = table.slice(start, rows)
        columns_of = [with_null_struct_children(column.combine_chunks()) for column in part.columns]
        writer.write(pa.table(columns_of, names=table.column_names))
        parts.append(columns.add(sink.take()))
    writer.close()
    parts.append(columns.finish(sink.take()))
    return b"".join(parts), [len(part) for part in parts]


def whole(table: pa.Table, fields: Sequence[MadeColumn | str]) -> pa.Table:
    """The table with the columns."""
    kinds = {"int": pa.int32(), "bigint": pa.int64()}
    count = table.num_rows
    columns = {field: table[field] for field in fields if isinstance(field, str)}
    for one in fields:
        if not isinstance(one, str):
            numbers = np.full(count, one.value) if isinstance(one, ConstantColumn) else np.arange(count)
            columns[one.name] = pa.array(numbers, kinds[one.kind])
    names = [field if isinstance(field, str) else field.name for field in fields]
    return pa.table([columns[name] for name in names], names=names)


def some_rows(count: int) -> pa.Table:
    """A number, and rows with columns below columns, some of them null."""
    rng = np.random.default_rng(count)
    numbers = rng.integers(0, 1 << 40, count)
    parts = {
        "a": pa.array(numbers, mask=rng.random(count) < 0.1),
        "b": pa.array([f"text {number % 13}" for number in numbers]),
        "c": pa.array([[1, 2][: number % 3] for number in numbers.tolist()], pa.list_(pa.int32())),
    }
    rows = pa.StructArray.from_arrays(list(parts.values()), names=list(parts), mask=pa.array(numbers % 7 == 0))
    return pa.table({"number": np.arange(count), "row": with_null_struct_children(rows)})


FIELDS = (
    ConstantColumn("x", "int", 2),
    ConstantColumn("y", "bigint", 1 << 40),
    "number",
    ConstantColumn("z", "int", -(1 << 31)),
    RowNumbers("line"),
    "row",
)


def read(data: bytes, columns: list[str] | None = None) -> pa.Table:
    return orc.ORCFile(io.BytesIO(data)).read(columns)


@pytest.mark.parametrize("codec", CODECS)
def test_the_file_is_arrows_but_for_the_runs(codec: str) -> None:
    for count in COUNTS:
        table = some_rows(count)
        data, _ = made(table, FIELDS, codec)
        expected = whole(table, FIELDS)
        found = read(data)
        assert found.equals(expected), count
        same_but_runs(data, expected, (1, 2, 4, 5), codec)


@pytest.mark.parametrize("value", [*ENDS, 1, 127, 128, -(1 << 31), (1 << 31) - 1, 1 << 32])
def test_values_and_their_runs(value: int) -> None:
    fields = (ConstantColumn("x", "bigint", value), "n")
    for count in (1, 2, 3, 9, 10, 11, 12, 600, 10_700):
        table = pa.table({"n": np.arange(count)})
        data, _ = made(table, fields, "zlib")
        assert read(data).equals(whole(table, fields)), count
        same_but_runs(data, whole(table, fields), (1,), "zlib")


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("writes", [1, 7])
def test_stripes_go_out_when_they_are_there(codec: str, writes: int) -> None:
    """Several in one write, too; footers of stripes are found where the writer has put them."""
    table = some_rows(50_000)
    data, brought = made(table, FIELDS, codec, writes=writes, stripe_size=64 << 10)
    file = orc.ORCFile(io.BytesIO(data))
    assert file.nstripes > 3 and sum(brought[:-1]) > brought[-1]
    assert file.read().equals(whole(table, FIELDS))
    for at in range(file.nstripes):
        assert file.read_stripe(at).num_rows > 0


@pytest.mark.parametrize("codec", CODECS)
def test_row_numbers_go_on_from_stripe_to_stripe(codec: str) -> None:
    table = some_rows(50_000)
    data, _ = made(table, FIELDS, codec, writes=3, stripe_size=64 << 10)
    file = orc.ORCFile(io.BytesIO(data))
    assert file.nstripes > 3
    numbers = [file.read_stripe(at, ["line"]).column(0).to_numpy() for at in range(file.nstripes)]
    assert (np.concatenate(numbers) == np.arange(50_000)).all()
    for part, (_, stripe) in zip(numbers, message_fields(Parsed(data).metadata), strict=True):
        assert isinstance(stripe, bytes)
        column = [statistics for _, statistics in message_fields(stripe)][FIELDS.index(RowNumbers("line")) + 1]
        alone = io.BytesIO()
        orc.write_table(pa.table({"line": part}), alone)
        _, expected = next(message_fields(Parsed(alone.getvalue()).metadata))
        assert isinstance(expected, bytes)
        assert column == [statistics for _, statistics in message_fields(expected)][1]


def test_a_footer_of_several_chunks() -> None:
    names = [f"column_{number}" for number in range(2500)]
    long = pa.array([np.random.default_rng(row).bytes(1 << 17) for row in range(20)])
    row = pa.StructArray.from_arrays([*[pa.array(range(20))] * 2500, long], names=[*names, "long"])
    fields = (ConstantColumn("x", "int", 1), "row")
    table = pa.table({"row": row})
    data, brought = made(table, fields, "zlib", writes=2, stripe_size=1 << 20, batch_size=10)
    assert brought[0] > 1 << 17 and orc.ORCFile(io.BytesIO(data)).nstripes > 1
    assert read(data, columns=["x"]).column(0).to_pylist() == [1] * 20


@pytest.mark.parametrize("codec", CODECS)
def test_row_groups_begin_where_the_index_says(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers that look for some of the rows begin to read there."""
    # Compressed, such runs would be too few bytes to see a place among them.
    monkeypatch.setattr(orc_made, "_compressed", lambda data, packing: data)
    table = pa.table({"n": np.arange(4_000_001)})
    fields = (ConstantColumn("x", "bigint", 1 << 40), "n")
    data, _ = made(table, fields, codec)
    parsed = Parsed(data)
    (_, (_, streams)) = parsed.stripes[0]
    found = parsed.index(streams, 1)
    assert len(found) == 401
    runs = {count: ConstantColumn("x", "bigint", 1 << 40).runs(0, count) for count in (512, 1)}
    for (positions, _), count in zip(found, [512] * 400 + [1], strict=True):
        place, inside, passed = positions if codec != "uncompressed" else [positions[0], 0, positions[1]]
        plain = parsed.unpacked(streams[1, 1][place:])[inside:]
        assert passed == 0 and plain.startswith(runs[count])
    assert codec == "uncompressed" or found[-1][0][0] > 0
    assert read(data).equals(whole(table, fields))


def test_what_is_not_as_the_writer_writes_is_refused() -> None:
    table = pa.table({"a": pa.array([{"b": 1}] * 9), "n": np.arange(9)})
    with pytest.raises(CorruptFileError, match="not primitive"):
        made(table, ("a", ConstantColumn("x", "int", 1), "n"), "zlib")
    with pytest.raises(CorruptFileError, match="another compression"):
        made(table.select(["n"]), (ConstantColumn("x", "int", 1), "n"), "zlib", block=1 << 17)
    with pytest.raises(CorruptFileError, match="stripes are not whole"):
        ConstantColumns(FIELDS, "zlib", "f").add([b"ORC", b"something"])
    with pytest.raises(CorruptFileError, match="no ORC magic"):
        ConstantColumns(FIELDS, "zlib", "f").add([b"PAR1"])
