"""``HudiTransaction``: a transaction over a Hudi table, from its requested to its completed instant.

From begin to commit the write is on the timeline and its heartbeat beats, so that other writers leave it alone. Who
completes a write to the same file groups meanwhile wins, and the commit is refused (RFC-22); without a concurrency
mode, who completes any write.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Self

import pyarrow as pa

from hudi_hive.errors import (
    HeartbeatLostError,
    HudiHiveError,
    LockError,
    MutationError,
    MutationStateError,
    TransactionConflictError,
    TransactionError,
    TransactionLockError,
    TransactionLostError,
    WriteConflictError,
)
from hudi_hive.mutation.core import RecordInspector, TransactionBase, TransactionState
from hudi_hive.mutation.hudi.coordinator import HudiMutatorCoordinator
from hudi_hive.mutation.hudi.manifest import HudiManifest, check_manifests
from hudi_hive.mutation.hudi.reader import HudiReader
from hudi_hive.mutation.hudi.staging import RecordStager
from hudi_hive.mutation.hudi.table import HudiMutationTable
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant
from hudi_hive.write.commit import WriteTransaction as Write
from hudi_hive.write.coordination import CALLBACK, followed
from hudi_hive.write.files import remove_staging
from hudi_hive.write.mutation import MutationWriter
from hudi_hive.write.writers import WriteReport

OnCommit = Callable[[MetaClient, Instant], object]
"""Follows a commit."""

MakeWriter = Callable[[], MutationWriter]
"""Makes a writer of the table as it is now."""


class HudiTransaction(TransactionBase):
    """A transaction: ``begin``, workers stage records, ``accept`` their manifests, ``commit`` or ``abort``.

    In a ``with`` block it begins, and commits at the end unless an error aborts it. Made by
    ``HudiMutatorClient.new_transaction``. The commit reads all staged records into this process, looks them up and
    writes the files: for changes that do not fit into memory use Spark. Two transactions side by side that insert one
    new key into different file groups both succeed, as with all of Hudi's writers.

    Args:
        make_writer: of the table.
        on_commit: see ``HudiMutatorClient``.
    """

    def __init__(self, make_writer: MakeWriter, on_commit: OnCommit | None = None) -> None:
        super().__init__()
        self._make_writer = make_writer
        self._on_commit = on_commit
        self._writer: MutationWriter | None = None
        self._write: Write | None = None
        self._table: HudiMutationTable | None = None
        self._manifests: list[HudiManifest] = []
        self._coordinators: list[HudiMutatorCoordinator] = []
        self._report: WriteReport | None = None

    # -- what it is -------------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """Requested time of the instant; empty before ``begin``."""
        return self._table.instant if self._table is not None else ""

    @property
    def tables(self) -> tuple[HudiMutationTable, ...]:
        """The table of the transaction, after ``begin``."""
        return () if self._table is None else (self._table,)

    def table(self) -> HudiMutationTable:
        """The table of the transaction, for coordinators.

        Raises:
            MutationStateError: it has not begun.
        """
        if self._table is None:
            raise MutationStateError("the transaction has not begun")
        return self._table

    def reader(self) -> HudiReader:
        """Open a reader of the table as of the beginning of the transaction.

        Raises:
            MutationStateError: it has not begun.
        """
        if self._write is None:
            raise MutationStateError("the transaction has not begun")
        return HudiReader(self._write.client, self.table())

    @property
    def report(self) -> WriteReport | None:
        """Report of the commit; None before it."""
        return self._report

    # -- begin ------------------------------------------------------------------------------------------------------

    def begin(self) -> Self:
        """Roll back failed writes, create the requested instant and start heartbeats.

        Raises:
            MutationStateError: it began before, or its client was closed or made another one.
            TransactionLockError: the table's lock was not granted in time.
            SchemaError: the table has no schema yet.
            TimelineError: the timeline cannot be read or written.
        """
        self.check_new()
        self._writer = self._make_writer()
        self._write = self._writer.transaction(recent=True)
        with _errors_of_transactions():
            self._write.begin()
        self._state = TransactionState.OPEN
        try:
            table = HudiMutationTable.of(self._write.client, self._writer.config.options)
            self._table = table.in_transaction(self._write.instant)
        except BaseException:
            self._give_up()
            raise
        return self

    def coordinator(self, inspector: RecordInspector | None = None) -> HudiMutatorCoordinator:
        """Make a coordinator in this process, which the commit closes and accepts.

        A commit fails if one of them has failed or was discarded.

        Args:
            inspector: as of ``HudiMutatorCoordinator``.

        Raises:
            MutationStateError: the transaction is not open.
        """
        self.check_open()
        options = self._storage.storage_options
        made = HudiMutatorCoordinator(self.table(), storage_options=options, inspector=inspector)
        self._coordinators.append(made)
        return made

    # -- the end ----------------------------------------------------------------------------------------------------

    def accept(self, *manifests: HudiManifest) -> None:
        """Accept the manifests of attempts: one for each task, of the attempt that succeeded.

        Raises:
            MutationStateError: the transaction is not open.
            MutationError: a manifest of another table or transaction.
            GroupRevisitedError: one that was accepted before.
        """
        self.check_open()
        table = self.table()
        check_manifests(self._manifests, manifests, table.location, table.instant)
        self._manifests.extend(manifests)

    def commit(self, manifests: Iterable[HudiManifest] = ()) -> None:
        """Commit what the accepted attempts have staged in one instant, and run the table services that are due.

        Args:
            manifests: to be accepted before.

        Raises:
            MutationStateError: the transaction is not open.
            UnknownRecordError, DuplicateRecordError, RecordPartitionError, StaleRecordError: a record is not there,
                there already or in another partition, or is newer than its change.
            TransactionConflictError: another writer changed the same file groups and completed first.
            TransactionLostError, TransactionLockError: others may have taken this writer for dead.
            MutationError, WriteError, StorageError: something before the commit failed; it is aborted. What fails
                behind it (table services, ``on_commit``) raises nothing: it is in ``failed`` of :attr:`report`.
        """
        self.check_open()
        assert self._writer is not None and self._write is not None
        try:
            self.accept(*manifests)
            accepted = {manifest.attempt for manifest in self._manifests}
            self.accept(*(made.close() for made in self._coordinators if made.attempt not in accepted))
            changes = self._changes()
            # Base files are read for the index, and again to merge their rows.
            with _errors_of_transactions(), self._storage.small_files.cached():
                report = self._writer.commit(self._write, changes)
        except BaseException:
            self._give_up()
            raise
        self._committed(report)

    def write_with(self, write: Callable[[MutationWriter, Write], WriteReport]) -> None:
        """Commit what a function writes, such as one that uses an engine; otherwise as :meth:`commit`.

        Args:
            write: takes the writer and the write that has begun, and completes its instant.
        """
        self.check_open()
        assert self._writer is not None and self._write is not None
        if self._manifests or self._coordinators:
            raise MutationStateError("there are manifests or coordinators: commit them")
        try:
            with _errors_of_transactions():
                report = write(self._writer, self._write)
        except BaseException:
            self._give_up()
            raise
        self._committed(report)

    def _committed(self, report: WriteReport) -> None:
        assert self._writer is not None
        self._state = TransactionState.COMMITTED
        self._report = report
        self._clean()
        self._report = self._writer.with_services(report)
        follow, write = self._on_commit, self._write
        if follow is not None and write is not None:
            path, behind = write.client.base_path, self._writer.behind
            self._report = followed(
                self._report,
                path,
                CALLBACK,
                lambda: follow(behind if behind is not None else write.client.reload(), report.instant),
            )

    def _changes(self) -> pa.Table:
        """All staged records.

        Raises:
            MutationError: a staged file is not what its manifest says.
        """
        table = self.table()
        staged = [_staged(self._storage, manifest) for manifest in self._manifests if manifest.path]
        return pa.concat_tables([RecordStager(table).schema.empty_table(), *staged])

    @property
    def _storage(self) -> Storage:
        assert self._write is not None
        return self._write.client.storage

    def abort(self) -> None:
        """Abort: roll the instant back, at the latest in the next write.

        Raises:
            MutationStateError: the transaction is not open.
        """
        self.check_open()
        assert self._write is not None
        self._state = TransactionState.ABORTED
        self._write.abort()
        self._clean()

    def _give_up(self) -> None:
        """Abort after an error, which is the one told, and see whether the instant was completed all the same."""
        assert self._write is not None
        if self._write.completed is not None:  # an interrupt behind the commit
            self._state = TransactionState.COMMITTED
            return
        with suppress(Exception):
            self.abort()
        try:
            timeline = self._write.client.reload().timeline
        except Exception:
            self._state = TransactionState.UNKNOWN
            return
        if any(instant.requested == self._write.instant for instant in timeline.completed()):
            self._state = TransactionState.UNKNOWN

    def _clean(self) -> None:
        """What was staged is of no use any more; the next write removes what this cannot."""
        assert self._write is not None
        with suppress(Exception):
            remove_staging(self._storage, self._write.instant)


def _staged(storage: Storage, manifest: HudiManifest) -> pa.Table:
    """The records of one attempt."""
    path = storage.uri(manifest.path)
    try:
        data = storage.read_bytes(posixpath.normpath(manifest.path))
        with pa.ipc.open_stream(pa.py_buffer(data)) as stream:
            table = stream.read_all()
    except (HudiHiveError, pa.ArrowException, OSError) as error:
        raise MutationError(
            f"what attempt {manifest.attempt} has staged cannot be read: {error}",
            path=path,
            remedy="run the task again and accept the manifest of that attempt",
        ) from error
    if (len(data), table.num_rows) != (manifest.size, manifest.rows):
        raise MutationError(
            f"attempt {manifest.attempt} has staged {table.num_rows} records in {len(data)} bytes, its manifest says "
            f"{manifest.rows} in {manifest.size}",
            path=path,
            remedy="give each attempt a name of its own",
        )
    return table


@contextmanager
def _errors_of_transactions() -> Iterator[None]:
    """Errors of the writer as those of transactions."""
    try:
        yield
    except tuple(_ERRORS) as error:
        ours = next(ours for theirs, ours in _ERRORS.items() if isinstance(error, theirs))
        raise ours(error.message, path=error.path, instant=error.instant, remedy=error.remedy) from error


_ERRORS: Mapping[type[HudiHiveError], type[TransactionError]] = {
    WriteConflictError: TransactionConflictError,
    HeartbeatLostError: TransactionLostError,
    LockError: TransactionLockError,
}
