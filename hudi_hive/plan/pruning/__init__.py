"""Data skipping: drops the slices of a plan that cannot hold a row passing the filter.

Asked are the metadata table's partition statistics, column statistics, bloom filters and record index. What they do not
tell for sure is kept; an index that cannot be read prunes nothing.
"""

from hudi_hive.plan.pruning.keys import required_record_keys
from hudi_hive.plan.pruning.skipping import SkipContext, list_statistics, prune, prune_changes
from hudi_hive.plan.pruning.statistics import by_column_stats
from hudi_hive.plan.pruning.versions import MovedColumns, stays

__all__ = [
    "MovedColumns",
    "SkipContext",
    "by_column_stats",
    "list_statistics",
    "prune",
    "prune_changes",
    "required_record_keys",
    "stays",
]
