"""Spark's schema text of a table and the table parameters that carry it, as hive-sync writes them.

Comes in: Parquet fields and the partition fields. Goes out: the JSON text and the ``spark.sql.sources.*`` parameters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hudi_hive.errors import InvalidOptionError, SchemaSyncError
from hudi_hive.sync.table.parquet_schema import LOCAL_TIME, OPTIONAL, REPEATED, StorageField, list_element, map_entry

PROVIDER = "spark.sql.sources.provider"
NUM_PARTS = "spark.sql.sources.schema.numParts"
PART = "spark.sql.sources.schema.part."
NUM_PART_COLS = "spark.sql.sources.schema.numPartCols"
PART_COL = "spark.sql.sources.schema.partCol."
CREATE_VERSION = "spark.sql.create.version"
MADE_BY_SQL = "provider"
"""A parameter of entries that ``CREATE TABLE`` made, here as in Hudi; a sync sets :data:`PROVIDER`."""

_CHUNK_LENGTH = 4000

_SparkType = str | dict[str, Any]
"""A type in Spark's JSON: the name of a plain one, or an object."""

_NTZ = "timestamp_ntz"
_INTEGERS = {"INT_8": "byte", "INT_16": "short"}
_PLAIN = {
    "boolean": "boolean",
    "int32": "integer",
    "int64": "long",
    "int96": "timestamp",
    "float": "float",
    "double": "double",
    "fixed": "binary",
    "binary": "binary",
}


def spark_schema_json(fields: Sequence[StorageField], partition_fields: Sequence[str] = ()) -> str:
    """Spark's JSON text of a schema: data columns in table order, then partition columns in the order configured.

    The text is the one hive-sync makes, byte for byte: no blanks but for one behind the first comma of arrays and
    maps, nothing escaped, names in their own case. A partition field that the schema lacks (compared with case) is a
    string that is never null. Fields annotated as times without a zone, which hive-sync does not know, are such.
    """
    by_name = {field.name: field for field in fields}
    partition = set(partition_fields)
    items = [_field(field) for field in fields if field.name not in partition]
    for name in partition_fields:
        known = by_name.get(name)
        items.append(_field(known) if known is not None else _item(name, '"string"', nullable=False))
    return f'{{"type":"struct","fields":[{",".join(items)}]}}'


def spark_table_parameters(
    schema_json: str, partition_fields: Sequence[str], *, chunk_length: int, spark_version: str | None = None
) -> dict[str, str]:
    """Table parameters that Spark reads: provider, schema text in chunks, partition columns.

    Args:
        schema_json: text of ``spark_schema_json``.
        partition_fields: partition columns in the order configured; empty for a table without partitions.
        chunk_length: greatest length of a chunk, in characters.
        spark_version: value of ``spark.sql.create.version``, left out when None or empty.

    Raises:
        InvalidOptionError: ``chunk_length`` is not positive.
    """
    if chunk_length < 1:
        raise InvalidOptionError(
            f"hoodie.datasource.hive_sync.schema_string_length_thresh must be positive, not {chunk_length}"
        )
    chunks = [schema_json[start : start + chunk_length] for start in range(0, len(schema_json), chunk_length)]
    parameters = {PROVIDER: "hudi"}
    if spark_version:
        parameters[CREATE_VERSION] = spark_version
    parameters[NUM_PARTS] = str(len(chunks))
    parameters |= {f"{PART}{index}": chunk for index, chunk in enumerate(chunks)}
    if partition_fields:
        parameters[NUM_PART_COLS] = str(len(partition_fields))
        parameters |= {f"{PART_COL}{index}": name for index, name in enumerate(partition_fields)}
    return parameters


