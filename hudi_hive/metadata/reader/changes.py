"""The changes that one action of a table makes to its metadata table, as Arrow tables.

Source: docs/format.md#metadata-timeline.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from hudi_hive.metadata.reader.records import WRAPPED
from hudi_hive.table import FILES_SCHEMA

DELETED_FILES_SCHEMA: Final = pa.schema([("partition", pa.string()), ("name", pa.string())])
"""Columns of :attr:`MetadataChanges.files_deleted`."""

RANGES_SCHEMA: Final = pa.schema(
    [
        ("partition", pa.string()),
        ("name", pa.string()),
        ("column", pa.string()),
        ("min", WRAPPED),
        ("max", WRAPPED),
        ("value_count", pa.int64()),
        ("null_count", pa.int64()),
        ("total_size", pa.int64()),
        ("total_uncompressed_size", pa.int64()),
    ]
)
"""Columns of :attr:`MetadataChanges.ranges`: what a file holds of a column."""

INDEX_ADDED_SCHEMA: Final = pa.schema([("key", pa.string()), ("partition", pa.string()), ("file_id", pa.string())])
"""Columns of :attr:`MetadataChanges.index_added`."""

INDEX_REMOVED_SCHEMA: Final = pa.schema([("key", pa.string()), ("partition", pa.string())])
"""Columns of :attr:`MetadataChanges.index_removed`."""

REPLACED_SCHEMA: Final = pa.schema([("partition", pa.string()), ("file_id", pa.string())])
"""Columns of :attr:`MetadataChanges.groups_replaced`."""


@dataclass(frozen=True, slots=True)
class MetadataChanges:
    """Files, column ranges and record locations that an action adds and removes; empty for no change.

    Attributes:
        files_added: every file that the action wrote, ``.cdc`` files included (``FILES_SCHEMA``: partition path, bare
            name, bytes).
        files_deleted: files that it deleted (:data:`DELETED_FILES_SCHEMA`).
        partitions_touched: partitions that it wrote to or knows, also where no file was added.
        partitions_deleted: partition paths that are gone for good: a clean emptied them.
        ranges: what the added base and log files hold of columns (:data:`RANGES_SCHEMA`); dotted names for fields of
            structs. A file that holds records needs a row for each column that is indexed, or the partition's
            statistics are given up.
        without_values: bare names of added log files that hold nothing but deletes, and so no ranges.
        index_added: new records and records that moved (:data:`INDEX_ADDED_SCHEMA`).
        index_removed: records that were deleted or moved (:data:`INDEX_REMOVED_SCHEMA`). What is in both is added: a
            key in an index of the whole table, a key of a partition in one that is kept for each partition.
        groups_replaced: file groups that the action replaces (:data:`REPLACED_SCHEMA`): records that the index finds in
            them are removed, unless they were added.
        moves_rows: rows may come, go or change; false for compaction and clustering, which only write them anew.
        taken_back: requested time of a commit whose files these changes delete, so that older files count again.
    """

    files_added: pa.Table = field(default_factory=FILES_SCHEMA.empty_table)
    files_deleted: pa.Table = field(default_factory=DELETED_FILES_SCHEMA.empty_table)
    partitions_touched: tuple[str, ...] = ()
    partitions_deleted: tuple[str, ...] = ()
    ranges: pa.Table = field(default_factory=RANGES_SCHEMA.empty_table)
    without_values: frozenset[str] = frozenset()
    index_added: pa.Table = field(default_factory=INDEX_ADDED_SCHEMA.empty_table)
    index_removed: pa.Table = field(default_factory=INDEX_REMOVED_SCHEMA.empty_table)
    groups_replaced: pa.Table = field(default_factory=REPLACED_SCHEMA.empty_table)
    moves_rows: bool = True
    taken_back: str | None = None
