"""``MetadataStore``: writes file groups and delta commits of the metadata table, and undoes those of dead writers.

A delta commit is a log file for each file group with something to say: one HFile block, and where keys are deleted a
delete block behind it.

Source: docs/format.md#metadata-file-groups, docs/format.md#metadata-records, docs/format.md#metadata-timeline.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import MetadataTableError
from hudi_hive.formats.hfile import write_hfile
from hudi_hive.formats.log import command_block, delete_block, hfile_block, iter_blocks
from hudi_hive.metadata.reader import (
    HASHES_HEADS,
    METADATA_FOLDER,
    RECORD_INDEX,
    RECORD_INDEX_PREFIX,
    SECONDARY_PREFIX,
    index_definitions,
    index_prefix,
    is_partitioned_index,
    newest_write_time,
    rows_of_groups,
    secondary_heads,
)
from hudi_hive.metadata.writer.record_schema import record_schema
from hudi_hive.metadata.writer.records import PartitionedChanges, RecordChanges, Records, split_by_group, whole_keys
from hudi_hive.options import locks
from hudi_hive.storage import LISTING_SCHEMA, Storage
from hudi_hive.table import MetaClient, TableConfig
from hudi_hive.table.view import FileKind, list_folders, parse_file_names
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.core import HEARTBEAT_FOLDER, InstantClock, TimelineWriter, heartbeat_mtimes
from hudi_hive.timeline.instants import DELTA_COMMIT
from hudi_hive.timeline.payloads import NewCommitMetadata, encode_commit

PREFIXES: Final[Mapping[str, str]] = {
    "files": "files-",
    "column_stats": "col-stats-",
    "bloom_filters": "bloom-filters-",
    RECORD_INDEX: f"{RECORD_INDEX_PREFIX}-",
    "partition_stats": "partition-stats-",
}
"""Partition of the metadata table -> what the ids of its file groups begin with; others are called as they are."""

_GROUP: Final = re.compile(r"(?P<prefix>.+-)(?P<number>\d{4,})-0", re.DOTALL)
_LONGEST_NAME: Final = 255
_OPERATION: Final = "UPSERT_PREPPED"
_WRITERS: Final = 4
"""Log files that are made at a time; compressing them lets go of the interpreter."""

_DEFAULT_SILENCE_MS: Final = locks.HEARTBEAT_INTERVAL.default * locks.HEARTBEAT_MISSES.default

_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class MetadataFileGroup:
    """The newest slice of a file group, and the version number of its next log file in version 6."""

    file_id: str
    base_instant: str
    base_file: str | None
    log_files: tuple[str, ...]
    next_version: int


_Job = tuple[str, int, MetadataFileGroup, RecordChanges]
"""A partition, a number for a file group of it, that group, and its share of the changes."""


@dataclass(frozen=True, slots=True)
class BaseWriter:
    """Writes base files of a metadata table; can be pickled.

    Attributes:
        storage: rooted at the metadata table's base path.
        version: its table version.
    """

    storage: Storage
    version: int

    def hfile(self, records: Records, extra: Mapping[str, bytes] | None = None) -> bytes:
        """Records as an HFile, sorted by the bytes of their keys."""
        keys, schema = records.keys.cast(pa.binary()), record_schema(self.version)
        order = pc.sort_indices(keys)
        return write_hfile(keys.take(order), records.values.take(order), schema=schema, extra=dict(extra or {}))


class MetadataStore:
    """The metadata table of a table, open for writing, at the moment of :meth:`reload`.

    Args:
        client: the data table.
        config: its properties, of one that has just been made and has no instant yet; they are read without.

    Raises:
        TableNotFoundError: there is no metadata table.
    """

    def __init__(self, client: MetaClient, config: TableConfig | None = None) -> None:
        self.data = client
        self.storage: Storage = client.storage.child(METADATA_FOLDER)
        self.clock = InstantClock()
        if config is None:
            self.reload()
        else:
            self._use(config)
            self.client.load_timeline(LISTING_SCHEMA.empty_table())

    def reload(self) -> None:
        """Read properties and timeline anew."""
        self._use(TableConfig.load(self.storage, metadata_table=True))

    def _use(self, config: TableConfig) -> None:
        self.config = config
        self.instants = TimelineWriter(self.storage, self.config)
        self.move_to_now()

    def move_to_now(self, client: MetaClient | None = None, files: pa.Table | None = None) -> None:
        """Read the timeline anew, or take over a client that is as of now, and the listing of all partitions."""
        self.client = MetaClient(self.storage, self.config) if client is None else client
        self._files = files

    @property
    def version(self) -> int:
        """Table version of the metadata table."""
        return self.config.version

    @property
    def schema(self) -> str:
        """Schema of records."""
        return record_schema(self.version)

    # -- file groups ---------------------------------------------------------------------------------------------

    def groups(self, partition: str, files: pa.Table | None = None) -> list[MetadataFileGroup]:
        """File groups of a partition in the order of their numbers.

        Args:
            partition: of the metadata table.
            files: listing of partitions, this one among them; it is listed without.

        Raises:
            MetadataTableError: they are not numbered from 0 on under one name.
        """
        named = self.named_groups(partition, files)
        return [group for prefix in sorted(named) for group in named[prefix]]

    def named_groups(self, partition: str, files: pa.Table | None = None) -> dict[str, list[MetadataFileGroup]]:
        """File groups by what their ids begin with, a hyphen in the end, each in the order of their numbers.

        There is one such name, or one for each partition of the table whose records a record index has by themselves.
        Arguments and errors are those of :meth:`groups`.
        """
        if files is None:
            files = list_folders(self.storage, [partition])
        else:
            files = files.filter(pc.equal(files.column("partition"), partition))
        slices = self.client.file_system_view(files=files).latest_file_slices(newest_write_time(self.client.timeline))
        versions = _log_versions(files)
        of_partitions = partition == RECORD_INDEX and is_partitioned_index(self.data)
        begin = group_prefix(partition)
        named: dict[str, dict[int, MetadataFileGroup]] = {}
        for row in slices.to_pylist():
            match = _GROUP.fullmatch(row["file_id"])
            named_so = match is not None and match["prefix"].startswith(begin)
            if match is None or not named_so or (match["prefix"] != begin) is not of_partitions:
                raise MetadataTableError(
                    f"file group {row['file_id']!r} of {partition!r} cannot be written",
                    path=self.storage.uri(partition),
                    remedy="delete this partition of the metadata table with `hudi-hive metadata delete --partition`",
                )
            version = versions.get((row["file_id"], row["base_instant"]), 0) + 1
            named.setdefault(match["prefix"], {})[int(match["number"])] = MetadataFileGroup(
                row["file_id"], row["base_instant"], row["base_file"], tuple(row["log_files"]), version
            )
        whole = all(sorted(numbered) == list(range(len(numbered))) for numbered in named.values())
        if not whole or not (named or of_partitions):
            raise MetadataTableError(
                f"the file groups of {partition!r} are not numbered from 0 on", path=self.storage.uri(partition)
            )
        return {prefix: [numbered[at] for at in range(len(numbered))] for prefix, numbered in named.items()}

    # -- delta commits -------------------------------------------------------------------------------------------

    def delta_commit(self, instant: str, changes: Mapping[str, RecordChanges | PartitionedChanges]) -> None:
        """Commit changes under an instant; what is written of it before an error is taken back.

        Args:
            instant: requested time.
            changes: partition of the metadata table -> what is new in it.
        """
        requested = self.instants.create_requested(DELTA_COMMIT, instant)
        try:
            files = list_folders(self.storage, sorted(changes)) if self._files is None else self._files
            jobs = [job for name in sorted(changes) for job in self._jobs(instant, name, changes[name], files)]
            self.instants.transition_inflight(DELTA_COMMIT, instant, self._announced(jobs), just_seen=True)
            stats = in_threads(lambda job: self._append(instant, *job), jobs)
            self.storage.flush_folders(changes)
            self.complete(DELTA_COMMIT, instant, _OPERATION, stats)
        except BaseException:
            self.move_to_now()
            self.remove(requested)
            raise
        self.move_to_now()

    def complete(
        self, action: str, instant: str, operation: str, stats: Sequence[Mapping[str, Any]], *, compacted: bool = False
    ) -> MetaClient | None:
        """Complete an inflight write of the metadata table.

        Returns:
            A client of the table behind it, as far as it is known; None where the timeline has to be read.
        """
        metadata = NewCommitMetadata(operation, {"schema": self.schema}, stats, compacted=compacted)
        layout = self.config.layout
        completion = self.clock.completion_time(self.client.timeline, instant) if layout == 2 else None
        payload = encode_commit(metadata, layout)
        done = self.instants.complete(action, instant, payload, completion, just_seen=True)
        if layout == 1 or self.storage.is_local:
            return None
        return self.client.at(self.client.timeline.with_completed(done, payload))

    def _announced(self, jobs: Sequence[_Job]) -> bytes:
        """What the inflight instant says of the slices that are about to be appended to.

        In version 6 no log file's name tells its instant. By this Hudi finds the slices where it declares the blocks of
        a dead writer void; without, they come to life when a service is run again under the same instant.
        """
        if self.config.layout != 1:
            return b""
        stats = [
            {
                "fileId": group.file_id,
                "partitionPath": partition,
                "prevCommit": group.base_instant,
                "numUpdateWrites": len(share.records) + (0 if share.deleted is None else len(share.deleted)),
            }
            for partition, _, group, share in jobs
        ]
        return encode_commit(NewCommitMetadata(_OPERATION, {}, stats), self.config.layout)

    def _jobs(
        self, instant: str, partition: str, change: RecordChanges | PartitionedChanges, files: pa.Table
    ) -> list[_Job]:
        """The file groups that a change touches, each with its share of it."""
        if isinstance(change, RecordChanges):
            return self._shares(partition, self.groups(partition, files), change)
        named = self.named_groups(partition, files)
        jobs: list[_Job] = []
        for path, part in change.each.items():
            prefix = self.indexed_prefix(path)
            there = named.get(prefix)
            new = range(change.new_groups if there is None else 0)
            groups = there or [MetadataFileGroup(f"{prefix}{n:04d}-0", instant, None, (), 1) for n in new]
            made = self._shares(partition, groups, part)
            if there is None:  # each of them is to be there
                touched, none = {job[1] for job in made}, Records.none()
                empty = RecordChanges(none, none.keys)
                made += [(partition, n, groups[n], empty) for n in range(len(groups)) if n not in touched]
            jobs += [(partition, len(jobs) + at, *job[2:]) for at, job in enumerate(made)]
        return jobs

    def indexed_prefix(self, path: str) -> str:
        """What the file groups of the record index of a partition are called before their number.

        Raises:
            MetadataTableError: no name of a log file holds the partition's path, or no file system such a name.
        """
        prefix = f"{index_prefix(path)}-"
        longest = f".{prefix}9999-0_{'9' * 17}.log.1_9999-1-1"
        if "." in prefix or len(longest.encode()) > _LONGEST_NAME:
            why = "holds a dot, which" if "." in prefix else "is too long, and"
            raise MetadataTableError(
                f"the path of the partition {path!r} {why} no name of a file of its record index can have",
                path=self.storage.uri(RECORD_INDEX),
                remedy=f"`hudi-hive metadata delete --partition {RECORD_INDEX}`, and keep an index of the whole table",
            )
        return prefix

    def _shares(self, partition: str, groups: Sequence[MetadataFileGroup], change: RecordChanges) -> list[_Job]:
        """The file groups of one index that a change touches."""
        shares = dict(split_by_group(change.records, len(groups), self.hashed(partition)))
        gone: dict[int, pa.Array] = {}
        if change.deleted is not None and len(change.deleted):
            hashed = self.hashed(partition)(change.deleted)
            gone = {number: change.deleted.take(pa.array(rows)) for number, rows in rows_of_groups(hashed, len(groups))}
        again = dict(split_by_group(change.again or Records.none(), len(groups), self.hashed(partition)))
        none = Records.none()
        parts = {n: RecordChanges(shares.get(n, none), gone.get(n), again.get(n)) for n in sorted({*shares, *gone})}
        return [(partition, n, groups[n], part) for n, part in parts.items()]

    def hashed(self, partition: str) -> Callable[[pa.Array], pa.Array]:
        """Gives of the keys of a partition what is hashed to find their file groups."""
        if partition.startswith(SECONDARY_PREFIX):
            version = next((one.version for one in index_definitions(self.data) if one.name == partition), "")
            if version == HASHES_HEADS:
                return secondary_heads
        return whole_keys

    def _append(
        self,
        instant: str,
        partition: str,
        number: int,
        group: MetadataFileGroup,
        share: RecordChanges,
    ) -> dict[str, Any]:
        """Write one log file; its write stat."""
        records, deleted = share.records, share.deleted
        blocks = [block for block in (records, share.again) if block is not None and len(block)]
        parts = [hfile_block(instant, self.schema, self.writer.hfile(block)) for block in blocks]
        if deleted is not None:
            parts.append(delete_block(instant, deleted_keys(partition, deleted)))
        by_base = self.config.layout == 1
        base, version = (group.base_instant, group.next_version) if by_base else (instant, 1)
        name = f".{group.file_id}_{base}.log.{version}_{number}-1-1"
        data = b"".join(parts)
        self.storage.create_if_absent(f"{partition}/{name}", data, lasting=False)  # the folder is flushed once
        gone = 0 if deleted is None else len(deleted)
        return {
            **write_stat(partition, group.file_id, name, base, len(data)),
            "numWrites": len(records),
            "numUpdateWrites": len(records),
            "numDeletes": gone,
            "logVersion": version,
            "logOffset": 0,
            "baseFile": group.base_file or "",
            "logFiles": [*(group.log_files if by_base else ()), name],
        }

    @property
    def writer(self) -> BaseWriter:
        """What writes its base files, in any process."""
        return BaseWriter(self.storage, self.version)

    # -- taking back ---------------------------------------------------------------------------------------------

    def remove(self, instant: Instant, command: str | None = None) -> None:
        """Take back a write of the metadata table, pending or completed: its files first, then its instant's.

        A death on the way leaves an instant that the next call finds again.

        Args:
            instant: the write.
            command: instant of command blocks, where a log file holds blocks of other instants too; its own without.
        """
        folders = [*self.partition_folders()]
        files = list_folders(self.storage, folders)
        names = parse_file_names(files.column("name"))
        kind, of = names.column("kind").to_numpy(), names.column("instant").cast(pa.string()).to_pylist()
        own: list[str] = []
        for row, (partition, name) in enumerate(zip(*(files.column(c).to_pylist() for c in FILE_COLUMNS), strict=True)):
            if kind[row] == FileKind.OTHER:
                continue
            path = f"{partition}/{name}"
            if kind[row] == FileKind.BASE or self.config.layout == 2:
                if of[row] == instant.requested:
                    own.append(path)
            elif (whole := self._blocks_of(path, instant.requested)) is not None:
                self._take_back(partition, name, path, instant.requested, command, whole)
        if self.config.layout == 2:
            own.append(f"{HEARTBEAT_FOLDER}/{instant.requested}")
        self.storage.delete_files(own)
        self.instants.delete(instant)
        self.reload()

    def _blocks_of(self, path: str, instant: str) -> bool | None:
        """Whether all blocks of a log file are of an instant; None if none is."""
        data = self.storage.read_bytes(path)
        own = [block.instant == instant for block in iter_blocks(data, self.storage.uri(path)) if block.instant]
        if not any(own):
            return None
        return all(own)

    def _take_back(self, partition: str, name: str, path: str, instant: str, command: str | None, whole: bool) -> None:
        if whole:
            self.storage.delete(path)
            return
        file_id, base = name[1:].split("_")[:2]
        base = base.partition(".")[0]
        versions = _log_versions(list_folders(self.storage, [partition]))
        log = f".{file_id}_{base}.log.{versions[(file_id, base)] + 1}_1-0-1"
        self.storage.create_if_absent(f"{partition}/{log}", command_block(command or instant, instant))

    def partition_folders(self) -> list[str]:
        """Folders of the metadata table's partitions, complete or not."""
        listing = self.storage.list()
        folders = listing.filter(listing.column("is_dir")).column("path").to_pylist()
        return sorted(folder for folder in folders if not folder.startswith("."))

    def pending_commits(self) -> list[Instant]:
        """Delta commits that have begun and are not complete, oldest first."""
        pending = [i for i in self.client.timeline.instants if i.state is not State.COMPLETED]
        return [i for i in pending if i.action == DELTA_COMMIT]

    def abandoned(self, silence_ms: float, clock: Callable[[], float] = time.time) -> list[Instant]:
        """Pending delta commits of dead writers, oldest first; to be called under the table's lock.

        Hudi 1.1 begins its delta commit while it still writes data, before it takes the lock (streaming writes), in
        tables from version 8 on. One of a data instant that is pending is a living writer's while that beats: for the
        data instant, or for the delta commit by a heartbeat in this table. In version 6 all is done under the lock.

        Args:
            silence_ms: milliseconds without a heartbeat after which a writer is dead.
            clock: seconds since the epoch.
        """
        pending = self.pending_commits()
        at_work = {i.requested for i in self.data.timeline.pending()}
        if self.config.layout == 1 or not any(i.requested in at_work for i in pending):
            return pending
        now = clock() * 1000
        beating = _beating_since(self.data.storage, now - silence_ms)
        # Hudi beats here in its default interval, whatever the options say.
        beating |= _beating_since(self.storage, now - max(silence_ms, _DEFAULT_SILENCE_MS))
        return [i for i in pending if i.requested not in at_work & beating]


