"""Writes and table services to be killed; functions of a module, because another process runs them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.table import MetaClient
from hudi_hive.table.creation import create_table
from hudi_hive.write.executor import LocalExecutor
from hudi_hive.write.local import LocalWriter
from hudi_hive.write.locks import table_lock
from hudi_hive.write.services.clean import clean
from hudi_hive.write.services.compaction import compact
from hudi_hive.write.services.context import ServiceContext
from tests.write_faults import Scenario

_SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64()), ("value", pa.string())])
PROBE: dict[str, Any] = {"id": "probe", "part": "x", "ts": 9, "value": "probe"}

SEVERAL_WRITERS = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.write.lock.client.num_retries": "2",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "1",
}


def rows(step: int, *keys: str) -> pa.Table:
    """Rows of keys; the partition follows from the key."""
    found = [{"id": key, "part": "xy"[len(key) % 2], "ts": step, "value": f"{key} {step}"} for key in keys]
    return pa.Table.from_pylist(found, schema=_SCHEMA)


def write(path: Path, options: dict[str, str], table: pa.Table, operation: str = "upsert") -> None:
    given = {"hoodie.datasource.write.operation": operation, "hoodie.index.bloom.num_entries": "100", **options}
    LocalWriter(MetaClient.load(path), given, executor=LocalExecutor(1)).write(table)


def prepare(path: Path, *, kind: str, version: int, options: dict[str, str], upserts: int = 1) -> None:
    create_table(
        path,
        name="t",
        table_type=kind,
        version=version,
        record_keys=["id"],
        partition_fields=["part"],
        ordering_fields=["ts"],
    )
    write(path, options, rows(1, "a", "b", "cc", "dd"), "insert")
    for step in range(upserts):
        write(path, options, rows(2 + step, "a", "cc"))


def upsert(path: Path, options: dict[str, str]) -> None:
    """Two changed rows, one new."""
    write(path, options, rows(5, "a", "dd", "e"))


def delete(path: Path, options: dict[str, str]) -> None:
    write(path, options, rows(5, "a", "dd"), "delete")


def overwrite(path: Path, options: dict[str, str]) -> None:
    write(path, options, rows(5, "n"), "insert_overwrite")


def compact_slices(path: Path, options: dict[str, str]) -> None:
    """A compaction, planned and carried out, or taken up again."""
    compact(_context(path, {**options, "hoodie.compact.inline.max.delta.commits": "1"}))


def clean_slices(path: Path, options: dict[str, str]) -> None:
    clean(_context(path, {**options, "hoodie.cleaner.commits.retained": "1"}))


def make_metadata(path: Path, options: dict[str, str]) -> None:
    """The metadata table of a table that was written without."""
    writer = MetadataWriter.open(MetaClient.load(path))
    assert writer is not None
    writer.initialise(executor=LocalExecutor(1))


def _context(path: Path, options: dict[str, str]) -> ServiceContext:
    client = MetaClient.load(path)
    return ServiceContext(client, options, LocalExecutor(1), lock=lambda: table_lock(options, client.storage))


def probe(path: Path, options: dict[str, str]) -> None:
    write(path, options, pa.Table.from_pylist([PROBE], schema=_SCHEMA))


def scenario(
    name: str,
    act: Any,
    *,
    kind: str,
    version: int,
    options: dict[str, str] | None = None,
    later: dict[str, str] | None = None,
    upserts: int = 1,
) -> Scenario:
    """A scenario of an act; ``later`` are the options from the act on, if they are not those of before."""
    options = options or {}
    later = options if later is None else later
    return Scenario(
        name,
        partial(prepare, kind=kind, version=version, options=options, upserts=upserts),
        partial(act, options=later),
        partial(probe, options=later),
    )


COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
PLAIN = {"hoodie.metadata.enable": "false"}

SCENARIOS = [
    *[
        scenario(f"upsert-{kind}-{version}-{label}", upsert, kind=kind, version=version, options=options)
        for kind in (COW, MOR)
        for version in (6, 8, 9)
        for label, options in (("plain", PLAIN), ("metadata", {}), ("several", SEVERAL_WRITERS))
    ],
    *[
        scenario(f"delete-{kind}-{version}", delete, kind=kind, version=version)
        for kind in (COW, MOR)
        for version in (6, 8)
    ],
    *[scenario(f"overwrite-{kind}-8", overwrite, kind=kind, version=8) for kind in (COW, MOR)],
    *[scenario(f"compact-{version}", compact_slices, kind=MOR, version=version, upserts=2) for version in (6, 8)],
    *[scenario(f"clean-{kind}-8", clean_slices, kind=kind, version=8, upserts=3) for kind in (COW, MOR)],
    *[
        scenario(f"metadata-{version}", make_metadata, kind=COW, version=version, options=PLAIN, later={})
        for version in (6, 8)
    ],
]
