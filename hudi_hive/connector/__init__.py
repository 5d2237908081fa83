"""RFC-40's planning for query engines: schemas, tables, splits and rows of synced Hudi tables.

In come a metastore, names, columns and filters; out come table handles, splits made in the background, Arrow batches.
What was synced decides which tables, views and partitions there are; the table itself decides columns and files.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hudi_hive.connector.dataset import ScanDataset, ScanSource, TableSource

if TYPE_CHECKING:
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
    "ScanDataset",
    "ScanSource",
    "SplitSource",
    "TableSource",
    "TableStatistics",
]

_HOMES = {
    "ConnectorColumn": "metadata",
    "ConnectorMetadata": "metadata",
    "ConnectorSource": "connector",
    "HudiConnector": "connector",
    "HudiTableHandle": "metadata",
    "PageSources": "page_source",
    "PartitionKey": "metadata",
    "PartitionSource": "split_manager",
    "SplitSource": "split_manager",
    "TableStatistics": "metadata",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562 gives whatever the module holds
    """Loaded on first use: scans as datasets, and SQL over paths, need no metastore client."""
    if name in _HOMES:
        return getattr(import_module(f"hudi_hive.connector.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'hudi_hive.connector' has no attribute {name!r}")
