"""Tests of what the sync tool refuses: values, fields, keys, columns, databases, folders."""

from __future__ import annotations

import shutil

import pytest

from hudi_hive.errors import (
    InvalidOptionError,
    MetastoreConnectError,
    NoSuchObjectError,
    PartitionValueError,
    SchemaSyncError,
    TableNotFoundError,
)
from hudi_hive.metastore import HiveMetastore, Retries, Timeouts
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.sync.config.extractors import EXTRACTORS, SLASH_DAY, slash_encoded_day
from hudi_hive.sync.table.table_spec import LAST_COMMIT, LAST_COMPLETION
from tests.support.fixture_tables import expected, unzip_fixture
from tests.support.metastore import sync_replay as replay
from tests.support.metastore.sync_behaviour import DATABASE, change_stamp, state, story_table, sync
from tests.sync.shared.sync_tool_helpers import client, current_partitions, partition_paths, server

__all__ = ["client", "server"]


# -- refusals ------------------------------------------------------------------------------------------------------


def test_values_that_do_not_fit_are_refused_before_anything_is_made(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    with pytest.raises(PartitionValueError, match="1 values for the 2 partition fields"):
        sync(client, path, "t", partition_fields=("a", "b"))
    with pytest.raises(NoSuchObjectError):
        client.database(DATABASE)


def test_fields_in_another_order_than_the_folders_are_refused(client, tmp_path):
    world = replay.World(client, tmp_path)
    world.place_stage("01")
    path = world.base / "cow_multi"
    with pytest.raises(PartitionValueError, match="partition field day"):
        sync(client, path, "t", partition_fields=("day", "country"))
    assert DATABASE not in client.databases()
    assert sync(client, path, "t", partition_fields=("COUNTRY", "day")).rows()[0]["added"] > 0


def test_other_partition_keys_are_refused_or_made_anew(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    sync(client, path, "t", partition_fields=())
    with pytest.raises(SchemaSyncError, match=r"partitioned by \(\), the sync asks for \(country\)"):
        sync(client, path, "t")
    report = sync(client, path, "t", recreate_on_error=True)
    assert report.rows()[0]["action"] == "recreate"
    assert partition_paths(client, path, "t") == current_partitions(path)


def test_a_refused_column_change_keeps_the_stamp(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    sync(client, path, "t")
    before = state(client, "t")
    story_table(tmp_path, "t", "03")
    with pytest.raises(SchemaSyncError, match="refuses the change of columns") as caught:
        sync(client, path, "t", omit_metadata_fields=True)
    assert "recreate_table_on_error" in caught.value.remedy
    assert state(client, "t") == before
    report = sync(client, path, "t", omit_metadata_fields=True, recreate_on_error=True)
    assert "made anew" in report.warnings[0]
    assert client.table(DATABASE, "t").sd.cols[0].name == "id"
    assert path.joinpath(".hoodie").exists()


def test_a_missing_database_is_made_only_when_allowed(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    with pytest.raises(NoSuchObjectError, match="auto_create_database"):
        sync(client, path, "t", auto_create_database=False)
    sync(client, path, "t")
    assert client.database(DATABASE).description == "automatically created by hoodie"


def test_two_folders_of_the_same_values_are_refused(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    shutil.copytree(path / "country=DE", path / "nation=DE")
    with pytest.raises(PartitionValueError, match="have the same values"):
        sync(client, path, "t")


def test_incremental_sync_refuses_a_second_folder_of_the_same_values(client, monkeypatch):
    path = unzip_fixture("v8_cow_slash_day")
    settings = {"partition_extractor": SLASH_DAY}
    sync(client, path, "t", **settings)
    entry = expected("v8_cow_slash_day")["sync"][0]
    written = entry["written"][0]
    other = next(item for item in partition_paths(client, path, "t") if item not in entry["written"])
    (item,) = [found for found in client.partitions(DATABASE, "t") if found.sd.location.endswith(written)]

    def point_elsewhere():
        item.sd.location = f"{path}/{other}"
        client.alter_partitions(DATABASE, "t", [item])
        change_stamp(client, "t", {LAST_COMMIT: entry["since_instant"], LAST_COMPLETION: None})

    # The other folder has other values: somebody registered it wrongly, and the sync puts it right.
    point_elsewhere()
    assert sync(client, path, "t", **settings).rows()[0]["moved"] == 1
    # Now both folders have the same values, as 2024/1/2 and 2024/01/02 would.
    same = {written: item.values, other: item.values}
    monkeypatch.setitem(EXTRACTORS, SLASH_DAY, lambda text: list(same.get(text) or slash_encoded_day(text)))
    point_elsewhere()
    before = state(client, "t")
    with pytest.raises(PartitionValueError, match=f"{other} and {written} have the same values"):
        sync(client, path, "t", **settings)
    assert state(client, "t") == before


def test_bad_input_raises_errors_of_this_package(client, tmp_path):
    with pytest.raises(TableNotFoundError):
        sync(client, tmp_path / "nothing", "t")
    with pytest.raises(InvalidOptionError, match="metastore"):
        HiveSyncTool(HiveSyncConfig(base_path="/x"))
    path = story_table(tmp_path, "t", "01")
    config = HiveSyncConfig(base_path=str(path))
    dead = HiveMetastore("thrift://127.0.0.1:1", retries=Retries(attempts=1), timeouts=Timeouts(connect=1))
    with pytest.raises(MetastoreConnectError):
        HiveSyncTool(config, metastore=dead).sync()
