"""Checks log files against what completed instants recorded: distinguishes damage from the torn end of a dead writer.

Commit metadata records where in a log file a commit's blocks begin and how long the file was behind them; the metadata
table records the length. Within these bytes every block must be there and be the commit's own. Only what no completed
instant recorded may be torn.

Source: docs/format.md#torn-and-damaged-blocks.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.log import BlockType, LogBlock
from hudi_hive.names import FILE_NAME_COLUMN
from hudi_hive.storage import Storage
from hudi_hive.table.logs.log_data import LogData, LogDeletes
from hudi_hive.table.view import parse_file_names
from hudi_hive.timeline import CommitMetadata, Instant, Timeline
from hudi_hive.timeline.payloads import LOG_WRITES_SCHEMA

CONTENT_TYPES: Final = frozenset(BlockType) - {BlockType.COMMAND, BlockType.CORRUPT}
"""Types of blocks that hold records or deletes."""

_FILE_NAME: Final = FILE_NAME_COLUMN
_REMEDY: Final = "restore the file, or roll its commit back"
_READERS: Final = 16


@dataclass(frozen=True, slots=True)
class LogImage:
    """A log file as it was read.

    Attributes:
        path: relative to the table's base path.
        uri: the same, for messages.
        length: its bytes.
        recorded: its bytes as a listing or the metadata table has them; None: not known.
        blocks: what is in it.
    """

    path: str
    uri: str
    length: int
    recorded: int | None
    blocks: Sequence[LogBlock]


def committed_log_writes(
    timeline: Timeline, storage: Storage, names: pa.Array, instants: Iterable[str] = ()
) -> pa.Table:
    """Log files that completed instants wrote to: a table of :data:`~hudi_hive.timeline.payloads.LOG_WRITES_SCHEMA`.

    Only instants that may have written to one of the files are read: those in the names, or in version 6, whose names
    tell the base instant of the slice, those from there on. Rows of other files are among the result.

    Args:
        timeline: the timeline.
        storage: where it is; tells how many commits are read at a time.
        names: names of log files.
        instants: more instants to read.
    """
    times = set(instants) | set(
        pc.unique(parse_file_names(names).column("instant").cast(pa.string()).drop_null()).to_pylist()
    )
    if not times:
        return LOG_WRITES_SCHEMA.empty_table()
    first, least = timeline.first_active(), min(times)

    def wrote(instant: Instant) -> bool:
        if not (instant.is_completed and instant.is_write):
            return False
        return instant.requested in times if timeline.layout >= 2 else instant.requested >= least

    active = [instant for instant in timeline.write_instants() if wrote(instant)]
    if len(active) > 1 and not storage.is_local:
        with ThreadPoolExecutor(min(len(active), _READERS), thread_name_prefix="hudi-commits") as pool:
            commits: Iterable[CommitMetadata] = list(pool.map(timeline.commit_metadata, active))
    else:
        commits = map(timeline.commit_metadata, active)
    tables = [metadata.log_writes for metadata in commits]
    if first is None or least < first:
        archive, here = timeline.archived(), {instant.requested for instant in active}
        old = [i for i in archive.instants if wrote(i) and i.requested not in here]
        tables += [archive.commit_metadata(instant).log_writes for instant in old]
    return pa.concat_tables([LOG_WRITES_SCHEMA.empty_table(), *tables])


def with_recorded_sizes(timeline: Timeline, storage: Storage, slices: pa.Table) -> pa.Table:
    """Replace the listed sizes of log files in slices by those that completed instants recorded.

    Sizes of the metadata table are recorded ones already. What no instant recorded stays as it is.

    Args:
        timeline: the timeline.
        storage: rooted at the table's base path.
        slices: columns ``partition``, ``log_files`` and ``log_sizes``, as those of ``SLICE_SCHEMA``, and any others.

    Raises:
        CorruptFileError: a file is shorter than recorded: it was cut after it was committed.
    """
    if not slices.num_rows:
        return slices
    lists, listed = _one(slices.column("log_files")), _one(slices.column("log_sizes"))
    names, sizes = pc.list_flatten(lists), pc.list_flatten(listed)
    if not len(names):
        return slices
    partitions = _one(slices.column("partition")).take(pc.list_parent_indices(lists))
    paths = pc.if_else(pc.equal(partitions, ""), names, pc.binary_join_element_wise(partitions, names, "/"))
    writes = committed_log_writes(timeline, storage, names)
    ends = writes.group_by("path").aggregate([("end", "max")])
    places = pc.index_in(paths, value_set=_one(ends.column("path")))
    recorded = _one(ends.column("end_max")).take(places)
    for row in pc.indices_nonzero(pc.fill_null(pc.less(sizes, recorded), False)).to_pylist()[:1]:
        raise short_file(storage.uri(paths[row].as_py()), sizes[row].as_py(), recorded[row].as_py())
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.append(0, np.cumsum(lengths)).astype(np.int32))
    known = pa.ListArray.from_arrays(offsets, pc.coalesce(recorded, sizes))
    return slices.set_column(slices.column_names.index("log_sizes"), "log_sizes", known)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.nulls(0, column.type)])


def short_file(uri: str, length: int, recorded: int, instant: str | None = None) -> CorruptFileError:
    """Make the error for a file that lost bytes after its commit."""
    return CorruptFileError(
        f"file has {length} bytes where its commit recorded {recorded}", path=uri, instant=instant, remedy=_REMEDY
    )


def refuse_damaged_logs(
    files: Sequence[LogImage], storage: Storage, timeline: object, committed: Container[str | None]
) -> None:
    """Refuse log files in which bytes that a completed instant recorded are missing or are not its blocks.

    Commits are read only where something is odd: bytes that are no block, a file without blocks, blocks of an instant
    that is not committed.

    Args:
        files: log files of one slice.
        storage: rooted at the table's base path.
        timeline: the timeline; where it is no :class:`~hudi_hive.timeline.Timeline`, commits cannot be looked up.
        committed: instants of the files' blocks that are committed.

    Raises:
        CorruptFileError: a file was damaged after it was committed.
    """
    for file in files:
        if file.recorded is not None and file.length < file.recorded:
            raise short_file(file.uri, file.length, file.recorded)
    if not isinstance(timeline, Timeline):
        for file in files:
            if file.recorded and not _ends_at(file, file.recorded):
                raise _wrong_end(file, file.recorded)
        return
    # A listing may have met a file while a writer appended to it, so that its size by itself proves nothing.
    odd = [file for file in files if _is_odd(file, committed) or (file.recorded and not _ends_at(file, file.recorded))]
    names = pa.array([file.path.rpartition("/")[2] for file in files], pa.string())
    instants = parse_file_names(names).column("instant").cast(pa.string()).to_pylist()
    if timeline.layout >= 2:
        _refuse_blocks_of_others(files, instants, timeline, storage)
    else:
        odd += _unlikely(files, instants)
    if not odd:
        return
    writes = committed_log_writes(timeline, storage, names)
    paths = pa.array([file.path for file in odd], pa.string())
    rows = writes.filter(pc.is_in(writes.column("path"), value_set=paths)).to_pylist()
    for file in odd:
        for row in rows:
            if row["path"] == file.path:
                _refuse_damaged_write(file, row)


def refuse_records_of_others(records: LogData | LogDeletes, partition: str) -> None:
    """Refuse a block whose records name another file group or partition.

    Args:
        records: a decoded block; only its first record is looked at, if the column was decoded.
        partition: partition path of the slice.

    Raises:
        CorruptFileError: the records belong elsewhere.
    """
    group = records.path.rpartition("/")[2].lstrip(".").partition("_")[0]
    if isinstance(records, LogData):
        there = _first(records.batch, _FILE_NAME)
        wrong = bool(there) and not str(there).startswith(group)
    else:
        there = _first(records.table, "partition_path")
        # A key generator may leave slashes that the file system takes out of the folder's name.
        wrong = bool(there) and there != partition and _parts(str(there)) != _parts(partition)
    if wrong:
        raise CorruptFileError(
            f"the file's records are those of {there}", path=records.path, instant=records.instant, remedy=_REMEDY
        )


def _parts(partition: str) -> list[str]:
    return [part for part in partition.split("/") if part]


def _first(rows: pa.RecordBatch | pa.Table, column: str) -> object:
    place = rows.schema.get_field_index(column) if rows.num_rows else -1
    return rows.column(place)[0].as_py() if place >= 0 else None


def _is_odd(file: LogImage, committed: Container[str | None]) -> bool:
    types = {block.type for block in file.blocks}
    if not types or BlockType.CORRUPT in types:
        return True
    return any(block.type in CONTENT_TYPES and block.instant not in committed for block in file.blocks)


def _unlikely(files: Sequence[LogImage], base_instants: Sequence[str | None]) -> list[LogImage]:
    """Files of version 6 with blocks older than their slice, or of an instant that has blocks in another file."""
    owner: dict[str | None, str] = {}
    suspects: dict[str, LogImage] = {}
    for file, base in zip(files, base_instants, strict=True):
        for instant in {block.instant for block in file.blocks if block.type in CONTENT_TYPES}:
            if (
                instant is None
                or (base is not None and instant < base)
                or owner.setdefault(instant, file.path) != file.path
            ):
                suspects[file.path] = file
    return list(suspects.values())


def _ends_at(file: LogImage, recorded: int) -> bool:
    """Whether a block ends where the file did when its size was recorded; it may have grown."""
    return any(block.offset + block.size == recorded for block in file.blocks)


def _wrong_end(file: LogImage, recorded: int, instant: str | None = None) -> CorruptFileError:
    return CorruptFileError(
        f"no log block ends at byte {recorded}, where the file ended when it was committed",
        path=file.uri,
        instant=instant,
        remedy=_REMEDY,
    )


def _refuse_blocks_of_others(
    files: Sequence[LogImage], instants: Sequence[str | None], timeline: Timeline, storage: Storage
) -> None:
    """From table version 8 on a log file is of one write, which its name tells.

    Files from before an upgrade name the base instant of their slice; the commits of their blocks name them.
    """
    strange = [
        (file, instant, block)
        for file, instant in zip(files, instants, strict=True)
        for block in file.blocks
        if block.type in CONTENT_TYPES and instant is not None and block.instant != instant
    ]
    if not strange:
        return
    told = {block.instant for _, _, block in strange if block.instant is not None}
    names = pa.array([file.path.rpartition("/")[2] for file in files], pa.string())
    rows = committed_log_writes(timeline, storage, names, told).select(["path", "instant"]).to_pylist()
    writes = {(row["path"], row["instant"]) for row in rows}
    for file, instant, block in strange:
        if (file.path, block.instant) not in writes:
            raise CorruptFileError(
                f"log block at offset {block.offset} is of the instant {block.instant}, not of the file's",
                path=file.uri,
                instant=instant,
                remedy=_REMEDY,
            )


def _refuse_damaged_write(file: LogImage, write: dict[str, Any]) -> None:
    start, end, instant = write["start"], write["end"], write["instant"]
    if file.length < end:
        raise short_file(file.uri, file.length, end, instant)
    if not write["has_records"]:
        return
    if not _ends_at(file, end):
        raise _wrong_end(file, end, instant)
    within = [block for block in file.blocks if block.offset < end and block.offset + block.size > start]
    wrong = [b for b in within if b.type is BlockType.CORRUPT or (b.type in CONTENT_TYPES and b.instant != instant)]
    if wrong or not any(block.type in CONTENT_TYPES for block in within):
        offset = wrong[0].offset if wrong else start
        raise CorruptFileError(
            f"log block at offset {offset}, which a completed instant wrote, is damaged",
            path=file.uri,
            instant=instant,
            remedy=_REMEDY,
        )
