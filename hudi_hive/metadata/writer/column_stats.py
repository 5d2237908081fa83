"""Makes the records of the statistics indexes.

Source: docs/format.md#column-statistics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats.base import WRAPPED, WRAPPERS
from hudi_hive.metadata.reader import (
    RANGES_SCHEMA,
    STATS_SCHEMA,
    MetadataChanges,
    column_key,
    decimals_of_bytes,
    file_key,
    partition_identifier,
    partition_key,
)
from hudi_hive.metadata.writer.records import unscaled
from hudi_hive.metadata.writer.stats_columns import IndexedColumn
from hudi_hive.table.view import FileKind, parse_file_names

KEYED_STATS_SCHEMA: Final = pa.schema([pa.field("key", pa.string()), *STATS_SCHEMA])

_SOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "IntWrapper": ("IntWrapper", "DateWrapper", "LocalDateWrapper"),
    "LongWrapper": ("LongWrapper", "TimestampMicrosWrapper", "IntWrapper"),
    "DateWrapper": ("DateWrapper", "LocalDateWrapper", "IntWrapper"),
}
"""Wrapper that a record wants -> those that a range may come in, where there are others than itself."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of an action: of files and of partitions, and whether every file with records is in them."""

    files: pa.Table
    partitions: pa.Table
    complete: bool


def statistics(
    changes: MetadataChanges,
    columns: Sequence[IndexedColumn],
    *,
    former_names: Sequence[str] = (),
) -> Statistics:
    """Make column and partition statistics (:data:`KEYED_STATS_SCHEMA`) of an action's column ranges.

    Readers of Hudi may take a column that a file tells nothing of, while it tells of others, to hold nulls alone. So a
    file that lacks a column's range has no statistics at all, and reading it is never left out.

    Args:
        changes: what the action changes.
        columns: the columns that are kept.
        former_names: what else files that are deleted may have called columns.
    """
    files = data_files(changes.files_added)
    ranges = [(column, _typed(changes.ranges, column)) for column in columns]
    complete_files = files
    for _, table in ranges:
        pairs = _pairs(table.filter(table.column("exact")))
        complete_files = complete_files.filter(pc.is_in(_pairs(complete_files), value_set=pairs))
    holding = pc.invert(pc.is_in(files.column("name"), value_set=pa.array(list(changes.without_values), pa.string())))
    complete = bool(columns) and complete_files.num_rows >= files.filter(holding).num_rows
    complete_pairs = _pairs(complete_files)
    of_files, of_partitions = [KEYED_STATS_SCHEMA.empty_table()], [KEYED_STATS_SCHEMA.empty_table()]
    for column, table in ranges:
        table = table.filter(pc.is_in(_pairs(table), value_set=complete_pairs)).combine_chunks()
        of_files.append(_rows(table, column, _keys(column.name, table, by_file=True), table.column("name")))
        # A partition's statistics only widen, file by file: each file is a record, merged to one here.
        of_partitions.append(_widened(table, column))
    gone = changes.files_deleted
    for name in dict.fromkeys([*(column.name for column in columns), *former_names]):
        if gone.num_rows:
            of_files.append(deleted_file_stats(name, gone))
        if changes.partitions_deleted:
            of_partitions.append(deleted_partition_stats(name, changes.partitions_deleted))
    return Statistics(pa.concat_tables(of_files), pa.concat_tables(of_partitions), complete)


def file_statistics(ranges: pa.Table, column: IndexedColumn) -> pa.Table:
    """Make column statistics (:data:`KEYED_STATS_SCHEMA`) of ranges of files, whose bounds hold."""
    table = _typed(ranges, column)
    return _rows(table, column, _keys(column.name, table, by_file=True), table.column("name"))


def partition_statistics(ranges: pa.Table, columns: Sequence[IndexedColumn]) -> pa.Table:
    """Make partition statistics (:data:`KEYED_STATS_SCHEMA`) of ranges, of files or partitions, whose bounds hold."""
    tables = [_widened(_typed(ranges, column), column) for column in columns]
    return pa.concat_tables([KEYED_STATS_SCHEMA.empty_table(), *tables])


