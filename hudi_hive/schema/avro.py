"""Adds Hudi's meta columns and partition columns to Arrow schemas of tables.

The Avro schema of a table stands in the ``schema`` of its commits' extra metadata or in ``hoodie.table.create.schema``.
The mapping of types stands beside the Avro decoder, which needs it too.

Source: docs/format.md#avro-schemas.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from hudi_hive.formats.avro import avro_to_arrow
from hudi_hive.names import (
    COMMIT_SEQNO_COLUMN,
    COMMIT_TIME_COLUMN,
    FILE_NAME_COLUMN,
    OPERATION_COLUMN,
    PARTITION_PATH_COLUMN,
    RECORD_KEY_COLUMN,
)

__all__ = ["META_FIELDS", "OPERATION_FIELD", "add_partition_columns", "avro_to_arrow", "with_meta_fields"]

META_FIELDS: Final = (
    COMMIT_TIME_COLUMN,
    COMMIT_SEQNO_COLUMN,
    RECORD_KEY_COLUMN,
    PARTITION_PATH_COLUMN,
    FILE_NAME_COLUMN,
)
"""The meta columns that every record has unless ``hoodie.populate.meta.fields`` is false, in their fixed order."""

OPERATION_FIELD: Final = OPERATION_COLUMN
"""The sixth meta column of tables with ``hoodie.allow.operation.metadata.field``."""


def with_meta_fields(schema: pa.Schema, *, operation: bool = False) -> pa.Schema:
    """Put Hudi's meta columns in front of a schema, in their fixed order; those that it has are moved.

    Args:
        schema: Arrow schema of the table's own columns.
        operation: add ``_hoodie_operation`` as the sixth.
    """
    names = [*META_FIELDS, OPERATION_FIELD] if operation else list(META_FIELDS)
    meta = [pa.field(name, pa.string()) for name in names]
    return pa.schema(meta + [field for field in schema if field.name not in names], metadata=schema.metadata)


def add_partition_columns(schema: pa.Schema, partition_schema: pa.Schema) -> pa.Schema:
    """Append the partition columns that a schema lacks.

    They lack with ``hoodie.datasource.write.drop.partition.columns``.
    """
    missing = [field for field in partition_schema if schema.get_field_index(field.name) < 0]
    return pa.schema([*schema, *missing], metadata=schema.metadata)
