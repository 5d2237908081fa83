"""``IoCounters``: list calls, opened files, bytes and remote calls of one table or one job."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class IoCounters:
    """Thread-safe counts of storage calls of one table or one job.

    ``lists`` counts directory listings, ``opens`` files opened, ``reads`` read calls made by us, ``bytes_read`` the
    bytes they gave, ``exists`` existence checks, ``writes`` files written, ``deletes`` files deleted, ``locations``
    look-ups of the nodes that have a file, ``engine_files`` files that an engine's own reader got in place of their
    rows. Of a cache of remote files, ``cache_hits`` and ``cache_misses`` count ranges, ``cache_bytes`` bytes that it
    gave, and ``cache_damaged`` parts of it that were damaged. ``listed`` and ``opened`` hold how often each path was
    listed or opened.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._listed: Counter[str] = Counter()
        self._opened: Counter[str] = Counter()

    def add(self, name: str, amount: int = 1, *, path: str | None = None) -> None:
        """Count ``amount`` of ``name`` (``lists``, ``opens`` …), remembering ``path`` for lists and opens."""
        with self._lock:
            self._counts[name] += amount
            if path is not None and name == "lists":
                self._listed[path] += 1
            elif path is not None and name == "opens":
                self._opened[path] += 1

    def add_lists(self, paths: Sequence[str]) -> None:
        """Count a listing of each of some paths, and remember the paths."""
        if not paths:
            return
        with self._lock:
            self._counts["lists"] += len(paths)
            self._listed.update(paths)

    def __getitem__(self, name: str) -> int:
        with self._lock:
            return self._counts[name]

    @property
    def listed(self) -> dict[str, int]:
        """Number of listings by path."""
        with self._lock:
            return dict(self._listed)

    @property
    def opened(self) -> dict[str, int]:
        """Number of opens by path."""
        with self._lock:
            return dict(self._opened)

    def snapshot(self) -> dict[str, int]:
        """All counts so far, by name."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    @contextmanager
    def measure(self) -> Iterator[dict[str, int]]:
        """Yield a dict that holds, after the block, what the block added to each count."""
        before = self.snapshot()
        result: dict[str, int] = {}
        try:
            yield result
        finally:
            after = self.snapshot()
            result.update({k: v - before.get(k, 0) for k, v in after.items() if v != before.get(k, 0)})
