"""The lock file of Hudi's ``FileSystemBasedLockProvider``, on any store that creates files atomically.

Source: docs/format.md#heartbeats-and-locks.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Final

from hudi_hive.errors import LockError, LockLostError, PathExistsError, PathNotFoundError
from hudi_hive.options import locks as lock_options
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.locks.owner import Owner


class FileSystemLock:
    """The lock file of Hudi's ``FileSystemBasedLockProvider``, which only its holder creates.

    It holds JSON with Hudi's three fields and, beyond them, the owner and a token: the holder lets go only of its own,
    and the file of a process of this machine that has ended is taken over at once. Another writer's file is taken over
    when it is older than ``expire_minutes``; 0, Hudi's default, is never.

    Args:
        storage: rooted at the folder that holds the file.
        name: path of the file below it.
        expire_minutes: age in minutes from which the lock of a silent holder is void.
        clock: seconds since the epoch.

    Raises:
        LockError: the storage cannot create files atomically, so that two holders were possible.
    """

    _released: Final[set[bytes]] = set()
    """What files say that holders of this process have let go of and could not delete."""

    def __init__(
        self, storage: Storage, name: str, *, expire_minutes: int = 0, clock: Callable[[], float] = time.time
    ) -> None:
        if not storage.creates_atomically:
            raise LockError(
                "a lock file needs a file system that creates files atomically",
                path=storage.uri(name),
                remedy=f"{lock_options.LOCK_PROVIDER}={lock_options.OTHER_LOCKS}",
            )
        self._storage = storage
        self._name = name
        self._expire_ms = expire_minutes * 60_000
        self._clock = clock
        self._mine: bytes | None = None
        self._taken_ms = 0.0

    def try_acquire(self) -> bool:
        """Take the lock if it is free, expired, or that of an ended process."""
        if self._mine is not None:
            raise LockError("the lock is held already by the one who asks", path=self._storage.uri(self._name))
        mine, taken_ms = self._text(), self._clock() * 1000
        if not self._create(mine):
            lock_text = self._lock_text()
            if lock_text is not None and not self._take_away(lock_text):
                return False
            if not self._create(mine):
                return False
        self._mine, self._taken_ms = mine, taken_ms
        return True

    def _create(self, data: bytes) -> bool:
        try:
            self._storage.create_if_absent(self._name, data, lasting=False)
        except PathExistsError:
            return False
        except BaseException:  # the file may be there: it is nobody's
            self._released.add(data)
            raise
        return True

    def _text(self) -> bytes:
        return json.dumps(
            {
                "lockCreateTime": datetime.fromtimestamp(self._clock()).isoformat(" ", "milliseconds"),
                "lockThreadName": threading.current_thread().name,
                "lockStacksInfo": [],
                "owner": Owner.this_process().fields(),
                "token": uuid.uuid4().hex,
            }
        ).encode()

    def _lock_text(self) -> bytes | None:
        return self._read(self._name)

    def _take_away(self, lock_text: bytes) -> bool:
        """Delete a void lock. Only one of those who find it so may: the others would delete its successor's."""
        if not self._is_void(lock_text, self._name):
            return False
        guard = f"{self._name}.takeover"
        try:
            self._storage.create_if_absent(guard, self._text(), lasting=False)
        except PathExistsError:
            left = self._read(guard)
            if left is not None and self._is_void(left, guard):
                self._storage.delete(guard)
            return False
        try:
            if self._lock_text() != lock_text:
                return False
            self._storage.delete(self._name)
            # Hadoop's checksum of another writer's file would make Hudi call ours corrupt.
            folder, _, name = self._name.rpartition("/")
            self._storage.delete(f"{folder}/.{name}.crc".lstrip("/"))
        finally:
            self._storage.delete(guard)
        return True

    def _read(self, name: str) -> bytes | None:
        try:
            return self._storage.read_bytes(name)
        except PathNotFoundError:
            return None

    def _is_void(self, lock_text: bytes, name: str) -> bool:
        owner = Owner.parse(lock_text)
        if lock_text in self._released or (owner is not None and owner.is_dead()):
            return True
        if not self._expire_ms:
            return False
        folder, _, _ = name.rpartition("/")
        listing = self._storage.list(folder, missing_ok=True)
        times = dict(zip(listing["path"].to_pylist(), listing["mtime_ms"].to_pylist(), strict=True))
        written = times.get(name)
        return written is not None and self._clock() * 1000 - written > self._expire_ms

    def verify(self) -> None:
        """Verify that the lock file is still that of this holder, and not so old that others may take it.

        Raises:
            LockLostError: it is not.
        """
        late = bool(self._expire_ms) and self._clock() * 1000 - self._taken_ms > self._expire_ms
        if late or self._mine is None or self._lock_text() != self._mine:
            raise LockLostError(
                "the table's lock was lost",
                path=self._storage.uri(self._name),
                remedy=f"it expired: raise {lock_options.LOCK_EXPIRE}, or somebody removed the file; write again",
            )

    def release(self) -> None:
        """Delete the lock file if it is that of this holder; one that cannot be deleted is ignored by this process."""
        mine, self._mine = self._mine, None
        if mine is None:
            return
        try:
            if self._lock_text() == mine:
                self._storage.delete(self._name)
        except BaseException:
            self._released.add(mine)
            raise

    def holder(self) -> str:
        """The holder of the lock, for messages."""
        lock_text = self._lock_text()
        owner = Owner.parse(lock_text) if lock_text else None
        who = str(owner) if owner is not None else "another writer"
        return f"{who} holds it; if that one will never let go, delete {self._storage.uri(self._name)}"
