"""``HoodieParquetRealtimeInputFormat``: snapshots and ranges of merge-on-read tables, log files merged in.

A status or split is a file slice: the base file with its log files, or, where there is no base file, one of the log
files with all of them. Slices with log files are read by one task; a base file alone is cut like any other file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError, UnsupportedTableError
from hudi_hive.formats.base import BATCH_ROWS
from hudi_hive.input_format.incremental import IncrementalFiles, commit_range, refuse_without_meta
from hudi_hive.input_format.job import JobConf, TableInputs, is_in_job, job_value, list_partitions
from hudi_hive.input_format.parquet_input_format import HoodieParquetInputFormat
from hudi_hive.input_format.plan import (
    INCREMENTAL,
    SNAPSHOT,
    STATUS_SCHEMA,
    InputPlan,
    JobTablePlan,
    read_options,
    rewritten_paths,
)
from hudi_hive.input_format.record_reader import own_columns, projection, read_split
from hudi_hive.input_format.snapshot import LISTED_FILE_SCHEMA, query_instant, timeline_of
from hudi_hive.input_format.splits import FileSplit
from hudi_hive.metadata.reader import newest_write_time
from hudi_hive.options import jobs, read
from hudi_hive.plan import Query, QueryType, ReadOptions, ScanPlan
from hudi_hive.plan.core import (
    cleaned_error,
    missing_files,
    plan_of_slices,
    refuse_cleaned_files,
    slices_of_range,
)
from hudi_hive.plan.model import MergeType, with_paths
from hudi_hive.read.scan import SliceReader, partition_columns
from hudi_hive.table import FileSystemView


@dataclass(frozen=True, slots=True)
class VirtualKey:
    """The columns that hold the keys of a table without meta columns.

    Attributes:
        record_keys: the record key's columns.
        partition_fields: the partition columns.
    """

    record_keys: tuple[str, ...]
    partition_fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RealtimeSplit(FileSplit):
    """A file slice, or a byte range of a base file without log files, as a task gets it.

    Attributes:
        file_id: the file group; empty for a plain file.
        base_file: name of the base file; None for a slice of log files only, and for a plain file.
        log_files: names and sizes in bytes of the slice's log files, in the order of reading.
        max_commit_time: blocks of later instants do not count; empty for a plain file.
        incremental: the split is of an incremental read.
        virtual_key: the key columns of a table without meta columns.
    """

    file_id: str = ""
    base_file: str | None = None
    log_files: tuple[tuple[str, int], ...] = ()
    max_commit_time: str = ""
    incremental: bool = False
    virtual_key: VirtualKey | None = None


@dataclass(frozen=True)
class RealtimeTable(JobTablePlan):
    """The plan of one table of a job, with its log files.

    Attributes:
        slices: the file slices, in the order of :attr:`statuses`.
        max_instant: instants up to this one count.
    """

    slices: pa.Table = field(default_factory=pa.Table, repr=False)
    max_instant: str | None = None

    def _taken(self, rows: pa.Array) -> Self:
        return replace(super()._taken(rows), slices=self.slices.take(rows))

    def _unfiltered(self) -> ScanPlan:
        client, options, incremental = self.inputs.client, self.inputs.options, self.incremental
        if incremental is None:
            query = Query(QueryType.SNAPSHOT, as_of=self.as_of, options=self.read_options)
            return plan_of_slices(client, query, self.slices, max_instant=self.max_instant)
        query = Query(QueryType.INCREMENTAL, begin=options.start, end=options.end, options=self.read_options)
        return plan_of_slices(
            client,
            query,
            self.slices,
            commit_times=self.commit_times,
            checkpoint=incremental.checkpoint,
            schema_time=self.schema_time,
            max_instant=self.max_instant,
            range_first=client.config.version >= 8 and not incremental.full_scan and self.commit_times is not None,
        )


class HoodieParquetRealtimeInputFormat(HoodieParquetInputFormat):
    """Lists, splits and reads what a Hive job names: file slices with their log files merged in, and plain files.

    ``hoodie.realtime.merge.skip=true`` (or ``hoodie.datasource.merge.type=skip_merge``, which wins) gives base rows and
    log records side by side. All else is as in :class:`HoodieParquetInputFormat`; tables that have no log files are
    read as there.
    """

    def _table(self, inputs: TableInputs) -> JobTablePlan:
        options = _read_options(self.conf)
        if inputs.options.incremental:
            return _incremental_table(inputs, options).narrowed()
        return _snapshot_table(inputs, options).narrowed()

    def get_splits(self, number: int = 1) -> list[FileSplit]:
        """All splits, as :class:`RealtimeSplit` objects.

        Args:
            number: how many splits the engine would like.

        Raises:
            InvalidOptionError: a negative number, or a size key that is none; and what listing raises.
        """
        slices = _rows_by_path(self.plan)
        return [self._realtime(split, slices) for split in super().get_splits(number)]

    def _realtime(self, split: FileSplit, slices: dict[str, dict[str, Any]]) -> RealtimeSplit:
        values = {name: getattr(split, name) for name in FileSplit.__slots__}
        if split.base_path is None:
            return RealtimeSplit(**values)
        table = self.plan.tables[split.base_path]
        assert isinstance(table, RealtimeTable)
        config = table.inputs.client.config
        row = slices[split.path]
        return RealtimeSplit(
            **values,
            file_id=row["file_id"],
            base_file=row["base_file"],
            log_files=tuple(zip(row["log_files"], row["log_sizes"], strict=True)),
            max_commit_time=table.max_instant or "",
            incremental=table.group == INCREMENTAL,
            virtual_key=None
            if config.populate_meta_fields
            else VirtualKey(config.record_keys, config.partition_fields),
        )

    def get_record_reader(self, split: FileSplit) -> Iterator[pa.RecordBatch]:
        """Rows of one split.

        Columns are chosen as in :meth:`HoodieParquetInputFormat.get_record_reader`; those that merging needs besides
        are read and left out again.

        Args:
            split: one of :meth:`get_splits` of this object or of one with the same conf.

        Raises:
            InvalidOptionError: the split was made by another input format, or is of a table that the job does not have.
            FileVanishedError: a file was cleaned since.
            CorruptFileError, SchemaError: a file is broken or does not fit the table.
            UnknownColumnError: a column of the projection does not exist.
        """
        if not isinstance(split, RealtimeSplit):
            raise InvalidOptionError(
                "the split is not one of a realtime input format",
                path=split.path,
                remedy="make splits with this class, and set hive.input.format to HiveInputFormat",
            )
        table = None if split.base_path is None else self.plan.tables.get(split.base_path)
        if not split.log_files or table is None:
            return read_split(self.plan, self.conf, self.stores, split)
        return self._merged(split, table)

    def required_columns(self, split: RealtimeSplit) -> list[str] | None:
        """The columns that reading a split needs: those of the projection, then those that merging adds; None for all.

        Args:
            split: one of :meth:`get_splits`.
        """
        columns = projection(self.conf)
        table = None if split.base_path is None else self.plan.tables.get(split.base_path)
        if columns is None or table is None or not split.log_files:
            return columns
        return list(self._reader(table, columns).needed.names)

    def _reader(self, table: JobTablePlan, columns: list[str] | None) -> SliceReader:
        scan = table.scan
        columns = own_columns(self.conf, scan, columns)
        return SliceReader.of(table.inputs.client.storage, scan, columns, BATCH_ROWS, schema=scan.schema)

    def _merged(self, split: RealtimeSplit, table: JobTablePlan) -> Iterator[pa.RecordBatch]:
        reader = self._reader(table, projection(self.conf))
        reader = replace(reader, merge=replace(reader.merge, max_instant=split.max_commit_time or None))
        row = {
            "partition": split.partition or "",
            "file_id": split.file_id,
            "base_instant": split.instant,
            "base_file": split.base_file,
            "base_size": split.file_length,
            "log_files": [name for name, _ in split.log_files],
            "log_sizes": [size for _, size in split.log_files],
        }
        yield from reader.rows(row, partition_columns(table.scan, pa.table({"partition": [row["partition"]]})))


def _read_options(conf: JobConf) -> ReadOptions:
    kind = job_value(conf, read.MERGE_TYPE)
    if not is_in_job(conf, read.MERGE_TYPE) and job_value(conf, jobs.MERGE_SKIP):
        kind = MergeType.SKIP_MERGE
    return replace(read_options(conf), merge_type=kind)


def _rows_by_path(plan: InputPlan) -> dict[str, dict[str, Any]]:
    """Path of a status → its slice."""
    rows: dict[str, dict[str, Any]] = {}
    for table in plan.tables.values():
        assert isinstance(table, RealtimeTable)
        paths = table.statuses.column("path").to_pylist()
        rows.update(zip(paths, table.slices.to_pylist(), strict=True))
    return rows


def _snapshot_table(inputs: TableInputs, options: ReadOptions) -> RealtimeTable:
    client = inputs.client
    timeline = client.timeline  # read before any listing: see FileSystemView
    as_of = query_instant(inputs)
    last = timeline.last_completed_write()
    slices = _current_slices(inputs, as_of)
    return RealtimeTable(
        inputs=inputs,
        group=SNAPSHOT,
        read_options=options,
        as_of=as_of,
        incremental=None,
        input_paths=tuple(str(path) for path in inputs.paths),
        max_instant=as_of if as_of is not None else last.requested if last is not None else None,
        slices=slices,
        statuses=_statuses(inputs, slices, SNAPSHOT),
    )


def _current_slices(inputs: TableInputs, as_of: str | None) -> pa.Table:
    """Newest slices below the input paths, now or at an instant."""
    client = inputs.client
    if inputs.options.pending_commits:
        raise UnsupportedTableError(
            "consume.pending.commits does not go with merged log files", path=str(inputs.base), remedy="leave it out"
        )
    listed = list_partitions(inputs)
    view = FileSystemView(listed, timeline_of(inputs))
    client.refuse_earlier_table(view)
    if view.has_hidden_files or as_of is not None:
        client.refuse_removed_files()
    if as_of is not None:
        refuse_cleaned_files(client, as_of, listed, inputs.reads, logs=True)
    slices = view.latest_merged_file_slices(as_of if as_of is not None else newest_write_time(client.timeline))
    return _covered(inputs, with_paths(slices))


def _incremental_table(inputs: TableInputs, options: ReadOptions) -> RealtimeTable:
    refuse_without_meta(inputs)
    client = inputs.client
    commits = commit_range(inputs)
    slices, files = slices_of_range(client, commits)
    slices = _covered(inputs, slices)
    touched = {p for i in commits.instants for p in commits.metadata(client.timeline, i).partitions_written()}
    files = files.filter(pc.is_in(files.column("partition"), value_set=slices.column("partition").combine_chunks()))
    missing = missing_files(client, commits, files)
    full_scan = missing.num_rows > 0
    max_instant = commits.instants[-1].requested if commits.instants else None
    if full_scan:
        if not inputs.options.full_scan_fallback:
            raise cleaned_error(client, missing)
        slices, max_instant = _current_slices(inputs, None), None
    partitions = inputs.partitions_read(sorted(touched))
    if not full_scan:
        slices = slices.filter(pc.is_in(slices.column("partition"), value_set=pa.array(partitions, pa.string())))
    assert inputs.options.start is not None
    incremental = IncrementalFiles(
        files=LISTED_FILE_SCHEMA.empty_table(),
        partitions=tuple(partitions),
        partitions_written=len(touched),
        commit_times=commits.requested_times(),
        merging=frozenset(),
        checkpoint=commits.checkpoint or inputs.options.start,
        full_scan=full_scan,
    )
    return RealtimeTable(
        inputs=inputs,
        group=INCREMENTAL,
        read_options=options,
        as_of=None,
        incremental=incremental,
        input_paths=rewritten_paths(inputs, incremental),
        max_instant=max_instant,
        slices=slices,
        statuses=_statuses(inputs, slices, INCREMENTAL),
    )


def _covered(inputs: TableInputs, slices: pa.Table) -> pa.Table:
    """Slices below the input paths; a single file that is an input path stands for its slice."""
    mask = inputs.coverage.mask(slices.column("partition"), _shown_names(slices, SNAPSHOT))
    return slices.filter(mask)


def _shown_names(slices: pa.Table, group: str) -> pa.Array:
    """The file that a slice is shown as: its base file, else its newest log file (of a range: the first)."""
    logs = slices.column("log_files").combine_chunks()
    ends = np.cumsum(pc.fill_null(pc.list_value_length(logs), 0).to_numpy().astype(np.int64))
    starts = np.append(0, ends[:-1]) if len(ends) else ends
    places = starts if group == INCREMENTAL else ends - 1
    empty = starts == ends
    shown = pc.list_flatten(logs).take(pa.array(np.where(empty, 0, places), mask=empty))
    return pc.coalesce(slices.column("base_file").combine_chunks(), shown)


def _statuses(inputs: TableInputs, slices: pa.Table, group: str) -> pa.Table:
    """The statuses of slices."""
    rows = slices.num_rows
    base = str(inputs.base)
    names = _shown_names(slices, group)
    sizes = pc.coalesce(slices.column("base_size").combine_chunks(), _shown_log_sizes(slices, group))
    relative = pc.if_else(
        pc.equal(slices.column("partition"), ""),
        names,
        pc.binary_join_element_wise(slices.column("partition"), names, "/"),
    )
    no_logs = pc.equal(pc.list_value_length(slices.column("log_files")), 0)
    return pa.table(
        [
            pc.binary_join_element_wise(pa.scalar(base.rstrip("/"), pa.string()), relative, "/"),
            sizes,
            pa.nulls(rows, pa.int64()),
            pa.repeat(pa.scalar(group, pa.string()), rows),
            pa.repeat(pa.scalar(inputs.name, pa.string()), rows),
            pa.repeat(pa.scalar(base, pa.string()), rows),
            slices.column("partition"),
            slices.column("file_id"),
            slices.column("base_instant"),
            no_logs,
        ],
        schema=STATUS_SCHEMA,
    )


def _shown_log_sizes(slices: pa.Table, group: str) -> pa.Array:
    sizes = slices.column("log_sizes").to_pylist()
    return pa.array([(s[0] if group == INCREMENTAL else s[-1]) if s else None for s in sizes], pa.int64())
