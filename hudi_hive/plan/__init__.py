"""Planning: in come a table's meta client, a query and a row filter, out comes a :class:`ScanPlan`: the files to read.

Every face of the package (input format, Spark, the Python API, the command line) plans here; nothing here reads rows.
"""

from __future__ import annotations

from hudi_hive.plan.core.partition_planner import PartitionPlanner
from hudi_hive.plan.core.planner import narrowed_plan, plan_scan
from hudi_hive.plan.model.options import HollowCommitPolicy, QueryType, ReadOptions
from hudi_hive.plan.model.query import EARLIEST, Query
from hudi_hive.plan.model.scan_plan import PLAN_SCHEMA, PlanStep, ScanPlan
from hudi_hive.plan.splits.split_loader import DynamicFilter, LoadProgress, SplitLoader
from hudi_hive.plan.splits.splits import SPLIT_SCHEMA, HudiSplit, SplitOptions, make_splits

__all__ = [
    "EARLIEST",
    "PLAN_SCHEMA",
    "SPLIT_SCHEMA",
    "DynamicFilter",
    "HollowCommitPolicy",
    "HudiSplit",
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
