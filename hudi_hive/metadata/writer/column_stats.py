"""Selects the columns of the statistics indexes and makes their records.

Source: docs/format.md#column-statistics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnknownColumnError
from hudi_hive.formats.base import WRAPPED, WRAPPERS
from hudi_hive.metadata.reader import (
    STATS_SCHEMA,
    MetadataChanges,
    column_key,
    column_type,
    decimals_of_bytes,
    file_key,
    index_definitions,
    partition_identifier,
    partition_key,
)
from hudi_hive.metadata.writer.records import unscaled
from hudi_hive.names import COMMIT_TIME_COLUMN, PARTITION_PATH_COLUMN, RECORD_KEY_COLUMN
from hudi_hive.options import write
from hudi_hive.schema import META_FIELDS, InternalSchema
from hudi_hive.table import MetaClient
from hudi_hive.table.view import FileKind, parse_file_names

KEYED_STATS_SCHEMA: Final = pa.schema([pa.field("key", pa.string()), *STATS_SCHEMA])

_ALWAYS: Final = (COMMIT_TIME_COLUMN, PARTITION_PATH_COLUMN, RECORD_KEY_COLUMN)
_SCALE: Final = 15

_SOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "IntWrapper": ("IntWrapper", "DateWrapper", "LocalDateWrapper"),
    "LongWrapper": ("LongWrapper", "TimestampMicrosWrapper", "IntWrapper"),
    "DateWrapper": ("DateWrapper", "LocalDateWrapper", "IntWrapper"),
}
"""Wrapper that a record wants -> those that a range may come in, where there are others than itself."""


@dataclass(frozen=True, slots=True)
class IndexedColumn:
    """A column of the statistics indexes.

    Attributes:
        name: its name, dotted for a field of structs.
        wrapper: record that its bounds are in.
        ordinal: what version 9 says of its type, else None.
        info: what it adds to that: precision and scale of a decimal.
        decimal: its type, if it is a decimal.
    """

    name: str
    wrapper: str
    ordinal: int | None
    info: str | None
    decimal: pa.Decimal32Type | pa.Decimal64Type | pa.Decimal128Type | pa.Decimal256Type | None


def indexed_columns(client: MetaClient, schema: pa.Schema, options: Mapping[str, str]) -> tuple[IndexedColumn, ...]:
    """The columns of the statistics indexes: those of the index definition, else those of the options.

    Args:
        client: the table.
        schema: the table's schema, meta columns in front.
        options: Hudi's write options.
    """
    version = client.config.version
    defined = next((item for item in index_definitions(client) if item.name == "column_stats"), None)
    if defined is not None:
        column_names: Sequence[str] = defined.columns
    else:
        column_names = _chosen(schema, version, options)
    if not client.config.populate_meta_fields:
        # No file has the meta columns: all would lack a range.
        column_names = [name for name in column_names if name not in META_FIELDS]
    indexed = []
    for name in column_names:
        try:
            column = _column(name, column_type(schema, name), version)
        except UnknownColumnError:
            continue  # dropped since
        if column is not None:
            indexed.append(column)
    return tuple(indexed)


def _chosen(schema: pa.Schema, version: int, options: Mapping[str, str]) -> list[str]:
    """Names of columns without a definition: version 6 keeps every column, later ones the first 32."""
    data = [field.name for field in schema if field.name not in META_FIELDS]
    listed = list(write.COLUMN_STATS_COLUMNS.of(options))
    if version < 8:
        return listed or [field.name for field in schema]
    data = [name for name in data if _column(name, schema.field(name).type, version) is not None]
    meta = [name for name in _ALWAYS if name in schema.names]
    return meta + (listed or data[: write.COLUMN_STATS_MAX_COLUMNS.of(options)])


def _column(name: str, kind: pa.DataType, version: int) -> IndexedColumn | None:
    """How a column's bounds are kept; None for types that have none."""
    simple = _simple(kind, version)
    if simple is None:
        return None
    wrapper, ordinal, info = simple
    decimal = kind if pa.types.is_decimal(kind) else None
    return IndexedColumn(name, wrapper, ordinal if version >= 9 else None, info if version >= 9 else None, decimal)


