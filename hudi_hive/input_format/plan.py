"""Plans of jobs: the file statuses of all their tables and plain folders, and the input paths rewritten to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.caching import cached_property
from hudi_hive.input_format.incremental import IncrementalFiles, incremental_files
from hudi_hive.input_format.job import JobConf, PathGroups, TableInputs, job_value, list_plain
from hudi_hive.input_format.snapshot import snapshot_files
from hudi_hive.metadata import MetadataListing
from hudi_hive.options import jobs, read, write
from hudi_hive.plan import Query, QueryType, ReadOptions, ScanPlan
from hudi_hive.plan.core import plan_of_files, slices_left, with_skip_filter
from hudi_hive.predicate import RowFilter
from hudi_hive.storage import Stores

INCREMENTAL, SNAPSHOT, PLAIN = "incremental", "snapshot", "plain"

STATUS_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("length", pa.int64()),
        ("mtime_ms", pa.int64()),
        ("group", pa.string()),
        ("table", pa.string()),
        ("base_path", pa.string()),
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("instant", pa.string()),
        ("splittable", pa.bool_()),
    ]
)
"""A row per file: path as the caller writes paths, bytes, milliseconds since the epoch (null if no folder was listed),
``incremental``, ``snapshot`` or ``plain``, and, but for plain files, its table's name and base path, partition path,
file id and the requested time of the commit that wrote it."""


@dataclass(frozen=True, slots=True)
class FileStatus:
    """One row of :data:`STATUS_SCHEMA` as an object."""

    path: str
    length: int
    mtime_ms: int | None
    group: str
    table: str | None
    base_path: str | None
    partition: str | None
    file_id: str | None
    instant: str | None
    splittable: bool


@dataclass(frozen=True)
class JobTablePlan:
    """The plan of one table of a job.

    Attributes:
        inputs: the table and its input paths.
        group: ``incremental`` or ``snapshot``.
        statuses: its files, :data:`STATUS_SCHEMA`.
        read_options: how columns are to be read.
        as_of: the instant of a snapshot of the past, or None.
        incremental: the range, for the incremental group.
        input_paths: for the incremental group the affected partitions below the input paths; else as they were.
        skip_filter: rows that cannot pass it need not be read; None if the job's filter says nothing of files.
    """

    inputs: TableInputs
    group: str
    statuses: pa.Table = field(repr=False)
    read_options: ReadOptions
    as_of: str | None
    incremental: IncrementalFiles | None = field(repr=False)
    input_paths: tuple[str, ...]
    skip_filter: RowFilter | None = None

    def narrowed(self) -> Self:
        """The plan without the files in which no row can pass the job's filter, as far as the metadata table tells.

        Raises:
            SchemaError: the table's schema is not known.
        """
        client, job_filter = self.inputs.client, self.inputs.job_filter
        if job_filter.is_empty or not self.statuses.num_rows:
            return self
        scan = self.scan
        partitions: list[str] = self.statuses.column("partition").unique().to_pylist()
        skip_filter = job_filter.on_files(scan.schema, client.config, partitions)
        if skip_filter is None:
            return self
        listing = client.listing
        if isinstance(listing, MetadataListing) and (not listing.enable or listing.validate):
            return replace(self, skip_filter=skip_filter)  # the metadata table is not to be asked
        numbered = scan.slices.append_column("row", pa.array(np.arange(scan.slices.num_rows)))
        left = slices_left(client, replace(scan, slices=numbered), skip_filter)
        return replace(self._taken(left.column("row").combine_chunks()), skip_filter=skip_filter)

    def _taken(self, rows: pa.Array) -> Self:
        """The plan with these rows of its tables alone."""
        return replace(self, statuses=self.statuses.take(rows))

    @property
    def commit_times(self) -> pa.Array | None:
        """Keep only rows with one of these commit times, but in files that merged logs in; None keeps all."""
        if self.incremental is None or not self.inputs.options.filter_rows:
            return None
        return self.incremental.commit_times

    @property
    def schema_time(self) -> str | None:
        """Requested time of a range's last commit, if its schema is to be shown; None for the schema of the query."""
        if (
            self.incremental is None
            or not self.read_options.end_instant_schema
            or not len(self.incremental.commit_times)
        ):
            return None
        return str(self.incremental.commit_times[-1])

    def scan_of(self, instant: str | None) -> ScanPlan:
        """:attr:`scan` as it is for files that one commit wrote."""
        if self.incremental is not None and instant in self.incremental.merging:
            return replace(self.scan, commit_times=None)
        return self.scan

    @cached_property
    def scan(self) -> ScanPlan:
        """How the files' rows are read: schema, partition values, renamed columns, what is left out of them.

        Raises:
            SchemaError: the table's schema is not known.
            UnsupportedTableError: log files, and it is not known how the table merges records.
        """
        plan = self._unfiltered()
        return plan if self.skip_filter is None else with_skip_filter(self.inputs.client, plan, self.skip_filter)

    def _unfiltered(self) -> ScanPlan:
        columns = ["partition", "file_id", "instant", "path", "length"]
        names = ["partition", "file_id", "instant", "name", "size"]
        files = self.statuses.select(columns).rename_columns(names)
        files = files.set_column(3, "name", pc.replace_substring_regex(files.column("name"), r"(?s)^.*/", ""))
        incremental = self.incremental
        if incremental is None:
            query = Query(QueryType.READ_OPTIMIZED, as_of=self.as_of, options=self.read_options)
            return plan_of_files(self.inputs.client, query, files)
        options = self.inputs.options
        query = Query(QueryType.INCREMENTAL, begin=options.start, end=options.end, options=self.read_options)
        return plan_of_files(
            self.inputs.client,
            query,
            files,
            commit_times=self.commit_times,
            checkpoint=incremental.checkpoint,
            schema_time=self.schema_time,
        )


