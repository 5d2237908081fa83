"""The simple index: reads all keys of the slices that may hold a record and compares them."""

from __future__ import annotations

from collections.abc import Sequence

from hudi_hive.write.coordination import TaskExecutor
from hudi_hive.write.index.base import Index
from hudi_hive.write.index.key_source import KeySource
from hudi_hive.write.index.plan import ByPartition, LookupPlan, ToAll, by_partition, shares
from hudi_hive.write.index.tasks import SliceTask


class SimpleIndex(Index):
    """Looks keys up in all slices of the rows' partitions (of the table, if it is global)."""

    def plan_lookup(self, partitions: Sequence[str], executor: TaskExecutor) -> LookupPlan:
        """Look keys up in all base files of the partitions."""
        del executor
        source = KeySource.of(self.client)
        slices = self.slices(partitions)
        if self.is_global:
            tasks = [SliceTask(source, share) for share in shares(slices)]
            return LookupPlan(tasks, ToAll(len(tasks)))
        found = [(path, share) for path, parts in by_partition(slices).items() for share in shares(parts)]
        tasks = [SliceTask(source, share) for _, share in found]
        return LookupPlan(tasks, ByPartition([path for path, _ in found]))
