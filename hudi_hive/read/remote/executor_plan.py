"""Serialisable tasks that read change data, or records of the metadata table, in another engine.

In come numbers: of the slices of a pickled plan, or of partitions of the metadata table. Out come batches whose columns
are the same for every engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from hudi_hive.errors import HudiHiveError
from hudi_hive.formats.base import BATCH_ROWS
from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import partition_rows
from hudi_hive.plan import ScanPlan
from hudi_hive.read.remote.executor_read import serialize_error
from hudi_hive.read.scan import read_plan
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient


@dataclass(frozen=True)
class PlanRows:
    """A serialisable task that reads slices of a plan.

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
            RuntimeError: an error of this package, as text that :func:`hudi_hive.read.remote.deserialize_error` reads.
        """
        try:
            storage = Storage(self.plan.base_path, self.storage_options)
            for request in requests:
                for number in request.column(0).to_pylist():
                    yield from read_plan(storage, self._one(number), threads=1)
        except HudiHiveError as error:
            raise serialize_error(error) from None

    def _one(self, number: int) -> ScanPlan:
        plan = self.plan
        changes = None if plan.changes is None else plan.changes.slice(number, 1)
        return replace(plan, slices=plan.slices.slice(number, 1), changes=changes)


@dataclass(frozen=True)
class MetadataRows:
    """A serialisable task that reads partitions of a metadata table.

    Attributes:
        client: the table, whose timeline tells which records count.
        partitions: partitions of the metadata table.
        schema: of the rows (:func:`hudi_hive.metadata.reader.rows.row_schema`).
    """

    client: MetaClient = field(repr=False)
    partitions: tuple[str, ...]
    schema: pa.Schema

    def __call__(self, requests: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The records of partitions.

        Args:
            requests: one column: numbers of partitions.

        Raises:
            RuntimeError: an error of this package, as text that :func:`hudi_hive.read.remote.deserialize_error` reads.
        """
        try:
            table = MetadataTable.open(self.client)
            for request in requests:
                for number in request.column(0).to_pylist():
                    rows = partition_rows(table, self.partitions[number], self.schema)
                    yield from rows.to_batches(max_chunksize=BATCH_ROWS)
        except HudiHiveError as error:
            raise serialize_error(error) from None
