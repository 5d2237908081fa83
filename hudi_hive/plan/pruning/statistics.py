"""Pruning by the metadata table's column and partition statistics.

The bounds were made by several writers, so only those count whose order is surely that of the filter's kernels: texts
are ordered by UTF-16 units there (and by code points here, which differ from U+E000 on), bytes with their sign, and
decimals of log files by their bytes.

Nor do the writers know all: they make a base file's statistics from those of its row groups, and a row group without
bounds adds nothing to the bounds of the file, or counts as nulls. See :func:`_proven`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnknownColumnError
from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import column_type
from hudi_hive.names import COMMIT_SEQNO_COLUMN, FILE_NAME_COLUMN, RECORD_KEY_COLUMN
from hudi_hive.plan.pruning.versions import MovedColumns, ranges_by_version
from hudi_hive.predicate import ColumnRange, RowFilter, own_columns, walk_outlines
from hudi_hive.table import MetaClient

# A column that each file with statistics has statistics of, in every version.
_EVERYWHERE: Final = RECORD_KEY_COLUMN
# Log records hold other values in these than the rows that are shown.
_SET_BY_READERS: Final = (FILE_NAME_COLUMN, COMMIT_SEQNO_COLUMN)
_HIGH_CHARACTER: Final = r"[\x{E000}-\x{10FFFF}]"
# From table version 9 on, statistics say in which unit a timestamp's number is.
_VERSION_WITH_UNITS: Final = 9
# The Parquet writer leaves a row group's statistics away when both bounds together have 4,096 bytes. It stores equal
# ones once.
_LONG_BOUNDS: Final = 2_048
# It looks first after so many rows whether a row group is full.
_ONE_ROW_GROUP: Final = 100

Mask = npt.NDArray[np.bool_]


def prunable_columns(
    client: MetaClient, row_filter: RowFilter, path_columns: Sequence[str], *, by_name: bool = True
) -> dict[str, pa.DataType]:
    """Columns that the filter reads and whose statistics can be trusted, and their types.

    Fields of structs have dotted names; where files may call them otherwise, they are left out.

    Args:
        client: the table.
        row_filter: the filter.
        path_columns: columns whose values come from the partition path.
        by_name: files call the columns as the table's newest schema does, which types their bounds.
    """
    schema = client.schema()
    prunable: dict[str, pa.DataType] = {}
    for node in walk_outlines(row_filter.root):
        for column in own_columns(node):
            name = column.name
            if column.derived is not None:
                continue
            if column.path[0] in path_columns or column.path[0] in _SET_BY_READERS:
                continue
            # Dotted names of columns are ambiguous.
            if any("." in part for part in column.path) or not _is_ordered(column.type, client.config.version):
                continue
            if len(column.path) > 1:
                dotted = ".".join(column.path)
                if by_name and dotted not in schema.names and _has_type(schema, dotted, column.type):
                    prunable[dotted] = column.type
            # The filter may be bound to an older schema than the one that the bounds are typed by.
            elif not by_name or _has_type(schema, name, column.type):
                prunable[name] = column.type
    return prunable


def is_nested(name: str) -> bool:
    """Whether a column of :func:`prunable_columns` is a field of a struct."""
    return "." in name


def _has_type(schema: pa.Schema, name: str, kind: pa.DataType) -> bool:
    try:
        return column_type(schema, name) == kind
    except UnknownColumnError:
        return False


def _is_ordered(kind: pa.DataType, version: int) -> bool:
    if pa.types.is_timestamp(kind):
        return version >= _VERSION_WITH_UNITS
    return bool(
        pa.types.is_boolean(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_string(kind)
        or pa.types.is_date(kind)
    )


def by_partition_stats(
    metadata: MetadataTable, slices: pa.Table, row_filter: RowFilter, columns: Mapping[str, pa.DataType]
) -> Mask:
    """Whether the partition of each slice can hold a row that passes, by partition statistics.

    A partition's bounds are used only if as many rows went into them as into those of the record key, which every file
    has: else a file that was not counted could hold anything.
    """
    partitions = pc.unique(slices.column("partition"))
    tables = metadata.partition_ranges({**columns, _EVERYWHERE: pa.string()}, partitions.to_pylist())
    everywhere = tables[_EVERYWHERE]
    total = _taken(everywhere.column("value_count"), _places(partitions, everywhere.column("partition")))
    ranges: dict[tuple[str, ...], ColumnRange] = {}
    for column in columns:
        table = tables[column]
        place = _places(partitions, table.column("partition"))
        rows = _taken(table.column("value_count"), place)
        whole = pc.fill_null(pc.and_(pc.equal(rows, total), pc.greater(rows, 0)), False)
        kind = table.schema.field("min").type
        if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
            continue  # log files may have gone into them, or files with NaN
        low, high = _trusted(_taken(table.column("min"), place), _taken(table.column("max"), place))
        nulls = _taken(table.column("null_count"), place)
        size = _taken(table.column("total_uncompressed_size"), place)
        proven = _proven(kind, nulls, rows, size)
        if pa.types.is_timestamp(kind):
            proven = pc.equal(nulls, 0)  # files may differ in how they hold them
        whole = pc.fill_null(pc.and_kleene(whole, proven), False)
        nothing = pa.nulls(len(partitions), pa.int64())
        ranges[(column,)] = ColumnRange(_where(whole, low), _where(whole, high), nothing, nothing)
    keep = row_filter.groups_that_may_match(ranges, len(partitions))
    place = pc.index_in(slices.column("partition").combine_chunks(), value_set=partitions)
    kept: Mask = keep[place.to_numpy()]
    return kept


def by_column_stats(
    client: MetaClient,
    metadata: MetadataTable,
    slices: pa.Table,
    row_filter: RowFilter,
    columns: Sequence[str],
    moved: MovedColumns | None = None,
) -> Mask:
    """Whether base and log files of each slice can hold a row that passes, by column statistics.

    A column of a slice with a file of which it has no statistics is not known.

    Args:
        client: the table.
        metadata: its metadata table.
        slices: a table of ``PLAN_SCHEMA``.
        row_filter: the filter.
        columns: columns that all files call so.
        moved: columns that some do not.
    """
    owner, names, is_log = _files_of(slices)
    partitions = pc.unique(slices.column("partition")).to_pylist() if client.config.is_partitioned else None
    tables = metadata.column_ranges(columns, pc.unique(names).to_pylist(), partitions) if columns else {}
    if moved is not None and moved.columns:
        instants = slices.column("base_instant").combine_chunks().take(pa.array(owner))
        files = pa.table({"name": names, "base_instant": instants, "is_log": pa.array(is_log)})
        for item in moved.columns.items():
            tables[item[0]] = ranges_by_version(client, metadata, moved.evolved, item, files, partitions)
    unique = _once(names)
    ranges: dict[tuple[str, ...], ColumnRange] = {}
    for column in (*columns, *(moved.columns if moved is not None else ())):
        table = tables[column]
        table = table.filter(pa.array(_once(table.column("file_name").combine_chunks())))
        usable = unique & ~is_log if pa.types.is_decimal(table.schema.field("min").type) else unique
        of_slices = _of_slices(table, names, usable, is_log, owner, slices.num_rows)
        if is_nested(column):
            # It is null with its struct, too, which writers do not count all alike.
            unknown = pa.nulls(slices.num_rows, pa.int64())
            of_slices = ColumnRange(of_slices.minimum, of_slices.maximum, unknown, unknown)
        ranges[tuple(column.split("."))] = of_slices
    return np.asarray(row_filter.groups_that_may_match(ranges, slices.num_rows))


def ranges_of_slices(table: pa.Table, slices: pa.Table) -> ColumnRange:
    """Ranges over slices from those of their base and log files, whose counts and bounds are those of all rows.

    Args:
        table: ranges of files, in the form of :meth:`MetadataTable.column_ranges`.
        slices: a table of ``PLAN_SCHEMA``.
    """
    owner, names, _ = _files_of(slices)
    table = table.filter(pa.array(_once(table.column("file_name").combine_chunks())))
    return _of_slices(table, names, _once(names), np.ones(len(owner), np.bool_), owner, slices.num_rows)


def _of_slices(
    table: pa.Table, names: pa.Array, usable: Mask, is_log: Mask, owner: npt.NDArray[np.int64], count: int
) -> ColumnRange:
    """Ranges of one column over slices from those of their files; those of log files are taken to be of all rows."""
    place = _where(pa.array(usable), _places(names, table.column("file_name")))
    low, high = _trusted(_taken(table.column("min"), place), _taken(table.column("max"), place))
    nulls, rows = _taken(table.column("null_count"), place), _taken(table.column("value_count"), place)
    # A file of nulls alone has no bounds to add; any other without bounds leaves the slice without.
    size = _taken(table.column("total_uncompressed_size"), place)
    kind = table.schema.field("min").type
    proven = pc.or_kleene(pa.array(is_log), _proven(kind, nulls, rows, size))
    if pa.types.is_floating(kind):
        # What a row group with NaN tells stands for the bounds 0 and 0.
        stub = pc.fill_null(pc.and_(pc.equal(low, pa.scalar(0, kind)), pc.equal(high, pa.scalar(0, kind))), False)
        proven = pc.and_kleene(proven, pc.invert(stub))
    proven = pc.fill_null(pc.and_kleene(proven, pc.greater_equal(nulls, 0)), False)
    low, high, nulls = (_where(proven, values) for values in (low, high, nulls))
    empty = pc.fill_null(pc.equal(nulls, rows), False)
    files = pa.table(
        {
            "slice": pa.array(owner),
            "low": low,
            "high": high,
            "nulls": nulls,
            "rows": rows,
            "no_low": pc.and_(pc.is_null(low), pc.invert(empty)),
            "no_high": pc.and_(pc.is_null(high), pc.invert(empty)),
            "no_counts": pc.or_(pc.is_null(nulls), pc.is_null(rows)),
        }
    )
    aggregates = [("low", "min"), ("high", "max"), ("nulls", "sum"), ("rows", "sum")]
    aggregates += [(name, "any") for name in ("no_low", "no_high", "no_counts")]
    grouped = files.group_by("slice", use_threads=False).aggregate(aggregates)
    at = pc.index_in(pa.array(np.arange(count)), value_set=grouped.column("slice").combine_chunks())

    def complete_or_null(name: str, unknown: str) -> pa.Array:
        return _where(pc.invert(_taken(grouped.column(unknown), at)), _taken(grouped.column(name), at))

    return ColumnRange(
        complete_or_null("low_min", "no_low_any"),
        complete_or_null("high_max", "no_high_any"),
        complete_or_null("nulls_sum", "no_counts_any"),
        complete_or_null("rows_sum", "no_counts_any"),
    )


def _files_of(slices: pa.Table) -> tuple[npt.NDArray[np.int64], pa.Array, Mask]:
    """All files of slices: the slice that each belongs to, its name, whether it is a log file."""
    base = slices.column("base_file").combine_chunks()
    logs = slices.column("log_files").combine_chunks()
    has_base = pc.is_valid(base).to_numpy(zero_copy_only=False)
    of_logs = pc.list_parent_indices(logs).to_numpy().astype(np.int64)
    owner = np.concatenate([np.flatnonzero(has_base), of_logs])
    names = pa.concat_arrays([pc.drop_null(base), pc.list_flatten(logs)])
    is_log = np.arange(len(owner)) >= np.count_nonzero(has_base)
    return owner, names, is_log


def _once(names: pa.Array) -> Mask:
    """Which names stand there once: a file name need not be unique over all partitions."""
    coded = names.dictionary_encode()
    counts = np.bincount(coded.indices.to_numpy(), minlength=len(coded.dictionary))
    return np.asarray(counts[coded.indices.to_numpy()] == 1)


def _proven(kind: pa.DataType, nulls: pa.Array, rows: pa.Array, size: pa.Array) -> pa.Array:
    """Whether statistics of base files tell of all rows, null where their counts are missing.

    A row group with long texts has no statistics, and then all its values are counted as nulls; so have timestamps of
    96 bits. One with NaN has no bounds of its own, and the file's are those of the others and 0.
    """
    if pa.types.is_string(kind):
        return pc.or_kleene(pc.equal(nulls, 0), pc.less(size, _LONG_BOUNDS))
    if pa.types.is_timestamp(kind):
        return pc.less(nulls, rows)
    if pa.types.is_floating(kind):
        return pc.less(rows, _ONE_ROW_GROUP)
    return pa.repeat(pa.scalar(True), len(rows))


def _trusted(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Bounds whose order is that of the filter's kernels; null for others."""
    kind = low.type
    if pa.types.is_string(kind):
        plain = [pc.invert(pc.match_substring_regex(bound, _HIGH_CHARACTER)) for bound in (low, high)]
        return _where(plain[0], low), _where(plain[1], high)
    if pa.types.is_floating(kind):
        numbers = pc.invert(pc.fill_null(pc.or_(pc.is_nan(low), pc.is_nan(high)), False))
        low, high = _where(numbers, low), _where(numbers, high)
    ordered = pc.fill_null(pc.less_equal(low, high), True)  # bounds that contradict each other tell nothing
    return _where(ordered, low), _where(ordered, high)


def _places(names: pa.Array, listed: pa.ChunkedArray) -> pa.Array:
    """Row of each name among the known ones, null if it is not there."""
    return pc.index_in(names, value_set=listed.combine_chunks())


def _taken(column: pa.ChunkedArray, place: pa.Array) -> pa.Array:
    return column.combine_chunks().take(place)


def _where(mask: pa.Array, values: pa.Array) -> pa.Array:
    return pc.if_else(mask, values, pa.scalar(None, values.type))
