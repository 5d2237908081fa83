"""RFC-40's planning for query engines: schemas, tables, splits and rows of synced Hudi tables.

In come a metastore, names, columns and filters; out come table handles, splits made in the background, Arrow batches.
What was synced decides which tables, views and partitions there are; the table itself decides columns and files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.connector.dataset import ScanDataset, ScanSource, TableSource
from hudi_hive.lazy_names import lazy_names

if TYPE_CHECKING:
    from hudi_hive.connector.connector import ConnectorSource, HudiConnector
    from hudi_hive.connector.datafusion_source import register_datafusion
    from hudi_hive.connector.handle import HudiTableHandle, PartitionKey, ScanHandle, TableHandle
    from hudi_hive.connector.metadata import ConnectorColumn, ConnectorMetadata, TableStatistics
    from hudi_hive.connector.page_sink import InsertFragment, InsertHandle, PageSink, begin_insert, finish_insert
    from hudi_hive.connector.page_source import PageSources
    from hudi_hive.connector.polars_source import polars_lazy
    from hudi_hive.connector.split_manager import PartitionSource, SplitSource
    from hudi_hive.connector.views import ConnectorView

__all__ = [
    "ConnectorColumn",
    "ConnectorMetadata",
    "ConnectorSource",
    "ConnectorView",
    "HudiConnector",
    "HudiTableHandle",
    "InsertFragment",
    "InsertHandle",
    "PageSink",
    "PageSources",
    "PartitionKey",
    "PartitionSource",
    "ScanDataset",
    "ScanHandle",
    "ScanSource",
    "SplitSource",
    "TableHandle",
    "TableSource",
    "TableStatistics",
    "begin_insert",
    "finish_insert",
    "polars_lazy",
    "register_datafusion",
]

_HOMES = {
    "ConnectorColumn": "metadata",
    "ConnectorMetadata": "metadata",
    "ConnectorSource": "connector",
    "ConnectorView": "views",
    "HudiConnector": "connector",
    "HudiTableHandle": "handle",
    "InsertFragment": "page_sink",
    "InsertHandle": "page_sink",
    "PageSink": "page_sink",
    "PageSources": "page_source",
    "PartitionKey": "handle",
    "PartitionSource": "split_manager",
    "ScanHandle": "handle",
    "SplitSource": "split_manager",
    "TableHandle": "handle",
    "TableStatistics": "metadata",
    "begin_insert": "page_sink",
    "finish_insert": "page_sink",
    "polars_lazy": "polars_source",
    "register_datafusion": "datafusion_source",
}

# Loaded on first use: scans as datasets, and SQL over paths, need no metastore client.
__getattr__ = lazy_names(__name__, _HOMES)
