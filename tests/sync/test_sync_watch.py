"""Syncs that go on, and syncs of many tables."""

from __future__ import annotations

import threading

import pytest

from hudi_hive.errors import InvalidOptionError, MetastoreTransportError, PathNotFoundError, TableNotFoundError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.sync.run.discover import discover_tables, expand_pattern, read_table_list
from hudi_hive.sync.run.many import sync_many
from hudi_hive.sync.run.watch import SyncWatcher, WatchSettings
from hudi_hive.table.core import MetaClient
from tests.support.fixture_tables import unzip_fixture
from tests.support.metastore.sync_behaviour import story_table
from tests.sync.shared.lake_helpers import NAMES, lake, server

__all__ = ["lake", "server"]


class Time:
    """A clock that only goes on while the watch waits; at given rounds it does something."""

    def __init__(self, **at):
        self.now = 0.0
        self.waits = []
        self.at = at

    def wait(self, seconds):
        self.waits.append(seconds)
        self.now += seconds
        self.at.get(f"after{len(self.waits)}", lambda: None)()


def watch(server, path, time, *, rounds, **settings):
    """Watch one table for some waits; gives its events."""
    events = []
    config = HiveSyncConfig(base_path=str(path), metastore_uris=server.uri, table="t")
    watcher = SyncWatcher(
        [config], WatchSettings(**settings), on_event=events.append, clock=lambda: time.now, wait=time.wait
    )
    time.at.setdefault(f"after{rounds}", watcher.stop)
    watcher.run()
    return events


# -- watching ------------------------------------------------------------------------------------------------------


def test_a_watch_syncs_only_what_is_new(server, tmp_path):
    path = story_table(tmp_path, "t", "01")
    calls = []

    def note():
        calls.append(len(server.calls))

    time = Time(after1=note, after2=lambda: (note(), story_table(tmp_path, "t", "03")), after3=note, after4=note)
    events = watch(server, path, time, rounds=5, interval=10)
    assert [event.row()["added"] for event in events] == [3, 1]
    assert [event.row()["event"] for event in events] == ["synced", "synced"]
    assert calls[0] == calls[1] < calls[2] == calls[3], "the metastore is left alone where nothing is new"
    assert time.waits == [10.0] * 5
    with HiveMetastore(server.uri) as client:
        assert len(client.partition_names("default", "t")) == 4


def test_a_completed_instant_that_is_no_write_is_looked_at_too(server, tmp_path):
    path = story_table(tmp_path, "t", "01")
    timeline = path / ".hoodie" / "timeline"
    time = Time(
        after1=lambda: (timeline / "29990101000000000.rollback.requested").write_bytes(b""),
        after2=lambda: (timeline / "29990101000000000_29990101000000001.rollback").write_bytes(b""),
    )
    events = watch(server, path, time, rounds=4)
    assert [event.row()["calls"] for event in events] == [6, 1]


def test_commits_are_synced_together_once_per_period(server, tmp_path):
    path = story_table(tmp_path, "t", "01")
    time = Time(after1=lambda: story_table(tmp_path, "t", "05"))
    events = watch(server, path, time, rounds=2, interval=5, once_per=60)
    assert time.waits == [60.0, 60.0]
    assert len(events) == 2


def test_a_watch_waits_out_a_metastore_that_is_down(server, tmp_path):
    path = story_table(tmp_path, "t", "01")
    server.stop()
    time = Time(after4=server.start)
    events = watch(server, path, time, rounds=6, interval=7, back_off=1, back_off_max=4)
    assert [event.failures for event in events] == [1, 2, 3, 4, 0]
    assert all(isinstance(event.error, MetastoreTransportError) for event in events[:4])
    longest = [1, 2, 4, 4]
    for most, wait, event in zip(longest, time.waits, events, strict=False):
        assert 0.75 * most <= wait <= most
        assert event.retry_in == pytest.approx(wait)
    assert time.waits[4:] == pytest.approx([7, 7])
    assert "attempt 2 in" in events[0].line()
    assert events[-1].report.rows()[0]["added"] == 3


def test_a_connection_that_broke_between_two_syncs_is_no_failure(server, tmp_path):
    path = story_table(tmp_path, "t", "01")

    def restart():
        server.stop()
        server.start()
        story_table(tmp_path, "t", "03")

    events = watch(server, path, Time(after1=restart), rounds=2)
    assert [event.error for event in events] == [None, None]


