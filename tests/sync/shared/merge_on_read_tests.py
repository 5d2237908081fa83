"""Merge-on-read tables under their three names: results, costs, strategies. Also run on a real metastore."""

from __future__ import annotations

import pytest

from hudi_hive.errors import NoSuchObjectError, PartitionValueError, SchemaSyncError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.sync.table.table_spec import LAST_COMMIT, LAST_COMPLETION
from hudi_hive.table.core import MetaClient
from hudi_hive.testing import FakeMetastore
from tests.support.fixture_tables import expected, fixture_names, one_version_of_each, unzip_fixture
from tests.support.metastore import sync_golden as golden
from tests.support.metastore import sync_replay as replay
from tests.support.metastore.sync_behaviour import DATABASE, change_stamp, plan, state, sync
from tests.support.running.long import with_long_cases
from tests.sync.shared.sync_tool_helpers import current_partitions, partition_paths
from tests.sync.shared.sync_tool_tests import check_incremental_syncs

RO = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
RT = "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat"
WRITES = ("alter", "add", "drop", "create")


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


def names_of(table):
    return [f"{table}_ro", f"{table}_rt", table]


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(fixture_names("mor")), fixture_names("mor")))
def test_first_sync_then_nothing_to_do(client, name):
    check_first_sync(client, name)


def check_first_sync(client, name):
    """A first sync registers what holds rows under three names; a second one makes one call."""
    path = unzip_fixture(name)
    dry = plan(client, path, name)
    assert dry.calls == {"get_table_objects_by_name_req": 1, "get_database": 1}
    report = sync(client, path, name)
    assert report.plan.rows() == dry.plan.rows()
    assert [row["step"] for row in report.plan.rows()].count("create database") == 1
    assert [row["table"] for row in report.rows()] == [f"{DATABASE}.{table}" for table in names_of(name)]
    last = max(
        (
            commit["requested"]
            for commit in expected(name)["commits"]
            if commit["state"] == "COMPLETED" and commit["action"] in ("commit", "deltacommit", "replacecommit")
        ),
        default=None,
    )
    wanted = current_partitions(path) if expected(name)["partition_fields"] else []
    for table, input_format in zip(names_of(name), (RO, RT, RT), strict=True):
        found = client.table(DATABASE, table)
        assert found.parameters.get(LAST_COMMIT) == last
        assert found.sd.inputFormat == input_format
        assert found.sd.serdeInfo.parameters["hoodie.query.as.ro.table"] == str(input_format == RO).lower()
        assert found.sd.serdeInfo.parameters["path"] == str(path)
        if wanted:
            assert partition_paths(client, path, table) == wanted
            assert {item.sd.inputFormat for item in client.partitions(DATABASE, table)} == {input_format}
    again = sync(client, path, name)
    assert again.plan.is_noop
    assert again.calls == {"get_table_objects_by_name_req": 1}
    full = sync(client, path, name, incremental=False)
    assert full.plan.is_noop
    assert not any(call.startswith(WRITES) for call in full.calls)


SEVERAL_SYNCS = [
    name for name in fixture_names("mor") if len(expected(name)["sync"]) > 1 and expected(name)["partition_fields"]
]


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(SEVERAL_SYNCS), SEVERAL_SYNCS))
def test_incremental_sync_from_each_instant_ends_like_a_full_one(client, name):
    check_incremental_syncs(client, name, names_of(name))


def test_the_hudi_table_is_read_once_for_all_names(client, tmp_path):
    """Three names cost no more listings, opened files and bytes of the table than one."""
    counted = {}
    for strategy in ("ALL", "RT"):
        for stage in ("01", "05"):
            world = replay.World(client, tmp_path / f"{strategy}{stage}")
            world.place(golden.inputs("stages") / stage / "mor_part", "t")
            path = world.base / "t"
            meta = MetaClient.load(path)
            config = HiveSyncConfig(base_path=str(path), database=DATABASE, table=f"m{strategy}", strategy=strategy)
            with meta.counters.measure() as io:
                HiveSyncTool(config, metastore=client, client=meta).sync()
            counted[strategy, stage] = dict(io)
    assert counted["ALL", "01"] == counted["RT", "01"]
    assert counted["ALL", "05"] == counted["RT", "05"]
    assert counted["ALL", "05"]["lists"] > 0


def test_one_name_that_fell_behind_catches_up_alone(client):
    name = "v8_mor_part_rli"
    path = unzip_fixture(name)
    sync(client, path, name)
    wanted = {table: state(client, table) for table in names_of(name)}
    client.drop_partitions(DATABASE, f"{name}_rt", client.partition_names(DATABASE, f"{name}_rt"))
    change_stamp(client, f"{name}_rt", {LAST_COMMIT: None, LAST_COMPLETION: None})
    report = sync(client, path, name)
    assert [row["action"] for row in report.rows()] == ["keep", "alter", "keep"]
    # One that says that a sync is at work, one that stamps its end.
    assert report.calls["alter_table_with_environment_context"] == 2
    assert {table: state(client, table) for table in names_of(name)} == wanted


