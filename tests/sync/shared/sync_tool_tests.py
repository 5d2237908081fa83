"""The sync tool end to end against a metastore: results, costs, refusals. Also run on a real one."""

from __future__ import annotations

import copy
import getpass
import json
import os
import shutil
from types import SimpleNamespace

import pytest

from hudi_hive.errors import (
    MetastoreServerError,
    SchemaSyncError,
)
from hudi_hive.metastore import BatchSizes, HiveMetastore, partition_name
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.sync.diff.metastore_partitions import batch_sizes
from hudi_hive.sync.table.table_spec import LAST_COMMIT, LAST_COMPLETION
from hudi_hive.table.core import MetaClient
from tests.support.fixture_tables import expected, fixture_names, one_version_of_each, unzip_fixture
from tests.support.metastore import sync_golden as golden
from tests.support.metastore import sync_replay as replay
from tests.support.metastore.sync_behaviour import DATABASE, change_stamp, plan, state, story_table, sync
from tests.support.running.long import with_long_cases
from tests.sync.shared.sync_tool_helpers import client, current_partitions, partition_paths, server

__all__ = ["client", "server"]


# -- all copy-on-write fixtures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(fixture_names("cow")), fixture_names("cow")))
def test_first_sync_then_nothing_to_do(client, name):
    check_first_sync(client, name)


def check_first_sync(client, name):
    """A first sync registers what holds rows; a second one makes one call."""
    path = unzip_fixture(name)
    dry = plan(client, path, name)
    assert dry.dry_run
    assert client.find_table(DATABASE, name) is None
    report = sync(client, path, name)
    assert report.plan.rows() == dry.plan.rows()
    assert report.rows()[0]["action"] == "create"
    table = client.table(DATABASE, name)
    assert table.parameters[LAST_COMMIT] == max(
        commit["requested"]
        for commit in expected(name)["commits"]
        if commit["state"] == "COMPLETED" and commit["action"] in ("commit", "deltacommit", "replacecommit")
    )
    schema = MetaClient.load(path).schema()
    spark = json.loads(
        "".join(
            table.parameters[f"spark.sql.sources.schema.part.{index}"]
            for index in range(int(table.parameters["spark.sql.sources.schema.numParts"]))
        )
    )
    keys = [key.name for key in table.partitionKeys or []]
    assert {field["name"] for field in spark["fields"]} >= set(schema.names)
    assert [field.name for field in table.sd.cols] == [
        field["name"].lower() for field in spark["fields"] if field["name"].lower() not in keys
    ]
    assert keys == [field.lower() for field in MetaClient.load(path).config.partition_fields]
    if keys:
        assert partition_paths(client, path, name) == current_partitions(path)
    again = sync(client, path, name)
    assert again.plan.is_noop
    assert again.plan.rows() == []
    assert again.calls == {"get_table_req": 1}
    full = sync(client, path, name, incremental=False)
    assert full.plan.is_noop
    assert not any(call.startswith(("alter", "add", "drop", "create")) for call in full.calls)


SEVERAL_SYNCS = [
    name for name in fixture_names("cow") if len(expected(name)["sync"]) > 1 and expected(name)["partition_fields"]
]


@pytest.mark.parametrize("name", with_long_cases(one_version_of_each(SEVERAL_SYNCS), SEVERAL_SYNCS))
def test_incremental_sync_from_each_instant_ends_like_a_full_one(client, name):
    check_incremental_syncs(client, name)


def check_incremental_syncs(client, name, tables=None):
    """From the state that a sync at any instant left, an incremental sync ends where a full one does.

    ``tables`` are the names that the table has in the metastore, when it is not its own alone.
    """
    tables = tables or [name]
    path = unzip_fixture(name)
    sync(client, path, name)
    wanted = {table: state(client, table) for table in tables}
    keys = client.table(DATABASE, name).partitionKeys
    for entry in expected(name)["sync"]:
        # Back to what a sync at that instant may have left: nothing of the later writes, something of the dropped ones.
        for table in tables:
            for item in list(client.partitions(DATABASE, table)):
                relative = item.sd.location.partition(f"{path}/")[2]
                if relative in entry["written"]:
                    client.drop_partitions(DATABASE, table, [partition_name(keys, item.values)])
            change_stamp(client, table, {LAST_COMMIT: entry["since_instant"]})
        report = sync(client, path, name)
        if entry["written"]:
            assert {row["comparison"] for row in report.rows()} == {"incremental"}
        assert {table: state(client, table) for table in tables} == wanted, entry


