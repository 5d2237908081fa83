"""The file-system view: names of data files, file groups and file slices of a table as Arrow tables."""

from __future__ import annotations

from hudi_hive.table.view.data_files import (
    check_data_files,
    check_partitions,
    data_file_path,
    delete_data_files,
    is_partition_path,
)
from hudi_hive.table.view.file_names import FileKind, parse_file_names, stored_names
from hudi_hive.table.view.file_system_view import (
    BASE_FILE_SCHEMA,
    FILES_SCHEMA,
    SLICE_SCHEMA,
    FileSystemView,
    ViewTimeline,
    log_bytes,
)
from hudi_hive.table.view.listing import (
    LISTED_SCHEMA,
    DirectoryLister,
    FilteredPartitions,
    FolderFilter,
    Lister,
    in_batches,
    list_concurrently,
    list_folders,
    walk,
)
from hudi_hive.table.view.spread_listing import SpreadListing

__all__ = [
    "BASE_FILE_SCHEMA",
    "FILES_SCHEMA",
    "LISTED_SCHEMA",
    "SLICE_SCHEMA",
    "DirectoryLister",
    "FileKind",
    "FileSystemView",
    "FilteredPartitions",
    "FolderFilter",
    "Lister",
    "SpreadListing",
    "ViewTimeline",
    "check_data_files",
    "check_partitions",
    "data_file_path",
    "delete_data_files",
    "in_batches",
    "is_partition_path",
    "list_concurrently",
    "list_folders",
    "log_bytes",
    "parse_file_names",
    "stored_names",
    "walk",
]
