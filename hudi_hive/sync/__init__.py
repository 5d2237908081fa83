"""Sync a Hudi table to a Hive metastore, as Hudi's own HiveSyncTool does, without the JVM.

In come a table's base path and hive-sync's options; out go the database, table and partitions in the metastore, and a
report of what was done.
"""

from hudi_hive.sync.config import HiveSyncConfig
from hudi_hive.sync.diff import SyncPlan, TablePlan
from hudi_hive.sync.run import HiveSyncTool, StepTime, SyncReport

__all__ = ["HiveSyncConfig", "HiveSyncTool", "StepTime", "SyncPlan", "SyncReport", "TablePlan"]
