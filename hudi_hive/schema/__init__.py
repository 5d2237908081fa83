"""Schemas: in come Avro schemas as Hudi writes them, out come Arrow schemas with meta and partition columns.

Nothing here reads a file.
"""

from hudi_hive.schema.avro import META_FIELDS, add_partition_columns, avro_to_arrow, with_meta_fields

__all__ = ["META_FIELDS", "add_partition_columns", "avro_to_arrow", "with_meta_fields"]
