"""Selects the folders of a partition that a snapshot reads: base, deltas, delete deltas, as Hive does.

Names and choice follow HIVE-10165 and Hive's ORC ACID format: ``base_N``, ``delta_MIN_MAX[_STMT]`` and
``delete_delta_MIN_MAX[_STMT]``, each with ``_vTXN`` if a compaction of Hive 4 wrote it in transaction ``TXN``.

Source: docs/format/hive.md#hive-acid-folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import pyarrow as pa

from hudi_hive.errors import CorruptFileError, TimeTravelError, UnsupportedAcidTableError
from hudi_hive.metastore.transactions import RangeState, ValidIds
from hudi_hive.storage import Storage

_BASE: Final = re.compile(r"base_(-?\d+)(?:_v(\d+))?")
_DELTA: Final = re.compile(r"(delete_)?delta_(\d+)_(\d+)(?:_(\d+))?(?:_v(\d+))?")
_BUCKET: Final = re.compile(r"bucket_(\d{5,})(?:_(\d+))?")
_ORIGINAL: Final = re.compile(r"\d+_\d+.*")
_COMPACTED: Final = "_metadata_acid"
_FLUSHED: Final = "_flush_length"
_FROM_CONVERSION: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class AcidDirectory:
    """A folder of a partition, parsed from its name.

    ``kind`` is ``base``, ``delta`` or ``delete_delta``; ``statement`` is -1 if the name has none, ``visibility`` the
    transaction of the compaction that wrote it or 0.
    """

    name: str
    kind: str
    min_write_id: int
    max_write_id: int
    statement: int = -1
    visibility: int = 0


def parse_directory(name: str) -> AcidDirectory | None:
    """Parse the name of a folder; None if it is not that of a folder of an ACID table."""
    if match := _BASE.fullmatch(name):
        number = int(match[1])
        return AcidDirectory(name, "base", number, number, visibility=int(match[2] or 0))
    if match := _DELTA.fullmatch(name):
        kind = "delete_delta" if match[1] else "delta"
        statement = -1 if match[4] is None else int(match[4])
        return AcidDirectory(name, kind, int(match[2]), int(match[3]), statement, int(match[5] or 0))
    return None


@dataclass(frozen=True, slots=True)
class AcidFile:
    """A bucket file in a selected folder.

    ``path`` is relative to the storage's root; ``length`` the bytes that count, None for the whole file.
    """

    path: str
    bucket: int
    directory: AcidDirectory
    length: int | None = None


@dataclass(frozen=True)
class PartitionState:
    """The folders and files of a partition that a snapshot reads."""

    base: AcidDirectory | None
    deltas: tuple[AcidDirectory, ...]
    delete_deltas: tuple[AcidDirectory, ...]
    files: Mapping[str, tuple[AcidFile, ...]]

    @cached_property
    def data_files(self) -> tuple[AcidFile, ...]:
        """Files with rows: of the base, then of the deltas."""
        chosen = ((self.base,) if self.base is not None else ()) + self.deltas
        return tuple(file for directory in chosen for file in self.files.get(directory.name, ()))

    @cached_property
    def delete_files(self) -> tuple[AcidFile, ...]:
        """Files with delete events."""
        return tuple(file for directory in self.delete_deltas for file in self.files.get(directory.name, ()))

    def by_bucket(self, *, bucketed: bool) -> tuple[PartitionState, ...]:
        """Split into a state for each bucket, to be read by separate tasks.

        Args:
            bucketed: the table has buckets, so that deletes are in the file of their rows' bucket. Without them Hive 3
                files deletes by writer, and all go with each.
        """
        numbers = sorted({file.bucket for file in self.data_files})
        unbucketed = set() if bucketed else {directory.name for directory in self.delete_deltas}
        return tuple(
            replace(
                self,
                files={
                    name: tuple(file for file in files if name in unbucketed or file.bucket == number)
                    for name, files in self.files.items()
                },
            )
            for number in numbers
        )


def partition_state(
    storage: Storage, path: str, write_ids: ValidIds, transactions: ValidIds | None = None
) -> PartitionState:
    """Select the folders and files of a partition that a snapshot reads, with one recursive listing.

    Args:
        storage: the table's.
        path: of the partition's folder, relative to the root; empty for a table without partitions.
        write_ids: the reader's valid write ids.
        transactions: the reader's valid transactions, which decide on folders with ``_vTXN``.

    Raises:
        UnsupportedAcidTableError: files from before the table became transactional, foreign files or folders, several
            files of one bucket in a folder, or ``_vTXN`` without ``transactions``.
        TimeTravelError: a compaction or INSERT OVERWRITE replaced what the snapshot needs.
        CorruptFileError: a side file of a streaming write cannot be understood.
    """
    listing = storage.list(path, recursive=True, missing_ok=True)
    found, contents = _sort_out(storage, path, listing)
    compacted = {name for name, files in contents.items() if _COMPACTED in files}
    base, deltas = choose(found, write_ids, transactions, compacted=compacted, path=storage.uri(path))
    chosen = ([base] if base is not None else []) + deltas
    files = {one.name: _files(storage, path, one, contents.get(one.name, {})) for one in chosen}
    return PartitionState(
        base,
        tuple(one for one in deltas if one.kind == "delta"),
        tuple(one for one in deltas if one.kind == "delete_delta"),
        files,
    )


def _sort_out(storage: Storage, path: str, listing: pa.Table) -> tuple[list[AcidDirectory], dict[str, dict[str, int]]]:
    """Folders of a partition, and names and sizes of the files in each.

    Object stores list folders only as parts of files' names, or as empty objects, which Hadoop leaves for empty ones.
    """
    directories: dict[str, AcidDirectory] = {}
    contents: dict[str, dict[str, int]] = {}
    cut = len(path) + 1 if path else 0
    for full, size, is_dir in zip(*(listing[name].to_pylist() for name in ("path", "size", "is_dir")), strict=True):
        parts = full[cut:].split("/")
        if parts[0][:1] in "_.":
            continue
        if parts[0] not in directories:
            is_folder = is_dir or len(parts) > 1 or not (size or storage.has_folders)
            directory = parse_directory(parts[0]) if is_folder else None
            if directory is None:
                raise _foreign(storage.uri(full[:cut] + parts[0]), parts[0], is_folder)
            directories[parts[0]] = directory
        if len(parts) == 2 and not is_dir:
            contents.setdefault(parts[0], {})[parts[1]] = size
        elif len(parts) > 1 and parts[1][:1] not in "_.":
            raise _foreign(storage.uri(full), parts[-1], is_dir)
    return list(directories.values()), contents


def _foreign(uri: str, name: str, is_dir: bool) -> UnsupportedAcidTableError:
    if not is_dir and _ORIGINAL.fullmatch(name):
        return UnsupportedAcidTableError(
            "file without row identifiers, from before the table was transactional or from LOAD DATA",
            path=uri,
            remedy="run a major compaction",
        )
    what = "folder" if is_dir else "file"
    return UnsupportedAcidTableError(f"{what} {name!r} is none that Hive puts into an ACID table", path=uri)


def choose(
    directories: Sequence[AcidDirectory],
    write_ids: ValidIds,
    transactions: ValidIds | None = None,
    *,
    compacted: Iterable[str] = (),
    path: str | None = None,
) -> tuple[AcidDirectory | None, list[AcidDirectory]]:
    """Select the base and the deltas, delete deltas included, that a snapshot reads.

    Args:
        directories: all folders of the partition.
        write_ids: the reader's valid write ids.
        transactions: the reader's valid transactions.
        compacted: names of bases that a compaction of Hive 3 or older wrote; those of Hive 4 show it by their name.
        path: URI of the partition, for messages.

    Raises:
        UnsupportedAcidTableError: ``_vTXN`` without ``transactions``.
        TimeTravelError: the only bases hold more than the snapshot may see, or a compaction that it does not see was
            cleaned up after.
    """
    visible = [one for one in directories if _is_visible(one, transactions, path)]
    _check_inputs(directories, visible, transactions, path)
    bases = [one for one in visible if one.kind == "base"]
    names = set(compacted)
    usable = [one for one in bases if _base_counts(one, write_ids, names)]
    base = max(usable, key=lambda one: (one.max_write_id, one.visibility), default=None)
    # An INSERT OVERWRITE that is open or aborted leaves what was there, but what a later one replaced may be gone.
    later = [one for one in bases if one.visibility or one.name in names or one.max_write_id > write_ids.high_water]
    if base is None and later:
        raise TimeTravelError(
            f"{later[0].name} replaced what the snapshot needs", path=path, remedy="read under a newer snapshot"
        )
    rest = [one for one in visible if one.kind != "base"]
    return base, _choose_deltas(rest, -1 if base is None else base.max_write_id, write_ids)


def _is_visible(directory: AcidDirectory, transactions: ValidIds | None, path: str | None) -> bool:
    if not directory.visibility:
        return True
    if transactions is None:
        raise UnsupportedAcidTableError(
            f"{directory.name} is visible only by the list of transactions, which was not given",
            path=path,
            remedy="give the snapshot's transactions, too",
        )
    return transactions.is_valid(directory.visibility)


def _check_inputs(
    directories: Sequence[AcidDirectory],
    visible: Sequence[AcidDirectory],
    transactions: ValidIds | None,
    path: str | None,
) -> None:
    """Refuse a snapshot from before a compaction whose inputs are gone: nothing else would tell that rows are missing.

    Hive's cleaner waits for transactions and locks, and a reader need not have either.
    """
    aborted = transactions.aborted if transactions is not None else ()
    for compacted in (one for one in directories if one not in visible and one.visibility not in aborted):
        lowest = _FROM_CONVERSION if compacted.kind == "base" else compacted.min_write_id
        if not any(lowest <= one.min_write_id and one.max_write_id <= compacted.max_write_id for one in visible):
            raise TimeTravelError(
                f"{compacted.name} replaced what the snapshot needs", path=path, remedy="read under a newer snapshot"
            )


def _base_counts(base: AcidDirectory, write_ids: ValidIds, compacted: set[str]) -> bool:
    if base.max_write_id == _FROM_CONVERSION:
        return True
    if base.visibility or base.name in compacted:
        return write_ids.is_valid_base(base.max_write_id)
    return write_ids.is_valid(base.max_write_id)  # INSERT OVERWRITE


def _choose_deltas(deltas: Sequence[AcidDirectory], current: int, write_ids: ValidIds) -> list[AcidDirectory]:
    """Wider ranges before what they cover; folders of one range, of several statements or kinds, go together."""
    chosen: list[AcidDirectory] = []
    last: AcidDirectory | None = None
    for one in sorted(deltas, key=lambda d: (d.min_write_id, -d.max_write_id, d.statement, -d.visibility, d.kind)):
        if one.max_write_id > current:
            first = max(one.min_write_id, current + 1)
            if write_ids.range_state(first, one.max_write_id) is RangeState.NONE:
                continue
            current = one.max_write_id
        elif last is None or one.max_write_id != current or not _same_write(one, last, chosen):
            continue
        chosen.append(one)
        last = one
    return chosen


def _same_write(one: AcidDirectory, last: AcidDirectory, chosen: Sequence[AcidDirectory]) -> bool:
    """Whether a folder belongs beside the one that was chosen last, and is not an older compaction of the same."""
    if (one.min_write_id, one.max_write_id) != (last.min_write_id, last.max_write_id):
        return False
    if one.statement != last.statement:
        return last.statement >= 0
    return not any(
        (one.kind, one.min_write_id, one.max_write_id, one.statement)
        == (other.kind, other.min_write_id, other.max_write_id, other.statement)
        for other in reversed(chosen)
    )


def _files(storage: Storage, path: str, directory: AcidDirectory, contents: Mapping[str, int]) -> tuple[AcidFile, ...]:
    prefix = f"{path}/{directory.name}" if path else directory.name
    files: dict[int, AcidFile] = {}
    for name in sorted(contents):
        if name[:1] in "_." or name.endswith(_FLUSHED):
            continue
        match = _BUCKET.fullmatch(name)
        if match is None:
            raise _foreign(storage.uri(f"{prefix}/{name}"), name, False)
        bucket = int(match[1])
        if bucket in files:
            raise UnsupportedAcidTableError(
                f"two files of bucket {bucket} in {directory.name}", path=storage.uri(f"{prefix}/{name}")
            )
        length = _flushed(storage, f"{prefix}/{name}{_FLUSHED}") if name + _FLUSHED in contents else None
        if contents[name] and length != 0:
            files[bucket] = AcidFile(f"{prefix}/{name}", bucket, directory, length)
    return tuple(files[bucket] for bucket in sorted(files))


def _flushed(storage: Storage, path: str) -> int:
    """Bytes of a file that a streaming writer has finished: the last whole number of its side file."""
    data = storage.read_bytes(path)
    whole = len(data) // 8 * 8
    length = int.from_bytes(data[whole - 8 : whole], "big", signed=True) if whole else 0
    if length < 0:
        raise CorruptFileError(f"side file names {length} bytes", path=storage.uri(path))
    return length
