"""The Hive table that a Hudi table becomes: columns, types, storage descriptor, Spark's table properties."""

from __future__ import annotations

from hudi_hive.sync.table.glue_table import INDEX_FILTERING, partition_indexes
from hudi_hive.sync.table.locations import absolute, join, path_of, qualified_like, relative_to, same_location
from hudi_hive.sync.table.parquet_schema import storage_fields
from hudi_hive.sync.table.spark_schema import (
    CREATE_VERSION,
    MADE_BY_SQL,
    NUM_PARTS,
    declared_parameters,
    declared_types,
    spark_schema_json,
    spark_table_parameters,
)
from hudi_hive.sync.table.table_spec import (
    LAST_COMMIT,
    LAST_COMPLETION,
    Column,
    TableSpec,
    View,
    build_spec,
    hive_classes,
    storage_schema,
    views,
)
from hudi_hive.sync.table.types import metastore_type

__all__ = [
    "CREATE_VERSION",
    "INDEX_FILTERING",
    "LAST_COMMIT",
    "LAST_COMPLETION",
    "MADE_BY_SQL",
    "NUM_PARTS",
    "Column",
    "TableSpec",
    "View",
    "absolute",
    "build_spec",
    "declared_parameters",
    "declared_types",
    "hive_classes",
    "join",
    "metastore_type",
    "partition_indexes",
    "path_of",
    "qualified_like",
    "relative_to",
    "same_location",
    "spark_schema_json",
    "spark_table_parameters",
    "storage_fields",
    "storage_schema",
    "views",
]
