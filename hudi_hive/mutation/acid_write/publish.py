"""Moves the files of accepted attempts from staging to their final folders.

A folder of deltas is invisible while its write id is open, so files may arrive one after the other.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from hudi_hive.errors import HudiHiveError
from hudi_hive.mutation.acid_table import STAGING, VERSION, VERSION_FILE, AcidTable, partition_path, staging_folder
from hudi_hive.mutation.acid_write.disjoint import check_disjoint
from hudi_hive.mutation.acid_write.manifest import BucketFiles
from hudi_hive.storage import Credentials, Storage

_THREADS: Final = 8


@dataclass(frozen=True, slots=True)
class _Move:
    source: str
    """Path below the table's location."""
    target: Storage
    """Storage of the partition."""
    path: str
    """Path below the partition's location."""


class Publisher:
    """Moves files of one table and transaction.

    Args:
        table: the table, with its write id.
        storage_options: of the warehouse's file system.
    """

    def __init__(self, table: AcidTable, storage_options: Mapping[str, Any] | None = None) -> None:
        self._table = table
        self._options = Credentials(storage_options or {})
        self._storage = Storage(table.location, storage_options)
        self._placed: list[_Move] = []

    def place(self, files: Iterable[tuple[str, BucketFiles]], locations: Mapping[tuple[str | None, ...], str]) -> None:
        """Move files out of their attempts' staging folders.

        Args:
            files: what ``check_manifests`` gave.
            locations: URI of each partition that is elsewhere than its name says.

        Raises:
            GroupRevisitedError: two attempts changed the same row.
            StorageError: a file could not be moved; ``withdraw`` removes those that were.
        """
        placed = list(files)
        check_disjoint(self._storage, self._table, placed)
        moves = list(self._moves(placed, locations))
        folders = {(move.target.uri(posixpath.dirname(move.path))): move for move in moves}
        self._placed = moves
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="mutation") as threads:
            # One version file a folder, made before the files, so that the folder is there for all of them.
            for _ in threads.map(_write_version, folders.values()):
                pass
            for _ in threads.map(self._move, moves):
                pass
            # The metastore's commit is all that comes behind.
            for _ in threads.map(lambda move: move.target.flush([move.path]), moves):
                pass

    def _moves(
        self, files: Iterable[tuple[str, BucketFiles]], locations: Mapping[tuple[str | None, ...], str]
    ) -> Iterable[_Move]:
        storages: dict[tuple[str | None, ...], Storage] = {}
        for attempt, group in files:
            name = partition_path(self._table.key_names, group.partition)
            if group.partition not in storages:
                storages[group.partition] = self._partition_storage(name, locations.get(group.partition))
            staging = staging_folder(self._table.write_id, attempt)
            for path in (group.delta, group.delete_delta):
                if path:
                    below = posixpath.relpath(path, name) if name else path
                    yield _Move(f"{staging}/{path}", storages[group.partition], below)

    def _partition_storage(self, name: str, location: str | None) -> Storage:
        if location is not None:
            return Storage(location, self._options)
        return self._storage.child(name) if name else self._storage

    def _move(self, move: _Move) -> None:
        source, target = self._storage.uri(move.source), move.target.uri(move.path)
        if source.partition(":")[0] == target.partition(":")[0] and _authority(source) == _authority(target):
            self._storage.check_read(move.source)
            move.target.check_write(move.path)
            self._storage.move(move.source, move.target, move.path)
            return
        move.target.write_bytes(move.path, self._storage.read_bytes(move.source))

    def withdraw(self) -> None:
        """Delete the moved files of an aborted transaction; files that cannot be deleted stay invisible."""
        for move in self._placed:
            with suppress(Exception):
                move.target.delete_tree(posixpath.dirname(move.path))
        self._placed = []

    def clean(self) -> None:
        """Delete the staging folders of the transaction."""
        with suppress(Exception):
            self._storage.delete_tree(staging_folder(self._table.write_id))

    def clean_others(self, still_open: Callable[[], Sequence[int]]) -> None:
        """Delete the staging folders of earlier transactions that have ended.

        Args:
            still_open: gives the write ids of the table whose transactions are open, asked if there is such a folder.
        """
        with suppress(HudiHiveError):
            folders = {
                posixpath.basename(path): path
                for path in self._storage.list(STAGING, missing_ok=True)["path"].to_pylist()
            }
            earlier = {
                int(name): path for name, path in folders.items() if name.isdigit() and int(name) < self._table.write_id
            }
            open_ids = set(still_open()) if earlier else ()
            for write_id, path in earlier.items():
                if write_id not in open_ids:
                    self._storage.delete_tree(path)


def _write_version(move: _Move) -> None:
    move.target.write_bytes(posixpath.join(posixpath.dirname(move.path), VERSION_FILE), VERSION)


def _authority(uri: str) -> str:
    after = uri.partition(":")[2]
    return after.removeprefix("//").partition("/")[0] if after.startswith("//") else ""
