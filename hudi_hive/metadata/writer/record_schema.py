"""The Avro schema of the metadata table's records, by table version.

Java code casts strings that it reads with this schema, so the attribute that tells it which class they are is kept.

Source: docs/format.md#metadata-record-schema.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from hudi_hive.formats.base import WRAPPERS
from hudi_hive.names import META_COLUMN_PREFIX

_STRING: Final = {"type": "string", "avro.java.string": "String"}

_META: Final = ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")

_WRAPPED_TYPES: Final[dict[str, Any]] = {
    "BooleanWrapper": "boolean",
    "IntWrapper": "int",
    "LongWrapper": "long",
    "FloatWrapper": "float",
    "DoubleWrapper": "double",
    "BytesWrapper": "bytes",
    "StringWrapper": _STRING,
    "DateWrapper": "int",
    "DecimalWrapper": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15},
    "TimeMicrosWrapper": {"type": "long", "logicalType": "time-micros"},
    "TimestampMicrosWrapper": "long",
    "LocalDateWrapper": "int",
}


def branches(version: int) -> tuple[str, ...]:
    """Names of the wrapper records of bounds, in the order of the union after null."""
    names = [name for name in WRAPPERS if version >= 8 or name != "LocalDateWrapper"]
    return (*names, "ArrayWrapper") if version >= 9 else tuple(names)


@lru_cache(maxsize=8)
def record_schema(version: int) -> str:
    """The JSON text of the schema of ``HoodieMetadataRecord``, meta columns in front.

    Args:
        version: table version: 6, 8 or 9.
    """
    meta = [
        {"name": f"{META_COLUMN_PREFIX}{name}", "type": ["null", "string"], "doc": "", "default": None}
        for name in _META
    ]
    size = _record("HoodieMetadataFileInfo", [_field("size", "long"), _field("isDeleted", "boolean")])
    lists = {"type": "map", "values": size, "avro.java.string": "String"}
    fields = [
        *meta,
        _field("key", _STRING),
        _field("type", "int"),
        {"name": "filesystemMetadata", "type": ["null", lists]},
        _optional("BloomFilterMetadata", _bloom_filter()),
        _optional("ColumnStatsMetadata", _column_stats(version)),
        _optional("recordIndexMetadata", _record_index(version)),
    ]
    if version >= 8:
        fields.append(
            _optional("SecondaryIndexMetadata", _record("HoodieSecondaryIndexInfo", [_field("isDeleted", "boolean")]))
        )
    record = {**_record("HoodieMetadataRecord", fields), "namespace": "org.apache.hudi.avro.model"}
    return json.dumps(record, separators=(",", ":"))


def _bloom_filter() -> dict[str, Any]:
    fields = [_field("type", _STRING), _field("timestamp", _STRING), _field("bloomFilter", "bytes")]
    return _record("HoodieMetadataBloomFilter", [*fields, _field("isDeleted", "boolean")])


def _column_stats(version: int) -> dict[str, Any]:
    fields = [_optional("fileName", _STRING), _optional("columnName", _STRING), *_bounds(version)]
    fields += [_optional(name, "long") for name in ("valueCount", "nullCount", "totalSize", "totalUncompressedSize")]
    fields.append(_field("isDeleted", "boolean"))
    if version >= 8:
        fields.append({"name": "isTightBound", "type": "boolean", "default": False})
    if version >= 9:
        info = [_field("typeOrdinal", "int"), _optional("additionalInfo", _STRING)]
        fields.append(_optional("valueType", _record("HoodieValueTypeInfo", info)))
    return _record("HoodieMetadataColumnStats", fields)


def _bounds(version: int) -> list[dict[str, Any]]:
    """``minValue``, which defines the records that it may be, and ``maxValue``, which names them."""
    names = branches(version)
    plain = [name for name in names if name != "ArrayWrapper"]
    defined = [_record(name, [_field("value", _WRAPPED_TYPES[name])]) for name in plain]
    if "ArrayWrapper" in names:
        items = {"type": "array", "items": ["null", *plain]}
        defined.append(_record("ArrayWrapper", [_optional("wrappedValues", items)]))
    return [
        {"name": "minValue", "type": ["null", *defined], "default": None},
        {"name": "maxValue", "type": ["null", *names], "default": None},
    ]


def _record_index(version: int) -> dict[str, Any]:
    fields = [
        _optional("partitionName", _STRING),
        _optional("fileIdHighBits", "long"),
        _optional("fileIdLowBits", "long"),
        _optional("fileIndex", "int"),
        _optional("fileId", _STRING),
        _optional("instantTime", "long"),
        {"name": "fileIdEncoding", "type": "int", "default": 0},
    ]
    if version >= 8:
        fields.append(_optional("position", "long"))
    return _record("HoodieRecordIndexInfo", fields)


def _record(name: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": fields}


def _field(name: str, kind: object) -> dict[str, Any]:
    return {"name": name, "type": kind}


def _optional(name: str, kind: object) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None}
