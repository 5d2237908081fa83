"""Several addresses of a metastore, and servers that are not there, die, or are no metastore."""

from __future__ import annotations

import socket
import threading
import traceback
from contextlib import suppress

import pytest

from hudi_hive.errors import (
    InvalidOptionError,
    MetastoreConnectError,
    MetastoreError,
    MetastoreLostError,
    MetastoreTimeoutError,
    MetastoreTransportError,
    MethodNotSupportedError,
)
from hudi_hive.metastore import Database, HiveMetastore, Partition, Retries, Timeouts
from hudi_hive.metastore.connection.address import parse_addresses
from hudi_hive.testing import FakeMetastore
from tests.metastore.shared.client_helpers import FAST, client, server, table
from tests.support.metastore.metastore_behaviour import add_numbered

__all__ = ["client", "server", "table"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# -- servers that are not there, or not what they seem --------------------------------------------------------------


def test_an_address_without_a_server_is_an_error():
    uri = f"thrift://127.0.0.1:{free_port()}"
    with HiveMetastore(uri, retries=FAST) as client, pytest.raises(MetastoreConnectError) as caught:
        client.databases()
    assert caught.value.path == uri
    assert "refused" in str(caught.value) and "\n" not in str(caught.value)


def test_a_host_that_does_not_exist_is_an_error():
    client = HiveMetastore("thrift://no-such-host.invalid:9083", retries=FAST)
    with client, pytest.raises(MetastoreConnectError, match="cannot connect"):
        client.databases()


def test_a_server_that_accepts_no_connection_is_an_error():
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
    ("addresses", "expected"),
    [
        ("thrift://h:1", ["thrift://h:1"]),
        ("thrift://h", ["thrift://h:9083"]),
        ("h:7, thrift://g:8 ,", ["thrift://h:7", "thrift://g:8"]),
        (["thrift://h:1,thrift://i:2", "thrift://j/"], ["thrift://h:1", "thrift://i:2", "thrift://j:9083"]),
        ("thrift://[::1]:9", ["thrift://[::1]:9"]),
    ],
)
def test_addresses_are_parsed(addresses, expected):
    assert [str(address) for address in parse_addresses(addresses)] == expected


@pytest.mark.parametrize(
    "addresses", ["", [], "ftp://h:1", "thrift://", "thrift://h:x", "thrift://h:99999", "thrift://u@h:1"]
)
def test_wrong_addresses_are_refused(addresses):
    with pytest.raises(InvalidOptionError):
        HiveMetastore(addresses)


@pytest.mark.parametrize(
    "addresses",
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
def test_refused_addresses_keep_their_password(addresses):
    with pytest.raises(InvalidOptionError, match="metastore URI") as caught:
        HiveMetastore(addresses)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
