"""Locks that are a file which exactly one creator makes: its holder deletes it, and a void one is taken over."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Callable
from typing import Any, Final

from hudi_hive.errors import LockError, LockLostError, PathExistsError, PathNotFoundError
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.locks.owner import Owner
from hudi_hive.write.coordination.store_checks import not_atomic

_released: Final[set[str]] = set()
"""Tokens of lock files that holders of this process have let go of and could not delete."""


class LockFile:
    """A lock that is a file in a store which creates files atomically; the base of such locks.

    The file is JSON with its owner and a token. It is void, and whoever tries for the lock may take it over, when its
    holder could not delete it, when the process that owns it has ended (one of this machine, that is), or when it is
    older than the lease. A holder relies on the lock for a part of its lease only.

    Args:
        storage: rooted at the folder that holds the file.
        path: path of the file below it.
        lease_s: age in seconds beyond which the file is void; infinite for never.
        relied_s: seconds for which a holder may rely on the lock after it was taken or renewed.
        clock: seconds since the epoch, which go on while the machine sleeps.
        lost: why a lock is lost and what helps, for errors.

    Attributes:
        storage, path, lease_s, relied_s, clock: as given.
        token: of the file that the holder has made; empty while the lock is not held.
        renewed: the clock's time before the file was written last.
    """

    token: str
    renewed: float

    def __init__(
        self,
        storage: Storage,
        path: str,
        *,
        lease_s: float,
        relied_s: float,
        clock: Callable[[], float],
        lost: str,
    ) -> None:
        self.storage = storage
        self.path = path
        self.lease_s = lease_s
        self.relied_s = relied_s
        self.clock = clock
        self._lost = lost
        self.token = ""
        self.renewed = 0.0
        self._process = 0

    # -- what the kinds of lock files differ in ----------------------------------------------------------------------

    def fields(self) -> dict[str, Any]:
        """Fields of a new file beside owner and token."""
        return {}

    def age_s(self, text: bytes, path: str) -> float:
        """Seconds since a file of this text was written or renewed, as far as one can tell."""
        raise NotImplementedError

    def delete_void(self, text: bytes) -> None:
        """Delete the void lock file of another writer, which holds this text."""
        self.storage.delete_own(self.path, lambda current: current == text)

    # -- taking ------------------------------------------------------------------------------------------------------

    def try_acquire(self) -> bool:
        """Take the lock if it is free or void.

        Raises:
            LockError: the one who asks has it, or the store does not create files atomically after all.
        """
        if self.token:
            raise LockError("the lock is held already by the one who asks", path=self.storage.uri(self.path))
        token, begun = uuid.uuid4().hex, self.clock()
        if not self._create(token):
            text = self._read(self.path)
            if text is not None and not self._take_away(text):
                return False
            begun = self.clock()
            if not self._create(token):
                return False
        self.token, self._process, self.renewed = token, os.getpid(), begun
        return True

    def _create(self, token: str) -> bool:
        try:
            self.storage.create_if_absent(self.path, self.text(token), lasting=False)
        except PathExistsError:
            return False
        except BaseException:  # the file may be there: it is nobody's
            _released.add(token)
            raise
        if not self.storage.creates_atomically:  # the first file on a store is what shows it
            self.storage.delete(self.path)
            raise not_atomic(self.storage)
        return True

    def text(self, token: str, **more: object) -> bytes:
        """What a file of a token holds: JSON with more fields, if given."""
        own = {**self.fields(), "owner": Owner.this_process().fields(), "token": token, **more}
        return json.dumps(own).encode()

    def _read(self, path: str) -> bytes | None:
        try:
            return self.storage.read_bytes(path)
        except PathNotFoundError:
            return None

    def _take_away(self, text: bytes) -> bool:
        """Delete a void lock. Only one of those who find it so may: the others would delete its successor's."""
        if not self._is_void(text, self.path):
            return False
        guard = f"{self.path}.{hashlib.sha256(text).hexdigest()[:16]}"
        begun = self.clock()
        try:
            self.storage.create_if_absent(guard, self.text(uuid.uuid4().hex), lasting=False)
        except PathExistsError:
            left = self._read(guard)
            if left is not None and self._is_void(left, guard):
                self.storage.delete(guard)  # of one who died while it took the lock away
            return False
        try:
            if self._read(self.path) != text or self.clock() - begun > self.relied_s:
                return False
            self.delete_void(text)
        finally:
            self.storage.delete(guard)
        return True

    def _is_void(self, text: bytes, path: str) -> bool:
        owner = Owner.parse(text)
        if token_of(text) in _released or (owner is not None and owner.is_dead()):
            return True
        return self.age_s(text, path) > self.lease_s

    # -- holding -----------------------------------------------------------------------------------------------------

    @property
    def is_inherited(self) -> bool:
        """Whether the lock is that of a parent process, of which this one is a fork."""
        return self._process != os.getpid()

    @property
    def is_late(self) -> bool:
        """Whether the lock was not renewed for so long that others may take it over, or have done."""
        return self.clock() - self.renewed > self.relied_s

    @property
    def is_sure(self) -> bool:
        """Whether the lock is held by this process, and nobody else can have taken it over."""
        return bool(self.token) and not self.is_inherited and not self.is_late

    def verify(self) -> None:
        """Verify that nobody can have taken the lock over.

        Raises:
            LockLostError: it is too old, somebody removed it, or the process has forked.
        """
        if not self.is_sure:
            raise LockLostError("the table's lock was lost", path=self.storage.uri(self.path), remedy=self._lost)

    def release(self) -> None:
        """Delete the lock file if it is that of this holder; one that cannot be deleted is ignored by this process."""
        token, self.token = self.token, ""
        if not token or self.is_inherited:
            return
        try:
            if self.is_own(token):
                self.storage.delete_own(self.path, lambda text: token_of(text) == token)
        except BaseException:
            _released.add(token)
            raise

    def is_own(self, token: str) -> bool:
        """Whether the file is that of a token which this holder has had."""
        text = self._read(self.path)
        return text is not None and token_of(text) == token

    def holder(self) -> str:
        """The holder of the lock, for messages."""
        text = self._read(self.path)
        owner = Owner.parse(text) if text else None
        who = str(owner) if owner is not None else "another writer"
        return f"{who} holds it; if that one will never let go, delete {self.storage.uri(self.path)}"


def token_of(text: bytes) -> str:
    """The token in the text of a lock file; empty if there is none."""
    try:
        return str(json.loads(text)["token"])
    except (ValueError, KeyError, TypeError):
        return ""
