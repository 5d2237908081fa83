"""Writes file groups: markers, base files, log files, change data files and write statuses."""

from __future__ import annotations

from hudi_hive.write.files.assign import assign_inserts, record_size, spread
from hudi_hive.write.files.context import FILE_NAME, PARTITION_PATH, RECORD_KEY, Attempt, FileStyle, WriteJob
from hudi_hive.write.files.handles import Target
from hudi_hive.write.files.markers import (
    marked_files,
    marked_instants,
    marker_folder,
    remove_markers,
    remove_staging,
    remove_unclaimed,
    staging_folder,
    try_remove_leftovers,
    try_remove_markers,
)
from hudi_hive.write.files.statuses import WRITE_STATUS_SCHEMA, from_ipc, index_changes, joined, status, write_stats
from hudi_hive.write.files.write_tasks import (
    DELETES_SCHEMA,
    PLACES_SCHEMA,
    Groups,
    Handle,
    Work,
    attempts,
    knowing_versions,
    pieces,
    run_work,
)

__all__ = [
    "DELETES_SCHEMA",
    "FILE_NAME",
    "PARTITION_PATH",
    "PLACES_SCHEMA",
    "RECORD_KEY",
    "WRITE_STATUS_SCHEMA",
    "Attempt",
    "FileStyle",
    "Groups",
    "Handle",
    "Target",
    "Work",
    "WriteJob",
    "assign_inserts",
    "attempts",
    "from_ipc",
    "index_changes",
    "joined",
    "knowing_versions",
    "marked_files",
    "marked_instants",
    "marker_folder",
    "pieces",
    "record_size",
    "remove_markers",
    "remove_staging",
    "remove_unclaimed",
    "run_work",
    "spread",
    "staging_folder",
    "status",
    "try_remove_leftovers",
    "try_remove_markers",
    "write_stats",
]
