"""The metadata table as we write it, read by our own reader and compared with listings."""

from __future__ import annotations

import dataclasses

import pyarrow.compute as pc
import pytest

from hudi_hive.errors import MetadataTableError
from hudi_hive.metadata import MetadataTable, validate
from hudi_hive.table.properties import update_properties
from tests.support.running.long import VERSION_CASES
from tests.support.tables.metadata_writing import HandMade


def _check(table):
    client = table.fresh()
    report = validate(client)
    assert report.is_valid, str(report)
    return MetadataTable.open(client)


@pytest.mark.parametrize("version", VERSION_CASES)
def test_commits_are_in_step_with_the_listing(tmp_path, version):
    table = HandMade(tmp_path / "t", version)
    table.commit({"a": [("k1", 1), ("k2", 2)], "b/c": [("k3", 3)]})
    table.commit({"a": [("k4", None)], "é": [("k5", 5)]})
    known = _check(table)
    assert known.partitions() == ["a", "b/c", "é"]
    places = known.record_locations()
    assert places.column("key").to_pylist() == ["k1", "k2", "k3", "k4", "k5"]
    assert known.files_table().num_rows == 4


@pytest.mark.parametrize("version", VERSION_CASES)
def test_ranges_of_files_and_partitions(tmp_path, version):
    table = HandMade(tmp_path / "t", version)
    _, first = table.commit({"a": [("k1", 1), ("k2", 7)]})
    table.commit({"a": [("k3", 9), ("k4", None)], "b": [("k5", None)]})
    known = _check(table)
    ranges = known.column_ranges(["n", "id"])
    row = next(r for r in ranges["n"].to_pylist() if r["file_name"] == first.files_added["name"][0].as_py())
    assert (row["min"], row["max"], row["null_count"], row["value_count"]) == (1, 7, 0, 2)
    assert ranges["id"].num_rows == 3
    if version >= 8:
        parts = {row["partition"]: row for row in known.partition_ranges(["n"])["n"].to_pylist()}
        assert (parts["a"]["min"], parts["a"]["max"], parts["a"]["null_count"]) == (1, 9, 1)
        assert (parts["b"]["min"], parts["b"]["null_count"]) == (None, 1)
    else:
        assert not known.has("partition_stats")


@pytest.mark.parametrize("version", VERSION_CASES)
def test_a_table_without_partitions_gets_metadata(tmp_path, version):
    table = HandMade(tmp_path / "t", version, partitioned=False)
    table.commit({"": [("k1", 1)]})
    table.commit({"": [("k2", 1)]})
    known = _check(table)
    assert known.partitions() == [""] and known.files_table().num_rows == 2
    assert not known.has("partition_stats")


@pytest.mark.parametrize("version", VERSION_CASES)
def test_compaction_and_cleaning(tmp_path, version):
    table = HandMade(tmp_path / "t", version)
    for number in range(9):
        table.commit(
            {"a": [(f"k{number}", number)], f"p{number % 3}": [(f"q{number}", -number)]},
            **{"hoodie.metadata.compact.max.delta.commits": "2"},
        )
    known = _check(table)
    actions = [i.action for i in known.client.timeline.instants]
    assert actions.count("commit") >= 3 and actions.count("clean") >= 1
    assert known.record_locations().num_rows == 18
    assert known.files_table().num_rows == 18
    assert known.column_ranges(["n"])["n"].num_rows == 18
    stats = known.stats().to_pylist()
    assert all(row["base_files"] for row in stats)


@pytest.mark.parametrize("version", VERSION_CASES)
def test_replaced_groups_leave_the_record_index(tmp_path, version):
    table = HandMade(tmp_path / "t", version)
    _, old = table.commit({"a": [("k1", 1), ("k2", 2)], "b": [("k3", 3)]})
    gone = old.index_added.filter(pc.equal(old.index_added["partition"], "a")).select(["partition", "file_id"])
    instant = table.begin()
    changes = table.write(instant, {"a": [("k2", 5)]})
    table.apply(instant, dataclasses.replace(changes, groups_replaced=gone))
    table.complete(instant, changes)
    places = MetadataTable.open(table.fresh()).record_locations()
    assert places.column("key").to_pylist() == ["k2", "k3"]
    assert places.column("file_id")[0].as_py() == changes.index_added["file_id"][0].as_py()


@pytest.mark.parametrize("version", VERSION_CASES)
def test_clean_takes_files_and_partitions_away(tmp_path, version):
    table = HandMade(tmp_path / "t", version)
    _, first = table.commit({"a": [("k1", 1)]})
    _, second = table.commit({"b": [("k2", 2)]})
    instant = table.clean(first, ["a"])
    known = MetadataTable.open(table.fresh())
    assert known.partitions() == ["b"]
    assert known.files_table().column("name").to_pylist() == second.files_added.column("name").to_pylist()
    assert [row["file_name"] for row in known.column_ranges(["n"])["n"].to_pylist()] == known.files_table()[
        "name"
    ].to_pylist()
    assert instant in {i.requested for i in known.client.timeline.instants}


def test_file_without_ranges_gives_partition_statistics_up(tmp_path):
    table = HandMade(tmp_path / "t", 9)
    table.commit({"a": [("k1", 1)]})
    instant = table.begin()
    changes = table.write(instant, {"a": [("k2", 5)]})
    changes = dataclasses.replace(changes, ranges=changes.ranges.filter(pc.not_equal(changes.ranges["column"], "n")))
    table.apply(instant, changes, **{"hoodie.metadata.index.partition.stats.enable": "false"})
    table.complete(instant, changes)
    known = _check(table)
    assert not known.has("partition_stats")
    # What a file does not tell of a column it tells of none: Hudi's readers would take it for nulls.
    assert known.column_ranges(["n", "id"])["id"].num_rows == 1


def test_partition_that_is_not_written_is_refused(tmp_path):
    table = HandMade(tmp_path / "t", 9)
    update_properties(table.client.storage, {"hoodie.table.metadata.partitions": "files,secondary_index_x"})
    with pytest.raises(MetadataTableError, match="secondary_index_x"):
        table.writer()
