"""Planning: makes a :class:`ScanPlan`, the files to read, of a table, a query and a row filter.

Every face of the package (input format, Spark, the Python API, the command line) plans here; nothing here reads rows.
"""

from __future__ import annotations

from hudi_hive.plan.core import PartitionPlanner, narrowed_plan, plan_scan
from hudi_hive.plan.model import (
    EARLIEST,
    PLAN_SCHEMA,
    HollowCommitPolicy,
    PlanStep,
    Query,
    QueryType,
    ReadOptions,
    ScanPlan,
)
from hudi_hive.plan.splits import (
    SPLIT_SCHEMA,
    DynamicFilter,
    HudiSplit,
    LoadLimits,
    LoadProgress,
    SplitLoader,
    SplitOptions,
    make_splits,
)

__all__ = [
    "EARLIEST",
    "PLAN_SCHEMA",
    "SPLIT_SCHEMA",
    "DynamicFilter",
    "HollowCommitPolicy",
    "HudiSplit",
    "LoadLimits",
    "LoadProgress",
    "PartitionPlanner",
    "PlanStep",
    "Query",
    "QueryType",
    "ReadOptions",
    "ScanPlan",
    "SplitLoader",
    "SplitOptions",
    "make_splits",
    "narrowed_plan",
    "plan_scan",
]
