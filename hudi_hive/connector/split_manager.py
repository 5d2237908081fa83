"""Makes the splits of a table in the background (RFC-40's split manager and split source).

In come a handle, a filter and where partitions are learnt from; out come splits as they are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Literal, Self, TypeAlias, get_args

import pyarrow as pa

from hudi_hive.connector.handle import HudiTableHandle
from hudi_hive.connector.partitions import MetastorePartitions
from hudi_hive.errors import InvalidOptionError
from hudi_hive.metadata import MetadataListing, MetadataTable
from hudi_hive.metastore import HiveMetastore
from hudi_hive.metastore.client import DEFAULT_PARTITION
from hudi_hive.plan import ScanPlan
from hudi_hive.plan.core import Filter, PartitionPlanner
from hudi_hive.plan.model import QueryType
from hudi_hive.plan.splits import (
    FULL_WEIGHT,
    DynamicFilter,
    HudiSplit,
    LoadLimits,
    LoadProgress,
    SplitLoader,
    SplitOptions,
    to_splits,
)
from hudi_hive.predicate import RowFilter, parse_filter

PartitionSource: TypeAlias = Literal["metastore", "metadata table", "listing"]
"""Where partitions come from: what was synced, the table's metadata table, or its folders."""


class SplitSource:
    """The splits of a query, made by threads that start at once; a context manager.

    Attributes:
        handle: the table.
        row_filter: rows that are asked for without the dynamic filter, bound to the handle's schema; None for all.
    """

    def __init__(
        self,
        metastore: HiveMetastore,
        handle: HudiTableHandle,
        row_filter: Filter = None,
        *,
        source: PartitionSource = "metastore",
        dynamic_filter: DynamicFilter | None = None,
        options: SplitOptions | None = None,
        limits: LoadLimits | None = None,
    ) -> None:
        self.handle = handle
        self.row_filter = handle.filter_of(row_filter)
        client = handle.client
        if source not in get_args(PartitionSource):
            raise InvalidOptionError(
                f"partitions cannot come from {source!r}", remedy=f"one of {', '.join(get_args(PartitionSource))}"
            )
        if source == "metadata table":
            MetadataTable.open(client)
            # Asked for by name: a listing takes its place neither now nor when it turns out to be broken.
            client = client.with_listing(MetadataListing(required=True))
        elif source == "listing":
            client = client.with_listing(MetadataListing(enable=False))
        own = handle.own_filter(self.row_filter)
        self._planner = PartitionPlanner(client, handle.query, own)
        self._registered: MetastorePartitions | None = None
        partitions: Iterable[list[str]] = _own_partitions(self._planner)
        if source == "metastore" and handle.partition_keys:
            planner = self._planner
            prune = planner.prune
            of_rows = None if handle.query_type is QueryType.CDC else self.row_filter  # changes have other columns
            self._registered = MetastorePartitions(
                metastore, handle, of_rows, lambda paths: prune(paths, own) if own is not None else list(paths)
            )
            partitions = self._registered
        elif handle.extra_keys.names:
            raise InvalidOptionError(
                f"values of the partition keys {', '.join(handle.extra_keys.names)} are in the metastore alone",
                remedy="ask with source='metastore'",
            )
        self._loader = SplitLoader(
            partitions,
            _HandlePlanner(self._planner, handle, self.row_filter, self._registered),
            options,
            storage=client.storage,
            limits=limits,
            dynamic_filter=dynamic_filter,
        )

    def next_batch(self, quota: int = FULL_WEIGHT, timeout: float | None = None) -> pa.Table:
        """Take splits of a weight of up to ``quota`` together, as a table.

        See :meth:`~hudi_hive.plan.splits.split_loader.SplitLoader.next_batch`.
        """
        return self._loader.next_batch(quota, timeout)

    def to_splits(self, table: pa.Table) -> list[HudiSplit]:
        """Convert a table of :meth:`next_batch` to split objects."""
        splits = to_splits(table, replace(self._planner.template(), row_filter=self.predicate))
        if self._registered is None:
            return splits
        names = [key.name for key in self.handle.partition_keys]
        keys: dict[str, dict[str, str | None]] = {}
        for path in {split.partition for split in splits}:
            values = [None if text == DEFAULT_PARTITION else text for text in self._registered.values[path]]
            keys[path] = dict(zip(names, values, strict=True))
        return [replace(split, partition_keys=keys[split.partition]) for split in splits]

    @property
    def predicate(self) -> RowFilter | None:
        """The current row filter, dynamic filter included, which splits carry; None for all rows."""
        return self._loader.row_filter

    @property
    def finished(self) -> bool:
        """Whether all splits were made and taken."""
        return self._loader.finished

    def progress(self) -> LoadProgress:
        """The current progress."""
        return self._loader.progress()

    def template(self) -> ScanPlan:
        """The plan without slices: what all splits are read with."""
        return self._planner.template()

    def cancel(self) -> None:
        """Stop making splits; those that were not taken are dropped."""
        self._loader.cancel()

    def close(self) -> None:
        """Cancel, and wait until the threads have ended."""
        self._loader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[HudiSplit]:
        """The splits one by one, as they are made."""
        while True:
            table = self.next_batch()
            if not table.num_rows:
                return
            yield from self.to_splits(table)


def _own_partitions(planner: PartitionPlanner) -> Iterator[list[str]]:
    """Partitions that the table itself knows of; nothing is asked before the first is wanted."""
    yield from planner.batches()


class _HandlePlanner:
    """A planner for a loader whose filters may be about keys that the metastore alone knows, too."""

    def __init__(
        self,
        planner: PartitionPlanner,
        handle: HudiTableHandle,
        row_filter: RowFilter | None,
        registered: MetastorePartitions | None,
    ) -> None:
        self._planner = planner
        self._handle = handle
        self._registered = registered
        self._template = replace(planner.template(), schema=handle.schema, row_filter=row_filter)
        self._own: tuple[RowFilter, RowFilter | None] | None = None

    def plan(self, partitions: Sequence[str]) -> ScanPlan:
        return self._planner.plan(partitions)

    def prune(self, partitions: Sequence[str], row_filter: Filter) -> list[str]:
        bound = parse_filter(row_filter, self._handle.schema)
        pruned = self._planner.prune(partitions, self._part(bound))
        if self._registered is None or self._handle.query_type is QueryType.CDC:
            return pruned
        return self._registered.prune(pruned, bound)

    def skip(self, plan: ScanPlan, row_filter: RowFilter) -> ScanPlan:
        own = self._part(row_filter)
        return plan if own is None else self._planner.skip(plan, own)

    def template(self) -> ScanPlan:
        return self._template

    def _part(self, row_filter: RowFilter) -> RowFilter | None:
        """What is about the table's own columns; the same object for the same filter, by which planners know it."""
        cached = self._own
        if cached is None or cached[0] is not row_filter:
            cached = self._own = row_filter, self._handle.own_filter(row_filter)
        return cached[1]