def test_a_table_that_vanished_does_not_stop_the_others(server, tmp_path):
    good, bad = story_table(tmp_path, "good", "01"), tmp_path / "bad"
    events = []
    time = Time()
    configs = [HiveSyncConfig(base_path=str(path), metastore_uris=server.uri, table=path.name) for path in (bad, good)]
    watcher = SyncWatcher(configs, on_event=events.append, clock=lambda: time.now, wait=time.wait)
    time.at["after1"] = watcher.stop
    watcher.run()
    assert [type(event.error) for event in events] == [TableNotFoundError, type(None)]


def test_a_watch_does_not_sync_two_tables_over_each_other(server, tmp_path):
    first, second = story_table(tmp_path, "first", "01"), story_table(tmp_path, "second", "01")
    events, time = [], Time()
    configs = [HiveSyncConfig(base_path=str(path), metastore_uris=server.uri, table="T") for path in (first, second)]
    watcher = SyncWatcher(configs, on_event=events.append, clock=lambda: time.now, wait=time.wait)
    time.at["after1"] = watcher.stop
    watcher.run()
    assert [type(event.error) for event in events] == [type(None), InvalidOptionError]
    with HiveMetastore(server.uri) as client:
        assert client.table("default", "t").sd.location.endswith("/first")


def test_a_long_interval_is_waited_in_parts(server, tmp_path):
    time = Time()
    watch(server, story_table(tmp_path, "t", "01"), time, rounds=2, interval=1e15)
    assert time.waits == [3600.0, 3600.0]


def test_a_stopped_watch_leaves_no_connection_and_no_thread(server, tmp_path):
    path = story_table(tmp_path, "t", "01")
    before = threading.enumerate()
    watch(server, path, Time(), rounds=1)
    left = [thread for thread in threading.enumerate() if thread not in before and "fake-metastore" not in thread.name]
    assert left == []


NAN, INF = {"interval": float("nan")}, {"interval": float("inf")}


def test_senseless_settings_are_refused(server):
    for wrong in ({"interval": 0}, {"once_per": -1}, {"back_off": 0}, {"back_off": 5, "back_off_max": 1}, NAN, INF):
        with pytest.raises(InvalidOptionError):
            WatchSettings(**wrong)
    with pytest.raises(InvalidOptionError, match="no table"):
        SyncWatcher([])
    with pytest.raises(InvalidOptionError, match="metastore"):
        SyncWatcher([HiveSyncConfig(base_path="/x")])


def test_tables_are_found_below_a_folder(lake):
    found = [f"{lake}/a/{NAMES[0]}", f"{lake}/a/{NAMES[1]}", f"{lake}/b/deep/{NAMES[2]}"]
    assert discover_tables(str(lake)) == found
    assert discover_tables(f"{lake}/") == found
    assert discover_tables(str(lake), depth=2) == found[:2]
    assert discover_tables(found[0]) == [found[0]]
    for folder in (lake / "a" / "no_table", lake / "nowhere"):
        with pytest.raises(PathNotFoundError):
            discover_tables(str(folder))


def test_patterns_name_tables(lake, monkeypatch):
    assert expand_pattern(f"{lake}/a/v8_*") == [f"{lake}/a/{name}" for name in NAMES[:2]]
    assert expand_pattern(f"{lake}/*/v8_cow_[n]onpart") == [f"{lake}/a/{NAMES[0]}"]
    assert expand_pattern(f"{lake}/?/d*/*") == [f"{lake}/b/deep/{NAMES[2]}"]
    assert expand_pattern("/no/wild/card") == ["/no/wild/card"]
    monkeypatch.chdir(lake)
    assert expand_pattern("*/v8_cow_nonpart") == [f"a/{NAMES[0]}"]
    with pytest.raises(PathNotFoundError, match="no Hudi table"):
        expand_pattern(f"{lake}/a/nothing*")


