"""``TransactionClient``: the metastore's calls of transactions on Hive ACID tables, for 3.1 and 4.x.

In come names, transaction numbers and locks to take; out come numbers, lists of what is visible, and errors that tell a
lost transaction from a conflict and from a lock. Nothing here runs by itself: beats and waits belong to the caller.

Source: docs/format/hive.md#hive-transactions.
"""

from __future__ import annotations

import getpass
import socket
from collections.abc import Sequence
from typing import Any, Final

from hudi_hive.errors import (
    AlreadyExistsError,
    MetastoreServerError,
    MethodNotSupportedError,
    TransactionError,
)
from hudi_hive.metastore._thrift import ttypes
from hudi_hive.metastore.client import HiveMetastore, Partition, Table
from hudi_hive.metastore.transactions.transaction_values import (
    DataOperationType,
    LockKind,
    LockPart,
    LockState,
    LockStatus,
    TransactionInfo,
    named,
    parse_seconds,
    status_of,
)
from hudi_hive.metastore.transactions.valid_ids import (
    NONE_OPEN,
    RangeState,
    ValidTransactions,
    ValidWriteIds,
    split_aborted,
)

__all__ = [
    "DEFAULT_TIMEOUT_SECONDS",
    "DataOperationType",
    "LockKind",
    "LockPart",
    "LockState",
    "LockStatus",
    "RangeState",
    "TransactionClient",
    "TransactionInfo",
    "ValidTransactions",
    "ValidWriteIds",
]

DEFAULT_TIMEOUT_SECONDS: Final = 300.0
"""After so many seconds without a beat the metastore takes a transaction for dead, unless it is told otherwise."""

CAPABILITIES: Final = (
    "HIVEFULLACIDWRITE",
    "HIVEFULLACIDREAD",
    "HIVEMANAGEDINSERTWRITE",
    "HIVEMANAGEDINSERTREAD",
    "HIVECACHEINVALIDATE",
    "CONNECTORREAD",
    "CONNECTORWRITE",
)
"""What metastore 4 wants to hear before it makes or hands out a table of rows that change."""

_OLD: Final = "transactions on tables need a Hive metastore of version 3.1 or newer: {} is missing"
_WRITABLE: Final = 4 | 8  # write-only, read and write


