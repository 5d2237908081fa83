"""Real Hudi's writer and ours at one table under one lock, at once and by turns: no commit is lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import LockTimeoutError, WriteConflictError
from hudi_hive.metadata import validate
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.write.coordination.locks import table_lock
from integration.long.lock_writers import P, differences_of_hudi, race_on_disk, race_on_s3, zookeeper_lock
from integration.support.hudi_peer import NOT_THERE, HudiPeer, HudiPeerError, may_start
from integration.support.stores.s3 import S3Server
from integration.support.stores.zookeeper import ZookeeperServer
from tests.support.running.waiting import wait_until
from tools.real_hudi import is_s3a_fetched

pytestmark = [pytest.mark.jvm, pytest.mark.long]

FILES_OF_ITS_OWN = {"hoodie.parquet.small.file.limit": "0"}
"""Each insert makes a new file group, so that no two of them are a conflict."""
OURS = 10
"""Commits of ours while Hudi stands still: as many as there are to a compaction of the metadata table."""
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
        print(error)
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


@pytest.mark.parametrize("dies", [False, True], ids=["and goes on", "and dies"])
def test_a_writer_of_hudi_that_stands_still_before_it_takes_the_lock(
    zookeeper: ZookeeperServer, tmp_path: Path, dies: bool
) -> None:
    """Its commit of the metadata table has begun, and ours come between, enough of them for a compaction."""
    if not may_start(9):
        pytest.skip(NOT_THERE)
    path, options = tmp_path / "t", {**zookeeper_lock(zookeeper, f"stands_still_{dies}"), **FILES_OF_ITS_OWN}
    HudiTable.create(path, name="t", record_keys=["id"])
    expected = {"first", "second", *(f"ours-{number}" for number in range(OURS))}
    outcomes: list[str] = []
    with HudiPeer(9) as peer:
        assert we_insert(path, "first", options) and hudi_inserts(peer, path, "second", options)
        writer = threading.Thread(target=lambda: outcomes.append(outcome_of_hudi(peer, path, "theirs", options)))
        writer.start()
        begun = wait_until(lambda: pending_in_metadata(path), "a pending delta commit of the metadata table")
        java = peer.java_pid
        os.kill(java, signal.SIGSTOP)
        assert pending_in_metadata(path) == begun and pending(path) == begun
        for number in range(OURS):
            assert we_insert(path, f"ours-{number}", options)
        assert pending_in_metadata(path) == begun
        os.kill(java, signal.SIGKILL if dies else signal.SIGCONT)
        writer.join()
    if dies:
        assert outcomes != ["acknowledged"]
        for folder in (".hoodie/.heartbeat", ".hoodie/metadata/.hoodie/.heartbeat"):
            os.utime(path / folder / begun[0], (0, 0))
        expected |= {"last"}
        assert we_insert(path, "last", options)
    else:
        assert outcomes == ["acknowledged"]
        expected |= {"theirs"}
    assert not pending(path) and not pending_in_metadata(path)
    assert sorted(HudiTable.open(path).scan().to_arrow().column("id").to_pylist()) == sorted(expected)
    report = validate(MetaClient.load(path))
    assert report.is_valid, str(report)
    with HudiPeer(9) as peer:
        for enabled in ("true", "false"):
            rows = peer.read(path, ["id"], {"hoodie.metadata.enable": enabled})
            assert sorted(row["id"] for row in rows) == sorted(expected)
        assert differences_of_hudi(peer, str(path)) == []


def outcome_of_hudi(peer: HudiPeer, path: Path, key: str, options: dict[str, str]) -> str:
    """What becomes of a row that real Hudi inserts: it is acknowledged, or there is an error."""
    try:
        return "acknowledged" if hudi_inserts(peer, path, key, options) else "refused"
    except (HudiPeerError, RuntimeError) as error:
        return str(error)


def pending(path: Path) -> list[str]:
    """Requested times of pending instants of a table."""
    return [instant.requested for instant in MetaClient.load(path).timeline.pending()]


def pending_in_metadata(path: Path) -> list[str]:
    """The same of delta commits of its metadata table, by a look at its files alone."""
    names = os.listdir(path / ".hoodie/metadata/.hoodie/timeline")
    completed = {name.partition("_")[0] for name in names if name.endswith(".deltacommit")}
    requested = {name.partition(".")[0] for name in names if name.endswith(".deltacommit.requested")}
    return sorted(requested - completed)


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
