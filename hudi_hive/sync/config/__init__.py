"""The options of Hive sync, by Hudi's own names, and partition value extractors."""

from __future__ import annotations

from hudi_hive.sync.config.buckets import BucketSpec, parse_bucket_spec
from hudi_hive.sync.config.config import HiveSyncConfig, SyncTarget, read_options
from hudi_hive.sync.config.extractors import (
    EXTRACTORS,
    Extractor,
    find_extractor,
    multi_part,
    single_part,
    slash_encoded_day,
)

__all__ = [
    "EXTRACTORS",
    "BucketSpec",
    "Extractor",
    "HiveSyncConfig",
    "SyncTarget",
    "find_extractor",
    "multi_part",
    "parse_bucket_spec",
    "read_options",
    "single_part",
    "slash_encoded_day",
]
