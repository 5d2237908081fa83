"""Storage: lists, reads, writes and deletes files below one root; every call is counted.

One class over stores of one interface: the local disk, object stores, HDFS, fsspec. It knows nothing of Hudi.
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
)
from hudi_hive.storage.storage import Storage
from hudi_hive.storage.stores import LISTING_SCHEMA, FileVersion, PathKind, PathStatus, RangeStream
from hudi_hive.storage.together import run_together

__all__ = [
    "LISTING_SCHEMA",
    "ExpandedPath",
    "FileVersion",
    "HadoopPath",
    "PathKind",
    "PathStatus",
    "RangeStream",
    "Storage",
    "Stores",
    "compile_glob",
    "expand",
    "expand_braces",
    "is_glob",
    "is_hidden",
    "join_paths",
    "run_together",
    "split_paths",
]
