"""Locks: exclusion, lost and void locks, waiting, and what Hudi's options ask for."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
from pathlib import Path

import pytest

from hudi_hive.errors import InvalidOptionError, LockError, LockLostError, LockTimeoutError
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.locks import (
    DynamoDbLock,
    FileSystemLock,
    InProcessLock,
    Owner,
    TableLock,
    ZookeeperLock,
    table_lock,
)

FILE_SYSTEM = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
METASTORE = "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider"


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    (tmp_path / ".hoodie").mkdir()
    return Storage(tmp_path)


def file_lock(storage: Storage, **arguments) -> FileSystemLock:
    return FileSystemLock(storage, ".hoodie/lock", **arguments)


def make_lock(kind: str, storage: Storage):
    return file_lock(storage) if kind == "file" else InProcessLock(storage.uri())


def in_thread(function):
    """What a function gives in another thread."""
    result = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


@pytest.mark.parametrize("kind", ["file", "process"])
def test_a_lock_has_one_holder_at_a_time(kind, storage):
    first, second = make_lock(kind, storage), make_lock(kind, storage)
    assert first.try_acquire()
    assert not in_thread(second.try_acquire)
    first.verify()
    with pytest.raises(LockLostError):
        second.verify()
    second.release()  # not its own: stays
    first.verify()
    first.release()
    assert in_thread(second.try_acquire)
    second.release()


@pytest.mark.parametrize("kind", ["file", "process"])
def test_a_lock_that_is_held_cannot_be_acquired_again(kind, storage):
    lock = make_lock(kind, storage)
    assert lock.try_acquire()
    with pytest.raises(LockError, match="already"):
        lock.try_acquire()
    lock.release()


def test_tables_do_not_share_locks(tmp_path):
    one, other = InProcessLock("file:/a/"), InProcessLock("file:/b")
    assert one.try_acquire()
    assert other.try_acquire()
    one.release()
    other.release()


def test_the_file_is_hudis_and_names_its_owner(storage, tmp_path):
    lock = file_lock(storage)
    assert lock.try_acquire()
    fields = json.loads((tmp_path / ".hoodie/lock").read_text())
    assert {"lockCreateTime", "lockThreadName", "lockStacksInfo"} <= fields.keys()
    assert fields["owner"]["pid"] == os.getpid()
    lock.release()
    assert sorted(os.listdir(tmp_path / ".hoodie")) == []


def test_a_lock_of_hudi_is_respected_until_it_expires(storage, tmp_path):
    path = tmp_path / ".hoodie/lock"
    path.write_text('{"lockCreateTime":"2026-01-01 00:00:00.000","lockThreadName":"main","lockStacksInfo":[]}')
    (tmp_path / ".hoodie/.lock.crc").write_bytes(b"crc")
    now = path.stat().st_mtime
    assert not file_lock(storage, clock=lambda: now + 10**6).try_acquire()  # 0 minutes: never
    assert not file_lock(storage, expire_minutes=1, clock=lambda: now + 59).try_acquire()
    late = file_lock(storage, expire_minutes=1, clock=lambda: now + 61)
    assert late.try_acquire()
    late.verify()
    assert os.listdir(tmp_path / ".hoodie") == ["lock"]


def test_a_holder_whose_lock_expired_notices_and_leaves_the_successors(storage, tmp_path):
    first = file_lock(storage, expire_minutes=1)
    assert first.try_acquire()
    now = (tmp_path / ".hoodie/lock").stat().st_mtime
    second = file_lock(storage, expire_minutes=1, clock=lambda: now + 61)
    assert second.try_acquire()
    with pytest.raises(LockLostError, match="lost"):
        first.verify()
    first.release()
    second.verify()


def die_holding(path: str) -> None:
    assert file_lock(Storage(path)).try_acquire()
    os._exit(9)


def test_the_lock_of_a_process_that_died_is_taken_over_at_once(storage, tmp_path):
    process = multiprocessing.get_context("fork").Process(target=die_holding, args=(str(tmp_path),))
    process.start()
    process.join()
    assert (tmp_path / ".hoodie/lock").exists()
    lock = file_lock(storage)
    assert lock.try_acquire()
    lock.verify()


def test_of_processes_elsewhere_nothing_is_assumed():
    here = Owner.this_process()
    assert not here.is_dead()
    gone = Owner(here.host, here.machine, 2**22 + 1, "1")
    assert gone.is_dead() is bool(here.machine)
    assert not Owner("elsewhere", "other machine", 2**22 + 1, "1").is_dead()
    assert not Owner("elsewhere", "", 2**22 + 1, "1").is_dead()
    assert Owner(here.host, here.machine, here.pid, "1").is_dead() is bool(here.machine and here.started)
    assert Owner.parse(json.dumps({"owner": here.fields()}).encode()) == here
    for text in (b"", b"{}", b"[]", b'{"owner": 1}', b"\xff", b'{"owner": {"pid": "x"}}'):
        assert Owner.parse(text) is None


def test_only_one_of_many_takes_a_void_lock_over(storage, tmp_path):
    path = tmp_path / ".hoodie/lock"
    for _ in range(20):
        path.write_text("{}")
        old = path.stat().st_mtime - 61
        os.utime(path, (old, old))
        locks = [file_lock(storage, expire_minutes=1) for _ in range(4)]
        taken = []
        barrier = threading.Barrier(len(locks))

        def take(lock, barrier=barrier, taken=taken):
            barrier.wait()
            if lock.try_acquire():
                taken.append(lock)

        threads = [threading.Thread(target=take, args=(lock,)) for lock in locks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(taken) == 1
        taken[0].verify()
        taken[0].release()
        assert os.listdir(tmp_path / ".hoodie") == []


@pytest.mark.parametrize(
    ("wait_time", "retries", "between", "patience"),
    [("1500", "0", "100", 1.5), ("1000", "2", "500", 4.0), ("700", "0", "0", 0.7), (None, "3", "100", 0.3)],
)
def test_each_try_waits_for_the_lock_as_long_as_its_option_says(wait_time, retries, between, patience, storage):
    holder, waits = file_lock(storage), []
    assert holder.try_acquire()
    options = {
        "hoodie.write.lock.provider": FILE_SYSTEM,
        "hoodie.write.lock.client.num_retries": retries,
        "hoodie.write.lock.client.wait_time_ms_between_retry": between,
    }
    options |= {} if wait_time is None else {"hoodie.write.lock.wait_time_ms": wait_time}
    with pytest.raises(LockTimeoutError, match=r"hoodie\.write\.lock\.wait_time_ms"):
        table_lock(options, storage, sleep=waits.append).acquire()
    assert sum(waits) == pytest.approx(patience)


def test_waiting_backs_off_and_ends(storage):
    holder = file_lock(storage)
    assert holder.try_acquire()
    waits = []
    lock = TableLock(file_lock(storage), "t", retries=3, wait_ms=100, sleep=waits.append)
    with pytest.raises(LockTimeoutError, match=f"process {os.getpid()} on .*delete"):
        lock.acquire()
    assert sum(waits) == pytest.approx(0.3)
    assert waits[:3] == [0.02, 0.04, 0.08] and max(waits) <= 0.1
    holder.release()
    with lock:
        lock.verify()
    assert file_lock(storage).try_acquire()


def test_waiting_sees_the_lock_let_go(storage):
    holder = file_lock(storage)
    assert holder.try_acquire()
    with TableLock(file_lock(storage), "t", sleep=lambda seconds: holder.release()) as lock:
        lock.verify()


def test_options_choose_the_provider(storage, tmp_path):
    assert isinstance(table_lock({}, storage).provider, InProcessLock)
    assert isinstance(table_lock({"hoodie.write.lock.provider": FILE_SYSTEM}, storage).provider, FileSystemLock)
    elsewhere = {"hoodie.write.lock.provider": FILE_SYSTEM, "hoodie.write.lock.filesystem.path": str(tmp_path / "l")}
    with table_lock(elsewhere, storage):
        assert os.listdir(tmp_path / "l") == ["lock"]
    process = InProcessLock("x")
    prefix = "hoodie.write.lock.hivemetastore."
    names = {prefix + "uris": "thrift://h:1", prefix + "database": "db", prefix + "table": "t"}
    options = {"hoodie.write.lock.provider": METASTORE, **names, "hoodie.write.lock.heartbeat_interval_ms": "500"}
    calls = []
    lock = table_lock(options, storage, metastore=lambda *arguments: calls.append(arguments) or process)
    assert lock.provider is process and calls == [("thrift://h:1", "db", "t", 500)]


@pytest.mark.parametrize(
    ("uri", "hashed"),
    [
        ("s3a://lake/tables/t", "27861C5B228D6FEA"),
        ("s3://lake/tables/t/", "27861C5B228D6FEA"),
        ("gs://b/t\u00e4ble", "0911AA19538AA656"),
        ("/data/t", "B8447B8377C15F03"),
    ],
)
def test_implicit_names_are_those_of_hudi(uri, hashed):
    """What ``getLockBasePath`` of Hudi 1.0.2 and 1.1.1 gives for the URIs, ``file:/data/t`` the last of them."""
    name, options = "hoodie.write.lock.provider", {"hoodie.write.lock.zookeeper.url": "h:1"}
    place = table_lock({name: "ZookeeperBasedImplicitBasePathLockProvider", **options}, Storage(uri)).provider
    assert isinstance(place, ZookeeperLock) and place.settings.path == f"/tmp/{hashed}/lock_key"
    item = table_lock({name: "DynamoDBBasedImplicitPartitionKeyLockProvider"}, Storage(uri)).provider
    assert isinstance(item, DynamoDbLock) and item.settings.partition_key == hashed


@pytest.mark.parametrize(
    ("provider", "patience_s"),
    [
        ("StorageBasedLockProvider", 60),
        ("ZookeeperBasedImplicitBasePathLockProvider", 60),
        ("DynamoDBBasedLockProvider", 120),  # and the lease
        ("InProcessLockProvider", 60),
        ("FileSystemBasedLockProvider", 0),  # Hudi looks once in each try
        (None, 0),
    ],
)
def test_a_try_waits_for_a_minute_where_hudis_does(provider, patience_s, monkeypatch):
    options = {
        "hoodie.write.lock.client.num_retries": "0",
        "hoodie.write.lock.zookeeper.url": "h:1",
        "hoodie.table.name": "t",
        **({} if provider is None else {"hoodie.write.lock.provider": provider}),
    }
    waits = []
    lock = table_lock(options, Storage("s3a://lake/t"), sleep=waits.append)
    monkeypatch.setattr(type(lock.provider), "try_acquire", lambda self: False)
    monkeypatch.setattr(type(lock.provider), "holder", lambda self: "another one holds it")
    with pytest.raises(LockTimeoutError):
        lock.acquire()
    assert sum(waits) == pytest.approx(patience_s)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider"}, "Zook"),
        ({"hoodie.write.lock.provider": METASTORE}, "metastore"),
        ({"hoodie.write.lock.client.num_retries": "-1"}, "whole number"),
        ({"hoodie.write.lock.provider": FILE_SYSTEM, "hoodie.write.lock.filesystem.expire": "soon"}, "whole number"),
    ],
)
def test_unknown_options_are_refused(options, message, storage):
    with pytest.raises(InvalidOptionError, match=message):
        table_lock(options, storage)


def test_object_stores_have_no_lock_file():
    with pytest.raises(LockError, match="atomically"):
        FileSystemLock(Storage("memory://bucket/table"), ".hoodie/lock")
