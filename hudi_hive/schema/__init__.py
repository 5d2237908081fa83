"""Schemas: Avro schemas as Hudi writes them to Arrow schemas with meta and partition columns, and back.

Nothing here reads a file.
"""

from hudi_hive.schema.avro import META_FIELDS, add_partition_columns, avro_to_arrow, with_meta_fields
from hudi_hive.schema.from_arrow import arrow_to_avro, record_name

__all__ = ["META_FIELDS", "add_partition_columns", "arrow_to_avro", "avro_to_arrow", "record_name", "with_meta_fields"]
