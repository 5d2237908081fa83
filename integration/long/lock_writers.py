"""Real Hudi's writer and ours at one table at the same time, under a lock that both take, with Hudi's default settings.

    python -m integration.long.lock_writers [--version 9] [--type MERGE_ON_READ] [--commits 12] [--store s3]

Each upserts so many times into a partition of its own, with real Hudi in a process of its own. No commit may fail or be
lost: in the end both see the model's rows, with the metadata table and without it, and both find that the metadata
table lists the files that are there. On local disk the lock is ``ZookeeperBasedLockProvider``'s, on S3
``StorageBasedLockProvider``'s.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.metadata import MetadataListing, MetadataTable, validate
from hudi_hive.table import MetaClient
from hudi_hive.timeline.instants import COMMIT
from integration.support.hudi_peer import HudiPeer
from integration.support.stores.s3 import S3Server
from integration.support.stores.zookeeper import ZookeeperServer

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
VERSIONS = (6, 8, 9)
STORES = ("disk", "s3")

P = "hoodie.write.lock."
_LOCKS = "org.apache.hudi.client.transaction.lock."
COLUMNS = ("id", "part", "n")
DDL = "id string, part string, n long"
KEYS = 5
"""Records of each writer; each of its commits changes all of them, and adds one."""

SEVERAL = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    P + "client.wait_time_ms_between_retry": "500",
}
"""Options of several writers: what Hudi's documentation asks for, and short waits between tries."""


def zookeeper_lock(server: ZookeeperServer, key: str) -> dict[str, str]:
    """Options of a lock in ZooKeeper."""
    return {
        **SEVERAL,
        P + "provider": _LOCKS + "ZookeeperBasedLockProvider",
        P + "zookeeper.url": server.hosts,
        P + "zookeeper.base_path": "/hudi/writers",
        P + "zookeeper.lock_key": key,
    }


def storage_lock() -> dict[str, str]:
    """Options of a table's lock file on a store."""
    return {**SEVERAL, P + "provider": _LOCKS + "StorageBasedLockProvider"}


class LostCommitError(AssertionError):
    """Something is not as the model has it."""


