"""The lock of a table's folder: held by one process, released when it dies, not inherited by children."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import (
    LockLostError,
    LockTimeoutError,
    TableNotFoundError,
    WriteError,
)
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.heartbeat import beating_instants
from hudi_hive.write.coordination.locks import InProcessLock, TableFolderLock, table_lock
from hudi_hive.write.service_base.context import ServiceContext
from hudi_hive.write.services.archival import archive_instants
from tests.write.shared.concurrency_helpers import QUICK, make, rows, seen, transaction

FILE_SYSTEM = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
AT_ONCE = {"hoodie.write.lock.client.num_retries": "0"}
ROOT = Path(__file__).resolve().parents[3]


# -- the lock of the folder --------------------------------------------------------------------------------------------

_HOLDER = """
import os, sys, time
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.locks import table_lock
lock = table_lock({}, Storage(sys.argv[1]))
lock.acquire()
child = os.fork()  # has copies of the lock's descriptor
if child == 0:
    os.close(1)
    time.sleep(600)
print(child, flush=True)
time.sleep(600)
"""


def test_a_killed_process_lets_go_though_its_forked_child_lives(tmp_path: Path) -> None:
    table = make(tmp_path)
    command = [sys.executable, "-c", _HOLDER, str(tmp_path / "t")]
    holder = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    child = int(holder.stdout.readline())
    try:
        with pytest.raises(LockTimeoutError, match=f"process {holder.pid} holds"):
            table.upsert(rows("c"), {**QUICK, **AT_ONCE})
        other = {**QUICK, **AT_ONCE, "hoodie.write.lock.provider": FILE_SYSTEM}
        with pytest.raises(LockTimeoutError):
            archive_instants(ServiceContext(table.client, other))
        assert not (tmp_path / "t/.hoodie/lock").exists()
    finally:
        holder.kill()
        holder.wait()
    table.upsert(rows("c"), {**QUICK, **AT_ONCE})
    os.kill(child, signal.SIGKILL)
    assert seen(table) == [("a", 1), ("b", 1), ("c", 1)]
    assert not [name for name in os.listdir(tmp_path / "t/.hoodie") if "lock" in name]


def test_a_forked_child_neither_holds_the_lock_nor_ends_the_write(tmp_path: Path) -> None:
    table = make(tmp_path)
    running = transaction(table)
    running.begin()
    lock = table_lock(AT_ONCE, table.client.storage)
    lock.acquire()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with pytest.raises(LockLostError):
                lock.verify()
            lock.release()
            running.abort()  # the parent's
            with pytest.raises(WriteError, match="fork"):
                running.commit(pa.table({}), schema="{}")
            with pytest.raises(LockTimeoutError):
                table_lock(AT_ONCE, table.client.storage).acquire()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    lock.verify()
    lock.release()
    assert [i.requested for i in table.refresh().timeline.pending()] == [running.instant]
    assert beating_instants(table.client.storage) == [running.instant]
    running.abort()


def test_the_lock_of_a_table_that_was_replaced_is_lost(tmp_path: Path) -> None:
    table = make(tmp_path)
    lock = TableFolderLock(table.client.storage)
    assert lock.try_acquire()
    os.rename(tmp_path / "t", tmp_path / "gone")
    for replace in (lambda: None, lambda: make(tmp_path)):
        replace()
        with pytest.raises(LockLostError, match="write again"):
            lock.verify()
    lock.release()
    with pytest.raises(TableNotFoundError):
        TableFolderLock(Storage(tmp_path / "none")).try_acquire()


def test_a_file_is_locked_where_folders_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path)
    real, refused = fcntl.flock, set()

    def flock(descriptor: int, operation: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            refused.add("folder")
            raise OSError(errno.EBADF, "not open for writing")
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    first, second = TableFolderLock(table.client.storage), TableFolderLock(table.client.storage)
    assert first.try_acquire() and not second.try_acquire()
    first.verify()
    first.release()
    assert second.try_acquire()
    second.release()
    table.upsert(rows("c"), QUICK)
    assert seen(table) == [("a", 1), ("b", 1), ("c", 1)] and refused


def test_table_services_without_a_configured_lock_take_the_default_lock(tmp_path: Path) -> None:
    table = make(tmp_path)
    with InProcess(table), pytest.raises(LockTimeoutError):
        archive_instants(ServiceContext(table.client, {**QUICK, **AT_ONCE}))


class InProcess:
    """The lock of this process, held by another thread."""

    def __init__(self, table: HudiTable) -> None:
        self._lock = InProcessLock(table.client.storage.uri())

    def __enter__(self) -> None:
        thread = threading.Thread(target=self._lock.try_acquire)
        thread.start()
        thread.join()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