def deleted_file_stats(column: str, files: pa.Table) -> pa.Table:
    """Records that delete what is there of a column of files (``DELETED_FILES_SCHEMA``)."""
    return _deleted(column, _keys(column, files, by_file=True), files.column("name"))


def deleted_partition_stats(column: str, partitions: Sequence[str]) -> pa.Table:
    """Records that delete what is there of a column of partitions."""
    keys = _keys(column, pa.table({"partition": pa.array(partitions, pa.string())}), by_file=False)
    return _deleted(column, keys, pa.array([partition_identifier(path) for path in partitions], pa.string()))


@dataclass(frozen=True, slots=True)
class PartitionFiles:
    """Statistics of all files of some partitions, column by column; made by :meth:`of`.

    Attributes:
        ranges: each column with the ranges of the files that have some.
        lacking: files without any (``DELETED_FILES_SCHEMA``).
        inexact: partitions with a file whose statistics leave out a column or a bound.
    """

    ranges: tuple[tuple[IndexedColumn, pa.Table], ...]
    lacking: pa.Table
    inexact: frozenset[str]

    @classmethod
    def of(cls, stats: pa.Table, files: pa.Table, columns: Sequence[IndexedColumn]) -> PartitionFiles:
        """Find the statistics of files.

        Args:
            stats: live ones (``KEYED_STATS_SCHEMA``); of several of a file the first counts.
            files: the files (``DELETED_FILES_SCHEMA``).
            columns: the columns of the statistics.
        """
        files, stats = files.combine_chunks(), stats.combine_chunks()
        width = len(partition_key(""))
        start = len(column_key(""))
        hashes = pc.utf8_slice_codeunits(stats.column("key"), start, start + width)
        stats = stats.append_column("pair", pc.binary_join_element_wise(hashes, stats.column("file_name"), "/"))
        pairs = pc.binary_join_element_wise(
            _hashed(files.column("partition"), partition_key), files.column("name"), "/"
        )
        some: pa.Array | pa.ChunkedArray = pa.array(np.zeros(files.num_rows, np.bool_))
        complete: pa.Array | pa.ChunkedArray = pa.array(np.ones(files.num_rows, np.bool_))
        ranges = []
        for column in columns:
            own = stats.filter(pc.equal(stats.column("column"), column.name)).combine_chunks()
            place = pc.index_in(pairs, value_set=own.column("pair"))
            there = pc.is_valid(place)
            typed = _typed(_ranges_of(files.filter(there), own.take(place.drop_null())), column)
            alike = pc.and_(
                pc.equal(pc.fill_null(own.column("value_type"), -1), -1 if column.ordinal is None else column.ordinal),
                pc.equal(pc.fill_null(own.column("type_info"), ""), column.info or ""),
            )
            exact = pc.and_(typed.column("exact"), alike.take(place.drop_null()))
            complete = pc.and_(complete, pc.is_in(pairs, value_set=pairs.filter(there).filter(exact)))
            some = pc.or_(some, there)
            ranges.append((column, typed))
        inexact = files.filter(pc.and_(some, pc.invert(complete))).column("partition")
        return cls(tuple(ranges), files.filter(pc.invert(some)), frozenset(inexact.unique().to_pylist()))

    def of_partitions(self, partitions: Sequence[str]) -> pa.Table:
        """Make partition statistics (:data:`KEYED_STATS_SCHEMA`) that take the place of what is there.

        A partition without values of a column has none of it.
        """
        rows = [KEYED_STATS_SCHEMA.empty_table()]
        identifiers = [partition_identifier(path) for path in partitions]
        for column, table in self.ranges:
            here = pc.is_in(table.column("partition"), value_set=pa.array(partitions, pa.string()))
            made = _widened(table.filter(here), column)
            rows.append(tight(made, identifiers))
            written = set(made.column("file_name").to_pylist())
            if gone := [path for path in partitions if partition_identifier(path) not in written]:
                rows.append(deleted_partition_stats(column.name, gone))
        return pa.concat_tables(rows)


