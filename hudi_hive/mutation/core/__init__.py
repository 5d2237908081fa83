"""What transactions over Hive ACID tables and over Hudi tables share."""

from __future__ import annotations

from hudi_hive.mutation.core.base import Coordinator, operation_numbers
from hudi_hive.mutation.core.column_types import holds
from hudi_hive.mutation.core.heartbeat import Heartbeat, LockFailure, LockFailureListener
from hudi_hive.mutation.core.serialization import check_fields, decode, encode
from hudi_hive.mutation.core.transaction_base import TransactionBase, TransactionState

__all__ = [
    "Coordinator",
    "Heartbeat",
    "LockFailure",
    "LockFailureListener",
    "TransactionBase",
    "TransactionState",
    "check_fields",
    "decode",
    "encode",
    "holds",
    "operation_numbers",
]
