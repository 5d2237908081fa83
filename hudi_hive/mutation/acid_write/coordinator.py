"""``MutatorCoordinator``: takes the records of one task of a transaction over Hive ACID tables.

Source: ``MutatorCoordinator`` of HIVE-10165. The metastore is not needed here: the transaction that gets the manifest
moves the files to where they count and registers partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.mutation.acid_table import AcidTable
from hudi_hive.mutation.acid_write.acid_sink import AcidSink
from hudi_hive.mutation.acid_write.manifest import MutationManifest
from hudi_hive.mutation.core import RECORD_ID, Coordinator, RecordInspector


class RowId(NamedTuple):
    """The identifier of a row, ``ROW__ID``: write id, bucket property, row id."""

    write_id: int
    bucket: int
    row_id: int


class MutatorCoordinator(Coordinator[MutationManifest]):
    """Takes the records of one task: grouped by (partition, bucket), ordered by identifier within a group.

    In a group, updates and deletes come by ascending (write id, bucket property, row id), inserts anywhere; a group
    that was left does not come again. What breaks a rule raises an error of its own, and the coordinator is of no use
    any more: without its manifest nothing it wrote counts. Records that come one by one are checked 8192 at a time, at
    a change of the partition, and by ``flush`` and ``close``; batches at once.

    Args:
        table: a sink of a transaction that has begun, from ``Transaction.table`` or ``AcidTable.decode``.
        attempt: name of this attempt at the task, unlike that of any other; by default a random one.
        statement: goes into folder names and bucket properties: tasks that insert into one bucket side by side need
            one each, from 0 to 4095.
        writer: number of the file of inserts into a table without buckets; tasks that insert need one each.
        storage_options: of the warehouse's file system.
        inspector: takes single records apart, and names the column of identifiers; without one records are mappings
            of values by column, and that column is ``ROW__ID``.

    Raises:
        MutationStateError: the table is no sink, or its transaction has not begun.
        InvalidOptionError: the table has a column of the name of that of identifiers.
    """

    def __init__(
        self,
        table: AcidTable,
        *,
        attempt: str | None = None,
        statement: int = 0,
        writer: int = 0,
        storage_options: Mapping[str, Any] | None = None,
        inspector: RecordInspector | None = None,
    ) -> None:
        self.table = table
        self._acid_sink = AcidSink(
            table,
            attempt=attempt,
            statement=statement,
            writer=writer,
            storage_options=storage_options,
            record_id_column=inspector.record_id_column if inspector is not None else RECORD_ID,
        )
        super().__init__(self._acid_sink, inspector)

    def mutate_spread(
        self, batch: pa.RecordBatch | pa.Table, operations: npt.NDArray[np.int8], writers: npt.NDArray[np.int32]
    ) -> None:
        """Mutate a batch, with a file number for each insert into a table without buckets; see ``mutate_batch``.

        Args:
            batch: the table's columns and partition keys, and identifiers, which are null for inserts.
            operations: 0 (insert), 1 (update) or 2 (delete) for each record.
            writers: from 0 to 4095 for each record; looked at for inserts into a table without buckets alone.

        Raises:
            MutationWorkerError, SchemaError, MutationStateError: as ``insert_batch``.
        """
        with self.sending():
            self._acid_sink.write_spread(batch, operations, writers)
