"""Transactions, write ids and locks of a metastore."""

from __future__ import annotations

from hudi_hive.metastore.transactions.locks import MetastoreLock
from hudi_hive.metastore.transactions.transaction_values import (
    DataOperationType,
    LockKind,
    LockPart,
    LockState,
    LockStatus,
)
from hudi_hive.metastore.transactions.transactions import CAPABILITIES, TransactionClient
from hudi_hive.metastore.transactions.valid_ids import RangeState, ValidIds, ValidTransactions, ValidWriteIds

__all__ = [
    "CAPABILITIES",
    "DataOperationType",
    "LockKind",
    "LockPart",
    "LockState",
    "LockStatus",
    "MetastoreLock",
    "RangeState",
    "TransactionClient",
    "ValidIds",
    "ValidTransactions",
    "ValidWriteIds",
]
