"""Tables of many small files for tests and benchmarks that count requests; made on the local disk."""

from __future__ import annotations

import random
import uuid
from pathlib import Path
from typing import Final

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.metadata.reader import MetadataChanges
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.table import FILES_SCHEMA
from hudi_hive.timeline import InstantClock

ROWS: Final = 10
"""Rows of each file."""

_NEW_FILES: Final = {"hoodie.parquet.small.file.limit": "0"}
_SERVICES_SOON: Final = {"hoodie.metadata.compact.max.delta.commits": "1"}


def write_wide_table(
    path: Path, partitions: int, files: int, *, table_type: str = "COPY_ON_WRITE", version: int = 8
) -> HudiTable:
    """Write a table of so many partitions, with so many files of ten rows in each: a commit for each round of files.

    Args:
        path: a local folder that does not exist.
        partitions: number of partitions.
        files: number of files of each.
        table_type: ``COPY_ON_WRITE`` or ``MERGE_ON_READ``.
        version: table version.
    """
    table = _new_table(path, table_type, version)
    names = [f"p{number:05}" for number in range(partitions) for _ in range(ROWS)]
    for commit in range(files):
        rows = pa.table(
            {
                "id": [f"k{commit}-{number}" for number in range(len(names))],
                "ts": pa.array([commit] * len(names), pa.int64()),
                "p": names,
                "v": [number / 2 for number in range(len(names))],
            }
        )
        table.insert(rows, options=_NEW_FILES)
    return table


def write_named_table(path: Path, partitions: int, files: int) -> HudiTable:
    """Make a table whose metadata table names so many files in so many partitions; the files themselves do not exist.

    The names are in the base file of the metadata table, as after a compaction.
    """
    table = _new_table(path, "COPY_ON_WRITE", 8)
    table.insert(pa.table({"id": ["k"], "ts": [1], "p": ["p00000"], "v": [0.5]}))
    instant = table.timeline.write_instants()[0].requested
    source = random.Random(7)
    names = [
        f"{uuid.UUID(int=source.getrandbits(128))}-0_{number}-1-1_{instant}.parquet"
        for number in range(partitions * files)
    ]
    paths = [f"p{number:05}" for number in range(1, partitions + 1) for _ in range(files)]
    sizes = pa.array([435_000 + number for number in range(len(names))], pa.int64())
    changes = MetadataChanges(files_added=pa.table([paths, names, sizes], schema=FILES_SCHEMA))
    clock = InstantClock()
    for options, change in (({}, changes), (_SERVICES_SOON, MetadataChanges())):
        writer = MetadataWriter.open(table.client, options)
        assert writer is not None
        writer.apply(clock.new_instant(table.timeline, table.config.timezone), "commit", change)
    return table


def _new_table(path: Path, table_type: str, version: int) -> HudiTable:
    return HudiTable.create(
        path,
        name="wide",
        table_type=table_type,
        version=version,
        record_keys=["id"],
        partition_fields=["p"],
        ordering_fields=["ts"],
    )
