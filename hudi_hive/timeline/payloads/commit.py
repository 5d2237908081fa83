"""Decodes commit metadata: write stats, replaced file groups and extra metadata, as Arrow tables.

Source: docs/format.md#commit-metadata.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats.avro import describe
from hudi_hive.names import EXTERNAL_FILE_SUFFIX
from hudi_hive.timeline.instants import REPLACE_COMMIT, Instant
from hudi_hive.timeline.payloads.payload import Fields, corrupt

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
    "corrupt_blocks": ("totalCorruptLogBlock", pa.int64()),
    "rollback_blocks": ("totalRollbackBlocks", pa.int64()),
}
_STAT_TYPE: Final = pa.struct(list(_STAT_FIELDS.values()))

# What no writer leaves out of the metadata of a completed action, be it empty.
_REQUIRED: Final = {REPLACE_COMMIT: ("partitionToWriteStats", "partitionToReplaceFileIds")}

# Instants that a metadata table of version 6 begins with, and where such a table's commits are.
_FIRST_OF_METADATA = re.compile(r"0000[0-9]{13}")
_METADATA_SCHEMA: Final = '"HoodieMetadataRecord"'
_METADATA: Final = "/.hoodie/metadata/.hoodie/"

# Commits that only change the schema, and the version in the id-based schema that they write.
_ALTER_SCHEMA: Final = "ALTER_SCHEMA"
_SCHEMA_VERSION = re.compile(r'"version_id"\s*:\s*([0-9]+)')

WRITE_STATS_SCHEMA: Final = pa.schema(
    [("partition", pa.string()), *((column, kind) for column, (_, kind) in _STAT_FIELDS.items())]
)
"""Columns of :attr:`CommitMetadata.write_stats`; ``path`` is relative to the table's base path, sizes are in bytes,
event times in milliseconds since the epoch. ``prev_commit`` is the text ``null`` for a new file, as Hudi writes it."""

REPLACED_SCHEMA: Final = pa.schema([("partition", pa.string()), ("file_id", pa.string())])
"""Columns of :attr:`CommitMetadata.replaced`."""

LOG_WRITES_SCHEMA: Final = pa.schema(
    [
        ("path", pa.string()),
        ("instant", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("has_records", pa.bool_()),
    ]
)
"""Columns of :attr:`CommitMetadata.log_writes`: a log file relative to the base path, where in it the commit's blocks
begin, its size in bytes when they were written, and whether they hold records or deletes. A commit also lists what its
failed attempts left in log files: these rows have none."""


@dataclass(frozen=True)
class CommitMetadata:
    """Metadata of a commit, deltacommit or replacecommit.

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

    @property
    def has_external_files(self) -> bool:
        """Whether the commit took in files that Hudi did not write."""
        return bool(pc.any(pc.ends_with(self.write_stats.column("path"), EXTERNAL_FILE_SUFFIX), min_count=0).as_py())

    def partitions_written(self) -> list[str]:
        """Sorted paths of the partitions that files were written to."""
        return sorted(set(self.written_keys))

    def partitions_touched(self) -> list[str]:
        """Sorted paths of the partitions that files were written to or file groups replaced in."""
        return sorted({*self.written_keys, *self.replaced_keys})

    @cached_property
    def log_writes(self) -> pa.Table:
        """Log files that the commit wrote, change files included, a table of :data:`LOG_WRITES_SCHEMA`."""
        return _log_writes(self.write_stats, self.instant.requested)

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
    """Make commit metadata from a decoded payload, which is the same for JSON and Avro.

    What a completed commit holds must be its own: the names of the files that it wrote carry its time.

    Args:
        record: the payload; null for an empty file, which only a pending instant may have.
        instant: the commit.
        path: the file, for errors.

    Raises:
        CorruptInstantError: a field is not of the format's type, or the metadata is that of another kind of file.
    """
    fields = Fields(record or {}, path, instant.requested)
    if instant.is_completed:
        fields.require(_REQUIRED.get(instant.action, ("partitionToWriteStats",)), f"a completed {instant.action}")
    written = fields.mapping("partitionToWriteStats")
    replaced = fields.mapping("partitionToReplaceFileIds")
    write_stats = _write_stats(written, fields)
    if instant.is_completed:
        _check_own(write_stats, instant, fields)
    return CommitMetadata(
        instant=instant,
        operation=fields.text("operationType") or UNKNOWN_OPERATION,
        extra=fields.text_map("extraMetadata"),
        compacted=fields.flag("compacted"),
        write_stats=write_stats,
        replaced=_replaced(replaced, fields),
        written_keys=tuple(written),
        replaced_keys=tuple(replaced),
    )


