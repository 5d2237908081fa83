"""The client when things go wrong: broken connections, slow or small servers, several addresses, threads."""

from __future__ import annotations

import pickle
import socket
import subprocess
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from hudi_hive.errors import (
    AlreadyExistsError,
    InvalidOptionError,
    MetastoreConnectError,
    MetastoreError,
    MetastoreLostError,
    MetastoreServerError,
    MetastoreTimeoutError,
    MetastoreTransportError,
    MethodNotSupportedError,
    NoSuchObjectError,
    TableChangedError,
)
from hudi_hive.metastore import BatchSizes, Database, HiveMetastore, Partition, Retries, Timeouts
from hudi_hive.metastore.connection.address import parse_addresses
from hudi_hive.testing import FakeMetastore
from tests.support.metastore.metastore_behaviour import add_numbered, partition_of, table_of
from tests.support.running.waiting import wait_until

FAST = Retries(attempts=3, wait=0.001, wait_max=0.01)


@pytest.fixture
def server():
    with FakeMetastore() as server:
        yield server


@pytest.fixture
def client(server):
    with HiveMetastore(server.uri, retries=FAST, timeouts=Timeouts(connect=5, read=10)) as client:
        yield client


@pytest.fixture
def table(server, client, tmp_path):
    client.create_table(table_of("default", "t", tmp_path / "t"))
    return client.table("default", "t")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# -- batches of partitions -------------------------------------------------------------------------------------------


def test_batches_are_pipelined_over_the_pool(server, client, table, tmp_path):
    names = add_numbered(client, table, 750, tmp_path)
    server.inject("delay", method="get_partitions_by_names", times=None, seconds=0.05)
    assert [f"p={p.values[0]}" for p in client.partitions("default", "t", names)] == names
    assert sorted(server.sizes("get_partitions_by_names")) == sorted([10, 20, 40, 80, *[100] * 6])
    assert (server.connections, server.most_at_once) == (4, 4)


def test_first_partitions_come_before_the_last_batch_is_asked_for(server, client, table, tmp_path):
    names = add_numbered(client, table, 1000, tmp_path)
    stream = client.partitions("default", "t", names)
    assert next(stream).values == ["0000"]
    assert len(server.sizes("get_partitions_by_names")) <= 5
    stream.close()


def test_refused_batches_are_halved_and_the_size_is_kept(server, client, table, tmp_path):
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
def test_any_limit_is_found(server, table, tmp_path, kind, pool_size):
    with HiveMetastore(server.uri, retries=FAST, pool_size=pool_size) as client:
        names = add_numbered(client, table, 60, tmp_path)
        server.inject(kind, method="get_partitions_by_names", larger_than=3, times=None)
        assert [f"p={p.values[0]}" for p in client.partitions("default", "t")] == names


def test_a_batch_that_takes_too_long_is_halved(server, table, tmp_path):
    with HiveMetastore(server.uri, retries=FAST, timeouts=Timeouts(read=1.0)) as client:
        names = add_numbered(client, table, 60, tmp_path)
        server.inject("delay", method="get_partitions_by_names", larger_than=12, times=None, seconds=1.5)
        assert [f"p={p.values[0]}" for p in client.partitions("default", "t", names)] == names


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
    server.inject("delay", seconds=0.5, times=None)
    with HiveMetastore(server.uri, retries=FAST, timeouts=Timeouts(read=0.1)) as client:
        with pytest.raises(MetastoreTimeoutError, match=r"within 0\.1 s"):
            client.databases()
        assert client.calls == {"get_all_databases": 1}


def test_no_retries(server):
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


# -- servers that are not there, or not what they seem --------------------------------------------------------------


def test_nobody_listens():
    uri = f"thrift://127.0.0.1:{free_port()}"
    with HiveMetastore(uri, retries=FAST) as client, pytest.raises(MetastoreConnectError) as caught:
        client.databases()
    assert caught.value.path == uri
    assert "refused" in str(caught.value) and "\n" not in str(caught.value)


def test_unknown_host():
    client = HiveMetastore("thrift://no-such-host.invalid:9083", retries=FAST)
    with client, pytest.raises(MetastoreConnectError, match="cannot connect"):
        client.databases()