@dataclass(frozen=True)
class InputPlan:
    """The plan of a job.

    Attributes:
        groups: its classified paths.
        statuses: all files, :data:`STATUS_SCHEMA`, in Hive's order: incremental tables, plain files, snapshot tables.
        input_paths: the rewritten input paths, in the same order; the job's conf is left alone.
        tables: base path -> what is read of the table.
        counters: storage calls that planning cost, by name.
    """

    groups: PathGroups = field(repr=False)
    statuses: pa.Table = field(repr=False)
    input_paths: tuple[str, ...]
    tables: Mapping[str, JobTablePlan] = field(repr=False)
    counters: Mapping[str, int]

    def file_statuses(self) -> Iterator[FileStatus]:
        """The files one by one."""
        columns = [self.statuses.column(name).to_pylist() for name in STATUS_SCHEMA.names]
        for values in zip(*columns, strict=True):
            yield FileStatus(*values)


def read_options(conf: JobConf) -> ReadOptions:
    """The read options among a job's keys.

    Raises:
        InvalidOptionError: a value that an option does not take.
    """
    by_ids = job_value(conf, write.SCHEMA_ON_READ)
    if by_ids is None and not job_value(conf, jobs.HIVE_EVOLUTION):
        by_ids = False
    return ReadOptions(
        schema_evolution=by_ids,
        partition_values_from_path=job_value(conf, read.PARTITION_VALUES_FROM_PATH),
        end_instant_schema=job_value(conf, read.END_INSTANT_SCHEMA),
    )


def plan_table(inputs: TableInputs, conf: JobConf) -> JobTablePlan:
    """Plan the base files of one table of a job.

    Raises:
        QueryError, TableError, TimelineError, StorageError: as the modules of the two groups say.
    """
    options = read_options(conf)
    planned = _plan_incremental(inputs, options) if inputs.options.incremental else _plan_snapshot(inputs, options)
    return planned.narrowed()


