"""Which of two records of one key wins: merge modes, payload classes and their properties."""

from __future__ import annotations

from hudi_hive.table.merge.merge_spec import (
    IS_DELETED,
    OPERATION,
    RECORD_KEY,
    UNAVAILABLE_VALUE,
    MergeSpec,
    Order,
    Partial,
)
from hudi_hive.table.merge.mergers import (
    CustomMerger,
    MergedRecords,
    RecordMerger,
    RecordVersions,
    register_merger,
    register_mergers,
    registered_merger,
    registered_strategy,
    registration_remedy,
    unregister_merger,
)
from hudi_hive.table.merge.properties import CUSTOM, merge_properties, strategy_properties
from hudi_hive.table.merge.version_steps import merge_changes

__all__ = [
    "CUSTOM",
    "IS_DELETED",
    "OPERATION",
    "RECORD_KEY",
    "UNAVAILABLE_VALUE",
    "CustomMerger",
    "MergeSpec",
    "MergedRecords",
    "Order",
    "Partial",
    "RecordMerger",
    "RecordVersions",
    "merge_changes",
    "merge_properties",
    "register_merger",
    "register_mergers",
    "registered_merger",
    "registered_strategy",
    "registration_remedy",
    "strategy_properties",
    "unregister_merger",
]
