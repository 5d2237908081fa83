"""Avro schemas to Arrow schemas.

The Avro schema of a table stands in the ``schema`` of its commits' extra metadata or in ``hoodie.table.create.schema``
(table-format rules: reference section 8). The mapping of types is the one that Hudi's Parquet files and Spark show.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from hudi_hive.errors import SchemaError

META_FIELDS: Final = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
"""The meta columns that every record has unless ``hoodie.populate.meta.fields`` is false, in their fixed order."""

OPERATION_FIELD: Final = "_hoodie_operation"
"""The sixth meta column of tables with ``hoodie.allow.operation.metadata.field``."""

_PRIMITIVES: Final[Mapping[str, pa.DataType]] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}

_LOGICAL: Final[Mapping[tuple[str, str], pa.DataType]] = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "timestamp-nanos"): pa.timestamp("ns", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-nanos"): pa.timestamp("ns"),
}

_MAX_DEPTH: Final = 100


def avro_to_arrow(schema: Mapping[str, Any] | str) -> pa.Schema:
    """The Arrow schema of an Avro record schema.

    Every field is nullable, as Spark shows them: a base file of an older schema may lack any column. ``doc`` of a field
    becomes the field metadata ``doc``. Lists are ``list<element>``, maps ``map<string, value>``, enums strings. A union
    of several types becomes the struct ``member0, member1, …`` that Parquet files hold for it. Logical types that are
    not known count as their plain type (Avro specification, "Logical Types").

    Args:
        schema: the parsed schema, or its JSON text.

    Raises:
        SchemaError: it is no record, refers to a type that it does not define, or is recursive.
    """
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except ValueError as error:
            raise SchemaError(f"Avro schema is not JSON: {error}") from error
    if not isinstance(schema, Mapping) or schema.get("type") not in ("record", "error"):
        raise SchemaError("Avro schema of a table must be a record")
    converter = _Converter()
    return pa.schema(converter.struct_fields(schema, "", ""))


def with_meta_fields(schema: pa.Schema, *, operation: bool = False) -> pa.Schema:
    """The schema with Hudi's meta columns first, in their fixed order; ones that it has already are moved, not doubled.

    Args:
        schema: Arrow schema of the table's own columns.
        operation: add ``_hoodie_operation`` as the sixth.
    """
    names = [*META_FIELDS, OPERATION_FIELD] if operation else list(META_FIELDS)
    meta = [pa.field(name, pa.string()) for name in names]
    return pa.schema(meta + [field for field in schema if field.name not in names], metadata=schema.metadata)


def add_partition_columns(schema: pa.Schema, partition_schema: pa.Schema) -> pa.Schema:
    """The schema with those partition columns appended that it lacks
    (``hoodie.datasource.write.drop.partition.columns``)."""
    missing = [field for field in partition_schema if schema.get_field_index(field.name) < 0]
    return pa.schema([*schema, *missing], metadata=schema.metadata)


class _Converter:
    """Walks one schema; remembers its named types, and which of them it is inside of."""

    def __init__(self) -> None:
        self._named: dict[str, pa.DataType | None] = {}  # None while the type is being defined
        self._depth = 0

    def struct_fields(self, schema: Mapping[str, Any], namespace: str, path: str) -> list[pa.Field]:
        full_name, namespace = self._begin(schema, namespace, path)
        raw_fields = schema.get("fields")
        if not isinstance(raw_fields, list):
            raise SchemaError(f"Avro record {full_name!r} has no list of fields", path=path or None)
        fields = []
        for raw in raw_fields:
            if not isinstance(raw, Mapping) or not isinstance(raw.get("name"), str) or "type" not in raw:
                raise SchemaError(f"a field of Avro record {full_name!r} lacks a name or a type", path=path or None)
            name = raw["name"]
            arrow = self.convert(raw["type"], namespace, f"{path}.{name}" if path else name)
            metadata = {"doc": raw["doc"]} if isinstance(raw.get("doc"), str) and raw["doc"] else None
            fields.append(pa.field(name, arrow, metadata=metadata))
        if full_name:
            self._named[full_name] = pa.struct(fields)
        return fields

    def convert(self, schema: object, namespace: str, path: str) -> pa.DataType:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise SchemaError(f"Avro type of column {path!r} is nested too deep")
        try:
            if isinstance(schema, str):
                return self._by_name(schema, namespace, path)
            if isinstance(schema, list):
                return self._union(schema, namespace, path)
            if isinstance(schema, Mapping):
                return self._complex(schema, namespace, path)
        finally:
            self._depth -= 1
        raise SchemaError(f"Avro type of column {path!r} is neither name, union nor object: {schema!r}")

    def _by_name(self, name: str, namespace: str, path: str) -> pa.DataType:
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        for full_name in (name,) if "." in name else (f"{namespace}.{name}", name):
            if full_name in self._named:
                arrow = self._named[full_name]
                if arrow is None:
                    raise SchemaError(
                        f"column {path!r} is of the recursive Avro type {full_name!r}",
                        remedy="recursive types have no columnar form",
                    )
                return arrow
        raise SchemaError(f"column {path!r} is of the unknown Avro type {name!r}")

    def _union(self, branches: list[object], namespace: str, path: str) -> pa.DataType:
        members = [branch for branch in branches if branch != "null"]
        if not members:
            return pa.null()
        if len(members) == 1:
            return self.convert(members[0], namespace, path)
        return pa.struct(
            [
                pa.field(f"member{i}", self.convert(member, namespace, f"{path}.member{i}"))
                for i, member in enumerate(members)
            ]
        )

    def _complex(self, schema: Mapping[str, Any], namespace: str, path: str) -> pa.DataType:
        kind = schema.get("type")
        if isinstance(kind, (list, Mapping)):
            return self.convert(kind, namespace, path)
        if kind in ("record", "error"):
            return pa.struct(self.struct_fields(schema, namespace, path))
        if kind == "array":
            return pa.list_(pa.field("element", self.convert(schema.get("items"), namespace, f"{path}.element")))
        if kind == "map":
            return pa.map_(pa.string(), self.convert(schema.get("values"), namespace, f"{path}.value"))
        if kind == "enum":
            return self._define(schema, namespace, path, pa.string())
        if kind == "fixed":
            return self._define(schema, namespace, path, _fixed(schema, path))
        if kind == "bytes" and schema.get("logicalType") == "decimal":
            return _decimal(schema, path)
        logical = _LOGICAL.get((str(kind), str(schema.get("logicalType"))))
        return logical if logical is not None else self._by_name(str(kind), namespace, path)

    def _begin(self, schema: Mapping[str, Any], namespace: str, path: str) -> tuple[str, str]:
        """Full name and namespace of a named type, registered as being defined."""
        name = schema.get("name")
        if not isinstance(name, str) or not name:
            raise SchemaError("a named Avro type has no name", path=path or None)
        if "." in name:
            namespace = name.rpartition(".")[0]
        else:
            own = schema.get("namespace")
            namespace = own if isinstance(own, str) else namespace
            name = f"{namespace}.{name}" if namespace else name
        self._named[name] = None
        return name, namespace

    def _define(self, schema: Mapping[str, Any], namespace: str, path: str, arrow: pa.DataType) -> pa.DataType:
        full_name, _ = self._begin(schema, namespace, path)
        self._named[full_name] = arrow
        return arrow


def _fixed(schema: Mapping[str, Any], path: str) -> pa.DataType:
    size = schema.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise SchemaError(f"Avro fixed of column {path!r} has no size")
    if schema.get("logicalType") == "decimal":
        return _decimal(schema, path)
    return pa.binary(size)


def _decimal(schema: Mapping[str, Any], path: str) -> pa.DataType:
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 < precision <= 76 or scale > precision:
        raise SchemaError(f"decimal column {path!r} has precision {precision!r} and scale {scale!r}")
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
