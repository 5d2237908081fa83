"""Rollback of a commit that the metadata table has merged, and compactions of what an upgrade left."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.formats.hfile import HFileReader
from hudi_hive.metadata import MetadataListing, MetadataTable, validate
from hudi_hive.metadata.writer import services
from hudi_hive.metadata.writer.store import MetadataStore
from hudi_hive.table import MetaClient
from hudi_hive.write.rollback import rollback
from hudi_hive.write.service_base import ServiceContext
from tests.support.running.long import VERSION_CASES
from tests.support.tables.metadata_writing import ALL

OPTIONS = {**ALL, "hoodie.metadata.index.bloom.filter.enable": "true", "hoodie.index.bloom.num_entries": "100"}


def _rows(numbers, value):
    return pa.table(
        {
            "id": [f"k{number}" for number in numbers],
            "part": [f"p{number % 2}" for number in numbers],
            "ts": pa.array([value] * len(numbers), pa.int64()),
        }
    )


def _current_rows(path):
    client = MetaClient.load(path, listing=MetadataListing())
    assert validate(client).is_valid, str(validate(client))
    rows = HudiTable(client).scan().to_arrow()
    return dict(zip(rows["id"].to_pylist(), rows["ts"].to_pylist(), strict=True))


@pytest.mark.parametrize(("version", "kind"), [(6, "MERGE_ON_READ"), (8, "COPY_ON_WRITE"), (9, "MERGE_ON_READ")])
def test_rollback_of_a_merged_commit_keeps_the_metadata_table(tmp_path, version, kind):
    path = tmp_path / "t"
    keys = {"record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ["ts"]}
    table = HudiTable.create(path, name="t", version=version, table_type=kind, **keys)
    table.insert(_rows(range(6), 1), options=OPTIONS)
    table.upsert(_rows(range(3, 9), 2), options=OPTIONS)
    services.compact_groups(MetadataStore(MetaClient.load(path)))
    before = MetadataTable.open(MetaClient.load(path))
    instants = {i.requested for i in before.client.timeline.instants}
    last = MetaClient.load(path).timeline.last_completed_write()
    rollback(ServiceContext(MetaClient.load(path), OPTIONS), last.requested)
    after = MetadataTable.open(MetaClient.load(path))
    assert instants <= {i.requested for i in after.client.timeline.instants}
    assert set(before.index_partitions) - set(after.index_partitions) == {"record_index"}
    assert _current_rows(path) == dict.fromkeys([f"k{number}" for number in range(6)], 1)
    HudiTable.open(path).upsert(_rows(range(5, 7), 3), options={**OPTIONS, "hoodie.index.type": "RECORD_INDEX"})
    expected = {**{f"k{number}": 1 for number in range(5)}, "k5": 3, "k6": 3}
    assert _current_rows(path) == expected
    known = MetadataTable.open(MetaClient.load(path))
    assert known.record_locations()["key"].to_pylist() == sorted(expected)


@pytest.mark.parametrize("version", VERSION_CASES)
def test_records_of_another_schema_are_merged_into_the_own_one(tmp_path, version, monkeypatch):
    path = tmp_path / "t"
    keys = {"record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ["ts"]}
    table = HudiTable.create(path, name="t", version=version, **keys)
    other = 6 if version > 6 else 8
    old = services.record_schema(other)
    # What is in the log files is of the other version's schema, as after an upgrade or a downgrade.
    monkeypatch.setattr("hudi_hive.metadata.writer.store.record_schema", lambda _: old)
    true_locations = services.records.record_locations

    def of_other(keys, partitions, file_ids, millis, _):
        return true_locations(keys, partitions, file_ids, millis, other)

    monkeypatch.setattr("hudi_hive.metadata.writer.writer.records.record_locations", of_other)
    only = {"hoodie.metadata.record.index.enable": "true", "hoodie.metadata.record.index.min.filegroup.count": "1"}
    none = {"hoodie.metadata.index.column.stats.enable": "false"}
    monkeypatch.setattr("hudi_hive.metadata.writer.writer.records.file_lists", _of_version(other))
    table.insert(_rows(range(6), 1), options={**only, **none})
    table.upsert(_rows(range(3, 9), 2), options={**only, **none})
    monkeypatch.undo()
    places = MetadataTable.open(MetaClient.load(path)).record_locations()
    services.compact_groups(MetadataStore(MetaClient.load(path)))
    assert MetadataTable.open(MetaClient.load(path)).record_locations().equals(places)
    newest = sorted(path.glob(".hoodie/metadata/record_index/*.hfile"), key=lambda file: file.name.split("_")[-1])[-1]
    fields = [field["name"] for field in HFileReader(newest.read_bytes(), "f").schema["fields"]]
    assert fields == [field["name"] for field in json.loads(services.record_schema(version))["fields"]]


def _of_version(version):
    made = services.records.file_lists

    def file_lists(keys, names, sizes, deleted, kind, _):
        return made(keys, names, sizes, deleted, kind, version)

    return file_lists
