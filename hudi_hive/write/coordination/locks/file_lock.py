"""The lock file of Hudi's ``FileSystemBasedLockProvider``, on any store that creates files atomically.

Source: docs/format.md#heartbeats-and-locks.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from hudi_hive.errors import LockError
from hudi_hive.options import locks as lock_options
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.locks.lock_file import LockFile


class FileSystemLock(LockFile):
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

    def __init__(
        self, storage: Storage, name: str, *, expire_minutes: int = 0, clock: Callable[[], float] = time.time
    ) -> None:
        if not storage.creates_atomically:
            raise LockError(
                "a lock file needs a file system that creates files atomically",
                path=storage.uri(name),
                remedy=f"{lock_options.LOCK_PROVIDER}={lock_options.OTHER_LOCKS}",
            )
        lease_s = expire_minutes * 60 if expire_minutes else math.inf
        lost = f"it expired: raise {lock_options.LOCK_EXPIRE}, or somebody removed the file; write again"
        super().__init__(storage, name, lease_s=lease_s, relied_s=lease_s, clock=clock, lost=lost)

    def fields(self) -> dict[str, Any]:
        """The three fields of Hudi's lock files."""
        return {
            "lockCreateTime": datetime.fromtimestamp(self.clock()).isoformat(" ", "milliseconds"),
            "lockThreadName": threading.current_thread().name,
            "lockStacksInfo": [],
        }

    def age_s(self, text: bytes, path: str) -> float:
        """Seconds since the file was modified, as Hudi counts them."""
        if math.isinf(self.lease_s):
            return 0.0
        listing = self.storage.list(path.rpartition("/")[0], missing_ok=True)
        times = dict(zip(listing["path"].to_pylist(), listing["mtime_ms"].to_pylist(), strict=True))
        written_ms = times.get(path)
        return 0.0 if written_ms is None else self.clock() - written_ms / 1000

    def delete_void(self, text: bytes) -> None:
        """Delete the void lock file of another writer, and Hadoop's checksum of it."""
        super().delete_void(text)
        # That of another writer's file would make Hudi call ours corrupt.
        folder, _, name = self.path.rpartition("/")
        self.storage.delete(f"{folder}/.{name}.crc".lstrip("/"))

    @property
    def is_sure(self) -> bool:
        """Whether the lock is held by this process: its file is there, and not so old that others may take it over."""
        return super().is_sure and self.is_own(self.token)
