"""The context that every task of a write needs: table, instant, schema, file settings."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import PathExistsError
from hudi_hive.formats import format_properties
from hudi_hive.formats.base import BaseFileSettings, BaseFileWriter, create_base_file
from hudi_hive.formats.hash import BloomSettings
from hudi_hive.names import (
    COMMIT_SEQNO_COLUMN,
    COMMIT_TIME_COLUMN,
    FILE_NAME_COLUMN,
    PARTITION_PATH_COLUMN,
    RECORD_KEY_COLUMN,
)
from hudi_hive.schema import META_FIELDS, EvolvedSchema
from hudi_hive.storage import Storage
from hudi_hive.table import TableConfig
from hudi_hive.table.keys import PARTITION_METAFILE
from hudi_hive.table.merge import MergeSpec
from hudi_hive.table.view import data_file_path
from hudi_hive.write.files.markers import MarkerKind, create_marker, marked_in_partition

COMMIT_TIME: Final = COMMIT_TIME_COLUMN
SEQUENCE: Final = COMMIT_SEQNO_COLUMN
RECORD_KEY: Final = RECORD_KEY_COLUMN
PARTITION_PATH: Final = PARTITION_PATH_COLUMN
FILE_NAME: Final = FILE_NAME_COLUMN


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of one task, whose numbers are the write token in file names (docs/format.md#file-names).

    Attributes:
        task: number of the task among those of the write.
        stage: number of the stage.
        attempt: number that no other attempt of the same write has.
    """

    task: int = 0
    stage: int = 0
    attempt: int = 0

    @property
    def token(self) -> str:
        """The write token."""
        return f"{self.task}-{self.stage}-{self.attempt}"


@dataclass(frozen=True, slots=True)
class FileStyle:
    """How data files are written.

    Attributes:
        base: how base files are encoded; Parquet log blocks are as Parquet base files.
        bloom: settings of the bloom filter in footers; True for the defaults, False for none.
        log_format: what data blocks of log files hold: ``avro`` or ``parquet``.
        log_block_bytes: bytes in memory of the rows of a data block.
        record_positions: log blocks say at which rows of the base file their records are, where that is known.
    """

    base: BaseFileSettings = field(default_factory=BaseFileSettings)
    bloom: bool | BloomSettings = True
    log_format: str = "avro"
    log_block_bytes: int = 256 << 20
    record_positions: bool = False


class FileGuard(Protocol):
    """Refuses files that a write is about to begin; it goes with the tasks to where they run."""

    @property
    def buckets(self) -> bool:
        """Whether new file groups may be those of other writers."""

    def check(
        self, storage: Storage, instant: str, partition: str, name: str, marked: Callable[[str], list[str]]
    ) -> None:
        """Raise an error if the file may not be written; see ``EarlyConflictDetection``."""


