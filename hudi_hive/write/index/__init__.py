"""Finding the file group of each record: keys and partitions in, where each row goes out.

An :class:`Index` makes a plan of tasks, each of which looks keys up by itself, here or where Spark runs it.
"""

from hudi_hive.write.index.base import Index
from hudi_hive.write.index.options import IndexOptions
from hudi_hive.write.index.plan import LookupPlan
from hudi_hive.write.index.tables import HITS_SCHEMA, KEYS_SCHEMA, TAG_SCHEMA, locate
from hudi_hive.write.index.tasks import LookupTask, lookup

__all__ = [
    "HITS_SCHEMA",
    "KEYS_SCHEMA",
    "TAG_SCHEMA",
    "Index",
    "IndexOptions",
    "LookupPlan",
    "LookupTask",
    "locate",
    "lookup",
]
