"""Writers of rows: the local one, and what a write reports."""

from __future__ import annotations

from hudi_hive.write.writers.local import LocalWriter, busy_groups, newest_slices, refuse_clustered_groups, small_groups
from hudi_hive.write.writers.report import WriteReport

__all__ = [
    "LocalWriter",
    "WriteReport",
    "busy_groups",
    "newest_slices",
    "refuse_clustered_groups",
    "small_groups",
]
