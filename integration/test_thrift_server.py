"""The Spark Thrift Server of one's own: reachable from this machine only, gone when it should be."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_hive.errors import InvalidOptionError, MetastoreConnectError, MetastoreServerError, SparkError
from hudi_hive.metastore import HiveMetastore, Timeouts
from hudi_hive.spark import ThriftServer
from hudi_hive.sync.sql_server import SqlServer, parse_jdbc_url

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def server(metastore_uri: str, tmp_path_factory) -> Iterator[ThriftServer]:
    with ThriftServer(metastore_uri, directory=tmp_path_factory.mktemp("thriftserver")) as running:
        yield running


def alive(pid: int) -> bool:
    """Whether the process runs; one that nobody waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def listening(pid: int) -> set[tuple[str, int]]:
    """Addresses on which a process listens."""
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(os.readlink(link))
        except FileNotFoundError:
            continue
    found = set()
    for name, any_address in (("tcp", "0.0.0.0"), ("tcp6", "::")):
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                address, port = fields[1].split(":")
                local = address in ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")
                found.add(("127.0.0.1" if local else any_address, int(port, 16)))
    return found


def test_it_serves_the_metastore(server, metastore):
    with SqlServer(parse_jdbc_url(server.jdbc_url)) as session:
        assert session.is_spark
        session.execute("CREATE DATABASE IF NOT EXISTS served", "database served")
        assert "served" in metastore.databases()
        metastore.drop_database("served")
        with pytest.raises(MetastoreServerError, match="TABLE_OR_VIEW_NOT_FOUND"):
            session.execute("SELECT * FROM no_such_table", "a question")
        assert dict(session.statements) == {"CREATE DATABASE": 1}


def test_it_listens_on_loopback_only(server):
    found = listening(server.pid)
    assert ("127.0.0.1", server.port) in found
    assert {address for address, _ in found} == {"127.0.0.1"}


def test_the_wrong_kind_of_authentication_is_told(server):
    address = parse_jdbc_url(f"{server.jdbc_url};auth=noSasl")
    with pytest.raises(MetastoreConnectError, match="noSasl"):
        SqlServer(address, timeouts=Timeouts(connect=5.0))


def test_a_taken_port_is_told(metastore_uri, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = ThriftServer(metastore_uri, port=port, directory=tmp_path)
        with pytest.raises(SparkError, match=f"port {port} .* is in use"):
            server.start()
    assert (server.is_running, server.pid) == (False, None)


def test_it_ends_with_its_parent_and_is_stopped_twice(metastore_uri, tmp_path):
    """A process that is killed leaves no server behind."""
    code = (
        "import sys, time; from hudi_hive.spark.thrift_server import ThriftServer\n"
        f"server = ThriftServer({metastore_uri!r}, directory={str(tmp_path)!r}, authentication='nosasl').start()\n"
        "print(server.pid, server.jdbc_url, flush=True); sys.stdin.read()"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        pid, url = parent.stdout.readline().split()
        with SqlServer(parse_jdbc_url(url)) as session:
            assert session.product == "Spark SQL"
        child = os.pidfd_open(int(pid))
        parent.send_signal(signal.SIGKILL)
    finally:
        parent.kill()
        parent.wait()
    import select

    assert select.select([child], [], [], 30)[0], "the server outlived its parent"
    os.close(child)


def test_stopping_leaves_nothing(metastore_uri):
    before = threading.active_count()
    server = ThriftServer(metastore_uri)
    with server:
        pid, folder = server.pid, server.log_path.parent
        assert server.start() is server
        assert alive(pid)
    server.stop()
    assert not alive(pid)
    assert not folder.exists()
    assert (server.is_running, server.port, threading.active_count()) == (False, None, before)
    with pytest.raises(SparkError, match="not running"):
        _ = server.jdbc_url


@pytest.mark.parametrize("wrong", [{"port": 70000}, {"authentication": "KERBEROS"}, {"settings": {"hive.x": "1"}}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidOptionError):
        ThriftServer("thrift://127.0.0.1:9083", **wrong)


def test_a_metastore_that_is_not_there_is_told(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    settings = {
        "spark.hadoop.hive.metastore.connect.retries": "1",
        "spark.hadoop.hive.metastore.failure.retries": "0",
        "spark.hadoop.hive.metastore.client.connect.retry.delay": "0s",
    }
    with pytest.raises(SparkError) as caught:
        ThriftServer(f"thrift://127.0.0.1:{port}", directory=tmp_path, settings=settings).start()
    assert "thriftserver.log" in str(caught.value)


def test_clients_of_the_metastore_see_what_it_makes(server, metastore: HiveMetastore, tmp_path):
    with SqlServer(parse_jdbc_url(server.jdbc_url)) as session:
        session.execute("CREATE DATABASE IF NOT EXISTS made", "database made")
        session.execute(f"CREATE EXTERNAL TABLE made.t (a INT) STORED AS PARQUET LOCATION '{tmp_path}'", "table made.t")
    assert [field.name for field in metastore.table("made", "t").sd.cols] == ["a"]
    metastore.drop_database("made", cascade=True)
