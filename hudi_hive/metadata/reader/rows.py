"""Reads merged records of the metadata table as rows, with the columns of its own schema.

Bounds of values are structs with a member for each type that they may have, in the order of the schema's union; values
are plain numbers where the schema gives them a logical type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import CorruptFileError, MetadataTableError
from hudi_hive.metadata.reader.column_indexes import BLOOM_FILTERS, SECONDARY_PREFIX
from hudi_hive.metadata.reader.file_group import BlockRecords, FileGroup, GroupRecords
from hudi_hive.metadata.reader.keys import rows_of_groups
from hudi_hive.metadata.reader.merge import merge_entries, newest_records
from hudi_hive.metadata.reader.opening import FILES
from hudi_hive.metadata.reader.ranges import merge_stats
from hudi_hive.metadata.reader.records import WRAPPERS, bound_branches
from hudi_hive.metadata.reader.table import (
    COLUMN_STATS,
    PARTITION_STATS,
    RECORD_INDEX,
    MetadataTable,
)
from hudi_hive.names import META_COLUMN_PREFIX
from hudi_hive.schema import avro_to_arrow

_STATS: Final = "ColumnStatsMetadata"
_FILES: Final = "filesystemMetadata"

_FIELDS: Final[Mapping[str, str]] = {
    FILES: _FILES,
    COLUMN_STATS: _STATS,
    PARTITION_STATS: _STATS,
    RECORD_INDEX: "recordIndexMetadata",
    BLOOM_FILTERS: "BloomFilterMetadata",
}
"""Partition of the metadata table -> the field that its records fill."""

_STATS_COLUMNS: Final = {
    "fileName": "file_name",
    "columnName": "column",
    "valueCount": "value_count",
    "nullCount": "null_count",
    "totalSize": "total_size",
    "totalUncompressedSize": "total_uncompressed_size",
    "isDeleted": "is_deleted",
    "isTightBound": "is_tight",
}


def row_partitions(table: MetadataTable) -> list[str]:
    """The complete partitions that can be read as rows, sorted.

    Raises:
        MetadataTableError: a partition holds records of a kind that is not known.
    """
    return sorted(name for name in table.index_partitions if _field_of(table, name))


def row_schema(table: MetadataTable) -> pa.Schema:
    """Columns of the rows: ``key``, ``type``, and a struct or map for each kind of record in the schema.

    Raises:
        CorruptFileError: the records of the ``files`` partition have no schema.
    """
    groups = [group for groups in table.prefixed_groups(FILES).values() for group in groups]
    types = _schema_types([group.scan("type") for group in groups])
    if types is None:
        raise CorruptFileError("the metadata table holds no record", path=table.client.base_path)
    return types


def partition_rows(
    table: MetadataTable, partition: str, schema: pa.Schema, keys: Sequence[str] | None = None
) -> pa.Table:
    """The records of one partition of the metadata table, sorted by key in each index of it.

    Args:
        table: the metadata table.
        partition: one of :func:`row_partitions`.
        schema: what :func:`row_schema` gave.
        keys: only the records with these keys; only the file groups and blocks that may hold them are read.

    Raises:
        MetadataTableError: there is no such partition.
        CorruptFileError: a file cannot be decoded.
    """
    field = _field_of(table, partition)
    # A key may be there once in each of several indexes, of a partition of the table each.
    with table.metrics.timed("scan"):
        parts = [
            _group_rows(_groups_of(partition, groups, keys), field, schema)
            for groups in table.prefixed_groups(partition).values()
        ]
    return pa.concat_tables([schema.empty_table(), *parts])


def _groups_of(
    partition: str, groups: tuple[FileGroup, ...], keys: Sequence[str] | None
) -> list[tuple[FileGroup, Sequence[str] | None]]:
    """The file groups to read, and which keys in each; all keys with None.

    Keys are spread by their hash, but for a secondary index, where it is that of the first half of the key.
    """
    if keys is None or len(groups) == 1 or partition.startswith(SECONDARY_PREFIX):
        return [(group, keys) for group in groups]
    return [
        (groups[number], [keys[row] for row in rows.tolist()]) for number, rows in rows_of_groups(keys, len(groups))
    ]


def _group_rows(groups: Sequence[tuple[FileGroup, Sequence[str] | None]], field: str, schema: pa.Schema) -> pa.Table:
    """The records of file groups whose keys differ, in each all or those of some keys."""

    def read(name: str) -> list[GroupRecords]:
        return [group.scan(name) if keys is None else group.lookup(name, keys) for group, keys in groups]

    kinds = newest_records(read("type"), _values(pa.int32()))
    if not kinds.num_rows:
        return schema.empty_table()
    group_records = read(field)
    kind = schema.field(field).type
    values: pa.Array | pa.ChunkedArray
    if field == _FILES:
        values = _entries(group_records, kinds.column("key"), kind)
    else:
        merged = _stats(group_records, kind) if field == _STATS else newest_records(group_records, _values(kind))
        merged = merged.combine_chunks()
        at = pc.index_in(kinds.column("key"), value_set=merged.column("key").combine_chunks())
        values = merged.column("value").take(at)
    columns = []
    for column in schema:
        filled = {"key": kinds.column("key"), "type": kinds.column("value"), field: values}.get(column.name)
        columns.append(pa.nulls(kinds.num_rows, column.type) if filled is None else filled)
    return pa.table(columns, schema=schema)


def _field_of(table: MetadataTable, partition: str) -> str:
    field = "SecondaryIndexMetadata" if partition.startswith(SECONDARY_PREFIX) else _FIELDS.get(partition)
    if field is None:
        definition = next((item for item in table.index_definitions if item.name == partition), None)
        kind = "" if definition is None else definition.kind
        field = {"column_stats": _STATS, "bloom_filters": _FIELDS[BLOOM_FILTERS]}.get(kind)
    if field is None:
        raise MetadataTableError(
            f"the records of the partition {partition!r} are not known", path=table.client.base_path
        )
    return field


def _schema_types(groups: list[GroupRecords]) -> pa.Schema | None:
    """The columns by the newest schema that records were written with."""
    payloads = [(part.order, part) for group in groups for part in group.payloads]
    if not payloads:
        return None
    schema = max(payloads, key=lambda item: item[0])[1].schema
    return _plain_schema(schema)


def _plain_schema(schema: Mapping[str, Any]) -> pa.Schema:
    """The Arrow schema of records of an Avro schema, without its meta fields and logical types of time."""
    fields = avro_to_arrow(dict(schema))
    return pa.schema(
        [pa.field(item.name, _plain(item.type)) for item in fields if not item.name.startswith(META_COLUMN_PREFIX)]
    )


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(item.name, _plain(item.type)) for item in kind])
    if pa.types.is_map(kind):
        return pa.map_(pa.string(), _plain(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    return kind


def _values(kind: pa.DataType) -> Callable[[BlockRecords], pa.Table]:
    """What makes a column ``value`` of records' values."""

    def flatten(part: BlockRecords) -> pa.Table:
        return pa.table({"value": part.values.cast(kind)})

    return flatten


