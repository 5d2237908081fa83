"""The Spark Thrift Server of one's own: reachable from this machine only, gone when it should be."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_hive.errors import InvalidOptionError, MetastoreConnectError, MetastoreServerError, SparkError
from hudi_hive.metastore import HiveMetastore, Timeouts
from hudi_hive.spark import ThriftServer
from hudi_hive.spark.thrift_server import _free_port
from hudi_hive.sync.sql_server import SqlServer, parse_jdbc_url

pytestmark = pytest.mark.jvm


SECRET = "s3cr3t = ü # ! :"


@pytest.fixture(scope="module")
def server(metastore_uri: str, tmp_path_factory) -> Iterator[ThriftServer]:
    """A server that first meets a port that somebody else has taken meanwhile."""
    folder = tmp_path_factory.mktemp("thriftserver")
    settings = {"spark.hadoop.some.text": SECRET}
    stages: list[str] = []
    with pytest.MonkeyPatch.context() as patch, socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter([taken.getsockname()[1], _free_port()])
        patch.setattr("hudi_hive.spark.thrift_server._free_port", lambda: next(ports))
        made = ThriftServer(metastore_uri, directory=folder, settings=settings, progress=stages.append).start()
    with made as running:
        assert (stages.count("starting Java"), stages[-1]) == (2, "ready")
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


def test_a_taken_port_is_told_before_java_is_started(tmp_path):
    stages: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = ThriftServer("thrift://127.0.0.1:9083", port=port, directory=tmp_path, progress=stages.append)
        with pytest.raises(SparkError, match=f"port {port} .* is in use"):
            server.start()
    assert (server.is_running, server.pid, stages) == (False, None, [])


def test_settings_arrive_and_nobody_else_sees_them(server):
    # An expression that fails with what it was given tells what the server knows.
    with SqlServer(parse_jdbc_url(server.jdbc_url)) as session, pytest.raises(MetastoreServerError) as caught:
        session.execute("SELECT raise_error('${spark.hadoop.some.text}')", "a question")
    assert SECRET in str(caught.value)
    for name in ("cmdline", "environ"):
        assert b"s3cr3t" not in Path(f"/proc/{server.pid}/{name}").read_bytes()
    assert not any(b"s3cr3t" in path.read_bytes() for path in server.log_path.parent.glob("*.properties"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_command_s_server_ends_with_it(metastore_uri, tmp_path, number):
    """Killed while it starts the server, or asked to end when that runs: then its temporary folder goes too."""
    code = "from hudi_hive.cli.main import main; main()"
    arguments = ["thriftserver", "start", "--auth", "nosasl", "--metastore-uris", metastore_uri]
    parent = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        if number == signal.SIGTERM:
            (url,) = re.findall(r"jdbc:hive2://[^;]*;auth=noSasl", parent.stdout.readline())
            with SqlServer(parse_jdbc_url(url)) as session:
                assert session.product == "Spark SQL"
        while not (children := Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()):
            assert parent.poll() is None
            time.sleep(0.01)
        child = os.pidfd_open(int(children[0]))
        parent.send_signal(number)
        assert select.select([child], [], [], 60)[0], "the server outlived its parent"
        os.close(child)
        if number == signal.SIGTERM:
            assert parent.wait(30) == 0
            assert list(tmp_path.iterdir()) == []
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()


def test_one_that_ended_by_itself_leaves_nothing(metastore_uri, monkeypatch):
    before = threading.active_count()
    server = ThriftServer(metastore_uri)
    with server:
        pid, folder = server.pid, server.log_path.parent
        assert server.start() is server
        assert server.pid == pid
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert not server.is_running
        child = os.fork()
        if child == 0:  # It has a copy of everything, and none of it is its own.
            server.stop()
            os._exit(0)
        os.waitpid(child, 0)
        assert folder.exists()
        # What is left goes before it is started again.
        monkeypatch.setattr("hudi_hive.spark.thrift_server.find_java", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            server.start()
        assert not folder.exists()
    server.stop()
    assert not alive(pid)
    assert (server.is_running, server.pid, server.port, threading.active_count()) == (False, None, None, before)
    with pytest.raises(SparkError, match="not running"):
        _ = server.jdbc_url


@pytest.mark.parametrize("wrong", [{"port": 70000}, {"authentication": "KERBEROS"}, {"settings": {"hive.x": "1"}}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidOptionError):
        ThriftServer("thrift://127.0.0.1:9083", **wrong)


@pytest.mark.parametrize("uri", ["", "http://127.0.0.1:9083", "thrift+tls://h:1", "thrift://h:1?user=me&sasl=PLAIN"])
def test_metastores_that_spark_would_not_find_are_refused(uri):
    """Without an address Spark would make a metastore of its own."""
    with pytest.raises(InvalidOptionError):
        ThriftServer(uri)


def test_a_metastore_that_is_not_there_is_told(tmp_path):
    with pytest.raises(MetastoreConnectError, match="nobody listens"):
        ThriftServer(f"thrift://127.0.0.1:{_free_port()}", directory=tmp_path).start()


def test_a_start_that_fails_is_told(metastore_uri, tmp_path):
    with pytest.raises(SparkError, match="nonsense") as caught:
        ThriftServer(metastore_uri, directory=tmp_path, settings={"spark.master": "nonsense"}).start()
    assert "thriftserver.log" in str(caught.value)
    (tmp_path / "thriftserver.log").unlink()
    (tmp_path / "thriftserver.log").mkdir()
    with pytest.raises(SparkError, match="Is a directory"):
        ThriftServer(metastore_uri, directory=tmp_path).start()
    with pytest.raises(SparkError, match="folder"):
        ThriftServer(metastore_uri, directory=__file__).start()


def test_clients_of_the_metastore_see_what_it_makes(server, metastore: HiveMetastore, tmp_path):
    with SqlServer(parse_jdbc_url(server.jdbc_url)) as session:
        session.execute("CREATE DATABASE IF NOT EXISTS made", "database made")
        session.execute(f"CREATE EXTERNAL TABLE made.t (a INT) STORED AS PARQUET LOCATION '{tmp_path}'", "table made.t")
    assert [field.name for field in metastore.table("made", "t").sd.cols] == ["a"]
    metastore.drop_database("made", cascade=True)
