"""Merges into Hive ACID tables (HIVE-10165): rows to insert, update and delete in, one committed transaction out.

A client holds transaction, locks and heartbeats; coordinators, one per task, write delta and delete delta files that no
reader sees before the commit. The same over Hudi tables is in ``hudi``; nothing else here knows of Hudi.
"""

from __future__ import annotations

from hudi_hive.mutation.client import MutatorClient
from hudi_hive.mutation.coordinator import MutatorCoordinator, RowId
from hudi_hive.mutation.heartbeat import LockFailure
from hudi_hive.mutation.manifest import MutationManifest
from hudi_hive.mutation.merge import MergeRecords, merge
from hudi_hive.mutation.reader import AcidPartition, AcidReader
from hudi_hive.mutation.table import AcidTable
from hudi_hive.mutation.transaction import Transaction, TransactionState

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
