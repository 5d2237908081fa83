"""A table that a statement makes, with its first rows and its entry in a catalog: all of it stays, or nothing.

As long as the statement is at work a file in the table's folder names its process. Where that has died, the next
statement that makes the table removes what is left of it first.
"""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import Any, Final, NamedTuple

import pyarrow.compute as pc

from hudi_hive.errors import HudiHiveError, PathExistsError, PathNotFoundError, WriteConflictError
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient, is_hudi_table
from hudi_hive.table.properties import PROPERTIES_PATH
from hudi_hive.timeline.instants import ROLLBACK
from hudi_hive.write.coordination import Owner, silent_instants

RECORD: Final = ".hoodie/.aux/creation.json"
MADE_BY: Final = "hudi_hive.creation"
"""Extra metadata of the first commit: which statement made it."""
_PARTITION_FILE: Final = ".hoodie_partition_metadata"


class _Record(NamedTuple):
    token: str
    owner: Owner | None


class Creation:
    """A table that a statement is making.

    Args:
        storage: rooted at the table's base path.
        token: of the statement.
    """

    def __init__(self, storage: Storage, token: str) -> None:
        self._storage = storage
        self._token = token

    def annotate(self, client: MetaClient) -> dict[str, str]:
        """Make the extra metadata of the statement's commit, which tell it from those of others."""
        return {MADE_BY: self._token}

    def remove(self, *, keep_root: bool = False) -> bool:
        """Delete what the statement has made, but for a table to which others have written.

        Returns:
            Whether nothing is left.

        Raises:
            WriteConflictError: another writer is at work.
        """
        storage, times = self._storage, list[str]()
        if is_hudi_table(storage.uri(), storage=storage):
            client = MetaClient.load(storage.uri(), storage=storage)
            if not self._made_all(client):
                storage.delete(RECORD)
                return False
            times = [f"_{instant.requested}" for instant in client.timeline.instants]
        storage.delete(PROPERTIES_PATH)  # without which there is no table, whatever of it is there
        _delete_data(storage, times)
        own = storage.list(".hoodie", missing_ok=True)
        for path, is_folder in zip(own["path"].to_pylist(), own["is_dir"].to_pylist(), strict=True):
            if is_folder and path != posixpath.dirname(RECORD):
                storage.delete_tree(path)
        storage.delete_tree(".hoodie")  # at last the record
        if storage.is_local and not keep_root:
            with suppress(OSError):
                os.rmdir(storage.full_path())
        return True

    def _made_all(self, client: MetaClient) -> bool:
        """Whether all instants are the statement's, or of writers that have died."""
        for instant in client.timeline.instants:
            if instant.action == ROLLBACK:
                continue
            if not instant.is_completed:
                if not silent_instants(self._storage, [instant.requested]):
                    raise WriteConflictError(
                        "a write to the table is under way",
                        path=self._storage.uri(),
                        instant=instant.requested,
                        remedy="try again when it has ended",
                    )
            elif not instant.is_write or client.timeline.commit_metadata(instant).extra.get(MADE_BY) != self._token:
                return False
        return True


@contextmanager
def creating(
    base: str, make: Callable[[], MetaClient], storage_options: Mapping[str, Any] | None = None
) -> Iterator[Creation]:
    """Context manager in which a statement makes a table, its first rows and its entry; nothing stays if it fails.

    Args:
        base: base path.
        make: makes the table.
        storage_options: of the table's file system.

    Raises:
        WriteConflictError: another statement is making a table there.
    """
    storage = Storage(base, storage_options)
    existed = storage.is_dir("")
    creation = Creation(storage, token_hex(8))
    text = {"statement": creation._token, "owner": Owner.this_process().fields()}
    recorded = storage.creates_atomically and not is_hudi_table(base, storage=storage)
    if recorded:
        try:
            storage.create_if_absent(RECORD, json.dumps(text).encode(), lasting=False)
        except PathExistsError:
            raise _at_work(storage) from None
    made = False
    try:
        make()
        made = True
        yield creation
    except BaseException:
        with suppress(HudiHiveError):  # the statement's own error is the one to hear of
            _taken_back(creation, storage, made=made, recorded=recorded, keep_root=existed)
        raise
    if recorded:
        storage.delete(RECORD)


