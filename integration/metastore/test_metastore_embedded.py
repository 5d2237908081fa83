"""The embedded metastore's life: where it listens, how it ends, what a second start finds."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from hudi_hive.errors import (
    JavaNotFoundError,
    MetastoreError,
    MetastoreLostError,
    MetastoreTimeoutError,
    MetastoreTransportError,
)
from hudi_hive.metastore import EmbeddedMetastore, HiveMetastore, Retries, Timeouts
from tests.support.metastore.metastore_behaviour import add_numbered, table_of
from tests.support.running.long import long_case
from tests.support.running.waiting import wait_until

pytestmark = pytest.mark.jvm

CHILD = """
import sys, time
from hudi_hive.metastore import EmbeddedMetastore
metastore = EmbeddedMetastore(sys.argv[1])
{start}
print(metastore.pid, metastore.uri, flush=True)
{then}
"""


def listening_addresses(pid: int) -> set[str]:
    """Local addresses (hexadecimal) of the listening TCP sockets of a process."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(os.readlink(descriptor))
        except FileNotFoundError:
            continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                found.add(fields[1])
    return found


def has_unread_requests(pid: int, port: int) -> bool:
    """Whether bytes that clients sent lie in a server's sockets."""
    lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    connections = [fields for fields in map(str.split, lines) if fields[1].endswith(f":{port:04X}")]
    return any(fields[3] == "01" and int(fields[4].partition(":")[2], 16) for fields in connections)


def wait_until_gone(pid: int) -> None:
    """Wait for a process that is not our child to end; a zombie has ended."""

    def is_gone() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    try:
        wait_until(is_gone, f"process {pid} ends")
    except AssertionError:
        os.kill(pid, signal.SIGKILL)
        raise


def start_child(folder: Path, *, start: str = "metastore.start()", then: str = "time.sleep(600)"):
    """A Python process that starts a metastore; with the Java process's id and the URI."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(start=start, then=then), str(folder)], stdout=subprocess.PIPE, text=True
    )
    pid, uri = child.stdout.readline().split()
    return child, int(pid), uri


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for the tests that only care about processes: later starts are quicker than first ones."""
    return tmp_path_factory.mktemp("metastore")


@pytest.fixture
def running(restarted):
    """One that runs, for the tests that leave it as it is; at most 15 partitions come at once from it."""
    return restarted.metastore


def test_first_start_and_second_start(restarted):
    metastore = restarted.metastore
    assert restarted.stages[0] == "starting Java" and restarted.stages[-1] == "ready"
    assert not restarted.was_running
    wait_until_gone(restarted.pid)
    assert metastore.log_path.exists()
    with HiveMetastore(f"thrift://127.0.0.1:{restarted.port}") as client:
        assert client.databases() == ["default", "kept"]
        assert len(list(client.partitions("kept", "t"))) == 30
    inside = {path.name for path in metastore.directory.iterdir()}
    assert {"conf", "metastore_db", "warehouse", "metastore.log"} <= inside
    assert not (Path.cwd() / "derby.log").exists() and not (Path.cwd() / "metastore_db").exists()


def test_listens_on_loopback_only(running):
    assert listening_addresses(running.pid) == {f"0100007F:{running.port:04X}"}
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in others:
        with socket.socket() as probe:
            probe.settimeout(2)
            assert probe.connect_ex((address, running.port)) != 0


def test_two_on_one_folder(running):
    with pytest.raises(MetastoreError, match=rf"another embedded metastore.*{running.uri}"):
        EmbeddedMetastore(running.directory).start()
    with HiveMetastore(running.uri) as client:
        assert client.databases()


def test_a_port_that_is_in_use(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(MetastoreError, match=f"port {port} on 127.0.0.1 is in use"):
            EmbeddedMetastore(folder, port=port).start()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), long_case(signal.SIGINT, -signal.SIGINT)]
)
def test_signals_to_the_starter_leave_no_java(folder, number, code):
    child, pid, uri = start_child(folder)
    with HiveMetastore(uri) as client:
        assert client.databases()
    child.send_signal(number)
    assert child.wait(300) in (code, 1)  # Python turns Ctrl-C into a KeyboardInterrupt and its own exit code
    wait_until_gone(pid)


