"""The advisory lock on a local table's ``.hoodie`` folder, which is taken in addition to any configured lock.

It is the kernel's (``flock``): it ends with its process, however that ends, and leaves no file behind, so that other
writers of Hudi notice nothing of it. Stores other than the local file system have no such lock.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from hudi_hive.errors import LockError, LockLostError, TableNotFoundError
from hudi_hive.storage import HAS_FLOCK, Storage, try_flock, unlock

_FOLDER: Final = ".hoodie"
_FILE: Final = ".hoodie/.aux/write.lock"
"""Locked in place of the folder on file systems that lock only files open for writing (NFS)."""

_log = logging.getLogger(__name__)


class TableFolderLock:
    """An exclusive lock on a local table's ``.hoodie`` folder.

    Args:
        storage: rooted at the table's base path.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._descriptor: int | None = None
        self._unsupported = False

    @classmethod
    def of(cls, storage: Storage) -> TableFolderLock | None:
        """The folder lock of a table; None for stores other than the local disk."""
        return cls(storage) if storage.is_local and HAS_FLOCK else None

    def try_acquire(self) -> bool:
        """Take the lock if it is free.

        Raises:
            TableNotFoundError: there is no table.
            LockError: the folder cannot be opened.
        """
        if self._descriptor is not None or self._unsupported:
            raise LockError("the lock is held already by the one who asks", path=self._storage.uri(_FOLDER))
        for name in (_FOLDER, _FILE):
            descriptor = self._open(name)
            taken = _try_lock(descriptor)
            if taken and _is_at(descriptor, self._storage.full_path(name)):
                self._descriptor = descriptor
                _held.add(self)
                return True
            os.close(descriptor)
            if taken is not None:
                return False  # somebody has it, or has just deleted the table and made another one
        _log.warning("the file system of %s locks neither folders nor files", self._storage.uri())
        self._unsupported = True
        return True

    def _open(self, name: str) -> int:
        path = self._storage.full_path(name)
        try:
            if name == _FOLDER:
                return os.open(path, os.O_RDONLY)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except (FileNotFoundError, NotADirectoryError) as error:
            remedy = "create the table first"
            raise TableNotFoundError("not a Hudi table: no .hoodie", path=self._storage.uri(), remedy=remedy) from error
        except OSError as error:
            raise LockError(
                f"the table cannot be locked: {error.strerror}",
                path=self._storage.uri(name),
                remedy="writers need to read and write .hoodie",
            ) from error

    def verify(self) -> None:
        """Verify that the lock is still held, and on the table's current folder.

        Raises:
            LockLostError: it is not.
        """
        if self._unsupported:
            return
        at = (self._storage.full_path(name) for name in (_FOLDER, _FILE))
        if self._descriptor is None or not any(_is_at(self._descriptor, path) for path in at):
            raise LockLostError(
                "the lock of the table's folder was lost",
                path=self._storage.uri(_FOLDER),
                remedy="the table was deleted or replaced, or the process forked; write again",
            )

    def release(self) -> None:
        """Release the lock if it is held."""
        descriptor, self._descriptor = self._descriptor, None
        self._unsupported = False
        _held.discard(self)
        if descriptor is not None:
            with suppress(OSError):  # closing is not enough: a forked child may hold a copy of the descriptor
                unlock(descriptor)
            os.close(descriptor)

    def close(self) -> None:
        """Close the descriptor of a lock that another process holds through a copy of it."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                os.close(descriptor)

    def holder(self) -> str:
        """The holder of the lock, from the kernel, for messages."""
        who = _holder_of(self._storage.full_path(_FOLDER)) or "another process or thread of this machine"
        return f"{who} holds {self._storage.uri(_FOLDER)}; it lets go when that process ends"


_held: Final[set[TableFolderLock]] = set()
"""The locks that this process holds."""


def _try_lock(descriptor: int) -> bool | None:
    """Whether the lock was taken; None where the file system cannot lock this."""
    try:
        return try_flock(descriptor)
    except OSError as error:
        os.close(descriptor)
        raise LockError(f"the table cannot be locked: {error.strerror}", remedy="look at the file system") from error


def _is_at(descriptor: int, path: str) -> bool:
    """Whether an open folder or file is the one that bears a path now."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def _holder_of(path: str) -> str | None:
    """The process that holds a lock on a folder, by the kernel's list of locks."""
    with suppress(OSError, ValueError, IndexError):
        inode = str(os.stat(path).st_ino)
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == inode:
                return f"process {int(fields[4])}"
    return None


def _forget_locks() -> None:
    """Close a forked child's copies of the descriptors: the locks are the parent's, and must end with the parent."""
    for lock in _held:
        lock.close()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)
