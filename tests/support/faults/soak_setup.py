"""What the processes of a soak share: its table and options, their logs, the rows of keys."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.errors import StoreThrottledError, StoreUnreachableError
from hudi_hive.metadata import MetadataListing
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant
from hudi_hive.timeline.instants import millis_to_instant
from hudi_hive.write.coordination import table_lock
from hudi_hive.write.service_base import ServiceContext
from tests.support.faults.soak_model import Commit, Expiry, Read, Rewrite, Undone, text_of

PARTITIONS = 4
KEYS = 40
FIRST_FRESH = 1000
"""Number of the first key that is inserted; each phase has numbers of its own."""
DAY_KEYS = 20
"""Fresh keys of one partition."""
TRIES = 400
OPERATIONS = {
    "upsert": 45,
    "insert": 15,
    "bulk_insert": 10,
    "delete": 15,
    "insert_overwrite": 8,
    "delete_partition": 7,
}
OPTIONS = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "200",
    "hoodie.write.lock.client.num_retries": "300",
    "hoodie.cleaner.commits.retained": "10",
    "hoodie.keep.min.commits": "12",
    "hoodie.keep.max.commits": "16",
    "hoodie.metadata.compact.max.delta.commits": "6",
    "hoodie.metadata.record.index.enable": "false",
}

APART = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.clustering.inline.max.commits": "5",
    "hoodie.compact.inline.max.delta.commits": "5",
    "hoodie.log.compaction.blocks.threshold": "2",
    "hoodie.write.concurrency.early.conflict.detection.enable": "true",
    "hoodie.write.num.retries.on.conflict.failures": "3",
}
DEFECT = -1
"""The number of rows that the validators refuse."""
VALIDATORS = {
    "hoodie.precommit.validators": "SqlQuerySingleResultPreCommitValidator,SqlQueryEqualityPreCommitValidator",
    "hoodie.precommit.validators.single.value.sql.queries": f"select count(*) from <TABLE_NAME> where n = {DEFECT}#0;"
    "select count(*) - count(distinct id) from <TABLE_NAME>#0",
    "hoodie.precommit.validators.equality.sql.queries": "select count(*) from <TABLE_NAME> where n > 99999",
}
"""What the writers' commits must satisfy."""
INDEXES = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
}
"""What the services alone are asked for: the writers keep what is there."""

UNANSWERED = (StoreThrottledError, StoreUnreachableError)
FILE_LOCK = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"


@dataclass
class Log:
    """What one process did; ``errors`` are what must not happen, ``refused`` what may."""

    name: str
    commits: list[Commit] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    expiries: list[Expiry] = field(default_factory=list)
    rewrites: list[Rewrite] = field(default_factory=list)
    undone: list[Undone] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Soak:
    """One run: where, what and how much.

    Args:
        lock: the lock provider's class.
        storage_options: of the table's store.
        logs: local folder of what the processes say; beside the table if not given.
        apart: all services run in the services' process, as ``hudi-hive table service`` runs them, log compaction,
            making indexes and lifetimes of partitions among them; writers try again after conflicts, detect them early
            and have pre-commit validators.
        phases: parts of the commits; between two of them there are savepoints, restores, rollbacks and dead writes.
    """

    path: str
    version: int = 8
    table_type: str = "MERGE_ON_READ"
    commits: int = 200
    writers: int = 2
    readers: int = 1
    seed: int = 1
    lock: str = FILE_LOCK
    storage_options: Mapping[str, str] | None = None
    logs: str = ""
    apart: bool = False
    phases: int = 1

    @property
    def options(self) -> dict[str, str]:
        """Write options."""
        return OPTIONS | (APART if self.apart else {}) | {"hoodie.write.lock.provider": self.lock}

    def open(self) -> HudiTable:
        """The table as it is now."""
        return HudiTable.open(self.path, self.storage_options)

    def client(self, *, metadata: bool = False) -> MetaClient:
        """The table as it is now, listed by its metadata table or by folders."""
        listing = MetadataListing() if metadata else None
        return MetaClient.load(self.path, self.storage_options, listing=listing)

    def context(self, more: Mapping[str, str] | None = None) -> ServiceContext:
        """The context of services of the table as it is now."""
        client = self.client()
        lock = table_lock(self.options, client.storage)
        return ServiceContext(client, self.options | dict(more or {}), lock=lambda: lock)

    def city(self, key: str) -> str:
        """The partition of a key: with services apart, new keys go to a new partition after some."""
        number = int(key.rpartition("-")[2])
        return f"d{number // DAY_KEYS}" if self.apart and number >= FIRST_FRESH else f"c{number % PARTITIONS}"

    def order_of(self, instant: Instant) -> str:
        """When an instant was completed, as text in the order of instants."""
        if instant.completed is not None:
            return instant.completed
        changed = os.stat(Path(self.path) / instant.path).st_mtime_ns
        return f"{millis_to_instant(changed // 1_000_000)}{changed % 1_000_000:06}"


def moment() -> str:
    """Now, in the order of instants."""
    return millis_to_instant(time.time_ns() // 1_000_000)


def batch(values: Mapping[str, tuple[str, int]]) -> pa.Table:
    """Rows of keys."""
    names = sorted(values)
    numbers = [values[name][1] for name in names]
    columns: list[list[Any]] = [names, [values[name][0] for name in names], numbers, [text_of(n) for n in numbers]]
    kinds = (pa.string(), pa.string(), pa.int64(), pa.string())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names=["id", "city", "n", "t"])
