"""Leases: a lock that is its holder's for some time, which a thread prolongs while the holder lives."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from hudi_hive.errors import HudiHiveError, LockLostError


def seconds_since_boot() -> float:
    """Seconds since the machine started, those that it slept counted; other clocks of durations leave them out."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class Lease:
    """The time for which a lock is held for sure.

    A lease that has run out is never prolonged: others may have taken the lock, completed a commit and let go of it.

    Args:
        name: the lock, for errors.
        seconds: how long the lock is held after it was taken or prolonged.
        interval_s: seconds from one prolongation to the next.
        renew: prolongs the lock where it is kept; raises LockLostError if another one has it.
        remedy: how to have leases that last, for errors.
        clock: seconds from any moment on.
    """

    def __init__(
        self,
        name: str,
        seconds: float,
        interval_s: float,
        renew: Callable[[], None],
        *,
        remedy: str,
        clock: Callable[[], float] = seconds_since_boot,
    ) -> None:
        self._name = name
        self._seconds = seconds
        self._interval_s = interval_s
        self._renew = renew
        self._remedy = remedy
        self._clock = clock
        self._guard = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._until: float | None = None
        self._process = 0

    @property
    def is_held(self) -> bool:
        """Whether the lock was taken and not let go of; a forked child holds nothing."""
        return self._until is not None and self._process == os.getpid()

    def begin(self, started: float) -> None:
        """Begin to prolong a lock that was taken.

        Args:
            started: the clock's time before the lock was asked for.
        """
        self._until = started + self._seconds
        self._process = os.getpid()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(self._ended,), name=f"lock-{self._name}", daemon=True)
        self._thread.start()

    def _run(self, ended: threading.Event) -> None:
        while not ended.wait(self._interval_s):
            try:
                self.verify()
            except LockLostError:
                return
            except HudiHiveError:
                continue  # the next one may arrive; verify() notices if none did in time

    def verify(self) -> None:
        """Prolong the lock, which shows that it is held and stays so for the time of a lease.

        Raises:
            LockLostError: the lease has run out, or another one has the lock.
        """
        with self._guard:
            if not self.is_held:
                raise LockLostError("the lock is not held", path=self._name, remedy="write again")
            self._refuse_late()
            started = self._clock()
            try:
                self._renew()
            except LockLostError:
                self._until = started
                raise
            assert self._until is not None
            self._until = started + self._seconds
            self._refuse_late()

    def _refuse_late(self) -> None:
        assert self._until is not None
        if self._clock() >= self._until:
            raise LockLostError(
                f"the lock's lease of {self._seconds:g} s has run out: the process was paused, or could not prolong it",
                path=self._name,
                remedy=f"write again; {self._remedy}",
            )

    def end(self) -> bool:
        """Stop to prolong the lock; gives whether there is one to let go of."""
        held = self.is_held
        self._ended.set()
        if held and self._thread is not None:
            self._thread.join()
        self._thread, self._until = None, None
        return held
