"""Inserts, updates and deletes of rows of Hive ACID tables, in one transaction (HIVE-10165).

A client holds transaction, locks and heartbeats; coordinators, one per task, write delta and delete delta files that no
reader sees before the commit. The same over Hudi tables is in ``hudi``; nothing else here knows of Hudi.

Whoever keeps rows elsewhere derives from ``ClientBase``, ``TransactionBase``, ``MutationSink``, ``Mutator`` and
``RecordInspector``; ``Coordinator`` is the same for all.
"""

from __future__ import annotations

from hudi_hive.mutation.acid_table import AcidPartition, AcidReader, AcidTable
from hudi_hive.mutation.acid_write import (
    MergeRecords,
    MutationManifest,
    MutatorClient,
    MutatorCoordinator,
    RowId,
    Transaction,
    TransactionBatch,
    merge,
)
from hudi_hive.mutation.core import (
    ClientBase,
    Coordinator,
    DecodingInspector,
    LockFailure,
    LockSettings,
    Manifest,
    MappingInspector,
    MutationSink,
    Mutator,
    RecordInspector,
    TransactionBase,
    TransactionState,
)

__all__ = [
    "AcidPartition",
    "AcidReader",
    "AcidTable",
    "ClientBase",
    "Coordinator",
    "DecodingInspector",
    "LockFailure",
    "LockSettings",
    "Manifest",
    "MappingInspector",
    "MergeRecords",
    "MutationManifest",
    "MutationSink",
    "Mutator",
    "MutatorClient",
    "MutatorCoordinator",
    "RecordInspector",
    "RowId",
    "Transaction",
    "TransactionBase",
    "TransactionBatch",
    "TransactionState",
    "merge",
]