def tight(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Statistics (``KEYED_STATS_SCHEMA``) that take the place of what is there, for some files or partitions."""
    chosen = pc.is_in(table.column("file_name"), value_set=pa.array(names, pa.string()))
    return table.set_column(table.schema.get_field_index("is_tight"), "is_tight", chosen)


def data_files(files: pa.Table) -> pa.Table:
    """Select the base and log files of a listing, without change files."""
    kind = parse_file_names(files.column("name")).column("kind")
    return files.filter(pc.is_in(kind, value_set=pa.array([FileKind.BASE.value, FileKind.LOG.value], pa.int8())))


def _ranges_of(files: pa.Table, stats: pa.Table) -> pa.Table:
    """Ranges (``RANGES_SCHEMA``) of files from their statistics, row by row."""
    own = {"partition": files.column("partition"), "name": files.column("name")}
    columns = [own[name] if name in own else stats.column(name) for name in RANGES_SCHEMA.names]
    return pa.table(columns, schema=RANGES_SCHEMA)


def _pairs(table: pa.Table) -> pa.Array:
    joined = pc.binary_join_element_wise(table.column("partition"), table.column("name"), "/")
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def _typed(ranges: pa.Table, column: IndexedColumn) -> pa.Table:
    """The ranges of a column with bounds in its wrapper, and ``exact``: whether the bounds hold for sure."""
    table = ranges.filter(pc.equal(ranges.column("column"), column.name)).combine_chunks()
    exact: pa.Array | pa.ChunkedArray = pa.array(np.ones(table.num_rows, np.bool_))
    empty = pc.fill_null(pc.less_equal(table.column("value_count"), table.column("null_count")), False)
    for side in ("min", "max"):
        bounds = table.column(side).combine_chunks()
        values = _values(bounds, column)
        exact = pc.and_(exact, pc.or_(pc.is_valid(values), empty))
        arrays = [values if name == column.wrapper else pa.nulls(len(values), kind) for name, kind in WRAPPERS.items()]
        nothing = pc.is_null(values)
        wrapped = pa.StructArray.from_arrays(arrays, fields=list(WRAPPED), mask=nothing)
        table = table.set_column(table.schema.get_field_index(side), side, wrapped)
    return table.append_column("exact", exact)


def bound_values(bounds: pa.Array, column: IndexedColumn) -> pa.Array:
    """The bounds (``WRAPPED``) of a column as values of its type; null where there is none for sure."""
    values = _values(bounds, column)
    if column.decimal is not None and column.wrapper == "BytesWrapper":
        values = decimals_of_bytes(values, f"{column.decimal.precision},{column.decimal.scale}")
    if pa.types.is_date(column.type):
        values = values.cast(pa.int32())
    return values if pa.types.is_timestamp(column.type) else values.cast(column.type)


def _values(bounds: pa.Array, column: IndexedColumn) -> pa.Array:
    kind = WRAPPERS[column.wrapper]
    if column.decimal is not None:
        return _decimal_values(bounds, column)
    result = pa.nulls(len(bounds), kind)
    for name in _SOURCES.get(column.wrapper, (column.wrapper,)):
        field_values = pc.struct_field(bounds, name)
        if field_values.null_count < len(field_values):
            result = pc.coalesce(result, field_values.cast(kind))
    if pa.types.is_floating(kind):  # behind a NaN there may be any number
        result = pc.if_else(pc.fill_null(pc.is_nan(result), False), pa.scalar(None, kind), result)
    return result


def _decimal_values(bounds: pa.Array, column: IndexedColumn) -> pa.Array:
    assert column.decimal is not None
    kind = column.decimal
    as_bytes = decimals_of_bytes(pc.struct_field(bounds, "BytesWrapper"), f"{kind.precision},{kind.scale}")
    as_decimal = pc.struct_field(bounds, "DecimalWrapper")
    if column.wrapper == "DecimalWrapper":
        return pc.coalesce(as_decimal, as_bytes.cast(WRAPPERS["DecimalWrapper"], safe=False))
    return unscaled(pc.coalesce(as_bytes, as_decimal.cast(as_bytes.type, safe=False)))


def _keys(column: str, table: pa.Table, *, by_file: bool) -> pa.Array:
    """Keys of a column's records; hashes of partitions and names are made once for each distinct one."""
    head = column_key(column)
    parts = [_hashed(table.column("partition"), lambda path: head + partition_key(path))]
    if by_file:
        parts.append(_hashed(table.column("name"), file_key))
    return pc.binary_join_element_wise(*parts, "") if by_file else parts[0]


def _hashed(column: pa.ChunkedArray, hash_of: object) -> pa.Array:
    if not len(column):
        return pa.array([], pa.string())
    codes = column.combine_chunks().dictionary_encode()
    assert callable(hash_of)
    return pa.array([hash_of(text) for text in codes.dictionary.to_pylist()], pa.string()).take(codes.indices)


def _rows(table: pa.Table, column: IndexedColumn, keys: pa.Array, file_names: pa.Array | pa.ChunkedArray) -> pa.Table:
    count = table.num_rows
    filled = {
        "key": keys,
        "file_name": file_names,
        "column": pa.array([column.name] * count, pa.string()),
        "is_deleted": pa.array(np.zeros(count, np.bool_)),
        "is_tight": pa.array(np.zeros(count, np.bool_)),
        "value_type": pa.array([column.ordinal] * count, pa.int32()),
        "type_info": pa.array([column.info] * count, pa.string()),
    }
    columns = [filled[name] if name in filled else table.column(name) for name in KEYED_STATS_SCHEMA.names]
    return pa.table(columns, schema=KEYED_STATS_SCHEMA)


def _widened(table: pa.Table, column: IndexedColumn) -> pa.Table:
    """A partition's range from those of files."""
    bounds: dict[str, pa.Array | pa.ChunkedArray] = {"partition": table.column("partition")}
    numbers = ("value_count", "null_count", "total_size", "total_uncompressed_size")
    decimal = column.decimal is not None and column.wrapper == "BytesWrapper"
    for side in ("min", "max"):
        values = pc.struct_field(table.column(side).combine_chunks(), column.wrapper)
        # Bytes of unscaled decimals are not in the order of their values.
        bounds[side] = decimals_of_bytes(values, column.info or "") if decimal else values
    bounds.update({name: table.column(name) for name in numbers})
    aggregates = [("min", "min"), ("max", "max"), *((name, "sum") for name in numbers)]
    grouped = pa.table(bounds).group_by("partition", use_threads=False).aggregate(aggregates)
    widened: dict[str, pa.Array | pa.ChunkedArray] = {name: grouped.column(f"{name}_sum") for name in numbers}
    for side in ("min", "max"):
        values = grouped.column(f"{side}_{side}").combine_chunks()
        values = unscaled(values) if decimal else values
        arrays = [values if name == column.wrapper else pa.nulls(len(values), kind) for name, kind in WRAPPERS.items()]
        widened[side] = pa.StructArray.from_arrays(arrays, fields=list(WRAPPED), mask=pc.is_null(values))
    widened["partition"] = grouped.column("partition")
    result = pa.table(widened)
    identifiers = [partition_identifier(path) for path in result.column("partition").to_pylist()]
    keys = _keys(column.name, result, by_file=False)
    return _rows(result, column, keys, pa.array(identifiers, pa.string()))


def _deleted(column: str, keys: pa.Array, file_names: pa.Array | pa.ChunkedArray) -> pa.Table:
    count = len(keys)
    filled = {
        "key": keys,
        "file_name": file_names,
        "column": pa.array([column] * count, pa.string()),
        "is_deleted": pa.array(np.ones(count, np.bool_)),
        "is_tight": pa.array(np.zeros(count, np.bool_)),
    }
    columns = [filled.get(field.name, pa.nulls(count, field.type)) for field in KEYED_STATS_SCHEMA]
    return pa.table(columns, schema=KEYED_STATS_SCHEMA)
