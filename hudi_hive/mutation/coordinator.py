"""What runs in a worker: records in, delta and delete delta files in the attempt's staging folder out, and a manifest.

Source: ``MutatorCoordinator`` of HIVE-10165. The metastore is not needed here: the transaction that gets the manifest
moves the files to where they count and registers partitions.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import MutationStateError, SchemaError
from hudi_hive.formats.orc_acid import DELETE, INSERT, UPDATE
from hudi_hive.mutation.groups import GroupValidator, OpenGroup, changed, runs
from hudi_hive.mutation.incoming import Incoming, check_values, read_incoming
from hudi_hive.mutation.manifest import GroupFiles, MutationManifest
from hudi_hive.mutation.paths import MAX_BUCKETS, MAX_STATEMENT, staging_folder
from hudi_hive.mutation.row_ids import ROW_ID, ROW_ID_TYPE
from hudi_hive.mutation.table import AcidTable
from hudi_hive.storage import Storage

_PENDING: Final = 8192
"""Records that come one by one are checked and turned into columns so many at a time."""


class RowId(NamedTuple):
    """The identifier of a row, ``ROW__ID``: write id, bucket property, row id."""

    write_id: int
    bucket: int
    row_id: int


class _State(Enum):
    OPEN = "open"
    CLOSED = "closed"
    FAILED = "failed"


class MutatorCoordinator:
    """Takes the records of one task: grouped by (partition, bucket), ordered by identifier within a group.

    In a group, updates and deletes come by ascending (write id, bucket property, row id), inserts anywhere; a group
    that was left does not come again. What breaks a rule raises an error of its own, and the coordinator is of no use
    any more: without its manifest nothing it wrote counts.

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
        name = uuid.uuid4().hex if attempt is None else attempt
        if not name or name != name.strip("./") or "/" in name:
            raise MutationStateError(f"{name!r} cannot name an attempt")
        self.table = table
        self.attempt = name
        self._statement = statement
        self._writer = writer
        self._staging = staging_folder(table.write_id, name)
        self._storage = Storage(table.location, storage_options)
        self._state = _State.OPEN
        self._validator = GroupValidator()
        self._group: OpenGroup | None = None
        self._done: list[GroupFiles] = []
        self._pending: list[tuple[int, Mapping[str, Any]]] = []
        self._pending_values: tuple[str | None, ...] = ()

    # -- one record at a time ---------------------------------------------------------------------------------------

    def insert(self, partition_values: Sequence[str | None], record: Mapping[str, Any]) -> None:
        """Insert a row. Records are checked some thousands at a time, so errors may come with a later one.

        Args:
            partition_values: a value for each partition key, None for Hive's default partition; empty without keys.
            record: a value for each column of the table.

        Raises:
            MutationWorkerError: this record or one before it breaks a rule; the class says which.
            MutationStateError: the coordinator is closed, or an earlier record failed.
        """
        self._take(INSERT, partition_values, record)

    def update(self, partition_values: Sequence[str | None], record: Mapping[str, Any]) -> None:
        """Replace the row with the identifier ``record["ROW__ID"]`` by the record; otherwise as ``insert``."""
        self._take(UPDATE, partition_values, record)

    def delete(self, partition_values: Sequence[str | None], record: Mapping[str, Any]) -> None:
        """Delete the row with the identifier ``record["ROW__ID"]``, which is all that is looked at; as ``insert``."""
        self._take(DELETE, partition_values, record)

    def _take(self, operation: int, values: Sequence[str | None], record: Mapping[str, Any]) -> None:
        self._check_open()
        with self._failing():
            checked = tuple(values)
            if self._pending and (checked != self._pending_values or len(self._pending) >= _PENDING):
                self._send_pending()
            if not self._pending:
                check_values(self.table, checked)
                self._pending_values = checked
            self._pending.append((operation, record))

    def _send_pending(self) -> None:
        records, self._pending = self._pending, []
        if not records:
            return
        operations = np.array([operation for operation, _ in records], np.int8)
        data = _to_table(self.table, records)
        self._mutate(data, operations, self._pending_values)

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
        """Replace the rows with the identifiers in the column ``ROW__ID``; otherwise as ``insert_batch``."""
        self.mutate_batch(batch, UPDATE, partition_values)

    def delete_batch(
        self, batch: pa.RecordBatch | pa.Table, partition_values: Sequence[str | None] | None = None
    ) -> None:
        """Delete the rows with the identifiers in ``ROW__ID``; other columns may be left out. As ``insert_batch``."""
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
        self._check_open()
        with self._failing():
            self._send_pending()
            each = np.broadcast_to(np.asarray(operations, np.int8), (batch.num_rows,))
            self._mutate(batch, each, partition_values)

    def _mutate(
        self,
        data: pa.RecordBatch | pa.Table,
        operations: npt.NDArray[np.int8],
        partition_values: Sequence[str | None] | None,
    ) -> None:
        incoming = read_incoming(self.table, data, operations, partition_values, self._writer)
        for group, part in runs(incoming):
            if self._validator.enter(group):
                self._leave_group()
                self._group = OpenGroup(group, self.table, self._storage, self._staging, self._statement)
            self._follow(incoming, part)
            assert self._group is not None
            self._group.add(incoming, part)

    def _follow(self, incoming: Incoming, part: slice) -> None:
        gone = incoming.operations[part] != INSERT
        if gone.any():
            self._validator.follow(*changed(incoming, part, gone))

    def _leave_group(self) -> None:
        if self._group is not None:
            self._done.append(self._group.close())
        self._group = None

    # -- the end ----------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Check the records that came one by one so far. A group's files are written when it is left.

        Raises:
            MutationWorkerError, SchemaError, MutationStateError: as ``insert``.
        """
        self._check_open()
        with self._failing():
            self._send_pending()

    def close(self) -> MutationManifest:
        """Write what is left.

        Returns:
            the manifest, which the transaction needs to make the writes count; the same one when closed again.

        Raises:
            MutationWorkerError, SchemaError: as ``insert``.
            MutationStateError: an earlier record failed.
        """
        if self._state is not _State.CLOSED:
            self._check_open()
            with self._failing():
                self._send_pending()
                self._leave_group()
            self._state = _State.CLOSED
        return MutationManifest(self.table.qualified_name, self.table.write_id, self.attempt, tuple(self._done))

    def discard(self) -> None:
        """Remove what this attempt has written. Nothing of it counts any more, also if it was closed."""
        self._fail()
        self._storage.delete_tree(self._staging)

    def _fail(self) -> None:
        self._state = _State.FAILED
        group, self._group, self._pending = self._group, None, []
        if group is not None:
            group.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._state is _State.OPEN:
            self.close()
        elif kind is not None:
            self.discard()

    def _check_open(self) -> None:
        if self._state is _State.OPEN:
            return
        closed = self._state is _State.CLOSED
        raise MutationStateError(
            f"the coordinator of {self.table.qualified_name}, attempt {self.attempt}, "
            + ("is closed" if closed else "has failed or was discarded"),
            remedy="use a new coordinator, and the manifest of that one",
        )

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """An error within makes the coordinator useless, and passes."""
        try:
            yield
        except BaseException:
            self._fail()
            raise


def _to_table(table: AcidTable, records: Sequence[tuple[int, Mapping[str, Any]]]) -> pa.Table:
    """Records that came one by one, in columns."""
    schema = table.row_schema
    names = set(schema.names)
    lowered = [(operation, {name.lower(): value for name, value in record.items()}) for operation, record in records]
    for operation, record in lowered:
        missing = names - record.keys() if operation != DELETE else ()
        unknown = record.keys() - names - {ROW_ID.lower()}
        if missing or unknown:
            what = f"lacks {', '.join(sorted(missing))}" if missing else f"has unknown {', '.join(sorted(unknown))}"
            raise SchemaError(f"a record for {table.qualified_name} {what}", remedy="give a value for each column")
    ids = [_row_id(record.get(ROW_ID.lower())) for _, record in lowered]
    try:
        # What else a delete holds is not looked at.
        kept = [record if operation != DELETE else {} for operation, record in lowered]
        columns = [pa.array([record.get(field.name) for record in kept], field.type) for field in schema]
        return pa.table([*columns, pa.array(ids, ROW_ID_TYPE)], names=[*schema.names, ROW_ID])
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SchemaError(f"a record for {table.qualified_name} does not fit its columns: {error}") from error


def _row_id(value: Any) -> dict[str, Any] | None:  # noqa: ANN401 - whatever the caller gave; Arrow checks it
    if value is None or isinstance(value, Mapping):
        return None if value is None else dict(value)
    write_id, bucket, row_id = value
    return {"writeid": write_id, "bucketid": bucket, "rowid": row_id}
