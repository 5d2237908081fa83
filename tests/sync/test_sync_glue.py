"""Syncs to AWS Glue end to end, against a stand-in on loopback that has Glue's limits: definitions, costs, faults."""

from __future__ import annotations

import itertools
import json

import pyarrow as pa
import pytest
from click.testing import CliRunner

from hudi_hive.cli import cli
from hudi_hive.errors import HudiHiveError, InvalidOptionError, MetastoreSecurityError, SyncError
from hudi_hive.glue import GlueCatalog, GlueSettings
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.sync.run import SyncWatcher, sync_many
from hudi_hive.sync.table import LAST_COMMIT
from hudi_hive.sync.table.glue_table import glue_comments, glue_location
from hudi_hive.table_api import HudiTable
from hudi_hive.testing import FakeMetastore
from tests.support.glue.glue_server import GlueFault, GlueServer
from tests.support.metastore.sync_behaviour import DATABASE, state, story_table
from tests.support.running.long import long_case

K = "hoodie.datasource.hive_sync."
G = "hoodie.datasource.meta.sync.glue."
TOOL = {"hoodie.meta.sync.client.tool.class": "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool"}
LISTING = "hudi.metadata-listing-enabled"
ROWS = pa.table({"id": ["k0", "k1", "k2"], "city": ["ams", "ber", "ams"], "fare": [1.0, 2.0, 3.0]})


@pytest.fixture(scope="module")
def shared():
    with GlueServer() as server:
        yield server


@pytest.fixture
def server(shared):
    shared.catalogs.clear()
    shared.stop_failing()
    shared.reset()
    return shared


@pytest.fixture
def catalog(server):
    with GlueCatalog(settings(server)) as client:
        yield client


def settings(server, **more):
    keys = {"endpoint": server.url, "region": "eu-west-1", "access_key": "AKIA1", "secret_key": "secret"}
    return GlueSettings(**{**keys, **more})


def of_aws(server):
    return {
        "hoodie.aws.glue.endpoint": server.url,
        "hoodie.aws.glue.region": "eu-west-1",
        "hoodie.aws.access.key": "AKIA1",
        "hoodie.aws.secret.key": "secret",
    }


def options(server, table="trips", **more):
    return {
        f"{K}enable": "true",
        f"{K}mode": "glue",
        f"{K}database": DATABASE,
        f"{K}table": table,
        **of_aws(server),
        **{f"{G}{name}": text for name, text in more.items()},
    }


def config(server, path, **more):
    glue = settings(server, **more.pop("glue", {}))
    return HiveSyncConfig(
        **{"base_path": str(path), "database": DATABASE, "table": "t", "mode": "glue", "glue": glue} | more
    )


def table_at(path, kind="COPY_ON_WRITE"):
    own = {"record_keys": ["id"], "partition_fields": ["city"], "table_type": kind}
    return HudiTable.create(path, name="trips", hive_style_partitioning=True, **own)


def cities(*names):
    return pa.table({"id": [f"k{name}" for name in names], "city": list(names), "fare": [1.0] * len(names)})


def without_glue(table):
    own = {name: text for name, text in table["parameters"].items() if name != LISTING}
    return {**table, "parameters": own}


@pytest.mark.parametrize("kind", [long_case("COPY_ON_WRITE"), "MERGE_ON_READ"])
def test_glue_has_the_tables_that_a_metastore_has(server, catalog, tmp_path, kind):
    table = table_at(tmp_path / "trips", kind)
    (tmp_path / "metastore").mkdir()
    names = ["t"] if kind == "COPY_ON_WRITE" else ["t_ro", "t_rt", "t"]
    with FakeMetastore(tmp_path / "metastore") as fake, HiveMetastore(fake.uri) as metastore:
        other = HiveSyncConfig(base_path=table.path, database=DATABASE, table="t", metastore_uris=fake.uri)
        steps = [
            lambda: table.insert(ROWS),
            lambda: table.upsert(ROWS.set_column(1, "city", [["ams", "ber", "oslo"]])),
            lambda: table.upsert(ROWS.append_column("note", [["a", "b", "c"]])),
            lambda: table.delete_partitions(["city=ber"]),
        ]
        for step in steps:
            step()
            HiveSyncTool(other).sync()
            report = HiveSyncTool(config(server, table.path)).sync()
            for name in names:
                found = state(catalog, name)
                assert found["parameters"][LISTING] == "FALSE"
                assert without_glue(found) == state(metastore, name)
            assert HiveSyncTool(config(server, table.path)).sync().is_noop and report.attempts == 1
    assert set(found["partitions"]) == {("ams",), ("oslo",)}
    assert "note" in [one[0] for one in found["columns"]]


