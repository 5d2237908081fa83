"""The lock of Hudi's ``StorageBasedLockProvider`` (RFC-91): a JSON file in the table, replaced by conditional puts.

``.hoodie/.locks/table_lock.json`` says until when its owner holds the lock, and whether it has let go of it. The holder
prolongs it in intervals; every replacement is of the version that was read or written last, so that of several writers
one succeeds and a holder that was overtaken is refused.

Source: docs/format.md#heartbeats-and-locks.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from hudi_hive.errors import HudiHiveError, LockError, LockLostError, PathExistsError, PathNotFoundError
from hudi_hive.options import locks as lock_options
from hudi_hive.storage import FileVersion, Storage
from hudi_hive.write.coordination.locks.lease import Lease, seconds_since_boot

LOCK_PATH: Final = ".hoodie/.locks/table_lock.json"
CLOCK_SKEW_MS: Final = 500
"""Milliseconds by which the clocks of writers may differ: a lock is void only so long after its end."""


@dataclass(frozen=True)
class _Holding:
    """What a lock file says: whether its owner has let go, until when (ms since the epoch) else, and the owner."""

    expired: bool
    valid_until: int
    owner: str

    def encode(self) -> bytes:
        return json.dumps({"expired": self.expired, "validUntil": self.valid_until, "owner": self.owner}).encode()


class StorageLock:
    """The table's lock file on a store that replaces files only if they are unchanged: S3, GCS, Azure.

    Args:
        storage: rooted at the table's base path.
        validity_s: seconds for which the lock is held, unless it is prolonged.
        renew_s: seconds from one prolongation to the next.
        wall_clock: seconds since the epoch.
        clock: seconds from any moment on.

    Raises:
        LockError: the store cannot do this.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        validity_s: float = 300,
        renew_s: float = 30,
        wall_clock: Callable[[], float] = time.time,
        clock: Callable[[], float] = seconds_since_boot,
    ) -> None:
        if not storage.replaces_atomically:
            raise LockError(
                "StorageBasedLockProvider needs a store with conditional puts: S3, GCS or Azure",
                path=storage.uri(LOCK_PATH),
                remedy=f"{lock_options.LOCK_PROVIDER}={lock_options.OTHER_LOCKS}",
            )
        self._storage = storage
        self._owner = str(uuid.uuid4())
        self.validity_s, self.renew_s = validity_s, renew_s
        self._wall_clock = wall_clock
        self._clock = clock
        self._current: FileVersion | None = None
        self._other: _Holding | None = None
        self._unsure = False
        remedy = f"if the storage is slow raise {lock_options.STORAGE_VALIDITY}"
        self._lease = Lease(storage.uri(LOCK_PATH), validity_s, renew_s, self._renew, remedy=remedy, clock=clock)

    def try_acquire(self) -> bool:
        """Take the lock if there is none, or one that was let go of or has run out.

        Raises:
            LockError: it is held already by the one who asks, or the file is none of Hudi's.
            StorageError: the store cannot be asked.
        """
        if self._lease.is_held:
            raise LockError("the lock is held already by the one who asks", path=self._storage.uri(LOCK_PATH))
        try:
            current = self._storage.read_version(LOCK_PATH)
        except PathNotFoundError:
            current = None
        self._other = None if current is None else self._parse(current.data)
        if self._other is not None and not self._is_void(self._other):
            return False
        started = self._clock()
        self._unsure = True
        try:
            self._current = self._storage.write_version(LOCK_PATH, self._holding(), current)
        except PathExistsError:
            self._unsure = False
            return False
        self._unsure = False
        self._lease.begin(started)
        return True

    def _holding(self, *, expired: bool = False) -> bytes:
        return _Holding(expired, round((self._wall_clock() + self.validity_s) * 1000), self._owner).encode()

    def _parse(self, data: bytes) -> _Holding:
        try:
            fields = json.loads(data)
            return _Holding(bool(fields["expired"]), int(fields["validUntil"]), str(fields["owner"]))
        except (ValueError, KeyError, TypeError) as error:
            raise LockError(
                "the table's lock file is damaged",
                path=self._storage.uri(LOCK_PATH),
                remedy="delete it if nobody writes to the table",
            ) from error

    def _is_void(self, lock: _Holding) -> bool:
        if lock.expired or lock.owner == self._owner:  # its own: a put whose answer was lost
            return True
        return self._wall_clock() * 1000 > lock.valid_until + CLOCK_SKEW_MS

    def _renew(self) -> None:
        try:
            self._current = self._storage.write_version(LOCK_PATH, self._holding(), self._current)
        except PathExistsError as error:
            raise LockLostError(
                "another writer has taken the table's lock",
                path=self._storage.uri(LOCK_PATH),
                remedy="write again",
            ) from error

    def verify(self) -> None:
        """Prolong the lock, which shows that nobody has taken it since.

        Raises:
            LockLostError: it ran out, or another writer has it.
        """
        self._lease.verify()

    def release(self) -> None:
        """Say in the file that the lock is free; one that another writer has taken since is left alone."""
        current, self._current = self._current, None
        if not self._lease.end():
            if self._unsure:  # a put that failed may have been done all the same: nobody shall wait for its end
                self._unsure = False
                with suppress(HudiHiveError):
                    self._release_unsure()
            return
        with suppress(PathExistsError):
            self._storage.write_version(LOCK_PATH, self._holding(expired=True), current)

    def _release_unsure(self) -> None:
        current = self._storage.read_version(LOCK_PATH)
        if self._parse(current.data).owner == self._owner:
            self._storage.write_version(LOCK_PATH, self._holding(expired=True), current)

    def holder(self) -> str:
        """The holder of the lock, for messages."""
        if self._other is None:
            return "another writer holds it"
        seconds = max(self._other.valid_until / 1000 - self._wall_clock(), 0)
        return f"writer {self._other.owner} holds it, for {seconds:.0f} s if it does not prolong it"
