"""A lock for the threads of one process, as Hudi's ``InProcessLockProvider``."""

from __future__ import annotations

import os
import threading
from typing import ClassVar

from hudi_hive.errors import LockError, LockLostError


class InProcessLock:
    """A lock for the threads of this process, one for each table.

    Args:
        name: what is locked: the table's base path.
    """

    _holders: ClassVar[dict[str, tuple[InProcessLock, int]]] = {}
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, name: str) -> None:
        self._name = name.rstrip("/")

    def try_acquire(self) -> bool:
        """Take the lock if it is free.

        Raises:
            LockError: the thread that asks has it, and would wait for itself.
        """
        thread = threading.get_ident()
        with self._guard:
            holder = self._holders.get(self._name)
            if holder is None:
                self._holders[self._name] = (self, thread)
                return True
        if holder[1] == thread:
            raise LockError("the lock is held already by the one who asks", path=self._name)
        return False

    def verify(self) -> None:
        """Verify that the lock is held."""
        holder = self._holders.get(self._name)
        if holder is None or holder[0] is not self:
            raise LockLostError("the lock is not held", path=self._name)

    def release(self) -> None:
        """Release the lock."""
        with self._guard:
            holder = self._holders.get(self._name)
            if holder is not None and holder[0] is self:
                del self._holders[self._name]

    def holder(self) -> str:
        """The holder of the lock, for messages."""
        return "another thread of this process holds it"

    @classmethod
    def forget_holders(cls) -> None:
        """Forget the holders of the parent process in a forked child."""
        cls._holders, cls._guard = {}, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=InProcessLock.forget_holders)