def _taken_back(creation: Creation, storage: Storage, *, made: bool, recorded: bool, keep_root: bool) -> None:
    """Remove what a statement has made that failed; a table that others made or write to stays."""
    try:
        if made:
            creation.remove(keep_root=keep_root)
    finally:
        if recorded:
            storage.delete(RECORD)
            if not made:
                _remove_empty(storage, keep_root=keep_root)


def remove_unfinished(
    base: str, storage_options: Mapping[str, Any] | None = None, *, keep_commits: bool = False
) -> bool:
    """Remove what a statement left that was making a table when its process died.

    Args:
        base: base path.
        storage_options: of the table's file system.
        keep_commits: leave a table alone that has a commit, and remember that it has been made.

    Returns:
        Whether it was removed.

    Raises:
        WriteConflictError: the statement is at work still.
    """
    storage = Storage(base, storage_options)
    record = _record(storage)
    if record is None:
        _remove_empty(storage)
        return False
    if record.owner is None or not record.owner.is_dead():
        raise _at_work(storage, record.owner)
    table = is_hudi_table(base, storage=storage)
    if keep_commits and table and MetaClient.load(base, storage=storage).timeline.write_instants():
        storage.delete(RECORD)
        return False
    return Creation(storage, record.token).remove()


def finish_creation(base: str, storage_options: Mapping[str, Any] | None = None) -> None:
    """Remember that the table has been made, whatever became of the statement."""
    Storage(base, storage_options).delete(RECORD)


def _record(storage: Storage) -> _Record | None:
    try:
        data = storage.read_bytes(RECORD)
    except PathNotFoundError:
        return None
    try:
        token = str(json.loads(data)["statement"])
    except (ValueError, KeyError, TypeError):
        return None
    return _Record(token, Owner.parse(data))


def _at_work(storage: Storage, owner: Owner | None = None) -> WriteConflictError:
    return WriteConflictError(
        f"a table is being made here{'' if owner is None else f' by {owner}'}",
        path=storage.uri(),
        remedy=f"wait for it; if nothing is at work, delete the folder, or {RECORD} in it to keep the table",
    )


def _remove_empty(storage: Storage, *, keep_root: bool = False) -> None:
    """Remove the folders of a table that did not come to have a file."""
    if not storage.is_local or not storage.is_dir(".hoodie"):
        return
    files = storage.list(".hoodie", recursive=True, missing_ok=True)
    if not pc.all(files.column("is_dir"), min_count=0).as_py():
        return
    storage.delete_tree(".hoodie")
    if not keep_root:
        with suppress(OSError):
            os.rmdir(storage.full_path())


def _delete_data(storage: Storage, times: list[str]) -> None:
    """Delete the files of instants, what marks partitions, and folders that hold nothing else."""
    files = storage.list("", recursive=True, missing_ok=True)
    paths = files.filter(pc.invert(files.column("is_dir"))).column("path").to_pylist()
    outside = [path for path in paths if not path.startswith(".hoodie/")]

    def is_own(path: str) -> bool:
        name = posixpath.basename(path)
        return name.startswith((_PARTITION_FILE, ".tmp-")) or any(time in name for time in times)

    others = {path.partition("/")[0] for path in outside if not is_own(path)}
    folders = {path.partition("/")[0] for path in outside if "/" in path} - others
    for path in outside:
        if path.partition("/")[0] not in folders and is_own(path):
            storage.delete(path)
    for folder in sorted(folders):
        storage.delete_tree(folder)


__all__ = ["MADE_BY", "Creation", "creating", "finish_creation", "remove_unfinished"]
