"""The stores behind Storage, of one interface: object stores, HDFS, fsspec; their options, retries and faults."""

from hudi_hive.storage.stores.arrow_store import ArrowStore
from hudi_hive.storage.stores.base import (
    LISTING_SCHEMA,
    MISSING,
    BlockLocation,
    CacheableStore,
    FileRanges,
    FileStore,
    FileVersion,
    LocatingStore,
    PathKind,
    PathStatus,
    VersionedStore,
)
from hudi_hive.storage.stores.connect import OBJECT_SCHEMES, hdfs_store, object_store
from hudi_hive.storage.stores.missing_secrets import add_options_origin, use_storage_options, with_secrets
from hudi_hive.storage.stores.remote_streams import RangeFile, RangeStream, join_neighbours
from hudi_hive.storage.stores.retry import RetryPolicy, TransientFault
from hudi_hive.storage.stores.settings import (
    Credentials,
    HadoopOptions,
    hadoop_properties,
    is_hadoop_name,
    is_store_name,
    layered,
    split_credential_providers,
    storage_options,
)

__all__ = [
    "LISTING_SCHEMA",
    "MISSING",
    "OBJECT_SCHEMES",
    "ArrowStore",
    "BlockLocation",
    "CacheableStore",
    "Credentials",
    "FileRanges",
    "FileStore",
    "FileVersion",
    "HadoopOptions",
    "LocatingStore",
    "PathKind",
    "PathStatus",
    "RangeFile",
    "RangeStream",
    "RetryPolicy",
    "TransientFault",
    "VersionedStore",
    "add_options_origin",
    "hadoop_properties",
    "hdfs_store",
    "is_hadoop_name",
    "is_store_name",
    "join_neighbours",
    "layered",
    "object_store",
    "split_credential_providers",
    "storage_options",
    "use_storage_options",
    "with_secrets",
]
