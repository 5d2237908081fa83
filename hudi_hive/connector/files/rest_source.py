"""The slices of a divided plan that are read here, as the source of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.plan import ScanPlan, narrowed_plan
from hudi_hive.plan.model import prune_partitions
from hudi_hive.predicate import RowFilter
from hudi_hive.read.scan import read_plan
from hudi_hive.table import MetaClient


@dataclass(frozen=True)
class RestSource:
    """Slices of one plan: a :class:`~hudi_hive.connector.dataset.ScanSource`.

    Attributes:
        client: the table as it was planned with.
        plan: the slices, without a filter or limit.
        schema: schema of the rows before any projection.
    """

    client: MetaClient
    plan: ScanPlan
    schema: pa.Schema

    def batches(
        self, columns: Sequence[str] | None, row_filter: RowFilter | None, batch_size: int
    ) -> Iterator[pa.RecordBatch]:
        """Read the rows; the filter leaves out partitions and files, as where it is planned with."""
        names = list(self.schema.names if columns is None else columns)
        plan = self.plan
        if row_filter is not None:
            row_filter = RowFilter(row_filter.root, plan.schema)
            partition = plan.slices.column("partition")
            matching = prune_partitions(self.client, sorted(pc.unique(partition).to_pylist()), row_filter)
            slices = plan.slices.filter(pc.is_in(partition, value_set=pa.array(matching, pa.string())))
            plan = narrowed_plan(self.client, replace(plan, slices=slices), row_filter)
        return read_plan(self.client.storage, plan, names, batch_size=batch_size)
