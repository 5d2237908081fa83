"""Locks on real servers: exclusion, leases that run out, holders that come too late."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from hudi_hive.errors import LockError, LockLostError, LockTimeoutError
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.locks import (
    DynamoDbLock,
    DynamoDbSettings,
    FileSystemLock,
    LockProvider,
    StorageLock,
    table_lock,
)
from integration.support.stores.s3 import S3Server

LOCK_FILE = ".hoodie/.locks/table_lock.json"
NEVER_S = 10**6
"""An interval of prolongations that does not come."""


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def storage(s3: S3Server) -> Storage:
    return Storage(s3.folder("s3a"), s3.options())


@pytest.fixture(params=["storage", "dynamodb"])
def make(request: pytest.FixtureRequest, s3: S3Server, storage: Storage, clock: Clock) -> Callable[[], LockProvider]:
    """Makes locks of one table with a lease of 60 s, which no thread prolongs."""
    if request.param == "storage":
        return lambda: StorageLock(storage, validity_s=60, renew_s=NEVER_S, wall_clock=clock, clock=clock)
    settings = DynamoDbSettings("locks", storage.uri(), lease_ms=60_000)
    return lambda: DynamoDbLock(lambda: s3.client("dynamodb"), settings, clock=clock)


def test_one_holder_at_a_time(make: Callable[[], LockProvider]) -> None:
    first, second = make(), make()
    assert first.try_acquire()
    assert not second.try_acquire()
    first.verify()
    with pytest.raises(LockLostError):
        second.verify()
    second.release()
    first.verify()
    with pytest.raises(LockError, match="already"):
        first.try_acquire()
    first.release()
    assert second.try_acquire()
    second.release()


def test_a_prolonged_lock_is_not_taken_over(make: Callable[[], LockProvider], clock: Clock) -> None:
    first, second = make(), make()
    assert first.try_acquire()
    for _ in range(4):
        assert not second.try_acquire()
        clock.now += 40
        first.verify()
    first.release()


def test_a_holder_paused_beyond_its_lease_has_lost_the_lock(make: Callable[[], LockProvider], clock: Clock) -> None:
    first, second, third = make(), make(), make()
    assert first.try_acquire()
    assert not second.try_acquire()
    clock.now += 61
    with pytest.raises(LockLostError, match="run out"):  # though nobody has taken it yet
        first.verify()
    assert second.try_acquire()
    with pytest.raises(LockLostError):
        first.verify()
    first.release()  # leaves the successor's alone
    second.verify()
    assert not third.try_acquire()
    second.release()


def test_a_lock_that_another_took_is_lost_though_the_lease_lasts(storage: Storage, clock: Clock) -> None:
    first = StorageLock(storage, validity_s=60, renew_s=NEVER_S, wall_clock=clock, clock=clock)
    assert first.try_acquire()
    fast = StorageLock(storage, validity_s=60, renew_s=NEVER_S, wall_clock=lambda: clock.now + 61, clock=clock)
    assert fast.try_acquire()  # its clock is wrong by a minute
    with pytest.raises(LockLostError, match="another writer"):
        first.verify()
    first.release()
    fast.verify()
    fast.release()


def test_clocks_may_differ_by_half_a_second(storage: Storage, clock: Clock) -> None:
    first = StorageLock(storage, validity_s=60, renew_s=NEVER_S, wall_clock=clock, clock=clock)
    assert first.try_acquire()
    other = Clock()
    second = StorageLock(storage, validity_s=60, renew_s=NEVER_S, wall_clock=other)
    other.now = clock.now + 60.5
    assert not second.try_acquire()
    other.now += 0.01
    assert second.try_acquire()
    second.release()


def test_the_lock_file_is_hudis(storage: Storage, clock: Clock) -> None:
    lock = StorageLock(storage, validity_s=60, renew_s=NEVER_S, wall_clock=clock)
    assert lock.try_acquire()
    held = json.loads(storage.read_bytes(LOCK_FILE))
    assert held["expired"] is False and held["validUntil"] == (clock.now + 60) * 1000 and len(held["owner"]) == 36
    lock.release()
    assert json.loads(storage.read_bytes(LOCK_FILE)) == {**held, "expired": True}
    storage.write_bytes(LOCK_FILE, b"{}")
    with pytest.raises(LockError, match="delete it"):
        lock.try_acquire()


def test_the_item_is_that_of_awss_lock_client(s3: S3Server, storage: Storage) -> None:
    options = {
        "hoodie.write.lock.provider": "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider",
        "hoodie.write.lock.dynamodb.endpoint_url": s3.endpoint,
        "hoodie.write.lock.dynamodb.table": "of_hudi",
        "hoodie.table.name": "t",
    }
    with table_lock(options, storage):
        (item,) = s3.client("dynamodb").scan(TableName="of_hudi")["Items"]
        assert item.keys() == {"key", "ownerName", "leaseDuration", "recordVersionNumber"}
        assert item["key"] == {"S": "t"} and item["leaseDuration"] == {"S": "60000"}
    assert s3.client("dynamodb").scan(TableName="of_hudi")["Items"] == []


def test_the_lock_file_of_the_file_system_works_on_s3(storage: Storage) -> None:
    first, second = FileSystemLock(storage, ".hoodie/lock"), FileSystemLock(storage, ".hoodie/lock")
    assert first.try_acquire() and not second.try_acquire()
    first.verify()
    first.release()
    assert second.try_acquire()
    second.release()


def test_locks_say_who_holds_them_and_no_secrets(s3: S3Server, storage: Storage) -> None:
    options = {
        "hoodie.write.lock.provider": "StorageBasedLockProvider",
        "hoodie.write.lock.client.num_retries": "0",
        "hoodie.write.lock.wait_time_ms": "0",
    }
    with table_lock(options, storage), pytest.raises(LockTimeoutError, match="if it does not prolong it") as caught:
        table_lock(options, storage).acquire()
    assert s3.options()["secret_key"] not in f"{caught.value} {caught.value!r}"
