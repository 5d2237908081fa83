"""Batches of partitions over several connections: how many, in which order, and what an error or a kill leaves."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import threading
from collections import Counter

import pytest

from hudi_hive.errors import InvalidOptionError, MetastoreLostError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.sync.run import sync_many
from hudi_hive.sync.table import LAST_COMMIT
from hudi_hive.testing import FakeMetastore
from tests.support.faults.sync_faults import Stage, Story, die_everywhere, spoil_partitions
from tests.support.fixture_tables import unzip_fixture
from tests.support.metastore.held_calls import hold_until_together
from tests.support.metastore.sync_behaviour import DATABASE, state
from tests.support.running.waiting import SECONDS, wait_until

ADD, DROP = "add_partitions_req", "drop_partitions_req"
ALTER, STAMP = "alter_partitions_with_environment_context", "alter_table_with_environment_context"
ALL = 250
BATCH = 25


@pytest.fixture
def server(tmp_path):
    with FakeMetastore(tmp_path / "metastore") as fake:
        yield fake


@pytest.fixture
def client(server):
    with HiveMetastore(server.uri) as client:
        yield client


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return unzip_fixture("v8_cow_wide_250", tmp_path_factory.mktemp("lake"))


def config_of(server, path, **settings):
    settings = {"batch_size": BATCH, "table": "wide", **settings}
    return HiveSyncConfig(base_path=str(path), metastore_uris=server.uri, database=DATABASE, **settings)


def most_at_once(server):
    """The most calls under way at once from now on, by method."""
    lock, under_way, most, handle = threading.Lock(), Counter(), Counter(), server.handle

    def counted(method, arguments, listener):
        with lock:
            under_way[method] += 1
            most[method] = max(most[method], under_way[method])
        try:
            return handle(method, arguments, listener)
        finally:
            with lock:
                under_way[method] -= 1

    server.handle = counted
    return most


def first_of(arguments):
    """The values of the first partition of a call that adds some."""
    return tuple(arguments[0].parts[0].values)


def held_back(server, batches):
    """Hold the calls that add these batches, by their first partitions; gives those held, and what lets them go on.

    By what they add, not by when they arrive: calls that go side by side arrive in any order.
    """
    go_on, held, handle = threading.Event(), [], server.handle

    def holding(name, arguments, listener):
        if name == ADD and first_of(arguments) in batches:
            held.append(name)
            go_on.wait(SECONDS)
        return handle(name, arguments, listener)

    server.handle = holding
    return held, go_on


def open_connections(server):
    return len(server._open)


def threads_of_clients():
    return {one for one in threading.enumerate() if one.name.startswith("metastore_")}


def spoil(client):
    """All partitions at a wrong place, and as many that are none."""
    partitions = list(client.partitions(DATABASE, "wide"))
    for item in partitions:
        item.sd.location += "_elsewhere"
    stale = copy.deepcopy(partitions)
    for number, item in enumerate(stale):
        item.values = [f"stale{number}"]
    client.alter_partitions(DATABASE, "wide", partitions)
    client.add_partitions(DATABASE, "wide", stale)


@pytest.mark.parametrize(("option", "connections"), [(1, 1), (3, 3), (None, 4)])
def test_batches_go_over_as_many_connections_as_the_option_says(server, table, option, connections):
    hold_until_together(server, ADD, connections, "wide")
    report = HiveSyncTool(config_of(server, table, connections=option)).sync()
    assert (server.connections, server.most_at_once) == (connections, connections)
    assert report.calls == server.counts
    assert report.calls[ADD] == ALL / BATCH
    assert server.sizes(ADD) == [BATCH] * (ALL // BATCH)


@pytest.mark.parametrize(("option", "at_once"), [(3, 3), (None, 1)])
def test_alterations_and_drops_use_the_connections_of_the_option(server, client, table, option, at_once):
    HiveSyncTool(config_of(server, table)).sync()
    expected = state(client, "wide")
    spoil(client)
    for method in (ALTER, DROP):
        hold_until_together(server, method, at_once, "wide")
    before, most = server.connections, most_at_once(server)
    report = HiveSyncTool(config_of(server, table, connections=option, incremental=False)).sync()
    assert (most[ALTER], most[DROP]) == (at_once, at_once)
    assert (report.calls[ALTER], report.calls[DROP]) == (10, 10)
    assert server.connections - before <= (option or 4)
    assert state(client, "wide") == expected


def test_the_stamp_comes_behind_all_batches(server, client, table):
    seen = []
    alter = server.catalog.alter_table_with_environment_context

    def noted(database, name, new, context):
        seen.append((len(server.catalog.get_partition_names(database, name, -1)), LAST_COMMIT in new.parameters))
        return alter(database, name, new, context)

    server.catalog.alter_table_with_environment_context = noted
    hold_until_together(server, ADD, 4, "wide")
    HiveSyncTool(config_of(server, table)).sync()
    assert seen == [(ALL, True)]


def test_merge_on_read_tables_have_their_three_names(server, client, tmp_path):
    path = unzip_fixture("v8_mor_part_rli", tmp_path)
    for name, connections in (("one", 1), ("four", 4)):
        config = config_of(server, path, table=name, connections=connections, batch_size=1)
        HiveSyncTool(config).sync()
    for ending in ("", "_ro", "_rt"):
        assert state(client, f"one{ending}")["partitions"] == state(client, f"four{ending}")["partitions"]
        assert len(state(client, f"four{ending}")["partitions"]) > 1


def test_an_error_of_one_batch_ends_the_sync_and_leaves_nothing_behind(server, client, table):
    HiveSyncTool(config_of(server, table)).sync()
    expected = state(client, "wide")
    spoil(client)
    hold_until_together(server, ALTER, 2, "wide")
    server.inject("drop", method=ALTER, at=2)
    calls, open_before, threads = server.counts, open_connections(server), threads_of_clients()
    with pytest.raises(MetastoreLostError):
        HiveSyncTool(config_of(server, table, connections=3, incremental=False)).sync()
    done = server.counts - calls
    assert 2 <= done[ALTER] <= 6
    assert not done.keys() & {DROP, STAMP}
    assert threads_of_clients() == threads
    wait_until(lambda: open_connections(server) == open_before, "the connections of the sync are closed")
    server.faults.clear()
    HiveSyncTool(config_of(server, table, incremental=False)).sync()
    assert state(client, "wide") == expected


_KILLED = """
import sys
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
path, uri, database = sys.argv[1:]
config = HiveSyncConfig(
    base_path=path, metastore_uris=uri, database=database, table="wide", batch_size=25, connections=3
)
HiveSyncTool(config).sync()
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_sync_that_was_killed_between_batches_is_repaired_by_the_next(server, client, table):
    HiveSyncTool(config_of(server, table, connections=1)).sync()
    batches = [first_of(call.arguments) for call in server.calls if call.method == ADD]  # in the order of a sync
    expected = state(client, "wide")
    client.drop_database(DATABASE, cascade=True)
    held, go_on = held_back(server, batches[4:])
    open_before = open_connections(server)
    sync = subprocess.Popen([sys.executable, "-c", _KILLED, str(table), server.uri, DATABASE])
    wait_until(lambda: len(held) == 3 or sync.poll() is not None, "some batches are under way")
    sync.kill()
    assert sync.wait() == -signal.SIGKILL
    # What was under way is still done: the metastore does not notice that nobody waits for it.
    go_on.set()
    wait_until(lambda: open_connections(server) == open_before, "the metastore has done what it got")
    left = state(client, "wide")
    assert len(left["partitions"]) == (4 + 3) * BATCH
    assert left["parameters"].get(LAST_COMMIT) != expected["parameters"][LAST_COMMIT]
    report = HiveSyncTool(config_of(server, table)).sync()
    assert report.rows()[0]["added"] == ALL - len(left["partitions"])
    assert state(client, "wide") == expected
    assert HiveSyncTool(config_of(server, table)).sync().is_noop


