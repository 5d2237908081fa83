"""The client when things go wrong: broken connections, slow or small servers, several addresses, threads."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hudi_hive.errors import (
    AlreadyExistsError,
    InvalidOptionError,
    MetastoreLostError,
    MetastoreServerError,
    MetastoreTimeoutError,
    MetastoreTransportError,
    NoSuchObjectError,
    TableChangedError,
)
from hudi_hive.metastore import BatchSizes, HiveMetastore, Retries, Timeouts
from hudi_hive.testing import FakeMetastore
from tests.metastore.shared.client_helpers import FAST, client, server, table
from tests.support.metastore.metastore_behaviour import add_numbered, partition_of, table_of
from tests.support.running.waiting import wait_until

__all__ = ["client", "server", "table"]


# -- batches of partitions -------------------------------------------------------------------------------------------


def test_batches_are_pipelined_over_the_pool(server, client, table, tmp_path):
    names = add_numbered(client, table, 750, tmp_path)
    server.inject("delay", method="get_partitions_by_names", times=None, seconds=0.05)
    assert [f"p={p.values[0]}" for p in client.partitions("default", "t", names)] == names
    assert sorted(server.sizes("get_partitions_by_names")) == sorted([10, 20, 40, 80, *[100] * 6])
    assert (server.connections, server.most_at_once) == (4, 4)


def test_first_partitions_come_before_the_last_batch_is_requested(server, client, table, tmp_path):
    names = add_numbered(client, table, 1000, tmp_path)
    stream = client.partitions("default", "t", names)
    assert next(stream).values == ["0000"]
    assert len(server.sizes("get_partitions_by_names")) <= 5
    stream.close()


def test_refused_batches_are_halved_and_later_batches_keep_the_smaller_size(server, client, table, tmp_path):
    names = add_numbered(client, table, 300, tmp_path)
    server.inject("refuse", method="get_partitions_by_names", larger_than=25, times=None)
    assert [f"p={p.values[0]}" for p in client.partitions("default", "t", names)] == names
    # Of the sizes that grew before the first refusal came back each was tried at most once, then halves of 40 at most.
    refused = [size for size in server.sizes("get_partitions_by_names") if size > 25]
    assert 40 in refused and set(refused) <= {40, 50, 80, 100} and len(refused) == len(set(refused))


def test_refused_batches_one_after_the_other(server, table, tmp_path):
    with HiveMetastore(server.uri, pool_size=1) as client:
        names = add_numbered(client, table, 120, tmp_path)
        server.inject("refuse", method="get_partitions_by_names", larger_than=25, times=None)
        assert [f"p={p.values[0]}" for p in client.partitions("default", "t", names)] == names
    assert server.sizes("get_partitions_by_names") == [10, 20, 40, 20, 20, 20, 20, 10]


@pytest.mark.parametrize("pool_size", [1, 3])
@pytest.mark.parametrize("kind", ["refuse", "internal", "drop", "drop after"])
def test_batches_are_halved_until_they_fit_any_limit_of_the_server(server, table, tmp_path, kind, pool_size):
    with HiveMetastore(server.uri, retries=FAST, pool_size=pool_size) as client:
        names = add_numbered(client, table, 60, tmp_path)
        server.inject(kind, method="get_partitions_by_names", larger_than=3, times=None)
        assert [f"p={p.values[0]}" for p in client.partitions("default", "t")] == names


def test_a_batch_that_takes_too_long_is_halved(server, client, table, tmp_path):
    names = add_numbered(client, table, 60, tmp_path)
    server.inject("delay", method="get_partitions_by_names", larger_than=12, times=None, seconds=120)
    with HiveMetastore(server.uri, retries=FAST, timeouts=Timeouts(read=3.0)) as hasty:
        assert [f"p={p.values[0]}" for p in hasty.partitions("default", "t", names)] == names


def test_a_single_partition_that_fails_is_an_error(server, client, table, tmp_path):
    add_numbered(client, table, 30, tmp_path)
    server.inject("refuse", method="get_partitions_by_names", times=None, message="not today")
    with pytest.raises(MetastoreServerError, match=r"partitions of default\.t: not today"):
        list(client.partitions("default", "t"))
    # Batches run side by side, so the single one need not be the last that arrives.
    assert 1 in server.sizes("get_partitions_by_names")


def test_errors_that_have_nothing_to_do_with_size_are_not_halved(server, client):
    with pytest.raises(NoSuchObjectError):
        list(client.partitions("default", "missing", ["p=1", "p=2", "p=3"]))
    assert server.sizes("get_partitions_by_names") == [3]


def test_one_dropped_connection_costs_one_repeated_call(server, client, table, tmp_path):
    names = add_numbered(client, table, 200, tmp_path)
    server.inject("drop", method="get_partitions_by_names", at=3)
    with client.call_counter.measure() as calls:
        assert [f"p={p.values[0]}" for p in client.partitions("default", "t")] == names
    assert calls == {"get_partition_names": 1, "get_partitions_by_names": 6}


def test_writes_are_batched_in_order(server, client, table, tmp_path):
    partitions = [partition_of(table, [f"{i:03d}"], tmp_path / "same") for i in range(25)]
    client.add_partitions("default", "t", partitions, batch_size=10)
    client.alter_partitions("default", "t", partitions, batch_size=20)
    client.drop_partitions("default", "t", [f"p={i:03d}" for i in range(25)], batch_size=25)
    assert server.sizes("add_partitions_req") == [10, 10, 5]
    assert server.sizes("alter_partitions_with_environment_context") == [20, 5]
    assert server.sizes("drop_partitions_req") == [25]
    assert client.add_partitions("default", "t", []) is None
    with pytest.raises(InvalidOptionError):
        client.add_partitions("default", "t", partitions, batch_size=0)


def test_partitions_are_added_on_several_connections(server, client, table, tmp_path):
    partitions = [partition_of(table, [f"{i:03d}"], tmp_path / "same") for i in range(64)]
    server.inject("refuse", method="add_partitions_req", larger_than=10, times=None)
    client.add_partitions("default", "t", partitions, batch_size=16, ahead=3)
    assert client.partition_names("default", "t") == [f"p={i:03d}" for i in range(64)]
    added = [size for size in server.sizes("add_partitions_req") if size <= 10]
    assert sum(added) == 64
    with pytest.raises(AlreadyExistsError):
        client.add_partitions("default", "t", partitions, batch_size=8, ahead=4, if_not_exists=False)


def test_an_error_of_one_batch_comes_when_no_other_is_under_way(server, client, table, tmp_path):
    names = add_numbered(client, table, 40, tmp_path)
    moved = [partition_of(table, [name[2:]], tmp_path / "moved") for name in names]
    method = "alter_partitions_with_environment_context"
    server.inject("drop", method=method, at=2)
    server.inject("delay", method=method, times=None, seconds=0.1)
    with pytest.raises(MetastoreLostError):
        client.alter_partitions("default", "t", moved, batch_size=4, ahead=4)
    sent = len(server.sizes(method))
    assert 2 <= sent < 10
    altered = [p for p in client.partitions("default", "t") if p.sd.location == f"{tmp_path}/moved"]
    assert len(altered) == (sent - 1) * 4
    assert len(server.sizes(method)) == sent


def test_refused_write_batches_are_halved(server, client, table, tmp_path):
    server.inject("refuse", method="add_partitions_req", larger_than=6, times=None)
    names = add_numbered(client, table, 40, tmp_path)
    assert client.partition_names("default", "t") == names
    assert server.sizes("add_partitions_req") == [40, 20, 10, *[5] * 8]


def test_a_failed_write_leaves_a_prefix(server, client, table, tmp_path):
    server.inject("drop", method="alter_partitions_with_environment_context", at=2)
    names = add_numbered(client, table, 9, tmp_path)
    moved = [partition_of(table, [name[2:]], tmp_path / "moved") for name in names]
    with pytest.raises(MetastoreLostError):
        client.alter_partitions("default", "t", moved, batch_size=3)
    places = [p.sd.location for p in client.partitions("default", "t")]
    assert [place == f"{tmp_path}/moved" for place in places] == [True] * 3 + [False] * 6


# -- retries ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["drop", "drop after"])
def test_reads_survive_dropped_connections(server, client, kind):
    server.inject(kind, times=2)
    assert client.databases() == ["default"]
    assert client.calls == {"get_all_databases": 3}


def test_reads_give_up_after_the_last_attempt(server, client):
    server.inject("drop", times=None)
    with pytest.raises(MetastoreLostError, match="in the middle of get_all_databases") as caught:
        client.databases()
    assert caught.value.path == server.uri
    assert caught.value.remedy
    assert server.counts == {"get_all_databases": 3}


@pytest.mark.parametrize("kind", ["drop", "drop after"])
def test_writes_that_cannot_be_repeated_are_not(server, client, table, kind):
    before = client.calls
    for method, call in {
        "create_table": lambda: client.create_table(table_of("default", "u", "/tmp/u")),
        "alter_table_with_environment_context": lambda: client.alter_table("default", "t", table),
        "drop_table": lambda: client.drop_table("default", "t"),
        "create_database": lambda: client.create_database("d"),
    }.items():
        server.inject(kind, method=method)
        with pytest.raises(MetastoreLostError, match="whether it was done is unknown"):
            call()
        assert client.calls[method] - before[method] == 1


def test_writes_that_can_be_repeated_are(server, client, table, tmp_path):
    for method in ("add_partitions_req", "drop_partitions_req", "create_database", "drop_table"):
        server.inject("drop after", method=method)
    names = add_numbered(client, table, 3, tmp_path)
    client.drop_partitions("default", "t", names)
    # The first try did it, so the second finds it done.
    assert client.create_database("d", if_not_exists=True) is False
    assert client.drop_table("default", "t", if_exists=True) is False
    assert client.databases() == ["d", "default"] and client.tables("default") == []


def test_a_read_that_times_out_is_not_repeated(server):
    server.inject("delay", seconds=120, times=None)
    with HiveMetastore(server.uri, retries=FAST, timeouts=Timeouts(read=0.1)) as client:
        with pytest.raises(MetastoreTimeoutError, match=r"within 0\.1 s"):
            client.databases()
        assert client.calls == {"get_all_databases": 1}


def test_a_client_of_one_attempt_does_not_repeat_calls(server):
    server.inject("drop")
    with HiveMetastore(server.uri, retries=Retries(attempts=1)) as client:
        with pytest.raises(MetastoreLostError):
            client.databases()
        assert client.databases() == ["default"]


def test_a_connection_that_the_server_closed_while_idle_costs_nothing(server, client, table):
    server.stop()
    server.start()
    before = client.calls
    client.alter_table("default", "t", table)  # would not be repeated
    assert (client.calls - before).total() == 1


# -- changes that ask for a value of a parameter ---------------------------------------------------------------------


def test_an_expected_parameter_guards_a_change(table, client):
    table.parameters = {"stamp": "1"}
    client.alter_table("default", "t", table)
    table.parameters = {"stamp": "2"}
    client.alter_table("default", "t", table, expected=("stamp", "1"))
    with pytest.raises(TableChangedError, match="has been modified"):
        client.alter_table("default", "t", table, expected=("stamp", "1"))
    assert client.calls["get_table_req"] == 1


def test_a_metastore_without_guarded_changes_gets_one_such_call(tmp_path):
    with FakeMetastore(can_compare=False) as server, HiveMetastore(server.uri) as client:
        client.create_table(table_of("default", "t", tmp_path / "t"))
        table = client.table("default", "t")
        table.parameters["stamp"] = "0"
        client.alter_table("default", "t", table)
        server.calls.clear()
        for number in range(3):
            table.parameters["stamp"] = str(number + 1)
            client.alter_table("default", "t", table, expected=("stamp", str(number)))
        assert client.table("default", "t").parameters["stamp"] == "3"
        assert server.counts == {"alter_table_with_environment_context": 4, "get_table_req": 4}
        with pytest.raises(TableChangedError, match=r"default\.t has been modified: stamp is '3', not '1'") as caught:
            client.alter_table("default", "t", table, expected=("stamp", "1"))
        assert caught.value.path == server.uri
        assert server.counts["alter_table_with_environment_context"] == 4


def test_two_changes_at_once_on_a_metastore_that_cannot_compare(tmp_path):
    with FakeMetastore(can_compare=False) as server, HiveMetastore(server.uri) as client:
        tables = [table_of("default", name, tmp_path / name, parameters={"stamp": "0"}) for name in ("a", "b")]
        for table in tables:
            client.create_table(table)
        server.inject("delay", method="alter_table_with_environment_context", times=2, seconds=0.1)
        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda t: client.alter_table("default", t.tableName, t, expected=("stamp", "0")), tables))
        assert server.counts["alter_table_with_environment_context"] == 4


# -- the rest --------------------------------------------------------------------------------------------------------


def test_many_threads_share_few_connections(server, table):
    with HiveMetastore(server.uri, pool_size=2) as client:
        results: list[int] = []

        def work():
            results.extend(len(client.table("default", "t").sd.cols) for _ in range(20))

        threads = [threading.Thread(target=work) for _ in range(8)]
        before = server.connections
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [2] * 160
        assert server.connections - before <= 2
        assert client.calls == {"get_table_req": 160}


def test_closing_ends_waiting_calls(server):
    server.inject("delay", seconds=120, times=None)
    client = HiveMetastore(server.uri, retries=FAST)
    caught: list[BaseException] = []

    def work():
        try:
            client.databases()
        except MetastoreTransportError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: server.calls, "the call is under way")
    client.close()
    thread.join()
    assert len(caught) == 1  # it did not wait for the answer
    with pytest.raises(MetastoreTransportError, match="closed"):
        client.databases()
    client.close()


def test_user_is_announced_once_a_connection(server):
    with HiveMetastore(server.uri, ugi="etl") as client:
        client.databases()
        client.databases()
    assert [(call.method, *call.arguments[:1]) for call in server.calls] == [
        ("set_ugi", "etl"),
        ("get_all_databases",),
        ("get_all_databases",),
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Timeouts(connect=0),
        lambda: Timeouts(read=-1),
        lambda: Retries(attempts=0),
        lambda: Retries(wait=2, wait_max=1),
        lambda: BatchSizes(initial=0),
        lambda: BatchSizes(initial=200),
        lambda: BatchSizes(write=0),
        lambda: HiveMetastore("h:1", pool_size=0),
    ],
)
def test_settings_are_checked(make):
    with pytest.raises(InvalidOptionError):
        make()


def test_names_and_filter_together_are_refused(client):
    with pytest.raises(InvalidOptionError):
        list(client.partitions("default", "t", ["p=1"], filter='p = "1"'))
    with pytest.raises(InvalidOptionError):
        client.partition_names("default", "t", -5)


def test_structs_compare_copy_and_pickle(table):
    twin = pickle.loads(pickle.dumps(table))
    assert twin == table
    twin.sd.cols[0].name = "other"
    assert twin != table
    with pytest.raises(AttributeError):
        table.tablename = "typo"


def test_repr_has_address_and_number_of_calls(server, client):
    client.databases()
    assert repr(client) == f"HiveMetastore('{server.uri}', calls=1)"


def test_import_is_light():
    code = (
        "import sys; import hudi_hive.metastore; "
        "heavy = ('pyarrow', 'numpy', 'pyspark', 'tenacity', 'asyncio', 'ssl', 'subprocess', 'urllib.request'); "
        "print([m for m in (*heavy, 'hudi_hive.metastore.embedded.embedded') if m in sys.modules]); "
        "from hudi_hive.metastore import *; EmbeddedMetastore, Java, RunningMetastore, find_java, find_running"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