def _check_own(write_stats: pa.Table, instant: Instant, fields: Fields) -> None:
    """Refuse write stats of another partition, file group or commit than the one that they stand under.

    What a commit of the metadata table holds is refused as well.
    """
    extra = fields.mapping("extraMetadata")
    if _METADATA not in fields.path and _METADATA_SCHEMA in str(extra.get("schema")):
        raise corrupt("the record is that of a commit of the metadata table", fields.path, fields.instant)
    if instant.action != REPLACE_COMMIT and fields.mapping("partitionToReplaceFileIds"):
        raise corrupt("the record is that of a replacecommit", fields.path, fields.instant)
    if not write_stats.num_rows:
        _check_without_files(extra, fields)
        return
    if _is_announced(write_stats):
        raise corrupt(
            "no write stat names a file: this is what a pending commit announces", fields.path, fields.instant
        )
    layout = 1 if instant.completed is None else 2
    names = ("partition", "file_id", "path", "prev_commit", "log_version", "base_file")
    doubtful = write_stats.select(names).filter(pc.invert(_are_own(write_stats, instant.requested, layout)))
    if doubtful.num_rows:
        doubtful = doubtful.filter(pc.invert(_are_external(doubtful, instant.requested)))
    for stat in doubtful.to_pylist():
        path = stat["path"]
        if not path:  # a file that was not written, as of a failed task
            continue
        folder, _, name = path.rpartition("/")
        base, log = f"{stat['file_id']}_", f".{stat['file_id']}_"
        if name.startswith(log):
            own = _is_own_log(stat, name[len(log) :], instant, fields.path)
        else:
            taken_in = name.endswith(f"_{instant.requested}{EXTERNAL_FILE_SUFFIX}")
            own = name.startswith(base) and (taken_in or f"_{instant.requested}." in name)
        if not own or not _is_folder_of(folder, stat["partition"]):
            raise corrupt(
                f"the commit metadata names {path!r}, which is no file of this commit in partition "
                f"{stat['partition']!r} and file group {stat['file_id']!r}: it is damaged, or another commit's",
                fields.path,
                fields.instant,
            )


def _check_without_files(extra: Mapping[str, Any], fields: Fields) -> None:
    """Refuse metadata without write stats that is not sure to be of a completed commit, and another's evolved schema.

    Hudi puts the key ``schema``, be it with an empty text, into the metadata of all commits that complete and of none
    that are pending; a change of the schema makes a version that has the time of its commit.
    """
    if "schema" not in extra:
        raise corrupt(
            "neither write stats nor a schema: this is what a pending commit announces", fields.path, fields.instant
        )
    if fields.text("operationType") != _ALTER_SCHEMA:
        return
    version = _SCHEMA_VERSION.search(str(extra.get("latest_schema")))
    if version and version[1] != fields.instant:
        raise corrupt(f"the schema is that of the commit {version[1]}", fields.path, fields.instant)


def _is_announced(write_stats: pa.Table) -> bool:
    """Whether stats are those of a pending commit: rows, and no file that they were written to.

    A completed commit has neither where there was nothing to write.
    """
    if pc.any(pc.greater(pc.binary_length(write_stats.column("path")), 0), min_count=0).as_py():
        return False
    counts = [write_stats.column(name) for name in ("num_inserts", "num_updates")]
    return any(pc.any(pc.greater(count, 0), min_count=0).as_py() for count in counts)


