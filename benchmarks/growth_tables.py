"""Tables for ``growth.py``: many files, partitions, commits or keys, which a metadata table lists and nothing opens.

Every table is made by the writers of this package, from a single change or from many commits; data files are there only
where folders are listed or keys are looked up.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive import HudiTable
from hudi_hive.formats.base import WRAPPED, WRAPPERS
from hudi_hive.metadata.reader import INDEX_ADDED_SCHEMA, RANGES_SCHEMA, MetadataChanges
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.table import FILES_SCHEMA, MetaClient
from hudi_hive.table.core import TableDefinition, create_table
from hudi_hive.timeline import NewCommitMetadata, encode_commit, millis_to_instant
from hudi_hive.timeline.core import TimelineWriter

AVRO = {
    "type": "record",
    "name": "t_record",
    "namespace": "hoodie.t",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "n", "type": ["null", "long"], "default": None},
        {"name": "part", "type": ["null", "string"], "default": None},
    ],
}
STATS = {"hoodie.metadata.index.column.stats.enable": "true"}
KEYS = {"hoodie.metadata.record.index.enable": "true", "hoodie.metadata.record.index.min.filegroup.count": "4"}
BARE = {"hoodie.metadata.index.column.stats.enable": "false"}
_FIRST_MS = 1_767_225_600_000  # 2026-01-01
_LOG_BYTES = 1_000_000
_TEXTS = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key", "id", "part")


def instant(number: int) -> str:
    """Instants two seconds apart."""
    return millis_to_instant(_FIRST_MS + 2_000 * number, "UTC")


def done(number: int) -> str:
    """The completion time of an instant, a second behind it."""
    return millis_to_instant(_FIRST_MS + 2_000 * number + 1_000, "UTC")


def empty_table(path: Path, *, kind: str = "COPY_ON_WRITE", version: int = 8) -> MetaClient:
    """A table without commits, partitioned by ``part``."""
    definition = TableDefinition(
        name="t",
        table_type=kind,
        version=version,
        record_keys=["id"],
        partition_fields=["part"],
        create_schema=json.dumps(AVRO),
        timezone="UTC",
    )
    return create_table(path, definition)


def file_ids(files: int, first: int = 0) -> list[str]:
    """Ids of file groups."""
    return [f"{uuid.UUID(int=first + number + 1)}-0" for number in range(files)]


def places(files: int, partitions: int) -> list[str]:
    """The partition of each file; neighbours share one."""
    return [f"p{number * partitions // files:06d}" for number in range(files)]


def changes(files: int, partitions: int, at: int = 0, *, logs: bool = False, keys: int = 0) -> MetadataChanges:
    """The change that a commit makes which writes a base file, and with ``logs`` a log file, to each file group.

    Args:
        files: file groups.
        partitions: partitions that they are in.
        at: number of the commit's instant.
        logs: a log file for each base file, of instant ``at`` + 1.
        keys: rows of the record index, spread over the file groups.
    """
    ids, paths = file_ids(files, at << 32), places(files, partitions)
    names = [f"{file_id}_0-1-1_{instant(at)}.parquet" for file_id in ids]
    columns = [paths, names, np.arange(files) + 1_000_000]
    if logs:
        columns[0] = [*paths, *paths]
        columns[1] = [*names, *(f".{file_id}_{instant(at + 1)}.log.1_0-2-2" for file_id in ids)]
        columns[2] = np.append(columns[2], np.arange(files) + _LOG_BYTES)
    numbers = np.arange(keys)
    of_keys = pa.array(numbers * files // max(keys, 1))
    texts = pc.binary_join_element_wise("key-", pa.array(numbers).cast(pa.string()), "")
    index = [texts, pa.array(paths).take(of_keys), pa.array(ids).take(of_keys)]
    return MetadataChanges(
        files_added=pa.table(columns, schema=FILES_SCHEMA),
        ranges=_ranges(paths, names),
        index_added=pa.table(index, schema=INDEX_ADDED_SCHEMA),
    )


def _ranges(paths: Sequence[str], names: Sequence[str]) -> pa.Table:
    """Ranges of all columns: the file of number k holds n from k to k + 0.5, so to speak."""
    count = len(names)
    numbers = pa.array(np.arange(count))
    tables = []
    for column in (*_TEXTS, "n"):
        values, wrapper = (numbers, "LongWrapper") if column == "n" else (pa.array(names), "StringWrapper")
        arrays = [values if name == wrapper else pa.nulls(count, kind) for name, kind in WRAPPERS.items()]
        bounds = pa.StructArray.from_arrays(arrays, fields=list(WRAPPED))
        many = [pa.array(np.full(count, number)) for number in (100, 0, 800, 1_600)]
        columns = [pa.array(paths), pa.array(names), pa.repeat(column, count), bounds, bounds, *many]
        tables.append(pa.table(columns, schema=RANGES_SCHEMA))
    return pa.concat_tables(tables)


def write_stats(change: MetadataChanges) -> list[dict[str, Any]]:
    """Write stats of the added files."""
    columns = (change.files_added.column(name).to_pylist() for name in FILES_SCHEMA.names)
    return [
        {
            "fileId": name.lstrip(".").partition("_")[0],
            "path": f"{partition}/{name}",
            "partitionPath": partition,
            "prevCommit": "null",
            "numWrites": 100,
            "numInserts": 100,
            "fileSizeInBytes": size,
            "totalWriteBytes": size,
        }
        for partition, name, size in zip(*columns, strict=True)
    ]


def commit(client: MetaClient, at: int, stats: list[dict[str, Any]], action: str = "commit") -> None:
    """The three files of a completed commit."""
    writer = TimelineWriter(client.storage, client.config)
    writer.create_requested(action, instant(at))
    writer.transition_inflight(action, instant(at))
    metadata = NewCommitMetadata("UPSERT", {"schema": json.dumps(AVRO)}, stats)
    completion = done(at) if client.config.layout == 2 else None
    writer.complete(action, instant(at), encode_commit(metadata, client.config.layout), completion)


def listed_table(
    path: Path, files: int, partitions: int, *, options: dict[str, str], logs: bool = False, merged: bool = True
) -> None:
    """A table of two commits, the second one empty or of log files.

    All files stand in base files of the metadata table, or in its log files where these are not ``merged``.
    """
    client = empty_table(path, kind="MERGE_ON_READ" if logs else "COPY_ON_WRITE")
    change = changes(files, partitions, logs=logs)
    stats, action = write_stats(change), "deltacommit" if logs else "commit"
    apply(client, 0, action, change, options)
    commit(client, 0, stats[:files], action)
    # The services of the next commit merge what this one has written.
    if merged:
        options = {**options, "hoodie.metadata.compact.max.delta.commits": "1"}
    apply(client.reload(), 1, action, MetadataChanges(), options)
    commit(client, 1, stats[files:], action)


def apply(client: MetaClient, at: int, action: str, change: MetadataChanges, options: dict[str, str]) -> None:
    """Write the change of a commit to the metadata table."""
    writer = MetadataWriter.open(client, options)
    assert writer is not None
    writer.apply(instant(at), action, change)


def folders_table(path: Path, files: int, partitions: int, *, logs: bool = False) -> None:
    """A table of one commit, of two with ``logs``, whose files are there, empty, without a metadata table."""
    client = empty_table(path, kind="MERGE_ON_READ" if logs else "COPY_ON_WRITE")
    change = changes(files, partitions, logs=logs)
    for partition in dict.fromkeys(change.files_added.column("partition").to_pylist()):
        (path / partition).mkdir()
        (path / partition / ".hoodie_partition_metadata").write_text(f"commitTime={instant(0)}\npartitionDepth=1\n")
    columns = (change.files_added.column(name).to_pylist() for name in ("partition", "name"))
    for partition, name in zip(*columns, strict=True):
        (path / partition / name).touch()
    stats = [{**stat, "fileSizeInBytes": 0, "totalWriteBytes": 0} for stat in write_stats(change)]
    action = "deltacommit" if logs else "commit"
    commit(client, 0, stats[:files], action)
    if logs:
        commit(client, 1, stats[files:], action)


def commits_table(path: Path, commits: int, *, version: int = 8) -> None:
    """A table of many commits, each of them a new version of one of a hundred file groups."""
    client = empty_table(path, version=version)
    ids = file_ids(100)
    for number in range(commits):
        file_id, partition = ids[number % 100], f"p{number % 10:06d}"
        name = f"{file_id}_0-1-1_{instant(number)}.parquet"
        change = pa.table([[partition], [name], [1_000]], schema=FILES_SCHEMA)
        commit(client, number, write_stats(MetadataChanges(files_added=change)))


def archived_table(path: Path, commits: int) -> None:
    """A table of many commits, all but the last few of which are archived."""
    commits_table(path, commits)
    options = {"hoodie.metadata.enable": "false", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
    HudiTable.open(path).archive({**options, "hoodie.clean.commits.retained": "1"})


def keyed_table(path: Path, rows: int, group_rows: int, options: dict[str, str]) -> None:
    """A table of rows with keys, a file group to a partition."""
    table = HudiTable.create(
        path, name="t", version=8, record_keys=["id"], partition_fields=["p"], hive_style_partitioning=False
    )
    numbers = np.arange(rows)
    columns = [key_column(numbers), partition_column(numbers, max(1, rows // group_rows), rows), pa.array(numbers)]
    table.upsert(pa.table(columns, names=["id", "p", "v"]), options)


def key_column(numbers: np.ndarray) -> pa.Array:
    """Keys in the order of their numbers."""
    return pc.binary_join_element_wise("trip-2026", pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 12, "0"), "")


def partition_column(numbers: np.ndarray, partitions: int, rows: int) -> pa.Array:
    """Neighbours share a partition."""
    names = pa.array([f"day={at:04d}" for at in range(partitions)])
    return names.take(pa.array(np.minimum(numbers * partitions // rows, partitions - 1)))
