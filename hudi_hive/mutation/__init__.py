"""Merges into Hive ACID tables (HIVE-10165): rows to insert, update and delete in, one committed transaction out.

A client holds transaction, locks and heartbeats; coordinators, one per task, write delta and delete delta files that no
reader sees before the commit. The same over Hudi tables is in ``hudi``; nothing else here knows of Hudi.
"""

from __future__ import annotations

from hudi_hive.mutation.acid_table.reader import AcidPartition, AcidReader
from hudi_hive.mutation.acid_table.table import AcidTable
from hudi_hive.mutation.acid_write.client import MutatorClient
from hudi_hive.mutation.acid_write.coordinator import MutatorCoordinator, RowId
from hudi_hive.mutation.acid_write.manifest import MutationManifest
from hudi_hive.mutation.acid_write.merge_by_key import MergeRecords, merge
from hudi_hive.mutation.acid_write.transaction import Transaction, TransactionState
from hudi_hive.mutation.core.heartbeat import LockFailure

__all__ = [
    "AcidPartition",
    "AcidReader",
    "AcidTable",
    "LockFailure",
    "MergeRecords",
    "MutationManifest",
    "MutatorClient",
    "MutatorCoordinator",
    "RowId",
    "Transaction",
    "TransactionState",
    "merge",
]