def _is_folder_of(folder: str, partition: str) -> bool:
    """Whether a folder is a partition's.

    The file system took needless slashes of the partition out, and the folder may be absolute.
    """
    parts, own = ([part for part in path.split("/") if part] for path in (folder, partition))
    is_absolute = folder.startswith("/") or ":/" in folder
    return parts == own or (is_absolute and parts[max(len(parts) - len(own), 0) :] == own)


def _are_own(write_stats: pa.Table, requested: str, layout: int) -> pa.ChunkedArray:
    """Whether each path certainly has the form of a data file of the instant; false where that is uncertain.

    The forms are ``partition/fileId_token_instant.`` and ``partition/.fileId_instant.log.n_token``.
    """
    parts = pc.split_pattern(write_stats.column("path"), "_", max_splits=2, reverse=True)
    whole = pc.fill_null(pc.equal(pc.list_value_length(parts), 3), False)
    if not pc.all(whole).as_py():
        return whole if not pc.any(whole).as_py() else _each_own(write_stats, whole, requested, layout)
    folders = write_stats.column("partition").combine_chunks().dictionary_encode()
    names = pa.array([f"{name}/" if name else "" for name in folders.dictionary.to_pylist()], pa.string())
    heads, file_ids = names.take(folders.indices), write_stats.column("file_id")
    prefixes = pc.list_element(parts, 0)
    is_base = pc.and_(
        pc.equal(prefixes, pc.binary_join_element_wise(heads, file_ids, "")),
        pc.starts_with(pc.list_element(parts, 2), f"{requested}."),
    )
    if pc.all(is_base, skip_nulls=False).as_py():
        return is_base
    begun = pc.list_element(parts, 1)
    if layout == 1:
        slice_time = write_stats.column("prev_commit")
        older = pc.and_(pc.less(slice_time, requested), pc.invert(pc.starts_with(slice_time, "0000")))
        in_name = pc.and_(older, pc.equal(pc.utf8_slice_codeunits(begun, 0, len(requested)), slice_time))
    else:
        in_name = pc.starts_with(begun, f"{requested}.log.")
    is_log = pc.and_(pc.equal(prefixes, pc.binary_join_element_wise(heads, file_ids, ".")), in_name)
    return pc.fill_null(pc.or_kleene(is_base, is_log), False)


def _are_external(write_stats: pa.Table, requested: str) -> pa.ChunkedArray:
    """Whether each path names a file that Hudi did not write, as it is named in the commit that took it in.

    The forms are ``partition/fileId_instant_hudiext``, and one whose file id begins with a folder of the partition, of
    which the name tells: ``partition/folder/name_instant_fg%3Dfolder_hudiext``.

    Source: docs/format.md#external-files.
    """
    folders = pc.replace_substring_regex(write_stats.column("partition"), "([^/])/*$", r"\\1/")
    own = pc.binary_join_element_wise(folders, write_stats.column("file_id"), f"_{requested}", "")
    paths = write_stats.column("path")
    bare = pc.replace_substring_regex(paths, f"(_fg%3D[^/]+)?{EXTERNAL_FILE_SUFFIX}$", "")
    return pc.fill_null(pc.and_(pc.equal(bare, own), pc.ends_with(paths, EXTERNAL_FILE_SUFFIX)), False)


def _each_own(write_stats: pa.Table, whole: pa.ChunkedArray, requested: str, layout: int) -> pa.ChunkedArray:
    """The same where some names do not have all three parts."""
    rows = np.flatnonzero(whole.to_numpy())
    own = np.zeros(write_stats.num_rows, np.bool_)
    own[rows] = _are_own(write_stats.take(pa.array(rows)), requested, layout).to_numpy()
    return pa.chunked_array([pa.array(own)])


