"""Tests of writes that sync the table to a metastore in the same call, for any metastore."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive.errors import InvalidOptionError, SyncError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.sync.table import LAST_COMMIT
from hudi_hive.table_api import HudiTable
from hudi_hive.testing import FakeMetastore
from tests.support.metastore.sync_behaviour import DATABASE, state

ROWS = pa.table({"id": ["k0", "k1", "k2"], "city": ["ams", "ber", "ams"], "fare": [1.0, 2.0, 3.0]})
K = "hoodie.datasource.hive_sync."


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with FakeMetastore(tmp_path_factory.mktemp("metastore")) as fake:
        yield fake


@pytest.fixture
def client(server):
    with HiveMetastore(server.uri) as client:
        yield client
        if DATABASE in client.databases():
            client.drop_database(DATABASE, cascade=True)


def options(server, table="trips"):
    return {
        f"{K}enable": "true",
        f"{K}metastore.uris": server.uri,
        f"{K}database": DATABASE,
        f"{K}table": table,
        f"{K}mode": "hms",
        f"{K}table_properties": "owner=me\nteam = taxi",
    }


def table_at(path, kind="COPY_ON_WRITE"):
    settings = {"record_keys": ["id"], "partition_fields": ["city"], "table_type": kind}
    return HudiTable.create(path, name="trips", hive_style_partitioning=True, **settings)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_every_operation_syncs_and_as_a_sync_of_its_own_does(client, server, tmp_path, kind):
    table, sync = table_at(tmp_path / "trips", kind), options(server)
    steps = [
        (lambda: table.insert(ROWS, sync), {("ams",), ("ber",)}),
        (lambda: table.upsert(ROWS.set_column(1, "city", [["ams", "ber", "oslo"]]), sync), None),
        (lambda: table.delete(ROWS.slice(0, 1), sync), None),
        (lambda: table.insert_overwrite(ROWS.slice(1, 1), sync), None),
        (lambda: table.delete_partitions(["city=ber"], sync), {("ams",), ("oslo",)}),
    ]
    names = ["trips"] if kind == "COPY_ON_WRITE" else ["trips_ro", "trips_rt", "trips"]
    for step, partitions in steps:
        report = step()
        for name in names:
            found = state(client, name)
            assert found["parameters"][LAST_COMMIT] == report.instant.requested
            assert set(found["partitions"]) == (partitions or {("ams",), ("ber",), ("oslo",)})
            assert (found["parameters"]["owner"], found["parameters"]["team"]) == ("me", "taxi")
    after = {name: state(client, name) for name in names}
    config = HiveSyncConfig.from_options(
        {**sync, f"{K}table": "alone", "hoodie.datasource.meta.sync.base.path": str(tmp_path / "trips")}
    )
    HiveSyncTool(config, metastore=client).sync()
    assert {name: state(client, name.replace("trips", "alone")) for name in names} == after


def test_new_columns_are_synced(client, server, tmp_path):
    table = table_at(tmp_path / "trips")
    table.insert(ROWS, options(server))
    table.upsert(ROWS.append_column("tip", pa.array([1, 2, 3], pa.int64())), options(server))
    assert ("tip", "bigint") in [column[:2] for column in state(client, "trips")["columns"]]


def test_nothing_is_synced_unless_enabled(client, server, tmp_path):
    table = table_at(tmp_path / "trips")
    table.insert(ROWS)
    table.insert(ROWS, options(server) | {f"{K}enable": "false"})
    assert DATABASE not in client.databases()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({f"{K}tabel": "x"}, r"unknown option .hoodie\.datasource\.hive_sync\.tabel"),
        ({f"{K}enable": "yes"}, "must be true or false"),
        ({f"{K}enable": "false", f"{K}batch_num": "0"}, "batch_num"),
        ({f"{K}metastore.uris": ""}, r"metastore\.uris is missing"),
        ({"hoodie.meta.sync.client.tool.class": "org.apache.hudi.sync.datahub.DataHubSyncTool"}, "DataHub"),
        ({"hoodie.datasource.meta_sync.condition.sync": "maybe"}, "must be true or false"),
    ],
)
def test_wrong_options_of_the_sync_are_refused_before_anything_is_written(client, server, tmp_path, changes, said):
    table = table_at(tmp_path / "trips")
    with pytest.raises(InvalidOptionError, match=said):
        table.insert(ROWS, options(server) | changes)
    with pytest.raises(InvalidOptionError, match=said):
        table.delete_partitions(["city=ams"], options(server) | changes)
    assert not table.refresh().timeline.instants
    assert DATABASE not in client.databases()


def test_rows_stand_where_the_sync_fails(client, server, tmp_path):
    table = table_at(tmp_path / "trips")
    broken = options(server) | {f"{K}partition_fields": "city,none"}
    report = table.insert(ROWS, broken)
    assert list(report.failed) == ["sync"] and isinstance(report.failed["sync"], SyncError)
    assert report.failed["sync"].message.startswith("the write is complete, the sync after it failed: ")
    assert report.failed["sync"].instant == table.timeline.write_instants()[-1].requested
    assert table.scan().count() == 3
    table.upsert(ROWS, options(server))
    assert set(state(client, "trips")["partitions"]) == {("ams",), ("ber",)}
