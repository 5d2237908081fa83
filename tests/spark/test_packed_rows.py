"""Rows on their way between steps of a write: packed to lines, by the buckets of their keys."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hudi_hive.spark.write.located_rows import PLACED_HITS
from hudi_hive.spark.write.packed_rows import (
    NUMBER,
    ROWS,
    bucket_numbers,
    by_bucket,
    numbered_rows,
    packed_lines,
    parts_of_bucket,
    rows_of_lines,
    unpacked,
)
from hudi_hive.spark.write.tasks import KEYED, KEYS, PARTITIONS, CombinePacked, KeysOnce, PackKeyed, PackRows
from hudi_hive.write.files import PARTITION_PATH, RECORD_KEY


def rows_of(count, partitions=3):
    keys = [f"k{number:05}" for number in range(count)]
    return pa.table(
        {
            RECORD_KEY: keys,
            PARTITION_PATH: [f"p{number % partitions}" for number in range(count)],
            "text": pa.array(["x" * (number % 70) if number % 5 else None for number in range(count)]),
            "at": pa.array(range(count), pa.timestamp("ms", "UTC")),
            "list": pa.array([[number, None] for number in range(count)], pa.list_(pa.int16())),
        }
    )


def test_rows_come_out_as_they_went_in():
    rows = rows_of(30_000)
    lines = list(packed_lines([(3, rows.slice(0, 20_000)), (1, rows.slice(20_000)), (2, rows.slice(0, 0))]))
    assert {line.column(NUMBER)[0].as_py() for line in lines} == {1, 3}
    assert max(len(line.column(ROWS)[0].as_py()) for line in lines) < 2 * (256 << 10)
    assert rows_of_lines(lines).equals(rows)
    assert pa.concat_tables(unpacked(lines)).equals(rows)
    assert [number for number, _ in numbered_rows(lines)] == [line.column(NUMBER)[0].as_py() for line in lines]


def test_a_row_larger_than_a_line_is_a_line():
    rows = pa.table({RECORD_KEY: ["a", "b"], "text": ["x" * (1 << 20), "y"]})
    lines = list(packed_lines([(0, rows)]))
    assert [line.num_rows for line in lines] == [1, 1]
    assert rows_of_lines(lines).equals(rows)


def test_lines_without_rows_are_passed_over():
    line = pa.record_batch([pa.array([0], pa.int32()), pa.array([None], pa.binary())], names=[NUMBER, ROWS])
    assert not list(unpacked([line]))
    assert rows_of_lines([]) is None


def test_rows_that_are_not_packed_are_read_as_well():
    assert rows_of_lines(rows_of(5).to_batches()).equals(rows_of(5))


def test_types_that_differ_in_null_alone_are_read_together():
    strict = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    lines = packed_lines([(0, pa.table({"a": [1]}, schema=strict)), (1, pa.table({"a": pa.array([None], pa.int64())}))])
    assert rows_of_lines(lines).column("a").to_pylist() == [1, None]


@pytest.mark.parametrize("size", [1, 20_000, 1 << 30])
def test_parts_of_a_bucket_have_all_of_a_key(size):
    bucket, rows = next(by_bucket(rows_of(3000), RECORD_KEY, 4))
    assert set(bucket_numbers(rows, RECORD_KEY, 4)) == {bucket}
    keys = rows.column(RECORD_KEY).to_pylist()
    hits = pa.table(
        [[*keys[::2], *keys[::2]], *([value] * 2 * len(keys[::2]) for value in ("p", "f", 0))], schema=PLACED_HITS
    )
    seen = []
    for part, found in parts_of_bucket(rows, hits, 4, size):
        own = part.column(RECORD_KEY).to_pylist()
        assert sorted(found.column("key").to_pylist()) == sorted([key for key in keys[::2] if key in own] * 2)
        seen += own
    assert sorted(seen) == sorted(keys)


def test_buckets_have_the_keys_and_partitions_of_their_rows():
    rows = rows_of(10_000)
    packed = PackRows(None, 4)(iter(rows.to_batches(max_chunksize=999)))
    lines = pa.Table.from_batches(CombinePacked(None)(packed), KEYED)
    assert [sorted(paths) for paths in lines.column(PARTITIONS).to_pylist() if paths] == [["p0", "p1", "p2"]] * 4
    batches = lines.to_batches()
    assert pa.concat_tables(unpacked(batches)).sort_by(RECORD_KEY).equals(rows)
    keys = pa.concat_tables(unpacked(batches, KEYS)).sort_by("key")
    assert keys.equals(rows.select([RECORD_KEY, PARTITION_PATH]).rename_columns(["key", "partition"]))
    assert len(set(lines.column(NUMBER).to_pylist())) == 4


def test_one_bucket_keeps_the_order_of_rows():
    rows = rows_of(10_000).take(pa.array(np.random.default_rng(1).permutation(10_000)))
    lines = list(PackKeyed(1)(iter(rows.to_batches(max_chunksize=700))))
    assert pa.concat_tables(unpacked(lines)).equals(rows)
    assert not list(PackKeyed(1)(iter([])))


def test_keys_to_delete_come_once():
    keys = pa.table({RECORD_KEY: ["a", "a", "b", "a"], PARTITION_PATH: ["p", "q", None, "p"]})
    assert KeysOnce(False).combined(keys).to_pylist() == [
        {RECORD_KEY: "a", PARTITION_PATH: "p"},
        {RECORD_KEY: "a", PARTITION_PATH: "q"},
        {RECORD_KEY: "b", PARTITION_PATH: None},
    ]
    assert KeysOnce(True).combined(keys).column(RECORD_KEY).to_pylist() == ["a", "b"]
    assert KeysOnce(True).combined(keys).column_names == [RECORD_KEY, PARTITION_PATH]
