"""Plans a query partition by partition: a plan for each batch of partition paths.

What is the same for all of them (timeline, schema, filter, the metadata table's files) is read once, so that all plans
are of one moment and their slices together are those of :func:`~hudi_hive.plan.plan_scan`.
"""

from __future__ import annotations

import copy
import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from hudi_hive.plan.core.planner import Filter, PlanBuilder, plan_scan
from hudi_hive.plan.model import PLAN_SCHEMA, Query, ScanPlan, folder_filter, prune_partitions
from hudi_hive.predicate import RowFilter, conjunction, parse_filter
from hudi_hive.table import MetaClient
from hudi_hive.table.view import in_batches

_FILES_AT_ONCE: Final = 500_000
"""About how many files are planned at a time where the files of all partitions cost no more than those of some."""


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
        self._lock = threading.RLock()
        self._builder: PlanBuilder | None = None
        self._partitions: list[str] | None = None
        self._whole: _Whole | None = None
        self._began = self._at_once = self._were_listed = False
        self._runs: OrderedDict[int, _Whole] = OrderedDict()
        self._runs_planned: set[int] = set()
        self._run_size = 0
        if query.query_type.has_range:
            plan = plan_scan(client, query, row_filter)
            self._whole = _Whole(plan)
            self._template = self._whole.part([])
            self._client = client
        else:
            builder = PlanBuilder(client, query, row_filter)
            builder.begin_snapshot()
            builder.slices = PLAN_SCHEMA.empty_table()
            self._builder = builder
            self._template = builder.finish({}, with_merge=builder.merges_logs)
            self._client = builder.client

    @property
    def client(self) -> MetaClient:
        """The table."""
        return self._client

    @property
    def row_filter(self) -> RowFilter | None:
        """The filter, bound to the schema of :meth:`template`; None without a filter."""
        return self._template.row_filter

    def template(self) -> ScanPlan:
        """The plan without slices: schema, filter and how log files are merged, to read any of the splits with."""
        return self._template

    def partitions(self) -> list[str]:
        """The sorted partitions of the query after pruning.

        Raises:
            HudiHiveError: they cannot be listed.
        """
        with self._lock:
            if self._partitions is None:
                if self._builder is None:
                    assert self._whole is not None
                    self._partitions = self._whole.partitions
                else:
                    has_writes = bool(self._client.timeline.write_instants())
                    self._partitions = self._fresh().snapshot_partitions() if has_writes else []
                    self._were_listed = not self._client.lister.is_authoritative
            return list(self._partitions)

    def batches(self) -> Iterator[list[str]]:
        """Batches of :meth:`partitions`, the first of them small.

        Where folders are walked to find partitions, they come while the walk goes on.

        Raises:
            HudiHiveError: they cannot be listed.
        """
        client = self._client
        if self._builder is None or self._builder.query.as_of is not None or not client.config.is_partitioned:
            yield from in_batches(self.partitions())
        elif client.timeline.write_instants():
            for paths in client.lister.partition_batches(folder_filter(client, self.row_filter)):
                partitions_left = prune_partitions(client, paths, self.row_filter)
                if partitions_left:
                    yield partitions_left

    def prune(self, partitions: Sequence[str], row_filter: Filter) -> list[str]:
        """The partitions, in their order, that may hold rows passing another filter, judged by their paths.

        Raises:
            PredicateError, UnknownColumnError: the filter cannot be read or does not fit the schema.
        """
        if self._template.changes is not None:
            return list(partitions)  # the filter is about changes, not about the columns of paths
        bound = parse_filter(row_filter, self._template.schema)
        return prune_partitions(self._client, partitions, None if bound.is_trivial else bound)

    def plan(self, partitions: Sequence[str]) -> ScanPlan:
        """Plan some partitions, pruned by the filter as in any plan.

        A partition that the query's past needs and that is gone is refused, named or not.

        The first batch is planned by itself. Where files of all partitions cost no more than those of some (the
        metadata table, folders that were walked to find the partitions), the second one plans all that are left, so
        that the metadata table is read at most twice. Of very many files only runs of neighbouring partitions are
        planned at a time, two of which are held: memory does not grow with the table while batches come in order.

        Args:
            partitions: paths relative to the base path; what names no partition of the table gives no slices.

        Raises:
            HudiHiveError: see :func:`~hudi_hive.plan.plan_scan`.
        """
        with self._lock:
            if not self._began and self._builder is not None:
                self._builder.refuse_lost_partitions()
                plan = self._plan_now(partitions)
                # Asked after: a metadata table may have turned out not to be readable.
                self._at_once = self._were_listed or self._client.lister.lists_at_once
                self._began = True
                self._run_size = max(1, _FILES_AT_ONCE * len(partitions) // max(1, plan.slices.num_rows))
                return plan
            wholes = self._wholes(partitions) if self._at_once else [] if self._whole is None else [self._whole]
        if not wholes:
            return self._plan_now(partitions)
        parts = [whole.part(partitions) for whole in wholes]
        if len(parts) == 1:
            return parts[0]
        slices = pa.concat_tables([part.slices for part in parts]).combine_chunks()
        planned = sum(part.partitions_planned for part in parts)
        return replace(parts[0], slices=slices, partitions_planned=planned)

    def _wholes(self, partitions: Sequence[str]) -> list[_Whole]:
        """The plans of many partitions that some partitions are in: of runs of neighbours, or of the whole query."""
        if self._whole is None:
            if self._partitions is None:
                self.partitions()
            assert self._partitions is not None
            numbers = self._numbers(partitions) if len(self._partitions) > 2 * self._run_size else [0, 0, 0]
            # Batches that come in no order would have the same runs planned again and again.
            if len(numbers) <= 2 and not any(n in self._runs_planned and n not in self._runs for n in numbers):
                return [self._run(number) for number in numbers]
            self._whole = _Whole(self._plan_now(self._partitions, pruned=True))
            self._runs.clear()
        return [self._whole]

    def _numbers(self, partitions: Sequence[str]) -> list[int]:
        """The sorted numbers of the runs that partitions are in; that of the first one for none of the query."""
        everything = self._partitions
        assert everything is not None
        places = [(bisect_left(everything, path), path) for path in partitions]
        there = {at // self._run_size for at, path in places if at < len(everything) and everything[at] == path}
        return sorted(there) or [next(reversed(self._runs), 0)]

    def _run(self, number: int) -> _Whole:
        """The plan of a run of partitions; the two that were asked for last are held."""
        run = self._runs.pop(number, None)
        if run is None:
            assert self._partitions is not None
            begin = number * self._run_size
            run = _Whole(self._plan_now(self._partitions[begin : begin + self._run_size], pruned=True))
            self._runs_planned.add(number)
        self._runs[number] = run
        while len(self._runs) > 2:
            self._runs.popitem(last=False)
        return run

    def skip(self, plan: ScanPlan, row_filter: RowFilter) -> ScanPlan:
        """A plan of :meth:`plan` without the slices in which no row can pass another filter.

        The metadata table's indexes say which; they are read once for one filter where one plan was made for many
        batches.

        Args:
            plan: the plan.
            row_filter: bound to the schema of :meth:`template`.
        """
        if self._builder is None:
            return plan
        partitions = plan.slices.column("partition").unique().to_pylist()
        with self._lock:
            whole = self._whole
            if whole is None and self._runs and len(numbers := self._numbers(partitions)) == 1:
                whole = self._runs.get(numbers[0])
            if whole is None:
                return self._left(plan, row_filter)
            if whole.skipped is None or whole.skipped[0] is not row_filter:
                whole.skipped = row_filter, _Whole(self._left(whole.plan, row_filter))
            left = whole.skipped[1]
        return left.part(partitions)

    def _left(self, plan: ScanPlan, row_filter: RowFilter) -> ScanPlan:
        builder = self._fresh()
        builder.row_filter = row_filter
        return replace(plan, slices=builder.skip_files(plan.slices))

    def _plan_now(self, partitions: Sequence[str], *, pruned: bool = False) -> ScanPlan:
        """The plan for some partitions, from a listing of theirs."""
        builder = self._fresh()
        with self._client.counters.measure() as cost:
            builder.requested_partitions = partitions
            if self._client.timeline.write_instants():
                partitions_left = list(partitions) if pruned else builder.snapshot_partitions()
                if partitions_left:
                    builder.slices_of(partitions_left)
        return builder.finish(cost)

    def _fresh(self) -> PlanBuilder:
        assert self._builder is not None
        builder = copy.copy(self._builder)
        builder.steps = []
        return builder


class _Whole:
    """A plan of many partitions, to be handed out in parts."""

    def __init__(self, plan: ScanPlan) -> None:
        codes = plan.slices.column("partition").combine_chunks().dictionary_encode()
        paths = codes.dictionary.to_numpy(zero_copy_only=False)
        by_path = np.argsort(paths, kind="stable")
        rank = np.empty_like(by_path)
        rank[by_path] = np.arange(len(by_path))
        ranks = rank[codes.indices.to_numpy()]
        if (ranks[1:] < ranks[:-1]).any():
            order = pa.array(np.argsort(ranks, kind="stable"))
            changes = None if plan.changes is None else plan.changes.take(order)
            plan = replace(plan, slices=plan.slices.take(order), changes=changes)
        self.plan = plan
        self.skipped: tuple[RowFilter, _Whole] | None = None
        """A filter that was asked for, and what it leaves."""
        self.partitions: list[str] = paths[by_path].tolist()
        counts = np.bincount(ranks, minlength=len(by_path))
        starts = (np.cumsum(counts) - counts).tolist()
        self._rows = dict(zip(self.partitions, zip(starts, counts.tolist(), strict=True), strict=True))

    def part(self, partitions: Sequence[str]) -> ScanPlan:
        """The part of the plan that lies in some partitions."""
        plan = self.plan
        ranges = [self._rows[path] for path in sorted(set(partitions)) if path in self._rows]

        def rows(table: pa.Table) -> pa.Table:
            return pa.concat_tables([table.slice(0, 0), *(table.slice(start, count) for start, count in ranges)])

        return replace(
            plan,
            slices=rows(plan.slices).combine_chunks(),
            changes=None if plan.changes is None else rows(plan.changes).combine_chunks(),
            partitions_total=len(partitions),
            partitions_planned=len(ranges),
        )


def both(first: RowFilter | None, second: RowFilter | None) -> RowFilter | None:
    """The conjunction of two filters that are bound to one schema."""
    if first is None or second is None:
        return second if first is None else first
    return RowFilter(conjunction([first.root, second.root]), first.schema)