def test_requests_of_a_sync_are_few(server, tmp_path):
    table = table_at(tmp_path / "trips")
    table.insert(cities(*(f"c{number:03}" for number in range(120))))
    tool = HiveSyncTool(config(server, table.path))
    assert dict(tool.sync().calls) == {
        "get_table": 2,
        "get_database": 1,
        "create_database": 1,
        "create_table": 1,
        "batch_create_partition": 2,
        "update_table": 1,
    }
    assert len(server.partitions(DATABASE, "t")) == 120
    assert dict(tool.sync().calls) == {"get_table": 1}
    table.insert(cities("c001", "c002", "new1", "new2"))
    server.reset()
    report = tool.sync()
    changed = {"get_table": 2, "batch_get_partition": 1, "batch_create_partition": 1, "update_table": 1}
    assert dict(report.calls) == changed and report.rows()[0]["added"] == 2
    (created,) = [one[1] for one in server.requests if one[0] == "BatchCreatePartition"]
    assert [one["Values"] for one in created["PartitionInputList"]] == [["new1"], ["new2"]]
    table.delete_partitions([f"city=c{number:03}" for number in range(60)])
    report = tool.sync()
    assert report.calls["batch_delete_partition"] == 3 and len(server.partitions(DATABASE, "t")) == 62
    full = HiveSyncTool(config(server, table.path, incremental=False)).sync()
    assert dict(full.calls) == {"get_table": 1, "get_partitions": 1} and full.is_noop


def test_touched_and_moved_partitions(server, catalog, tmp_path):
    first = story_table(tmp_path, "first", "01")
    HiveSyncTool(config(server, first)).sync()
    server.table(DATABASE, "t")["Parameters"]["of"] = "users"
    server.table(DATABASE, "t")["Description"] = "trips of all cities"
    second = tmp_path / "second"
    first.rename(second)
    report = HiveSyncTool(config(server, second)).sync()
    assert report.rows()[0]["moved"] == len(server.partitions(DATABASE, "t")) > 0
    assert {item.sd.location.startswith(f"{second}/") for item in catalog.partitions(DATABASE, "t")} == {True}
    after = server.table(DATABASE, "t")
    assert after["Parameters"]["of"] == "users" and after["Description"] == "trips of all cities"


def test_a_table_of_other_keys_is_made_anew_only_when_allowed(server, tmp_path):
    table = table_at(tmp_path / "trips")
    table.insert(ROWS)
    HiveSyncTool(config(server, table.path, partition_fields=())).sync()
    with pytest.raises(HudiHiveError, match="partition"):
        HiveSyncTool(config(server, table.path)).sync()
    made = {"hoodie.datasource.meta.sync.base.path": table.path, **options(server, "t")}
    HiveSyncTool(HiveSyncConfig.from_options({**made, f"{G}recreate_table_on_error": "true"})).sync()
    assert len(server.partitions(DATABASE, "t")) == 2


def test_writes_sync_to_glue_by_mode_or_by_tool(server, tmp_path):
    table = table_at(tmp_path / "trips")
    table.insert(ROWS, options(server))
    assert set(server.partitions(DATABASE, "trips")) == {("ams",), ("ber",)}
    by_tool = options(server) | TOOL | {f"{K}mode": "hms"}
    instant = table.upsert(cities("oslo"), by_tool).instant
    assert server.table(DATABASE, "trips")["Parameters"][LAST_COMMIT] == instant.requested
    assert set(server.partitions(DATABASE, "trips")) == {("ams",), ("ber",), ("oslo",)}
    server.fail("GetTable", GlueFault("AccessDeniedException", "no"))
    failed = table.upsert(cities("rome"), options(server)).failed["sync"]
    assert isinstance(failed, SyncError) and isinstance(failed.__cause__, MetastoreSecurityError)
    assert "the right to do this" in str(failed) and "secret" not in str(failed)
    table.upsert(cities("paris"), options(server))
    assert ("rome",) in server.partitions(DATABASE, "trips")


