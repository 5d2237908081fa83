"""Commit metadata: what a completed commit, deltacommit or replacecommit wrote, as Arrow tables (section 2.4)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from hudi_hive.formats.avro_container import describe
from hudi_hive.timeline.instant import Instant
from hudi_hive.timeline.payload import Fields, corrupt

UNKNOWN_OPERATION: Final = "UNKNOWN"
"""Operation of commit metadata that names none, Hudi's own name for it."""

# Column of the write stats -> (field in the payload, type).
_STAT_FIELDS: Final[dict[str, tuple[str, pa.DataType]]] = {
    "file_id": ("fileId", pa.string()),
    "path": ("path", pa.string()),
    "prev_commit": ("prevCommit", pa.string()),
    "num_writes": ("numWrites", pa.int64()),
    "num_deletes": ("numDeletes", pa.int64()),
    "num_updates": ("numUpdateWrites", pa.int64()),
    "num_inserts": ("numInserts", pa.int64()),
    "num_errors": ("totalWriteErrors", pa.int64()),
    "bytes_written": ("totalWriteBytes", pa.int64()),
    "file_size": ("fileSizeInBytes", pa.int64()),
    "base_file": ("baseFile", pa.string()),
    "prev_base_file": ("prevBaseFile", pa.string()),
    "log_files": ("logFiles", pa.list_(pa.string())),
    "log_version": ("logVersion", pa.int32()),
    "log_offset": ("logOffset", pa.int64()),
    "cdc_stats": ("cdcStats", pa.map_(pa.string(), pa.int64())),
    "min_event_time": ("minEventTime", pa.int64()),
    "max_event_time": ("maxEventTime", pa.int64()),
    "log_records": ("totalLogRecords", pa.int64()),
    "log_blocks": ("totalLogBlocks", pa.int64()),
    "log_files_compacted": ("totalLogFilesCompacted", pa.int64()),
    "log_bytes_compacted": ("totalLogSizeCompacted", pa.int64()),
    "records_compacted": ("totalUpdatedRecordsCompacted", pa.int64()),
}
_STAT_TYPE: Final = pa.struct(list(_STAT_FIELDS.values()))

WRITE_STATS_SCHEMA: Final = pa.schema(
    [("partition", pa.string()), *((column, kind) for column, (_, kind) in _STAT_FIELDS.items())]
)
"""Columns of :attr:`CommitMetadata.write_stats`; ``path`` is relative to the table's base path, sizes are in bytes,
event times in milliseconds since the epoch. ``prev_commit`` is the text ``null`` for a new file, as Hudi writes it."""

REPLACED_SCHEMA: Final = pa.schema([("partition", pa.string()), ("file_id", pa.string())])
"""Columns of :attr:`CommitMetadata.replaced`."""


@dataclass(frozen=True)
class CommitMetadata:
    """What one commit wrote.

    Args:
        instant: the commit.
        operation: Hudi's name of the write operation (``UPSERT``, ``INSERT_OVERWRITE``, ``CLUSTER`` …), or ``UNKNOWN``.
        extra: the extra metadata: ``schema``, checkpoints, the user's own keys.
        compacted: whether a compaction wrote it.
        write_stats: one row per written file, :data:`WRITE_STATS_SCHEMA`.
        replaced: the file groups that it replaced, :data:`REPLACED_SCHEMA`.
        written_keys: the partitions the metadata names as written, also those without a file.
        replaced_keys: the partitions the metadata names as replaced, also those that had no file group.
    """

    instant: Instant
    operation: str
    extra: Mapping[str, str]
    compacted: bool
    write_stats: pa.Table
    replaced: pa.Table
    written_keys: tuple[str, ...] = ()
    replaced_keys: tuple[str, ...] = ()

    def partitions_written(self) -> list[str]:
        """Sorted paths of the partitions that files were written to."""
        return sorted(set(self.written_keys))

    def partitions_touched(self) -> list[str]:
        """Sorted paths of the partitions that files were written to or file groups replaced in."""
        return sorted({*self.written_keys, *self.replaced_keys})

    @cached_property
    def schema(self) -> dict[str, Any] | None:
        """The writer's Avro schema, without meta columns; null if the commit carries none.

        Raises:
            CorruptInstantError: the text is no JSON object that describes a record.
        """
        text = self.extra.get("schema")
        if not text or not text.strip():
            return None
        try:
            schema = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._bad_schema(describe(error)) from error
        if not isinstance(schema, dict):
            raise self._bad_schema("not a JSON object")
        fields = schema.get("fields")
        if not isinstance(fields, list) or not all(_is_field(field) for field in fields):
            raise self._bad_schema("not a record of named fields")
        return schema

    def _bad_schema(self, why: str) -> Exception:
        return corrupt(f"schema in the commit metadata: {why}", self.instant.path, self.instant.requested)


