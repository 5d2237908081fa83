"""Indexes find each record of the fixture tables in the file group that a snapshot reads it from."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive.table import MetaClient
from hudi_hive.write.config import WriteConfig
from hudi_hive.write.index import KEYS_SCHEMA, TAG_SCHEMA, Index
from tests.support import expected, fixture_names, unzip_fixture

NOT_READ = ("virtual_keys", "empty")
TABLES = [name for name in fixture_names() if not name.endswith(NOT_READ)]


def index_of(name: str, options: dict[str, str]) -> Index:
    client = MetaClient.load(unzip_fixture(name))
    return Index.of(WriteConfig.of(options, client.config), client)


def snapshot(name: str) -> list[tuple[str, str, str]]:
    """Key, partition and file id of each row, as real Hudi says; a row of a log file tells the file id alone."""
    query = next(q for q in expected(name)["queries"] if q["kind"] == "snapshot" and "rows" in q)
    at = [[column["name"] for column in query["columns"]].index(f"_hoodie_{n}") for n in ("record_key", "file_name")]
    path = [column["name"] for column in query["columns"]].index("_hoodie_partition_path")
    return [(row[at[0]], row[path], row[at[1]].partition("_")[0]) for row in query["rows"]]


def keys_table(rows: list[tuple[str, str]]) -> pa.Table:
    keys, partitions = zip(*rows, strict=True) if rows else ((), ())
    return pa.table([list(keys), list(partitions), list(range(len(rows)))], schema=KEYS_SCHEMA)


def check(index: Index, name: str) -> None:
    """Rows that are there and rows that are not."""
    rows = snapshot(name)
    new = [("no such key", partition) for partition in sorted({row[1] for row in rows} | {"nowhere"})]
    new = new[:1] if index.is_global else new
    tags = index.tag(keys_table([(key, partition) for key, partition, _ in rows] + new))
    assert tags.schema == TAG_SCHEMA
    assert tags.column("row").to_pylist() == list(range(len(rows) + len(new)))
    found = list(zip(*(tags.column(column).to_pylist() for column in ("partition", "file_id")), strict=True))
    assert found[: len(rows)] == [(partition, file_id) for _, partition, file_id in rows]
    assert found[len(rows) :] == [(partition, None) for _, partition in new]
    current = tags.select(["current_partition", "current_file_id"]).slice(0, len(rows))
    assert current.rename_columns(["partition", "file_id"]).equals(tags.select(["partition", "file_id"])[: len(rows)])


@pytest.mark.parametrize("name", TABLES)
def test_simple_index_finds_the_rows_of_a_snapshot(name: str) -> None:
    check(index_of(name, {"hoodie.index.type": "SIMPLE"}), name)


@pytest.mark.parametrize("name", [n for n in TABLES if "part" in n or "hive" in n])
def test_global_simple_index_finds_rows_whatever_partition_they_are_given_with(name: str) -> None:
    rows = snapshot(name)
    options = {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "false"}
    index = index_of(name, options)
    check(index, name)
    tags = index.tag(keys_table([(key, "elsewhere") for key, _, _ in rows]))
    assert tags.column("partition").to_pylist() == [partition for _, partition, _ in rows]
    assert tags.column("file_id").to_pylist() == [file_id for _, _, file_id in rows]
