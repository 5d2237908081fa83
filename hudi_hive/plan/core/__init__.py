"""Makes scan plans: snapshot, incremental and change-data queries over the file slices of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.lazy_names import lazy_names
from hudi_hive.plan.core.cdc import CDC_SCHEMA, DATA_BEFORE_AFTER, OP_KEY_ONLY, Case
from hudi_hive.plan.core.incremental import (
    CommitRange,
    cleaned_error,
    files_of_range,
    merges_logs,
    missing_files,
    range_time,
    select_commits,
    slices_of_range,
    without_hollow,
)
from hudi_hive.plan.core.listing import partitions_matching, with_configured_listing
from hudi_hive.plan.core.planner import (
    Filter,
    narrowed_plan,
    plan_of_files,
    plan_of_slices,
    plan_scan,
)
from hudi_hive.plan.core.snapshot import (
    check_first_commit,
    check_time_travel,
    earliest_retained,
    refuse_cleaned_files,
)

if TYPE_CHECKING:
    from hudi_hive.plan.core.commit_batches import BatchLimits, CommitOffset, Commits, is_on_timeline
    from hudi_hive.plan.core.partition_planner import PartitionPlanner, both
    from hudi_hive.plan.core.skipping import slices_left, with_skip_filter

__all__ = [
    "CDC_SCHEMA",
    "DATA_BEFORE_AFTER",
    "OP_KEY_ONLY",
    "BatchLimits",
    "Case",
    "CommitOffset",
    "CommitRange",
    "Commits",
    "Filter",
    "PartitionPlanner",
    "both",
    "check_first_commit",
    "check_time_travel",
    "cleaned_error",
    "earliest_retained",
    "files_of_range",
    "is_on_timeline",
    "merges_logs",
    "missing_files",
    "narrowed_plan",
    "partitions_matching",
    "plan_of_files",
    "plan_of_slices",
    "plan_scan",
    "range_time",
    "refuse_cleaned_files",
    "select_commits",
    "slices_left",
    "slices_of_range",
    "with_configured_listing",
    "with_skip_filter",
    "without_hollow",
]

_HOMES = {
    "BatchLimits": "commit_batches",
    "CommitOffset": "commit_batches",
    "Commits": "commit_batches",
    "PartitionPlanner": "partition_planner",
    "both": "partition_planner",
    "is_on_timeline": "commit_batches",
    "slices_left": "skipping",
    "with_skip_filter": "skipping",
}

# Loaded on first use: snapshots need neither batches of commits nor plans by partition.
__getattr__ = lazy_names(__name__, _HOMES)
