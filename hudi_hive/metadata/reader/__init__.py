"""Reads the metadata table (RFC-15): listings, column statistics, bloom filters and the record index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.lazy_names import lazy_names
from hudi_hive.metadata.reader.column_indexes import BLOOM_FILTERS, SECONDARY_PREFIX
from hudi_hive.metadata.reader.definitions import (
    EXPRESSION_PREFIX,
    HASHES_HEADS,
    IndexDefinition,
    has_column_indexes,
    index_definitions,
    indexed_function,
    is_partitioned_index,
    keeps_each_in_step,
)
from hudi_hive.metadata.reader.evolved_ranges import Bounds, promoted_bounds, ranges_by_id
from hudi_hive.metadata.reader.file_group import FileGroup
from hudi_hive.metadata.reader.instants import ValidInstants, last_write_time, missing_write, newest_write_time
from hudi_hive.metadata.reader.keys import (
    ALL_PARTITIONS,
    RECORD_INDEX_PREFIX,
    ROOT_PARTITION,
    column_key,
    file_key,
    group_indexes,
    index_prefix,
    partition_identifier,
    partition_key,
    paths_below,
    rows_of_groups,
    secondary_heads,
    secondary_index_keys,
    secondary_texts,
)
from hudi_hive.metadata.reader.lister import (
    METADATA_SOURCE,
    MetadataLister,
    MetadataListing,
    SubListing,
    ValidatingLister,
    list_committed,
    list_partitions,
    relative_path,
    validate,
)
from hudi_hive.metadata.reader.merge import merge_entries, newest_records
from hudi_hive.metadata.reader.opening import (
    FILES,
    METADATA_FOLDER,
    SIZES_SCHEMA,
    data_table_path,
    written_partitions,
)
from hudi_hive.metadata.reader.ranges import column_type, decimals_of_bytes, merge_stats, typed_ranges
from hudi_hive.metadata.reader.records import STATS_SCHEMA, bloom_filters, deletions, locations
from hudi_hive.metadata.reader.rows import partition_rows, row_partitions, row_schema
from hudi_hive.metadata.reader.table import (
    COLUMN_STATS,
    PARTITION_STATS,
    RECORD_INDEX,
    FileLookup,
    MetadataTable,
)
from hudi_hive.metadata.reader.validation import ValidationReport, committed_files

if TYPE_CHECKING:
    from hudi_hive.metadata.reader.changes import (
        DELETED_FILES_SCHEMA,
        INDEX_ADDED_SCHEMA,
        INDEX_REMOVED_SCHEMA,
        RANGES_SCHEMA,
        REPLACED_SCHEMA,
        MetadataChanges,
    )

__all__ = [
    "ALL_PARTITIONS",
    "BLOOM_FILTERS",
    "COLUMN_STATS",
    "DELETED_FILES_SCHEMA",
    "EXPRESSION_PREFIX",
    "FILES",
    "HASHES_HEADS",
    "INDEX_ADDED_SCHEMA",
    "INDEX_REMOVED_SCHEMA",
    "METADATA_FOLDER",
    "METADATA_SOURCE",
    "PARTITION_STATS",
    "RANGES_SCHEMA",
    "RECORD_INDEX",
    "RECORD_INDEX_PREFIX",
    "REPLACED_SCHEMA",
    "ROOT_PARTITION",
    "SECONDARY_PREFIX",
    "SIZES_SCHEMA",
    "STATS_SCHEMA",
    "Bounds",
    "FileGroup",
    "FileLookup",
    "IndexDefinition",
    "MetadataChanges",
    "MetadataLister",
    "MetadataListing",
    "MetadataTable",
    "SubListing",
    "ValidInstants",
    "ValidatingLister",
    "ValidationReport",
    "bloom_filters",
    "column_key",
    "column_type",
    "committed_files",
    "data_table_path",
    "decimals_of_bytes",
    "deletions",
    "file_key",
    "group_indexes",
    "has_column_indexes",
    "index_definitions",
    "index_prefix",
    "indexed_function",
    "is_partitioned_index",
    "keeps_each_in_step",
    "last_write_time",
    "list_committed",
    "list_partitions",
    "locations",
    "merge_entries",
    "merge_stats",
    "missing_write",
    "newest_records",
    "newest_write_time",
    "partition_identifier",
    "partition_key",
    "partition_rows",
    "paths_below",
    "promoted_bounds",
    "ranges_by_id",
    "relative_path",
    "row_partitions",
    "row_schema",
    "rows_of_groups",
    "secondary_heads",
    "secondary_index_keys",
    "secondary_texts",
    "typed_ranges",
    "validate",
    "written_partitions",
]

_HOMES = {
    "DELETED_FILES_SCHEMA": "changes",
    "INDEX_ADDED_SCHEMA": "changes",
    "INDEX_REMOVED_SCHEMA": "changes",
    "MetadataChanges": "changes",
    "RANGES_SCHEMA": "changes",
    "REPLACED_SCHEMA": "changes",
}

# Loaded on first use: readers need no changes of the table.
__getattr__ = lazy_names(__name__, _HOMES)
