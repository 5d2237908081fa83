"""Transactions, write ids and locks of a fake metastore, as in Hive 3.1 and 4, but without time-outs.

Methods have the names and arguments of the Thrift calls and raise its exceptions.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from hudi_hive.metastore._thrift import ttypes as t
from hudi_hive.metastore.transactions import ValidTransactions

_READ, _WRITE, _ALONE, _ONE_WRITER = (
    t.LockType.SHARED_READ,
    t.LockType.SHARED_WRITE,
    t.LockType.EXCLUSIVE,
    t.LockType.EXCL_WRITE,
)
_SHARED: Final = {(_READ, _READ), (_READ, _WRITE), (_WRITE, _READ), (_READ, _ONE_WRITER), (_ONE_WRITER, _READ)}
_CHANGES: Final = (t.DataOperationType.UPDATE, t.DataOperationType.DELETE)

Resource = tuple[str, str | None, str | None]
"""Database, table, partition."""


class _State(Enum):
    OPEN = "open"
    ABORTED = "aborted"
    COMMITTED = "committed"


@dataclass
class _Transaction:
    request: t.OpenTxnRequest
    begun: float
    state: _State = _State.OPEN
    changed: set[Resource] = field(default_factory=set)
    committed: float = 0.0


class FakeTransactions:
    """Locks in the order of the requests, transactions, and the write ids of tables."""

    def __init__(self) -> None:
        self._last_lock = 0
        self._locks: dict[int, t.LockRequest] = {}
        self._transactions: dict[int, _Transaction] = {}
        self._write_ids: dict[str, dict[int, int]] = {}

    # -- locks ------------------------------------------------------------------------------------------------------

    def lock(self, rqst: t.LockRequest) -> t.LockResponse:
        """Request a lock; the table need not exist."""
        if rqst.txnid:
            changed = self._open(rqst.txnid).changed
            for part in rqst.component:
                if part.operationType in _CHANGES and not part.isDynamicPartitionWrite:
                    changed.add((part.dbname, part.tablename, None))
        self._last_lock += 1
        self._locks[self._last_lock] = rqst
        return self._answer(self._last_lock)

    def check_lock(self, rqst: t.CheckLockRequest) -> t.LockResponse:
        """The state of a lock request: acquired, or waiting."""
        self._lock_request(rqst.lockid)
        return self._answer(rqst.lockid)

    def unlock(self, rqst: t.UnlockRequest) -> None:
        """Release a lock, or withdraw a request that is waiting."""
        if self._lock_request(rqst.lockid).txnid and self._answer(rqst.lockid).state == t.LockState.ACQUIRED:
            raise t.TxnOpenException(message=f"Unlocking locks associated with transaction not permitted {rqst.lockid}")
        del self._locks[rqst.lockid]

    def heartbeat(self, ids: t.HeartbeatRequest) -> None:
        """Receive the heartbeat of a lock or a transaction."""
        if ids.lockid:
            self._lock_request(ids.lockid)
        if ids.txnid:
            self._open(ids.txnid)

    def _lock_request(self, lock: int) -> t.LockRequest:
        if lock not in self._locks:
            raise t.NoSuchLockException(message=f"No such lock lockid:{lock}")
        return self._locks[lock]

    def _answer(self, lock: int) -> t.LockResponse:
        requested = self._locks[lock].component
        earlier = [part for other, request in self._locks.items() if other < lock for part in request.component]
        waits = any(
            (mine.dbname, mine.tablename) == (held.dbname, held.tablename) and (held.type, mine.type) not in _SHARED
            for mine in requested
            for held in earlier
        )
        return t.LockResponse(lock, t.LockState.WAITING if waits else t.LockState.ACQUIRED)

    # -- transactions -----------------------------------------------------------------------------------------------

    def open_txns(self, rqst: t.OpenTxnRequest) -> t.OpenTxnsResponse:
        """Open transactions."""
        first = len(self._transactions) + 1
        numbers = list(range(first, first + rqst.num_txns))
        for number in numbers:
            self._transactions[number] = _Transaction(rqst, time.monotonic())
        return t.OpenTxnsResponse(numbers)

    def commit_txn(self, rqst: t.CommitTxnRequest) -> None:
        """Commit a transaction; abort it if one that changed the same table or partition committed meanwhile."""
        mine = self._transaction(rqst.txnid)
        if mine.state is _State.COMMITTED:
            return
        self._open(rqst.txnid)
        # As in metastore 4, which trusts its locks unless told otherwise.
        for number, other in self._transactions.items() if rqst.exclWriteEnabled is False else ():
            both = mine.changed & other.changed
            if other.state is _State.COMMITTED and other.committed > mine.begun and both:
                self._end(rqst.txnid, _State.ABORTED)
                where = "/".join(str(part) for part in sorted(both, key=str)[0] if part)
                text = f"Aborting [txnid:{rqst.txnid}] due to a write conflict on {where} committed by [txnid:{number}]"
                raise t.TxnAbortedException(message=text)
        self._end(rqst.txnid, _State.COMMITTED)

    def abort_txn(self, rqst: t.AbortTxnRequest) -> None:
        """Abort a transaction; repeated calls do nothing."""
        if self._transaction(rqst.txnid).state is _State.COMMITTED:
            raise t.NoSuchTxnException(message=f"Transaction txnid:{rqst.txnid} is already committed.")
        self._end(rqst.txnid, _State.ABORTED)

    def heartbeat_txn_range(self, txns: t.HeartbeatTxnRangeRequest) -> t.HeartbeatTxnRangeResponse:
        """Receive the heartbeats of several transactions; returns those that are not open."""
        asked = {number: self._transactions.get(number) for number in range(txns.min, txns.max + 1)}
        aborted = {number for number, found in asked.items() if found and found.state is _State.ABORTED}
        ended = {number for number, found in asked.items() if not found or found.state is _State.COMMITTED}
        return t.HeartbeatTxnRangeResponse(aborted, ended)

    def get_open_txns(self) -> t.GetOpenTxnsResponse:
        """The open and aborted transactions, with a bit for each aborted one."""
        numbers = [number for number, found in self._transactions.items() if found.state is not _State.COMMITTED]
        opened = [number for number in numbers if self._transactions[number].state is _State.OPEN]
        bits = _bits([self._transactions[number].state is _State.ABORTED for number in numbers])
        return t.GetOpenTxnsResponse(len(self._transactions), numbers, min(opened, default=None), bits)

    def get_open_txns_req(self, getOpenTxnsRequest: t.GetOpenTxnsRequest) -> t.GetOpenTxnsResponse:
        """The open and aborted transactions, by the call of metastore 4."""
        return self.get_open_txns()

    def get_open_txns_info(self) -> t.GetOpenTxnsInfoResponse:
        """The open and aborted transactions with their owners."""
        infos = []
        for number, transaction in self._transactions.items():
            if transaction.state is not _State.COMMITTED:
                state = t.TxnState.OPEN if transaction.state is _State.OPEN else t.TxnState.ABORTED
                who = transaction.request
                infos.append(t.TxnInfo(number, state, who.user, who.hostname, who.agentInfo))
        return t.GetOpenTxnsInfoResponse(len(self._transactions), infos)

    def add_dynamic_partitions(self, rqst: t.AddDynamicPartitions) -> None:
        """Record the partitions that a transaction changed, which its commit compares with others'."""
        changed = self._open(rqst.txnid).changed
        if rqst.operationType in _CHANGES:
            changed |= {(rqst.dbname, rqst.tablename, name) for name in rqst.partitionnames}

    def _transaction(self, number: int) -> _Transaction:
        if number not in self._transactions:
            raise t.NoSuchTxnException(message=f"No such transaction txnid:{number}")
        return self._transactions[number]

    def _open(self, number: int) -> _Transaction:
        transaction = self._transaction(number)
        if transaction.state is _State.ABORTED:
            raise t.TxnAbortedException(message=f"Transaction txnid:{number} already aborted")
        if transaction.state is _State.COMMITTED:
            raise t.NoSuchTxnException(message=f"Transaction txnid:{number} is already committed.")
        return transaction

    def _end(self, number: int, state: _State) -> None:
        found = self._transactions[number]
        found.state, found.committed = state, time.monotonic()
        self._locks = {lock: request for lock, request in self._locks.items() if request.txnid != number}

    # -- write ids --------------------------------------------------------------------------------------------------

    def allocate_table_write_ids(self, rqst: t.AllocateTableWriteIdsRequest) -> t.AllocateTableWriteIdsResponse:
        """Allocate the table's next write id, once for each transaction."""
        held = self._write_ids.setdefault(f"{rqst.dbName}.{rqst.tableName}".lower(), {})
        for number in rqst.txnIds or ():
            self._open(number)
            held.setdefault(number, len(held) + 1)
        return t.AllocateTableWriteIdsResponse([t.TxnToWriteId(number, held[number]) for number in rqst.txnIds or ()])

    def get_valid_write_ids(self, rqst: t.GetValidWriteIdsRequest) -> t.GetValidWriteIdsResponse:
        """The valid write ids under a list of valid transactions."""
        seen = ValidTransactions.parse(rqst.validTxnList)
        tables = []
        for name in rqst.fullTableNames:
            held = self._write_ids.get(name, {})
            top = max((write_id for number, write_id in held.items() if number <= seen.high_water), default=0)
            hidden = [number for number, write_id in held.items() if write_id <= top and not seen.is_valid(number)]
            opened = [held[number] for number in hidden if number not in seen.aborted]
            bits = _bits([number in seen.aborted for number in hidden])
            low = min(opened, default=None)
            tables.append(t.TableValidWriteIds(name, top, [held[number] for number in hidden], low, bits))
        return t.GetValidWriteIdsResponse(tables)


def _bits(marks: list[bool]) -> bytes:
    """Pack booleans to bits, the least significant bit first in each byte."""
    number = sum(1 << position for position, mark in enumerate(marks) if mark)
    return number.to_bytes((number.bit_length() + 7) // 8, "little")
