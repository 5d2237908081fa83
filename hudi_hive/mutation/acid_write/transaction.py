"""``Transaction``: a transaction over Hive ACID tables, from its lock to its commit.

Source: ``Transaction`` and ``Lock`` of HIVE-10165, with the checks that Hive's metastores leave to their clients: that
the lock was granted and is still held, that write sets are compared, and that statistics are not believed any more
(docs/format/hive.md#hive-transactions).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Self

from hudi_hive.errors import (
    HudiHiveError,
    MetastoreServerError,
    MutationStateError,
    TransactionConflictError,
    TransactionError,
    TransactionLockError,
    TransactionLostError,
)
from hudi_hive.metastore.transactions import (
    LockState,
    LockStatus,
    TransactionClient,
    ValidTransactions,
    ValidWriteIds,
)
from hudi_hive.mutation.acid_table import AcidPartition, AcidReader, AcidTable
from hudi_hive.mutation.acid_write.coordinator import MutatorCoordinator
from hudi_hive.mutation.acid_write.manifest import BucketFiles, MutationManifest, check_manifests
from hudi_hive.mutation.acid_write.opened import (
    OpenedTransaction,
    SingleTransactions,
    TransactionSource,
    check_only_inserts,
    lock_part,
    only_inserted,
)
from hudi_hive.mutation.acid_write.publish import Publisher
from hudi_hive.mutation.acid_write.registration import Registration, TouchedPartition, touched_partitions
from hudi_hive.mutation.core import (
    LockFailure,
    LockSettings,
    RecordInspector,
    TransactionBase,
    TransactionHeartbeat,
    TransactionState,
)
from hudi_hive.storage import Credentials

__all__ = ["Transaction", "TransactionState"]

_FIRST_WAIT_S: Final = 0.05
_LONGEST_WAIT_S: Final = 1.0
_TRIES: Final = 3
"""Transactions that are opened whatever the time, before it is said that others always come first."""
_COMMIT_PAUSES_S: Final = (0.1, 0.5, 1.0)
"""Waits before a commit that the metastore failed in is sent again."""


class Transaction(TransactionBase):
    """A transaction: ``begin``, workers write, ``accept`` their manifests, ``commit`` or ``abort``.

    In a ``with`` block it begins, and commits at the end unless an error aborts it. Made by
    ``MutatorClient.new_transaction``.
    """

    def __init__(
        self,
        client: TransactionClient,
        beats: TransactionClient,
        tables: Sequence[AcidTable],
        locks: LockSettings,
        storage_options: Mapping[str, Any] | None = None,
        *,
        source: TransactionSource | None = None,
    ) -> None:
        super().__init__()
        self._client = client
        self._source = source or SingleTransactions(client)
        self._beats = beats
        self._locks = locks
        self._storage_options = Credentials(storage_options or {})
        self._tables = {table.qualified_name: table for table in tables}
        self._id = 0
        self._heartbeat: TransactionHeartbeat | None = None
        self._lock_id: int | None = None
        self._snapshot: ValidTransactions | None = None
        self._valid: dict[str, ValidWriteIds] = {}
        self._commit_sent = False
        self._manifests: list[MutationManifest] = []
        self._coordinators: list[MutatorCoordinator] = []
        self._statements = itertools.count()  # each number once, whichever thread asks
        self._publishers: dict[str, Publisher] = {}

    # -- what it is -------------------------------------------------------------------------------------------------

    @property
    def id(self) -> int:
        """Transaction id of the metastore; 0 before ``begin``."""
        return self._id

    @property
    def tables(self) -> tuple[AcidTable, ...]:
        """The tables of the transaction, sinks with their write ids after ``begin``."""
        return tuple(self._tables.values())

    def table(self, database: str, name: str) -> AcidTable:
        """Find a table of the transaction.

        Raises:
            MutationStateError: it is none of them.
        """
        sink = self._tables.get(f"{database}.{name}".lower())
        if sink is None:
            raise MutationStateError(f"table {database}.{name} is not part of this transaction")
        return sink

    @property
    def snapshot(self) -> ValidTransactions:
        """The valid transactions of the snapshot, on which ``_v`` folders of compactions depend.

        Raises:
            MutationStateError: it has not begun.
        """
        if self._snapshot is None:
            raise MutationStateError("the transaction has not begun")
        return self._snapshot

    def valid_write_ids(self, database: str, name: str) -> ValidWriteIds:
        """The valid write ids of a table, under which identifiers for updates and deletes must be read.

        Raises:
            MutationStateError: it has not begun, or the table is not part of it.
        """
        table = self.table(database, name)
        if table.qualified_name not in self._valid:
            raise MutationStateError("the transaction has not begun")
        return self._valid[table.qualified_name]

    def reader(self, database: str, name: str) -> AcidReader:
        """Open a reader of a table under the transaction's snapshot.

        Raises:
            MutationStateError: it has not begun, or the table is not part of it.
            MetastoreError: the partitions cannot be asked for.
        """
        table = self.table(database, name)
        valid = self.valid_write_ids(database, name)
        partitions = None
        if table.partition_keys:
            found = self._client.metastore.partitions(table.database, table.name)
            partitions = [AcidPartition.of(partition) for partition in found]
        return AcidReader(table, valid, self.snapshot, partitions=partitions, storage_options=self._storage_options)

    # -- begin ------------------------------------------------------------------------------------------------------

    def begin(self, read_under: Sequence[ValidWriteIds] = ()) -> Self:
        """Open the transaction, start heartbeats, acquire the lock, and take snapshot and write ids under it.

        The metastore compares a commit with all that was committed since its transaction was opened. So if a sink was
        written before the lock was granted, the transaction is given up and another opened, which has another ``id``.

        Args:
            read_under: snapshots under which identifiers were read already; the transaction is only of use if nobody
                has written these tables since.

        Raises:
            MutationStateError: it began before, or its client was closed or made another one.
            TransactionLockError: the lock was refused, or not granted in time.
            TransactionConflictError: a table of ``read_under`` was written since, or others wrote the sinks between
                all attempts to open a transaction and lock them.
            MetastoreError: the metastore refuses or cannot be reached.
        """
        self.check_new()
        timeout_s = self._client.timeout_seconds()
        try:
            self._open_and_lock(timeout_s)
            self._take_snapshot(read_under)
        except BaseException:
            if self.state is TransactionState.OPEN:
                self._give_up()
            raise
        return self

    def _open_and_lock(self, timeout_s: float) -> None:
        """Until a transaction has the lock whose commit can succeed."""
        until = time.monotonic() + self._locks.wait_s
        tries = 0
        while True:
            opened = (self._source if not tries else SingleTransactions(self._client)).open()
            self._id = opened.id
            self._state = TransactionState.OPEN
            self._start_heartbeat(timeout_s)
            self._acquire(until)
            now = self._client.valid_transactions()
            tries += 1
            if self._source.inserts_only or not self._is_late(opened, now):
                self._snapshot = now.seen_by(self._id)
                return
            if tries >= _TRIES and time.monotonic() > until:
                raise TransactionConflictError(
                    f"{', '.join(self._tables)} were written by others before each of {tries} locks was granted",
                    path=self._client.metastore.uri,
                    remedy="try again, or wait longer for locks",
                )
            self._stop_heartbeat()
            with suppress(TransactionLostError):
                self._client.abort(self._id)

    def _is_late(self, opened: OpenedTransaction, now: ValidTransactions) -> bool:
        """Whether a sink was written by transactions that ended after it was opened."""
        if not now.has_more_than(opened.before):
            return False
        return any(
            self._valid_of(table, now).has_more_than(
                self._valid_of(table, opened.before), opened.harmless.get(name, ())
            )
            for name, table in self._tables.items()
            if table.sink
        )

    def _valid_of(self, table: AcidTable, seen: ValidTransactions) -> ValidWriteIds:
        return self._client.valid_write_ids(table.database, table.name, seen)

    def _open_write_ids(self, table: AcidTable) -> tuple[int, ...]:
        return self._valid_of(table, self._client.valid_transactions()).open

    def _start_heartbeat(self, timeout_s: float) -> None:
        self._lock_id = None
        seconds = {"interval_s": self._locks.interval_s(timeout_s), "timeout_s": timeout_s}
        self._heartbeat = TransactionHeartbeat(self._beats, self._id, **seconds, on_loss=self._tell_loss)
        self._heartbeat.start()

    def _tell_loss(self, cause: HudiHiveError) -> None:
        if self._locks.on_failure is not None:
            self._locks.on_failure(LockFailure(self._id, self._lock_id, tuple(self._tables), cause))

    def _acquire(self, until: float) -> None:
        """Ask for all locks in one request, and poll that one until it is granted."""
        status = self._client.lock(
            self._id, [lock_part(table, self._source.inserts_only) for table in self._tables.values()]
        )
        pause = _FIRST_WAIT_S
        while status.state is LockState.WAITING:
            left = until - time.monotonic()
            if left <= 0:
                raise self._not_granted(status, f"was not granted within {self._locks.wait_s:g} s")
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_WAIT_S)
            status = self._client.check_lock(self._id, status.id)
        if status.state is not LockState.ACQUIRED:
            raise self._not_granted(status, f"was {status.state.value}")
        self._lock_id = status.id
        if self._heartbeat is not None:
            self._heartbeat.lock_id = status.id

    def _not_granted(self, status: LockStatus, what: str) -> TransactionLockError:
        tables = ", ".join(self._tables)
        return TransactionLockError(
            f"lock {status.id} of {tables} {what}" + (f": {status.message}" if status.message else ""),
            path=self._client.metastore.uri,
            remedy="SHOW LOCKS tells who holds it; try again when they are done",
        )

    def _take_snapshot(self, read_under: Sequence[ValidWriteIds]) -> None:
        for name, table in list(self._tables.items()):
            valid = self._valid_of(table, self.snapshot)
            self._valid[name] = valid
            write_id = 0
            if table.sink:
                write_id = self._client.allocate_write_id(self._id, table.database, table.name)
            self._tables[name] = table.in_transaction(self._id, write_id)
            if table.sink:
                self._publishers[name] = Publisher(self._tables[name], self._storage_options)
                # Asked anew: what the snapshot does not know may have begun later and have a lower write id.
                self._publishers[name].clean_others(partial(self._open_write_ids, table))
        for earlier in read_under:
            now = self._valid.get(earlier.table.lower())
            if now is not None and now.has_more_than(earlier):
                raise TransactionConflictError(
                    f"table {earlier.table} was written since its rows were read",
                    remedy="begin, then read the rows under the transaction's own snapshot",
                )

    def coordinator(self, database: str, name: str, inspector: RecordInspector | None = None) -> MutatorCoordinator:
        """Make a coordinator in this process, which the commit closes and accepts.

        Each gets a statement number of its own, and may be for a thread of its own. A commit fails if one of them has
        failed or was discarded.

        Args:
            database: name of the database.
            name: name of the table.
            inspector: as of ``MutatorCoordinator``.

        Raises:
            MutationStateError: the transaction is not open, or the table is no sink of it.
        """
        self.check_open()
        table = self.table(database, name)
        made = MutatorCoordinator(
            table, statement=next(self._statements), storage_options=self._storage_options, inspector=inspector
        )
        self._coordinators.append(made)
        return made

    # -- the end ----------------------------------------------------------------------------------------------------

    def accept(self, *manifests: MutationManifest) -> None:
        """Accept the manifests of attempts: one for each task, of the attempt that succeeded.

        Raises:
            MutationStateError: the transaction is not open.
            MutationError: a manifest of another table or transaction.
            GroupRevisitedError: two of them hold the same partition and bucket.
        """
        self.check_open()
        self._check([*self._manifests, *manifests])
        self._manifests.extend(manifests)

    def commit(self, manifests: Iterable[MutationManifest] = ()) -> None:
        """Commit what the accepted attempts have written.

        Args:
            manifests: to be accepted before.

        Raises:
            MutationStateError: the transaction is not open.
            TransactionLockError, TransactionLostError: its lock or the transaction itself was lost.
            TransactionConflictError: another writer changed the same partitions and committed first.
            TransactionError: the metastore could not be reached to say whether it is committed (``state`` is UNKNOWN).
            MutationError, StorageError, MetastoreError: something before the commit failed; it is aborted.
        """
        self.check_open()
        try:
            self.accept(*manifests)
            self.accept(*self._own_manifests())
            self._prepare(self._check(self._manifests))
            assert self._heartbeat is not None
            self._heartbeat.stop()
            self._heartbeat.verify()
        except BaseException:
            self._give_up()
            raise
        self._commit_sent = True
        for pause_s in (*_COMMIT_PAUSES_S, None):
            try:
                self._client.commit(self._id)
                break
            except (TransactionConflictError, TransactionLostError):
                self._give_up()
                raise
            except Exception as failure:
                # Of any type: what breaks behind the call must not make a transaction that stands look like none.
                error = failure if isinstance(failure, HudiHiveError) else self._unexpected(failure)
                if self._has_arrived(error):
                    break
                if pause_s is None or not isinstance(error, MetastoreServerError):
                    self._withdraw(error)
                    break
            except BaseException:
                self._state = TransactionState.UNKNOWN
                raise
            # The metastore's database had no lock for it in time, say; it is open still, and nobody else can commit it.
            time.sleep(pause_s)
        self._state = TransactionState.COMMITTED
        self._source.committed(self._id, only_inserted(self._tables, self._manifests))
        with suppress(Exception):
            self._clean()

    def _unexpected(self, error: Exception) -> TransactionError:
        made = TransactionError(f"{type(error).__name__}: {error}", path=self._client.metastore.uri)
        made.__cause__ = error
        return made

    def _own_manifests(self) -> list[MutationManifest]:
        """Those of its coordinators in this process that nobody has accepted yet."""
        accepted = {manifest.attempt for manifest in self._manifests}
        return [made.close() for made in self._coordinators if made.attempt not in accepted]

    def _check(self, manifests: Sequence[MutationManifest]) -> dict[str, tuple[tuple[str, BucketFiles], ...]]:
        """Files of each sink."""
        by_table: dict[str, list[MutationManifest]] = {}
        for manifest in manifests:
            self.table(*manifest.table.split(".", 1))
            by_table.setdefault(manifest.table, []).append(manifest)
        return {
            name: check_manifests(listed, name, self._tables[name].write_id or -1) for name, listed in by_table.items()
        }

    def _prepare(self, files: Mapping[str, tuple[tuple[str, BucketFiles], ...]]) -> None:
        """All that comes before the commit: nothing of it is visible."""
        if self._heartbeat is None or self._lock_id is None:
            raise MutationStateError("the transaction has no lock")
        self._heartbeat.verify()
        for name, groups in files.items():
            if self._source.inserts_only:
                check_only_inserts(name, groups)
            touched: list[TouchedPartition] = touched_partitions(group for _, group in groups)
            if not touched:
                continue
            registration = Registration(self._client, self._tables[name], self._valid[name])
            locations = registration.register(touched)
            self._publishers[name].place(groups, locations)
            registration.drop_statistics(touched)

    def _has_arrived(self, error: HudiHiveError) -> bool:
        """Whether it is committed, after a commit without answer; false only while it is open.

        Raises:
            TransactionLostError: it is aborted.
            TransactionError: it cannot be found out.
        """
        try:
            open_transactions = {info.id: info.aborted for info in self._client.open_transactions()}
        except Exception:
            raise self._unknown(error) from error
        if self._id not in open_transactions:
            return True
        if open_transactions[self._id]:
            self._end_aborted()
            raise self._not_arrived(error) from error
        return False

    def _withdraw(self, error: HudiHiveError) -> None:
        """Abort it after a commit that did not arrive; returns if it has arrived by now.

        Raises:
            TransactionLostError: it is aborted.
            TransactionError: it cannot be found out.
        """
        try:
            self._client.abort(self._id)
        except TransactionLostError:
            return
        except Exception:
            raise self._unknown(error) from error
        self._end_aborted()
        raise self._not_arrived(error) from error

    def _unknown(self, error: HudiHiveError) -> TransactionError:
        self._state = TransactionState.UNKNOWN
        return TransactionError(
            f"whether transaction {self._id} is committed is not known: {error.message}",
            path=error.path,
            remedy="SHOW TRANSACTIONS lists it if it is open or aborted; otherwise it is committed",
        )

    def _not_arrived(self, error: HudiHiveError) -> TransactionLostError:
        return TransactionLostError(
            f"transaction {self._id} was aborted: its commit did not arrive",
            path=error.path,
            remedy="repeat it in a new transaction",
        )

    def abort(self) -> None:
        """Abort the transaction; what workers have written never becomes visible.

        Raises:
            MutationStateError: the transaction is not open.
            MetastoreTransportError: the metastore cannot be told; it aborts the transaction after its time-out.
        """
        self.check_open()
        self._stop_heartbeat()
        self._state = TransactionState.ABORTED
        try:
            self._client.abort(self._id)
        except TransactionLostError:
            if self._commit_sent:
                return  # whatever became of it, its files are not ours to remove
        self._end_aborted()

    def _give_up(self) -> None:
        """Abort after an error, which is the one to be told."""
        with suppress(Exception):
            self.abort()

    def _end_aborted(self) -> None:
        self._state = TransactionState.ABORTED
        for publisher in self._publishers.values():
            with suppress(Exception):
                publisher.withdraw()
        with suppress(Exception):
            self._clean()

    def _clean(self) -> None:
        for publisher in self._publishers.values():
            publisher.clean()

    def _stop_heartbeat(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.stop()
