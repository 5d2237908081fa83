"""Schemas of tables: Hudi's Avro schemas, Arrow schemas, and id-based schemas with their versions and changes.

Nothing here reads a file.

Source: docs/format.md#schemas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.lazy_names import lazy_names
from hudi_hive.schema.avro import META_FIELDS, OPERATION_FIELD, add_partition_columns, avro_to_arrow, with_meta_fields
from hudi_hive.schema.internal import (
    ArrayType,
    EvolvedSchema,
    FieldSource,
    InternalField,
    InternalSchema,
    InternalType,
    MapType,
    RecordType,
    field_sources,
    is_identity,
    parse_history,
    parse_internal_schema,
)
from hudi_hive.schema.internal_avro import from_avro, to_arrow, to_avro
from hudi_hive.schema.java_strings import float_text, java_text, shortest, text_or
from hudi_hive.schema.mislabelled import any_leaf, as_in_table, holds_mislabelled, is_mislabelled, may_be_mislabelled
from hudi_hive.schema.vectors import holds_vectors, shown_avro, shown_schema, vectors_of_bytes

if TYPE_CHECKING:
    from hudi_hive.schema.evolution import SchemaUpdate
    from hudi_hive.schema.from_arrow import arrow_to_avro, record_name
    from hudi_hive.schema.internal_json import history_bytes, to_json
    from hudi_hive.schema.promotions import may_become, refuse_unreadable, type_name, unreadable_column
    from hudi_hive.schema.schema_diff import Difference, differences
    from hudi_hive.schema.type_text import parse_type
    from hudi_hive.schema.writer_changes import merge_writer

__all__ = [
    "META_FIELDS",
    "OPERATION_FIELD",
    "ArrayType",
    "Difference",
    "EvolvedSchema",
    "FieldSource",
    "InternalField",
    "InternalSchema",
    "InternalType",
    "MapType",
    "RecordType",
    "SchemaUpdate",
    "add_partition_columns",
    "any_leaf",
    "arrow_to_avro",
    "as_in_table",
    "avro_to_arrow",
    "differences",
    "field_sources",
    "float_text",
    "from_avro",
    "history_bytes",
    "holds_mislabelled",
    "holds_vectors",
    "is_identity",
    "is_mislabelled",
    "java_text",
    "may_be_mislabelled",
    "may_become",
    "merge_writer",
    "parse_history",
    "parse_internal_schema",
    "parse_type",
    "record_name",
    "refuse_unreadable",
    "shortest",
    "shown_avro",
    "shown_schema",
    "text_or",
    "to_arrow",
    "to_avro",
    "to_json",
    "type_name",
    "unreadable_column",
    "vectors_of_bytes",
    "with_meta_fields",
]

_HOMES = {
    "Difference": "schema_diff",
    "SchemaUpdate": "evolution",
    "arrow_to_avro": "from_arrow",
    "differences": "schema_diff",
    "history_bytes": "internal_json",
    "may_become": "promotions",
    "merge_writer": "writer_changes",
    "parse_type": "type_text",
    "record_name": "from_arrow",
    "refuse_unreadable": "promotions",
    "to_json": "internal_json",
    "type_name": "promotions",
    "unreadable_column": "promotions",
}

# Loaded on first use: readers change no schema.
__getattr__ = lazy_names(__name__, _HOMES)
