"""``AcidSink``: writes the records of one task to delta and delete delta files in a staging folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import InvalidOptionError, MutationStateError
from hudi_hive.mutation.acid_table import MAX_BUCKETS, MAX_STATEMENT, AcidTable, staging_folder
from hudi_hive.mutation.acid_write.groups import AcidMutator, GroupValidator, changed_row_ids, runs
from hudi_hive.mutation.acid_write.incoming import Incoming, check_values, read_incoming
from hudi_hive.mutation.acid_write.manifest import BucketFiles, MutationManifest
from hudi_hive.mutation.acid_write.records import to_table
from hudi_hive.mutation.core import RECORD_ID, MutationSink
from hudi_hive.storage import Storage


class AcidSink(MutationSink[MutationManifest]):
    """Writes records of a Hive ACID table, grouped by (partition, bucket) and ordered by identifier within a group.

    Args:
        table: a sink of a transaction that has begun.
        attempt: name of this attempt at the task; None for a random one.
        statement: number of the statement, part of folder names and bucket properties, from 0 to 4095.
        writer: number of the file of inserts into a table without buckets, from 0 to 4095.
        storage_options: of the warehouse's file system.
        record_id_column: the column of batches that has the rows' identifiers.

    Raises:
        MutationStateError: the table is no sink, or its transaction has not begun.
        InvalidOptionError: the table has a column of that name.
    """

    def __init__(
        self,
        table: AcidTable,
        *,
        attempt: str | None = None,
        statement: int = 0,
        writer: int = 0,
        storage_options: Mapping[str, Any] | None = None,
        record_id_column: str = RECORD_ID,
    ) -> None:
        if not table.sink or table.write_id < 1:
            raise MutationStateError(
                f"table {table.qualified_name} is not open for writing", remedy="take it from a transaction that began"
            )
        if not (0 <= statement <= MAX_STATEMENT and 0 <= writer < MAX_BUCKETS):
            raise MutationStateError(f"statement {statement} or writer {writer} is out of range (0 to 4095)")
        if record_id_column.lower() in (*(column.name for column in table.columns), *table.key_names):
            raise InvalidOptionError(
                f"table {table.qualified_name} has a column {record_id_column} of its own",
                remedy="name another column of identifiers",
            )
        super().__init__(attempt)
        self._table = table
        self._statement = statement
        self._writer = writer
        self._record_id = record_id_column
        self._staging = staging_folder(table.write_id, self.attempt)
        self._storage = Storage(table.location, storage_options)
        self._validator = GroupValidator()
        self._mutator: AcidMutator | None = None
        self._done: list[BucketFiles] = []

    @property
    def table_name(self) -> str:
        """``database.table``."""
        return self._table.qualified_name

    def check_values(self, values: Sequence[str | None]) -> None:
        """Refuse partition values that Hive would not write.

        Raises:
            MutationError: not one for each key, or one that Hive writes in another way.
        """
        check_values(self._table, values)

    def to_table(self, records: Sequence[tuple[int, Mapping[str, Any]]], values: Sequence[str | None]) -> pa.Table:
        """Convert single records to columns; see :func:`records.to_table`."""
        return to_table(self._table, records, self._record_id)

    def write(
        self,
        data: pa.RecordBatch | pa.Table,
        operations: npt.NDArray[np.int8],
        values: Sequence[str | None] | None,
    ) -> None:
        """Check records and write them to the files of their groups."""
        self._write(read_incoming(self._table, data, operations, values, self._writer, self._record_id))

    def write_spread(
        self, data: pa.RecordBatch | pa.Table, operations: npt.NDArray[np.int8], writers: npt.NDArray[np.int32]
    ) -> None:
        """The same, with a file number for each insert into a table without buckets."""
        self._write(read_incoming(self._table, data, operations, None, writers, self._record_id))

    def _write(self, incoming: Incoming) -> None:
        for group, part in runs(incoming):
            if self._validator.enter(group):
                self._leave_group()
                self._mutator = AcidMutator(group, self._table, self._storage, self._staging, self._statement)
            row_ids = changed_row_ids(incoming, part)
            self._validator.follow(*row_ids)
            assert self._mutator is not None
            rows = None if incoming.rows is None else incoming.rows.slice(part.start, part.stop - part.start)
            self._mutator.write(incoming.operations[part], rows, row_ids)

    def _leave_group(self) -> None:
        if self._mutator is not None:
            self._done.append(self._mutator.close())
        self._mutator = None

    def close(self) -> MutationManifest:
        """Finish the files of the last group."""
        self._leave_group()
        return MutationManifest(self.table_name, self._table.write_id, self.attempt, tuple(self._done))

    def discard(self) -> None:
        """Let go of the open files."""
        mutator, self._mutator = self._mutator, None
        if mutator is not None:
            mutator.discard()

    def remove(self) -> None:
        """Delete the attempt's staging folder."""
        self._storage.delete_tree(self._staging)