def _is_own_log(stat: Mapping[str, Any], rest: str, instant: Instant, source: str) -> bool:
    """Whether a log file can have been written by a commit.

    From version 8 on its name carries the time of the commit; in version 6, and so in commits from before an upgrade,
    that of the slice.

    Args:
        stat: its write stats.
        rest: its name behind the file id.
        instant: the commit that wrote it.
        source: the file that the commit's metadata is in.
    """
    begun, found, _ = rest.partition(".log.")
    base_file = stat["base_file"]
    if not found or not begun.isdecimal():
        return False
    if begun > instant.requested:
        # A compaction that was scheduled after the commit began, by another writer: its slice has no base file yet.
        return instant.completed is None and begun == stat["prev_commit"] and not base_file
    if begun == instant.requested:
        # In version 6 a slice without base file began with the commit; before a downgrade it had an older one.
        return instant.completed is not None or f"_{begun}." not in str(base_file)
    if instant.completed is None:
        return not _FIRST_OF_METADATA.match(begun) or _METADATA in source
    begins_slice = f"_{begun}." in str(base_file) if base_file else stat["log_version"] != 1
    return begun == stat["prev_commit"] and begins_slice


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


def _log_writes(stats: pa.Table, instant: str) -> pa.Table:
    names = pc.replace_substring_regex(stats.column("path"), r"(?s)^.*/", "")
    logs = pc.fill_null(pc.starts_with(names, "."), False)
    if pc.any(logs).as_py():
        names, appended = names.filter(logs), stats.filter(logs)
        ends = pc.fill_null(appended.column("file_size"), 0)
        counts = [pc.fill_null(appended.column(name), 0) for name in ("num_writes", "num_deletes")]
        columns = [
            _below(appended.column("partition"), names),
            pa.repeat(pa.scalar(instant, pa.string()), appended.num_rows),
            pc.min_element_wise(pc.fill_null(appended.column("log_offset"), 0), ends),
            ends,
            pc.greater(pc.add(*counts), 0),
        ]
        log_writes = pa.table(columns, schema=LOG_WRITES_SCHEMA)
    else:
        log_writes = LOG_WRITES_SCHEMA.empty_table()
    changes = stats.column("cdc_stats").combine_chunks()
    if len(changes) == changes.null_count:
        return log_writes
    listed = changes.cast(pa.list_(pa.struct([("key", pa.string()), ("value", pa.int64())])))
    entries, parents = pc.list_flatten(listed), pc.list_parent_indices(listed)
    paths, sizes = pc.struct_field(entries, "key"), pc.fill_null(pc.struct_field(entries, "value"), 0)
    columns = [
        _below(stats.column("partition").take(parents), pc.replace_substring_regex(paths, r"(?s)^.*/", "")),
        pa.repeat(pa.scalar(instant, pa.string()), len(entries)),
        pa.array(np.zeros(len(entries), np.int64)),
        sizes,
        pa.repeat(pa.scalar(True), len(entries)),
    ]
    return pa.concat_tables([log_writes, pa.table(columns, schema=LOG_WRITES_SCHEMA)])


def _below(partitions: pa.ChunkedArray, names: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    joined = pc.binary_join_element_wise(partitions, names, "/")
    return pc.if_else(pc.equal(partitions, ""), names, joined)


def _replaced(replaced: Mapping[str, Any], fields: Fields) -> pa.Table:
    partitions, file_ids = _flatten(replaced, fields, "partitionToReplaceFileIds")
    try:
        column = pa.array(file_ids, pa.string())
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise fields.wrong("partitionToReplaceFileIds") from error
    return pa.table([partitions, column], schema=REPLACED_SCHEMA)


def _flatten(groups: Mapping[str, Any], fields: Fields, name: str) -> tuple[pa.Array, list[Any]]:
    """Flatten the lists of a partition -> list map; returns the items and the partition of each."""
    if not all(isinstance(items, list) for items in groups.values()):
        raise fields.wrong(name)
    counts = np.fromiter((len(items) for items in groups.values()), np.int64, len(groups))
    try:
        keys = pa.array(list(groups), pa.string())
    except ValueError as error:  # half of a surrogate pair, which JSON can hold and UTF-8 cannot
        raise fields.wrong(name) from error
    partitions = keys.take(pa.array(np.repeat(np.arange(len(groups)), counts)))
    return partitions, [item for items in groups.values() for item in items]
