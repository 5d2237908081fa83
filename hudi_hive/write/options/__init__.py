"""The options of writers, by Hudi's own names: values, ranges, defaults, and refusals by name."""

from __future__ import annotations

from hudi_hive.write.options.config import WriteConfig
from hudi_hive.write.options.settings import (
    ArchiveSettings,
    CleanSettings,
    ClusteringSettings,
    CompactionSettings,
    DuplicatePolicy,
    FileSettings,
    IndexSettings,
    IndexType,
    Operation,
    TtlSettings,
)
from hudi_hive.write.options.validators import Validator, ValidatorQuery

__all__ = [
    "ArchiveSettings",
    "CleanSettings",
    "ClusteringSettings",
    "CompactionSettings",
    "DuplicatePolicy",
    "FileSettings",
    "IndexSettings",
    "IndexType",
    "Operation",
    "TtlSettings",
    "Validator",
    "ValidatorQuery",
    "WriteConfig",
]