FILE_COLUMNS: Final = ("partition", "name")


def _beating_since(storage: Storage, oldest_ms: float) -> set[str]:
    """Requested times of the instants whose heartbeat was renewed at a time or later."""
    return {instant for instant, renewed_ms in heartbeat_mtimes(storage).items() if renewed_ms >= oldest_ms}


def write_stat(partition: str, file_id: str, name: str, previous: str, size: int) -> dict[str, Any]:
    """A write stat of a file of the metadata table, without its counts."""
    return {
        "fileId": file_id,
        "path": f"{partition}/{name}",
        "partitionPath": partition,
        "prevCommit": previous,
        "totalWriteBytes": size,
        "fileSizeInBytes": size,
    }


def group_prefix(partition: str) -> str:
    """What the ids of the file groups of a partition of the metadata table begin with."""
    return PREFIXES.get(partition) or f"{partition.replace('_', '-')}-"


def deleted_keys(partition: str, keys: pa.Array) -> pa.Table:
    """Keys as a delete block of the metadata table has them: no ordering value."""
    names = pa.array([partition] * len(keys), pa.string()) if len(keys) else pa.array([], pa.string())
    return pa.table({"record_key": keys, "partition_path": names})


def in_threads(function: Callable[[_T], _R], tasks: Sequence[_T]) -> list[_R]:
    """Results in the order of the tasks; waits for all of them before an error is raised."""
    if len(tasks) < 2:
        return [function(task) for task in tasks]
    with ThreadPoolExecutor(min(_WRITERS, len(tasks))) as pool:
        return [future.result() for future in [pool.submit(function, task) for task in tasks]]


def _log_versions(files: pa.Table) -> dict[tuple[str, str], int]:
    """Greatest version of the log files there are, committed or not, of each file id and instant in the name."""
    names = parse_file_names(files.column("name"))
    logs = names.filter(pc.equal(names.column("kind"), FileKind.LOG.value))
    result: dict[tuple[str, str], int] = {}
    columns = (logs.column("file_id"), logs.column("instant").cast(pa.string()), logs.column("log_version"))
    for file_id, instant, version in zip(*(column.to_pylist() for column in columns), strict=True):
        result[(file_id, instant)] = max(version, result.get((file_id, instant), 0))
    return result