@dataclass(frozen=True)
class WriteContext:
    """One write.

    Attributes:
        storage: rooted at the table's base path.
        config: the table's properties.
        instant: requested time of the write.
        schema: columns of the files: the meta columns, if the table has them, then the data columns.
        avro_schema: the same in Avro.
        spec: how records merge.
        files: how files are written.
        tracks_keys: whether statuses tell which keys came and went, for the record index.
        ranges: whether statuses tell column ranges.
        allows_duplicates: whether rows inserted into a group that has rows are put behind them, whatever their keys.
        evolved: where older files hold the columns; None in a table whose columns have no ids.
        changed_columns: columns of the log blocks of rows that are updated in part; none where such rows are written
            whole.
        guard: refuses files of groups at which other writers are.
    """

    storage: Storage
    config: TableConfig
    instant: str
    schema: pa.Schema
    avro_schema: Mapping[str, Any] = field(repr=False)
    spec: MergeSpec
    files: FileStyle = field(default_factory=FileStyle)
    tracks_keys: bool = False
    ranges: bool = False
    allows_duplicates: bool = False
    evolved: EvolvedSchema | None = field(default=None, repr=False)
    changed_columns: tuple[str, ...] = ()
    guard: FileGuard | None = None

    @cached_property
    def has_meta(self) -> bool:
        """Whether the files have the meta columns."""
        return self.config.populate_meta_fields

    @cached_property
    def changed_avro_schema(self) -> Mapping[str, Any]:
        """The Avro schema of :attr:`changed_columns`."""
        chosen = [entry for entry in self.avro_schema["fields"] if entry["name"] in self.changed_columns]
        return {**self.avro_schema, "fields": chosen}

    @property
    def logs_changes(self) -> bool:
        """Whether change files are written."""
        return self.config.cdc_enabled

    def path(self, partition: str, name: str) -> str:
        """A data file's path relative to the base path.

        Raises:
            UnsafePathError: it would not be a data file of a partition.
        """
        return data_file_path(partition, name)

    def marker_kind(self, name: str, *, merges: bool = False) -> MarkerKind:
        """Kind of the marker of a file (docs/format.md#markers)."""
        if name.startswith("."):
            return MarkerKind.APPEND if self.config.version < 8 else MarkerKind.CREATE
        return MarkerKind.MERGE if merges else MarkerKind.CREATE

    def begin_file(self, partition: str, name: str, *, merges: bool = False, rewrites: bool = False) -> str:
        """Create the marker of a file, and its partition if that is new.

        Args:
            partition: its path.
            name: the file.
            merges: the file's group has a base file.
            rewrites: its rows are in the partition already.

        Returns:
            The path of the file.

        Raises:
            WriteConflictError: another writer is at its file group, and such conflicts are detected early.
        """
        path = self.path(partition, name)
        if self.guard is not None and (merges or name.startswith(".") or self.guard.buckets):
            marked = partial(marked_in_partition, self.storage, partition)
            self.guard.check(self.storage, self.instant, partition, name, marked)
        create_marker(self.storage, self.instant, partition, name, self.marker_kind(name, merges=merges))
        if self.storage.is_local or not (merges or rewrites):  # then the partition is there
            ensure_partition(self.storage, partition, self.instant)
        return path

    def begin_base_file(
        self, partition: str, name: str, *, merges: bool = False, rewrites: bool = False, statistics: bool
    ) -> BaseFileWriter:
        """Mark and begin a base file; errors of :meth:`begin_file`.

        Args:
            partition: its path.
            name: the file, whose extension says the format.
            merges: the file's group has a base file.
            rewrites: its rows are in the partition already.
            statistics: whether closing it tells the ranges of its columns.
        """
        return create_base_file(
            self.storage,
            self.begin_file(partition, name, merges=merges, rewrites=rewrites),
            self.schema,
            self.avro_schema,
            bloom=self.files.bloom,
            settings=self.files.base,
            statistics=statistics,
        )

    def stamped(
        self, rows: pa.Table, file_name: str, attempt: Attempt, first: int = 0, *, partition: str | None = None
    ) -> pa.Table:
        """Add the meta columns of this write to rows, and select the columns of the file.

        Args:
            rows: columns of :attr:`schema`, with the record key and the partition path of each row.
            file_name: what ``_hoodie_file_name`` is to say.
            attempt: who writes.
            first: running number of the first row.
            partition: path of the partition of all rows, if meta columns with one value are to be dictionaries.
        """
        columns: dict[str, pa.Array | pa.ChunkedArray] = {}
        if self.has_meta:
            count = rows.num_rows
            numbers = pa.array(np.arange(first, first + count)).cast(pa.string())
            columns[SEQUENCE] = pc.binary_join_element_wise(f"{self.instant}_{attempt.task}_", numbers, "")
            shared = {COMMIT_TIME: self.instant, FILE_NAME: file_name}
            if partition is None:
                columns |= {name: pa.repeat(pa.scalar(value, pa.string()), count) for name, value in shared.items()}
            else:
                places = pa.array(np.zeros(count, np.int32))
                for name, value in {**shared, PARTITION_PATH: partition}.items():
                    columns[name] = pa.DictionaryArray.from_arrays(places, pa.array([value], pa.string()))
        arrays, entries = [], []
        for entry in self.schema:
            column = columns.get(entry.name)
            arrays.append(rows.column(entry.name) if column is None else column)
            entries.append(entry if column is None else entry.with_type(column.type))
        return pa.table(arrays, schema=pa.schema(entries))


def ensure_partition(storage: Storage, partition: str, instant: str) -> None:
    """Write the partition metafile of a partition that has none (docs/format.md#partition-metafile)."""
    path = f"{partition}/{PARTITION_METAFILE}" if partition else PARTITION_METAFILE
    if storage.is_local and storage.exists(path):  # a store refuses to create it again, with one request
        return
    depth = len(partition.split("/")) if partition else 0
    data = format_properties({"commitTime": instant, "partitionDepth": str(depth)}, ["partition metadata"])
    with suppress(PathExistsError):  # another task, or another writer, was first
        storage.create_if_absent(path, data)


def new_file_id() -> str:
    """Id of a new file group (docs/format.md#file-names)."""
    return f"{uuid.uuid4()}-0"


def file_ids_of_task(seed: str, task: int) -> Iterator[str]:
    """Ids of the new file groups that a task makes, the same whenever it runs.

    So a file that a lost attempt of it finishes late is another file of a group that there is, and no group more.

    Args:
        seed: a new file id that all tasks of the write have got.
        task: its number among them.
    """
    space = uuid.UUID(seed[:36])
    return (f"{uuid.uuid5(space, f'{task}-{number}')}-0" for number in itertools.count())


def data_columns(schema: pa.Schema) -> list[str]:
    """Names of the columns that are not meta columns."""
    return [name for name in schema.names if name not in META_FIELDS]
