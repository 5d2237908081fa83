"""A table's own schema as Spark's ``StructType``, and Spark's types as Arrow's."""

from __future__ import annotations

import json

import pyarrow as pa
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StringType, StructField, StructType

from hudi_hive.errors import SchemaError
from hudi_hive.schema import META_FIELDS, shown_avro
from hudi_hive.sync.table import spark_schema_json, storage_fields
from hudi_hive.table import MetaClient

_ARROW = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "tinyint": pa.int8(),
    "short": pa.int16(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "int": pa.int32(),
    "long": pa.int64(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
"""Spark's names of its types, in all versions."""


def spark_schema(client: MetaClient, as_of: str | None = None, *, local_times: bool = False) -> StructType:
    """The columns of a table, meta columns first, with the types that hive-sync would declare to Spark.

    Args:
        client: the table.
        as_of: requested time: the schema that the table had then.
        local_times: have times without a zone as such, as a catalog has them, not as numbers.

    Raises:
        SchemaError: the schema is not known, or Spark cannot hold it.
    """
    avro = client.avro_schema(as_of)
    if avro is None:
        raise SchemaError(
            "the table's schema is not known: no commit holds one",
            path=client.base_path,
            remedy="write a commit, or set hoodie.table.create.schema",
        )
    shown = shown_avro(avro, client.config.base_file_format)
    data = StructType.fromJson(json.loads(spark_schema_json(storage_fields(shown, local_times=local_times))))
    meta = [StructField(name, StringType()) for name in META_FIELDS] if client.config.populate_meta_fields else []
    known = {field.name for field in data.fields}
    dropped = [name for name in client.config.partition_fields if name not in known]
    extra = [StructField(name, StringType()) for name in dropped] if client.config.drop_partition_columns else []
    # Spark gives every column of a file source as nullable; older files may lack it.
    return StructType([*meta, *(StructField(f.name, f.dataType, True, f.metadata) for f in data.fields), *extra])


def arrow_schema(columns: StructType) -> pa.Schema:
    """The Arrow schema that Spark takes for columns of its own types.

    Raises:
        SchemaError: a type that no synced table has.
    """
    return pa.schema([pa.field(item.name, _arrow_type(item.dataType)) for item in columns.fields])


def _arrow_type(kind: DataType) -> pa.DataType:
    if isinstance(kind, StructType):
        return pa.struct([pa.field(item.name, _arrow_type(item.dataType)) for item in kind.fields])
    if isinstance(kind, ArrayType):
        return pa.list_(_arrow_type(kind.elementType))
    if isinstance(kind, MapType):
        return pa.map_(_arrow_type(kind.keyType), _arrow_type(kind.valueType))
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, StringType):
        return pa.string()
    arrow = _ARROW.get(kind.typeName())
    if arrow is None:
        raise SchemaError(f"no Arrow type is known for Spark's {kind.simpleString()}")
    return arrow
