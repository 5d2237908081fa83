"""Partitions that a metastore places where the table has none: refused by readers, set right or left alone by syncs."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive.connector import HudiConnector
from hudi_hive.errors import HudiHiveError
from hudi_hive.metastore import HiveMetastore, Retries
from hudi_hive.sql import ConnectorCatalog, SqlEngine
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.table_api import HudiTable
from hudi_hive.testing import FakeMetastore
from tests.support.metastore.registered import register

ROWS = [{"id": "1", "city": "a"}, {"id": "2", "city": "b"}]

PLACES = {
    "other table": "{other}/a",
    "outside": "{outside}",
    "etc": "file:///etc",
    "parent": "{table}/../other/a",
    "parent by uri": "file:{table}/../other/a",
    "base path": "{table}",
    "base path with a slash": "{table}/",
    "metadata folder": "{table}/.hoodie",
    "metadata table": "file:{table}/.hoodie/metadata/files",
    "nested metadata": "{table}/a/.hoodie",
    "link out": "{table}/out",
    "link to another partition": "{table}/alias",
    "through a link to the root": "{table}/loop/a",
    "link to metadata": "{table}/meta",
    "another scheme": "s3://bucket{table}/a",
    "another host": "hdfs://evil:8020{table}/b",
    "web": "http://127.0.0.1:9{table}/b",
    "same as another": "{table}/a",
    "prefix of the base path": "{table}2/b",
    "nothing": "",
    "no path": "file:",
    "percent": "{table}/%2e%2e/other/a",
    "missing": "{table}/nowhere",
}
EMPTY = {"percent", "missing"}
"""Places below the base path without files of the table: no rows of theirs, and none of others."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMetastore]:
    with (
        FakeMetastore(tmp_path_factory.mktemp("metastore")) as fake,
        HiveMetastore(fake.uri, retries=Retries(attempts=1)) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    for name, rows in (("table", ROWS), ("other", [{"id": "secret", "city": "a"}]), ("table2", ROWS)):
        made = HudiTable.create(folder / name, name=name, record_keys=["id"], partition_fields=["city"])
        made.insert(pa.Table.from_pylist(rows))
    table = folder / "table"
    (folder / "outside").mkdir()
    (table / "out").symlink_to(folder / "outside")
    (table / "alias").symlink_to("a")
    (table / "loop").symlink_to(".")
    (table / "meta").symlink_to(".hoodie")
    return folder


def place(lake: Path, what: str) -> str:
    return PLACES[what].format(table=lake / "table", other=lake / "other", outside=lake / "outside")


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "/alias/" not in str(path)
    }


@pytest.mark.parametrize("what", PLACES)
def test_readers_take_rows_of_the_table_alone(client: HiveMetastore, lake: Path, what: str) -> None:
    location = place(lake, what)
    scheme = ("", "file:")[list(PLACES).index(what) % 2]
    base = f"{scheme}{lake}/table"
    try:
        register(client, base, "evil", location=lambda path: location if path == "b" else f"{base}/{path}")
        connector = HudiConnector(client)
        handle = connector.metadata.table("default", "evil")
        for row_filter in (None, "city = 'b'", "city LIKE 'b%'"):
            check(
                lambda row_filter=row_filter: [
                    row for batch in connector.read(handle, ["id", "city"], row_filter) for row in batch.to_pylist()
                ],
                what,
            )
        engine = SqlEngine(ConnectorCatalog(HudiConnector(client)), threads=1)
        check(lambda: engine.query("SELECT id, city FROM evil").read_all().to_pylist(), what)
    finally:
        client.drop_table("default", "evil")


def check(read: Callable[[], list[dict[str, object]]], what: str) -> None:
    try:
        rows = read()
    except HudiHiveError as error:
        assert str(error) and what not in EMPTY
    else:
        # Each row once, none from elsewhere, and none with another partition's values.
        ids = [row["id"] for row in rows]
        assert len(ids) == len(set(ids)) and all(row in ROWS for row in rows)


def test_a_sync_sets_right_what_is_written_and_touches_no_file(client: HiveMetastore, lake: Path) -> None:
    base = f"file:{lake}/table"
    config = HiveSyncConfig(base_path=base, database="default", table="synced", metastore_uris=client.uri)
    HiveSyncTool(config, metastore=client).sync()
    try:
        registered = {one.values[0]: one for one in client.partitions("default", "synced")}
        registered["b"].sd.location = f"file:{lake}/other/a"
        client.alter_partitions("default", "synced", [registered["b"]])
        evil = []
        for number, what in enumerate(PLACES):
            one = copy.deepcopy(registered["a"])
            one.values, one.sd.location = [f"evil{number}"], place(lake, what)
            evil.append(one)
        client.add_partitions("default", "synced", [one for one in evil if one.sd.location.startswith(("/", "file:/"))])
        HudiTable.open(lake / "table").upsert(pa.Table.from_pylist([{"id": "2", "city": "b"}]))
        before = hashes(lake)
        HiveSyncTool(config, metastore=client).sync()
        found = {one.values[0]: one.sd.location for one in client.partitions("default", "synced")}
        assert found["a"].endswith("/table/a") and found["b"].endswith("/table/b")
        assert hashes(lake) == before
    finally:
        client.drop_table("default", "synced")
