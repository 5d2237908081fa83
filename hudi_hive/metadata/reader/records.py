"""Converts values of the metadata table's records to columns: statistics, record locations, bloom filters.

Schemas are those that the files carry, so that what one release writes and another does not is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats.base import WRAPPED as WRAPPED
from hudi_hive.formats.base import WRAPPERS as WRAPPERS
from hudi_hive.metadata.reader.file_group import BlockRecords

STATS_SCHEMA: Final = pa.schema(
    [
        ("file_name", pa.string()),
        ("column", pa.string()),
        ("min", WRAPPED),
        ("max", WRAPPED),
        ("value_count", pa.int64()),
        ("null_count", pa.int64()),
        ("total_size", pa.int64()),
        ("total_uncompressed_size", pa.int64()),
        ("is_deleted", pa.bool_()),
        ("is_tight", pa.bool_()),
        ("value_type", pa.int32()),
        ("type_info", pa.string()),
    ]
)
"""Columns of raw column statistics; ``file_name`` is the partition of partition statistics."""

LOCATIONS_SCHEMA: Final = pa.schema(
    [("partition", pa.string()), ("file_id", pa.string()), ("instant_ms", pa.int64()), ("position", pa.int64())]
)
"""Columns of record index values."""

BLOOM_SCHEMA: Final = pa.schema(
    [("type", pa.string()), ("timestamp", pa.string()), ("filter", pa.binary()), ("is_deleted", pa.bool_())]
)
"""Columns of bloom filter values; ``filter`` is Base64 text."""

DELETED_SCHEMA: Final = pa.schema([("is_deleted", pa.bool_())])
"""Columns of secondary index values."""

_LOCATION_FIELDS: Final = ("partitionName", "fileIdHighBits", "fileIdLowBits", "fileIndex", "fileId")
"""Fields that every release writes."""

_STATS_FIELDS: Final = (
    ("fileName", "file_name"),
    ("columnName", "column"),
    ("valueCount", "value_count"),
    ("nullCount", "null_count"),
    ("totalSize", "total_size"),
    ("totalUncompressedSize", "total_uncompressed_size"),
    ("isDeleted", "is_deleted"),
)


def stats(part: BlockRecords) -> pa.Table:
    """Column statistics as a table of :data:`STATS_SCHEMA`."""
    values = part.values
    if not len(values):
        return STATS_SCHEMA.empty_table()
    columns = {ours: _field(values, theirs, STATS_SCHEMA.field(ours).type) for theirs, ours in _STATS_FIELDS}
    tight = _field(values, "isTightBound", pa.bool_())
    columns["is_tight"] = pc.fill_null(tight, False)
    kind = _field(values, "valueType", None)
    columns["value_type"] = _field(kind, "typeOrdinal", pa.int32())
    columns["type_info"] = _field(kind, "additionalInfo", pa.string())
    branches = bound_branches(part.schema)
    for theirs, ours in (("minValue", "min"), ("maxValue", "max")):
        columns[ours] = _wrapped(_field(values, theirs, None), branches)
    return pa.table([columns[name] for name in STATS_SCHEMA.names], schema=STATS_SCHEMA)


def _wrapped(bounds: pa.Array, branches: tuple[str, ...]) -> pa.Array:
    arrays = []
    for name, kind in WRAPPERS.items():
        if name in branches and pa.types.is_struct(bounds.type):
            holder = bounds if len(branches) == 1 else _field(bounds, f"member{branches.index(name)}", None)
            arrays.append(_raw(_field(holder, "value", None), kind))
        else:
            arrays.append(pa.nulls(len(bounds), kind))
    return pa.StructArray.from_arrays(arrays, fields=list(WRAPPED))


def _raw(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """A wrapper's value without its logical type."""
    if values.type == kind:
        return values
    if pa.types.is_temporal(values.type):
        width = pa.int32() if values.type.bit_width == 32 else pa.int64()
        values = values.cast(width)
    return values.cast(kind)


