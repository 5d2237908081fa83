"""Plans look-ups: the tasks of an index, and the keys that each of them looks up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.batches import rows_by_text
from hudi_hive.write.index.key_source import Slice
from hudi_hive.write.index.tables import IntArray, one_array
from hudi_hive.write.index.tasks import LookupTask

TASK_BYTES: Final = 256 << 20
"""Bytes of files that one task looks into."""


class Route(Protocol):
    """The interface, which can be pickled, that assigns keys to tasks."""

    def rows(self, keys: pa.Table) -> list[tuple[int, IntArray]]:
        """The positions of the keys (``KEYS_SCHEMA``) that each task looks up, by number of the task."""


class LookupPlan:
    """The tasks of a look-up and the assignment of keys to them.

    Attributes:
        tasks: the tasks.
        route: tells which keys go to which of them.
    """

    def __init__(self, tasks: Sequence[LookupTask], route: Route) -> None:
        self.tasks = tuple(tasks)
        self.route = route


class ToAll:
    """Assigns each key to each task.

    Args:
        tasks: number of tasks.
    """

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks

    def rows(self, keys: pa.Table) -> list[tuple[int, IntArray]]:
        """All keys for each task."""
        every = np.arange(keys.num_rows)
        return [(task, every) for task in range(self._tasks)]


class ByPartition:
    """Assigns keys to the tasks of their partition.

    Args:
        partitions: of each task its partition.
    """

    def __init__(self, partitions: Sequence[str]) -> None:
        self._tasks: dict[str, list[int]] = {}
        for task, partition in enumerate(partitions):
            self._tasks.setdefault(partition, []).append(task)

    def rows(self, keys: pa.Table) -> list[tuple[int, IntArray]]:
        """The keys of each task's partition."""
        return [(task, rows) for partition, rows in rows_by_partition(keys) for task in self._tasks.get(partition, ())]


def rows_by_partition(keys: pa.Table) -> list[tuple[str, IntArray]]:
    """Positions of the keys of each partition."""
    return list(rows_by_text(one_array(keys.column("partition"))))


def shares(slices: Sequence[Slice], size: int = TASK_BYTES) -> list[tuple[Slice, ...]]:
    """Slices in shares of about ``size`` bytes, one at least."""
    result: list[tuple[Slice, ...]] = []
    share: list[Slice] = []
    total = 0
    for part in slices:
        if share and total + part.size > size:
            result.append(tuple(share))
            share, total = [], 0
        share.append(part)
        total += part.size
    return [*result, tuple(share)] if share else result


def by_partition(slices: Sequence[Slice]) -> dict[str, list[Slice]]:
    """Slices of each partition."""
    slices_of: dict[str, list[Slice]] = {}
    for part in slices:
        slices_of.setdefault(part.partition, []).append(part)
    return slices_of


def partitions_of(keys: pa.Table) -> list[str]:
    """The partitions that keys are in, sorted."""
    return sorted(pc.unique(one_array(keys.column("partition"))).to_pylist())
