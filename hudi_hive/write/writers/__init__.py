"""Writers of rows: what those of all engines share, the local one, and what a write reports."""

from __future__ import annotations

from hudi_hive.write.writers.base import TableCommitter, Writer, refuse_sort_columns
from hudi_hive.write.writers.file_groups import (
    FileGroupPlan,
    assign_file_groups,
    locate_in_file_groups,
    newest_slices,
    refuse_clustered_groups,
    small_groups_of,
)
from hudi_hive.write.writers.local import LocalWriter
from hudi_hive.write.writers.report import WriteReport

__all__ = [
    "FileGroupPlan",
    "LocalWriter",
    "TableCommitter",
    "WriteReport",
    "Writer",
    "assign_file_groups",
    "locate_in_file_groups",
    "newest_slices",
    "refuse_clustered_groups",
    "refuse_sort_columns",
    "small_groups_of",
]