def test_a_name_that_was_dropped_is_made_again(client):
    name = "v8_mor_part_rli"
    path = unzip_fixture(name)
    sync(client, path, name)
    client.drop_table(DATABASE, f"{name}_ro")
    report = sync(client, path, name)
    assert [row["action"] for row in report.rows()] == ["create", "keep", "keep"]
    assert partition_paths(client, path, f"{name}_ro") == current_partitions(path)


@pytest.mark.parametrize(
    ("settings", "tables"),
    [
        ({}, {"t_ro": RO, "t_rt": RT, "t": RT}),
        ({"snapshot_with_table_name": False}, {"t_ro": RO, "t_rt": RT}),
        ({"skip_ro_suffix": True}, {"t": RO, "t_rt": RT}),
        ({"skip_ro_suffix": True, "snapshot_with_table_name": False}, {"t": RO, "t_rt": RT}),
        ({"strategy": "RO"}, {"t": RO}),
        ({"strategy": "rt"}, {"t": RT}),
    ],
)
def test_each_strategy_registers_its_tables(client, settings, tables):
    path = unzip_fixture("v8_mor_part_rli")
    report = sync(client, path, "t", **settings)
    assert sorted(client.tables(DATABASE)) == sorted(tables)
    for name, input_format in tables.items():
        assert client.table(DATABASE, name).sd.inputFormat == input_format
        # A table and its partitions show the same view, whatever the options.
        assert {item.sd.inputFormat for item in client.partitions(DATABASE, name)} == {input_format}
    assert bool(report.warnings) == (settings == {"skip_ro_suffix": True})
    assert sync(client, path, "t", **settings).plan.is_noop


@pytest.mark.parametrize("incremental", [True, False])
def test_partitions_follow_when_a_name_is_to_show_another_view(client, incremental):
    """Also after hive-sync, which turns a table into another view and leaves its partitions as they are."""
    name = "v8_mor_part_rli"
    path = unzip_fixture(name)
    sync(client, path, "t", skip_ro_suffix=True)
    files = [item.sd.location for item in client.partitions(DATABASE, "t")]
    sync(client, path, "t", incremental=incremental)
    assert client.table(DATABASE, "t").sd.inputFormat == RT
    found = list(client.partitions(DATABASE, "t"))
    assert {item.sd.inputFormat for item in found} == {RT}
    assert {item.sd.serdeInfo.parameters["hoodie.query.as.ro.table"] for item in found} == {"false"}
    assert [item.sd.location for item in found] == files
    # Partitions that somebody else left behind are seen by a full comparison, and by any when they are written to.
    (item, *_) = found
    item.sd.inputFormat = RO
    client.alter_partitions(DATABASE, "t", [item])
    report = sync(client, path, "t", incremental=False)
    assert [row["step"] for row in report.plan.rows()] == ["set partition"]
    assert {item.sd.inputFormat for item in client.partitions(DATABASE, "t")} == {RT}
    entry = expected(name)["sync"][0]
    for item in found:
        item.sd.inputFormat = RO
    client.alter_partitions(DATABASE, "t", found)
    change_stamp(client, "t", {LAST_COMMIT: entry["since_instant"], LAST_COMPLETION: None})
    report = sync(client, path, "t")
    right = [item.sd.location for item in client.partitions(DATABASE, "t") if item.sd.inputFormat == RT]
    assert sorted(place.partition(f"{path}/")[2] for place in right) == entry["written"]


def test_names_that_are_not_synced_any_more_are_reported(client):
    path = unzip_fixture("v8_mor_part_rli")
    assert sync(client, path, "t").warnings == ()
    report = sync(client, path, "t", strategy="RT")
    assert [line.partition(" shows ")[0] for line in report.warnings] == [f"{DATABASE}.t_ro", f"{DATABASE}.t_rt"]
    assert report.calls == {"get_table_objects_by_name_req": 1}
    assert sync(client, path, "t_ro", strategy="RO").warnings == ()


def test_nothing_is_made_when_one_of_the_names_is_taken(client, tmp_path):
    path = unzip_fixture("v8_mor_part_rli")
    sync(client, path, "u", strategy="RT")
    taken = client.table(DATABASE, "u")
    taken.tableName = "t_rt"
    taken.parameters = {"owner": "somebody"}
    taken.sd.inputFormat = "org.apache.hadoop.mapred.TextInputFormat"
    taken.sd.location = str(tmp_path / "texts")
    client.create_table(taken)
    with pytest.raises(SchemaSyncError, match="no Hudi table"):
        sync(client, path, "t")
    assert sorted(client.tables(DATABASE)) == ["t_rt", "u"]


def test_nothing_is_made_when_values_do_not_fit_or_the_database_is_missing(client):
    path = unzip_fixture("v8_mor_part_rli")
    with pytest.raises(PartitionValueError):
        sync(client, path, "t", partition_fields=("a", "b"))
    with pytest.raises(NoSuchObjectError, match="auto_create_database"):
        sync(client, path, "t", auto_create_database=False)
    assert DATABASE not in client.databases()


def test_calls_of_a_first_sync(client):
    path = unzip_fixture("v8_mor_part_rli")
    report = sync(client, path, "t")
    assert report.calls == {
        "get_table_objects_by_name_req": 1,
        "get_database": 1,
        "create_database": 1,
        "create_table": 3,
        "add_partitions_req": 3,
        "get_table_req": 3,
        "alter_table_with_environment_context": 3,
    }
