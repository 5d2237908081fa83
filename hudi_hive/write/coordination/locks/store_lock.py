"""The lock on a table of an object store or HDFS, which is taken where no configured lock reaches other machines.

A file ``.hoodie/.aux/write.lock`` that exactly one creator makes. Its holder renews it; who waits takes it away when
its process has ended, or when it has stood unchanged for the whole lease by the waiting one's own clock, so that no two
clocks are compared. A holder that was not able to renew it gives up well before that.

A store may carry a request out late, when its sender has let go of the lock or was taken for dead. A renewal that comes
late replaces nothing, where a store replaces files under a condition. A deletion that comes late may take the next
holder's file away: so a holder reads the file before the step that the lock protects, and that step is void if another
one takes the lock behind that (:func:`exclude_former_holders`).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Final

from hudi_hive.errors import PathExistsError, PathNotFoundError, StorageError
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.locks.lock_file import LockFile, token_of

LEASE_S: Final = 180.0
"""Seconds that a lock of a holder of which nothing is known stays unchanged before it is taken away."""

_PATH: Final = ".hoodie/.aux/write.lock"
_RENEWALS: Final = 9.0
"""Renewals in a lease."""

_SAFE: Final = 0.6
"""The part of the lease in which a holder that did not renew its lock may still rely on it."""

_LOST: Final = "it was not renewed for too long, as the store did not answer or this process stood still; write again"


class StoreLock(LockFile):
    """An exclusive lock on a table of a store that creates files atomically.

    Args:
        storage: rooted at the table's base path.
        lease_s: seconds after which an unchanged lock is taken away.
        clock: seconds that go on while the machine sleeps.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        lease_s: float = LEASE_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(storage, _PATH, lease_s=lease_s, relied_s=lease_s * _SAFE, clock=clock, lost=_LOST)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._seen: dict[bytes, float] = {}

    @classmethod
    def of(cls, storage: Storage) -> StoreLock | None:
        """The lock of a table; None on the local disk, and on stores that do not create files atomically."""
        return None if storage.is_local or not storage.creates_atomically else cls(storage)

    def try_acquire(self) -> bool:
        """Take the lock if it is free, that of an ended process, or unchanged for the lease.

        Raises:
            LockError: the one who asks has it.
        """
        if not super().try_acquire():
            return False
        self._seen.clear()
        self._ended = threading.Event()
        arguments = (self._ended, self.token)
        self._thread = threading.Thread(target=self._renew, args=arguments, name="store-lock", daemon=True)
        self._thread.start()
        return True

    def age_s(self, text: bytes, path: str) -> float:
        """Seconds for which this one has seen the same text."""
        now = self.clock()
        return now - self._seen.setdefault(text, now)

    def _renew(self, ended: threading.Event, token: str) -> None:
        number = 0
        while not ended.wait(self.lease_s / _RENEWALS):
            number += 1
            if not self.renew(token, number):
                return

    def renew(self, token: str, number: int) -> bool:
        """Write the lock file once more.

        Args:
            token: of the holder's file.
            number: of the renewal.

        Returns:
            Whether the lock may be held still.
        """
        begun = self.clock()
        if self.is_inherited or self.is_late:
            return False  # others may have taken it away
        try:
            self._put(token, self.text(token, renewal=number))
        except (PathExistsError, PathNotFoundError):
            self.renewed = -math.inf  # it is another one's, or nobody's
            return False
        except StorageError:
            return True
        self.renewed = begun
        return True

    def _put(self, token: str, text: bytes) -> None:
        if not self.storage.replaces_atomically:
            self.storage.write_bytes(self.path, text)
            return
        current = self.storage.read_version(self.path)
        if token_of(current.data) != token:
            raise PathExistsError("the lock is another writer's", path=self.storage.uri(self.path))
        self.storage.write_version(self.path, text, current)

    def verify(self) -> None:
        """Verify that nobody can have taken the lock over.

        Raises:
            LockLostError: it is too old, the process has forked, or the file is another one's.
        """
        if not super().is_own(self.token):
            self.renewed = -math.inf
        super().verify()

    def release(self) -> None:
        """Delete the lock file if it is that of this holder; one that cannot be deleted is ignored by this process."""
        if self.token and not self.is_inherited:
            self._ended.set()
            thread, self._thread = self._thread, None
            if thread is not None:
                thread.join()
        super().release()

    def is_own(self, token: str) -> bool:
        """Whether nobody can have taken the lock over, which costs no request."""
        return not self.is_late
