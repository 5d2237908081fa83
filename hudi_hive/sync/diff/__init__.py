"""Differences between a Hudi table and its entry in the metastore: partitions, columns, properties."""

from __future__ import annotations

from hudi_hive.sync.diff.changes import NEVER
from hudi_hive.sync.diff.column_steps import find_column_steps, is_by_position
from hudi_hive.sync.diff.concurrency import (
    PartitionLedger,
    check_stamp,
    conflicts_detected,
    expected_stamp,
    retry_on_conflict,
)
from hudi_hive.sync.diff.hive_objects import (
    changed_table,
    existing_comments,
    moved_partition,
    new_partitions,
    new_table,
)
from hudi_hive.sync.diff.metastore_partitions import batch_sizes
from hudi_hive.sync.diff.plan import CREATE, RECREATE, SyncPlan, TablePlan
from hudi_hive.sync.diff.planner import Planner
from hudi_hive.sync.diff.schema_diff import normal_type
from hudi_hive.sync.diff.type_changes import is_readable_as

__all__ = [
    "CREATE",
    "NEVER",
    "RECREATE",
    "PartitionLedger",
    "Planner",
    "SyncPlan",
    "TablePlan",
    "batch_sizes",
    "changed_table",
    "check_stamp",
    "conflicts_detected",
    "existing_comments",
    "expected_stamp",
    "find_column_steps",
    "is_by_position",
    "is_readable_as",
    "moved_partition",
    "new_partitions",
    "new_table",
    "normal_type",
    "retry_on_conflict",
]
