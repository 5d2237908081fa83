"""Dynamic filters, which become narrower while a query runs, applied to partitions, plans and splits."""

from __future__ import annotations

import threading
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.plan.core import Filter, both
from hudi_hive.plan.model import ScanPlan
from hudi_hive.predicate import RowFilter, parse_filter


class DynamicFilter:
    """A filter that becomes narrower while splits are loaded: what a join learns from its other side (RFC-40)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: tuple[Filter, ...] = ()
        self._complete = False

    def narrow(self, row_filter: Filter) -> None:
        """Add a filter that all later rows must also pass."""
        if row_filter is not None:
            with self._lock:
                self._parts = (*self._parts, row_filter)

    def complete(self) -> None:
        """Declare that the filter will not become narrower."""
        self._complete = True

    @property
    def parts(self) -> tuple[Filter, ...]:
        """The filters so far, all of which rows must pass."""
        return self._parts


class BatchPlanner(Protocol):
    """The interface of a planner that loaders use; ``PartitionPlanner`` implements it."""

    def plan(self, partitions: list[str]) -> ScanPlan:
        """The plan for some partitions; called from several threads."""

    def prune(self, partitions: list[str], row_filter: Filter) -> list[str]:
        """The partitions that may hold rows passing another filter."""

    def skip(self, plan: ScanPlan, row_filter: RowFilter) -> ScanPlan:
        """The plan without slices in which no row can pass another filter."""

    def template(self) -> ScanPlan:
        """The plan without slices."""


class Narrowing:
    """A dynamic filter bound to a planner's table; safe to use from several threads."""

    def __init__(self, planner: BatchPlanner, dynamic: DynamicFilter | None) -> None:
        self._planner = planner
        self._dynamic = dynamic
        self._bound: tuple[int, RowFilter | None] = (0, None)

    @property
    def version(self) -> int:
        """The number of times that the filter was narrowed."""
        return 0 if self._dynamic is None else len(self._dynamic.parts)

    def row_filter(self) -> RowFilter | None:
        """The current filter; None for all rows."""
        parts = () if self._dynamic is None else self._dynamic.parts
        count, bound = self._bound
        if count != len(parts):
            schema = self._planner.template().schema
            for part in parts[count:]:
                bound = both(bound, parse_filter(part, schema))
            self._bound = len(parts), bound
        return bound

    def partitions(self, paths: list[str]) -> list[str]:
        """Drop the partitions that the filter excludes by now."""
        return self._planner.prune(paths, self.row_filter()) if self.version else paths

    def plan(self, plan: ScanPlan) -> ScanPlan:
        """Drop the slices of a plan that the filter excludes by now."""
        row_filter = self.row_filter()
        return plan if row_filter is None or not plan.slices.num_rows else self._planner.skip(plan, row_filter)

    def splits(self, table: pa.Table) -> pa.Table:
        """Drop the splits that the filter excludes by now."""
        partitions = pc.unique(table.column("partition"))
        remaining = self.partitions(partitions.to_pylist())
        if len(remaining) == len(partitions):
            return table
        return table.filter(pc.is_in(table.column("partition"), value_set=pa.array(remaining, pa.string())))
