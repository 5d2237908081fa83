"""Rows of any plan, slice by slice, exactly as the plan's schema has them, made where another engine runs its tasks.

In come a pickled plan and the numbers of the slices to read; out come batches. Change data and the metadata table are
read so: their columns are the same for every engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from hudi_hive.errors import HudiHiveError
from hudi_hive.plan import ScanPlan
from hudi_hive.read.exported import carrying
from hudi_hive.read.scan import read_plan
from hudi_hive.storage import Storage


@dataclass(frozen=True)
class PlanRows:
    """What a task needs to read slices of a plan.

    Attributes:
        plan: holds the slices; tasks are told them by number.
        storage_options: for :class:`~hudi_hive.storage.Storage`.
    """

    plan: ScanPlan
    storage_options: Mapping[str, Any] = field(repr=False)

    def __call__(self, requests: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of slices.

        Args:
            requests: one column: numbers of slices.

        Raises:
            RuntimeError: an error of this package, as text that :func:`hudi_hive.read.exported.carried_error` reads.
        """
        try:
            storage = Storage(self.plan.base_path, self.storage_options)
            for request in requests:
                for number in request.column(0).to_pylist():
                    yield from read_plan(storage, self._one(number), threads=1)
        except HudiHiveError as error:
            raise carrying(error) from None

    def _one(self, number: int) -> ScanPlan:
        plan = self.plan
        changes = None if plan.changes is None else plan.changes.slice(number, 1)
        return replace(plan, slices=plan.slices.slice(number, 1), changes=changes)
