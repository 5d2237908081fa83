"""Transactions over Hive ACID tables: coordinators, delta files, merges, commits (HIVE-10165)."""

from __future__ import annotations

from hudi_hive.mutation.acid_write.batch import TransactionBatch
from hudi_hive.mutation.acid_write.client import MutatorClient
from hudi_hive.mutation.acid_write.coordinator import MutatorCoordinator, RowId
from hudi_hive.mutation.acid_write.incoming import Incoming, read_incoming
from hudi_hive.mutation.acid_write.manifest import MANIFEST_TAG, MutationManifest, check_manifests
from hudi_hive.mutation.acid_write.merge_by_key import (
    check_keys,
    check_partition_folders,
    key_pairs,
    key_tests,
    merge,
    refuse_unregistered,
)
from hudi_hive.mutation.acid_write.merge_rules import (
    MergeClauses,
    MergeRecords,
    MergeRules,
    WhenMatched,
    WhenNotMatched,
    check_joinable,
    lowered_names,
)
from hudi_hive.mutation.acid_write.publish import Publisher
from hudi_hive.mutation.acid_write.records import column_of
from hudi_hive.mutation.acid_write.transaction import Transaction

__all__ = [
    "MANIFEST_TAG",
    "Incoming",
    "MergeClauses",
    "MergeRecords",
    "MergeRules",
    "MutationManifest",
    "MutatorClient",
    "MutatorCoordinator",
    "Publisher",
    "RowId",
    "Transaction",
    "TransactionBatch",
    "WhenMatched",
    "WhenNotMatched",
    "check_joinable",
    "check_keys",
    "check_manifests",
    "check_partition_folders",
    "column_of",
    "key_pairs",
    "key_tests",
    "lowered_names",
    "merge",
    "read_incoming",
    "refuse_unregistered",
]
