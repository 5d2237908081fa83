"""One query planned partition by partition: in come batches of partition paths, out comes a plan for each batch.

What is the same for all of them (timeline, schema, filter, the metadata table's files) is read once, so that all plans
are of one moment and their slices together are those of :func:`~hudi_hive.plan.plan_scan`.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.plan.partitions import prune_partitions
from hudi_hive.plan.planner import Filter, PlanBuilder, plan_scan, refuse_bootstrap
from hudi_hive.plan.query import Query
from hudi_hive.plan.scan_plan import PLAN_SCHEMA, ScanPlan
from hudi_hive.predicate import RowFilter, nodes, parse_filter
from hudi_hive.table import MetaClient


class PartitionPlanner:
    """Plans a query for some partitions at a time; safe to use from several threads.

    A query of a range of commits is planned as a whole when first needed, and handed out by partition.

    Args:
        client: the table, as of the moment its timeline was read.
        query: the question.
        row_filter: as for :func:`~hudi_hive.plan.plan_scan`.

    Raises:
        HudiHiveError: what :func:`~hudi_hive.plan.plan_scan` raises before it lists files.
    """

    def __init__(self, client: MetaClient, query: Query | None = None, row_filter: Filter = None) -> None:
        query = query or Query()
        refuse_bootstrap(client)
        self._lock = threading.RLock()
        self._builder: PlanBuilder | None = None
        self._whole: ScanPlan | None = None
        self._partitions: list[str] | None = None
        self._files: pa.Table | None = None
        self._asked = 0
        if query.query_type.has_range:
            self._whole = plan_scan(client, query, row_filter)
            self._template = self._whole
        else:
            builder = PlanBuilder(client, query, row_filter)
            builder.begin_snapshot()
            builder.slices = PLAN_SCHEMA.empty_table()
            self._builder = builder
            self._template = builder.finish({}, with_merge=builder.merges_logs)
        self._client = client if self._builder is None else self._builder.client

    @property
    def client(self) -> MetaClient:
        """The table."""
        return self._client

    @property
    def row_filter(self) -> RowFilter | None:
        """The filter, bound to the schema of :meth:`template`; None when all rows are asked for."""
        return self._template.row_filter

    def template(self) -> ScanPlan:
        """The plan without slices: schema, filter and how log files are merged, to read any of the splits with."""
        if self._whole is not None:
            changes = None if self._whole.changes is None else self._whole.changes.slice(0, 0)
            return replace(self._whole, slices=self._whole.slices.slice(0, 0), changes=changes)
        return self._template

    def partitions(self) -> list[str]:
        """Partitions that the query looks into after pruning, sorted; nothing is listed but to find them."""
        with self._lock:
            if self._partitions is None:
                if self._whole is not None:
                    self._partitions = sorted(pc.unique(self._whole.slices.column("partition")).to_pylist())
                else:
                    assert self._builder is not None
                    builder = self._copy()
                    if self._client.timeline.write_instants():
                        self._partitions = builder.snapshot_partitions()
                    else:
                        self._partitions = []
            return list(self._partitions)

    def prune(self, partitions: Sequence[str], row_filter: Filter) -> list[str]:
        """The partitions, in their order, that may hold rows passing another filter, told from their paths alone."""
        bound = parse_filter(row_filter, self._template.schema)
        return prune_partitions(self._client, partitions, None if bound.is_trivial else bound)

    def plan(self, partitions: Sequence[str]) -> ScanPlan:
        """The plan for some partitions, pruned by the filter like any plan.

        Args:
            partitions: paths relative to the base path; what names no partition of the table gives no slices.

        Raises:
            HudiHiveError: see :func:`~hudi_hive.plan.plan_scan`.
        """
        if self._whole is not None:
            return self._part(self._whole, partitions)
        builder = self._copy()
        with self._client.counters.measure() as cost:
            builder.given_partitions = partitions
            builder.slices = PLAN_SCHEMA.empty_table()
            if self._client.timeline.write_instants():
                kept = builder.snapshot_partitions()
                if kept:
                    builder.slices_of(kept)
        return builder.finish(cost)

    def _copy(self) -> PlanBuilder:
        assert self._builder is not None
        builder = copy.copy(self._builder)
        builder.steps = []
        return builder

    @staticmethod
    def _part(plan: ScanPlan, partitions: Sequence[str]) -> ScanPlan:
        """The part of a plan that lies in some partitions."""
        mask = pc.is_in(plan.slices.column("partition"), value_set=pa.array(list(partitions), pa.string()))
        slices = plan.slices.filter(mask)
        return replace(
            plan,
            slices=slices,
            changes=None if plan.changes is None else plan.changes.filter(mask),
            partitions_planned=pc.count_distinct(slices.column("partition")).as_py(),
        )


def both(first: RowFilter | None, second: RowFilter | None) -> RowFilter | None:
    """The conjunction of two filters that are bound to one schema."""
    if first is None or second is None:
        return second if first is None else first
    return RowFilter(nodes.conjunction([first.root, second.root]), first.schema)
