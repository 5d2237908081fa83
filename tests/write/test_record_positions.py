"""Log blocks say at which rows of base files their records are (``hoodie.write.record.positions``)."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.formats.log import RecordPositions, iter_blocks
from hudi_hive.write.files.base_positions import POSITION, BasePositions, take_positions
from hudi_hive.write.files.write_tasks import ChosenRows
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services.compaction import schedule_compaction
from tests.support.tables.record_positions import BY_KEY, blocks_of, effects

INDEXES = ["SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM"]
ROWS = 500


def made(path, index="SIMPLE", *, ordering=("ts",), version=8, partitioned=True, **options):
    table = HudiTable.create(
        str(path / "t"),
        name="t",
        table_type="MERGE_ON_READ",
        record_keys=["id"],
        ordering_fields=list(ordering),
        partition_fields=["p"] if partitioned else [],
        version=version,
    )
    given = {"hoodie.index.type": index, "hoodie.metadata.enable": "false", **options}
    return table, given


def rows(numbers, ts, deleted=None):
    numbers = list(numbers)
    columns = {
        "id": [f"k{number:05}" for number in numbers],
        "p": [f"p{number % 2}" for number in numbers],
        "ts": pa.array([ts if isinstance(ts, int) else ts(number) for number in numbers], pa.int64()),
        "v": [f"{ts}-{number}" if isinstance(ts, int) else f"r{number}" for number in numbers],
        "_hoodie_is_deleted": [deleted is not None and number in deleted for number in numbers],
    }
    return pa.table(columns)


def state(table):
    return sorted((row["id"], row["ts"], row["v"]) for row in table.scan().to_arrow().to_pylist())


@pytest.mark.parametrize("ordering", [(), ("ts",)], ids=["commit time", "event time"])
@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("version", [8, 9])
def test_updates_and_deletes_tell_their_rows(tmp_path, index, ordering, version):
    table, options = made(tmp_path, index, ordering=ordering, version=version)
    dice = random.Random(f"{index}{ordering}")
    order = dice.sample(range(ROWS), ROWS)
    table.upsert(rows(order, 5), options=options)
    table.upsert(rows(dice.sample(range(ROWS), 90), dice.randint(4, 6), deleted={*range(100, 140)}), options=options)
    table.delete(rows(dice.sample(range(ROWS), 30), 5).select(["id", "p", "ts"]), options=options)
    table.upsert(rows(dice.sample(range(ROWS), 60), lambda number: number % 10), options=options)
    written = blocks_of(table)
    assert {block.deletes for block in written} == {True, False} and len(written) >= 5
    assert all(block.rows is not None and block.rows == sorted(set(block.rows)) for block in written)
    assert effects(table) == effects(table, BY_KEY)


def test_log_blocks_have_no_record_positions_without_the_option_or_with_other_indexes(tmp_path):
    cases = {
        "off": ({"hoodie.write.record.positions": "false"}, {}),
        "version 6": ({}, {"version": 6}),
        "bucket": ({"hoodie.bucket.index.num.buckets": "2"}, {"index": "BUCKET"}),
        "record index": (
            {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"},
            {"index": "RECORD_INDEX"},
        ),
    }
    for name, (more, how) in cases.items():
        (tmp_path / name).mkdir()
        table, options = made(tmp_path / name, **how)
        options |= more
        table.upsert(rows(range(50), 5), options=options)
        if name == "bucket":
            table.upsert(rows(range(50), 5), options=options)
        table.upsert(rows(range(10, 20), 6), options=options)
        table.delete(rows(range(20, 25), 7), options=options)
        written = blocks_of(table)
        assert len(written) >= 2 and all(block.rows is None for block in written), name


def test_records_that_move_are_deleted_at_their_row(tmp_path):
    table, options = made(tmp_path, "GLOBAL_SIMPLE")
    options["hoodie.simple.index.update.partition.path"] = "true"
    options["hoodie.parquet.small.file.limit"] = "0"
    table.upsert(rows(range(20), 5), options=options)
    moved = rows(range(4), 6)
    moved = moved.set_column(1, "p", pa.array(["p1"] * 4))
    table.upsert(moved, options=options)
    assert [block.keys for block in blocks_of(table) if block.deletes] == [["k00000", "k00002"]]
    # Those that leave are at their rows; the index reads records of keys that it has doubts about, and not their rows.
    assert {row["id"] for row in table.scan("p = 'p1'").to_arrow().to_pylist()} >= {"k00000", "k00002"}
    assert effects(table) == effects(table, BY_KEY)


def test_keys_that_only_log_files_have_and_others_in_a_block(tmp_path):
    """A bucket index puts new records into log files, where a simple index finds them as well."""
    table, options = made(tmp_path, "BUCKET", partitioned=False)
    options["hoodie.bucket.index.num.buckets"] = "1"
    compacts = {**options, "hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    table.upsert(rows(range(10), 5), options=compacts)
    table.upsert(rows(range(10, 15), 5), options=options)
    simple = {**options, "hoodie.index.type": "SIMPLE"}
    table.upsert(rows(range(8, 12), 6), options=simple)
    assert [block.rows for block in blocks_of(table)] == [None, None]
    assert len(state(table)) == 15


def test_blocks_of_a_write_that_are_several(tmp_path):
    table, options = made(tmp_path, partitioned=False)
    options["hoodie.logfile.data.block.max.size"] = "2000"
    table.upsert(rows(range(200), 5), options=options)
    table.upsert(rows(range(150, 20, -1), 6), options=options)
    written = blocks_of(table)
    assert len(written) > 3 and [row for block in written for row in block.rows] == list(range(21, 151))
    options["hoodie.logfile.data.block.format"] = "parquet"
    table.upsert(rows([7, 3], 7), options=options)
    assert blocks_of(table)[-1].rows == [3, 7]
    assert effects(table) == effects(table, BY_KEY)


def test_positions_are_of_the_base_file_after_a_compaction(tmp_path):
    table, options = made(tmp_path, partitioned=False)
    table.upsert(rows(range(50), 5), options=options)
    table.delete(rows(range(10), 6), options=options)
    table.compact()
    table.upsert(rows([10, 49], 7), options=options)
    assert [block.rows for block in blocks_of(table)] == [[0, 39]]
    assert schedule_compaction(ServiceContext(table.client.reload(), {})) is not None
    table.upsert(rows([11, 12], 8), options=options)
    assert [block.rows for block in blocks_of(table)] == [[0, 39], None], "behind a planned compaction"
    assert effects(table) == effects(table, BY_KEY)


def test_a_key_that_a_base_file_has_twice_is_at_its_first_row(tmp_path):
    table, options = made(tmp_path, partitioned=False)
    table.bulk_insert(rows([1, 2, 1, 3], 5), options={**options, "hoodie.combine.before.insert": "false"})
    table.upsert(rows([3, 1], 6), options=options)
    first = [row["id"] for row in table.scan(query_type="read_optimized").to_arrow().to_pylist()].index("k00001")
    assert first in blocks_of(table)[-1].rows
    assert effects(table) == effects(table, BY_KEY)


@pytest.mark.parametrize("base_format", ["ORC", "HFILE"])
@pytest.mark.parametrize("ordering", [(), ("ts",)], ids=["commit time", "event time"])
def test_base_files_of_other_formats_are_written_without_and_read_with_positions(tmp_path, base_format, ordering):
    table = HudiTable.create(
        str(tmp_path / "t"),
        name="t",
        table_type="MERGE_ON_READ",
        record_keys=["id"],
        ordering_fields=list(ordering),
        base_file_format=base_format,
        version=8,
    )
    options = {"hoodie.index.type": "SIMPLE", "hoodie.metadata.enable": "false"}
    table.upsert(rows([5, 3, 9, 1, 7], 5), options=options)
    table.upsert(rows([9], 6), options=options)
    assert positions_of(table) == [False]
    with patch("hudi_hive.write.records.keyed_records._takes_positions", lambda config: True):
        table.compact(options=options)
        table.upsert(rows([9, 3], 7), options=options)
        table.delete(rows([1], 7), options=options)
    assert positions_of(table) == [True, True]
    by_keys = effects(table, BY_KEY)
    assert [len(left) for left, _ in by_keys] == [3]
    with patch("hudi_hive.read.scan.replaced._Numbers.of_base", side_effect=AssertionError):
        assert effects(table) == by_keys


def positions_of(table):
    """Whether each block of a table without partitions has positions."""
    names = [name for row in table.scan().plan().slices.to_pylist() for name in row["log_files"]]
    folder = Path(table.client.base_path.removeprefix("file:"))
    blocks = [block for name in names for block in iter_blocks((folder / name).read_bytes(), name)]
    return [RecordPositions.of(block) is not None for block in blocks]


def test_order_of_positions():
    table = pa.table({"a": ["x", "y", "z"], POSITION: pa.array([5, 1, 3], pa.int64())})
    taken, positions = take_positions(table)
    assert (taken.to_pydict(), positions.to_pylist()) == ({"a": ["y", "z", "x"]}, [1, 3, 5])
    assert BasePositions.of("1", positions).rows.tolist() == [1, 3, 5] and BasePositions.of(None, positions) is None
    for wrong in ([1, 1, 3], [None, 2, 3]):
        column = pa.array(wrong, pa.int64())
        taken, positions = take_positions(table.set_column(1, POSITION, column))
        assert BasePositions.of("1", positions) is None
        assert taken["a"].to_pylist() == (["y", "z", "x"] if None in wrong else ["x", "y", "z"])
    assert take_positions(table.select(["a"]))[1] is None
    assert take_positions(table, used=False) == (table.select(["a"]), None)
    unknown = table.set_column(1, POSITION, pa.nulls(3, pa.int64()))
    assert take_positions(unknown)[1] is None and take_positions(unknown)[0].to_pydict() == {"a": ["x", "y", "z"]}


def test_chosen_rows_keep_their_positions_when_they_are_pickled():
    chosen = ChosenRows(pa.table({"a": ["x", "y", "z"]}), np.array([2, 0]), pa.array([8, None], pa.int64()))
    for one in (chosen, pickle.loads(pickle.dumps(chosen))):
        assert one.table().to_pydict() == {"a": ["z", "x"], POSITION: [8, None]}
