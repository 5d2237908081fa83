"""Transactions, write ids and locks of a metastore."""

from __future__ import annotations

from hudi_hive.metastore.transactions.locks import MetastoreLock
from hudi_hive.metastore.transactions.transaction_values import LockKind, LockPart, LockState, LockStatus, Operation
from hudi_hive.metastore.transactions.transactions import CAPABILITIES, TransactionClient
from hudi_hive.metastore.transactions.valid_ids import RangeState, ValidIds, ValidTransactions, ValidWriteIds

__all__ = [
    "CAPABILITIES",
    "LockKind",
    "LockPart",
    "LockState",
    "LockStatus",
    "MetastoreLock",
    "Operation",
    "RangeState",
    "TransactionClient",
    "ValidIds",
    "ValidTransactions",
    "ValidWriteIds",
]
