"""Scans the log files of a file slice: selects the valid blocks, orders and decodes them.

Log file names and a timeline in, the records and deleted keys of the blocks that count out, oldest first. Blocks are
chosen by their headers; only those that count are decoded.

Source: docs/format.md#log-scan.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Final, Protocol

import pyarrow as pa

from hudi_hive.errors import CorruptFileError, FileVanishedError, PathNotFoundError, UnsupportedFormatError
from hudi_hive.formats.log import BlockType, HeaderKey, LogBlock, iter_blocks
from hudi_hive.storage import Storage, map_file, read_through, release_pages, run_together
from hudi_hive.table.logs.block_schemas import refuse_damaged_schemas
from hudi_hive.table.logs.committed_logs import CONTENT_TYPES, LogImage, refuse_damaged_logs, refuse_records_of_others
from hudi_hive.table.logs.log_data import (
    LogData,
    LogDeletes,
    PieceRules,
    decode_block,
    decode_in_pieces,
    is_partial,
)

_log = logging.getLogger(__name__)

_ROLLBACK: Final = "0"


class CommitTest(Protocol):
    """The interface of the timeline that a scan needs (:class:`hudi_hive.timeline.Timeline` is one)."""

    def committed_mask(self, instants: pa.Array) -> pa.Array:
        """Whether blocks written by each instant are visible."""


@dataclass(frozen=True, slots=True)
class LogRecords:
    """The records and deletes in the log files of a slice.

    Args:
        blocks: the blocks that count, oldest first; a later block's records are the newer ones of a merge.
        files: log files read.
        blocks_seen: blocks in them, corrupt stretches included.
        corrupt: corrupt stretches (what a writer that died left behind); they are passed over.
        skipped: whole blocks that do not count: not committed, out of range, rolled back, repeated or compacted.
        seen: name of the file and instant of each whole block of records or deletes, whether it counts or not.
    """

    blocks: tuple[LogData | LogDeletes, ...] = ()
    files: int = 0
    blocks_seen: int = 0
    corrupt: int = 0
    skipped: int = 0
    seen: frozenset[tuple[str, str | None]] = frozenset()

    @property
    def data(self) -> tuple[LogData, ...]:
        """The data blocks of the slice, oldest first."""
        return tuple(block for block in self.blocks if isinstance(block, LogData))

    @property
    def deletes(self) -> tuple[LogDeletes, ...]:
        """The delete blocks of the slice, oldest first."""
        return tuple(block for block in self.blocks if isinstance(block, LogDeletes))


@dataclass(frozen=True, slots=True)
class BlockRange:
    """The log blocks that count by their instants.

    Attributes:
        timeline: says which instants are committed; None to take every block as committed.
        max_instant: requested time of the last instant that counts; None for no bound.
        instants: instants whose blocks count, as for an incremental range; None for all.
    """

    timeline: CommitTest | None = None
    max_instant: str | None = None
    instants: Container[str] | None = None


@dataclass(frozen=True, slots=True)
class LogBlocks:
    """The blocks of a slice's log files that count, oldest first, before they are decoded.

    Attributes:
        blocks: the blocks.
        partition: partition path of the slice.
        columns: columns to decode of data blocks; None for all.
        about: the numbers of :class:`LogRecords`, without the records.
    """

    blocks: tuple[LogBlock, ...]
    partition: str
    columns: Sequence[str] | None
    about: LogRecords

    @property
    def are_partial(self) -> bool:
        """Whether records of some block hold changed columns only."""
        return any(is_partial(block) for block in self.blocks if block.type is not BlockType.DELETE)

    def decoded(self, keys: pa.Array | None = None) -> LogRecords:
        """All records and deletes.

        Args:
            keys: record keys to read (null: all); see :func:`~hudi_hive.table.logs.log_data.decode_block`.

        Raises:
            CorruptFileError, UnsupportedFormatError: as :func:`scan_logs`.
        """
        decoded = tuple(decode_block(block, _instant(block), self.columns, keys) for block in self.blocks)
        for records in decoded:
            refuse_records_of_others(records, self.partition)
        return replace(self.about, blocks=decoded)

    def decoded_in_pieces(self, rules: PieceRules) -> Iterator[LogData | LogDeletes]:
        """The records and deletes, a piece at a time, oldest first; what was looked at is left to the disk.

        Args:
            rules: how large pieces are, and which records they have.

        Raises:
            CorruptFileError, UnsupportedFormatError: as :func:`scan_logs`.
        """
        for block in self.blocks:
            for records in decode_in_pieces(block, _instant(block), self.columns, rules):
                refuse_records_of_others(records, self.partition)
                yield records
                release_pages(block.content)


def scan_logs(
    storage: Storage,
    partition: str,
    log_files: Sequence[str],
    *,
    blocks: BlockRange,
    columns: Sequence[str] | None = None,
    keys: pa.Array | None = None,
    sizes: Sequence[int | None] | None = None,
) -> LogRecords:
    """Read the valid blocks of the log files of a slice.

    Args:
        storage, partition, log_files, blocks, columns, sizes: as of :func:`open_logs`.
        keys: record keys to read (null: all); see :func:`~hudi_hive.table.logs.log_data.decode_block`.

    Raises:
        FileVanishedError, CorruptFileError, UnsupportedFormatError: as :func:`open_logs`.
    """
    chosen = open_logs(storage, partition, log_files, blocks=blocks, columns=columns, sizes=sizes)
    return chosen.decoded(keys)


def open_logs(
    storage: Storage,
    partition: str,
    log_files: Sequence[str],
    *,
    blocks: BlockRange,
    columns: Sequence[str] | None = None,
    sizes: Sequence[int | None] | None = None,
    mapped_in: str | None = None,
) -> LogBlocks:
    """Choose the valid blocks of the log files of a slice.

    A block counts if its instant is committed and in the range, if it is not rolled back by a command block behind it,
    and if it is not part of a log compaction that counts itself; of a block that a retried write task repeated, one
    copy counts. Each file is opened once.

    A torn end is passed over only where no completed instant recorded its bytes, see
    :mod:`hudi_hive.table.logs.committed_logs`.

    Args:
        storage: rooted at the table's base path.
        partition: partition path, ``""`` for a table without partitions.
        log_files: names of the slice's log files, in the order of reading.
        blocks: the blocks that count.
        columns: columns to decode of data blocks (null: all); a block that lacks one leaves it out. HFile blocks
            of a metadata table are always given whole.
        sizes: bytes of each file as planned; one that is shorter was cut. Null, or a null among them: not known.
        mapped_in: a folder on the local disk for copies of the files, which are not in memory then; None to read them.

    Raises:
        FileVanishedError: a log file is gone.
        CorruptFileError: a block that counts is damaged, what a completed instant wrote is not there, or a file is no
            log file.
        UnsupportedFormatError: a block type, block version or command that we do not know.
    """
    paths = [f"{partition}/{name}" if partition else name for name in log_files]
    sizes = sizes or [None] * len(paths)
    files = [
        LogImage(path, storage.uri(path), len(data), size, tuple(iter_blocks(data, storage.uri(path))))
        for path, data, size in zip(paths, _read(storage, paths, sizes, mapped_in), sizes, strict=True)
    ]
    every_block = [block for file in files for block in file.blocks]
    committed = _committed({_instant(block) for block in every_block if block.type in CONTENT_TYPES}, blocks.timeline)
    refuse_damaged_logs(files, storage, blocks.timeline, committed)
    _warn_of_torn_ends(every_block)
    chosen = _choose(every_block, committed, blocks.max_instant, blocks.instants)
    corrupt = sum(block.type is BlockType.CORRUPT for block in every_block)
    skipped = sum(block.type in CONTENT_TYPES for block in every_block) - len(chosen)
    storage.counters.add("log_files", len(log_files))
    storage.counters.add("log_blocks", len(every_block))
    storage.counters.add("log_blocks_skipped", skipped)
    storage.counters.add("log_blocks_corrupt", corrupt)
    refuse_damaged_schemas(chosen, blocks.timeline)
    for block in every_block:
        release_pages(block.content)
    seen = frozenset(
        (file.path.rpartition("/")[2], block.instant)
        for file in files
        for block in file.blocks
        if block.type in CONTENT_TYPES
    )
    about = LogRecords((), len(log_files), len(every_block), corrupt, skipped, seen)
    return LogBlocks(tuple(chosen), partition, columns, about)


def _read(
    storage: Storage, paths: Sequence[str], sizes: Sequence[int | None], mapped_in: str | None
) -> Sequence[bytes | memoryview]:
    """Bytes of the files; several at a time where each costs a round trip."""

    def read(path: str, size: int | None) -> bytes | memoryview:
        try:
            if mapped_in is not None:
                return map_file(storage, path, mapped_in)
            return storage.read_bytes(path, size=size)
        except PathNotFoundError as error:
            uri = storage.uri(path)
            raise FileVanishedError("log file is gone", path=uri, remedy="plan the query again") from error

    return run_together(storage, [partial(read, path, size) for path, size in zip(paths, sizes, strict=True)])


def _warn_of_torn_ends(blocks: Sequence[LogBlock]) -> None:
    for block in blocks:
        if block.type is BlockType.CORRUPT:
            _log.warning(
                "corrupt block of %d bytes at offset %d is passed over: %s", block.size, block.offset, block.path
            )


def _choose(
    blocks: Sequence[LogBlock],
    committed: Container[str],
    max_instant: str | None,
    instants: Container[str] | None,
) -> list[LogBlock]:
    """Blocks that count, oldest first."""
    chosen: dict[int, LogBlock] = {}
    places: dict[str, list[int]] = {}  # of each instant's blocks, so that a rollback looks at its own alone
    for place, block in enumerate(blocks):
        if block.type is BlockType.COMMAND:
            # Not bound to the asked range: what was rolled back at any time is void at every time.
            for earlier in places.pop(_rolled_back(block), ()):
                del chosen[earlier]
        elif block.type in CONTENT_TYPES:
            instant = _instant(block)
            early_enough = max_instant is None or instant <= max_instant
            if early_enough and instant in committed and (instants is None or instant in instants):
                chosen[place] = block
                places.setdefault(instant, []).append(place)
    seen = {block.instant for block in blocks if block.type in CONTENT_TYPES}
    return _without_compacted(_without_copies(list(chosen.values())), seen)


def _instant(block: LogBlock) -> str:
    if block.instant is None:
        raise CorruptFileError(f"log block at offset {block.offset} has no instant time", path=block.path)
    return block.instant


def _committed(instants: set[str], timeline: CommitTest | None) -> set[str]:
    if timeline is None or not instants:
        return instants
    times = pa.array(sorted(instants), pa.string())
    return set(times.filter(timeline.committed_mask(times)).to_pylist())


def _rolled_back(block: LogBlock) -> str:
    """Instant that a command block makes void."""
    command = block.headers.get(HeaderKey.COMMAND_BLOCK_TYPE)
    if command != _ROLLBACK:
        raise UnsupportedFormatError(f"command {command!r} in a log file", path=block.path, instant=block.instant)
    target = block.headers.get(HeaderKey.TARGET_INSTANT_TIME)
    if target is None:
        raise CorruptFileError("rollback command in a log file names no instant", path=block.path)
    return target


def _without_copies(blocks: list[LogBlock]) -> list[LogBlock]:
    """Of blocks with an identifier that a retried write task wrote again byte by byte, keep the last copy.

    An attempt that differs is kept: the identifier's numbers are those of one task, and several tasks of an instant may
    write to one slice, so that only equal bytes prove a repetition.
    """
    blocks_left: list[LogBlock] = []
    seen: set[tuple[str | None, BlockType, bytes]] = set()
    for block in reversed(blocks):
        if HeaderKey.BLOCK_IDENTIFIER in block.headers:
            digest = sha256()
            for part in read_through(block.content):
                digest.update(part)
            copy = (block.instant, block.type, digest.digest())
            if copy in seen:
                continue
            seen.add(copy)
        blocks_left.append(block)
    blocks_left.reverse()
    return blocks_left


def _without_compacted(blocks: list[LogBlock], seen: set[str | None]) -> list[LogBlock]:
    """Put the blocks of a log compaction where the newest of the blocks that it replaces is, and leave those out.

    A compaction none of whose originals is in the slice's files stays where it is (docs/format.md#log-compaction).
    """
    final: dict[str, str] = {}
    originals_of: dict[str, set[str]] = {}
    for block in reversed(blocks):
        times = block.headers.get(HeaderKey.COMPACTED_BLOCK_TIMES)
        if times is None:
            continue
        instant = _instant(block)
        last = final.get(instant, instant)
        for original in filter(None, (time.strip() for time in times.split(","))):
            if original != last:
                final.setdefault(original, last)
                originals_of.setdefault(last, set()).add(original)
    if not final:
        return blocks
    moved = {last for last, originals in originals_of.items() if last not in final and not originals.isdisjoint(seen)}
    by_instant: dict[str, list[LogBlock]] = {}
    for block in reversed(blocks):
        by_instant.setdefault(_instant(block), []).append(block)
    result: list[LogBlock] = []
    placed: set[str] = set()
    for block in reversed(blocks):
        instant = _instant(block)
        target = final.get(instant)
        if target is None and instant not in moved:
            result.append(block)
        elif target in moved and HeaderKey.COMPACTED_BLOCK_TIMES not in block.headers and target not in placed:
            placed.add(target)
            result += by_instant.get(target, [])
    result.reverse()
    return result
