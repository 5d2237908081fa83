"""Tables of a table's instants and file slices, as Hudi's SQL functions show them.

Their columns are those of ``hudi_query_timeline`` and ``hudi_filesystem_view`` (release 1.0.2).
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError
from hudi_hive.table.core.meta_client import MetaClient
from hudi_hive.table.view import FileKind, parse_file_names
from hudi_hive.timeline import Instant, Timeline
from hudi_hive.timeline.instants import COMPLETED_WRITE_ACTIONS, instant_file_name, millis_to_instant

_TOTALS = (
    "Total_Bytes_Written",
    "Total_Files_Updated",
    "Total_Partitions_Written",
    "Total_Records_Written",
    "Total_Updated_Records_Written",
    "Total_Write_Errors",
)

INSTANTS_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("Timestamp", "Action", "State", "Completion_Time", "File_Name")),
        *((name, pa.int64()) for name in _TOTALS),
    ]
)
"""Columns of :func:`instant_rows`: requested and completion time as instants, sizes in bytes, -1 where an action counts
none."""

SLICES_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("File_ID", "Partition_Path", "Base_Instant_Time", "Base_File_Path")),
        ("Base_File_Size", pa.int64()),
        ("Log_File_Count", pa.int64()),
        ("Log_File_Size", pa.int64()),
        ("Log_File_Scheduled", pa.int64()),
        ("Log_File_Unscheduled", pa.int64()),
    ]
)
"""Columns of :func:`slice_rows`; sizes in bytes. Without a base file its path is empty and its size -1."""


def instant_rows(client: MetaClient, *, archived: bool = False) -> pa.Table:
    """List the instants of a table, oldest first, as a table of :data:`INSTANTS_SCHEMA`.

    Each instant is shown in its highest state. The totals of a write are those of its commit metadata, of an archived
    one too; of a pending one they are what it announced.

    Args:
        client: the table.
        archived: show archived instants, too.

    Raises:
        CorruptInstantError: the metadata of a commit cannot be decoded.
        CorruptFileError: the archive is damaged.
    """
    timeline = client.timeline
    rows = [_instant_row(timeline, instant, instant.file_name) for instant in timeline.instants]
    if archived:
        active = {(instant.requested, instant.comparable_action) for instant in timeline.instants}
        gone = [i for i in timeline.archived().instants if (i.requested, i.comparable_action) not in active]
        rows = [*(_instant_row(timeline, instant, _file_name(instant)) for instant in gone), *rows]
    rows.sort(key=lambda row: str(row["Timestamp"]))
    return pa.Table.from_pylist(rows, INSTANTS_SCHEMA)


def _file_name(instant: Instant) -> str:
    """The name that an archived instant had."""
    return instant_file_name(instant.requested, instant.action, instant.state, completed=instant.completed)


def _instant_row(timeline: Timeline, instant: Instant, name: str) -> dict[str, str | int | None]:
    completed = instant.completed
    if completed is None and instant.is_completed:
        # Version 6 keeps no completion time; the file of the instant is written when it completes.
        modified = timeline.mtime_ms(instant)
        completed = None if modified is None else millis_to_instant(modified, timeline.timezone)
    row: dict[str, str | int | None] = {
        "Timestamp": instant.requested,
        "Action": instant.action,
        "State": instant.state.name,
        "Completion_Time": completed,
        "File_Name": name,
    }
    return row | dict(zip(_TOTALS, _totals(timeline, instant), strict=True))


def _totals(timeline: Timeline, instant: Instant) -> tuple[int, ...]:
    if instant.action not in COMPLETED_WRITE_ACTIONS:
        return (-1,) * len(_TOTALS)
    metadata = timeline.commit_metadata(instant)
    stats = metadata.write_stats
    before = stats.column("prev_commit").to_pylist()
    updated = sum(text is not None and text.lower() != "null" for text in before)

    def total(name: str) -> int:
        return pc.sum(stats.column(name)).as_py() or 0

    sizes = total("bytes_written"), updated, len(metadata.written_keys)
    return (*sizes, total("num_writes"), total("num_updates"), total("num_errors"))


def slice_rows(client: MetaClient, location: str, pattern: str | None = None) -> pa.Table:
    """List all committed file slices of a table, replaced ones included, as a table of :data:`SLICES_SCHEMA`.

    Log files count where their slice is; a file of change data counts in the slice of its commit. The scheduled bytes
    are those of log files that bear the instant of their slice, as the log files of version 6 do.

    Args:
        client: the table.
        location: its base path, for the paths of files.
        pattern: paths of partitions to look into: names with Hadoop's wildcards ``*``, ``?``, ``[…]`` and ``{…}``, a
            name for each folder; without it all partitions.

    Raises:
        InvalidOptionError: the pattern cannot be read.
    """
    partitions = client.partition_paths()
    if pattern is not None and pattern.strip("/"):
        wanted = glob_regex(pattern.strip("/"))
        partitions = [path for path in partitions if path and wanted.fullmatch(path)]
    files = client.list_files(partitions)
    slices = client.file_system_view(files=files).file_slices()
    order = [("partition", "ascending"), ("file_id", "ascending"), ("base_instant", "descending")]
    slices = slices.sort_by(order).combine_chunks()
    count, size, scheduled = _log_sums(slices, files)
    there = pc.is_valid(slices.column("base_file"))
    folder = pc.if_else(
        pc.equal(slices.column("partition"), ""),
        location.rstrip("/"),
        pc.binary_join_element_wise(location.rstrip("/"), slices.column("partition"), "/"),
    )
    path = pc.binary_join_element_wise(folder, pc.fill_null(slices.column("base_file"), ""), "/")
    columns = [
        slices.column("file_id"),
        slices.column("partition"),
        slices.column("base_instant"),
        pc.if_else(there, path, ""),
        pc.if_else(there, slices.column("base_size"), -1),
        pa.array(count),
        pa.array(size),
        pa.array(scheduled),
        pa.array(size - scheduled),
    ]
    return pa.table(columns, schema=SLICES_SCHEMA)


_Sums = tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]


def _log_sums(slices: pa.Table, files: pa.Table) -> _Sums:
    """Of each slice the number, the bytes, and the scheduled bytes of its log files and files of change data."""
    logs = slices.column("log_files").combine_chunks()
    owner = np.asarray(pc.list_parent_indices(logs), np.int64)
    sizes = np.asarray(pc.list_flatten(slices.column("log_sizes").combine_chunks()), np.int64)
    instants = _instants_of(pc.list_flatten(logs))
    names = parse_file_names(files.column("name"))
    change = pc.equal(names.column("kind"), int(FileKind.CDC))
    key = pa.table(
        [files.column("partition"), names.column("file_id"), names.column("instant").cast(pa.string())],
        names=["partition", "file_id", "base_instant"],
    ).filter(change)
    place = {row: number for number, row in enumerate(_keys(slices))}
    at = np.array([place.get(row, -1) for row in _keys(key)], np.int64)
    change_sizes = np.asarray(files.column("size").filter(change), np.int64)[at >= 0]
    at = at[at >= 0]
    own = np.asarray(pc.equal(instants, slices.column("base_instant").take(pa.array(owner))), bool)
    rows = np.concatenate([owner, at])
    weights = np.concatenate([sizes, change_sizes])
    planned = np.concatenate([np.where(own, sizes, 0), change_sizes])

    def summed(values: np.ndarray[tuple[int], np.dtype[np.int64]] | None) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.bincount(rows, values, minlength=slices.num_rows).astype(np.int64)

    return summed(None), summed(weights), summed(planned)


def _instants_of(names: pa.Array) -> pa.ChunkedArray:
    return parse_file_names(names).column("instant").cast(pa.string())


def _keys(table: pa.Table) -> list[tuple[str, str, str]]:
    columns = [table.column(name).to_pylist() for name in ("partition", "file_id", "base_instant")]
    return list(zip(*columns, strict=True))


def glob_regex(pattern: str) -> re.Pattern[str]:
    """Convert a glob pattern of Hadoop's to a regular expression.

    Raises:
        InvalidOptionError: a bracket or brace is not closed.
    """
    text, depth, index = "", 0, 0
    while index < len(pattern):
        char = pattern[index]
        index += 1
        if char == "\\" and index < len(pattern):
            text += re.escape(pattern[index])
            index += 1
        elif char in "*?":
            text += "[^/]" + ("*" if char == "*" else "")
        elif char == "[":
            end = pattern.find("]", index + 1)
            if end < 0:
                raise InvalidOptionError(f"the pattern {pattern!r} has an open bracket")
            inside = pattern[index:end].replace("\\", "\\\\").replace("[", "\\[")
            text += "[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]"
            index = end + 1
        elif char == "{":
            text, depth = text + "(?:", depth + 1
        elif char == "}" and depth:
            text, depth = text + ")", depth - 1
        elif char == "," and depth:
            text += "|"
        else:
            text += re.escape(char)
    if depth:
        raise InvalidOptionError(f"the pattern {pattern!r} has an open brace")
    try:
        return re.compile(text)
    except re.error as error:
        raise InvalidOptionError(f"the pattern {pattern!r} cannot be read: {error}") from error
