"""Heartbeats of running writes, in ``.hoodie/.heartbeat/<instant>``, which distinguish them from dead ones.

Every write has one, a single writer's too: the next write rolls back what a dead writer left, but must leave alone what
a living one is at. A heartbeat counts by the file's modification time, as in Hudi; ours also names the process, so that
another one of the same machine sees its end at once. Creating the file is what claims an instant.

Source: docs/format.md#heartbeats-and-locks.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Final, Self

from hudi_hive.errors import (
    HeartbeatLostError,
    InvalidOptionError,
    PathExistsError,
    PathNotFoundError,
    WriteConflictError,
)
from hudi_hive.options import locks
from hudi_hive.storage import Storage
from hudi_hive.timeline.core import HEARTBEAT_FOLDER, heartbeat_mtimes
from hudi_hive.write.coordination.locks import Owner

FOLDER: Final = HEARTBEAT_FOLDER
DEFAULT_INTERVAL_MS: Final = locks.HEARTBEAT_INTERVAL.default
DEFAULT_MISSES: Final = locks.HEARTBEAT_MISSES.default


class WriterHeartbeat:
    """The heartbeat of a write; a context manager that beats inside the block and removes the file after it.

    Args:
        storage: rooted at the table's base path.
        instant: requested time of the write.
        interval_ms: milliseconds from beat to beat.
        misses: how many intervals may pass without one before others take the write for dead.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        storage: Storage,
        instant: str,
        *,
        interval_ms: int = DEFAULT_INTERVAL_MS,
        misses: int = DEFAULT_MISSES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if interval_ms < 1000:
            raise InvalidOptionError(f"{locks.HEARTBEAT_INTERVAL}: at least 1000 ms, not {interval_ms}")
        self._storage = storage
        self._instant = instant
        self._path = f"{FOLDER}/{instant}"
        self._interval_ms = interval_ms
        self._silence_ms = interval_ms * misses
        self._clock = clock
        self._last_ms = 0.0
        self._process = 0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @classmethod
    def of(cls, options: Mapping[str, str], storage: Storage, instant: str) -> WriterHeartbeat:
        """Make the heartbeat of an instant by Hudi's options.

        Raises:
            InvalidOptionError: an interval below a second, or no number.
        """
        interval, misses = heartbeat_times(options)
        return cls(storage, instant, interval_ms=interval, misses=misses)

    def start(self) -> None:
        """Write the heartbeat once, then in every interval from a thread.

        Raises:
            WriteConflictError: the instant has the heartbeat of another writer that lives.
        """
        self._begin()
        self._thread = threading.Thread(target=self._run, name=f"heartbeat-{self._instant}", daemon=True)
        self._thread.start()

    def _begin(self) -> None:
        """The first beat makes the file whole or not at all: half of one would not name the process that died."""
        started = self._clock() * 1000
        try:
            self._storage.create_if_absent(self._path, _text(), lasting=False)
        except PathExistsError:
            self._take_over()
        self._last_ms = started
        self._process = os.getpid()

    def _take_over(self) -> None:
        """Replace the heartbeat that a dead writer left."""
        interval, misses = self._interval_ms, self._silence_ms // self._interval_ms
        if silent_instants(self._storage, [self._instant], interval_ms=interval, misses=misses, clock=self._clock):
            self._storage.delete(self._path)
            try:
                self._storage.create_if_absent(self._path, _text(), lasting=False)
            except PathExistsError:  # another writer was faster
                pass
            else:
                return
        raise WriteConflictError(
            "another writer is at work under the same instant",
            path=self._storage.uri(self._path),
            instant=self._instant,
            remedy="write again: another instant is drawn then",
        )

    def beat(self) -> None:
        """Write the heartbeat file now."""
        started = self._clock() * 1000
        self._storage.write_bytes(self._path, _text())
        self._last_ms = started

    def _run(self) -> None:
        while not self._ended.wait(self._interval_ms / 1000):
            if self._silent():
                return  # others may be rolling the write back: reviving the file would not stop them
            try:
                self.beat()
            except Exception:
                continue  # the next one may succeed; verify() notices if none does

    def _silent(self) -> bool:
        return self._clock() * 1000 - self._last_ms > self._silence_ms

    def verify(self, *, look: bool = True) -> None:
        """Verify that no beat was late, under the lock before the write is completed.

        Args:
            look: whether the file is there, too.

        Raises:
            HeartbeatLostError: others may have taken it for dead.
        """
        if self._silent() or (look and not self._storage.exists(self._path)):
            raise HeartbeatLostError(
                f"no heartbeat for more than {self._silence_ms} ms",
                path=self._storage.uri(self._path),
                instant=self._instant,
                remedy="write again; if the storage is slow raise "
                f"{locks.HEARTBEAT_INTERVAL} or {locks.HEARTBEAT_MISSES}",
            )

    def stop(self) -> None:
        """Stop the heartbeat and remove its file; does nothing in a forked child."""
        if self._process != os.getpid():
            return
        self.abandon()
        self._storage.delete(self._path)

    def abandon(self) -> str:
        """Stop the heartbeat and leave its file: others take the write for dead when they have waited long enough.

        Returns:
            Path of the file.
        """
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        return self._path

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _text() -> bytes:
    return json.dumps({"owner": Owner.this_process().fields()}).encode()


def heartbeat_times(options: Mapping[str, str]) -> tuple[int, int]:
    """The interval of heartbeats in milliseconds and the tolerated misses, from Hudi's options.

    Raises:
        InvalidOptionError: one is no number.
    """
    return locks.HEARTBEAT_INTERVAL.of(options), locks.HEARTBEAT_MISSES.of(options)


def silent_instants(
    storage: Storage,
    instants: Iterable[str],
    *,
    interval_ms: int = DEFAULT_INTERVAL_MS,
    misses: int = DEFAULT_MISSES,
    clock: Callable[[], float] = time.time,
) -> list[str]:
    """The pending instants without a live heartbeat: none, an expired one, or that of an ended process.

    Args:
        storage: rooted at the table's base path.
        instants: requested times of pending writes.
        interval_ms: milliseconds from beat to beat.
        misses: how many intervals may pass without one.
        clock: seconds since the epoch.
    """
    times = heartbeat_mtimes(storage)
    oldest = clock() * 1000 - interval_ms * misses
    return [i for i in instants if i not in times or times[i] < oldest or _ended(storage, i)]


def _ended(storage: Storage, instant: str) -> bool:
    try:
        owner = Owner.parse(storage.read_bytes(f"{FOLDER}/{instant}"))
    except PathNotFoundError:
        return False  # it has just completed or been rolled back: the timeline knows better
    return owner is not None and owner.is_dead()


def beating_instants(storage: Storage) -> list[str]:
    """Requested times of the instants that have a heartbeat file, expired or not."""
    return [name for name in heartbeat_mtimes(storage) if name.isascii() and name.isdigit()]


def remove_heartbeat(storage: Storage, instant: str) -> None:
    """Delete the heartbeat of a write that was rolled back, if there is one."""
    storage.delete(f"{FOLDER}/{instant}")
