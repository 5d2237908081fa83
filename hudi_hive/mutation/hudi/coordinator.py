"""``HudiMutatorCoordinator``: stages records of one task in an Arrow file, and returns a manifest.

The worker checks each record by itself and makes its key; the transaction that gets the manifest looks the records up
and writes the table's files. Neither timeline nor index is read here.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import MutationStateError
from hudi_hive.mutation.core import CoordinatorBase
from hudi_hive.mutation.hudi.manifest import HudiManifest
from hudi_hive.mutation.hudi.staging import RecordStager
from hudi_hive.mutation.hudi.table import HudiMutationTable
from hudi_hive.storage import Storage
from hudi_hive.timeline.core import staging_folder
from hudi_hive.write.records import DELETE, INSERT, UPDATE

_FILE: Final = "changes.arrow"
_CODEC: Final = "lz4"


class HudiMutatorCoordinator(CoordinatorBase[HudiManifest]):
    """Takes the records of one task in any order; each record is identified by its key and changed once.

    What breaks a rule raises an error of its own, and the coordinator is of no use any more: without its manifest
    nothing that it took counts. Records one by one lack the meta columns and may lack partition columns, which the
    partition values tell. Whether the table has the record is found out when the transaction commits.

    Args:
        table: of a transaction that has begun, from ``HudiTransaction.table`` or ``HudiMutationTable.decode``.
        attempt: name of this attempt at the task, unlike that of any other; by default a random one.
        storage_options: of the table's file system.

    Raises:
        MutationStateError: its transaction has not begun.
    """

    def __init__(
        self,
        table: HudiMutationTable,
        *,
        attempt: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        if not table.instant:
            raise MutationStateError(
                f"table {table.name} is not open for writing", remedy="take it from a transaction that began"
            )
        super().__init__(attempt)
        self.table = table
        self._stager = RecordStager(table)
        self._storage = Storage(table.location, storage_options)
        self._folder = posixpath.join(staging_folder(table.instant), self.attempt)
        self._counts = np.zeros(3, np.int64)
        self._stream: pa.NativeFile | None = None
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None

    @property
    def _table_name(self) -> str:
        return self.table.name

    def _check_values(self, values: tuple[str | None, ...]) -> None:
        self._stager.path_of(values)

    def _to_table(self, records: Sequence[tuple[int, Mapping[str, Any]]]) -> pa.Table:
        return self._stager.to_table(records, self.pending_values)

    def _mutate(
        self,
        data: pa.RecordBatch | pa.Table,
        operations: npt.NDArray[np.int8],
        partition_values: Sequence[str | None] | None,
    ) -> None:
        staged = self._stager.read(data, operations, partition_values)
        if not staged.num_rows:
            return
        if self._writer is None:
            self._stream = self._storage.open_output(self._path)
            options = pa.ipc.IpcWriteOptions(compression=_CODEC if pa.Codec.is_available(_CODEC) else None)
            self._writer = pa.ipc.new_stream(self._stream, self._stager.schema, options=options)
        self._writer.write_table(staged)
        self._counts += np.bincount(operations, minlength=3)

    @property
    def _path(self) -> str:
        return posixpath.join(self._folder, _FILE)

    def _finish(self) -> HudiManifest:
        place: dict[str, Any] = {}
        if self._writer is not None and self._stream is not None:
            self._writer.close()
            place = {"path": self._path, "size": self._stream.tell()}
            self._stream.close()
            self._writer = self._stream = None
        inserts, updates, deletes = (int(self._counts[operation]) for operation in (INSERT, UPDATE, DELETE))
        return HudiManifest(
            self.table.location,
            self.table.instant,
            self.attempt,
            inserts=inserts,
            updates=updates,
            deletes=deletes,
            **place,
        )

    def _give_up(self) -> None:
        writer, stream, self._writer, self._stream = self._writer, self._stream, None, None
        with suppress(OSError, pa.ArrowException):
            if writer is not None:
                writer.close()
            if stream is not None:
                stream.close()

    def _remove(self) -> None:
        self._storage.delete_tree(self._folder)
