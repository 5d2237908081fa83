"""Records of metadata tables as rows: those that Hudi's ``hudi_metadata`` gave."""

from __future__ import annotations

import json
import tarfile

import pyarrow as pa
import pytest

from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader.rows import partition_rows, row_partitions, row_schema
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import DATA, encode_rows, rows_sha256, unzip_fixture

ANSWERS = {
    call.split("'")[1]: answer
    for path in sorted((DATA / "functions").glob("*.json"))
    for call, answer in json.loads(path.read_text()).items()
    if call.startswith("hudi_metadata")
}


def unpacked(name, folder):
    """A fixture, or one of the tables with indexes of all kinds."""
    archive = DATA / "indexes" / f"{name}.tar.xz"
    if not archive.exists():
        return unzip_fixture(name)
    with tarfile.open(archive) as file:
        file.extractall(folder)
    return folder / name


@pytest.mark.parametrize("name", ANSWERS)
def test_rows_are_those_of_hudi(name, tmp_path):
    table = MetadataTable.open(MetaClient.load(unpacked(name, tmp_path)))
    schema = row_schema(table)
    parts = [partition_rows(table, partition, schema) for partition in row_partitions(table)]
    rows = encode_rows(pa.concat_tables(parts))
    answer = ANSWERS[name]
    assert schema.names == [column for column, _ in answer["columns"]]
    assert len(rows) == answer["row_count"]
    assert rows_sha256(rows) == answer["rows_sha256"]


def test_partitions_are_read_alone():
    table = MetadataTable.open(MetaClient.load(unzip_fixture("v9_mor_part_rli")))
    assert row_partitions(table) == ["column_stats", "files", "partition_stats", "record_index"]
    rows = partition_rows(table, "record_index", row_schema(table))
    assert set(rows.column("type").to_pylist()) == {5}
    assert rows.column("filesystemMetadata").null_count == rows.num_rows == 26
