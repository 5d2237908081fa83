"""Planning: makes a :class:`ScanPlan`, the files to read, of a table, a query and a row filter.

Every face of the package (input format, Spark, the Python API, the command line) plans here; nothing here reads rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.lazy_names import lazy_names
from hudi_hive.plan.core import narrowed_plan, plan_scan
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

if TYPE_CHECKING:
    from hudi_hive.plan.core import PartitionPlanner
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

_HOMES = {
    "DynamicFilter": "splits",
    "HudiSplit": "splits",
    "LoadLimits": "splits",
    "LoadProgress": "splits",
    "PartitionPlanner": "core",
    "SPLIT_SCHEMA": "splits",
    "SplitLoader": "splits",
    "SplitOptions": "splits",
    "make_splits": "splits",
}

# Loaded on first use: most readers make no splits.
__getattr__ = lazy_names(__name__, _HOMES)
