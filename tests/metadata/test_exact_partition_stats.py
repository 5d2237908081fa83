"""Partition statistics are exactly those of the newest files of a partition, after each action."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.metadata import MetadataTable, validate
from hudi_hive.metadata.reader import COLUMN_STATS, PARTITION_STATS, partition_identifier
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.metadata.writer.services import compact_groups
from hudi_hive.metadata.writer.store import MetadataStore
from hudi_hive.table import MetaClient
from hudi_hive.write.rollback import rollback
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import clean, cluster, compact
from tests.support.tables.metadata_writing import ALL

OPTIONS = {
    **ALL,
    "hoodie.clean.automatic": "false",
    "hoodie.clean.commits.retained": "1",
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.clustering.inline.max.commits": "1",
}
VERSIONS = [(8, "COPY_ON_WRITE"), (8, "MERGE_ON_READ"), (9, "COPY_ON_WRITE"), (9, "MERGE_ON_READ")]
OF_MERGE_ON_READ = [one for one in VERSIONS if one[1] == "MERGE_ON_READ"]
BESIDE_OTHERS = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.client.heartbeat.interval_in_ms": "3600000",
}
COUNTS = ("value_count", "null_count")


def _create(path, version, kind):
    keys = {"record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ["ts"]}
    return HudiTable.create(path, name="t", version=version, table_type=kind, **keys)


def _rows(values, part="p0", ts=1):
    return pa.table(
        {
            "id": list(values),
            "n": pa.array(list(values.values()), pa.int64()),
            "part": [part] * len(values),
            "ts": pa.array([ts] * len(values), pa.int64()),
        }
    )


def _context(path):
    return ServiceContext(MetaClient.load(path), OPTIONS)


def _stats(path):
    """Bounds and counts of ``n`` by partition, with whether they are marked as exact."""
    metadata = MetadataTable.open(MetaClient.load(path))
    paths = metadata.partitions()
    rows = metadata.records_of_partitions(PARTITION_STATS, ["n"], paths).to_pylist()
    return {row["file_name"]: (*_bounds(row), row["is_tight"]) for row in rows}


def _bounds(row):
    sides = [None if row[side] is None else row[side]["LongWrapper"] for side in ("min", "max")]
    return (*sides, *(row[name] for name in COUNTS))


def _of_files(path):
    """The same from the statistics of the files of the newest slices."""
    client = MetaClient.load(path)
    metadata = MetadataTable.open(client)
    result = {}
    for part in metadata.partitions():
        slices = client.file_system_view([part]).latest_merged_file_slices().to_pylist()
        names = {name for row in slices for name in (row["base_file"], *row["log_files"])}
        rows = metadata.records_of_partitions(COLUMN_STATS, ["n"], [part])
        rows = [_bounds(row) for row in rows.to_pylist() if row["file_name"] in names]
        if rows:
            lows, highs = ([row[side] for row in rows if row[side] is not None] for side in (0, 1))
            counts = [sum(row[at] for row in rows) for at in (2, 3)]
            result[partition_identifier(part)] = (min(lows, default=None), max(highs, default=None), *counts, True)
    return result


def _check(path):
    stats = _stats(path)
    assert stats == _of_files(path)
    assert validate(MetaClient.load(path)).is_valid
    return stats


@pytest.mark.parametrize(("version", "kind"), VERSIONS)
def test_each_action_leaves_exact_statistics(tmp_path, version, kind):
    path = tmp_path / "t"
    table = _create(path, version, kind)
    table.insert(_rows({"a": 1, "b": 900, "c": None}), options=OPTIONS)
    table.insert(_rows({"x": 5}, "p1"), options=OPTIONS)
    assert _check(path) == {"p0": (1, 900, 3, 1, True), "p1": (5, 5, 1, 0, True)}
    HudiTable.open(path).upsert(_rows({"b": 20, "c": 30}, ts=2), options=OPTIONS)
    _check(path)
    if kind == "MERGE_ON_READ":
        HudiTable.open(path).delete(_rows({"a": 1}, ts=3), options=OPTIONS)
        _check(path)
        HudiTable.open(path).upsert(_rows({"b": 21}, ts=4), options=OPTIONS)
        _check(path)
        assert compact(_context(path)) is not None
        assert _check(path)["p0"] == (21, 30, 2, 0, True)
    else:
        assert _stats(path)["p0"] == (1, 30, 3, 0, True)
        HudiTable.open(path).delete(_rows({"a": 1}, ts=3), options=OPTIONS)
        assert _check(path)["p0"] == (20, 30, 2, 0, True)
    assert cluster(_context(path)) is not None
    _check(path)
    clean(_context(path))
    _check(path)
    HudiTable.open(path).insert_overwrite(_rows({"z": 50}, ts=5), options=OPTIONS)
    assert _check(path) == {"p0": (50, 50, 1, 0, True), "p1": (5, 5, 1, 0, True)}
    HudiTable.open(path).delete_partitions(["p0"], options=OPTIONS)
    assert _check(path) == {"p1": (5, 5, 1, 0, True)}
    HudiTable.open(path).insert(_rows({"w": 60}, ts=6), options=OPTIONS)
    assert _check(path) == {"p0": (60, 60, 1, 0, True), "p1": (5, 5, 1, 0, True)}


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize(("version", "kind"), VERSIONS)
def test_a_rollback_brings_the_former_statistics_back(tmp_path, version, kind, merged):
    path = tmp_path / "t"
    table = _create(path, version, kind)
    table.insert(_rows({"a": 1, "b": 900}), options=OPTIONS)
    before = _check(path)
    HudiTable.open(path).upsert(_rows({"a": 400, "b": 500}, ts=2), options=OPTIONS)
    assert _check(path) != before
    if merged:
        compact_groups(MetadataStore(MetaClient.load(path)))
    rollback(_context(path), MetaClient.load(path).timeline.last_completed_write().requested)
    assert _check(path) == before


@pytest.mark.parametrize(("version", "kind"), OF_MERGE_ON_READ)
def test_files_without_statistics_keep_what_is_there(tmp_path, version, kind):
    """Column statistics that are made anew have none of log files: what these hold must stay in the partition's."""
    path = tmp_path / "t"
    table = _create(path, version, kind)
    table.insert(_rows({"a": 1, "b": 900}), options=OPTIONS)
    HudiTable.open(path).upsert(_rows({"b": 1000}, ts=2), options=OPTIONS)
    MetadataWriter.drop(MetaClient.load(path), [COLUMN_STATS])
    HudiTable.open(path).upsert(_rows({"a": 5}, ts=3), options=OPTIONS)
    assert _stats(path)["p0"] == (1, 1000, 4, 0, False)
    assert compact(_context(path)) is not None
    assert _check(path)["p0"] == (5, 1000, 2, 0, True)


