"""The lock on a table of an object store or HDFS, which is taken where no configured lock reaches other machines.

A file ``.hoodie/.aux/write.lock`` that exactly one creator makes. Its holder renews it; who waits takes it away when
its process has ended, or when it has stood unchanged for the whole lease by the waiting one's own clock, so that no two
clocks are compared. A holder that was not able to renew it gives up well before that.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
import uuid
from collections.abc import Callable
from typing import Final

from hudi_hive.errors import LockError, LockLostError, PathExistsError, PathNotFoundError, StorageError
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.locks.owner import Owner
from hudi_hive.write.coordination.store_checks import not_atomic

LEASE_S: Final = 180.0
"""Seconds that a lock of a holder of which nothing is known stays unchanged before it is taken away."""

_PATH: Final = ".hoodie/.aux/write.lock"
_RENEWALS: Final = 9.0
"""Renewals in a lease."""

_SAFE: Final = 0.6
"""The part of the lease in which a holder that did not renew its lock may still rely on it."""


class StoreLock:
    """An exclusive lock on a table of a store that creates files atomically.

    Args:
        storage: rooted at the table's base path.
        lease_s: seconds after which an unchanged lock is taken away.
        clock: seconds that go on while the machine sleeps.
    """

    def __init__(self, storage: Storage, *, lease_s: float = LEASE_S, clock: Callable[[], float] = time.time) -> None:
        self._storage = storage
        self._lease_s = lease_s
        self._clock = clock
        self._token = ""
        self._process = 0
        self._renewed = 0.0
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
        if self._token:
            raise LockError("the lock is held already by the one who asks", path=self._storage.uri(_PATH))
        token, begun = uuid.uuid4().hex, self._clock()
        if not self._create(token):
            text = self._text_there()
            if text is not None and not self._take_away(text):
                return False
            begun = self._clock()
            if not self._create(token):
                return False
        self._seen.clear()
        self._token, self._process, self._renewed = token, os.getpid(), begun
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, args=(self._ended, token), name="store-lock", daemon=True)
        self._thread.start()
        return True

    def _create(self, token: str) -> bool:
        try:
            self._storage.create_if_absent(_PATH, _text(token, 0), lasting=False)
        except PathExistsError:
            return False
        except BaseException:  # the file may be there: it is nobody's
            _released.add(token)
            raise
        if not self._storage.creates_atomically:  # the first file on a store is what shows it
            self._storage.delete(_PATH)
            raise not_atomic(self._storage)
        return True

    def _text_there(self) -> bytes | None:
        try:
            return self._storage.read_bytes(_PATH)
        except PathNotFoundError:
            return None

    def _take_away(self, text: bytes) -> bool:
        """Delete a void lock. Only one of those who find it so may: the others would delete its successor's."""
        if not self._is_void(text):
            return False
        guard = f"{_PATH}.{hashlib.sha256(text).hexdigest()[:16]}"
        begun = self._clock()
        try:
            self._storage.create_if_absent(guard, _text(uuid.uuid4().hex, 0), lasting=False)
        except PathExistsError:
            return self._guard_is_void(guard)
        try:
            if self._text_there() != text or self._clock() - begun > self._lease_s * _SAFE:
                return False
            self._storage.delete(_PATH)
        finally:
            self._storage.delete(guard)
        return True

    def _guard_is_void(self, guard: str) -> bool:
        """Remove the guard of one who died while it took a lock away; False, for the lock is looked at again."""
        try:
            text = self._storage.read_bytes(guard)
        except PathNotFoundError:
            return False
        owner = Owner.parse(text)
        if owner is None or owner.is_dead() or self._unchanged_s(text) > self._lease_s:
            self._storage.delete(guard)
        return False

    def _is_void(self, text: bytes) -> bool:
        owner = Owner.parse(text)
        if _token_of(text) in _released or (owner is not None and owner.is_dead()):
            return True
        return self._unchanged_s(text) > self._lease_s

    def _unchanged_s(self, text: bytes) -> float:
        """Seconds for which this one has seen the same text."""
        now = self._clock()
        return now - self._seen.setdefault(text, now)

    def _renew(self, ended: threading.Event, token: str) -> None:
        number = 0
        while not ended.wait(self._lease_s / _RENEWALS):
            begun = self._clock()
            if self._process != os.getpid() or begun - self._renewed > self._lease_s * _SAFE:
                return  # others may have taken it away
            number += 1
            try:
                self._storage.write_bytes(_PATH, _text(token, number))
            except StorageError:
                continue
            self._renewed = begun

    def verify(self) -> None:
        """Verify that nobody can have taken the lock away.

        Raises:
            LockLostError: it was not renewed for too long, or the process has forked.
        """
        if self._token and self._process == os.getpid() and self._clock() - self._renewed <= self._lease_s * _SAFE:
            return
        raise LockLostError(
            "the table's lock was lost",
            path=self._storage.uri(_PATH),
            remedy="it was not renewed for too long, as the store did not answer or this process stood still; "
            "write again",
        )

    def release(self) -> None:
        """Delete the lock file if it is that of this holder; one that cannot be deleted is ignored by this process."""
        token, self._token = self._token, ""
        if not token or self._process != os.getpid():
            return
        self._ended.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        if self._clock() - self._renewed > self._lease_s * _SAFE:
            return  # it may be another one's
        try:
            self._storage.delete(_PATH)
        except BaseException:
            _released.add(token)
            raise

    def holder(self) -> str:
        """The holder of the lock, for messages."""
        text = self._text_there()
        owner = Owner.parse(text) if text else None
        who = str(owner) if owner is not None else "another writer"
        return f"{who} holds it; if that one will never let go, delete {self._storage.uri(_PATH)}"


_released: Final[set[str]] = set()
"""Tokens of lock files that holders of this process have let go of and could not delete."""


def _text(token: str, number: int) -> bytes:
    return json.dumps({"owner": Owner.this_process().fields(), "token": token, "renewal": number}).encode()


def _token_of(text: bytes) -> str:
    try:
        return str(json.loads(text)["token"])
    except (ValueError, KeyError, TypeError):
        return ""
