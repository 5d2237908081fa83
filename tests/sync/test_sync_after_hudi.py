"""Syncs of tables that real hive-sync registered: its dumps are put into a metastore, then ours goes on from there."""

from __future__ import annotations

import json

import pytest

from hudi_hive.metastore import FieldSchema, HiveMetastore, Partition, SerDeInfo, StorageDescriptor, Table
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.sync.table.table_spec import LAST_COMMIT, LAST_COMPLETION
from hudi_hive.table.core import MetaClient
from hudi_hive.testing import FakeMetastore
from tests.support.metastore import sync_golden as golden
from tests.support.metastore import sync_replay as replay

REGISTERED_DIFFERENTLY = {"90": {"nopf"}}
"""Scenarios of options by which ours registers another table."""


@pytest.fixture
def client(tmp_path):
    with FakeMetastore(tmp_path / "metastore") as server, HiveMetastore(server.uri) as client:
        yield client


def fields(columns):
    return [FieldSchema(name=name, type=kind, comment=comment) for name, kind, comment in columns or []]


def descriptor(plain, columns):
    serde = plain["serdeInfo"]
    return StorageDescriptor(
        cols=fields(columns if plain["cols"] == "SAME_AS_TABLE" else plain["cols"]),
        location=plain["location"],
        inputFormat=plain["inputFormat"],
        outputFormat=plain["outputFormat"],
        compressed=plain["compressed"],
        numBuckets=plain["numBuckets"],
        bucketCols=plain["bucketCols"],
        sortCols=[],
        parameters=plain["parameters"],
        serdeInfo=SerDeInfo(serializationLib=serde["serializationLib"], parameters=serde["parameters"]),
    )


def parameters(plain):
    return {key: text for key, text in plain["parameters"].items() if text != "EPOCH_SECONDS"}


def register(world, name, table):
    """Put a table of a dump into the metastore, as real hive-sync left it."""
    text = json.dumps(golden.dump(name)["tables"][table]).replace("BASE_PATH", str(world.base))
    dumped = json.loads(text)
    plain = dumped["table"]
    struct = Table(
        tableName=plain["tableName"],
        dbName=plain["dbName"],
        owner="hudi",
        sd=descriptor(plain["sd"], None),
        partitionKeys=fields(plain["partitionKeys"]),
        parameters=parameters(plain),
        tableType=plain["tableType"],
    )
    partitions = [
        Partition(
            values=item["values"],
            dbName=plain["dbName"],
            tableName=plain["tableName"],
            sd=descriptor(item["sd"], plain["sd"]["cols"]),
            parameters=parameters(item),
        )
        for item in dumped["partitions"]
    ]
    world.client.create_database(plain["dbName"], if_not_exists=True)
    world.client.create_table(struct)
    world.client.add_partitions(plain["dbName"], plain["tableName"], partitions)


@pytest.mark.parametrize("name", ["01", "03", "04", "05", "06", "90"])
def test_a_sync_after_hudis_own_changes_nothing(client, tmp_path, name):
    world = replay.World(client, tmp_path / "world")
    world.place_stage("10" if name == "90" else name)
    for table in golden.dump(name)["tables"]:
        register(world, name, table)
    checked = 0
    for entry in golden.scenarios(name):
        if entry["label"] not in REGISTERED_DIFFERENTLY.get(name, ()):
            report = world.sync(entry["config"])
            assert report.plan.rows() == [], entry["label"]
            assert report.total_calls == 1
            checked += 1
    assert checked >= 1


def test_encoded_values_of_hudis_tool_are_put_right(client, tmp_path):
    """In its mode ``hms`` it registers encoded values as they are: ours, beside them, would show each row twice."""
    world = replay.World(client, tmp_path / "world")
    world.place_stage("07")
    register(world, "01", "cow_urlenc")
    before = client.partition_names("golden", "cow_urlenc")
    (report,) = world_sync(world, "cow_urlenc", "golden", "cow_urlenc").rows()
    assert (report["comparison"], report["added"], report["dropped"]) == ("full", 2, 3)
    assert "registered with other values" in report["reason"]
    names = client.partition_names("golden", "cow_urlenc")
    assert len(names) == 2 and not set(names) & set(before)
    assert {item.values[0] for item in client.partitions("golden", "cow_urlenc")} == {"DE/x y:z=%", "US/x y:z=%"}
    assert world_sync(world, "cow_urlenc", "golden", "cow_urlenc").is_noop


def test_values_of_a_wrongly_guessed_extractor_are_put_right(client, tmp_path):
    world = replay.World(client, tmp_path / "world")
    world.place_stage("10")
    register(world, "10", "defextr")
    assert "country=country%3DDE" in client.partition_names("golden_opts", "defextr")
    first = MetaClient.load(world.base / "cow_part").timeline.write_instants()[0]
    table = client.table("golden_opts", "defextr")
    table.parameters |= {LAST_COMMIT: first.requested, LAST_COMPLETION: first.completed}
    client.alter_table("golden_opts", "defextr", table)
    (report,) = world_sync(world, "cow_part", "golden_opts", "defextr").rows()
    assert report["comparison"] == "full"
    assert client.partition_names("golden_opts", "defextr") == ["country=DE", "country=IT", "country=US"]


def test_a_base_path_that_was_spelled_with_more_slashes_is_the_same(client, tmp_path):
    world = replay.World(client, tmp_path / "world")
    world.place_stage("01")
    register(world, "01", "cow_part")
    table = client.table("golden", "cow_part")
    table.sd.serdeInfo.parameters["path"] = f"{world.base}//cow_part/"
    client.alter_table("golden", "cow_part", table)
    assert world_sync(world, "cow_part", "golden", "cow_part").is_noop
    table.sd.serdeInfo.parameters["path"] = f"{world.base}/other"
    client.alter_table("golden", "cow_part", table)
    assert [row["step"] for row in world_sync(world, "cow_part", "golden", "cow_part").plan.rows()] == ["set SerDe"]


def world_sync(world, folder, database, table, **settings):
    config = HiveSyncConfig(base_path=str(world.base / folder), database=database, table=table, **settings)
    return HiveSyncTool(config, metastore=world.client).sync()
