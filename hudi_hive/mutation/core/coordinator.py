"""Coordinators: take the records of a task one by one or in batches, and return a manifest.

Source: ``MutatorCoordinator`` of HIVE-10165. What becomes of the records is the business of a sink: ``sink`` of
``acid_write`` for Hive ACID tables, that of ``hudi`` for Hudi tables, or any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from types import TracebackType
from typing import Any, Final, Generic, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import MutationError, MutationStateError, SchemaError
from hudi_hive.formats.orc import DELETE, INSERT, UPDATE
from hudi_hive.mutation.core.inspector import MappingInspector, RecordInspector
from hudi_hive.mutation.core.sink import M, MutationSink

_PENDING: Final = 8192
"""Records that come one by one are checked and turned into columns so many at a time."""


def _as_operations(operations: object, count: int) -> npt.NDArray[np.int8]:
    """An operation for each record."""
    numbers = np.asarray(operations)
    whole = numbers.dtype.kind in "iu" or not numbers.size
    if not whole or numbers.shape not in ((), (count,)) or (count and not _are_operations(numbers)):
        raise MutationError(
            f"operations are 0 (insert), 1 (update) and 2 (delete), one for all or one for each of {count} records"
        )
    return np.broadcast_to(numbers.astype(np.int8), (count,))


def _are_operations(numbers: npt.NDArray[np.integer]) -> bool:
    return bool(numbers.min() >= INSERT and numbers.max() <= DELETE)


def _as_values(values: object) -> tuple[str | None, ...]:
    """Partition values as the caller gave them; that each key has one of its type is seen to later."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise MutationError(f"partition values are a list with a text or None each, not {values!r}")
    if any(value is not None and not isinstance(value, str) for value in values):
        raise MutationError(f"partition values are texts or None, unlike {values!r}")
    return tuple(values)


class _State(Enum):
    OPEN = "open"
    CLOSED = "closed"
    FAILED = "failed"