def test_ctrl_c_while_starting(tmp_path):
    code = """
import _thread
def progress(stage):
    if stage != "starting Java":
        _thread.interrupt_main()
metastore = EmbeddedMetastore(sys.argv[1], progress=progress)
try:
    metastore.start()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(start=code, then=""), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline().split()[0] == "interrupted"
    child.wait(300)
    mine = [
        path.name
        for path in Path("/proc").iterdir()
        if path.name.isdigit() and str(tmp_path).encode() in _command_line(path)
    ]
    assert mine == []


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.long
@pytest.mark.parametrize("then", ["raise RuntimeError('x')", "import os; os._exit(0)"])
def test_ends_with_the_interpreter(folder, then):
    child, pid, _ = start_child(folder, then=then)
    child.wait(300)
    wait_until_gone(pid)


@pytest.mark.long
def test_a_forked_child_neither_stops_the_metastore_nor_keeps_it_running(folder):
    then = (
        "import os\nif os.fork() == 0:\n    time.sleep(600)\nelse:\n    print(os.getpid(), flush=True)\n    os._exit(0)"
    )
    child, pid, _ = start_child(folder, then=then)
    child.wait(300)
    wait_until_gone(pid)  # though the fork holds the other end of its pipe
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and str(folder).encode() in _command_line(process):
            os.kill(int(process.name), signal.SIGKILL)
    child.stdout.close()


@pytest.mark.long
def test_killed_midway_and_started_again(folder, tmp_path):
    metastore = EmbeddedMetastore(folder)
    with metastore, HiveMetastore(metastore.uri, retries=Retries(attempts=2, wait=0.01)) as client:
        client.create_database("alive", if_not_exists=True)
        client.create_table(table_of("alive", "t", tmp_path / "t"), if_not_exists=True)
        names = add_numbered(client, client.table("alive", "t"), 40, tmp_path)
        stream = client.partitions("alive", "t", names * 60)
        next(stream)
        os.kill(metastore.pid, signal.SIGKILL)
        # Lost if a batch was under way, not connected if it needed a new connection.
        with pytest.raises(MetastoreTransportError) as caught:
            list(stream)
        assert caught.value.path == metastore.uri
        with pytest.raises(MetastoreTransportError):  # lost, where an idle connection has not noticed the death yet
            client.databases()
        os.waitid(os.P_PID, metastore.pid, os.WEXITED | os.WNOWAIT)  # sockets close a moment before it has ended
        assert not metastore.is_running
    with metastore, HiveMetastore(metastore.uri) as client:
        assert client.partition_names("alive", "t") == names
        freeze(metastore.pid)  # so that the next call surely waits for its answer
        with ThreadPoolExecutor(1) as thread:
            call = thread.submit(client.databases)
            wait_until(lambda: has_unread_requests(metastore.pid, metastore.port), "a call waits for its answer")
            os.kill(metastore.pid, signal.SIGKILL)
            with pytest.raises(MetastoreLostError, match="in the middle of get_all_databases") as lost:
                call.result()
        assert lost.value.path == metastore.uri


def freeze(pid: int) -> None:
    """Stop a process; its threads go on for a moment after the signal was sent."""
    os.kill(pid, signal.SIGSTOP)
    running = True
    while running:
        time.sleep(0.01)
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended meanwhile
            stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
            running = any(stat.rpartition(")")[2].split()[0] != "T" for stat in stats)


def test_a_frozen_server_times_out(running):
    with HiveMetastore(running.uri, timeouts=Timeouts(connect=300, read=1)) as client:

        def is_answered() -> bool:
            try:
                return bool(client.databases())
            except MetastoreTimeoutError:  # of a machine that is slow
                return False

        wait_until(is_answered, "a connection that was used")
        freeze(running.pid)
        try:
            with pytest.raises(MetastoreTimeoutError, match="within 1 s"):
                client.databases()
        finally:
            os.kill(running.pid, signal.SIGCONT)
        wait_until(is_answered, "the server answers again")


def test_a_broken_metastore_database_is_an_error(tmp_path):
    (tmp_path / "metastore_db").mkdir()
    (tmp_path / "metastore_db" / "service.properties").write_text("nonsense")
    with pytest.raises(MetastoreError) as caught:
        EmbeddedMetastore(tmp_path).start()
    assert "embedded metastore" in str(caught.value) and caught.value.path == str(tmp_path)
    assert "\n" not in str(caught.value)


def test_time_out_of_the_start(folder):
    for _ in range(2):  # the lock was let go
        with pytest.raises(MetastoreError, match=r"not ready within 0\.05 s"):
            EmbeddedMetastore(folder, timeout=0.05).start()


def test_java_home_without_java_is_an_error(folder, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/no/such/java")
    with pytest.raises(JavaNotFoundError, match="JAVA_HOME=/no/such/java"):
        EmbeddedMetastore(folder).start()


def test_hives_partition_limit_is_an_error_for_filters_and_batches_stay_below_it(running, tmp_path):
    with HiveMetastore(running.uri, retries=Retries(attempts=1)) as client:
        client.create_table(table_of("default", "t", tmp_path / "t"))
        names = add_numbered(client, client.table("default", "t"), 60, tmp_path)
        assert [f"p={p.values[0]}" for p in client.partitions("default", "t")] == names
        with pytest.raises(MetastoreError, match="exceeds limit"):
            list(client.partitions("default", "t", filter='p >= "0000"'))
