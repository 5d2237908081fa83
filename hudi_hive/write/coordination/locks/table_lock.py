"""A table's lock with waiting: that of a provider, and on a local disk that of the table's folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from hudi_hive.errors import LockError, LockTimeoutError
from hudi_hive.options import locks as lock_options
from hudi_hive.write.coordination.locks.lock_provider import LockProvider

_FIRST_WAIT_MS: Final = 20


class TableLock:
    """A table's lock with waiting; a context manager that holds it inside the block.

    Args:
        provider: the lock.
        name: the table, for errors.
        retries: tries after the first.
        wait_ms: milliseconds between two tries, at most; the first waits are shorter.
        try_ms: milliseconds that each try waits for the lock; with 0 a try is a look.
        sleep: waits a number of seconds.
        folder: the lock of the table's folder, which is taken behind the other and given back before it.
        store: the lock of a table on a store, in place of ``folder``; to announce an instant it is not needed.
    """

    def __init__(
        self,
        provider: LockProvider,
        name: str,
        *,
        retries: int = 50,
        wait_ms: int = 5000,
        try_ms: int = 0,
        sleep: Callable[[float], None] = time.sleep,
        folder: LockProvider | None = None,
        store: LockProvider | None = None,
    ) -> None:
        self._provider = provider
        self._folder = folder if folder is not None else store
        self._to_announce = (
            self if store is None else TableLock(provider, name, retries=retries, wait_ms=wait_ms, try_ms=try_ms)
        )
        self._name = name
        # While one waits the lock is looked at again and again, so that waiting in a try and between two are one thing.
        self._patience_ms = float(retries * wait_ms + (retries + 1) * try_ms)
        self._longest_wait_ms = float(max(wait_ms, _FIRST_WAIT_MS) if try_ms else wait_ms)
        self._sleep = sleep

    @property
    def provider(self) -> LockProvider:
        """The provider of the lock."""
        return self._provider

    @property
    def to_announce(self) -> TableLock:
        """The lock that is held while an instant is announced: this one, but on a store that of the process.

        A file that exactly one creates, the heartbeat, makes the instant one writer's there; what completed meanwhile
        is judged when the write completes.
        """
        return self._to_announce

    def acquire(self) -> None:
        """Wait until the lock is free and take it.

        Raises:
            LockTimeoutError: somebody held it all the time.
        """
        self._wait_for(self._provider)
        if self._folder is not None:
            try:
                self._wait_for(self._folder)
            except BaseException:
                self._provider.release()
                raise

    def _wait_for(self, provider: LockProvider) -> None:
        budget = self._patience_ms
        wait = min(_FIRST_WAIT_MS, self._longest_wait_ms)
        while not provider.try_acquire():
            if budget <= 0:
                holder = provider.holder()
                provider.release()  # a provider with a queue would get the lock later, for nobody
                raise LockTimeoutError(
                    f"the table is locked: {holder}",
                    path=self._name,
                    remedy="write again later, or wait longer: "
                    f"{lock_options.LOCK_WAIT}, {lock_options.LOCK_CLIENT_RETRIES}",
                )
            self._sleep(min(wait, budget) / 1000)
            budget -= max(min(wait, budget), 1.0)
            wait = min(wait * 2, self._longest_wait_ms)

    def verify(self) -> None:
        """Verify that the lock is still held, right before the step that it protects.

        Raises:
            LockLostError: it is not.
        """
        self._provider.verify()
        if self._folder is not None:
            self._folder.verify()

    def release(self) -> None:
        """Release the lock."""
        try:
            if self._folder is not None:
                self._folder.release()
        finally:
            self._provider.release()

    def __enter__(self) -> Self:
        try:
            self.acquire()
        except LockError:
            raise
        except BaseException:  # an interrupt that came when the lock was taken
            self.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.release()
        except Exception:
            self.release()  # once more: a lock that stays bars all writers
