"""Runs syncs: one table, many tables, after each commit, or after a write."""

from __future__ import annotations

from hudi_hive.sync.run.after_write import SyncAfterWrite
from hudi_hive.sync.run.catalog_types import refuse_catalog_types
from hudi_hive.sync.run.discover import ListedTable, discover_tables, expand_pattern, read_table_list
from hudi_hive.sync.run.many import FAILED, NOTHING, PLANNED, RESULT_COLUMNS, SYNCED, ManyReport, TableResult, sync_many
from hudi_hive.sync.run.recorded_config import recorded_sync_config
from hudi_hive.sync.run.report import StepTime, SyncReport
from hudi_hive.sync.run.tool import HiveSyncTool
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
