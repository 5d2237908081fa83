"""Hudi tables: properties, partitions, files, file slices and schemas of a base path.

Files and slices are Arrow tables (``FILES_SCHEMA``, ``SLICE_SCHEMA``), the log files of a slice its records and
deleted keys (``LogRecords``). What a query does with them is no matter here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.lazy_names import lazy_names
from hudi_hive.table.core import MetaClient, is_hudi_table
from hudi_hive.table.logs import BlockRange, LogData, LogDeletes, LogRecords, scan_logs
from hudi_hive.table.properties import TableConfig, update_properties
from hudi_hive.table.view import FILES_SCHEMA, SLICE_SCHEMA, FileSystemView

if TYPE_CHECKING:
    from hudi_hive.table.core import DEFAULT_TABLE_VERSION, TableDefinition, create_table

__all__ = [
    "DEFAULT_TABLE_VERSION",
    "FILES_SCHEMA",
    "SLICE_SCHEMA",
    "BlockRange",
    "FileSystemView",
    "LogData",
    "LogDeletes",
    "LogRecords",
    "MetaClient",
    "TableConfig",
    "TableDefinition",
    "create_table",
    "is_hudi_table",
    "scan_logs",
    "update_properties",
]

_HOMES = {
    "DEFAULT_TABLE_VERSION": "core",
    "TableDefinition": "core",
    "create_table": "core",
}

# Loaded on first use: readers make no tables.
__getattr__ = lazy_names(__name__, _HOMES)