def bound_branches(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the wrapper records of bounds, in the order of the union."""
    for outer in schema.get("fields", ()):
        if outer["name"] == "ColumnStatsMetadata":
            record = next(branch for branch in _union(outer["type"]) if isinstance(branch, dict))
            for field in record["fields"]:
                if field["name"] == "minValue":
                    names = [branch for branch in _union(field["type"]) if branch != "null"]
                    return tuple(_simple_name(branch) for branch in names)
    return ()


def _union(kind: object) -> list[Any]:
    return kind if isinstance(kind, list) else [kind]


def _simple_name(branch: object) -> str:
    name = branch["name"] if isinstance(branch, dict) else str(branch)
    return str(name).rpartition(".")[2]


def locations(part: BlockRecords) -> pa.Table:
    """Record index values as a table of :data:`LOCATIONS_SCHEMA`."""
    values = part.values
    if not len(values):
        return LOCATIONS_SCHEMA.empty_table()
    if not pa.types.is_struct(values.type):
        raise ValueError(f"record locations are {values.type}, not a struct")
    for name in _LOCATION_FIELDS:
        if values.type.get_field_index(name) < 0:  # else a damaged name would pass for a record that is nowhere
            raise KeyError(name)
    encoding = pc.fill_null(_field(values, "fileIdEncoding", pa.int32()), 0)
    as_text = _field(values, "fileId", pa.string())
    as_uuid = _uuid_file_ids(
        _field(values, "fileIdHighBits", pa.int64()),
        _field(values, "fileIdLowBits", pa.int64()),
        _field(values, "fileIndex", pa.int32()),
    )
    columns = [
        _field(values, "partitionName", pa.string()),
        pc.if_else(pc.equal(encoding, 0), as_uuid, as_text),
        _field(values, "instantTime", pa.int64()),
        _field(values, "position", pa.int64()),
    ]
    return pa.table(columns, schema=LOCATIONS_SCHEMA)


_HEX: Final = np.frombuffer(b"".join(b"%02x" % value for value in range(256)), "S2")


def _uuid_file_ids(high: pa.Array, low: pa.Array, index: pa.Array) -> pa.Array:
    """File ids from the halves of their UUID and the number behind it; -1 stands for none."""
    halves = np.stack([pc.fill_null(half, 0).to_numpy(zero_copy_only=False) for half in (high, low)], axis=1)
    digits = _HEX[halves.astype(">i8").view(np.uint8).reshape(-1, 16)].view("S1").reshape(-1, 32)
    text = np.full((len(digits), 36), b"-", "S1")
    for begin, end, at in ((0, 8, 0), (8, 12, 9), (12, 16, 14), (16, 20, 19), (20, 32, 24)):
        text[:, at : at + end - begin] = digits[:, begin:end]
    uuids = pa.array(np.ascontiguousarray(text).view("S36").ravel(), pa.binary()).cast(pa.string())
    numbered = pc.binary_join_element_wise(uuids, pc.fill_null(index, -1).cast(pa.string()), "-")
    return pc.if_else(pc.less(pc.fill_null(index, -1), 0), uuids, numbered)


def bloom_filters(part: BlockRecords) -> pa.Table:
    """Bloom filter values as a table of :data:`BLOOM_SCHEMA`."""
    values = part.values
    if not len(values):
        return BLOOM_SCHEMA.empty_table()
    names = ("type", "timestamp", "bloomFilter", "isDeleted")
    columns = [_field(values, name, kind) for name, kind in zip(names, BLOOM_SCHEMA.types, strict=True)]
    return pa.table(columns, schema=BLOOM_SCHEMA)


def deletions(part: BlockRecords) -> pa.Table:
    """Secondary index values as a table of :data:`DELETED_SCHEMA`."""
    if not len(part.values):
        return DELETED_SCHEMA.empty_table()
    return pa.table([_field(part.values, "isDeleted", pa.bool_())], schema=DELETED_SCHEMA)


def _field(values: pa.Array, name: str, kind: pa.DataType | None) -> pa.Array:
    """A field of structs, null where the struct is; all null where a schema lacks it. Null kind: the type as it is."""
    if not pa.types.is_struct(values.type) or values.type.get_field_index(name) < 0:
        return pa.nulls(len(values), kind if kind is not None else pa.null())
    found = pc.struct_field(values, name)
    return found if kind is None or found.type == kind else found.cast(kind)
