"""Makes splits in background threads while the first of them are read (RFC-40, "background split loader").

Three stages with bounded queues between them: batches of partitions come in, each batch is planned (its folders listed,
or looked up in the metadata table), and planned slices become splits. A stage waits when the next one lags behind, and
all of them wait when too many splits were not taken.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from time import monotonic
from types import TracebackType
from typing import Self, TypeVar

import numpy as np
import pyarrow as pa

from hudi_hive.errors import InvalidOptionError, LoadCancelledError
from hudi_hive.plan.core import PartitionPlanner, both
from hudi_hive.plan.model import ScanPlan
from hudi_hive.plan.splits.cut_points import read_row_groups
from hudi_hive.plan.splits.dynamic_filter import BatchPlanner, DynamicFilter, Narrowing
from hudi_hive.plan.splits.splits import (
    CHANGE_FIELD,
    FULL_WEIGHT,
    SPLIT_SCHEMA,
    HudiSplit,
    SplitOptions,
    files_to_cut,
    make_splits,
    to_splits,
    with_hosts,
)
from hudi_hive.predicate import RowFilter
from hudi_hive.storage import Storage

__all__ = ["BatchPlanner", "DynamicFilter", "LoadProgress", "SplitLoader"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """Progress of a loader.

    Attributes:
        partitions_received: partitions that came in.
        partitions_pruned: those that the dynamic filter ruled out before they were listed.
        partitions_listed: those whose slices are known.
        splits_made, splits_pruned, splits_taken: splits made, ruled out by the dynamic filter after, handed out.
        weight_made, weight_taken: the same as weight.
        all_partitions_received: no more partitions come in.
        finished: all splits were made and taken.
    """

    partitions_received: int
    partitions_pruned: int
    partitions_listed: int
    splits_made: int
    splits_pruned: int
    splits_taken: int
    weight_made: int
    weight_taken: int
    all_partitions_received: bool
    finished: bool


@dataclass(frozen=True, slots=True)
class LoadLimits:
    """Limits of the threads that make splits.

    Attributes:
        listing_threads: threads that plan batches of partitions.
        split_threads: threads that make splits.
        max_outstanding_splits: splits that may wait to be taken.
        max_batches: batches of partitions that may wait to be planned, and plans that may wait to be cut.
    """

    listing_threads: int = 4
    split_threads: int = 2
    max_outstanding_splits: int = 1000
    max_batches: int = 8


class SplitLoader:
    """Makes the splits of a query in threads of its own, which start with the loader; a context manager.

    Args:
        partitions: batches of partition paths, taken in a thread of its own (a generator may ask a metastore); or the
            planner, whose own partitions are then looked into.
        planner: plans batches; not needed when ``partitions`` is one.
        options: how slices are cut.
        storage: where footers of large files are read, to cut them; without it the planner's own, if it has one.
        limits: numbers of threads, and of what may wait.
        dynamic_filter: rules out partitions that are not listed yet (those that are by the metadata table's indexes
            of their files, too), and splits that were not taken yet.

    Raises:
        InvalidOptionError: numbers below 1, or no planner.
    """

    def __init__(
        self,
        partitions: Iterable[list[str]] | PartitionPlanner,
        planner: BatchPlanner | None = None,
        options: SplitOptions | None = None,
        *,
        storage: Storage | None = None,
        limits: LoadLimits | None = None,
        dynamic_filter: DynamicFilter | None = None,
    ) -> None:
        limits = limits or LoadLimits()
        if min(astuple(limits)) < 1:
            raise InvalidOptionError("threads, max_batches and max_outstanding_splits must be at least 1")
        source: Iterable[list[str]]
        if isinstance(partitions, PartitionPlanner):
            planner = planner or partitions
            source = partitions.batches()
        else:
            source = partitions
        if planner is None:
            raise InvalidOptionError("a split loader needs a planner")
        if storage is None and isinstance(planner, PartitionPlanner):
            storage = planner.client.storage
        self._planner = planner
        self._state = _State(planner, options or SplitOptions(), storage, limits, dynamic_filter)
        self._finalizer = weakref.finalize(self, self._state.cancel)
        self._threads = self._state.start(source, limits.listing_threads, limits.split_threads)

    def next_batch(self, quota: int = FULL_WEIGHT, timeout: float | None = None) -> pa.Table:
        """Take splits with a total weight of up to ``quota``, at least one; waits only if there is none.

        Args:
            quota: weight.
            timeout: seconds to wait; without it until a split is made.

        Returns:
            A table of :data:`~hudi_hive.plan.splits.SPLIT_SCHEMA`, of change data with one column more; an empty one
            when the loader has finished, or the time is up (:attr:`finished` tells).

        Raises:
            HudiHiveError: the first error of any stage, whatever its class, with its cause.
            LoadCancelledError: it was cancelled before all splits were taken.
        """
        return self._state.take(quota, timeout)

    @property
    def finished(self) -> bool:
        """Whether all splits were made and taken.

        After an error or a cancel it stays false, so that a loop until then meets the error in :meth:`next_batch`.
        """
        return self._state.finished

    def progress(self) -> LoadProgress:
        """The current progress."""
        return self._state.progress()

    def template(self) -> ScanPlan:
        """The plan without slices that all splits are read with."""
        return self._planner.template()

    @property
    def row_filter(self) -> RowFilter | None:
        """The current row filter: that of the plan and the dynamic one; None for all rows."""
        return both(self._planner.template().row_filter, self._state.dynamic.row_filter())

    def cancel(self) -> None:
        """Stop making splits and drop those that were not taken, without waiting for the threads."""
        self._state.cancel()

    def close(self) -> None:
        """Cancel the loader and wait until its threads have ended."""
        self.cancel()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[HudiSplit]:
        """The splits one by one; an iteration that is given up leaves the rest to be taken."""
        template = self._planner.template()
        while True:
            table = self.next_batch()
            if not table.num_rows:
                return
            yield from to_splits(table, replace(template, row_filter=self.row_filter))


class _State:
    """What the threads share. They hold no loader, so that one that nobody holds any more is cancelled."""

    def __init__(
        self,
        planner: BatchPlanner,
        options: SplitOptions,
        storage: Storage | None,
        limits: LoadLimits,
        dynamic: DynamicFilter | None,
    ) -> None:
        self._planner = planner
        self._options = options
        self._schema = SPLIT_SCHEMA if planner.template().changes is None else SPLIT_SCHEMA.append(CHANGE_FIELD)
        self._storage = storage
        self.dynamic = Narrowing(planner, dynamic)
        self._changed = threading.Condition()  # re-entrant: cancel may be called by the garbage collector
        self._batches: deque[list[str]] = deque()
        self._plans: deque[ScanPlan] = deque()
        self._ready: deque[_Pile] = deque()
        self._max_batches = limits.max_batches
        self._max_splits = limits.max_outstanding_splits
        self._low_mark = limits.max_outstanding_splits // 2
        self._outstanding = 0
        self._sources = self._listers = self._splitters = 0
        self._received_all = self._stopped = self._cut_short = False
        self._error: BaseException | None = None
        self._counts = dict.fromkeys(
            ("found", "pruned", "listed", "made", "dropped", "taken", "weight_made", "weight_taken"), 0
        )

    # -- threads -----------------------------------------------------------------------------------------------------

    def start(self, source: Iterable[list[str]], listing_threads: int, split_threads: int) -> list[threading.Thread]:
        """Start all threads."""
        self._sources, self._listers, self._splitters = 1, listing_threads, split_threads
        jobs: list[tuple[str, Callable[[], None], str]] = [("partitions", lambda: self._find(source), "_sources")]
        jobs += [(f"list-{i}", self._list, "_listers") for i in range(listing_threads)]
        jobs += [(f"split-{i}", self._split, "_splitters") for i in range(split_threads)]
        threads = []
        for name, work, count in jobs:
            thread = threading.Thread(
                target=self._run, args=(work, count), name=f"hudi-hive-splits-{name}", daemon=True
            )
            threads.append(thread)
            thread.start()
        return threads

    def _run(self, work: Callable[[], None], count: str) -> None:
        try:
            work()
        except BaseException as error:  # handed to the consumer, whatever it is
            self._fail(error)
        finally:
            with self._changed:
                setattr(self, count, getattr(self, count) - 1)
                self._changed.notify_all()

    def _find(self, source: Iterable[list[str]]) -> None:
        """First stage: batches of partitions."""
        batches = iter(source)
        try:
            while not self._stopped:
                batch = next(batches, None)
                if batch is None:
                    self._received_all = True
                    return
                with self._changed:
                    self._changed.wait_for(lambda: self._stopped or len(self._batches) < self._max_batches)
                    if self._stopped:
                        return
                    self._counts["found"] += len(batch)
                    self._batches.append(list(batch))
                    self._changed.notify_all()
        finally:
            close = getattr(batches, "close", None)
            if close is not None:
                close()

    def _list(self) -> None:
        """Second stage: plans."""
        while (batch := self._next(self._batches, "_sources")) is not None:
            partitions = self.dynamic.partitions(batch)
            plan = self.dynamic.plan(self._planner.plan(partitions)) if partitions else None
            with self._changed:
                self._counts["pruned"] += len(batch) - len(partitions)
                self._counts["listed"] += len(partitions)
                if plan is None or not plan.slices.num_rows:
                    continue
                self._changed.wait_for(lambda: self._stopped or len(self._plans) < self._max_batches)
                if self._stopped:
                    return
                self._plans.append(plan)
                self._changed.notify_all()

    def _split(self) -> None:
        """Third stage: splits."""
        while (plan := self._next(self._plans, "_listers")) is not None:
            groups = None
            if self._storage is not None and plan.changes is None:
                large = files_to_cut(plan.slices, self._options)
                groups = read_row_groups(self._storage, large) if large else None
            changes = {} if plan.changes is None else {"changes": plan.changes}
            splits = make_splits(plan.slices, self._options, groups, **changes)
            if self._storage is not None:
                splits = with_hosts(splits, self._storage)
            while splits.num_rows:
                with self._changed:
                    self._changed.wait_for(lambda: self._stopped or self._outstanding <= self._low_mark)
                    if self._stopped:
                        return
                    room = self._max_splits - self._outstanding
                    self._offer(splits.slice(0, room))
                splits = splits.slice(room)

    def _offer(self, splits: pa.Table) -> None:
        pile = _Pile(splits)
        self._outstanding += splits.num_rows
        self._counts["made"] += splits.num_rows
        self._counts["weight_made"] += pile.weight
        self._ready.append(pile)
        self._changed.notify_all()

    def _next(self, queue: deque[_T], makers: str) -> _T | None:
        """The next thing of a queue; None when its makers have ended and it is empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or queue or not getattr(self, makers))
            if self._stopped or not queue:
                return None
            item = queue.popleft()
            self._changed.notify_all()
            return item

    def _fail(self, error: BaseException) -> None:
        """Keep the first error and stop."""
        with self._changed:
            if self._error is None and not self._stopped:
                self._error = error
                error.add_note("while splits were loaded in the background")
            self._stop()

    def cancel(self) -> None:
        """Stop; called by the garbage collector, too."""
        with self._changed:
            self._cut_short = self._cut_short or not (self._ended and self._error is None)
            self._stop()

    def _stop(self) -> None:
        self._stopped = True
        self._batches.clear()
        self._plans.clear()
        self._ready.clear()
        self._outstanding = 0
        self._changed.notify_all()

    # -- the consumer --------------------------------------------------------------------------------------------------

    def take(self, quota: int, timeout: float | None) -> pa.Table:
        """Splits for the consumer."""
        if quota < 1:
            raise InvalidOptionError(f"quota {quota} is no weight")
        end = None if timeout is None else monotonic() + timeout
        with self._changed:
            while True:
                left = None if end is None else max(0.0, end - monotonic())
                self._changed.wait_for(lambda: self._ready or self._ended, left)
                if self._error is not None:
                    raise self._error
                if self._cut_short:
                    raise LoadCancelledError(
                        "the loading of splits was cancelled", path=self._planner.template().base_path
                    )
                if not self._ready:
                    return self._schema.empty_table()
                try:
                    self._narrow()
                except BaseException as error:
                    self._fail(error)
                    raise
                if self._ready:
                    return self._packed(quota)

    def _packed(self, quota: int) -> pa.Table:
        """Splits from the front of the queue up to a weight."""
        taken: list[pa.Table] = []
        left = quota
        while self._ready:
            splits, weight = self._ready[0].take(left, at_least_one=not taken)
            if splits.num_rows:
                taken.append(splits)
                left -= weight
            if self._ready[0].num_rows:
                break
            self._ready.popleft()
        result = taken[0] if len(taken) == 1 else pa.concat_tables(taken)
        self._counts["taken"] += result.num_rows
        self._counts["weight_taken"] += quota - left
        self._lower(result.num_rows)
        return result

    def _lower(self, count: int) -> None:
        """So many splits do not wait any more. Makers are woken when there is room for many, not for every one."""
        before, self._outstanding = self._outstanding, self._outstanding - count
        if self._outstanding <= self._low_mark < before or not self._ready:
            self._changed.notify_all()

    def _narrow(self) -> None:
        """Drop splits that wait and that the dynamic filter rules out by now."""
        version = self.dynamic.version
        for pile in self._ready:
            if pile.version != version:
                pile.keep(self.dynamic.splits)
                pile.version = version
        self._ready = deque(pile for pile in self._ready if pile.num_rows)
        dropped = self._outstanding - sum(pile.num_rows for pile in self._ready)
        if dropped:
            self._counts["dropped"] += dropped
            self._lower(dropped)

    @property
    def _ended(self) -> bool:
        """Nothing will be made any more."""
        return self._stopped or not (self._splitters or self._ready)

    @property
    def finished(self) -> bool:
        """Nothing is left to make or take."""
        with self._changed:
            return not (self._splitters or self._ready or self._cut_short or self._error is not None)

    def progress(self) -> LoadProgress:
        """Counts of now."""
        with self._changed:
            counts = self._counts
            return LoadProgress(
                partitions_received=counts["found"],
                partitions_pruned=counts["pruned"],
                partitions_listed=counts["listed"],
                splits_made=counts["made"],
                splits_pruned=counts["dropped"],
                splits_taken=counts["taken"],
                weight_made=counts["weight_made"],
                weight_taken=counts["weight_taken"],
                all_partitions_received=self._received_all,
                finished=self.finished,
            )


