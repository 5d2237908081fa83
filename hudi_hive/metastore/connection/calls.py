"""Counts of remote calls by method, safe to use from several threads."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class CallCounter:
    """Counts how often each method was sent to the metastore, retries included."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, method: str) -> None:
        """Count one call."""
        with self._lock:
            self._counts[method] += 1

    def __getitem__(self, method: str) -> int:
        with self._lock:
            return self._counts[method]

    def snapshot(self) -> Counter[str]:
        """All counts so far: method -> calls."""
        with self._lock:
            return Counter(self._counts)

    def total(self) -> int:
        """Calls of all methods."""
        with self._lock:
            return self._counts.total()

    @contextmanager
    def measure(self) -> Iterator[Counter[str]]:
        """Yield a counter that holds, after the block, what the block added."""
        before = self.snapshot()
        result: Counter[str] = Counter()
        try:
            yield result
        finally:
            result.update(self.snapshot() - before)

    def __repr__(self) -> str:
        return f"CallCounter({dict(sorted(self.snapshot().items()))})"
