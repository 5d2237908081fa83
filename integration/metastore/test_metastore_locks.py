"""The metastore's lock on a real metastore: exclusion, the queue, loss, and as the lock of a table."""

from __future__ import annotations

import os

import pytest

from hudi_hive.errors import InvalidOptionError, LockError, LockLostError, LockTimeoutError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.metastore._thrift import ttypes
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.storage import Storage
from hudi_hive.write.coordination import TableLock, table_lock

pytestmark = pytest.mark.jvm

PROVIDER = "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider"


@pytest.fixture(scope="module")
def uri(request):
    """A metastore whose database has the tables of transactions."""
    if os.environ.get("HUDI_HIVE_TEST_DATABASE"):
        return request.getfixturevalue("metastore_uri")
    return request.getfixturevalue("restarted").metastore.uri


@pytest.fixture
def client(uri):
    with HiveMetastore(uri) as client:
        yield client


def test_one_holder_and_a_queue(client):
    first, second = MetastoreLock(client, "db", "t"), MetastoreLock(client, "db", "t")
    other = MetastoreLock(client, "db", "u")
    assert first.try_acquire()
    assert other.try_acquire()
    with pytest.raises(LockError, match="already"):
        first.try_acquire()
    assert not second.try_acquire()
    assert not second.try_acquire()
    first.verify()
    with pytest.raises(LockLostError):
        second.verify()
    first.release()
    assert second.try_acquire()
    second.verify()
    second.release()
    other.release()
    assert client.calls["lock"] == 3  # who waits keeps its place


def test_a_lost_lock_is_noticed(client):
    lock = MetastoreLock(client, "db", "t")
    assert lock.try_acquire()
    client.call("unlock", ttypes.UnlockRequest(lock._id), about="what a time-out does")
    with pytest.raises(LockLostError, match="lost"):
        lock.verify()
    lock.release()


def test_who_gives_up_leaves_the_queue(client):
    holder = MetastoreLock(client, "db", "t")
    assert holder.try_acquire()
    waits = []
    lock = TableLock(MetastoreLock(client, "db", "t"), "db.t", retries=2, wait_ms=10, sleep=waits.append)
    with pytest.raises(LockTimeoutError, match=r"db\.t"):
        lock.acquire()
    holder.release()
    third = MetastoreLock(client, "db", "t")
    assert third.try_acquire()
    third.release()


def test_options_of_a_write_name_the_metastore_s_lock(uri, tmp_path):
    (tmp_path / ".hoodie").mkdir()  # the folder that is locked too
    prefix = "hoodie.write.lock.hivemetastore."
    options = {"hoodie.write.lock.provider": PROVIDER, prefix + "database": "db", prefix + "table": "t"}
    with pytest.raises(InvalidOptionError, match="uris"):
        table_lock(options, Storage(tmp_path), metastore=MetastoreLock.connect)
    options[prefix + "uris"] = uri
    lock = table_lock(options, Storage(tmp_path), metastore=MetastoreLock.connect)
    for _ in range(2):
        with lock:
            lock.verify()
