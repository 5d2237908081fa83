"""The Hive table that a Hudi table becomes: columns, types, storage descriptor, Spark's table properties."""

from __future__ import annotations

from hudi_hive.sync.table.glue_table import INDEX_FILTERING, partition_indexes
from hudi_hive.sync.table.locations import absolute, join, path_of, qualified_like, relative_to, same_location
from hudi_hive.sync.table.parquet_schema import storage_fields
from hudi_hive.sync.table.spark_schema import NUM_PARTS, spark_schema_json
from hudi_hive.sync.table.table_spec import (
    LAST_COMMIT,
    LAST_COMPLETION,
    Column,
    TableSpec,
    build_spec,
    storage_schema,
    views,
)
from hudi_hive.sync.table.types import metastore_type

__all__ = [
    "INDEX_FILTERING",
    "LAST_COMMIT",
    "LAST_COMPLETION",
    "NUM_PARTS",
    "Column",
    "TableSpec",
    "absolute",
    "build_spec",
    "join",
    "metastore_type",
    "partition_indexes",
    "path_of",
    "qualified_like",
    "relative_to",
    "same_location",
    "spark_schema_json",
    "storage_fields",
    "storage_schema",
    "views",
]
