"""Runs syncs: one table, many tables, after each commit, or after a write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.lazy_names import lazy_names
from hudi_hive.sync.run.recorded_config import recorded_sync_config
from hudi_hive.sync.run.report import StepTime, SyncReport
from hudi_hive.sync.run.tool import HiveSyncTool

if TYPE_CHECKING:
    from hudi_hive.sync.run.after_write import SyncAfterWrite
    from hudi_hive.sync.run.catalog_types import refuse_catalog_types
    from hudi_hive.sync.run.discover import ListedTable, discover_tables, expand_pattern, read_table_list
    from hudi_hive.sync.run.many import (
        FAILED,
        NOTHING,
        PLANNED,
        RESULT_COLUMNS,
        SYNCED,
        ManyReport,
        TableResult,
        sync_many,
    )
    from hudi_hive.sync.run.watch import SyncWatcher, WatchEvent, WatchSettings

__all__ = [
    "FAILED",
    "NOTHING",
    "PLANNED",
    "RESULT_COLUMNS",
    "SYNCED",
    "HiveSyncTool",
    "ListedTable",
    "ManyReport",
    "StepTime",
    "SyncAfterWrite",
    "SyncReport",
    "SyncWatcher",
    "TableResult",
    "WatchEvent",
    "WatchSettings",
    "discover_tables",
    "expand_pattern",
    "read_table_list",
    "recorded_sync_config",
    "refuse_catalog_types",
    "sync_many",
]

_HOMES = {
    "FAILED": "many",
    "ListedTable": "discover",
    "ManyReport": "many",
    "NOTHING": "many",
    "PLANNED": "many",
    "RESULT_COLUMNS": "many",
    "SYNCED": "many",
    "SyncAfterWrite": "after_write",
    "SyncWatcher": "watch",
    "TableResult": "many",
    "WatchEvent": "watch",
    "WatchSettings": "watch",
    "discover_tables": "discover",
    "expand_pattern": "discover",
    "read_table_list": "discover",
    "refuse_catalog_types": "catalog_types",
    "sync_many": "many",
}

# Loaded on first use: a sync of one table needs no more than the tool.
__getattr__ = lazy_names(__name__, _HOMES)