def test_the_command_line_syncs_to_glue(server, tmp_path):
    table_at(tmp_path / "trips").insert(ROWS)
    words = ["sync", "--mode", "glue", "--base-path", str(tmp_path / "trips"), "--database", DATABASE]
    conf = [word for name, text in of_aws(server).items() for word in ("--conf", f"{name}={text}")]
    result = CliRunner().invoke(cli, [*words, *conf, "--format", "json"])
    assert result.exit_code == 0, result.output
    assert f"{DATABASE}.trips" in result.output and "secret" not in result.output
    assert len(server.partitions(DATABASE, "trips")) == 2


def test_indexes_follow_the_options(server, tmp_path):
    table = table_at(tmp_path / "trips")
    table.insert(ROWS)
    on = {"partition_index_enable": True}
    report = HiveSyncTool(config(server, table.path, glue=on)).sync()
    assert report.calls["create_partition_index"] == 1
    (index,) = server.indexes(DATABASE, "t").values()
    assert [one["Name"] for one in index["Keys"]] == ["city"]
    assert server.table(DATABASE, "t")["Parameters"]["partition_filtering.enabled"] == "true"
    again = HiveSyncTool(config(server, table.path, glue=on)).sync()
    assert dict(again.calls) == {"get_table": 1, "get_partition_indexes": 1} and again.is_noop
    off = HiveSyncTool(config(server, table.path)).sync()
    assert off.calls["delete_partition_index"] == 1 and not server.indexes(DATABASE, "t")
    assert server.table(DATABASE, "t")["Parameters"]["partition_filtering.enabled"] == "false"
    assert dict(HiveSyncTool(config(server, table.path)).sync().calls) == {"get_table": 1}
    wrong = on | {"partition_index_fields": (("town",),)}
    with pytest.raises(InvalidOptionError, match="town, no partition field"):
        HiveSyncTool(config(server, table.path, glue=wrong)).sync()


def test_a_sync_that_another_one_overtook_looks_again(server, tmp_path):
    table = table_at(tmp_path / "trips")
    table.insert(ROWS)
    HiveSyncTool(config(server, table.path)).sync()
    table.insert(cities("oslo"))
    server.fail("UpdateTable", GlueFault("ConcurrentModificationException", "concurrent modifications"))
    report = HiveSyncTool(config(server, table.path)).sync()
    assert report.attempts == 2
    assert set(server.partitions(DATABASE, "t")) == {("ams",), ("ber",), ("oslo",)}
    newest = table.refresh().timeline.completed()[-1].requested
    assert server.table(DATABASE, "t")["Parameters"][LAST_COMMIT] == newest


def changed_table(path):
    """A table that was synced once, with every kind of change since: a column, partitions that came and went."""
    table = table_at(path)
    table.insert(cities("ams", "ber", "oslo"))

    def change():
        table.upsert(cities("ams", "rome").append_column("note", [["a", "b"]]))
        table.delete_partitions(["city=ber"])

    return table, change