@pytest.mark.parametrize("answer_lost", [False, True])
def test_a_sync_of_many_batches_that_died_anywhere_can_be_run_again(client, tmp_path, answer_lost):
    settings = {"batch_size": 1, "connections": 3}
    stage = Stage(client, tmp_path, Story("cow_part", "01", "05", settings, spoil=spoil_partitions))
    assert len(die_everywhere(stage, answer_lost=answer_lost, connections=3)) >= 8


def test_many_tables_get_the_connections_of_their_own_options(server, table):
    hold_until_together(server, ADD, 2, "t2")
    configs = [config_of(server, table, table=f"t{number}", connections=number) for number in (1, 2)]
    report = sync_many(configs, workers=1)
    assert report.failed == ()
    assert (server.connections, server.most_at_once) == (3, 2)


def test_connections_are_refused_where_there_are_none_or_too_many(server, table):
    for number in (0, 65):
        with pytest.raises(InvalidOptionError, match="connections"):
            config_of(server, table, connections=number)


def test_glue_has_a_setting_of_its_own(table):
    options = {
        "hoodie.datasource.meta.sync.base.path": str(table),
        "hoodie.datasource.hive_sync.mode": "glue",
        "hudi_hive.sync.connections": "2",
    }
    (warning,) = HiveSyncConfig.from_options(options).warnings
    assert "hudi_hive.sync.connections is not used" in warning and "partition_change_parallelism" in warning
