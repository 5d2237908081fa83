"""Reads the keys of file slices in tasks, here or where an engine runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats.base import open_base_file
from hudi_hive.metadata.reader import INDEX_REMOVED_SCHEMA
from hudi_hive.names import RECORD_KEY_COLUMN
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table.bootstrap import is_skeleton
from hudi_hive.table.logs import BlockRange, scan_logs
from hudi_hive.timeline import Timeline

_KEY: Final = RECORD_KEY_COLUMN
_KEYS_SCHEMA: Final = pa.schema([("key", pa.string())])
_T = TypeVar("_T")
_R = TypeVar("_R")
_S = TypeVar("_S")

__all__ = [
    "ExchangingRunner",
    "FileTask",
    "MetadataTaskRunner",
    "count_of",
    "keys_of",
    "keys_of_groups",
    "log_timeline",
    "row_counts",
    "run_tasks",
    "tasks_of",
]


class MetadataTaskRunner(Protocol):
    """The interface of an executor, which runs a function over tasks."""

    def map(self, function: Callable[[_T], _R], tasks: Sequence[_T]) -> list[_R]:
        """The results, in the order of the tasks."""


@runtime_checkable
class ExchangingRunner(MetadataTaskRunner, Protocol):
    """The interface of an executor whose tasks hand what they make to others, without its coming to this process."""

    def exchange(
        self,
        spread: Callable[[_T], list[tuple[int, _R]]],
        gather: Callable[[int, list[_R]], _S],
        tasks: Sequence[_T],
        numbers: int,
    ) -> list[_S]:
        """Run ``spread`` over tasks, and ``gather`` over what was given for each number below ``numbers``, if any.

        The results come in the order of the numbers; either may run more than once for the same arguments.
        """


@dataclass(frozen=True, slots=True)
class FileTask:
    """One base file to read, and with it the log files of its slice."""

    storage: Storage
    partition: str
    file_id: str
    base_file: str | None
    log_files: tuple[str, ...]
    columns: tuple[str, ...]
    timeline: Timeline | None
    schema: pa.Schema

    @classmethod
    def of(
        cls,
        storage: Storage,
        timeline: Timeline | None,
        row: Mapping[str, Any],
        columns: tuple[str, ...] = (),
        schema: pa.Schema | None = None,
    ) -> FileTask:
        """The task of a slice.

        Args:
            storage: of the table.
            timeline: see :func:`log_timeline`.
            row: of ``SLICE_SCHEMA``.
            columns: those to read of the base file; none where keys alone are.
            schema: the types that the table shows them with.
        """
        logs = tuple(row["log_files"])
        types = pa.schema([]) if schema is None else schema
        return cls(storage, row["partition"], row["file_id"], row["base_file"], logs, columns, timeline, types)

    @property
    def base_path(self) -> str:
        """Path of the base file, which there is, below the table's."""
        return f"{self.partition}/{self.base_file}" if self.partition else str(self.base_file)


def log_timeline(client: MetaClient) -> Timeline | None:
    """The timeline that tells which log blocks count; None where all do, as files of other writes are not listed."""
    return client.timeline if client.config.layout == 1 else None


def keys_of_groups(client: MetaClient, groups: pa.Table, executor: MetadataTaskRunner | None) -> pa.Table:
    """Read the keys of file groups from the files of their newest slices.

    Args:
        client: the table.
        groups: columns ``partition`` and ``file_id``.
        executor: runs the reading of files.

    Returns:
        A table of ``INDEX_REMOVED_SCHEMA``.
    """
    wanted = set(zip(groups.column("partition").to_pylist(), groups.column("file_id").to_pylist(), strict=True))
    slices = client.file_system_view(sorted({path for path, _ in wanted})).latest_merged_file_slices()
    places = zip(slices.column("partition").to_pylist(), slices.column("file_id").to_pylist(), strict=True)
    tasks = tasks_of(client, slices.filter(pa.array([place in wanted for place in places], pa.bool_())))
    made = [INDEX_REMOVED_SCHEMA.empty_table()]
    for task, keys in zip(tasks, run_tasks(executor, keys_of, tasks), strict=True):
        rows = {"key": keys.column("key"), "partition": [task.partition] * keys.num_rows}
        made.append(pa.table({name: rows[name] for name in INDEX_REMOVED_SCHEMA.names}, schema=INDEX_REMOVED_SCHEMA))
    return pa.concat_tables(made)


def row_counts(client: MetaClient, executor: MetadataTaskRunner | None) -> dict[str, int]:
    """About how many records each partition of the table has: rows of base files, and keys where there are logs alone.

    Args:
        client: the table.
        executor: runs the reading of files.
    """
    slices = client.file_system_view().latest_merged_file_slices()
    tasks = [task if task.base_file is None else replace(task, log_files=()) for task in tasks_of(client, slices)]
    counts: dict[str, int] = {}
    for task, count in zip(tasks, run_tasks(executor, count_of, tasks), strict=True):
        counts[task.partition] = counts.get(task.partition, 0) + count
    return counts


def count_of(task: FileTask) -> int:
    """The number of keys of a slice; the footer tells that of a file without log files."""
    if task.log_files or task.base_file is None:
        return int(keys_of(task).num_rows)
    with open_base_file(task.storage, task.base_path) as file:
        return int(file.num_rows)


def keys_of(task: FileTask) -> pa.Table:
    """The keys of a slice, each once: those of its files less those that its log files delete; one column ``key``."""
    keys: list[pa.Array] = []
    if task.base_file is not None:
        with open_base_file(task.storage, task.base_path) as file:
            keys += [batch.column(0).cast(pa.string()) for batch in file.batches([_KEY])]
    if task.log_files:
        logs = scan_logs(
            task.storage, task.partition, list(task.log_files), blocks=BlockRange(task.timeline), columns=[_KEY]
        )
        for block in logs.blocks:
            if hasattr(block, "batch"):
                keys.append(pa.concat_arrays([block.batch.column(_KEY).cast(pa.string())]))
            else:
                gone = block.table.column("record_key").combine_chunks().cast(pa.string())
                together = pa.concat_arrays([pa.array([], pa.string()), *keys])
                keys = [together.filter(pc.invert(pc.is_in(together, value_set=gone)))]
    return pa.table([pa.concat_arrays([pa.array([], pa.string()), *keys]).unique()], schema=_KEYS_SCHEMA)


def tasks_of(
    client: MetaClient, slices: pa.Table, columns: tuple[str, ...] = (), schema: pa.Schema | None = None
) -> list[FileTask]:
    """The tasks that read slices.

    Args:
        client: the table.
        slices: rows of ``SLICE_SCHEMA``.
        columns: those to read of base files; none where keys alone are.
        schema: the types that the table shows them with.
    """
    timeline = log_timeline(client)
    # A source file need not have the partition columns, and statistics must not call them null then.
    of_skeletons = tuple(name for name in columns if name not in client.config.partition_fields)
    return [
        FileTask.of(
            client.storage, timeline, row, of_skeletons if is_skeleton(row["base_file"] or "") else columns, schema
        )
        for row in slices.to_pylist()
    ]


def run_tasks(
    executor: MetadataTaskRunner | None, function: Callable[[FileTask], _R], tasks: list[FileTask]
) -> list[_R]:
    """The results of a function over tasks, here where there is no executor."""
    return executor.map(function, tasks) if executor is not None else [function(task) for task in tasks]
