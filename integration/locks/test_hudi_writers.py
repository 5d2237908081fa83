"""Real Hudi's writer and ours at one table under one lock, at once and by turns: no commit is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import LockTimeoutError, WriteConflictError
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.locks import table_lock
from integration.long.lock_writers import P, race_on_disk, race_on_s3, zookeeper_lock
from integration.support.hudi_peer import NOT_THERE, HudiPeer, HudiPeerError, may_start
from integration.support.stores.s3 import S3Server
from integration.support.stores.zookeeper import ZookeeperServer
from tools.real_hudi import is_s3a_fetched

pytestmark = [pytest.mark.jvm, pytest.mark.long]

COMMITS = 6
"""Of each writer; ``integration.long.lock_writers`` has them write more."""


def hudi_inserts(peer: HudiPeer, path: Path, key: str, options: dict[str, str]) -> bool:
    """Whether real Hudi acknowledges a row."""
    given = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.operation": "insert",
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


@pytest.mark.parametrize(
    ("version", "kind"), [(6, "COPY_ON_WRITE"), (8, "MERGE_ON_READ"), (9, "COPY_ON_WRITE"), (9, "MERGE_ON_READ")]
)
def test_writers_at_once_under_a_lock_in_zookeeper(
    hudi_peer: Callable[[int], HudiPeer], zookeeper: ZookeeperServer, tmp_path: Path, version: int, kind: str
) -> None:
    race_on_disk(hudi_peer(version), zookeeper, tmp_path / "t", kind).run(COMMITS)


def test_writers_at_once_under_the_lock_file_of_a_table_on_s3(s3: S3Server) -> None:
    if not may_start(9) or not is_s3a_fetched():
        pytest.skip(NOT_THERE)
    with HudiPeer(9, s3.hadoop(), storage_lock=True) as peer:
        race_on_s3(peer, s3, "COPY_ON_WRITE").run(COMMITS)


def test_each_waits_for_the_other(
    hudi_peer: Callable[[int], HudiPeer], zookeeper: ZookeeperServer, tmp_path: Path
) -> None:
    peer, path, options = hudi_peer(9), tmp_path / "t", zookeeper_lock(zookeeper, "each_waits")
    HudiTable.create(path, name="t", record_keys=["id"])
    at_once = {**options, P + "client.num_retries": "0", P + "wait_time_ms": "300"}
    with table_lock(options, Storage(path)):
        assert not hudi_inserts(peer, path, "a", at_once)
    assert hudi_inserts(peer, path, "b", options)
    assert we_insert(path, "c", options)
    assert sorted(row["id"] for row in peer.read(path, ["id"])) == ["b", "c"]