def _entries(groups: list[GroupRecords], keys: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    """File lists: of each key the live entries."""
    entries = merge_entries(groups)
    order = pc.index_in(entries.column("key"), value_set=keys.combine_chunks()).combine_chunks()
    has_record = pc.is_valid(order)
    entries, order = entries.filter(has_record), order.filter(has_record)
    ordered = pa.table({"order": order, "name": entries.column("name")})
    sort = pc.sort_indices(ordered, sort_keys=[("order", "ascending"), ("name", "ascending")])
    entries = entries.take(sort).combine_chunks()
    counts = np.bincount(order.to_numpy(), minlength=len(keys))
    offsets = pa.array(np.append(0, np.cumsum(counts)).astype(np.int32))
    assert pa.types.is_map(kind) and pa.types.is_struct(kind.item_type)
    items = pa.StructArray.from_arrays(
        [entries.column("size").combine_chunks(), pa.array(np.zeros(entries.num_rows, np.bool_))],
        fields=[kind.item_type.field("size"), kind.item_type.field("isDeleted")],
    )
    return pa.MapArray.from_arrays(offsets, entries.column("name").combine_chunks(), items).cast(kind)


def _stats(groups: list[GroupRecords], kind: pa.DataType) -> pa.Table:
    """Merged column statistics: ``key`` and ``value``."""
    merged = merge_stats(groups).combine_chunks()
    branches: tuple[str, ...] = ()
    for group in groups:
        for part in group.payloads:
            branches = bound_branches(part.schema) or branches
    columns = []
    assert isinstance(kind, pa.StructType)
    for field in kind:
        if field.name in _STATS_COLUMNS:
            columns.append(merged.column(_STATS_COLUMNS[field.name]).combine_chunks().cast(field.type))
        elif field.name in ("minValue", "maxValue"):
            columns.append(_bounds(merged.column(field.name[:3]).combine_chunks(), branches, field.type))
        elif field.name == "valueType":
            columns.append(_value_type(merged, field.type))
        else:
            columns.append(pa.nulls(merged.num_rows, field.type))
    value = pa.StructArray.from_arrays(columns, fields=list(kind))
    return pa.table({"key": merged.column("key"), "value": value})


def _bounds(bounds: pa.Array, branches: tuple[str, ...], kind: pa.DataType) -> pa.Array:
    members: list[pa.Array] = []
    assert isinstance(kind, pa.StructType)
    for member, name in zip(kind, branches, strict=True):
        if name in WRAPPERS:
            value = pc.struct_field(bounds, name).cast(member.type.field(0).type)
            members.append(pa.StructArray.from_arrays([value], fields=[member.type.field(0)], mask=pc.is_null(value)))
        else:
            members.append(pa.nulls(len(bounds), member.type))
    nothing = pc.is_null(members[0])
    for array in members[1:]:
        nothing = pc.and_(nothing, pc.is_null(array))
    return pa.StructArray.from_arrays(members, fields=list(kind), mask=nothing)


def _value_type(merged: pa.Table, kind: pa.DataType) -> pa.Array:
    assert isinstance(kind, pa.StructType)
    ordinal = merged.column("value_type").combine_chunks()
    parts = [ordinal.cast(kind.field(0).type), merged.column("type_info").combine_chunks()]
    return pa.StructArray.from_arrays(parts, fields=list(kind), mask=pc.is_null(ordinal))
