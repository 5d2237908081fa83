"""Inserts, updates and deletes of rows of Hive ACID tables, in one transaction (HIVE-10165).

A client holds transaction, locks and heartbeats; coordinators, one per task, write delta and delete delta files that no
reader sees before the commit. The same over Hudi tables is in ``hudi``; nothing else here knows of Hudi.
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
    merge,
)
from hudi_hive.mutation.core import LockFailure, LockSettings, TransactionState

__all__ = [
    "AcidPartition",
    "AcidReader",
    "AcidTable",
    "LockFailure",
    "LockSettings",
    "MergeRecords",
    "MutationManifest",
    "MutatorClient",
    "MutatorCoordinator",
    "RowId",
    "Transaction",
    "TransactionState",
    "merge",
]