def _simple(kind: pa.DataType, version: int) -> tuple[str, int, str | None] | None:
    typed = version >= 9
    if pa.types.is_timestamp(kind):
        first = {"ms": 15, "us": 16, "ns": 17}.get(kind.unit)
        return None if first is None else ("LongWrapper", first if kind.tz else first + 3, None)
    if pa.types.is_date(kind):
        return "IntWrapper" if typed else "DateWrapper", 12, None
    if pa.types.is_decimal(kind):
        if typed:
            return "BytesWrapper", 10, f"{kind.precision},{kind.scale}"
        fits = kind.scale <= _SCALE and kind.precision - kind.scale <= _SCALE
        return ("DecimalWrapper", 0, None) if fits else None
    tests = (
        (pa.types.is_boolean, "BooleanWrapper", 2),
        (pa.types.is_int32, "IntWrapper", 3),
        (pa.types.is_int64, "LongWrapper", 4),
        (pa.types.is_float32, "FloatWrapper", 5),
        (pa.types.is_float64, "DoubleWrapper", 6),
        (pa.types.is_string, "StringWrapper", 7),
    )
    return next(((wrapper, ordinal, None) for test, wrapper, ordinal in tests if test(kind)), None)


def names_stay(versions: Iterable[InternalSchema]) -> bool:
    """Whether all versions of a schema have the same column and type for each name."""
    columns: dict[int, tuple[str, str | None]] = {}
    ids: dict[str, int] = {}
    for version in versions:
        for name, item in version.walk():
            column = (name, item.type if isinstance(item.type, str) else None)
            if columns.setdefault(item.id, column) != column or ids.setdefault(name, item.id) != item.id:
                return False
    return True


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of an action: of files and of partitions, and whether every file with records is in them."""

    files: pa.Table
    partitions: pa.Table
    complete: bool


def statistics(changes: MetadataChanges, columns: Sequence[IndexedColumn]) -> Statistics:
    """Make column and partition statistics (:data:`KEYED_STATS_SCHEMA`) of an action's column ranges.

    Readers of Hudi take a column that a file tells nothing of, while it tells of others, to hold nulls alone. So a
    file that lacks a column's range has no statistics at all, and reading it is never left out.

    Args:
        changes: what the action changes.
        columns: the columns that are kept.
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
    for column in columns:
        keys = _keys(column.name, gone, by_file=True)
        of_files.append(_deleted(column, keys, gone.column("name")))
        dropped = pa.table({"partition": pa.array(changes.partitions_deleted, pa.string())})
        keys = _keys(column.name, dropped, by_file=False)
        identifiers = [partition_identifier(path) for path in changes.partitions_deleted]
        of_partitions.append(_deleted(column, keys, pa.array(identifiers, pa.string())))
    return Statistics(pa.concat_tables(of_files), pa.concat_tables(of_partitions), complete)


def data_files(files: pa.Table) -> pa.Table:
    """Select the base and log files of a listing, without change files."""
    kind = parse_file_names(files.column("name")).column("kind")
    return files.filter(pc.is_in(kind, value_set=pa.array([FileKind.BASE.value, FileKind.LOG.value], pa.int8())))


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


def _deleted(column: IndexedColumn, keys: pa.Array, file_names: pa.Array | pa.ChunkedArray) -> pa.Table:
    count = len(keys)
    filled = {
        "key": keys,
        "file_name": file_names,
        "column": pa.array([column.name] * count, pa.string()),
        "is_deleted": pa.array(np.ones(count, np.bool_)),
        "is_tight": pa.array(np.zeros(count, np.bool_)),
    }
    columns = [filled.get(field.name, pa.nulls(count, field.type)) for field in KEYED_STATS_SCHEMA]
    return pa.table(columns, schema=KEYED_STATS_SCHEMA)
