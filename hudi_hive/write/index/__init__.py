"""Indexes: find the file group of each record, by key and partition.

An :class:`Index` makes a plan of tasks, each of which looks keys up by itself, here or where Spark runs it.
"""

from hudi_hive.write.index.base import Index
from hudi_hive.write.index.bucket import BucketIndex, bucket_numbers, uncounted_rescalings
from hudi_hive.write.index.consistent import ConsistentBucketIndex, ring_hashes
from hudi_hive.write.index.existing import existing_records, with_ordering
from hudi_hive.write.index.hash_ring import (
    DELETE,
    REPLACE,
    HashingMetadata,
    HashingNode,
    decode_nodes,
    encode_nodes,
    new_prefix,
)
from hudi_hive.write.index.hashing_files import (
    hashed_partitions,
    load_hashing,
    remove_hashing,
    renew_hashing,
    save_hashing,
)
from hudi_hive.write.index.key_source import KeySource, slices_of
from hudi_hive.write.index.kinds import check_index, open_index
from hudi_hive.write.index.options import IndexOptions
from hudi_hive.write.index.plan import LookupPlan, shares
from hudi_hive.write.index.tables import HITS_SCHEMA, KEYS_SCHEMA, TAG_SCHEMA, joined_hits, locate, one_array
from hudi_hive.write.index.tasks import LookupTask, SliceTask, lookup

__all__ = [
    "DELETE",
    "HITS_SCHEMA",
    "KEYS_SCHEMA",
    "REPLACE",
    "TAG_SCHEMA",
    "BucketIndex",
    "ConsistentBucketIndex",
    "HashingMetadata",
    "HashingNode",
    "Index",
    "IndexOptions",
    "KeySource",
    "LookupPlan",
    "LookupTask",
    "SliceTask",
    "bucket_numbers",
    "check_index",
    "decode_nodes",
    "encode_nodes",
    "existing_records",
    "hashed_partitions",
    "joined_hits",
    "load_hashing",
    "locate",
    "lookup",
    "new_prefix",
    "one_array",
    "open_index",
    "remove_hashing",
    "renew_hashing",
    "ring_hashes",
    "save_hashing",
    "shares",
    "slices_of",
    "uncounted_rescalings",
    "with_ordering",
]
