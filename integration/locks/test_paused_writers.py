"""A writer that stood still beyond its lock's lease, and was overtaken, does not complete its commit.

One for each lock that reaches other machines, at a table on S3, where no lock of the folder stands in for it.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.write.coordination.locks import StoreLock
from integration.support.metastore_pool import MetastorePool
from integration.support.metastores import dying
from integration.support.paused_writer import PausedWriter
from integration.support.stores.s3 import S3Server
from tests.support.running.long import long_case

P = "hoodie.write.lock."
_LOCKS = "org.apache.hudi.client.transaction.lock."
SEVERAL = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.metadata.enable": "false",
    P + "client.wait_time_ms_between_retry": "200",
    P + "client.num_retries": "1000",
}
STORE_LEASE_S = 15.0
"""As the other leases: short, but long enough for the one that overtakes on a slow machine."""

MakeOptions = Callable[[pytest.FixtureRequest], dict[str, str]]


def in_dynamodb(request: pytest.FixtureRequest) -> dict[str, str]:
    s3: S3Server = request.getfixturevalue("s3")
    return {
        P + "provider": "org.apache.hudi.aws.transaction.lock.DynamoDBBasedImplicitPartitionKeyLockProvider",
        P + "dynamodb.endpoint_url": s3.endpoint,
        P + "wait_time_ms": "8000",
    }


def in_zookeeper(request: pytest.FixtureRequest) -> dict[str, str]:
    return {
        P + "provider": _LOCKS + "ZookeeperBasedImplicitBasePathLockProvider",
        P + "zookeeper.url": request.getfixturevalue("zookeeper").hosts,
        P + "zookeeper.session_timeout_ms": "8000",
    }


def in_the_metastore(request: pytest.FixtureRequest) -> dict[str, str]:
    pool: MetastorePool = request.getfixturevalue("metastores")
    running = pool.start("4.0.1", dying(15), with_hive=True)
    return {
        P + "provider": "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider",
        P + "hivemetastore.uris": running.uri,
        P + "hivemetastore.database": "default",
        P + "hivemetastore.table": "paused",
        P + "heartbeat_interval_ms": "1000",
    }


def in_a_lock_file(request: pytest.FixtureRequest) -> dict[str, str]:
    return {P + "provider": _LOCKS + "FileSystemBasedLockProvider", P + "filesystem.expire": "1"}


def in_the_storage(request: pytest.FixtureRequest) -> dict[str, str]:
    return {
        P + "provider": _LOCKS + "StorageBasedLockProvider",
        P + "storage.validity.timeout.secs": "10",
        P + "storage.renew.interval.secs": "1",
    }


def in_the_stores_own(request: pytest.FixtureRequest) -> dict[str, str]:
    return {"hoodie.write.concurrency.mode": "SINGLE_WRITER"}


@pytest.mark.parametrize(
    "options_of",
    [
        pytest.param(in_dynamodb, id="dynamodb"),
        long_case(in_zookeeper, name="zookeeper"),
        long_case(in_the_metastore, name="metastore"),
        long_case(in_a_lock_file, name="file system"),
        long_case(in_the_storage, name="storage"),
        long_case(in_the_stores_own, name="none"),
    ],
)
def test_a_writer_that_was_paused_beyond_its_lease_does_not_complete(
    request: pytest.FixtureRequest, s3: S3Server, monkeypatch: pytest.MonkeyPatch, options_of: MakeOptions
) -> None:
    monkeypatch.setitem(StoreLock.__init__.__kwdefaults__, "lease_s", STORE_LEASE_S)
    path, options = s3.folder("s3a"), {**SEVERAL, **options_of(request)}
    table = HudiTable.create(path, name="t", record_keys=["id"], storage_options=s3.options())
    with PausedWriter(path, s3.options(), options, "paused", lease_s=STORE_LEASE_S) as paused:
        table.refresh().insert(pa.table({"id": ["overtaking"]}), options)  # waits for the lease's end
        assert paused.go_on() == "LockLostError"
    after = table.refresh()
    assert after.scan().to_arrow().column("id").to_pylist() == ["overtaking"]
    assert not after.client.timeline.pending()
    after.insert(pa.table({"id": ["next"]}), options)
    assert sorted(after.refresh().scan().to_arrow().column("id").to_pylist()) == ["next", "overtaking"]


@pytest.mark.long
@pytest.mark.parametrize("options_of", [in_dynamodb, in_the_storage])
def test_nor_does_one_that_was_paused_when_it_had_made_sure_of_its_lock(
    request: pytest.FixtureRequest, s3: S3Server, options_of: MakeOptions
) -> None:
    path, options = s3.folder("s3a"), {**SEVERAL, **options_of(request)}
    table = HudiTable.create(path, name="t", record_keys=["id"], storage_options=s3.options())
    with PausedWriter(path, s3.options(), options, "paused", behind=True) as paused:
        table.refresh().insert(pa.table({"id": ["overtaking"]}), options)
        assert paused.go_on() != "committed"
    after = table.refresh()
    after.insert(pa.table({"id": ["next"]}), options)
    assert sorted(after.refresh().scan().to_arrow().column("id").to_pylist()) == ["next", "overtaking"]