def test_nobody_accepts():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:  # the queue of a listener that accepts nothing fills up
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        timeouts = Timeouts(connect=0.1, read=0.1)
        client = HiveMetastore(f"thrift://127.0.0.1:{port}", timeouts=timeouts, retries=Retries(attempts=1))
        with client, pytest.raises((MetastoreConnectError, MetastoreTimeoutError), match=r"within 0\.1 s"):
            client.databases()
        for filler in fillers:
            filler.close()


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", b"\x05\x00\x00\x00\x05Error", b"\x00" * 64, b""],
)
def test_something_else_listens(answer):
    def serve(listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(1000)
                connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        uri = f"thrift://127.0.0.1:{listener.getsockname()[1]}"
        with HiveMetastore(uri, retries=FAST, timeouts=Timeouts(read=2)) as client:
            with pytest.raises(MetastoreError) as caught:
                client.databases()
            assert caught.value.path == uri
        listener.shutdown(socket.SHUT_RDWR)


def test_the_server_dies_midway(server, client, table, tmp_path):
    add_numbered(client, table, 300, tmp_path)
    server.inject("die", method="get_partitions_by_names", at=4)
    with pytest.raises(MetastoreTransportError) as caught:
        list(client.partitions("default", "t"))
    assert caught.value.path == server.uri
    with pytest.raises(MetastoreTransportError):  # lost, where an idle connection has not noticed the death yet
        client.databases()


def test_a_dead_server_answers_on_no_connection(server):
    with HiveMetastore(server.uri, retries=Retries(attempts=1)) as client:
        client.databases()
        listener, server._listener = server._listener, None  # dying: this connection is not broken yet
        with pytest.raises(MetastoreLostError):
            client.databases()
        server._listener = listener
    assert server.counts == {"get_all_databases": 1}


def test_a_single_call_on_a_dying_server_is_lost(server, client):
    client.databases()
    server.inject("die")
    with pytest.raises(MetastoreLostError, match=r"middle of get_database.*refused"):
        client.database("default")


def test_a_method_that_the_server_lacks():
    with FakeMetastore(without=("get_table_req",)) as server, HiveMetastore(server.uri) as client:
        with pytest.raises(MethodNotSupportedError, match="get_table_req"):
            client.table("default", "t")
        assert client.databases() == ["default"]
        assert server.connections == 1


def test_wrong_types_in_a_request_are_our_errors(client, table):
    with pytest.raises(MetastoreError):
        client.add_partitions("default", "t", [Partition(values=[1])])
    assert client.databases() == ["default"]


# -- changes that ask for a value of a parameter ---------------------------------------------------------------------


def test_an_expected_parameter_guards_a_change(table, client):
    table.parameters = {"stamp": "1"}
    client.alter_table("default", "t", table)
    table.parameters = {"stamp": "2"}
    client.alter_table("default", "t", table, expected=("stamp", "1"))
    with pytest.raises(TableChangedError, match="has been modified"):
        client.alter_table("default", "t", table, expected=("stamp", "1"))
    assert client.calls["get_table_req"] == 1


def test_a_metastore_that_cannot_compare_is_asked_once(tmp_path):
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


# -- several addresses ----------------------------------------------------------------------------------------------


def test_failover_and_staying_there():
    dead = f"thrift://127.0.0.1:{free_port()}"
    with FakeMetastore() as server, HiveMetastore([dead, server.uri], retries=FAST) as client:
        assert client.databases() == ["default"]
        assert client.uri == server.uri
        client._pool._idle.pop().close()
        assert client.databases() == ["default"]
        assert client.calls == {"get_all_databases": 2}


def test_failover_when_the_first_one_dies(server):
    with FakeMetastore() as second, HiveMetastore(f"{server.uri},{second.uri}", retries=FAST) as client:
        assert client.databases() == ["default"]
        second.catalog.create_database(Database(name="only_here"))
        server.inject("die")
        assert client.databases() == ["default", "only_here"]
        assert client.uri == second.uri


def test_failover_when_something_accepts_for_a_dead_one(server):
    def serve(listener):
        with suppress(OSError):
            while True:
                listener.accept()[0].close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        uris = [f"thrift://127.0.0.1:{listener.getsockname()[1]}", server.uri]
        with HiveMetastore(uris, retries=FAST) as client:
            assert client.databases() == ["default"]
            assert client.uri == server.uri and client.calls == {"get_all_databases": 2}
        listener.shutdown(socket.SHUT_RDWR)


def test_what_breaks_before_the_call_is_sent_leaves_no_doubt(server):
    server.inject("drop", method="set_ugi", times=2)
    with HiveMetastore(server.uri, retries=FAST, ugi="etl") as client:
        client.create_database("d")  # never sent twice
        assert client.calls == {"set_ugi": 3, "create_database": 1}
    client.close()
    with pytest.raises(MetastoreTransportError, match="closed") as caught:
        client.create_database("e")
    assert "unknown" not in str(caught.value)


def test_all_addresses_dead():
    uris = [f"thrift://127.0.0.1:{free_port()}" for _ in range(2)]
    with HiveMetastore(uris, retries=FAST) as client, pytest.raises(MetastoreConnectError) as caught:
        client.databases()
    assert all(uri in str(caught.value) for uri in uris)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("thrift://h:1", ["thrift://h:1"]),
        ("thrift://h", ["thrift://h:9083"]),
        ("h:7, thrift://g:8 ,", ["thrift://h:7", "thrift://g:8"]),
        (["thrift://h:1,thrift://i:2", "thrift://j/"], ["thrift://h:1", "thrift://i:2", "thrift://j:9083"]),
        ("thrift://[::1]:9", ["thrift://[::1]:9"]),
    ],
)
def test_addresses(given, expected):
    assert [str(address) for address in parse_addresses(given)] == expected


@pytest.mark.parametrize(
    "given", ["", [], "http://h:1", "thrift://", "thrift://h:x", "thrift://h:99999", "thrift://u@h:1"]
)
def test_addresses_refused(given):
    with pytest.raises(InvalidOptionError):
        HiveMetastore(given)


@pytest.mark.parametrize(
    "given",
    [
        "thrift://u:hunter2@h:1",
        "u:hunter2@h:1",
        "thrift://u:hunter2@h:x",
        "thrift://[u:hunter2@",
        "thrift://u:hunter2?x@h:1",
        "thrift://u:x?hunter2@h:1",
        "thrift://u:x#hunter2@h:1",
        "thrift://h:1?user=u&password=hunter2",
        "thrift://h:1?principal=hive/_HOST@R&password=hunter2@x",
        "thrift+tls://h:1?key_password=hunter2",
        "thrift://h:x?password=hunter2",
        "http://h:1?password=hunter2",
    ],
)
def test_refused_addresses_keep_their_password(given):
    with pytest.raises(InvalidOptionError, match="metastore URI") as caught:
        HiveMetastore(given)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


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
    server.inject("delay", seconds=20, times=None)
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


def test_repr(server, client):
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
