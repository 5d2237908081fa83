"""Scan plans: the slices that a query reads, their schema, and the steps that led to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedTableError
from hudi_hive.notebook_html import rows_html
from hudi_hive.options import read
from hudi_hive.plan.model.query import Query
from hudi_hive.predicate import RowFilter
from hudi_hive.schema import EvolvedSchema
from hudi_hive.table.merge import MergeSpec
from hudi_hive.table.view import SLICE_SCHEMA, check_partitions
from hudi_hive.timeline import Timeline

PLAN_SCHEMA = SLICE_SCHEMA.append(pa.field("path", pa.string()))
"""Columns of a plan's slices: a file slice's and the base file's path relative to the table (null: logs only)."""

_IN_MEMORY = 2
"""Bytes that a byte of a log file may take in memory, about, where a slice is merged at once."""

_OF_A_PART = 8
"""The same of a part: its decoded records, their keys and the base rows that it meets stand beside each other."""

_MOST_PARTS = 128
"""Each of which has two files open while records go to it."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of planning that reduced ``before`` items to ``after``.

    Attributes:
        name: what was done.
        unit: what is counted: ``partitions``, ``commits`` or ``files``.
    """

    name: str
    unit: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class MergeMemory:
    """The memory that merging one slice may take, and where what does not fit goes.

    Attributes:
        size: bytes of memory.
        folder: a folder of the local disk; None for the system's for temporary files.
    """

    size: int = read.MERGE_MEMORY.default
    folder: str | None = None

    def parts(self, log_sizes: Iterable[int | None]) -> int:
        """The number of parts in which a slice is merged; 1 where all of its log files may be in memory.

        Args:
            log_sizes: bytes of each log file, as far as they are known.
        """
        logs = sum(size or 0 for size in log_sizes)
        return 1 if logs * _IN_MEMORY <= self.size else max(2, min(_MOST_PARTS, -(-logs * _OF_A_PART // self.size)))


@dataclass(frozen=True)
class LogMerge:
    """How the log files of a plan's slices are read and merged with their base files.

    Attributes:
        spec: the table's rules.
        timeline: tells which log blocks count.
        max_instant: blocks of later instants do not count; None: all that the timeline has completed.
        skip: give base rows and log records side by side, unmerged (``skip_merge``).
        range_first: an incremental query takes base rows of the range's commits only into the merge, as table version
            8 and later do: what the range did to a row is seen even where an older row wins. Else they are left out
            after it.
        keys: the filter lets rows of these record keys pass only; None: it does not say so.
        memory: for one slice.
        use_positions: which base rows log records replace may be told by the positions that log blocks have.
    """

    spec: MergeSpec
    timeline: Timeline
    max_instant: str | None = None
    skip: bool = False
    range_first: bool = False
    keys: pa.Array | None = None
    memory: MergeMemory = MergeMemory()
    use_positions: bool = read.MERGE_POSITIONS.default


CHANGE_SCHEMA = pa.schema(
    [
        ("instant", pa.string()),
        ("case", pa.string()),
        ("cdc_files", pa.list_(pa.string())),
        ("cdc_sizes", pa.list_(pa.int64())),
        ("before_instant", pa.string()),
        ("before_file", pa.string()),
        ("before_size", pa.int64()),
        ("before_logs", pa.list_(pa.string())),
        ("before_log_sizes", pa.list_(pa.int64())),
    ]
)
"""What a change data query adds to each slice: the commit, how its changes are told (:mod:`hudi_hive.plan.core.cdc`),
the files that list them, and the slice as it was before, for images that they do not hold."""


@dataclass(frozen=True)
class ScanPlan:
    """The plan of a scan, which can be pickled, and does not change when the table does.

    Attributes:
        base_path: the table's base path, a URI.
        query: the question.
        slices: a table of :data:`PLAN_SCHEMA`, a row per file slice, sorted by partition and file id.
        schema: the table's schema that the query shows, meta columns first, before any projection.
        base_file_format: ``parquet``, ``orc``, ``hfile`` or ``lance``.
        partition_fields: partition columns in the order of the path.
        hive_style, url_encoded: how values stand in partition paths.
        path_columns: partition columns whose values must come from the partition path.
        row_filter: rows to keep, bound to ``schema``, or None for all.
        evolved_schema: tells what older files call the columns of ``schema``; None when their names never changed.
        commit_times: keep only rows whose ``_hoodie_commit_time`` is one of these; None keeps all.
        instant: requested time of the newest completed write that the plan has seen, or None for an empty table.
        checkpoint: incremental: the ``begin`` for the next query so that nothing is missed or seen twice.
        partitions_total: partitions that the table (or, for an incremental query, the range) has. A folder that the
            filter left out, so that it was not listed, counts as one, however many partitions it holds.
        partitions_planned: partitions with at least one planned slice.
        steps: how planning went.
        counters: storage calls that planning cost, by name.
        merge: how log files are merged in; None when no slice has any.
        changes: change data queries: a row of :data:`CHANGE_SCHEMA` for each slice; ``schema`` is that of the changes.
        table_schema: the schema of the table's rows, where ``schema`` is not.
        skip_filter: rows that cannot pass it need not be read; unlike ``row_filter`` it is not applied to rows, and
            parts of it may be unknown.
    """

    base_path: str
    query: Query
    slices: pa.Table = field(repr=False)
    schema: pa.Schema = field(repr=False)
    base_file_format: str
    partition_fields: tuple[str, ...]
    hive_style: bool
    url_encoded: bool
    path_columns: tuple[str, ...]
    row_filter: RowFilter | None
    evolved_schema: EvolvedSchema | None = field(repr=False)
    commit_times: pa.Array | None = field(repr=False)
    instant: str | None
    checkpoint: str | None
    partitions_total: int
    partitions_planned: int
    steps: tuple[PlanStep, ...]
    counters: Mapping[str, int]
    merge: LogMerge | None = field(default=None, repr=False)
    changes: pa.Table | None = field(default=None, repr=False)
    table_schema: pa.Schema | None = field(default=None, repr=False)
    skip_filter: RowFilter | None = None

    def _repr_html_(self) -> str:
        rows = [(step.name, step.unit, step.before, step.after) for step in self.steps]
        title = (
            f"ScanPlan of {self.base_path}: {self.slices.num_rows:,} file slices in {self.partitions_planned:,} of "
            f"{self.partitions_total:,} partitions, {self.total_bytes:,} bytes"
        )
        return rows_html(title, ["step", "of", "before", "after"], rows, len(rows))

    @property
    def has_logs(self) -> bool:
        """Whether a slice has log files, so that its base file alone does not hold its rows."""
        return has_logs(self.slices)

    def require_base_files(self, reader: str) -> None:
        """Refuse a plan that a reader of base files only would read wrongly.

        Raises:
            UnsupportedTableError: a slice has log files, or changes are asked for.
        """
        if self.changes is not None or self.has_logs:
            what = "change data" if self.changes is not None else "slices with log files"
            raise UnsupportedTableError(
                f"{what} cannot be read by {reader}",
                path=self.base_path,
                remedy="read them with HudiTable.scan, or query_type='read_optimized' without the log files",
            )

    @property
    def files(self) -> pa.Table:
        """The base files to read: columns partition, name, size, instant, path."""
        slices = self.slices.filter(pc.is_valid(self.slices.column("base_file")))
        return slices.select(["partition", "base_file", "base_size", "base_instant", "path"]).rename_columns(
            ["partition", "name", "size", "instant", "path"]
        )

    @property
    def file_count(self) -> int:
        """Number of planned base and log files."""
        logs = pc.sum(pc.list_value_length(self.slices.column("log_files"))).as_py() or 0
        return len(self.slices) - self.slices.column("base_file").null_count + int(logs)

    @property
    def total_bytes(self) -> int:
        """Bytes of all planned base and log files."""
        logs = pc.sum(pc.list_flatten(self.slices.column("log_sizes"))).as_py() or 0
        return int(pc.sum(self.slices.column("base_size")).as_py() or 0) + int(logs)


def has_logs(slices: pa.Table) -> bool:
    """Whether one of the slices has log files."""
    return bool(pc.any(pc.greater(pc.list_value_length(slices.column("log_files")), 0)).as_py())


def base_files_as_slices(files: pa.Table) -> pa.Table:
    """Slices of :data:`PLAN_SCHEMA` from base files (columns partition, file_id, instant, name, size)."""
    nowhere = pa.array(np.zeros(files.num_rows + 1, np.int32))
    no_logs = pa.ListArray.from_arrays(nowhere, pa.array([], pa.string()))
    no_sizes = pa.ListArray.from_arrays(nowhere, pa.array([], pa.int64()))
    columns = [files.column(name) for name in ("partition", "file_id", "instant", "name", "size")]
    return pa.table([*columns, no_logs, no_sizes, _paths(files.column("partition"), files.column("name"))], PLAN_SCHEMA)


def with_paths(slices: pa.Table) -> pa.Table:
    """Slices of ``SLICE_SCHEMA`` with the path column of :data:`PLAN_SCHEMA`."""
    path = _paths(slices.column("partition"), slices.column("base_file"))
    return slices.append_column(PLAN_SCHEMA.field("path"), path)


def _paths(partitions: pa.ChunkedArray, names: pa.ChunkedArray) -> pa.ChunkedArray:
    check_partitions(pc.unique(partitions).to_pylist())
    joined = pc.binary_join_element_wise(partitions, names, "/")
    return pc.if_else(pc.equal(partitions, ""), names, joined)