@pytest.mark.parametrize("kind", ["refused", long_case("lost")])
def test_a_sync_that_fails_at_any_request_is_made_up_for_by_the_next_one(server, catalog, tmp_path, kind, thorough):
    table, change = changed_table(tmp_path / "trips")
    HiveSyncTool(config(server, table.path)).sync()
    change()
    before = json.dumps(_listed(server.catalogs))
    HiveSyncTool(config(server, table.path)).sync()
    model = state(catalog, "t")
    server.reset()
    failures = 0
    step = 1 if thorough else 3
    for number in itertools.count(0, step):
        server.catalogs = _restored(json.loads(before))
        fault = GlueFault("AccessDeniedException", "killed") if kind == "refused" else "lost"
        server.fail_at(number, fault)
        try:
            HiveSyncTool(config(server, table.path)).sync()
        except HudiHiveError:
            failures += 1
        if server.stop_failing():
            break
        HiveSyncTool(config(server, table.path)).sync()
        assert state(catalog, "t") == model, number
    assert number >= 7 and failures == (number // step if kind == "refused" else 0)


def _listed(catalogs):
    """The catalogs with partitions as lists, for JSON."""
    entry = catalogs[""][DATABASE]["tables"]["t"]
    return {"table": entry["table"], "partitions": list(entry["partitions"].values())}


def _restored(listed):
    rows = {tuple(one["Values"]): one for one in listed["partitions"]}
    entry = {"table": listed["table"], "partitions": rows, "indexes": {}}
    return {"": {DATABASE: {"database": {"Name": DATABASE}, "tables": {"t": entry}, "tags": {}}}}


def test_many_tables_and_a_watch(server, tmp_path):
    for name in ("one", "two"):
        table_at(tmp_path / name).insert(ROWS)
    configs = [config(server, tmp_path / name, table=name) for name in ("one", "two")]
    configs.append(config(server, tmp_path / "two", table="one"))
    report = sync_many(configs, workers=2)
    assert [item.result for item in report.results] == ["synced", "synced", "failed"]
    events = []
    watcher = SyncWatcher(configs[:2], on_event=lambda event: (events.append(event), watcher.stop()))
    watcher.run()
    assert [event.error for event in events] == [None]


def test_names_catalog_and_tags_are_glues_own(server, tmp_path):
    table_at(tmp_path / "trips").insert(ROWS)
    more = {
        "database_name": "lake",
        "table_name": "rides",
        "catalogId": "123",
        "resource_tags": "team:taxi, env : prod",
    }
    made = {"hoodie.datasource.meta.sync.base.path": str(tmp_path / "trips"), **options(server, **more)}
    HiveSyncTool(HiveSyncConfig.from_options(made)).sync()
    assert server.table("lake", "rides", "123")["Name"] == "rides"
    assert server.database("lake", "123")["tags"] == {"team": "taxi", "env": "prod"}


def test_credentials_and_region_may_be_those_of_the_tables_store(server):
    store = {"access_key": "AKIA2", "secret_key": "other", "region": "eu-north-1", "retry_timeout": 5}
    own = GlueSettings().completed_by(store)
    assert (own.access_key, own.secret_key, own.region, own.retry_timeout_s) == ("AKIA2", "other", "eu-north-1", 5)
    assert "other" not in repr(own)
    assert settings(server).completed_by(store).access_key == "AKIA1"
    assert (
        GlueSettings(endpoint="http://glue").completed_by({**store, "endpoint": "http://s3"}).endpoint == "http://glue"
    )


def test_options_of_glue_that_do_not_fit_or_are_not_used():
    base = {"hoodie.datasource.meta.sync.base.path": "/t"}
    for name, text, said in [
        (f"{G}all_partitions_read_parallelism", "11", "from 1 to 10"),
        (f"{G}partition_index_fields", "a,b,c,d", "at most 3"),
        (f"{G}resource_tags", "team", "key:value"),
        (next(iter(TOOL)), "HiveSyncTool,AwsGlueCatalogSyncTool", "one catalog, not 2"),
        (f"{G}catalogid", "1", "catalogId"),
    ]:
        with pytest.raises(InvalidOptionError, match=said):
            HiveSyncConfig.from_options({**base, name: text})
    used = HiveSyncConfig.from_options({**base, f"{G}database_name": "x", f"{K}database": "y"})
    assert used.database == "y" and used.warnings == (
        f"{G}database_name is an option of AWS Glue, which the hms mode does not use",
    )
    glue = HiveSyncConfig.from_options({**base, **TOOL, f"{K}filter_pushdown_enabled": "true"})
    assert glue.mode == "glue" and "by name in one request" in glue.warnings[0]


def test_locations_and_comments_are_as_glue_takes_them():
    assert glue_location("s3a://lake/t") == glue_location("s3n://lake/t") == "s3://lake/t"
    assert glue_location("hdfs://s3a/t") == "hdfs://s3a/t"
    (comment,) = glue_comments({"a": "two\nlines " + "é" * 200}).values()
    assert comment.startswith("two lines é") and len(comment.encode()) <= 255
