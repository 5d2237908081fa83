"""``StagingSink``: stages records of one task of a Hudi mutation in an Arrow file.

Each record is checked by itself and gets its key; the transaction looks the records up and writes the table's files.
Neither timeline nor index is read here.
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
from hudi_hive.mutation.core import MutationSink, Mutator
from hudi_hive.mutation.hudi.manifest import HudiManifest
from hudi_hive.mutation.hudi.staging import RecordStager
from hudi_hive.mutation.hudi.table import HudiMutationTable
from hudi_hive.storage import Storage
from hudi_hive.timeline.core import staging_folder
from hudi_hive.write.records import DELETE, INSERT, UPDATE

_FILE: Final = "changes.arrow"
_CODEC: Final = "lz4"


class StagedFile(Mutator[int]):
    """Writes staged records to an Arrow file; the size of the file is what it says of it.

    Args:
        storage: of the table.
        path: the file.
        schema: of the records.
    """

    def __init__(self, storage: Storage, path: str, schema: pa.Schema) -> None:
        self._stream = storage.open_output(path)
        options = pa.ipc.IpcWriteOptions(compression=_CODEC if pa.Codec.is_available(_CODEC) else None)
        self._writer = pa.ipc.new_stream(self._stream, schema, options=options)

    def write(
        self,
        operations: npt.NDArray[np.int8],
        rows: pa.Table | None,
        row_ids: Sequence[npt.NDArray[np.int64]] | None = None,
    ) -> None:
        """Write staged records, which have their operations in a column."""
        if rows is not None and rows.num_rows:
            self._writer.write_table(rows)

    def close(self) -> int:
        """Finish the file; returns its bytes."""
        self._writer.close()
        size = self._stream.tell()
        self._stream.close()
        return size

    def discard(self) -> None:
        """Close the file."""
        with suppress(OSError, pa.ArrowException):
            self._writer.close()
            self._stream.close()


class StagingSink(MutationSink[HudiManifest]):
    """Stages records in any order; each record is identified by its key and changed once.

    Args:
        table: of a transaction that has begun.
        attempt: name of this attempt at the task; None for a random one.
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
        self._table = table
        self._stager = RecordStager(table)
        self._storage = Storage(table.location, storage_options)
        self._folder = posixpath.join(staging_folder(table.instant), self.attempt)
        self._counts = np.zeros(3, np.int64)
        self._file: StagedFile | None = None

    @property
    def table_name(self) -> str:
        """Name of the table."""
        return self._table.name

    def check_values(self, values: Sequence[str | None]) -> None:
        """Refuse partition values that make no path."""
        self._stager.path_of(values)

    def to_table(self, records: Sequence[tuple[int, Mapping[str, Any]]], values: Sequence[str | None]) -> pa.Table:
        """Convert single records to columns; see :meth:`RecordStager.to_table`."""
        return self._stager.to_table(records, values)

    def write(
        self,
        data: pa.RecordBatch | pa.Table,
        operations: npt.NDArray[np.int8],
        values: Sequence[str | None] | None,
    ) -> None:
        """Check records, make their keys and stage them."""
        staged = self._stager.read(data, operations, values)
        if not staged.num_rows:
            return
        if self._file is None:
            self._file = StagedFile(self._storage, self._path, self._stager.schema)
        self._file.write(operations, staged)
        self._counts += np.bincount(operations, minlength=3)

    @property
    def _path(self) -> str:
        return posixpath.join(self._folder, _FILE)

    def close(self) -> HudiManifest:
        """Finish the file."""
        place: dict[str, Any] = {}
        if self._file is not None:
            place = {"path": self._path, "size": self._file.close()}
            self._file = None
        inserts, updates, deletes = (int(self._counts[operation]) for operation in (INSERT, UPDATE, DELETE))
        return HudiManifest(
            self._table.location,
            self._table.instant,
            self.attempt,
            inserts=inserts,
            updates=updates,
            deletes=deletes,
            **place,
        )

    def discard(self) -> None:
        """Close the file."""
        file, self._file = self._file, None
        if file is not None:
            file.discard()

    def remove(self) -> None:
        """Delete the attempt's folder."""
        self._storage.delete_tree(self._folder)
