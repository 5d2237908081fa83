"""Common parts of transactions over Hive ACID tables and over Hudi tables."""

from __future__ import annotations

from hudi_hive.mutation.core.client_base import ClientBase
from hudi_hive.mutation.core.column_types import holds, join_values
from hudi_hive.mutation.core.coordinator import Coordinator
from hudi_hive.mutation.core.heartbeat import (
    BatchHeartbeat,
    LockFailure,
    LockFailureListener,
    LockSettings,
    TransactionHeartbeat,
)
from hudi_hive.mutation.core.inspector import RECORD_ID, DecodingInspector, MappingInspector, RecordInspector
from hudi_hive.mutation.core.serialization import check_fields, decode_text, encode_text
from hudi_hive.mutation.core.sink import Manifest, MutationSink, Mutator
from hudi_hive.mutation.core.transaction_base import TransactionBase, TransactionState

__all__ = [
    "RECORD_ID",
    "BatchHeartbeat",
    "ClientBase",
    "Coordinator",
    "DecodingInspector",
    "LockFailure",
    "LockFailureListener",
    "LockSettings",
    "Manifest",
    "MappingInspector",
    "MutationSink",
    "Mutator",
    "RecordInspector",
    "TransactionBase",
    "TransactionHeartbeat",
    "TransactionState",
    "check_fields",
    "decode_text",
    "encode_text",
    "holds",
    "join_values",
]
