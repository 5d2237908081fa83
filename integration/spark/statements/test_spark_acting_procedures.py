"""Procedures that act: their answers, what becomes of rows and timeline, and what is refused beforehand."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError, InvalidOptionError, SparkError
from hudi_hive.timeline import InstantClock
from hudi_hive.write.commit import WriteTransaction
from hudi_hive.write.writers import LocalWriter

pytestmark = pytest.mark.jvm

ROWS = {"id": pa.array([1, 2], pa.int32()), "v": [1.0, 1.0], "ts": [1, 1], "p": ["x", "y"]}
KEYS = {"record_keys": ["id"], "partition_fields": ["p"], "ordering_fields": ["ts"], "hive_style_partitioning": True}
TYPES = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}
ALONE = "hoodie.clustering.plan.strategy.single.group.clustering.enabled"


@pytest.fixture
def table(new_session, tmp_path):
    """A session, and a function that makes a partitioned table ``acted`` of a type with two rows."""
    session = new_session()

    def make(kind):
        made = HudiTable.create(tmp_path / "acted", name="acted", table_type=TYPES[kind], version=8, **KEYS)
        made.insert(pa.table(ROWS))
        session.sql(f"CREATE TABLE acted USING hudi LOCATION '{tmp_path}/acted'")
        return session

    yield make
    session.sql("DROP TABLE IF EXISTS acted")


def call(session, text):
    return [tuple(row) for row in session.sql(f"CALL {text}").collect()]


def rows(session):
    return sorted((row.id, row.v) for row in session.sql("SELECT id, v FROM acted").collect())


def actions(path):
    return [f"{one.action}{'' if one.is_completed else '.pending'}" for one in HudiTable.open(path).timeline.instants]


def test_compaction_savepoint_and_restore(table, tmp_path):
    session, path = table("mor"), tmp_path / "acted"
    assert call(session, "create_savepoint(table => 'acted', comment => 'the beginning')") == [(True,)]
    assert any(b"the beginning" in file.read_bytes() for file in path.glob(".hoodie/timeline/*.savepoint"))
    assert call(session, "create_savepoint('acted')") == [(False,)]
    markers = [path / ".hoodie" / ".temp" / instant / "f.marker.CREATE" for instant in ("101", "20240131102030")]
    for marker in markers:
        marker.parent.mkdir(parents=True)
        marker.touch()
    with pytest.raises(SparkError, match="is no instant time"):
        call(session, "delete_marker(table => 'acted', instant_time => '101,../101')")
    assert call(session, "delete_marker(table => 'acted', instant_time => '101,20240131102030')") == [(True,)]
    assert not any(marker.parent.exists() for marker in markers)
    session.sql("UPDATE acted SET v = 2.0")
    assert call(session, "run_compaction(op => 'schedule', table => 'acted')") == []  # not due yet
    options = "options => 'hoodie.compact.inline.max.delta.commits=1'"
    [(planned, size, state)] = call(session, f"run_compaction(op => 'schedule', table => 'acted', {options})")
    assert (size, state) == (2, "REQUESTED")
    with pytest.raises(SparkError, match="no compaction or clustering of that time has begun"):
        call(session, f"run_rollback_inflight_tableservice(table => 'acted', pending_instant => '{planned}')")
    for wrong, message in (
        ("run_compaction(op => 'execute', table => 'acted', instants => '1')", "nothing is pending at 1"),
        (f"run_compaction(op => 'schedule', table => 'acted', instants => '{planned}')", "leave op or instants out"),
        ("run_compaction(op => 'once', table => 'acted')", "op is 'once'"),
        ("run_compaction(op => 'run', table => 'acted', options => 'x')", "'x' in options is no name=value"),
        ("run_compaction(op => 'run', table => 'acted', options => 'hoodie.x=1')", "unknown option 'hoodie.x'"),
        ("rollback_to_savepoint(table => 'acted', instant_time => '1')", "there is no savepoint 1"),
        ("rollback_to_instant(table => 'acted', instant_time => '1')", "there is no such instant"),
    ):
        before = actions(path)
        with pytest.raises(HudiHiveError, match=message):
            call(session, wrong)
        assert actions(path) == before
    done = call(session, f"run_compaction(op => 'run', table => 'acted', timestamp => {planned})")
    assert done == [(planned, 2, "COMPLETED")]
    assert rows(session) == [(1, 2.0), (2, 2.0)]
    assert call(session, f"rollback_to_savepoint(path => '{path}')") == [(True,)]
    assert rows(session) == [(1, 1.0), (2, 1.0)]
    assert call(session, "delete_savepoint(table => 'acted')") == [(True,)]
    assert actions(path) == ["deltacommit", "restore"]


def test_clustering_clean_and_partitions(table, tmp_path):
    session, path = table("cow"), tmp_path / "acted"
    [(_, size, state, partitions)] = call(
        session, "run_clustering(table => 'acted', predicate => 'p > \"x\"', show_involved_partition => true)"
    )
    assert (size, state, partitions) == (1, "COMPLETED", "p=y")
    assert call(session, "run_clustering(table => 'acted', predicate => 'p = \"z\"')") == []
    [(_, size, _, partitions)] = call(session, "run_clustering(table => 'acted', order => 'V,id')")
    assert (size, partitions) == (1, "*")  # that of x: nothing was written to y since
    with pytest.raises(SparkError, match="none over the partition columns"):
        call(session, "run_clustering(table => 'acted', predicate => 'id = 1')")
    [(_, _, deleted, _, _, version)] = call(session, "run_clean(table => 'acted', retain_commits => 1)")
    assert (deleted, version) == (1, 2)
    assert call(session, "run_clean(table => 'acted', retain_commits => 1)") == []
    assert call(session, "drop_partition(table => 'acted', partition => 'p=x')") == [("Success",)]
    assert rows(session) == [(2, 1.0)]
    assert call(session, "truncate_table(table => 'acted')") == []
    assert rows(session) == []
    assert actions(path) == ["commit", "replacecommit", "replacecommit", "clean", "replacecommit", "replacecommit"]


def test_clustering_along_curves_and_by_strategies(table, tmp_path):
    session, path = table("cow"), tmp_path / "acted"
    before = rows(session)
    ordered = "order => 'v,id', order_strategy => 'z-order'"
    recent = "hoodie.clustering.plan.partition.filter.mode=RECENT_DAYS"
    options = f"options => '{recent},hoodie.clustering.plan.strategy.daybased.lookback.partitions=1'"
    involved = "show_involved_partition => true"
    [(planned, _, state, partitions)] = call(
        session, f"run_clustering(table => 'acted', op => 'schedule', {ordered}, {options}, {involved})"
    )
    assert (state, partitions) == ("REQUESTED", "p=y")
    (plan,) = HudiTable.open(path).timeline.pending_clustering_plans()
    assert plan.strategy_params["hoodie.layout.optimize.strategy"] == "z-order"
    for wrong in (
        "order => 'v', order_strategy => 'peano'",
        "order_strategy => 'hilbert'",
        "options => 'hoodie.clustering.plan.strategy.class=SparkConsistentBucketClusteringPlanStrategy'",
    ):
        with pytest.raises(InvalidOptionError):
            call(session, f"run_clustering(table => 'acted', op => 'schedule', {wrong})")
    [(done, _, state, _)] = call(session, "run_clustering(table => 'acted', op => 'execute')")
    assert (done, state) == (planned, "COMPLETED")
    assert rows(session) == before and actions(path) == ["commit", "replacecommit"]


def test_update_behind_a_clustering_that_the_session_did_not_see(table, tmp_path):
    # Real Hudi's sessions keep what they listed, and lose the update.
    session, path = table("mor"), tmp_path / "acted"
    assert rows(session) == [(1, 1.0), (2, 1.0)]
    HudiTable.open(path).cluster({ALONE: "true"})
    assert actions(path)[-1] == "replacecommit"
    session.sql("UPDATE acted SET v = 2.0, ts = 2 WHERE id = 2")
    assert rows(session) == [(1, 1.0), (2, 2.0)]
    assert call(session, f"run_clustering(table => 'acted', options => '{ALONE}=true')")
    session.sql("UPDATE acted SET v = 3.0, ts = 3")
    assert rows(session) == [(1, 3.0), (2, 3.0)]


def test_metadata_table_and_repairs(table, tmp_path):
    session, path = table("cow"), tmp_path / "acted"
    [(text,)] = call(session, "delete_metadata_table(table => 'acted')")
    assert "acted/.hoodie/metadata" in text and not HudiTable.open(path).config.metadata_partitions
    with pytest.raises(HudiHiveError, match="there is no metadata table"):
        call(session, "init_metadata_table(table => 'acted')")
    [(text,)] = call(session, "create_metadata_table(table => 'acted')")
    assert text.startswith("Created Metadata Table in") and HudiTable.open(path).metadata.validate().is_valid
    (path / "p=x" / ".hoodie_partition_metadata").unlink()
    expected = [("p=x", "No", "None"), ("p=y", "Yes", "None")]
    assert call(session, "repair_add_partition_meta('acted')") == expected
    assert call(session, "repair_add_partition_meta('acted', false)") == [("p=x", "No", "Repaired"), expected[1]]
    assert rows(session) == [(1, 1.0), (2, 1.0)]
    changed = tmp_path / "new.properties"
    changed.write_bytes((path / ".hoodie" / "hoodie.properties").read_bytes() + b"hoodie.further=1\n")
    shown = call(session, f"repair_overwrite_hoodie_props('acted', '{changed}')")
    assert ("hoodie.further", "null", "1") in shown
    changed.write_bytes(changed.read_bytes().replace(b"version=8", b"version=9"))
    with pytest.raises(HudiHiveError, match="which its files are written by"):
        call(session, f"repair_overwrite_hoodie_props('acted', '{changed}')")
    assert call(session, "upgrade_table('acted', 'EIGHT')") == [(True,)]
    with pytest.raises(SparkError, match="the table is of version 8"):
        call(session, "upgrade_table('acted', 'SIX')")
    assert call(session, "upgrade_table('acted', 'NINE')") == [(True,)]
    assert call(session, "downgrade_table('acted', 'EIGHT')") == [(True,)]
    with pytest.raises(SparkError, match="is not carried out: it starts a job of Hudi's"):
        call(session, "hdfs_parquet_import('acted', 'COPY_ON_WRITE', 'a', 'b', 'id', 'p', 's')")


@pytest.mark.long
def test_copies_and_exports(table, tmp_path):
    session = table("cow")
    folder = tmp_path / "exported"
    folder.mkdir()
    [(text,)] = call(session, f"export_instants('acted', '{folder}', actions => 'commit')")
    assert text == f"Exported 1 Instants to {folder}"
    assert [one.suffix for one in folder.iterdir()] == [".commit"]
    assert b"partitionToWriteStats" in next(folder.iterdir()).read_bytes()
    assert call(session, "copy_to_temp_view(table => 'acted', view_name => 'seen')") == [(0,)]
    assert session.sql("SELECT id FROM seen WHERE p = 'y'").collect() == [(2,)]
    with pytest.raises(SparkError, match="an incremental query goes from an instant to another"):
        call(session, "copy_to_temp_view(table => 'acted', view_name => 'seen', query_type => 'incremental')")
    assert call(session, "copy_to_table(table => 'acted', new_table => 'copied', columns => 'id')") == [(0,)]
    assert sorted(session.table("copied").collect()) == [(1,), (2,)]
    session.sql("DROP TABLE copied")
    assert call(session, "run_ttl(table => 'acted', retain_days => 1)") == []


@pytest.mark.long
def test_partitions_die_of_age(table, tmp_path):
    session, path = table("cow"), tmp_path / "acted"
    metafile = path / "p=x" / ".hoodie_partition_metadata"
    metafile.write_text("commitTime=20200101000000000\npartitionDepth=1\n")
    done = call(session, "run_ttl(table => 'acted', ttl_policy => 'KEEP_BY_CREATION_TIME', retain_days => 30)")
    assert done == [("p=x",)]
    assert rows(session) == [(2, 1.0)]


@pytest.mark.long
def test_a_partition_that_is_written_meanwhile_does_not_die(new_session, tmp_path, monkeypatch):
    path, session = tmp_path / "acted", new_session()
    HudiTable.create(path, name="acted", version=8, **KEYS)
    writer = LocalWriter(HudiTable.open(path).client)
    writer.clock = InstantClock(lambda: time.time_ns() // 1_000_000 - 40 * 86_400_000)
    writer.write(pa.table(ROWS))
    begin = WriteTransaction.begin

    def late(transaction):
        """Others write before the deletion has the lock."""
        monkeypatch.setattr(WriteTransaction, "begin", begin)
        HudiTable.open(path).upsert(pa.table(ROWS).slice(0, 1))
        begin(transaction)

    monkeypatch.setattr(WriteTransaction, "begin", late)
    assert call(session, f"run_ttl(path => '{path}', retain_days => 30)") == [("p=y",)]
    assert HudiTable.open(path).scan().to_arrow()["id"].to_pylist() == [1]


@pytest.mark.long
def test_a_sync_takes_from_the_session_what_the_procedure_has_no_parameter_for(table):
    session = table("cow")
    session.conf.set("hudi_hive.sync.connections", "0")
    with pytest.raises(InvalidOptionError, match=r"hudi_hive\.sync\.connections"):
        call(session, "hive_sync(table => 'acted', metastore_uri => 'thrift://127.0.0.1:1')")