def plan_inputs(
    groups: PathGroups, conf: JobConf, stores: Stores, plan_one: Callable[[TableInputs], JobTablePlan]
) -> InputPlan:
    """List what a job's classified paths come to.

    Args:
        groups: the classified paths.
        conf: the job.
        stores: its file systems.
        plan_one: plans one table.

    Raises:
        QueryError, TableError, TimelineError, StorageError: as the modules of the three groups say.
    """
    with stores.counters.measure() as cost:
        tables: dict[str, JobTablePlan] = {}
        for base, inputs in groups.incremental.items():
            tables[base] = plan_one(inputs)
        plain = list_plain(groups.plain, stores, conf.value(jobs.INPUT_RECURSIVE)) if groups.plain else None
        for base, inputs in groups.snapshot.items():
            tables[base] = plan_one(inputs)
    incremental = [plan for plan in tables.values() if plan.group == INCREMENTAL]
    snapshot = [plan for plan in tables.values() if plan.group == SNAPSHOT]
    parts = [plan.statuses for plan in incremental]
    parts += [_plain_statuses(plain)] if plain is not None else []
    parts += [plan.statuses for plan in snapshot]
    paths = [path for plan in incremental for path in plan.input_paths]
    paths += groups.non_hudi
    paths += [path for plan in snapshot for path in plan.input_paths]
    return InputPlan(
        groups=groups,
        statuses=pa.concat_tables([STATUS_SCHEMA.empty_table(), *parts]).combine_chunks(),
        input_paths=tuple(paths),
        tables=tables,
        counters=dict(cost),
    )


def _plan_incremental(inputs: TableInputs, read_options: ReadOptions) -> JobTablePlan:
    incremental = incremental_files(inputs)
    return JobTablePlan(
        inputs=inputs,
        group=INCREMENTAL,
        statuses=_statuses(inputs, incremental.files, INCREMENTAL),
        read_options=read_options,
        as_of=None,
        incremental=incremental,
        input_paths=rewritten_paths(inputs, incremental),
    )


def rewritten_paths(inputs: TableInputs, incremental: IncrementalFiles) -> tuple[str, ...]:
    """The input paths of the affected partitions; input paths that are single files stay single files."""
    coverage = inputs.coverage
    paths: list[str] = []
    for partition in incremental.partitions:
        if coverage.wholly(partition):
            paths.append(str(inputs.base.child(partition)))
        else:
            paths += [str(path) for path in inputs.paths if path.is_file and path.folder == partition]
    return tuple(paths)


def _plan_snapshot(inputs: TableInputs, read_options: ReadOptions) -> JobTablePlan:
    files, as_of = snapshot_files(inputs)
    return JobTablePlan(
        inputs=inputs,
        group=SNAPSHOT,
        statuses=_statuses(inputs, files, SNAPSHOT),
        read_options=read_options,
        as_of=as_of,
        incremental=None,
        input_paths=tuple(str(path) for path in inputs.paths),
    )


def _statuses(inputs: TableInputs, files: pa.Table, group: str) -> pa.Table:
    rows = files.num_rows
    base = str(inputs.base)
    prefix = pa.scalar(base.rstrip("/"), pa.string())
    relative = pc.if_else(
        pc.equal(files.column("partition"), ""),
        files.column("name"),
        pc.binary_join_element_wise(files.column("partition"), files.column("name"), "/"),
    )
    return pa.table(
        [
            pc.binary_join_element_wise(prefix, relative, "/"),
            files.column("size"),
            files.column("mtime_ms"),
            pa.repeat(pa.scalar(group, pa.string()), rows),
            pa.repeat(pa.scalar(inputs.name, pa.string()), rows),
            pa.repeat(pa.scalar(base, pa.string()), rows),
            files.column("partition"),
            files.column("file_id"),
            files.column("instant"),
            pa.repeat(pa.scalar(True), rows),
        ],
        schema=STATUS_SCHEMA,
    )


def _plain_statuses(files: pa.Table) -> pa.Table:
    nothing = pa.nulls(files.num_rows, pa.string())
    return pa.table(
        [
            files.column("path"),
            files.column("size"),
            files.column("mtime_ms"),
            pa.repeat(pa.scalar(PLAIN, pa.string()), files.num_rows),
            *[nothing] * 5,
            pa.repeat(pa.scalar(True), files.num_rows),
        ],
        schema=STATUS_SCHEMA,
    )
