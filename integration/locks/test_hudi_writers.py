"""Real Hudi's writer and ours at one table under a lock in ZooKeeper, by turns and at once: no commit is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import LockTimeoutError, WriteConflictError
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.locks import table_lock
from integration.support.hudi_peer import HudiPeer, HudiPeerError
from integration.support.stores.zookeeper import ZookeeperServer

pytestmark = [pytest.mark.jvm, pytest.mark.long]

ROUNDS = 4
P = "hoodie.write.lock."


def lock_options(zookeeper: ZookeeperServer) -> dict[str, str]:
    """Options of several writers under a lock in ZooKeeper."""
    return {
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        "hoodie.clean.failed.writes.policy": "LAZY",
        P + "provider": "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider",
        P + "zookeeper.url": zookeeper.hosts,
        P + "zookeeper.base_path": "/hudi/writers",
        P + "zookeeper.lock_key": "t",
        P + "client.wait_time_ms_between_retry": "200",
        P + "wait_time_ms": "2000",
        "hoodie.parquet.small.file.limit": "0",
    }


def hudi_inserts(peer: HudiPeer, path: Path, key: str, options: dict[str, str]) -> bool:
    """Whether real Hudi acknowledges a row."""
    given = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.operation": "insert",
        # Else it begins its commit of the metadata table before it has the lock, where ours takes it for a dead one's.
        "hoodie.metadata.streaming.write.enabled": "false",
        **options,
    }
    try:
        peer.write(path, [{"id": key}], "id string", given)
    except HudiPeerError as error:
        if "Conflict" not in str(error) and "lock" not in str(error).lower():
            raise
        return False
    return True


def we_insert(path: Path, key: str, options: dict[str, str]) -> bool:
    """Whether our writer acknowledges a row."""
    try:
        HudiTable.open(path).insert(pa.table({"id": [key]}), options)
    except (WriteConflictError, LockTimeoutError):
        return False
    return True


@pytest.fixture
def peer(hudi_peer: Callable[[int], HudiPeer]) -> HudiPeer:
    return hudi_peer(9)


def test_writers_by_turns_and_at_once(peer: HudiPeer, zookeeper: ZookeeperServer, tmp_path: Path) -> None:
    path, options = tmp_path / "t", lock_options(zookeeper)
    HudiTable.create(path, name="t", record_keys=["id"])
    acknowledged = {"first"} if we_insert(path, "first", options) else set()
    assert hudi_inserts(peer, path, "second", options)
    acknowledged.add("second")

    def ours() -> None:
        for number in range(ROUNDS):
            if we_insert(path, f"ours-{number}", options):
                acknowledged.add(f"ours-{number}")

    thread = threading.Thread(target=ours)
    thread.start()
    for number in range(ROUNDS):
        if hudi_inserts(peer, path, f"hudi-{number}", options):
            acknowledged.add(f"hudi-{number}")
    thread.join()
    rows = HudiTable.open(path).scan().to_arrow().column("id").to_pylist()
    assert sorted(rows) == sorted(acknowledged)
    assert sorted(row["id"] for row in peer.read(path, ["id"])) == sorted(acknowledged)
    assert any(name.startswith("ours") for name in acknowledged) and any(
        name.startswith("hudi") for name in acknowledged
    )


def test_each_waits_for_the_other(peer: HudiPeer, zookeeper: ZookeeperServer, tmp_path: Path) -> None:
    path, options = tmp_path / "t", lock_options(zookeeper)
    HudiTable.create(path, name="t", record_keys=["id"])
    at_once = {**options, P + "client.num_retries": "0", P + "wait_time_ms": "300"}
    with table_lock(options, Storage(path)):
        assert not hudi_inserts(peer, path, "a", at_once)
    assert hudi_inserts(peer, path, "b", options)
    assert we_insert(path, "c", options)
    assert sorted(row["id"] for row in peer.read(path, ["id"])) == ["b", "c"]
