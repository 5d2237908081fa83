"""Storage: lists, reads, writes and deletes files below one root; every call is counted.

One class over stores of one interface: the local disk, object stores, HDFS, fsspec. It knows nothing of Hudi.
"""

from hudi_hive.storage.block_locations import FileBlocks, hosts_of_range
from hudi_hive.storage.errors import mapped_errors
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
from hudi_hive.storage.kernel_locks import HAS_FLOCK, try_flock, unlock
from hudi_hive.storage.local_files import exchange
from hudi_hive.storage.mapped_files import map_file, read_through, release_pages, spill_folder
from hudi_hive.storage.storage import Storage
from hudi_hive.storage.stores import (
    LISTING_SCHEMA,
    BlockLocation,
    Credentials,
    FileVersion,
    HadoopOptions,
    PathKind,
    PathStatus,
    RangeStream,
    add_options_origin,
    hadoop_properties,
    is_hadoop_name,
    is_store_name,
    layered,
    split_credential_providers,
    use_storage_options,
)
from hudi_hive.storage.together import run_together

__all__ = [
    "HAS_FLOCK",
    "LISTING_SCHEMA",
    "BlockLocation",
    "Credentials",
    "ExpandedPath",
    "FileBlocks",
    "FileVersion",
    "HadoopOptions",
    "HadoopPath",
    "PathKind",
    "PathStatus",
    "RangeStream",
    "Storage",
    "Stores",
    "add_options_origin",
    "compile_glob",
    "exchange",
    "expand",
    "expand_braces",
    "hadoop_properties",
    "hosts_of_range",
    "is_glob",
    "is_hadoop_name",
    "is_hidden",
    "is_store_name",
    "join_paths",
    "layered",
    "map_file",
    "mapped_errors",
    "read_through",
    "release_pages",
    "run_together",
    "spill_folder",
    "split_credential_providers",
    "split_paths",
    "try_flock",
    "unlock",
    "use_storage_options",
]
