"""Writes file groups: markers, base files, log files, change data files and write statuses."""

from __future__ import annotations

from hudi_hive.write.files.assign import Ints, assign_inserts, count_by_partition, locate_inserts, record_size
from hudi_hive.write.files.context import (
    FILE_NAME,
    PARTITION_PATH,
    RECORD_KEY,
    Attempt,
    FileStyle,
    WriteContext,
    ensure_partition,
)
from hudi_hive.write.files.handles import TargetSlice
from hudi_hive.write.files.markers import (
    MARKERS,
    made_markers,
    marked_files,
    marked_instants,
    marker_folder,
    remove_markers,
    remove_staging,
    remove_unclaimed,
    try_remove_leftovers,
    try_remove_markers,
)
from hudi_hive.write.files.statuses import WRITE_STATUS_SCHEMA, from_ipc, index_changes, joined, status, write_stats
from hudi_hive.write.files.write_tasks import (
    DELETES_SCHEMA,
    RECORD_LOCATIONS,
    FileGroupId,
    FileGroupRows,
    TargetSlices,
    WriteHandle,
    WriteTask,
    attempts,
    run_write_task,
    split_by_file_group,
    with_file_schemas,
)

__all__ = [
    "DELETES_SCHEMA",
    "FILE_NAME",
    "MARKERS",
    "PARTITION_PATH",
    "RECORD_KEY",
    "RECORD_LOCATIONS",
    "WRITE_STATUS_SCHEMA",
    "Attempt",
    "FileGroupId",
    "FileGroupRows",
    "FileStyle",
    "Ints",
    "TargetSlice",
    "TargetSlices",
    "WriteContext",
    "WriteHandle",
    "WriteTask",
    "assign_inserts",
    "attempts",
    "count_by_partition",
    "ensure_partition",
    "from_ipc",
    "index_changes",
    "joined",
    "locate_inserts",
    "made_markers",
    "marked_files",
    "marked_instants",
    "marker_folder",
    "record_size",
    "remove_markers",
    "remove_staging",
    "remove_unclaimed",
    "run_write_task",
    "split_by_file_group",
    "status",
    "try_remove_leftovers",
    "try_remove_markers",
    "with_file_schemas",
    "write_stats",
]
