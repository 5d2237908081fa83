"""Storage: lists, reads, writes and deletes files below one root; every call is counted.

One small class over ``pyarrow.fs`` (local, s3, gs, abfs, hdfs) and fsspec; it knows nothing of Hudi.
"""

from hudi_hive.storage.hadoop_paths import (
    ExpandedPath,
    HadoopPath,
    Stores,
    compile_glob,
    expand,
    expand_braces,
    is_glob,
    is_hidden,
    join_paths,
    split_paths,
    stat_many,
)
from hudi_hive.storage.storage import LISTING_SCHEMA, Storage

__all__ = [
    "LISTING_SCHEMA",
    "ExpandedPath",
    "HadoopPath",
    "Storage",
    "Stores",
    "compile_glob",
    "expand",
    "expand_braces",
    "is_glob",
    "is_hidden",
    "join_paths",
    "split_paths",
    "stat_many",
]