class Coordinator(Generic[M]):
    """Takes the records of one task; unusable after an error, since without a manifest nothing is accepted.

    Args:
        sink: where the records go; the coordinator's own from now on.
        inspector: takes single records apart, and names the column of identifiers; without one records are mappings
            of values by column.
    """

    def __init__(self, sink: MutationSink[M], inspector: RecordInspector | None = None) -> None:
        self._sink = sink
        self._inspector = inspector or MappingInspector()
        self._state = _State.OPEN
        self._pending: list[tuple[int, Mapping[str, Any]]] = []
        self._pending_values: tuple[str | None, ...] = ()
        self._manifest: M | None = None

    @property
    def attempt(self) -> str:
        """Name of this attempt at the task."""
        return self._sink.attempt

    @property
    def record_id_column(self) -> str:
        """The column of batches, and of single records, that has the row's identifier."""
        return self._inspector.record_id_column

    # -- one record at a time ---------------------------------------------------------------------------------------

    def insert(self, partition_values: Sequence[str | None], record: object) -> None:
        """Insert a row. Records are checked in batches of thousands, so errors may be raised by a later call.

        Args:
            partition_values: a value for each partition key, None for the default partition; empty without keys.
            record: a value for each column of the table, or what the inspector takes.

        Raises:
            MutationWorkerError: this record or one before it breaks a rule; the class says which.
            MutationStateError: the coordinator is closed, or an earlier record failed.
        """
        self._take(INSERT, partition_values, record)

    def update(self, partition_values: Sequence[str | None], record: object) -> None:
        """Update the row of the record's ``ROW__ID`` or, in Hudi tables, of its key; otherwise as ``insert``."""
        self._take(UPDATE, partition_values, record)

    def delete(self, partition_values: Sequence[str | None], record: object) -> None:
        """Delete the row of the record's ``ROW__ID`` or key; otherwise as ``insert``."""
        self._take(DELETE, partition_values, record)

    def _take(self, operation: int, values: Sequence[str | None], record: object) -> None:
        self.check_open()
        with self._failing():
            checked = _as_values(values)
            if self._pending and (checked != self._pending_values or len(self._pending) >= _PENDING):
                self._send_pending()
            if not self._pending:
                self._sink.check_values(checked)
                self._pending_values = checked
            self._pending.append((operation, self._inspector.values(record)))

    def _send_pending(self) -> None:
        """Write the single records that are held back."""
        records, self._pending = self._pending, []
        if not records:
            return
        operations = np.array([operation for operation, _ in records], np.int8)
        self._sink.write(self._sink.to_table(records, self._pending_values), operations, self._pending_values)

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Write the single records that are held back, then what the block writes; an error makes it unusable.

        Raises:
            MutationStateError: the coordinator is closed, or an earlier record failed.
        """
        self.check_open()
        with self._failing():
            self._send_pending()
            yield

    # -- batches ----------------------------------------------------------------------------------------------------

    def insert_batch(
        self, batch: pa.RecordBatch | pa.Table, partition_values: Sequence[str | None] | None = None
    ) -> None:
        """Insert rows.

        Args:
            batch: the table's columns, and the partition keys unless ``partition_values`` says them.
            partition_values: partition of all rows.

        Raises:
            MutationWorkerError: a record breaks a rule; the class says which.
            SchemaError: a column is missing or of another type.
            MutationStateError: the coordinator is closed, or an earlier record failed.
        """
        self.mutate_batch(batch, INSERT, partition_values)

    def update_batch(
        self, batch: pa.RecordBatch | pa.Table, partition_values: Sequence[str | None] | None = None
    ) -> None:
        """Update the rows of ``ROW__ID`` or keys; otherwise as ``insert_batch``."""
        self.mutate_batch(batch, UPDATE, partition_values)

    def delete_batch(
        self, batch: pa.RecordBatch | pa.Table, partition_values: Sequence[str | None] | None = None
    ) -> None:
        """Delete the rows of ``ROW__ID`` or keys; other columns may be left out. Otherwise as ``insert_batch``."""
        self.mutate_batch(batch, DELETE, partition_values)

    def mutate_batch(
        self,
        batch: pa.RecordBatch | pa.Table,
        operations: int | npt.NDArray[np.int8],
        partition_values: Sequence[str | None] | None = None,
    ) -> None:
        """Insert, update and delete in one batch.

        Args:
            batch: as in ``insert_batch`` and ``update_batch``; ``ROW__ID`` is null for inserts.
            operations: 0 (insert), 1 (update) or 2 (delete), for all records or for each.
            partition_values: as in ``insert_batch``.

        Raises:
            MutationWorkerError, SchemaError, MutationStateError: as ``insert_batch``.
        """
        with self.sending():
            if not isinstance(batch, pa.RecordBatch | pa.Table):
                raise SchemaError(f"a batch of records is an Arrow batch or table, not a {type(batch).__name__}")
            values = None if partition_values is None else _as_values(partition_values)
            self._sink.write(batch, _as_operations(operations, batch.num_rows), values)

    # -- the end ----------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Check the single records that were given so far.

        Raises:
            MutationWorkerError, SchemaError, MutationStateError: as ``insert``.
        """
        with self.sending():
            pass

    def close(self) -> M:
        """Write the remaining records and return the manifest.

        Returns:
            the manifest, which the transaction needs to make the writes count; the same one when closed again.

        Raises:
            MutationWorkerError, SchemaError: as ``insert``.
            MutationStateError: an earlier record failed.
        """
        if self._state is not _State.CLOSED:
            with self.sending():
                self._manifest = self._sink.close()
            self._state = _State.CLOSED
        assert self._manifest is not None
        return self._manifest

    def discard(self) -> None:
        """Delete what this attempt has written, also if it was closed."""
        self._fail()
        self._sink.remove()

    def _fail(self) -> None:
        self._state = _State.FAILED
        self._pending = []
        self._sink.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._state is _State.OPEN:
            self.close()
        elif kind is not None:
            self.discard()

    def check_open(self) -> None:
        """Refuse to go on with a coordinator that is closed or has failed.

        Raises:
            MutationStateError: it is.
        """
        if self._state is _State.OPEN:
            return
        closed = self._state is _State.CLOSED
        raise MutationStateError(
            f"the coordinator of {self._sink.table_name}, attempt {self.attempt}, "
            + ("is closed" if closed else "has failed or was discarded"),
            remedy="use a new coordinator, and the manifest of that one",
        )

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Mark the coordinator as failed when an error leaves the block."""
        try:
            yield
        except BaseException:
            self._fail()
            raise
