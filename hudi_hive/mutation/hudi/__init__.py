"""Mutations of Hudi tables: changes of records by key in one instant, with the interface of HIVE-10165.

Client, transaction, table handle, coordinator and manifest are those of :mod:`hudi_hive.mutation`, with the same names
and states; a record is named by its key instead of a ``ROW__ID``, so that nothing need be sorted or grouped.
"""

from __future__ import annotations

from hudi_hive.mutation.hudi.client import HudiMutatorClient
from hudi_hive.mutation.hudi.coordinator import HudiMutatorCoordinator
from hudi_hive.mutation.hudi.manifest import HUDI_MANIFEST_TAG, HudiManifest
from hudi_hive.mutation.hudi.merge import HudiMergeRecords, HudiMergeRules, merge
from hudi_hive.mutation.hudi.reader import HudiReader
from hudi_hive.mutation.hudi.staging import RecordStager
from hudi_hive.mutation.hudi.table import HUDI_TABLE_TAG, HudiMutationTable
from hudi_hive.mutation.hudi.transaction import HudiTransaction

__all__ = [
    "HUDI_MANIFEST_TAG",
    "HUDI_TABLE_TAG",
    "HudiManifest",
    "HudiMergeRecords",
    "HudiMergeRules",
    "HudiMutationTable",
    "HudiMutatorClient",
    "HudiMutatorCoordinator",
    "HudiReader",
    "HudiTransaction",
    "RecordStager",
    "merge",
]
