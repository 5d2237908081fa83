"""Sync a Hudi table to a Hive metastore, as Hudi's own HiveSyncTool does, without the JVM.

In come a table's base path and hive-sync's options; out go the database, table and partitions in the metastore, and a
report of what was done.
"""

from hudi_hive.sync.config import HiveSyncConfig
from hudi_hive.sync.plan import SyncPlan, TablePlan
from hudi_hive.sync.report import StepTime, SyncReport
from hudi_hive.sync.tool import HiveSyncTool

__all__ = ["HiveSyncConfig", "HiveSyncTool", "StepTime", "SyncPlan", "SyncReport", "TablePlan"]
