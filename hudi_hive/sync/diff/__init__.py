"""What differs between a Hudi table and its entry in the metastore: partitions, columns, properties."""

from __future__ import annotations

from hudi_hive.sync.diff.changes import NEVER
from hudi_hive.sync.diff.column_steps import detour, is_by_position
from hudi_hive.sync.diff.concurrency import Worked, check_stamp, expected_stamp, races_noticed, settle
from hudi_hive.sync.diff.hive_objects import changed_table, kept_comments, moved_partition, new_partition, new_table
from hudi_hive.sync.diff.metastore_partitions import batch_sizes
from hudi_hive.sync.diff.plan import CREATE, RECREATE, SyncPlan, TablePlan
from hudi_hive.sync.diff.planner import Planner
from hudi_hive.sync.diff.schema_diff import normal_type
from hudi_hive.sync.diff.type_changes import follows

__all__ = [
    "CREATE",
    "NEVER",
    "RECREATE",
    "Planner",
    "SyncPlan",
    "TablePlan",
    "Worked",
    "batch_sizes",
    "changed_table",
    "check_stamp",
    "detour",
    "expected_stamp",
    "follows",
    "is_by_position",
    "kept_comments",
    "moved_partition",
    "new_partition",
    "new_table",
    "normal_type",
    "races_noticed",
    "settle",
]
