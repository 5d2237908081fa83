"""Common parts of transactions over Hive ACID tables and over Hudi tables."""

from __future__ import annotations

from hudi_hive.mutation.core.base import CoordinatorBase, operation_numbers
from hudi_hive.mutation.core.column_types import holds
from hudi_hive.mutation.core.heartbeat import LockFailure, LockFailureListener, LockSettings, TransactionHeartbeat
from hudi_hive.mutation.core.serialization import check_fields, decode_text, encode_text
from hudi_hive.mutation.core.transaction_base import TransactionBase, TransactionState

__all__ = [
    "CoordinatorBase",
    "LockFailure",
    "LockFailureListener",
    "LockSettings",
    "TransactionBase",
    "TransactionHeartbeat",
    "TransactionState",
    "check_fields",
    "decode_text",
    "encode_text",
    "holds",
    "operation_numbers",
]
