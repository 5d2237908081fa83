"""Locks that Hudi's own providers hold beside ours: each excludes the other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from hudi_hive.errors import LockTimeoutError
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.locks import table_lock
from integration.support.hudi_peer import NOT_THERE, may_start
from integration.support.stores.hudi_aws import JARS, RELEASE
from integration.support.stores.lock_peer import WAIT_MS, LockPeer
from integration.support.stores.s3 import S3Server
from integration.support.stores.zookeeper import ZookeeperServer

pytestmark = [pytest.mark.jvm, pytest.mark.long]

_LOCKS = "org.apache.hudi.client.transaction.lock."
AWS_LOCKS = "org.apache.hudi.aws.transaction.lock."
LEASE_MS = 8000
P = "hoodie.write.lock."
_HOLDER = """
import sys
from hudi_hive.errors import LockLostError
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.locks import table_lock
with table_lock({options!r}, Storage({uri!r}, {storage!r})) as lock:
    print("held", flush=True)
    sys.stdin.readline()
    try:
        lock.verify()
    except LockLostError:
        print("LockLostError")
"""
"""Takes the lock, and verifies it when a line comes."""
AT_ONCE = {P + "client.num_retries": "1", P + "client.wait_time_ms_between_retry": "50", WAIT_MS: "300"}


def exclude_each_other(peer: LockPeer, storage: Storage, options: dict[str, str]) -> None:
    """Both sides take the lock by turns, and neither while the other has it."""
    assert peer.lock()
    with pytest.raises(LockTimeoutError):
        table_lock(options, storage).acquire()
    peer.unlock()
    with table_lock(options, storage) as lock:
        lock.verify()
        assert not peer.lock()
        lock.verify()
    assert peer.lock()
    peer.unlock()


def is_overtaken_while_paused(peer: LockPeer, storage: Storage, options: dict[str, str]) -> None:
    """Our holder stands still beyond its lease: the peer gets the lock, and the holder knows when it goes on."""
    script = _HOLDER.format(uri=storage.uri(), options=options, storage=dict(storage.storage_options))
    holder = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    holder.send_signal(signal.SIGSTOP)
    assert peer.lock()  # waits for the lease's end
    holder.send_signal(signal.SIGCONT)
    assert holder.communicate("verify\n") == ("LockLostError\n", None)


def dynamodb(s3: S3Server, table: str, lease_ms: int) -> dict[str, str]:
    """Options of a lock in a table of DynamoDB."""
    return {
        P + "dynamodb.endpoint_url": s3.endpoint,
        P + "dynamodb.region": "us-east-1",
        P + "dynamodb.table": table,
        P + "dynamodb.partition_key": "t",
        P + "dynamodb.billing_mode": "PAY_PER_REQUEST",
        P + "dynamodb.table_creation_timeout": "60000",
        WAIT_MS: str(lease_ms),
    }


def the_item(s3: S3Server, table: str) -> dict[str, dict[str, str]]:
    """The one lock in a table, typed values by attribute."""
    (item,) = s3.client("dynamodb").scan(TableName=table)["Items"]
    return dict(item)


@pytest.fixture(autouse=True)
def fetched() -> None:
    if not may_start(9):
        pytest.skip(NOT_THERE)


def test_the_storage_lock(s3: S3Server) -> None:
    storage = Storage(s3.folder("s3a"), s3.options())
    provider = _LOCKS + "StorageBasedLockProvider"
    with LockPeer(provider, {"hoodie.base.path": storage.uri()}, endpoint=s3.endpoint) as peer:
        exclude_each_other(peer, storage, {P + "provider": provider, **AT_ONCE})
        assert list(s3.files(storage.uri())) == [".hoodie/.locks/table_lock.json"]


@pytest.mark.parametrize("kind", ["ZookeeperBasedLockProvider", "ZookeeperBasedImplicitBasePathLockProvider"])
def test_the_lock_in_zookeeper(kind: str, zookeeper: ZookeeperServer, s3: S3Server) -> None:
    storage = Storage(s3.folder("s3a"), s3.options())
    keys = {P + "zookeeper.base_path": "/hudi/locks", P + "zookeeper.lock_key": "t"} if "Implicit" not in kind else {}
    where = {P + "zookeeper.url": zookeeper.hosts, **keys}
    with LockPeer(_LOCKS + kind, {"hoodie.base.path": storage.uri(), **where}) as peer:
        exclude_each_other(peer, storage, {P + "provider": _LOCKS + kind, **where, **AT_ONCE})


def test_the_lock_in_dynamodb(s3: S3Server) -> None:
    if not may_start(6):
        pytest.skip(NOT_THERE)
    storage, provider = Storage(s3.folder("s3a"), s3.options()), AWS_LOCKS + "DynamoDBBasedLockProvider"
    where = dynamodb(s3, "of_both", LEASE_MS)
    given = {**where, "hoodie.base.path": storage.uri(), "hoodie.table.name": "t"}
    with LockPeer(provider, given, release=RELEASE, jars=JARS, environment=s3.environment()) as peer:
        options = {P + "provider": provider, **AT_ONCE, **where}
        assert peer.lock()  # and makes the table
        theirs = the_item(s3, "of_both")
        peer.unlock()
        made = s3.client("dynamodb").describe_table(TableName="of_both")["Table"]
        with table_lock(options, storage):
            ours = the_item(s3, "of_both")
        assert {name: list(value) for name, value in ours.items()} == {
            name: list(value) for name, value in theirs.items()
        }
        assert (ours["key"], ours["leaseDuration"]) == (theirs["key"], theirs["leaseDuration"])
        with table_lock(options | dynamodb(s3, "of_ours", LEASE_MS), storage):
            own = s3.client("dynamodb").describe_table(TableName="of_ours")["Table"]
        for what in ("KeySchema", "AttributeDefinitions"):
            assert own[what] == made[what]
        assert own["BillingModeSummary"]["BillingMode"] == made["BillingModeSummary"]["BillingMode"]
        exclude_each_other(peer, storage, options)


def test_a_paused_holder_of_the_lock_in_dynamodb_is_overtaken_by_hudi_and_hudis_by_us(s3: S3Server) -> None:
    if not may_start(6):
        pytest.skip(NOT_THERE)
    storage, provider = Storage(s3.folder("s3a"), s3.options()), AWS_LOCKS + "DynamoDBBasedLockProvider"
    where = dynamodb(s3, "of_paused", LEASE_MS)
    given = {**where, "hoodie.base.path": storage.uri(), "hoodie.table.name": "t"}
    options = {P + "provider": provider, **where}
    with LockPeer(provider, given, release=RELEASE, jars=JARS, environment=s3.environment()) as peer:
        is_overtaken_while_paused(peer, storage, options)
        os.kill(peer.pid, signal.SIGSTOP)
        with table_lock(options, storage) as lock:
            os.kill(peer.pid, signal.SIGCONT)
            assert not peer.lock()
            lock.verify()


def test_a_paused_holder_of_the_storage_lock_is_overtaken_by_hudi(s3: S3Server) -> None:
    storage = Storage(s3.folder("s3a"), s3.options())
    provider = _LOCKS + "StorageBasedLockProvider"
    times = {P + "storage.validity.timeout.secs": "10", P + "storage.renew.interval.secs": "1"}
    given = {"hoodie.base.path": storage.uri(), WAIT_MS: "300000"}
    with LockPeer(provider, given, endpoint=s3.endpoint) as peer:
        is_overtaken_while_paused(peer, storage, {P + "provider": provider, **times})
        peer.unlock()