class TransactionClient:
    """The calls of transactions, the same for metastores 3.1 and 4.x.

    As safe to use from several threads as the client below it: each call under way has a connection of its own, so a
    thread that beats never waits for another's call while the pool has one to spare.

    Args:
        metastore: the client to call through, which others may use too and which stays theirs to close.
        user: who the transactions belong to; None for the user of this process.
        agent: the program, as ``SHOW TRANSACTIONS`` names it.

    Every call raises ``MetastoreTransportError`` if the metastore cannot be reached, and ``MethodNotSupportedError``
    if it is older than 3.1.

    Source: HIVE-10165 and the metastore's Thrift interface.
    """

    def __init__(self, metastore: HiveMetastore, *, user: str | None = None, agent: str = "hudi_hive") -> None:
        self.metastore = metastore
        self._user = user or getpass.getuser()
        self._agent = agent
        self._host = socket.gethostname()
        self._generation: int | None = None

    @property
    def generation(self) -> int:
        """3 or 4: the metastore's major version, by the calls that it has; looked up once.

        Raises:
            MethodNotSupportedError: it is older than 3.1.
        """
        if self._generation is None:
            self._generation = self._ask_generation()
        return self._generation

    def _ask_generation(self) -> int:
        about = "the transactions"
        try:
            self._call("get_open_txns_req", ttypes.GetOpenTxnsRequest(), about=about)
            return 4
        except MethodNotSupportedError:
            request = ttypes.GetValidWriteIdsRequest(fullTableNames=[], validTxnList=ValidTransactions(0).format())
            self._call("get_valid_write_ids", request, about=about)
            return 3
        except MetastoreServerError:
            return 4  # 4.0 has the call, and fails in it while transactions are open

    def timeout_seconds(self) -> float:
        """Seconds without heartbeat after which the metastore aborts a transaction (``hive.txn.timeout``).

        Raises:
            TransactionError: the metastore answers with no time.
        """
        default = f"{DEFAULT_TIMEOUT_SECONDS:.0f}s"
        text = str(self._call("get_config_value", "hive.txn.timeout", default, about="hive.txn.timeout"))
        return parse_seconds(text, self.metastore.uri)

    # -- tables -----------------------------------------------------------------------------------------------------

    def table(self, database: str, name: str, *, write: bool = False) -> Table:
        """Get a table, with the client capabilities for ACID tables.

        Args:
            database: name of the database.
            name: name of the table.
            write: it is to be written, not only read.

        Raises:
            NoSuchObjectError: there is none of this name.
            TransactionError: it is to be written, and the metastore does not let us.
        """
        request = ttypes.GetTableRequest(
            dbName=database,
            tblName=name,
            processorCapabilities=list(CAPABILITIES),
            processorIdentifier=self._identity(),
        )
        definition: Table = self._call("get_table_req", request, about=_about(database, name)).table
        if write and definition.accessType is not None and not definition.accessType & _WRITABLE:
            raise TransactionError(
                f"{_about(database, name)}: the metastore does not let this client write it "
                f"(access type {definition.accessType})",
                path=self.metastore.uri,
                remedy="its required capabilities name something that this program does not do",
            )
        return definition

    def create_table(self, table: Table, *, if_not_exists: bool = False) -> bool:
        """Create a table, with the client capabilities that metastore 4 requires for ACID tables.

        Returns:
            False if it existed already and ``if_not_exists`` is set.

        Raises:
            AlreadyExistsError: it exists and ``if_not_exists`` is not set.
            MetastoreServerError: the metastore refuses it: not ORC, sorted, external.
        """
        if self.generation < 4:
            return self.metastore.create_table(table, if_not_exists=if_not_exists)
        request = ttypes.CreateTableRequest(
            table=table, processorCapabilities=list(CAPABILITIES), processorIdentifier=self._identity()
        )
        about = _about(table.dbName, table.tableName)
        try:
            self._call("create_table_req", request, about=about, repeatable=if_not_exists)
        except AlreadyExistsError:
            if not if_not_exists:
                raise
            return False
        return True

    def alter_table(self, table: Table, *, write_id: int, valid: ValidWriteIds) -> None:
        """Replace a table's definition inside a transaction.

        Args:
            table: the whole new definition.
            write_id: the transaction's write id of this table.
            valid: what the transaction sees of this table.

        Raises:
            InvalidOperationError: no such table, or a change that the metastore refuses.
        """
        if self.generation < 4:
            self.metastore.alter_table(table.dbName, table.tableName, table)
            return
        request = ttypes.AlterTableRequest(
            dbName=table.dbName,
            tableName=table.tableName,
            table=table,
            writeId=write_id,
            validWriteIdList=valid.format(),
            processorCapabilities=list(CAPABILITIES),
            processorIdentifier=self._identity(),
        )
        self._call("alter_table_req", request, about=_about(table.dbName, table.tableName), repeatable=False)

    def alter_partitions(
        self,
        database: str,
        table: str,
        partitions: Sequence[Partition],
        *,
        write_id: int,
        valid: ValidWriteIds,
    ) -> None:
        """Replace the definitions of partitions inside a transaction, in batches; arguments as in ``alter_table``.

        Raises:
            InvalidOperationError: one does not exist. Earlier batches stay changed.
        """
        if self.generation < 4:
            self.metastore.alter_partitions(database, table, partitions)
            return

        def alter(batch: Sequence[Partition]) -> None:
            request = ttypes.AlterPartitionsRequest(
                dbName=database,
                tableName=table,
                partitions=list(batch),
                writeId=write_id,
                validWriteIdList=valid.format(),
            )
            self._call("alter_partitions_req", request, about=f"partitions of {database}.{table}", repeatable=False)

        self.metastore.write_batches(partitions, alter, None, repeatable=False)

    # -- transactions -----------------------------------------------------------------------------------------------

    def open(self) -> int:
        """Open a transaction, which times out without a heartbeat for ``timeout_seconds``.

        Returns:
            its number.
        """
        return self.open_batch(1)[0]

    def open_batch(self, count: int) -> tuple[int, ...]:
        """Open several transactions in one call, each of which times out by itself; otherwise as :meth:`open`.

        Metastore 4 fails in such a call on Derby, which gives no keys of rows inserted together: it is called for each
        transaction then.

        Args:
            count: how many; metastores open no more than ``hive.txn.max.open.batch`` (1000) in one call.

        Returns:
            their numbers, ascending, of which others may lie between.
        """
        try:
            return self._open(count)
        except MetastoreServerError:
            if count < 2:
                raise
            return tuple(self._open(1)[0] for _ in range(count))

    def _open(self, count: int) -> tuple[int, ...]:
        _ = self.generation  # metastore 2.3 opens transactions as well, but has no write ids
        request = ttypes.OpenTxnRequest(num_txns=count, user=self._user, hostname=self._host, agentInfo=self._agent)
        # Not repeatable: the first one would stay open, and keep compaction waiting, until it times out.
        answer = self._call("open_txns", request, about="a new transaction", repeatable=False)
        return tuple(sorted(int(number) for number in answer.txn_ids))

    def commit(self, transaction: int) -> None:
        """Make a transaction's writes visible, unless another changed the same since it was opened.

        Twice is the same as once, for one that changed something. The metastore does not ask whether the transaction's
        lock was acquired: whoever commits must have checked that. And it compares with all that was committed since
        ``open``: who had to wait for a lock conflicts with whom it waited for, if both change the same partition.

        Raises:
            TransactionConflictError: another writer came first; the transaction is aborted.
            TransactionLostError: it was aborted or timed out before, or there is none of this number (metastore 3.1
                remembers none that changed nothing).
        """
        # Metastore 4 compares write sets only if told that the writers' locks do not exclude each other already.
        request = ttypes.CommitTxnRequest(txnid=transaction, exclWriteEnabled=False)
        self._call("commit_txn", request, about=_transaction(transaction))

    def abort(self, transaction: int) -> None:
        """Abort a transaction, so that its writes never become visible; may be repeated.

        Raises:
            TransactionLostError: it was committed already, or there is none of this number.
        """
        self._call("abort_txn", ttypes.AbortTxnRequest(txnid=transaction), about=_transaction(transaction))

    def heartbeat(self, transaction: int, lock: int | None = None) -> None:
        """Send a heartbeat of a transaction and its lock, which lasts for ``timeout_seconds``.

        Raises:
            TransactionLostError: it has ended.
            TransactionLockError: the lock is gone (metastore 3.1 says so when the transaction has ended, too).
        """
        request = ttypes.HeartbeatRequest(lockid=lock or 0, txnid=transaction)
        self._call("heartbeat", request, about=_transaction(transaction))

    def heartbeat_range(self, first: int, last: int) -> tuple[frozenset[int], frozenset[int]]:
        """Send a heartbeat for the transactions from ``first`` to ``last``; returns those that are not open.

        Returns:
            those that are aborted, those that have ended otherwise or never were.
        """
        request = ttypes.HeartbeatTxnRangeRequest(min=first, max=last)
        answer = self._call("heartbeat_txn_range", request, about=f"transactions {first} to {last}")
        return frozenset(answer.aborted), frozenset(answer.nosuch)

    def open_transactions(self) -> list[TransactionInfo]:
        """All transactions that are open, or aborted and not yet cleaned away."""
        return [
            TransactionInfo(
                info.id, info.state == ttypes.TxnState.ABORTED, info.user, info.hostname, info.agentInfo or ""
            )
            for info in self._call("get_open_txns_info", about="the transactions").open_txns
        ]

    # -- locks ------------------------------------------------------------------------------------------------------

    def lock(self, transaction: int, parts: Sequence[LockPart]) -> LockStatus:
        """Request the locks of a transaction in one call; a waiting lock is polled with ``check_lock``.

        They end with the transaction: there is nothing to unlock.

        Raises:
            TransactionLostError: the transaction is not open.
        """
        if not parts:
            raise TransactionError(f"{_transaction(transaction)}: a lock of no table")
        request = ttypes.LockRequest(
            component=[self._component(part) for part in parts],
            txnid=transaction,
            user=self._user,
            hostname=self._host,
            agentInfo=self._agent,
        )
        # Not repeatable: a second request would queue behind the first.
        return status_of(self._call("lock", request, about=_transaction(transaction), repeatable=False))

    def check_lock(self, transaction: int, lock: int) -> LockStatus:
        """Check whether a waiting lock is granted, which is also a heartbeat of its transaction.

        Raises:
            TransactionLostError: the transaction is not open.
            TransactionLockError: there is no such lock.
        """
        request = ttypes.CheckLockRequest(lockid=lock, txnid=transaction)
        return status_of(self._call("check_lock", request, about=_transaction(transaction)))

    def _component(self, part: LockPart) -> ttypes.LockComponent:
        return ttypes.LockComponent(
            type=self._lock_type(part.kind),
            level=ttypes.LockLevel.TABLE,
            dbname=part.database.lower(),
            tablename=part.table.lower(),
            operationType=ttypes.DataOperationType[part.operation.value],
            isTransactional=True,
            isDynamicPartitionWrite=part.dynamic,
        )

    def _lock_type(self, kind: LockKind) -> ttypes.LockType:
        if kind is LockKind.WRITE:
            # In metastore 4 shared writers do not exclude each other; 3.1 has no other and breaks the connection.
            return ttypes.LockType.EXCL_WRITE if self.generation >= 4 else ttypes.LockType.SHARED_WRITE
        return ttypes.LockType.SHARED_READ if kind is LockKind.READ else ttypes.LockType.EXCLUSIVE

    # -- write ids --------------------------------------------------------------------------------------------------

    def valid_transactions(self, transaction: int | None = None) -> ValidTransactions:
        """The transactions whose writes are visible now.

        Args:
            transaction: as seen from inside this one; None for a reader without a transaction.
        """
        answer = self._call("get_open_txns", about="the transactions")
        opened, aborted = split_aborted(answer.open_txns, answer.abortedBits)
        valid = ValidTransactions(answer.txn_high_water_mark, opened, aborted, opened[0] if opened else NONE_OPEN)
        return valid if transaction is None else valid.seen_by(transaction)

    def valid_write_ids(self, database: str, table: str, transactions: ValidTransactions) -> ValidWriteIds:
        """The valid write ids of a table under the given valid transactions.

        Args:
            database: name of the database.
            table: name of the table; the metastore answers for one that is missing as for one never written.
            transactions: a snapshot: take it after the lock, and use one for all tables of a query.
        """
        name = f"{database}.{table}".lower()
        request = ttypes.GetValidWriteIdsRequest(fullTableNames=[name], validTxnList=transactions.format())
        valid = self._call("get_valid_write_ids", request, about=f"write ids of {name}").tblValidWriteIds[0]
        opened, aborted = split_aborted(valid.invalidWriteIds, valid.abortedBits)
        lowest = valid.minOpenWriteId or (opened[0] if opened else NONE_OPEN)
        return ValidWriteIds(valid.writeIdHighWaterMark, opened, aborted, lowest, name)

    def allocate_write_id(self, transaction: int, database: str, table: str) -> int:
        """Allocate the write id of a transaction for a table; repeated calls return the same id.

        Raises:
            TransactionLostError: the transaction is not open.
        """
        request = ttypes.AllocateTableWriteIdsRequest(
            dbName=database.lower(), tableName=table.lower(), txnIds=[transaction]
        )
        answer = self._call("allocate_table_write_ids", request, about=_transaction(transaction))
        write_ids = {entry.txnId: int(entry.writeId) for entry in answer.txnToWriteIds}
        if transaction not in write_ids:
            raise TransactionError(f"{_transaction(transaction)}: no write id came for {database}.{table}")
        return write_ids[transaction]

    def add_dynamic_partitions(
        self,
        transaction: int,
        write_id: int,
        database: str,
        table: str,
        partitions: Sequence[str],
        operation: DataOperationType,
    ) -> None:
        """Tell which partitions a transaction wrote.

        Conflicts are looked for, and compaction begins, partition by partition.

        Args:
            transaction: its number.
            write_id: its write id of this table.
            database: name of the database.
            table: name of the table.
            partitions: their names, ``k1=v1/k2=v2`` with Hive's escapes; none changes nothing.
            operation: what was done to them; ``UPDATE`` stands for any mixture.

        Raises:
            TransactionLostError: the transaction is not open.
        """
        if not partitions:
            return
        request = ttypes.AddDynamicPartitions(
            txnid=transaction,
            writeid=write_id,
            dbname=database.lower(),
            tablename=table.lower(),
            partitionnames=list(partitions),
            operationType=ttypes.DataOperationType[operation.value],
        )
        self._call("add_dynamic_partitions", request, about=_transaction(transaction))

    # -- within -----------------------------------------------------------------------------------------------------

    def _identity(self) -> str:
        return f"{self._agent}@{self._host}"

    def _call(self, method: str, *arguments: object, about: str, repeatable: bool = True) -> Any:  # noqa: ANN401
        try:
            return self.metastore.call(method, *arguments, about=about, repeatable=repeatable)
        except MethodNotSupportedError as error:
            raise MethodNotSupportedError(
                _OLD.format(method), path=error.path, remedy="use a Hive metastore of version 3.1 or newer"
            ) from error
        except MetastoreServerError as error:
            raise named(error) from error


def _about(database: str, table: str) -> str:
    return f"table {database}.{table}"


def _transaction(number: int) -> str:
    return f"transaction {number}"
