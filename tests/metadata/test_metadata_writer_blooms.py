"""Bloom filters in the metadata table as we write it.

They are those of the files' footers, and the bloom index makes use of them.
"""

from __future__ import annotations

import itertools
import tarfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import MetadataTableError
from hudi_hive.metadata import MetadataListing, MetadataTable, validate
from hudi_hive.metadata.writer.writer import MetadataWriter
from hudi_hive.table import MetaClient
from hudi_hive.write.index import KEYS_SCHEMA, open_index
from hudi_hive.write.options import WriteConfig
from tests.support.fixture_tables import DATA
from tests.support.running.long import VERSION_CASES, with_long_cases

BLOOMS = {
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.index.type": "BLOOM",
    "hoodie.bloom.index.use.metadata": "true",
    "hoodie.index.bloom.num_entries": "100",
    "hoodie.index.bloom.fpp": "0.000001",
}


def _rows(numbers, value=0):
    return pa.table(
        {
            "id": [f"k{number}" for number in numbers],
            "part": [f"p{number % 2}" for number in numbers],
            "ts": pa.array([value] * len(numbers), pa.int64()),
        }
    )


def _table(path, version, kind="COPY_ON_WRITE", **more):
    keys = {"record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ["ts"]}
    return HudiTable.create(path, name="t", version=version, table_type=kind, **keys, **more)


def _check(path):
    """Every base file's filter is the one in its footer; nothing else is in the partition."""
    client = MetaClient.load(path, listing=MetadataListing())
    assert validate(client).is_valid
    metadata = MetadataTable.open(client)
    known = 0
    for partition in metadata.partitions():
        names = [name for name in metadata.files(partition)["name"].to_pylist() if name.endswith(".parquet")]
        found = {row["file_name"]: row for row in metadata.bloom_filters(partition, names).to_pylist()}
        assert sorted(found) == sorted(names)
        for name, row in found.items():
            footer = pq.read_schema(path / partition / name).metadata
            assert row["filter"] == footer[b"org.apache.hudi.bloomfilter"]
            assert row["type"] == footer[b"hoodie_bloom_filter_type_code"].decode()
        known += len(found)
    return metadata, known


def _deleted(metadata):
    """Whether each record of the base files, and of the log files, is a tombstone."""
    groups = metadata.prefixed_groups("bloom_filters")["bloom-filters"]
    assert len(groups) == 4
    parts = [part for group in groups for part in group.scan("BloomFilterMetadata").payloads]
    flags = [(part.order, flag) for part in parts for flag in part.values.field("isDeleted").to_pylist()]
    return [flag for order, flag in flags if not order], [flag for order, flag in flags if order]


@pytest.mark.parametrize(
    ("version", "kind"),
    with_long_cases(
        [(6, "MERGE_ON_READ"), (9, "COPY_ON_WRITE")],
        itertools.product((6, 8, 9), ("COPY_ON_WRITE", "MERGE_ON_READ")),
    ),
)
def test_in_step_over_commits_and_services(tmp_path, version, kind):
    path = tmp_path / "t"
    table = _table(path, version, kind)
    # Of the metadata table's own compactions, merging drops what cleans took away.
    often = {**BLOOMS, "hoodie.metadata.compact.max.delta.commits": "2", "hoodie.clean.commits.retained": "1"}
    for step in range(4):
        table.upsert(_rows(range(step, step + 4), step), options={**often, "hoodie.compact.inline": "true"})
    table.delete(_rows([1, 2], 9), options=often)
    metadata, known = _check(path)
    assert known >= 2
    assert any(i.action == "commit" for i in metadata.client.timeline.instants)
    rows = HudiTable.open(path).scan().to_arrow()
    assert sorted(rows["id"].to_pylist()) == sorted({f"k{n}" for n in range(7)} - {"k1", "k2"})


@pytest.mark.parametrize("version", VERSION_CASES)
def test_bloom_filters_are_made_for_a_table_with_rows(tmp_path, version):
    path = tmp_path / "t"
    table = _table(path, version)
    sizes = {name: value for name, value in BLOOMS.items() if name.startswith("hoodie.index.bloom")}
    table.insert(_rows(range(10)), options=sizes)
    table.upsert(_rows(range(5), 1), options=sizes)
    assert not MetadataTable.open(MetaClient.load(path)).has("bloom_filters")
    assert MetadataWriter.open(MetaClient.load(path), {}).initialise(["bloom_filters"]) == ("bloom_filters",)
    _, before = _check(path)
    assert before == 4
    table.upsert(_rows([1], 2), options=sizes)  # a partition that is there is kept in step without being asked for
    assert _check(path)[1] == 5


def test_index_reads_no_footer_where_the_metadata_table_has_the_filter(tmp_path):
    path = tmp_path / "t"
    table = _table(path, 8)
    for start in (0, 100, 200):
        options = {**BLOOMS, "hoodie.parquet.small.file.limit": "0"}
        table.bulk_insert(_rows(range(start, start + 100)), options=options)
    sought = pa.table([["k7", "unknown"], ["p1", "p1"], [0, 1]], schema=KEYS_SCHEMA)
    opened = {}
    for use in ("true", "false"):
        client = MetaClient.load(path, listing=MetadataListing())
        config = WriteConfig.of({**BLOOMS, "hoodie.bloom.index.use.metadata": use}, client.config)
        tags = open_index(config, client).tag(sought)
        assert tags["file_id"].is_valid().to_pylist() == [True, False]
        opened[use] = sum(name.endswith(".parquet") for name in client.counters.opened)
    assert opened["true"] == 1 and opened["false"] >= 3


def test_tombstones_and_what_a_compaction_leaves_of_them(tmp_path):
    path = tmp_path / "t"
    table = _table(path, 8)
    options = {**BLOOMS, "hoodie.clean.commits.retained": "1", "hoodie.metadata.compact.max.delta.commits": "1000"}
    for step in range(4):
        table.upsert(_rows(range(4), step), options=options)
    merged, fresh = _deleted(_check(path)[0])
    assert not merged and fresh.count(True) >= 2
    table.upsert(_rows(range(4), 7), options={**options, "hoodie.metadata.compact.max.delta.commits": "1"})
    merged, fresh = _deleted(_check(path)[0])
    assert merged and not any(merged)


def test_virtual_keys_are_refused_without_a_trace(tmp_path):
    path = tmp_path / "t"
    table = _table(path, 8, populate_meta_fields=False)
    with pytest.raises(MetadataTableError, match="bloom filters need record keys"):
        table.insert(_rows([1]), options={"hoodie.metadata.index.bloom.filter.enable": "true"})
    assert not MetaClient.load(path).timeline.instants


def _unpacked(name, folder):
    with tarfile.open(DATA / "indexes" / f"{name}.tar.xz") as archive:
        archive.extractall(folder)
    return folder / name


def _again(path):
    """Rows of a table to write again, and its keys."""
    rows = HudiTable.open(str(path)).scan().to_arrow()
    keys = rows["_hoodie_record_key"].to_pylist()
    return rows.select([name for name in rows.schema.names if not name.startswith("_hoodie_")]), keys


@pytest.mark.parametrize("name", ["v8_indexes", "v9_indexes"])
def test_tables_of_real_hudi_are_written_with_their_indexes_and_without(tmp_path, name):
    path = _unpacked(name, tmp_path)
    rows, keys = _again(path)
    indexes = {"expr_index_by_day", "secondary_index_by_rider"}
    assert not HudiTable.open(str(path)).upsert(rows).failed
    assert indexes <= set(MetaClient.load(path).config.metadata_partitions)
    MetadataWriter.drop(MetaClient.load(path), sorted(indexes))
    HudiTable.open(str(path)).upsert(rows.slice(0, 3))
    _check(path)
    assert sorted(_again(path)[1]) == sorted(keys)
    assert sorted(MetadataTable.open(MetaClient.load(path)).record_locations()["key"].to_pylist()) == sorted(keys)