def test_lists_of_tables(tmp_path):
    path = tmp_path / "tables.txt"
    path.write_text("# all of them\n/lake/a\n\n'/lake/with blank' table=b database=d  # the second\n")
    first, second = read_table_list(str(path))
    assert (first.base_path, first.options) == ("/lake/a", {})
    assert second.base_path == "/lake/with blank"
    assert second.options == {"hoodie.datasource.hive_sync.table": "b", "hoodie.datasource.hive_sync.database": "d"}
    path.write_text("/lake/a\n/lake/b table\n")
    with pytest.raises(InvalidOptionError, match=r"tables\.txt:2"):
        read_table_list(str(path))


def test_one_that_fails_does_not_stop_the_others(server, lake, tmp_path):
    paths = [str(tmp_path / "nowhere"), *discover_tables(str(lake))]
    configs = [HiveSyncConfig(base_path=path, metastore_uris=server.uri) for path in paths]
    done = []
    report = sync_many(configs, workers=2, on_result=done.append)
    assert [item.result for item in report.results] == ["failed", "synced", "synced", "synced"]
    assert [item.base_path for item in report.results] == paths
    assert {item.base_path for item in done} == set(paths)
    assert isinstance(report.failed[0].error, TableNotFoundError)
    with HiveMetastore(server.uri) as client:
        assert set(client.tables("default")) >= {*NAMES[:2], f"{NAMES[2]}_ro", f"{NAMES[2]}_rt", NAMES[2]}
    again = sync_many(configs, workers=3)
    assert [item.result for item in again.results] == ["failed", *["nothing to do"] * 3]
    assert [row["calls"] for row in again.rows()] == [0, 1, 1, 1]


def test_a_fault_of_ours_with_one_table_does_not_hide_the_others(server, lake, monkeypatch):
    def broken(self, dry_run=False):
        if self.config.base_path.endswith(NAMES[0]):
            raise ZeroDivisionError("oops")
        return whole(self, dry_run)

    whole = HiveSyncTool.sync
    monkeypatch.setattr(HiveSyncTool, "sync", broken)
    report = sync_many(
        [HiveSyncConfig(base_path=path, metastore_uris=server.uri) for path in discover_tables(str(lake))]
    )
    assert sorted(item.result for item in report.results) == ["failed", "synced", "synced"]
    assert "unexpected ZeroDivisionError: oops" in str(report.failed[0].error)


def test_two_tables_of_one_name_are_not_synced_over_each_other(server, lake, tmp_path):
    other = unzip_fixture(NAMES[0], tmp_path)
    configs = [
        HiveSyncConfig(base_path=str(path), metastore_uris=server.uri) for path in (other, lake / "a" / NAMES[0])
    ]
    report = sync_many(configs)
    assert [item.result for item in report.results] == ["synced", "failed"]
    assert "is the name of" in str(report.failed[0].error)
    assert report.rows()[1]["detail"] == str(report.failed[0].error)


# -- reports -------------------------------------------------------------------------------------------------------


def test_a_report_counts_and_measures_each_step(server, tmp_path):
    path = story_table(tmp_path, "t", "03")
    config = HiveSyncConfig(base_path=str(path), metastore_uris=server.uri, table="t")
    report = HiveSyncTool(config).sync()
    steps = {(row["table"], row["step"]): row for row in report.step_rows()}
    assert list(steps) == [
        ("", "read table"),
        ("", "plan"),
        ("default.t", "create table"),
        ("default.t", "add partitions"),
        ("default.t", "alter table"),
    ]
    assert steps["default.t", "add partitions"]["objects"] == 4
    assert steps["default.t", "add partitions"]["calls"] == 1
    assert 0 < sum(item.seconds for item in report.steps) <= report.seconds
    assert report.attempts == 1
    assert "4 added" in report.line() and "6 calls" in report.line()


# -- stale timelines -----------------------------------------------------------------------------------------------


def test_an_old_timeline_never_moves_a_stamp_back(server, tmp_path):
    path = story_table(tmp_path, "t", "01")
    old = MetaClient.load(path)
    assert old.timeline.instants
    story_table(tmp_path, "t", "05")
    with HiveMetastore(server.uri) as client:
        config = HiveSyncConfig(base_path=str(path), table="t")
        first = HiveSyncTool(config, metastore=client).sync()
        second = HiveSyncTool(config, metastore=client, client=old).sync()
        assert second.plan.is_noop
        assert second.attempts == 2
        assert second.rows()[0]["last_commit_time_sync"] == first.rows()[0]["last_commit_time_sync"]
