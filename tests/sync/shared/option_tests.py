"""Options of a sync that change what it does, end to end against a metastore. Also run on a real one."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest

from hudi_hive.errors import InvalidOptionError, SchemaSyncError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.sync.table.locations import absolute
from hudi_hive.sync.table.table_spec import LAST_COMMIT, LAST_COMPLETION
from hudi_hive.table.core import MetaClient
from hudi_hive.testing import FakeMetastore
from tests.support.fixture_tables import expected, unzip_fixture
from tests.support.metastore import sync_replay as replay
from tests.support.metastore.sync_behaviour import DATABASE, change_stamp, state, story_table, sync

DDL_TIME = "transient_lastDdlTime"


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


def parameters_of(client, table):
    return {tuple(item.values): dict(item.parameters) for item in client.partitions(DATABASE, table)}


def set_ddl_times(client, table, text):
    """Give all partitions another time of change, to see which ones get a new one."""
    found = list(client.partitions(DATABASE, table))
    for item in found:
        item.parameters[DDL_TIME] = text
    client.alter_partitions(DATABASE, table, found)


def files_below(path):
    return {str(file): file.stat().st_size for file in path.rglob("*") if file.is_file()}


# -- touch ---------------------------------------------------------------------------------------------------------


def test_written_partitions_are_touched_and_no_others(client):
    path = unzip_fixture("v8_cow_wide_250")
    entry = expected("v8_cow_wide_250")["sync"][0]
    sync(client, path, "wide")
    set_ddl_times(client, "wide", "1000")
    before = parameters_of(client, "wide")
    wanted = state(client, "wide")
    change_stamp(client, "wide", {LAST_COMMIT: entry["since_instant"], LAST_COMPLETION: None})
    report = sync(client, path, "wide", touch_partitions=True)
    assert report.rows()[0]["touched"] == 3
    assert [row["step"] for row in report.plan.rows()].count("touch partition") == 3
    # One look for the names' locations, one for the definitions, one change: whatever their number.
    assert report.calls["get_partitions_by_names"] == 2
    assert report.calls["alter_partitions_with_environment_context"] == 1
    after = parameters_of(client, "wide")
    touched = {values for values, found in after.items() if found[DDL_TIME] != "1000"}
    assert len(touched) == 3
    for values, found in after.items():
        assert {**found, DDL_TIME: ""} == {**before[values], DDL_TIME: ""}
    assert state(client, "wide") == wanted
    again = sync(client, path, "wide", touch_partitions=True)
    assert again.plan.is_noop


def test_a_full_comparison_touches_what_may_have_been_written(client, tmp_path):
    path = story_table(tmp_path, "t", "03")
    sync(client, path, "t")
    settings = {"touch_partitions": True, "incremental": False}
    assert sync(client, path, "t", **settings).plan.is_noop
    first = MetaClient.load(story_table(tmp_path, "t", "01")).timeline.last_completed_write()
    story_table(tmp_path, "t", "03")
    stamp = {LAST_COMMIT: first.requested, LAST_COMPLETION: first.completed}
    change_stamp(client, "t", stamp)
    assert sync(client, path, "t").rows()[0]["touched"] == 0
    change_stamp(client, "t", stamp)
    some = sync(client, path, "t", **settings).rows()[0]["touched"]
    change_stamp(client, "t", {LAST_COMMIT: "20000101000000000", LAST_COMPLETION: None})
    assert 0 < some < sync(client, path, "t", **settings).rows()[0]["touched"] == 4


# -- recreation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("managed", [False, True])
def test_forced_recreation_keeps_data_and_what_users_added(client, tmp_path, managed):
    path = story_table(tmp_path, "t", "05")
    sync(client, path, "t", create_managed_table=managed)
    wanted = state(client, "t")
    table = client.table(DATABASE, "t")
    table.parameters |= {"owner.team": "lake", "comment": "all about it"}
    table.parameters["spark.sql.sources.schema.part.7"] = "left over"
    table.sd.cols[5].comment = "the key"
    client.alter_table(DATABASE, "t", table)
    files = files_below(path)
    for _ in range(2):
        report = sync(client, path, "t", force_recreate=True, create_managed_table=managed)
        assert report.rows()[0]["action"] == "recreate"
        assert report.calls["drop_table"] == 1
    assert files_below(path) == files
    found = state(client, "t")
    assert found["parameters"].pop("owner.team") == "lake"
    assert found["parameters"].pop("comment") == "all about it"
    assert found["columns"][5] == ("id", "string", "the key")
    found["columns"][5] = wanted["columns"][5]
    assert found == wanted


def test_a_table_that_is_not_there_is_created_not_recreated(client, tmp_path):
    path = story_table(tmp_path, "t", "05")
    report = sync(client, path, "t", force_recreate=True)
    assert report.rows()[0]["action"] == "create"
    assert "drop_table" not in report.calls


@pytest.mark.parametrize("managed", [False, True])
def test_recreation_on_an_incompatible_change_keeps_the_data(client, tmp_path, managed):
    path = story_table(tmp_path, "t", "01")
    settings = {"create_managed_table": managed, "recreate_on_error": True}
    sync(client, path, "t", **settings)
    table = client.table(DATABASE, "t")
    table.parameters["owner.team"] = "lake"
    client.alter_table(DATABASE, "t", table)
    files = files_below(path)
    report = sync(client, path, "t", omit_metadata_fields=True, **settings)
    assert report.rows()[0]["action"] == "recreate"
    assert files_below(path) == files
    assert client.table(DATABASE, "t").parameters["owner.team"] == "lake"
    assert len(client.partition_names(DATABASE, "t")) == 3


# -- what stays ----------------------------------------------------------------------------------------------------


def test_a_cascade_keeps_recorded_locations(client, tmp_path):
    """New columns reach a partition that somebody put elsewhere; it stays there while nothing is written to it."""
    path = story_table(tmp_path, "t", "03")
    sync(client, path, "t")
    (german,) = client.partitions(DATABASE, "t", ["country=DE"])
    elsewhere = f"file:{tmp_path}/elsewhere/DE"
    german.sd.location = elsewhere
    german.parameters["mine"] = "yes"
    client.alter_partitions(DATABASE, "t", [german])
    # Pretend that the commit which brought the columns wrote to no partition: only the schema is behind.
    path = story_table(tmp_path, "t", "04")
    last = max(file.name[:17] for file in path.glob(".hoodie/timeline/*.commit"))
    change_stamp(client, "t", {LAST_COMMIT: last, LAST_COMPLETION: None})
    report = sync(client, path, "t")
    assert report.rows()[0]["columns_changed"] > 0
    assert report.rows()[0]["moved"] == 0
    (german,) = client.partitions(DATABASE, "t", ["country=DE"])
    assert german.sd.location == elsewhere
    assert german.parameters["mine"] == "yes"
    columns = [field.name for field in client.table(DATABASE, "t").sd.cols]
    assert [field.name for field in german.sd.cols] == columns


# -- buckets -------------------------------------------------------------------------------------------------------

SPEC = "CLUSTERED BY (ID) SORTED BY (id ASC, ts DESC) INTO 4 BUCKETS"


def buckets(struct):
    return struct.sd.numBuckets, struct.sd.bucketCols, [(item.col, item.order) for item in struct.sd.sortCols]


def test_buckets_are_registered_changed_and_left_alone(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    asked = {"bucket_sync": True, "bucket_spec": SPEC}
    sync(client, path, "t", **asked)
    wanted = (4, ["id"], [("id", 1), ("ts", 0)])
    assert buckets(client.table(DATABASE, "t")) == wanted
    assert {str(buckets(item)) for item in client.partitions(DATABASE, "t")} == {str(wanted)}
    assert sync(client, path, "t", **asked).plan.is_noop
    # Without the option nothing is decided about buckets.
    assert sync(client, path, "t").plan.is_noop
    report = sync(client, path, "t", bucket_sync=True, bucket_spec="CLUSTERED BY (id) INTO 8 BUCKETS")
    assert [row["step"] for row in report.plan.rows()] == ["set buckets"]
    assert buckets(client.table(DATABASE, "t")) == (8, ["id"], [])
    assert report.calls == {"get_table_req": 1, "alter_table_with_environment_context": 1}


def test_a_bucket_column_must_be_a_data_column(client, tmp_path):
    path = story_table(tmp_path, "t", "01")
    for column in ("nothing", "country"):
        with pytest.raises(SchemaSyncError, match=f"bucket column {column}"):
            sync(client, path, "t", bucket_sync=True, bucket_spec=f"CLUSTERED BY ({column}) INTO 4 BUCKETS")
    assert DATABASE not in client.databases()


# -- names ---------------------------------------------------------------------------------------------------------


def test_case_does_not_count_in_partition_fields(client, tmp_path):
    path = story_table(tmp_path, "t", "05")
    sync(client, path, "t")
    wanted = copy.deepcopy(state(client, "t"))
    report = sync(client, path, "t", partition_fields=("COUNTRY",))
    assert report.plan.is_noop
    assert any("COUNTRY is taken for the table's column country" in line for line in report.warnings)
    client.drop_table(DATABASE, "t")
    sync(client, path, "t", partition_fields=("Country",))
    assert state(client, "t") == wanted


def test_a_field_twice_is_refused(client, tmp_path):
    path = story_table(tmp_path, "t", "05")
    with pytest.raises(SchemaSyncError, match="two columns are called country"):
        sync(
            client,
            path,
            "t",
            partition_fields=("country", "COUNTRY"),
            partition_extractor="MultiPartKeysValueExtractor",
        )


@pytest.mark.parametrize(
    ("written", "registered"),
    [
        ("/a//b/", "/a/b"),
        ("//a/b", "/a/b"),
        ("/", "/"),
        ("s3://bucket//t//", "s3://bucket/t"),
        ("s3a://bucket/x%20y/z?a#b", "s3a://bucket/x%20y/z?a#b"),
        ("file:///a//b/", "file:///a/b"),
        ("hdfs:/x//y", "hdfs:/x/y"),
    ],
)
def test_base_paths_are_registered_with_single_slashes(written, registered):
    assert absolute(written) == registered


def test_double_slashes_are_no_other_place(client, tmp_path):
    path = story_table(tmp_path, "t", "05")
    sync(client, path, "t")
    config = HiveSyncConfig(base_path=f"{tmp_path}//t/", database=DATABASE, table="t")
    assert HiveSyncTool(config, metastore=client).sync().plan.is_noop


def test_a_sql_mode_without_its_library_is_refused(client, tmp_path, monkeypatch):
    path = story_table(tmp_path, "t", "05")
    monkeypatch.setitem(sys.modules, "hudi_hive.sync.apply.sql", None)
    with pytest.raises(InvalidOptionError, match="mode=jdbc needs the module"):
        sync(client, path, "t", mode="jdbc")


def test_the_sql_client_is_loaded_by_the_sql_modes_alone():
    code = "import sys, hudi_hive.sync; print([name for name in ('pyhive', 'TCLIService') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


# -- listing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["v8_mor_part_rli", "v8_cow_part_mdt", "v6_cow_part_mdt", "v9_mor_part_rli"])
def test_partitions_come_from_the_metadata_table(client, name):
    """The same partitions either way; with the metadata table no folder of the table is listed."""
    path = unzip_fixture(name)
    found, listed = {}, {}
    for listing in (True, False):
        meta = MetaClient.load(path)
        config = HiveSyncConfig(
            base_path=str(path), database=DATABASE, table="t", strategy="RT", metadata_file_listing=listing
        )
        with meta.counters.measure() as io:
            HiveSyncTool(config, metastore=client, client=meta).sync()
        found[listing], listed[listing] = state(client, "t"), dict(io).get("lists", 0)
        client.drop_table(DATABASE, "t")
    assert found[True] == found[False]
    assert found[True]["partitions"]
    # The timelines of table and metadata table are listed, and the folders that hold the latter's files.
    assert listed[False] >= len(found[True]["partitions"])


def test_a_table_of_many_partitions_is_not_walked_when_it_has_a_metadata_table(client, monkeypatch):
    from hudi_hive.table.view import DirectoryLister

    path = unzip_fixture("v8_mor_part_rli")

    def refuse(*_):
        raise AssertionError("folders are listed")

    monkeypatch.setattr(DirectoryLister, "partitions", refuse)
    monkeypatch.setattr(DirectoryLister, "files", refuse)
    assert len(sync(client, path, "t").rows()) == 3
    with pytest.raises(AssertionError, match="folders are listed"):
        sync(client, path, "u", metadata_file_listing=False)


def test_a_table_without_metadata_table_is_listed(client, tmp_path):
    world = replay.World(client, tmp_path)
    world.place_stage("01")
    assert sync(client, world.base / "mor_part", "t").rows()[0]["added"] == 3