# -- costs ---------------------------------------------------------------------------------------------------------


def test_calls_of_a_first_sync_and_of_three_touched_partitions_among_250(client):
    path = unzip_fixture("v8_cow_wide_250")
    report = sync(client, path, "wide")
    assert report.calls == {
        "get_table_req": 2,
        "get_database": 1,
        "create_database": 1,
        "create_table": 1,
        "add_partitions_req": 1,
        "alter_table_with_environment_context": 1,
    }
    assert len(client.partition_names(DATABASE, "wide")) == 250
    entry = expected("v8_cow_wide_250")["sync"][0]
    assert len(entry["written"]) == 3
    change_stamp(client, "wide", {LAST_COMMIT: entry["since_instant"], LAST_COMPLETION: None})
    meta = MetaClient.load(path)
    config = HiveSyncConfig(base_path=str(path), database=DATABASE, table="wide")
    with meta.counters.measure() as io:
        report = HiveSyncTool(config, metastore=client, client=meta).sync()
    assert report.calls == {
        "get_table_req": 1,
        "get_partitions_by_names": 1,
        "alter_table_with_environment_context": 1,
    }
    assert report.rows()[0]["unchanged"] == 3
    assert io.get("lists") == 1, "only the timeline is listed"


def test_partitions_are_added_and_dropped_in_batches(client, tmp_path):
    path = unzip_fixture("v8_cow_wide_250")
    report = sync(client, path, "wide", batch_size=100)
    assert report.calls["add_partitions_req"] == 3
    (one,) = client.partitions(DATABASE, "wide", client.partition_names(DATABASE, "wide")[:1])
    stale = []
    for number in range(205):
        item = copy.deepcopy(one)
        item.values = [f"stale{number}"]
        stale.append(item)
    client.add_partitions(DATABASE, "wide", stale)
    report = sync(client, path, "wide", batch_size=100, incremental=False)
    assert report.calls["drop_partitions_req"] == 3
    assert len(client.partition_names(DATABASE, "wide")) == 250