@pytest.mark.parametrize(("version", "kind"), OF_MERGE_ON_READ)
def test_a_write_that_began_before_is_not_hidden(tmp_path, version, kind):
    """Records count in the order of requested times, so that a later one must not take the place of an earlier one."""
    path = tmp_path / "t"
    table = _create(path, version, kind)
    table.insert(_rows({"a": 100}), options=OPTIONS)
    client = MetaClient.load(path)
    began = str(int(client.timeline.last_completed_write().requested) + 1)
    (path / client.timeline_folder / f"{began}.deltacommit.requested").write_bytes(b"")
    heartbeat = path / ".hoodie" / ".heartbeat" / began
    heartbeat.parent.mkdir(exist_ok=True)
    heartbeat.write_bytes(b"")
    HudiTable.open(path).upsert(_rows({"a": 50}, ts=2), options={**OPTIONS, **BESIDE_OTHERS})
    assert [instant.requested for instant in MetaClient.load(path).timeline.pending()] == [began]
    assert _stats(path)["p0"] == (50, 100, 2, 0, False)
    heartbeat.unlink()
    HudiTable.open(path).upsert(_rows({"a": 60}, ts=3), options=OPTIONS)  # takes the pending one back
    assert _check(path)["p0"] == (50, 100, 3, 0, True)


def test_those_that_are_made_anew_are_of_the_newest_files(tmp_path):
    path = tmp_path / "t"
    table = _create(path, 9, "COPY_ON_WRITE")
    table.insert(_rows({"a": 1, "b": 900}), options=OPTIONS)
    HudiTable.open(path).upsert(_rows({"b": 20}, ts=2), options=OPTIONS)
    MetadataWriter.drop(MetaClient.load(path))
    HudiTable.open(path).insert(_rows({"x": 5}, "p1"), options=OPTIONS)
    expected = {"p0": (1, 20, 2, 0), "p1": (5, 5, 1, 0)}
    assert {part: row[:4] for part, row in _stats(path).items()} == expected


def test_a_reader_of_before_is_not_misled(tmp_path):
    """Statistics of a write that a reader does not see must not hide the rows that it sees."""
    path = tmp_path / "t"
    table = _create(path, 9, "COPY_ON_WRITE")
    table.insert(_rows({"a": 1, "b": 900}), options=OPTIONS)
    client = MetaClient.load(path)
    assert len(client.timeline.completed()) == 1  # the moment is loaded
    HudiTable.open(path).upsert(_rows({"b": 20}, ts=2), options=OPTIONS)
    skipping = {"hoodie.enable.data.skipping": "true"}
    assert HudiTable(client).scan("n = 900", options=skipping).to_arrow()["id"].to_pylist() == ["b"]
    assert not HudiTable.open(path).scan("n = 900", options=skipping).to_arrow().num_rows
