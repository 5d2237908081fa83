"""The metadata table as we write it, read by our own reader and compared with listings."""

from __future__ import annotations

import pytest

from hudi_hive.metadata import MetadataTable, validate
from tests.metadata_writing import HandMade
from tests.support import VERSIONS


def _check(table):
    client = table.fresh()
    report = validate(client)
    assert report.is_valid, str(report)
    return MetadataTable.open(client)


@pytest.mark.parametrize("version", VERSIONS)
def test_commits_are_in_step_with_the_listing(tmp_path, version):
    table = HandMade(tmp_path / "t", version)
    table.commit({"a": [("k1", 1), ("k2", 2)], "b/c": [("k3", 3)]})
    table.commit({"a": [("k4", None)], "é": [("k5", 5)]})
    known = _check(table)
    assert known.partitions() == ["a", "b/c", "é"]
    places = known.record_locations()
    assert places.column("key").to_pylist() == ["k1", "k2", "k3", "k4", "k5"]
    assert known.files_table().num_rows == 4


@pytest.mark.parametrize("version", VERSIONS)
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


@pytest.mark.parametrize("version", VERSIONS)
def test_not_partitioned(tmp_path, version):
    table = HandMade(tmp_path / "t", version, partitioned=False)
    table.commit({"": [("k1", 1)]})
    table.commit({"": [("k2", 1)]})
    known = _check(table)
    assert known.partitions() == [""] and known.files_table().num_rows == 2
    assert not known.has("partition_stats")


@pytest.mark.parametrize("version", VERSIONS)
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
