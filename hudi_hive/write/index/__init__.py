"""Indexes: find the file group of each record, by key and partition.

An :class:`Index` makes a plan of tasks, each of which looks keys up by itself, here or where Spark runs it.
"""

from hudi_hive.write.index.base import Index
from hudi_hive.write.index.bucket import BucketIndex
from hudi_hive.write.index.existing import existing_records, with_ordering
from hudi_hive.write.index.key_source import KeySource, slices_of
from hudi_hive.write.index.kinds import open_index
from hudi_hive.write.index.options import IndexOptions
from hudi_hive.write.index.plan import LookupPlan, shares
from hudi_hive.write.index.tables import HITS_SCHEMA, KEYS_SCHEMA, TAG_SCHEMA, joined_hits, locate, one_array
from hudi_hive.write.index.tasks import LookupTask, SliceTask, lookup

__all__ = [
    "HITS_SCHEMA",
    "KEYS_SCHEMA",
    "TAG_SCHEMA",
    "BucketIndex",
    "Index",
    "IndexOptions",
    "KeySource",
    "LookupPlan",
    "LookupTask",
    "SliceTask",
    "existing_records",
    "joined_hits",
    "locate",
    "lookup",
    "one_array",
    "open_index",
    "shares",
    "slices_of",
    "with_ordering",
]
