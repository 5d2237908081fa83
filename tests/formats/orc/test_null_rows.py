"""Files of whole numbers and a null struct, which Arrow's writer has no part in, and the runs of such numbers."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from hudi_hive.errors import MutationStateError
from hudi_hive.formats.orc import DELETE, BucketProperty, DeleteDeltaWriter, parse_hive_type
from hudi_hive.formats.orc.acid import ACID_FIELDS
from hudi_hive.formats.orc.acid_writer import CODECS
from hudi_hive.formats.orc.footer import message_fields
from hudi_hive.formats.orc.made_columns import ConstantColumn, NumberColumn
from hudi_hive.formats.orc.null_rows import NullRowFile
from hudi_hive.formats.orc.run_lengths import number_runs, unsigned_numbers
from tests.formats.shared.orc_files import Parsed, same_but_runs
from tests.support.running.long import examples

EVERY_TYPE = pa.struct(
    [
        (f"column_{number}", parse_hive_type(text).arrow)
        for number, text in enumerate(
            (
                *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date"),
                *("timestamp", "decimal(9,2)", "decimal(38,10)", "array<int>", "map<string,char(2)>"),
                "struct<x:int,y:array<timestamp>,z:struct<t:string>>",
            )
        )
    ]
)
COUNTS = (1, 2, 3, 17, 24, 513, 9_999, 10_000, 10_001, 25_000)


def made(row_ids: np.ndarray, codec: str, kind: pa.StructType = EVERY_TYPE, stripe_bytes: int = 1 << 20) -> bytes:
    """A file of a constant, of numbers and of nulls."""
    columns = [ConstantColumn("x", "int", 2), NumberColumn("n", "bigint", row_ids)]
    file = NullRowFile(columns, "row", kind, codec=codec, rows=len(row_ids), stripe_bytes=stripe_bytes)
    return b"".join(file.parts())


def whole(row_ids: np.ndarray, kind: pa.StructType = EVERY_TYPE) -> pa.Table:
    """The rows of that file."""
    count = len(row_ids)
    return pa.table({"x": np.full(count, 2, np.int32), "n": row_ids, "row": pa.nulls(count, kind)})


@pytest.mark.parametrize("codec", CODECS)
def test_the_file_is_arrows_but_for_the_runs(codec: str) -> None:
    """The present stream of the struct begins a run with each row group, so that is not compared byte by byte."""
    for count in COUNTS:
        row_ids = np.cumsum(np.random.default_rng(count).integers(1, 9, count))
        data = made(row_ids, codec)
        table = whole(row_ids)
        read = orc.ORCFile(io.BytesIO(data)).read()
        assert read["n"].equals(table["n"]) and read["x"].equals(table["x"]), count
        assert read["row"].null_count == count
        same_but_runs(data, table, (1, 2, 3), codec)


@pytest.mark.parametrize("codec", CODECS)
def test_stripes_end_by_their_bytes_and_have_statistics_of_their_own(codec: str) -> None:
    row_ids = np.cumsum(np.random.default_rng(1).integers(1, 1 << 20, 95_000))
    data = made(row_ids, codec, stripe_bytes=1 << 16)
    file = orc.ORCFile(io.BytesIO(data))
    assert file.nstripes > 2 and file.nrows == 95_000
    parts = [file.read_stripe(at, ["n"]).column(0).to_numpy() for at in range(file.nstripes)]
    assert (np.concatenate(parts) == row_ids).all()
    for part, (_, stripe) in zip(parts, message_fields(Parsed(data).metadata), strict=True):
        alone = io.BytesIO()
        orc.write_table(pa.table({"n": part}), alone)
        _, expected = next(message_fields(Parsed(alone.getvalue()).metadata))
        assert isinstance(stripe, bytes) and isinstance(expected, bytes)
        columns = [statistics for _, statistics in message_fields(stripe)]
        assert [columns[0], columns[2]] == [statistics for _, statistics in message_fields(expected)]


@pytest.mark.parametrize("codec", CODECS)
def test_row_groups_begin_where_the_index_says(codec: str) -> None:
    """Readers that look for some of the rows begin to read there, whichever block of compression it is in."""
    row_ids = np.random.default_rng(1).integers(0, 1 << 40, 95_000)
    parsed = Parsed(made(row_ids, codec))
    (_, (_, streams)) = parsed.stripes[0]
    for column, kind in ((2, 1), (3, 0)):
        index = parsed.index(streams, column)
        assert len(index) == 10
        for group, (positions, _) in enumerate(index):
            place, inside, *passed = positions if codec != "uncompressed" else [positions[0], 0, *positions[1:]]
            plain = parsed.unpacked(streams[kind, column][place:])[inside:]
            assert passed == ([0] if kind else [0, 0])
            if kind:
                part = row_ids[group * 10_000 :][:10_000]
                assert unsigned_numbers(plain, len(part), version=2).tolist() == (part << 1).tolist()
            else:
                assert plain.startswith(b"\x7f\0" * (9 if group < 9 else 4))


def test_a_delete_delta_without_one_writer_of_all_rows() -> None:
    """Deleted rows of several transactions and statements: no part of their identifiers is the same in all."""
    rng = np.random.default_rng(3)
    count = 30_000
    keys = {"originalTransaction": rng.integers(1, 50, count), "rowId": rng.integers(0, 1 << 40, count)}
    keys["bucket"] = BucketProperty.encode(3, rng.integers(0, 4, count)).astype(np.int64)
    order = np.lexsort((keys["rowId"], keys["bucket"], keys["originalTransaction"]))
    keys = {name: values[order] for name, values in keys.items()}
    output = io.BytesIO()
    with DeleteDeltaWriter(output, columns=[("a", "int")], write_id=90, bucket=3) as writer:
        for start in range(0, count, 7_001):
            part = slice(start, start + 7_001)
            writer.write(*(keys[name][part] for name in ("originalTransaction", "bucket", "rowId")))
    table = orc.ORCFile(io.BytesIO(output.getvalue())).read()
    expected = keys | {"operation": np.full(count, DELETE), "currentTransaction": np.full(count, 90)}
    for field in ACID_FIELDS:
        assert table[field.name].to_numpy().tolist() == expected[field.name].tolist(), field.name
    assert table["row"].null_count == count


class FullSink(io.BytesIO):
    def write(self, data: bytes) -> int:
        if self.tell():
            raise OSError("no space left")
        return super().write(data)


def test_a_file_whose_sink_fails_is_not_written_on() -> None:
    count = 30_000
    writer = DeleteDeltaWriter(FullSink(), columns=[("a", "int")], write_id=90, bucket=3, stripe_bytes=64)
    keys = np.full(count, 1), np.full(count, BucketProperty.encode(3, 0)), np.cumsum(np.arange(count) % 7 + 1)
    with pytest.raises(OSError, match="no space left"):
        writer.write(*keys)
        writer.close()
    with pytest.raises(MutationStateError, match="closed"):
        writer.close()


# -- runs --------------------------------------------------------------------------------------------------------------

STEPS = st.one_of(
    st.integers(-3, 3), st.integers(-200, 200), st.integers(-(1 << 20), 1 << 20), st.integers(-(1 << 61), 1 << 61)
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(STEPS, st.integers(1, 600)), min_size=1, max_size=8), st.integers(0, 1 << 62), st.booleans())
def test_runs_are_decoded_to_the_numbers(pieces: list[tuple[int, int]], first: int, ascending: bool) -> None:
    """By Arrow's reader."""
    values = [first]
    for step, count in pieces:
        for _ in range(count):
            values.append(min(max(0, values[-1] + (abs(step) if ascending else step)), (1 << 63) - 1))
    numbers = np.array(values, np.int64)
    data = made(numbers, "uncompressed", pa.struct([("a", pa.int32())]))
    assert orc.ORCFile(io.BytesIO(data)).read(["n"]).column(0).to_pylist() == values


def test_ascending_numbers_take_the_bits_of_their_steps() -> None:
    numbers = np.cumsum(np.random.default_rng(1).integers(1, 4, 51_200)) + (1 << 40)
    assert len(number_runs(numbers)) < 51_200 * 2 / 8 * 1.1
    assert len(number_runs(np.arange(51_200) + (1 << 40))) == 100 * 9
