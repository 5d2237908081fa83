"""RFC-40's planning for query engines, with no engine in it: schemas, tables, splits and rows of synced Hudi tables.

In come a metastore, names, columns and filters; out come table handles, splits made in the background, Arrow batches.
What was synced decides which tables, views and partitions there are; the table itself decides columns and files.
"""

from __future__ import annotations

from hudi_hive.connector.connector import ConnectorSource, HudiConnector
from hudi_hive.connector.metadata import (
    ConnectorColumn,
    ConnectorMetadata,
    HudiTableHandle,
    PartitionKey,
    TableStatistics,
)
from hudi_hive.connector.page_source import PageSources
from hudi_hive.connector.split_manager import PartitionSource, SplitSource

__all__ = [
    "ConnectorColumn",
    "ConnectorMetadata",
    "ConnectorSource",
    "HudiConnector",
    "HudiTableHandle",
    "PageSources",
    "PartitionKey",
    "PartitionSource",
    "SplitSource",
    "TableStatistics",
]
