"""Hive metastores: a Thrift client for versions 2.3 to 4.x, and a real embedded metastore for demos and tests.

In come URIs, names and the metastore's own structs; out come the same structs, Arrow tables of partitions, call counts.
Reading partitions is batched and pipelined; nothing here deletes table data; errors are ours, with the address in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_hive.metastore.client import (
    Database,
    FieldSchema,
    HiveMetastore,
    Order,
    Partition,
    PrincipalType,
    SerDeInfo,
    StorageDescriptor,
    Table,
    partition_name,
)
from hudi_hive.metastore.connection import (
    BatchSizes,
    CallCounter,
    DelegationToken,
    Http,
    Retries,
    Sasl,
    Timeouts,
    Tls,
    from_hive_properties,
    read_token_file,
    write_token_file,
)

if TYPE_CHECKING:
    from hudi_hive.metastore.embedded import EmbeddedMetastore, Java, RunningMetastore, find_java, find_running
    from hudi_hive.metastore.transactions import (
        DataOperationType,
        LockKind,
        LockPart,
        LockState,
        LockStatus,
        RangeState,
        TransactionClient,
        ValidTransactions,
        ValidWriteIds,
    )

__all__ = [
    "BatchSizes",
    "CallCounter",
    "DataOperationType",
    "Database",
    "DelegationToken",
    "EmbeddedMetastore",
    "FieldSchema",
    "HiveMetastore",
    "Http",
    "Java",
    "LockKind",
    "LockPart",
    "LockState",
    "LockStatus",
    "Order",
    "Partition",
    "PrincipalType",
    "RangeState",
    "Retries",
    "RunningMetastore",
    "Sasl",
    "SerDeInfo",
    "StorageDescriptor",
    "Table",
    "Timeouts",
    "Tls",
    "TransactionClient",
    "ValidTransactions",
    "ValidWriteIds",
    "find_java",
    "find_running",
    "from_hive_properties",
    "partition_name",
    "read_token_file",
    "write_token_file",
]

# Loaded when asked for: a client needs no embedded metastore and no transactions.
_LATER = {
    "EmbeddedMetastore": "embedded.embedded",
    "Java": "embedded.java",
    "LockKind": "transactions.transaction_values",
    "LockPart": "transactions.transaction_values",
    "LockState": "transactions.transaction_values",
    "LockStatus": "transactions.transaction_values",
    "DataOperationType": "transactions.transaction_values",
    "RangeState": "transactions.valid_ids",
    "RunningMetastore": "embedded.embedded_lock",
    "TransactionClient": "transactions.transactions",
    "ValidTransactions": "transactions.valid_ids",
    "ValidWriteIds": "transactions.valid_ids",
    "find_java": "embedded.java",
    "find_running": "embedded.embedded_lock",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - as many types as names
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
