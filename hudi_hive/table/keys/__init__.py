"""Record keys and partition paths as Hudi's key generators make them, and back from a path to values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.lazy_names import lazy_names
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

if TYPE_CHECKING:
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

_HOMES = {
    "BucketRules": "bucket_rules",
    "KeyGenerator": "key_generator",
    "NEW_COMPLEX_ENCODING": "key_generator",
    "NULL_KEY": "key_generator",
    "RULE_TYPE": "bucket_rules",
    "every_bucket_rules": "bucket_rules",
    "remove_bucket_rules": "bucket_rules",
    "rescaling_instants": "bucket_rules",
    "save_bucket_rules": "bucket_rules",
    "stored_bucket_rules": "bucket_rules",
}

# Loaded on first use: readers need the names of partitions alone.
__getattr__ = lazy_names(__name__, _HOMES)
