"""Record keys and partition paths as Hudi's key generators make them, and back from a path to values."""

from __future__ import annotations

from hudi_hive.table.keys.bucket_rules import (
    RULE_TYPE,
    BucketRules,
    every_bucket_rules,
    remove_bucket_rules,
    rescaling_instants,
    save_bucket_rules,
    stored_bucket_rules,
)
from hudi_hive.table.keys.key_generator import NEW_COMPLEX_ENCODING, NULL_KEY, KeyGenerator
from hudi_hive.table.keys.partition_paths import (
    ALL_PARTITIONS,
    DEFAULT_PARTITION,
    MAX_DEPTH,
    MAX_FOLDER_BYTES,
    METAFOLDER,
    PARTITION_METAFILE,
    PARTITION_METAFILES,
    escape_value,
    holds_partitions,
    partition_path,
    partition_value_columns,
    partition_values,
    path_defect,
    unescape_value,
)

__all__ = [
    "ALL_PARTITIONS",
    "DEFAULT_PARTITION",
    "MAX_DEPTH",
    "MAX_FOLDER_BYTES",
    "METAFOLDER",
    "NEW_COMPLEX_ENCODING",
    "NULL_KEY",
    "PARTITION_METAFILE",
    "PARTITION_METAFILES",
    "RULE_TYPE",
    "BucketRules",
    "KeyGenerator",
    "escape_value",
    "every_bucket_rules",
    "holds_partitions",
    "partition_path",
    "partition_value_columns",
    "partition_values",
    "path_defect",
    "remove_bucket_rules",
    "rescaling_instants",
    "save_bucket_rules",
    "stored_bucket_rules",
    "unescape_value",
]
