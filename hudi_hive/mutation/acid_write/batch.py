"""``TransactionBatch``: several transactions that are opened in one call and used one after another.

Source: ``TransactionBatch`` of Hive's streaming API, whose transactions insert. The metastore compares the commit of a
transaction with all that was committed since it was opened, also by those of its own batch; so whatever could conflict
with an open one makes it useless, and it is replaced by a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self

from hudi_hive.errors import HudiHiveError, MutationStateError, TransactionLostError
from hudi_hive.metastore.transactions import TransactionClient
from hudi_hive.mutation.acid_write.opened import OpenedTransaction, TransactionSource
from hudi_hive.mutation.acid_write.transaction import Transaction
from hudi_hive.mutation.core import BatchHeartbeat, LockFailure, LockSettings, TransactionState


class MakeTransaction(Protocol):
    """Makes a transaction of the client, which is the client's only one."""

    def __call__(self, source: TransactionSource) -> Transaction:
        """A transaction that has not begun."""


class TransactionBatch(TransactionSource):
    """Transactions that were opened in one call, for use one after another; heartbeats keep all of them alive.

    ::

        from hudi_hive.mutation import MutatorClient

        with MutatorClient("thrift://host:9083", sinks=["bank.accounts"]) as client:
            with client.new_transaction_batch(10, inserts_only=True) as batch:
                for country in ("nl", "de"):
                    with batch.next_transaction() as one:
                        one.coordinator("bank", "accounts").insert_batch(arrow_table, [country])

    Each transaction commits or aborts by itself, whatever becomes of the others. At the end of the block, or by
    ``close``, those that were not used are aborted; if the process dies, the metastore aborts them after its time-out.
    A transaction of the batch begins as any other: if a table that it writes was written since the batch was opened,
    but for inserts into partitions by the batch itself, it is given up and a new one opened, whose ``id`` is not among
    ``ids``. With ``inserts_only`` that never happens. Made by ``MutatorClient.new_transaction_batch``.
    """

    def __init__(
        self,
        client: TransactionClient,
        beats: TransactionClient,
        count: int,
        locks: LockSettings,
        make: MakeTransaction,
        *,
        tables: tuple[str, ...],
        inserts_only: bool,
    ) -> None:
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise MutationStateError(f"a batch of {count} transactions", remedy="open at least one")
        self.inserts_only = inserts_only
        self._client, self._make, self._tables = client, make, tables
        self._on_failure = locks.on_failure
        self._harmless: dict[str, set[int]] = {}
        timeout_s = client.timeout_seconds()
        self._before = client.valid_transactions()
        self._ids = client.open_batch(count)
        self._unused = list(self._ids)
        self._current: Transaction | None = None
        self._closed = False
        self._heartbeat = BatchHeartbeat(
            beats,
            self._ids,
            interval_s=locks.interval_s(timeout_s),
            timeout_s=timeout_s,
            on_loss=self._tell_loss,
        )
        self._heartbeat.start()

    @property
    def ids(self) -> tuple[int, ...]:
        """Ids of the transactions that were opened in one call, ascending."""
        return self._ids

    @property
    def remaining(self) -> int:
        """Number of transactions that have not begun."""
        return len(self._unused)

    @property
    def closed(self) -> bool:
        """Whether the batch was closed."""
        return self._closed

    def next_transaction(self) -> Transaction:
        """The next transaction, for ``begin`` or a ``with`` block; it counts as used when it begins.

        Raises:
            MutationStateError: all were used, the batch is closed, or another transaction of the client is open.
        """
        self._check_unused()
        self._current = self._make(self)
        return self._current

    def _check_unused(self) -> None:
        if self._closed or not self._unused:
            what = "is closed" if self._closed else f"of {len(self._ids)} transactions is used up"
            raise MutationStateError(f"the batch {what}", remedy="open another one")

    def open(self) -> OpenedTransaction:
        """Take the next open transaction, for one that begins.

        Raises:
            MutationStateError: all were used, or the batch is closed.
            TransactionLostError: it is not open any more; the one behind it is next.
        """
        self._check_unused()
        number = self._unused.pop(0)
        self._heartbeat.release(number)
        return OpenedTransaction(number, self._before, self._harmless)

    def committed(self, transaction: int, inserted: Mapping[str, int]) -> None:
        """Note what a committed transaction did that no other one conflicts with.

        Args:
            transaction: its id.
            inserted: write ids of tables with partitions into which it only inserted.
        """
        if transaction in self._ids:  # others are not visible to those of the batch
            for table, write_id in inserted.items():
                self._harmless.setdefault(table, set()).add(write_id)

    def _tell_loss(self, number: int, cause: HudiHiveError) -> None:
        if self._on_failure is not None:
            self._on_failure(LockFailure(number, None, self._tables, cause))

    def close(self) -> None:
        """Abort the transaction of the batch that is open, and all that were not used.

        Raises:
            MetastoreTransportError: the metastore cannot be told; it aborts them after its time-out.
        """
        if self._closed:
            return
        self._closed = True
        unused, self._unused = self._unused, []
        try:
            if self._current is not None:
                self._current.retire()
                if self._current.state is TransactionState.OPEN:
                    self._current.abort()
        finally:
            self._heartbeat.stop()
            self._abort(unused)

    def _abort(self, numbers: list[int]) -> None:
        failure: HudiHiveError | None = None
        for number in numbers:
            try:
                with suppress(TransactionLostError):
                    self._client.abort(number)
            except HudiHiveError as error:
                failure = error
        if failure is not None:
            raise failure

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
