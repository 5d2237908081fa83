"""Creates the table of a first write, which is removed if the write fails, or replaces another table."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import Any, Final, TypeVar

import pyarrow.compute as pc

from hudi_hive.errors import HudiHiveError, InvalidOptionError, WriteConflictError, WriteError
from hudi_hive.storage import Storage, exchange, try_flock
from hudi_hive.table import MetaClient
from hudi_hive.timeline import State
from hudi_hive.timeline.instants import ROLLBACK
from hudi_hive.write.coordination import TableLock

_PARTITION_FILE: Final = ".hoodie_partition_metadata"
_Made = TypeVar("_Made")


@contextmanager
def discarded_on_failure(
    base: str, make: Callable[[], MetaClient], storage_options: Mapping[str, Any] | None = None
) -> Iterator[MetaClient]:
    """Delete a new table again if its first write fails and no other write was made.

    Args:
        base: base path.
        make: makes the table.
        storage_options: of the table's file system.
    """
    storage = Storage(base, storage_options)
    existed = storage.is_dir("")
    client = make()
    try:
        yield client
    except BaseException:
        with suppress(HudiHiveError):  # the write's own error is the one to hear of
            _discard(client, keep_root=existed)
        raise


def _discard(client: MetaClient, *, keep_root: bool) -> None:
    """Delete a table on which no write is complete or under way: its ``.hoodie``, and folders of empty partitions."""
    instants = client.reload().timeline.instants
    if any(instant.action != ROLLBACK or not instant.is_completed for instant in instants):
        return
    storage = client.storage
    files = storage.list("", recursive=True, missing_ok=True)
    paths = files.filter(pc.invert(files.column("is_dir"))).column("path").to_pylist()
    outside = [path for path in paths if not path.startswith(".hoodie/")]
    storage.delete_tree(".hoodie")
    others = {path.partition("/")[0] for path in outside if not os.path.basename(path).startswith(_PARTITION_FILE)}
    for top in sorted({path.partition("/")[0] for path in outside if "/" in path} - others):
        storage.delete_tree(top)  # no file but those that mark partitions
    for path in outside:
        if "/" not in path and path not in others:
            storage.delete(path)
    if storage.is_local and not keep_root:
        with suppress(OSError):
            os.rmdir(storage.full_path())


def in_place_of(client: MetaClient, lock: TableLock, write: Callable[[str], _Made]) -> _Made:
    """Write a table with another definition, then put it in the place of the existing one.

    The old one stays as it is until the new one is complete, so that rows may be read from it meanwhile.

    Args:
        client: the table that is there.
        lock: its lock.
        write: makes and writes the new table at the path that it is given.

    Raises:
        InvalidOptionError: the table's storage cannot move folders.
        WriteConflictError: others write, or wrote meanwhile.
        WriteError: the folders could not be moved; the table is as it was.
    """
    root = client.storage.full_path() if client.storage.is_local else ""
    if not root or os.path.islink(root):
        raise InvalidOptionError(
            "the options contradict the table, and its folder cannot be moved to make room for another",
            path=client.base_path,
            remedy="delete the table first, or write to another path",
        )
    client = client.reload()
    _refuse_writers(client, client)
    _remove_abandoned(root)
    new = f"{root}.new-{token_hex(4)}"
    swapped = False
    try:
        with _held(new):
            made = write(new)
            with lock:
                _refuse_writers(client.reload(), client)
                _swap(root, new)
                swapped = True
    except BaseException as error:
        if swapped and isinstance(error, HudiHiveError):
            return made  # the lock's own file went with the old table
        shutil.rmtree(new, ignore_errors=True)
        raise
    return made


def _refuse_writers(now: MetaClient, before: MetaClient) -> None:
    pending = [instant for instant in now.timeline.instants if instant.state is State.INFLIGHT]
    if pending or now.timeline.instants != before.timeline.instants:
        raise WriteConflictError(
            "the table cannot be replaced while others write to it",
            path=now.base_path,
            instant=pending[0].requested if pending else None,
            remedy="try again; roll back what dead writers left",
        )


@contextmanager
def _held(folder: str) -> Iterator[None]:
    """Context manager that makes a folder and holds the kernel's lock of it, which ends with the process."""
    os.mkdir(folder)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try_flock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _remove_abandoned(root: str) -> None:
    """Remove the folders beside a table in which processes that have died were replacing it."""
    parent, name = os.path.split(root)
    for entry in os.scandir(parent or "."):
        left = re.fullmatch(re.escape(name) + r"\.(new|old)-[0-9a-f]{8}", entry.name)
        if left is None or not entry.is_dir(follow_symlinks=False):
            continue
        with suppress(OSError):  # another process may be removing it
            descriptor = os.open(entry.path, os.O_RDONLY)
            try:
                if try_flock(descriptor):
                    shutil.rmtree(entry.path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _swap(root: str, new: str) -> None:
    """Put the new folder in the place of the old one, in one step where the file system can, and delete the old one."""
    old = new
    try:
        if not exchange(root, new):
            old = f"{root}.old-{token_hex(4)}"
            os.rename(root, old)
            try:
                os.rename(new, root)
            except OSError:
                os.rename(old, root)
                raise
    except OSError as error:
        raise WriteError(f"the new table could not be put in place: {error}", path=root) from error
    shutil.rmtree(old, ignore_errors=True)