def _is_field(field: object) -> bool:
    return isinstance(field, dict) and isinstance(field.get("name"), str) and "type" in field


def decode_commit(record: Mapping[str, Any] | None, instant: Instant, path: str) -> CommitMetadata:
    """Commit metadata from a decoded payload, JSON and Avro alike.

    Args:
        record: the payload; null for an empty file, which means empty metadata.
        instant: the commit.
        path: the file, for errors.

    Raises:
        CorruptInstantError: a field is not what the format says.
    """
    fields = Fields(record or {}, path, instant.requested)
    written = fields.mapping("partitionToWriteStats")
    replaced = fields.mapping("partitionToReplaceFileIds")
    return CommitMetadata(
        instant=instant,
        operation=fields.text("operationType") or UNKNOWN_OPERATION,
        extra=fields.text_map("extraMetadata"),
        compacted=fields.flag("compacted"),
        write_stats=_write_stats(written, fields),
        replaced=_replaced(replaced, fields),
        written_keys=tuple(written),
        replaced_keys=tuple(replaced),
    )


def _write_stats(written: Mapping[str, Any], fields: Fields) -> pa.Table:
    partitions, stats = _flatten(written, fields, "partitionToWriteStats")
    if not stats:
        return WRITE_STATS_SCHEMA.empty_table()
    try:
        # One struct conversion in Arrow's own code; fields it does not name are left out, absent ones are null.
        rows = pa.array(stats, type=_STAT_TYPE)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise corrupt(f"write stats: {describe(error)}", fields.path, fields.instant) from error
    # Arrow takes a text for a list of its characters.
    if rows.null_count or any(isinstance(stat.get("logFiles"), str) for stat in stats):
        raise fields.wrong("partitionToWriteStats")
    return pa.table([partitions, *rows.flatten()], schema=WRITE_STATS_SCHEMA)


def _replaced(replaced: Mapping[str, Any], fields: Fields) -> pa.Table:
    partitions, file_ids = _flatten(replaced, fields, "partitionToReplaceFileIds")
    try:
        column = pa.array(file_ids, pa.string())
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise fields.wrong("partitionToReplaceFileIds") from error
    return pa.table([partitions, column], schema=REPLACED_SCHEMA)


def _flatten(groups: Mapping[str, Any], fields: Fields, name: str) -> tuple[pa.Array, list[Any]]:
    """The lists of a partition -> list map one behind the other, and the partition of each item."""
    if not all(isinstance(items, list) for items in groups.values()):
        raise fields.wrong(name)
    counts = np.fromiter((len(items) for items in groups.values()), np.int64, len(groups))
    try:
        keys = pa.array(list(groups), pa.string())
    except ValueError as error:  # half of a surrogate pair, which JSON can hold and UTF-8 cannot
        raise fields.wrong(name) from error
    partitions = keys.take(pa.array(np.repeat(np.arange(len(groups)), counts)))
    return partitions, [item for items in groups.values() for item in items]
