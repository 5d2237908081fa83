"""Leaves out what a filter rules out of a plan that was made without it, and applies it to no row."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from hudi_hive.plan.core.planner import PlanBuilder
from hudi_hive.plan.model import QueryType, ScanPlan
from hudi_hive.predicate import RowFilter
from hudi_hive.table import MetaClient


def slices_left(client: MetaClient, plan: ScanPlan, skip_filter: RowFilter) -> pa.Table:
    """The slices of a plan that indexes of the metadata table leave under a filter, parts of which may be unknown.

    Args:
        client: the table as it was planned with.
        plan: a plan without a filter, not one of change data.
        skip_filter: bound to the plan's schema.
    """
    builder = PlanBuilder(client, plan.query, None)
    builder.schema, builder.row_filter, builder.evolved_schema = plan.schema, skip_filter, plan.evolved_schema
    return builder.skip_files(plan.slices, in_part=plan.query.query_type is QueryType.INCREMENTAL)


def with_skip_filter(client: MetaClient, plan: ScanPlan, skip_filter: RowFilter) -> ScanPlan:
    """A plan whose reading leaves out row groups, and records of other keys, by a filter; arguments as above."""
    builder = PlanBuilder(client, plan.query, None)
    builder.schema, builder.row_filter, builder.evolved_schema = plan.schema, skip_filter, plan.evolved_schema
    merge = None if plan.merge is None else replace(plan.merge, keys=builder.required_keys())
    return replace(plan, skip_filter=skip_filter, merge=merge)
