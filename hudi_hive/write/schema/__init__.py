"""The schema that a write leaves: evolution against the table's, history, required columns."""

from __future__ import annotations

from hudi_hive.write.schema.evolving import (
    LATEST_SCHEMA,
    SCHEMA_KEY,
    avro_text,
    evolved_after,
    next_versions,
    refuse_without_ids,
    versions_until,
    with_meta_avro,
    with_version,
)
from hudi_hive.write.schema.schema_history import persist, read, remove
from hudi_hive.write.schema.schemas import WriterSchema, has_order, merged_schema, normal_schema, writer_schema

__all__ = [
    "LATEST_SCHEMA",
    "SCHEMA_KEY",
    "WriterSchema",
    "avro_text",
    "evolved_after",
    "has_order",
    "merged_schema",
    "next_versions",
    "normal_schema",
    "persist",
    "read",
    "refuse_without_ids",
    "remove",
    "versions_until",
    "with_meta_avro",
    "with_version",
    "writer_schema",
]