def test_filter_pushdown_reads_partitions_by_filter(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    sync(client, path, "t", filter_pushdown=True)
    story_table(tmp_path, "t", "03")
    report = sync(client, path, "t", filter_pushdown=True)
    assert report.calls["get_partitions_by_filter"] == 1
    assert report.rows()[0]["added"] == 1


def test_partitions_that_a_range_leaves_out_are_read_by_name(client, tmp_path, monkeypatch):
    """A database may have texts in another order than ours: ``p >= "B" AND p <= "a"`` may hold nothing at all."""
    path = story_table(tmp_path, "t", "01")
    sync(client, path, "t")
    names = client.partition_names(DATABASE, "t")
    story_table(tmp_path, "t", "03")
    monkeypatch.setattr(client, "partitions_by_filter", lambda *_: [])
    monkeypatch.setattr("hudi_hive.sync.diff.metastore_partitions.order_is_certain", lambda *_, **__: False)
    report = sync(client, path, "t", filter_pushdown=True, filter_pushdown_max_size=0, touch_partitions=True)
    assert report.rows()[0]["added"] == 1
    assert len(client.partition_names(DATABASE, "t")) == len(names) + 1


def test_a_refused_filter_is_no_reason_to_fail(client, tmp_path, monkeypatch):
    path = story_table(tmp_path, "t", "01")
    sync(client, path, "t")
    story_table(tmp_path, "t", "03")

    def refuse(*_):
        raise MetastoreServerError("Filtering is supported only on partition keys of type string")

    monkeypatch.setattr(client, "partitions_by_filter", refuse)
    report = sync(client, path, "t", filter_pushdown=True)
    assert report.rows()[0]["added"] == 1
    assert any("Filtering is supported only" in line for line in report.warnings)


def test_partitions_are_read_in_large_calls(client):
    def spec(columns):
        return SimpleNamespace(columns=range(columns))

    assert [batch_sizes(client, spec(columns)).maximum for columns in (0, 20, 250, 5000)] == [1000, 1000, 400, 100]
    with HiveMetastore(client.uri, batch=BatchSizes(5, 7)) as own:
        assert batch_sizes(own, spec(20)) == BatchSizes(5, 7)
    path = unzip_fixture("v8_cow_wide_250")
    sync(client, path, "t")
    report = sync(client, path, "t", incremental=False)
    assert report.calls == {"get_table_req": 1, "get_partition_names": 1, "get_partitions_by_names": 2}


def test_a_user_without_a_name_can_sync(client, tmp_path, monkeypatch):
    def no_name():
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr(getpass, "getuser", no_name)
    sync(client, story_table(tmp_path, "t", "01"), "t")
    assert client.table(DATABASE, "t").owner == str(os.getuid())


def test_column_and_partition_changes_take_one_call_each(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    sync(client, path, "t")
    story_table(tmp_path, "t", "05")
    dry = plan(client, path, "t")
    assert {row["step"] for row in dry.plan.rows()} == {
        "add column",
        "set parameter",
        "add partition",
        "drop partition",
        "stamp",
    }
    report = sync(client, path, "t")
    assert report.calls == {
        "get_table_req": 2,  # before the work, and before the stamp: nobody else finished meanwhile
        "get_partitions_by_names": 1,
        "alter_table_with_environment_context": 2,
        "add_partitions_req": 1,
        "drop_partitions_req": 1,
    }


# -- what stays and what moves -------------------------------------------------------------------------------------


def test_what_users_added_stays(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    sync(client, path, "t")
    table = client.table(DATABASE, "t")
    table.parameters |= {"owner.team": "lake", "comment": "all about it"}
    table.sd.cols[5].comment = "the key"
    client.alter_table(DATABASE, "t", table)
    story_table(tmp_path, "t", "05")
    sync(client, path, "t")
    table = client.table(DATABASE, "t")
    assert (table.parameters["owner.team"], table.parameters["comment"]) == ("lake", "all about it")
    assert table.sd.cols[5].comment == "the key"


def test_a_moved_partition_keeps_its_own_parameters(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    sync(client, path, "t")
    (german,) = client.partitions(DATABASE, "t", ["country=DE"])
    german.sd.location = str(tmp_path / "elsewhere")
    german.parameters["mine"] = "yes"
    client.alter_partitions(DATABASE, "t", [german])
    report = sync(client, path, "t", incremental=False)
    assert report.rows()[0]["moved"] == 1
    (german,) = client.partitions(DATABASE, "t", ["country=DE"])
    assert german.sd.location.endswith(f"{path}/country=DE")
    assert german.parameters["mine"] == "yes"


def test_partitions_that_only_the_cleaner_emptied_are_dropped(client):
    name = "v8_cow_part_mdt"
    path = unzip_fixture(name)
    sync(client, path, name)
    (item,) = client.partitions(DATABASE, name, client.partition_names(DATABASE, name)[:1])
    item.values = ["rome"]
    item.sd.location = f"{path}/rome"
    client.add_partitions(DATABASE, name, [item])
    instant = expected(name)["sync"][-2]
    assert instant["dropped"] == ["rome"]
    change_stamp(client, name, {LAST_COMMIT: instant["since_instant"], LAST_COMPLETION: None})
    report = sync(client, path, name)
    assert report.rows()[0]["dropped"] == 1
    assert "rome" not in "".join(client.partition_names(DATABASE, name))


def test_last_sync_in_the_archive_compares_everything(client):
    path = unzip_fixture("v8_cow_archived")
    sync(client, path, "arch")
    names = client.partition_names(DATABASE, "arch")
    client.drop_partitions(DATABASE, "arch", names[:3])
    change_stamp(client, "arch", {LAST_COMMIT: "20200101000000000"})
    report = sync(client, path, "arch")
    assert report.rows()[0]["comparison"] == "full"
    assert report.rows()[0]["added"] == 3
    assert client.partition_names(DATABASE, "arch") == names


def test_a_last_sync_that_was_taken_back_compares_everything(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    sync(client, path, "t")
    names = client.partition_names(DATABASE, "t")
    (item,) = client.partitions(DATABASE, "t", names[:1])
    item.values = ["XX"]
    item.sd.location = f"{path}/country=XX"
    client.add_partitions(DATABASE, "t", [item])
    change_stamp(client, "t", {LAST_COMMIT: "29990101000000000", LAST_COMPLETION: "29990101000000000"})
    report = sync(client, path, "t")
    assert report.rows()[0]["comparison"] == "full"
    assert "taken back" in report.rows()[0]["reason"]
    assert client.partition_names(DATABASE, "t") == names


def test_a_table_of_another_kind_is_left_alone(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    sync(client, path, "t")
    table = client.table(DATABASE, "t")
    table.tableName = "u"
    table.parameters = {"owner": "somebody"}
    table.sd.inputFormat = "org.apache.hadoop.mapred.TextInputFormat"
    table.sd.location = str(tmp_path / "texts")
    client.create_table(table)
    for settings in ({}, {"recreate_on_error": True}):
        with pytest.raises(SchemaSyncError, match="no Hudi table"):
            sync(client, path, "u", **settings)
    assert client.table(DATABASE, "u").sd.location.endswith("texts")


def test_a_conditional_sync_moves_the_last_commit_only_with_other_changes(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    sync(client, path, "t", conditional=True)
    before = client.table(DATABASE, "t").parameters[LAST_COMMIT]
    replay.cut(story_table(tmp_path, "t", "06"), "20261121030052884")
    report = sync(client, path, "t", conditional=True)
    assert report.plan.is_noop
    story_table(tmp_path, "t", "06")
    sync(client, path, "t", conditional=True)
    assert client.table(DATABASE, "t").parameters[LAST_COMMIT] > before


def test_comments_are_there_after_the_first_sync_and_cost_nothing_later(client, tmp_path):
    path = tmp_path / "cm"
    shutil.copytree(golden.inputs("misc") / "cm", path)
    sync(client, path, "cm", sync_comment=True)
    assert {field.comment for field in client.table(DATABASE, "cm").sd.cols} == {"", "new comment"}
    assert sync(client, path, "cm", sync_comment=True).plan.is_noop
    table = client.table(DATABASE, "cm")
    for field in table.sd.cols:
        field.comment = "wrong"
    client.alter_table(DATABASE, "cm", table)
    report = sync(client, path, "cm", sync_comment=True)
    assert {row["step"] for row in report.plan.rows()} == {"set comment"}
    # Comments that Avro lacks are taken away; of a column that Avro spells in another case nothing is known.
    comments = {field.name: field.comment for field in client.table(DATABASE, "cm").sd.cols}
    assert (comments["id"], comments["ts"], comments["val"]) == ("new comment", "", "wrong")


def test_a_table_without_its_own_schema_in_spark(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    sync(client, path, "t", sync_as_datasource=False, table_properties=(("a", "b"),))
    table = client.table(DATABASE, "t")
    assert not any(key.startswith("spark.") for key in table.parameters)
    assert table.parameters["a"] == "b"
    assert sync(client, path, "t", sync_as_datasource=False, table_properties=(("a", "b"),)).plan.is_noop


def test_rows_can_be_printed(client, tmp_path):
    path = story_table(tmp_path, "t", "03")
    report = plan(client, path, "t")
    rows = report.plan.rows()
    assert [row["step"] for row in rows][:3] == ["create database", "create table", "add partition"]
    assert rows[-1]["step"] == "stamp"
    assert all(isinstance(value, str) for row in rows for value in row.values())
    assert json.loads(json.dumps(report.rows()))[0]["added"] == 4
    assert report.total_calls == 2


def test_names_of_tables_are_compared_without_case(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    sync(client, path, "Upper")
    assert sync(client, path, "UPPER").plan.is_noop


def test_a_tool_with_addresses_only_can_be_used_again(client, tmp_path, monkeypatch):
    story_table(tmp_path, "t", "01")
    monkeypatch.chdir(tmp_path)
    tool = HiveSyncTool(HiveSyncConfig(base_path="t/", metastore_uris=client.uri, database=DATABASE))
    assert [row["step"] for row in tool.plan().rows()][:2] == ["create database", "create table"]
    assert tool.sync().rows()[0]["table"] == f"{DATABASE}.cow_part"
    assert tool.sync().plan.is_noop
    assert client.table(DATABASE, "cow_part").sd.serdeInfo.parameters["path"] == str(tmp_path / "t")