@dataclass
class Race:
    """Two writers at one table.

    Args:
        path: base path of the table, not there yet.
        version: table version.
        kind: table type.
        peer: real Hudi of the version's release.
        options: of both writers: those of the lock.
        storage_options: of ours.
        hudi_options: of real Hudi alone.
    """

    path: str
    version: int
    kind: str
    peer: HudiPeer
    options: Mapping[str, str]
    storage_options: Mapping[str, str] = field(default_factory=dict)
    hudi_options: Mapping[str, str] = field(default_factory=dict)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run(self, commits: int) -> str:
        """Make the table, have both write so many commits, and compare.

        Returns:
            What was done and how long it took.

        Raises:
            LostCommitError: rows or files are not those of the model.
        """
        begun = time.monotonic()
        HudiTable.create(
            self.path,
            name="t",
            version=self.version,
            table_type=self.kind,
            record_keys=["id"],
            partition_fields=["part"],
            ordering_fields=["n"],
            storage_options=dict(self.storage_options),
        )
        errors: list[BaseException] = []
        begin = threading.Barrier(2)

        def write(side: str, upsert: Callable[[list[dict[str, Any]]], None]) -> None:
            try:
                begin.wait()
                for number in range(commits):
                    upsert(self._rows(side, number))
            except BaseException as error:
                error.add_note(f"{side}, commit {number} of {commits}")
                errors.append(error)

        threads = [
            threading.Thread(target=write, args=("ours", self._we_upsert)),
            threading.Thread(target=write, args=("hudi", self._hudi_upserts)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        for side in ("ours", "hudi"):
            self.rows |= {row["id"]: row for row in self._rows(side, commits - 1)}
        self.check(commits)
        return f"{2 * commits} commits, {self._compactions()} compactions of the metadata table, {self._seconds(begun)}"

    @staticmethod
    def _seconds(begun: float) -> str:
        return f"{time.monotonic() - begun:.0f} s"

    @staticmethod
    def _rows(side: str, number: int) -> list[dict[str, Any]]:
        return [{"id": f"{side}-{key}", "part": side, "n": number} for key in range(KEYS + number)]

    def _open(self) -> HudiTable:
        return HudiTable.open(self.path, dict(self.storage_options))

    def _we_upsert(self, rows: list[dict[str, Any]]) -> None:
        self._open().upsert(pa.Table.from_pylist(rows), dict(self.options))

    def _hudi_upserts(self, rows: list[dict[str, Any]]) -> None:
        options = {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "part",
            "hoodie.datasource.write.precombine.field": "n",
            "hoodie.datasource.write.table.type": self.kind,
            "hoodie.datasource.write.operation": "upsert",
            **self.options,
            **self.hudi_options,
        }
        self.peer.write(self.path, rows, DDL, options)

    # -- comparing ---------------------------------------------------------------------------------------------------

    def check(self, commits: int) -> None:
        """Compare rows, commits and the metadata table's files with the model's."""
        expected = sorted(self.rows.values(), key=lambda row: str(row["id"]))
        for enabled in ("true", "false"):
            found = self.peer.read(self.path, COLUMNS, {"hoodie.metadata.enable": enabled})
            self._same(f"Hudi's rows, metadata table {enabled}", sorted(found, key=lambda row: row["id"]), expected)
        for listing in (MetadataListing(), None):
            client = MetaClient.load(self.path, self.storage_options, listing=listing)
            rows = HudiTable(client).scan().to_arrow().select(list(COLUMNS)).to_pylist()
            self._same("our rows", sorted(rows, key=lambda row: row["id"]), expected)
        client = MetaClient.load(self.path, self.storage_options)
        timeline = client.timeline
        active = {i.requested for i in timeline.write_instants()}
        archived = {i.requested for i in timeline.archived().instants if i.is_write and i.is_completed}
        compactions = {i.requested for i in timeline.completed({COMMIT})} if self.kind == "MERGE_ON_READ" else set()
        self._same("commits", len((active | archived) - compactions), 2 * commits)
        self._same("pending instants", [str(i) for i in timeline.pending()], [])
        report = validate(client)
        self._same("our validation of the metadata table", str(report) if report.errors else "", "")
        self._same("Hudi's validation of the metadata table", differences_of_hudi(self.peer, self.path), [])

    def _compactions(self) -> int:
        client = MetaClient.load(self.path, self.storage_options)
        return len(MetadataTable.open(client).client.timeline.completed({COMMIT}))

    @staticmethod
    def _same(what: str, actual: object, expected: object) -> None:
        if actual != expected:
            raise LostCommitError(f"{what}: {str(actual)[:800]} in place of {str(expected)[:800]}")


def differences_of_hudi(peer: HudiPeer, path: str) -> list[dict[str, Any]]:
    """Files that Hudi finds in the metadata table or on the store alone, or of another size."""
    name = "race_" + re.sub(r"\W", "_", path)
    peer.sql(f"create table {name} using hudi location '{path}'")
    peer.sql("set hoodie.metadata.enable=true")
    rows = peer.sql(f"call validate_metadata_table_files(table => '{name}', verbose => true)")
    if not rows:
        raise LostCommitError("Hudi's validation lists no file")
    return [
        row
        for row in rows
        if not row["is_present_in_fs"] or not row["is_present_in_metadata"] or row["fs_size"] != row["metadata_size"]
    ]


def race_on_disk(peer: HudiPeer, zookeeper: ZookeeperServer, folder: Path, kind: str) -> Race:
    """Two writers at a table on local disk, under a lock in ZooKeeper."""
    return Race(str(folder), peer.version, kind, peer, zookeeper_lock(zookeeper, folder.name))


def race_on_s3(peer: HudiPeer, s3: S3Server, kind: str) -> Race:
    """Two writers at a table on S3, under its lock file."""
    options = {"endpoint": s3.endpoint}  # of the requests of Hudi's storage lock
    return Race(s3.folder("s3a"), peer.version, kind, peer, storage_lock(), s3.options(), options)


def main() -> int:
    """Run the chosen tables; print a line for each and how many were right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", type=int, action="append", choices=VERSIONS)
    parser.add_argument("--type", action="append", choices=TYPES)
    parser.add_argument("--store", choices=STORES, default="disk")
    parser.add_argument("--commits", type=int, default=12, help="of each writer")
    chosen = parser.parse_args()
    passed = total = 0
    for version in chosen.version or (VERSIONS if chosen.store == "disk" else VERSIONS[-1:]):
        for kind in chosen.type or TYPES:
            total += 1
            try:
                told = _run(version, kind, chosen.store, chosen.commits)
                passed += 1
            except Exception as error:
                told = f"FAILED {type(error).__name__}: {str(error)[:3000]} {getattr(error, '__notes__', '')}"
            print(f"version {version} {kind} {chosen.store}: {told}", flush=True)
    print(f"{passed} of {total} tables right")
    return int(passed < total)


def _run(version: int, kind: str, store: str, commits: int) -> str:
    if store == "s3":
        with S3Server() as s3, HudiPeer(version, s3.hadoop(), storage_lock=True) as peer:
            return race_on_s3(peer, s3, kind).run(commits)
    with (
        tempfile.TemporaryDirectory() as folder,
        ZookeeperServer() as zookeeper,
        HudiPeer(version) as peer,
    ):
        return race_on_disk(peer, zookeeper, Path(folder) / "t", kind).run(commits)


if __name__ == "__main__":
    sys.exit(main())