def declared_parameters(
    parameters: Mapping[str, str],
    comments: Mapping[str, str],
    types: Mapping[str, Any],
    new_types: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """Parameters of :func:`spark_table_parameters` whose schema text has what was declared of the columns.

    Args:
        parameters: of a table.
        comments: column name in lower case -> comment.
        types: column name in lower case -> type in Spark's JSON that the entry has, of which times without a zone are
            kept: a sync takes them for numbers, as Hive does.
        new_types: the same of what the entry does not have yet.
    """
    schema = _schema(parameters)
    if schema is None:
        return dict(parameters)
    fields = [_declared(field, comments, types, new_types or {}) for field in schema["fields"]]
    if fields == schema["fields"]:
        return dict(parameters)
    text = json.dumps(schema | {"fields": fields}, separators=(",", ":"), ensure_ascii=False)
    chunks = [text[start : start + _CHUNK_LENGTH] for start in range(0, len(text), _CHUNK_LENGTH)]
    made = {name: value for name, value in parameters.items() if not name.startswith(PART)}
    return made | {NUM_PARTS: str(len(chunks)), **{f"{PART}{index}": chunk for index, chunk in enumerate(chunks)}}


def declared_types(parameters: Mapping[str, str]) -> dict[str, Any]:
    """Types of a table's columns in Spark's JSON by its parameters: column name in lower case -> type."""
    return _types_of(_schema(parameters) or {})


def _schema(parameters: Mapping[str, str]) -> dict[str, Any] | None:
    """Spark's schema of a table by its parameters, parsed; None where it has none."""
    try:
        parts = range(int(parameters[NUM_PARTS]))
        schema = json.loads("".join(parameters[f"{PART}{index}"] for index in parts))
    except (KeyError, ValueError):
        return None
    return schema if isinstance(schema, dict) and _types_of(schema) else None


def column_types(schema: str) -> dict[str, Any]:
    """Types of columns in Spark's JSON by a schema of :func:`spark_schema_json`: column name in lower case -> type."""
    return _types_of(json.loads(schema))


def _types_of(struct: object) -> dict[str, Any]:
    """Types of a struct's fields by their names in lower case; empty where it is none of Spark's."""
    fields = struct.get("fields") if isinstance(struct, dict) else None
    good = isinstance(fields, list) and all(isinstance(field, dict) and "name" in field for field in fields)
    return {str(field["name"]).lower(): field.get("type") for field in fields or ()} if good else {}


def _declared(
    field: dict[str, Any], comments: Mapping[str, str], types: Mapping[str, Any], new_types: Mapping[str, Any]
) -> dict[str, Any]:
    """A field of Spark's schema with what was declared of it."""
    name = field["name"].lower()
    metadata = {"comment": comments[name]} if comments.get(name) else field["metadata"]
    return field | {
        "type": _with_local_times(field["type"], types.get(name), new_types.get(name)),
        "metadata": metadata,
    }


def _with_local_times(kind: _SparkType, declared: object, new: object) -> _SparkType:
    """A type of Spark's JSON, with times without a zone where it has numbers and the declared type has them.

    Args:
        kind: the type.
        declared: what the entry has; None where it has nothing.
        new: what is declared where the entry has nothing.
    """
    if kind == "long":
        return _NTZ if (new if declared is None else declared) == _NTZ else kind
    if not isinstance(kind, dict):
        return kind
    if kind["type"] == "struct":
        before, after = _types_of(declared), _types_of(new)
        fields = [
            field | {"type": _with_local_times(field["type"], before.get(name), after.get(name))}
            for field in kind["fields"]
            for name in (field["name"].lower(),)
        ]
        return kind | {"fields": fields}
    old, made = (part if isinstance(part, dict) else {} for part in (declared, new))
    inner = [name for name in ("elementType", "keyType", "valueType") if name in kind]
    return kind | {name: _with_local_times(kind[name], old.get(name), made.get(name)) for name in inner}


def _field(field: StorageField) -> str:
    if field.repetition == REPEATED:
        array = f'{{"type":"array", "elementType":{_type(field)},"containsNull":false}}'
        return _item(field.name, array, nullable=False)
    return _item(field.name, _type(field), nullable=field.repetition == OPTIONAL)


def _item(name: str, kind: str, *, nullable: bool) -> str:
    return f'{{"name":"{name}","type":{kind},"nullable":{str(nullable).lower()},"metadata":{{}}}}'


def _type(field: StorageField) -> str:
    if field.physical is not None:
        return f'"{_primitive(field)}"'
    if field.annotation == "LIST":
        return f'{{"type":"array", "elementType":{_type(list_element(field))},"containsNull":true}}'
    if field.annotation in ("MAP", "MAP_KEY_VALUE"):
        key, value = map_entry(field)
        nullable = str(value.repetition == OPTIONAL).lower()
        return f'{{"type":"map", "keyType":{_type(key)},"valueType":{_type(value)},"valueContainsNull":{nullable}}}'
    return f'{{"type":"struct","fields":[{",".join(_field(child) for child in field.children)}]}}'


def _primitive(field: StorageField) -> str:
    annotation = field.annotation or ""
    if annotation == "DECIMAL":
        return f"decimal({field.precision},{field.scale})"
    if annotation == "DATE":
        return "date"
    if annotation in ("TIMESTAMP_MILLIS", "TIMESTAMP_MICROS"):
        return "timestamp"
    if annotation == LOCAL_TIME:
        return _NTZ
    if field.physical == "binary" and annotation in ("STRING", "ENUM", "JSON"):
        return "string"
    if field.physical == "int32" and annotation in _INTEGERS:
        return _INTEGERS[annotation]
    if field.physical not in _PLAIN:
        raise SchemaSyncError(f"column {field.name} has the unknown Parquet type {field.physical!r}")
    return _PLAIN[field.physical]
