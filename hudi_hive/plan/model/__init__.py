"""Inputs and outputs of planning: queries, options of reads, scan plans and partitions."""

from __future__ import annotations

from hudi_hive.plan.model.file_schemas import with_commit_versions
from hudi_hive.plan.model.options import HollowCommitPolicy, IncrementalFormat, MergeType, QueryType, ReadOptions
from hudi_hive.plan.model.partition_folders import folder_filter
from hudi_hive.plan.model.partitions import prunable_fields, prune_partitions
from hudi_hive.plan.model.query import EARLIEST, Moment, Query
from hudi_hive.plan.model.scan_plan import (
    CHANGE_SCHEMA,
    PLAN_SCHEMA,
    LogMerge,
    MergeMemory,
    PlanStep,
    ScanPlan,
    base_files_as_slices,
    has_logs,
    with_paths,
)

__all__ = [
    "CHANGE_SCHEMA",
    "EARLIEST",
    "PLAN_SCHEMA",
    "HollowCommitPolicy",
    "IncrementalFormat",
    "LogMerge",
    "MergeMemory",
    "MergeType",
    "Moment",
    "PlanStep",
    "Query",
    "QueryType",
    "ReadOptions",
    "ScanPlan",
    "base_files_as_slices",
    "folder_filter",
    "has_logs",
    "prunable_fields",
    "prune_partitions",
    "with_commit_versions",
    "with_paths",
]
