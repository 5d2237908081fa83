"""``MutatorCoordinator``: writes records of one task to delta and delete delta files in a staging folder.

Source: ``MutatorCoordinator`` of HIVE-10165. The metastore is not needed here: the transaction that gets the manifest
moves the files to where they count and registers partitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import MutationStateError
from hudi_hive.mutation.acid_table import MAX_BUCKETS, MAX_STATEMENT, AcidTable, staging_folder
from hudi_hive.mutation.acid_write.groups import GroupValidator, OpenGroup, changed_row_ids, runs
from hudi_hive.mutation.acid_write.incoming import Incoming, check_values, read_incoming
from hudi_hive.mutation.acid_write.manifest import BucketFiles, MutationManifest
from hudi_hive.mutation.acid_write.records import to_table
from hudi_hive.mutation.core import CoordinatorBase
from hudi_hive.storage import Storage


class RowId(NamedTuple):
    """The identifier of a row, ``ROW__ID``: write id, bucket property, row id."""

    write_id: int
    bucket: int
    row_id: int


class MutatorCoordinator(CoordinatorBase[MutationManifest]):
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

    Raises:
        MutationStateError: the table is no sink, or its transaction has not begun.
    """

    def __init__(
        self,
        table: AcidTable,
        *,
        attempt: str | None = None,
        statement: int = 0,
        writer: int = 0,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        if not table.sink or table.write_id < 1:
            raise MutationStateError(
                f"table {table.qualified_name} is not open for writing", remedy="take it from a transaction that began"
            )
        if not (0 <= statement <= MAX_STATEMENT and 0 <= writer < MAX_BUCKETS):
            raise MutationStateError(f"statement {statement} or writer {writer} is out of range (0 to 4095)")
        super().__init__(attempt)
        self.table = table
        self._statement = statement
        self._writer = writer
        self._staging = staging_folder(table.write_id, self.attempt)
        self._storage = Storage(table.location, storage_options)
        self._validator = GroupValidator()
        self._group: OpenGroup | None = None
        self._done: list[BucketFiles] = []

    @property
    def _table_name(self) -> str:
        return self.table.qualified_name

    def _check_values(self, values: tuple[str | None, ...]) -> None:
        check_values(self.table, values)

    def _to_table(self, records: Sequence[tuple[int, Mapping[str, Any]]]) -> pa.Table:
        return to_table(self.table, records)

    def _mutate(
        self,
        data: pa.RecordBatch | pa.Table,
        operations: npt.NDArray[np.int8],
        partition_values: Sequence[str | None] | None,
    ) -> None:
        self._write(read_incoming(self.table, data, operations, partition_values, self._writer))

    def mutate_spread(
        self, batch: pa.RecordBatch | pa.Table, operations: npt.NDArray[np.int8], writers: npt.NDArray[np.int32]
    ) -> None:
        """Mutate a batch, with a file number for each insert into a table without buckets; see ``mutate_batch``.

        Args:
            batch: the table's columns and partition keys, and ``ROW__ID``, which is null for inserts.
            operations: 0 (insert), 1 (update) or 2 (delete) for each record.
            writers: from 0 to 4095 for each record; looked at for inserts into a table without buckets alone.

        Raises:
            MutationWorkerError, SchemaError, MutationStateError: as ``insert_batch``.
        """
        self.check_open()
        with self.failing():
            self.send_pending()
            self._write(read_incoming(self.table, batch, operations, None, writers))

    def _write(self, incoming: Incoming) -> None:
        for group, part in runs(incoming):
            if self._validator.enter(group):
                self._leave_group()
                self._group = OpenGroup(group, self.table, self._storage, self._staging, self._statement)
            keys = changed_row_ids(incoming, part)
            self._validator.follow(*keys)
            assert self._group is not None
            self._group.add(incoming, part, keys)

    def _leave_group(self) -> None:
        if self._group is not None:
            self._done.append(self._group.close())
        self._group = None

    def _finish(self) -> MutationManifest:
        self._leave_group()
        return MutationManifest(self.table.qualified_name, self.table.write_id, self.attempt, tuple(self._done))

    def _give_up(self) -> None:
        group, self._group = self._group, None
        if group is not None:
            group.discard()

    def _remove(self) -> None:
        self._storage.delete_tree(self._staging)