class _Pile:
    """Splits that wait to be taken, in order, with their weights summed up."""

    def __init__(self, splits: pa.Table) -> None:
        self._splits = splits
        self._sums = np.cumsum(splits.column("weight").to_numpy(), dtype=np.int64)
        self._taken = 0
        self.version = 0
        """Of the dynamic filter that they passed."""

    @property
    def num_rows(self) -> int:
        return int(self._splits.num_rows - self._taken)

    @property
    def weight(self) -> int:
        return int(self._sums[-1]) - self._weight_before(self._taken) if self.num_rows else 0

    def take(self, quota: int, *, at_least_one: bool) -> tuple[pa.Table, int]:
        """Splits from the front up to a weight, and their weight."""
        start, before = self._taken, self._weight_before(self._taken)
        end = int(np.searchsorted(self._sums, before + quota, side="right"))
        end = max(end, start + 1) if at_least_one else end
        self._taken = end
        return self._splits.slice(start, end - start), self._weight_before(end) - before

    def keep(self, test: Callable[[pa.Table], pa.Table]) -> None:
        """Leave out what a test leaves out."""
        left = self._splits.slice(self._taken)
        kept = test(left)
        if kept.num_rows != left.num_rows:
            self.__init__(kept)  # type: ignore[misc]

    def _weight_before(self, row: int) -> int:
        return int(self._sums[row - 1]) if row else 0
