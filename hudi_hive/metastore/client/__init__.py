"""The metastore client: databases, tables, and partitions in batches."""

from __future__ import annotations

from hudi_hive.metastore.client.client import HiveMetastore
from hudi_hive.metastore.client.partition_names import (
    DEFAULT_PARTITION,
    format_partition_name,
    parse_partition_name,
    unescape,
)
from hudi_hive.metastore.client.types import (
    Database,
    FieldSchema,
    Order,
    Partition,
    PrincipalType,
    SerDeInfo,
    SkewedInfo,
    StorageDescriptor,
    Table,
    partition_name,
)

__all__ = [
    "DEFAULT_PARTITION",
    "Database",
    "FieldSchema",
    "HiveMetastore",
    "Order",
    "Partition",
    "PrincipalType",
    "SerDeInfo",
    "SkewedInfo",
    "StorageDescriptor",
    "Table",
    "format_partition_name",
    "parse_partition_name",
    "partition_name",
    "unescape",
]
