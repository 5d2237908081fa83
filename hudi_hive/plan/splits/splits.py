"""Cuts the slices of a plan into splits of about equal size, with weights (RFC-40, "split weight").

Large Parquet and ORC files that no log file goes with are cut at row groups (stripes); every other slice is one split.
Everything stays a table of :data:`SPLIT_SCHEMA` until splits are handed out one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError, PartitionValueError
from hudi_hive.plan.model import CHANGE_SCHEMA, PLAN_SCHEMA, Query, ScanPlan
from hudi_hive.predicate import RowFilter
from hudi_hive.storage import Storage, hosts_of_range
from hudi_hive.table.keys import partition_value_columns
from hudi_hive.table.view import log_bytes

SPLIT_SCHEMA: Final = pa.schema(
    [
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("path", pa.string()),
        ("start", pa.int64()),
        ("length", pa.int64()),
        ("file_size", pa.int64()),
        ("base_instant", pa.string()),
        ("log_files", pa.list_(pa.string())),
        ("log_sizes", pa.list_(pa.int64())),
        ("weight", pa.int32()),
        ("hosts", pa.list_(pa.string())),
    ]
)
"""A row per split. ``path`` is the base file's, relative to the table (null: the slice has log files alone), ``start``
and ``length`` are bytes in it (a reader takes the row groups whose middle lies there), ``file_size`` its bytes;
``weight`` is the work, 100 for a full split; ``hosts`` are the nodes
that have most of it, where the store tells."""

CHANGE_FIELD: Final = pa.field("change", pa.struct(list(CHANGE_SCHEMA)))
"""Column of splits of change data, behind those of :data:`SPLIT_SCHEMA`: which change of the slice is meant."""

ROW_GROUP_SCHEMA: Final = pa.schema([("path", pa.string()), ("start", pa.int64()), ("size", pa.int64())])
"""Row groups (stripes) of files: where each begins and how many bytes it has, in the order of the file."""

FULL_WEIGHT: Final = 100
"""Weight of a split of standard size, and what a batch of splits holds unless the caller says otherwise."""


@dataclass(frozen=True, slots=True)
class SplitOptions:
    """How slices are cut into splits.

    Attributes:
        target_size: bytes that a split should have; larger Parquet and ORC files are cut.
        standard_weight_size: bytes that weigh 100.
        minimum_weight: the least that a split weighs, as a share of 100: opening a file costs, too.
        split_row_groups: cut files; false makes one split of each slice.
    """

    target_size: int = 128 << 20
    standard_weight_size: int = 128 << 20
    minimum_weight: float = 0.05
    split_row_groups: bool = True

    def __post_init__(self) -> None:
        for name in ("target_size", "standard_weight_size"):
            if getattr(self, name) <= 0:
                raise InvalidOptionError(f"{name} must be greater than 0")
        if not 0 < self.minimum_weight <= 1:
            raise InvalidOptionError("minimum_weight must be greater than 0 and at most 1")


@dataclass(frozen=True, slots=True)
class HudiSplit:
    """A split for a worker, which can be pickled.

    Attributes:
        base_path: the table's base path, a URI.
        partition, file_id, path, start, length, file_size, base_instant, log_files, log_sizes, weight, hosts: the row
            of :data:`SPLIT_SCHEMA`.
        partition_keys: partition columns and their values as text, None for Hive's default partition; as the
            partition path tells them (empty where it does not), or the metastore, whose names are in lower case.
        predicate: rows that the query asks for, by its filter and the dynamic one of when the split was handed out;
            None for all.
        merge_instant: log blocks of later instants do not count; None for a split without log files.
        query: the question that the split answers in part: its type, ``as_of``, ``begin`` and ``end``.
        commit_times: of a range of commits: rows of these requested times alone count; None for all.
        range_first: as of :class:`~hudi_hive.plan.model.scan_plan.LogMerge`.
        change: of change data: the row of ``CHANGE_SCHEMA``; None otherwise.
    """

    base_path: str
    partition: str
    file_id: str
    path: str | None
    start: int
    length: int
    file_size: int
    base_instant: str
    log_files: tuple[str, ...]
    log_sizes: tuple[int, ...]
    weight: int
    partition_keys: Mapping[str, str | None]
    predicate: RowFilter | None
    merge_instant: str | None
    query: Query = field(default_factory=Query)
    commit_times: tuple[str, ...] | None = field(default=None, repr=False)
    range_first: bool = False
    change: Mapping[str, Any] | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()

    @property
    def is_part(self) -> bool:
        """Whether the split is only a part of its file."""
        return self.path is not None and (self.start > 0 or self.length < self.file_size)


def make_splits(
    slices: pa.Table,
    options: SplitOptions | None = None,
    row_groups: pa.Table | None = None,
    *,
    changes: pa.Table | None = None,
) -> pa.Table:
    """Cut slices into splits, in their order.

    Args:
        slices: a table of :data:`~hudi_hive.plan.model.scan_plan.PLAN_SCHEMA`.
        options: sizes and weights.
        row_groups: a table of :data:`ROW_GROUP_SCHEMA` for the files that may be cut (see :func:`files_to_cut`); files
            that it does not tell of stay whole.
        changes: a row of ``CHANGE_SCHEMA`` for each slice, for change data: one split each, whatever its size.

    Returns:
        A table of :data:`SPLIT_SCHEMA`; with changes it has the column :data:`CHANGE_FIELD`, too.
    """
    options = options or SplitOptions()
    if changes is not None:
        row_groups = None
    sizes = np.asarray(pc.fill_null(slices.column("base_size"), 0).to_numpy(), np.int64)
    rows = np.arange(slices.num_rows)
    start, length = np.zeros(len(rows), np.int64), sizes
    if row_groups is not None and row_groups.num_rows and options.split_row_groups:
        cut = _cut_rows(slices, options)
        pieces = _pieces(slices.column("path").combine_chunks(), sizes, cut, row_groups, options.target_size)
        if pieces is not None:
            rows, start, length = pieces
    at = pa.array(rows)
    chosen = slices.take(at)
    bytes_of = length + log_bytes(slices)[rows]
    columns = {
        "start": pa.array(start),
        "length": pa.array(length),
        "file_size": pa.array(sizes[rows]),
        "weight": pa.array(_weights(bytes_of, options)),
        "hosts": pa.array([()] * len(rows), pa.list_(pa.string())),
    }
    splits = pa.table(
        [columns[name] if name in columns else chosen.column(name) for name in SPLIT_SCHEMA.names], SPLIT_SCHEMA
    )
    return splits if changes is None else splits.append_column(CHANGE_FIELD, _as_structs(changes))


def with_hosts(splits: pa.Table, storage: Storage) -> pa.Table:
    """The splits with the nodes that have most of each, where the store tells.

    A slice without a base file goes by its first log file.

    Args:
        splits: a table of :data:`SPLIT_SCHEMA`.
        storage: of the table.
    """
    first_log = pc.binary_join_element_wise(splits.column("partition"), pc.list_element(_some(splits), 0), "/")
    paths = pc.coalesce(splits.column("path"), pc.utf8_ltrim(first_log, "/")).combine_chunks().dictionary_encode()
    located = storage.block_locations(paths.dictionary)
    if located is None:
        return splits
    ranges = zip(paths.indices.to_pylist(), splits["start"].to_pylist(), splits["length"].to_pylist(), strict=True)
    hosts = [hosts_of_range(located[file], start, length) for file, start, length in ranges]
    place = splits.schema.get_field_index("hosts")
    return splits.set_column(place, SPLIT_SCHEMA.field(place), pa.array(hosts, pa.list_(pa.string())))


def _some(splits: pa.Table) -> pa.ChunkedArray:
    """The log files of each split; a null in place of none."""
    logs = splits.column("log_files")
    nothing = pa.scalar([None], logs.type)
    return pc.if_else(pc.equal(pc.list_value_length(logs), 0), nothing, logs)


def files_to_cut(slices: pa.Table, options: SplitOptions | None = None) -> list[str]:
    """Paths of the base files that :func:`make_splits` would cut if it knew their row groups."""
    rows = _cut_rows(slices, options or SplitOptions())
    paths: list[str] = slices.column("path").take(pa.array(rows)).to_pylist()
    return paths


def split_slices(splits: pa.Table | Sequence[HudiSplit]) -> pa.Table:
    """The slices that splits are of, a table of ``PLAN_SCHEMA`` with a row per split: what readers take."""
    table = splits if isinstance(splits, pa.Table) else split_table(splits)
    name = pc.replace_substring_regex(table.column("path"), r"(?s)^.*/", "")
    size = pc.if_else(pc.is_valid(table.column("path")), table.column("file_size"), pa.scalar(None, pa.int64()))
    columns = {"base_file": name, "base_size": size}
    return pa.table([columns[n] if n in columns else table.column(n) for n in PLAN_SCHEMA.names], PLAN_SCHEMA)


def split_files(splits: pa.Table | Sequence[HudiSplit]) -> pa.Table:
    """The parts of base files that splits without log files are of.

    Columns are partition, name, size, instant, path, start and length, as :func:`hudi_hive.read.scan.read_plan` takes
    them for ``files``. Splits with log files are left out.
    """
    table = splits if isinstance(splits, pa.Table) else split_table(splits)
    table = table.filter(pc.equal(pc.list_value_length(table.column("log_files")), 0))
    name = pc.replace_substring_regex(table.column("path"), r"(?s)^.*/", "")
    return pa.table(
        {
            "partition": table.column("partition"),
            "name": name,
            "size": table.column("file_size"),
            "instant": table.column("base_instant"),
            "path": table.column("path"),
            "start": table.column("start"),
            "length": table.column("length"),
        }
    )


def split_changes(splits: pa.Table | Sequence[HudiSplit]) -> pa.Table | None:
    """The changes of splits of change data, a table of ``CHANGE_SCHEMA`` with a row per split; None of other splits."""
    if isinstance(splits, pa.Table):
        if CHANGE_FIELD.name not in splits.column_names:
            return None
        structs = splits.column(CHANGE_FIELD.name).combine_chunks()
        return pa.table([pc.struct_field(structs, name) for name in CHANGE_SCHEMA.names], CHANGE_SCHEMA)
    rows = [split.change for split in splits]
    if any(row is None for row in rows):
        return None
    return pa.Table.from_pylist([dict(row) for row in rows if row is not None], CHANGE_SCHEMA)


def split_table(splits: Sequence[HudiSplit]) -> pa.Table:
    """Convert splits to a table of :data:`SPLIT_SCHEMA`; the inverse of :func:`to_splits`."""
    columns = [pa.array([getattr(s, field.name) for s in splits], field.type) for field in SPLIT_SCHEMA]
    return pa.table(columns, SPLIT_SCHEMA)


def to_splits(table: pa.Table, plan: ScanPlan) -> list[HudiSplit]:
    """Convert a table of splits to objects.

    Args:
        table: a table of :data:`SPLIT_SCHEMA`.
        plan: the plan that they are of, or the one that
            :meth:`~hudi_hive.plan.core.partition_planner.PartitionPlanner.template` gives.
    """
    keys = _partition_keys(table, plan)
    merged = None if plan.merge is None else plan.merge.max_instant or plan.instant
    times = None if plan.commit_times is None else tuple(plan.commit_times.to_pylist())
    rows: list[dict[str, Any]] = table.to_pylist()
    for row in rows:
        row |= {name: tuple(row[name] or ()) for name in ("log_files", "log_sizes", "hosts")}
    return [
        HudiSplit(
            base_path=plan.base_path,
            **row,
            partition_keys=own,
            predicate=plan.row_filter,
            merge_instant=merged if row["log_files"] or plan.changes is not None else None,
            query=plan.query,
            commit_times=times,
            range_first=plan.merge is not None and plan.merge.range_first,
        )
        for row, own in zip(rows, keys, strict=True)
    ]


def _partition_keys(table: pa.Table, plan: ScanPlan) -> list[dict[str, str | None]]:
    names = plan.partition_fields
    coded = table.column("partition").combine_chunks().dictionary_encode()
    if not names or not table.num_rows:
        return [{} for _ in range(table.num_rows)]
    try:
        texts = partition_value_columns(
            coded.dictionary, names, hive_style=plan.hive_style, url_encoded=plan.url_encoded
        )
    except PartitionValueError:
        return [{} for _ in range(table.num_rows)]
    values: list[dict[str, str | None]] = texts.to_pylist()
    return [values[index] for index in coded.indices.to_pylist()]


def _cut_rows(slices: pa.Table, options: SplitOptions) -> npt.NDArray[np.int64]:
    """Slices whose base file may be cut: large, of a format with row groups, without log files."""
    if not options.split_row_groups or not slices.num_rows:
        return np.empty(0, np.int64)
    large = pc.greater(slices.column("base_size"), options.target_size)
    alone = pc.equal(pc.list_value_length(slices.column("log_files")), 0)
    has_groups = pc.match_substring_regex(slices.column("path"), r"\.(parquet|orc)$", ignore_case=True)
    mask = pc.and_(pc.and_(large, alone), has_groups)
    return np.flatnonzero(pc.fill_null(mask, False).to_numpy())


def _as_structs(changes: pa.Table) -> pa.Array:
    columns = [changes.column(name).combine_chunks() for name in CHANGE_SCHEMA.names]
    return pa.StructArray.from_arrays(columns, fields=list(CHANGE_SCHEMA))


def _weights(sizes: npt.NDArray[np.int64], options: SplitOptions) -> npt.NDArray[np.int32]:
    share = np.clip(sizes / options.standard_weight_size, options.minimum_weight, 1.0)
    # 0.07 * 100 is a little more than 7.
    return np.ceil(np.round(share * FULL_WEIGHT, 6)).astype(np.int32)


def _pieces(
    paths: pa.Array,
    sizes: npt.NDArray[np.int64],
    cut: npt.NDArray[np.int64],
    row_groups: pa.Table,
    target: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Slice, start and length of all splits; None when nothing is cut.

    A file of n targets becomes n pieces (rounded up) of about the same size: a row group goes into the piece in which
    its middle falls when all the file's row groups are laid end to end.
    """
    place = pc.index_in(row_groups.column("path").combine_chunks(), value_set=paths.take(pa.array(cut)))
    has_block = pc.is_valid(place).to_numpy(zero_copy_only=False)
    if not has_block.any():
        return None
    owner = cut[place.drop_null().to_numpy()]
    start = row_groups.column("start").to_numpy()[has_block]
    size = np.maximum(row_groups.column("size").to_numpy()[has_block], 0)
    middle = start + size // 2  # as readers have it
    order = np.lexsort((middle, owner))
    owner, start, size, middle = owner[order], start[order], size[order], middle[order]
    first = np.r_[True, owner[1:] != owner[:-1]]
    file = np.cumsum(first) - 1
    before = np.cumsum(size) - size
    before -= before[first][file]
    total = np.bincount(file, size).astype(np.int64)
    wanted = np.maximum(np.ceil(total / target), 1)
    ideal = np.maximum(total / wanted, 1)
    piece = np.minimum((before + size / 2) // ideal[file], wanted[file] - 1)
    begins = np.r_[False, (piece[1:] != piece[:-1]) & ~first[1:] & (middle[1:] > middle[:-1])]
    at = np.flatnonzero(begins)
    if not len(at):
        return None
    # A cut lies where the piece's first row group begins; between the middles in any case, as readers go by those.
    borders = np.clip(start[at], middle[at - 1] + 1, middle[at])
    inside = (borders > 0) & (borders < sizes[owner[at]])
    rows = np.concatenate([np.arange(len(sizes)), owner[at][inside]])
    starts = np.concatenate([np.zeros(len(sizes), np.int64), borders[inside]])
    order = np.lexsort((starts, rows))
    rows, starts = rows[order], starts[order]
    same = np.r_[rows[1:] == rows[:-1], False]
    ends = np.where(same, np.r_[starts[1:], 0], sizes[rows])
    return rows, starts, ends - starts
