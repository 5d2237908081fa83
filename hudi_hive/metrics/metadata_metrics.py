"""``MetadataMetrics``: counts, durations and sizes of metadata tables, under the names of RFC-15."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

Totals = Mapping[str, tuple[int, float]]
"""Counts and milliseconds by action."""

PREFIX: Final = "HoodieMetadata"
"""The first part of all names."""


class MetadataMetrics:
    """Thread-safe counts, durations and sizes of metadata tables, under the names of RFC-15.

    Names are ``HoodieMetadata.<action>.count`` and ``HoodieMetadata.<action>.duration`` (milliseconds), the actions
    those of :data:`METADATA_ACTIONS`, and ``HoodieMetadata.<partition>.<size>`` for what :meth:`set_sizes` was given.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._millis: dict[str, float] = {}
        self._sizes: dict[str, int] = {}

    def add(self, action: str, amount: int = 1, *, millis: float = 0.0) -> None:
        """Count ``amount`` of an action that took so many milliseconds."""
        if action not in METADATA_ACTIONS:
            raise ValueError(f"unknown action {action!r}")
        with self._lock:
            self._counts[action] += amount
            self._millis[action] = self._millis.get(action, 0.0) + millis

    @contextmanager
    def timed(self, action: str) -> Iterator[None]:
        """Count the block once and how long it took, also when it fails."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add(action, millis=(time.perf_counter() - begin) * 1000)

    def totals(self) -> Totals:
        """Count and milliseconds of each action so far."""
        with self._lock:
            return {action: (count, self._millis.get(action, 0.0)) for action, count in self._counts.items()}

    def since(self, before: Totals) -> Totals:
        """What was added to :meth:`totals` since they were ``before``, of actions that something was added to."""
        nothing = (0, 0.0)
        pairs = ((action, now, before.get(action, nothing)) for action, now in self.totals().items())
        return {action: (now[0] - then[0], now[1] - then[1]) for action, now, then in pairs if now != then}

    def merge(self, totals: Totals) -> None:
        """Add what another process counted."""
        for action, (count, millis) in totals.items():
            self.add(action, count, millis=millis)

    def set_sizes(self, sizes: Mapping[str, int]) -> None:
        """Replace the sizes of metadata tables by those of the table that was written last.

        Args:
            sizes: by ``<partition>.<size>``: ``files.baseFileCount``, ``files.totalBaseFileSizeInBytes`` …
        """
        with self._lock:
            self._sizes = dict(sizes)

    def snapshot(self) -> dict[str, float]:
        """All values so far by their full names, sorted; actions that never happened are left out."""
        with self._lock:
            values: dict[str, float] = {}
            for action in sorted(self._counts):
                values[f"{PREFIX}.{action}.count"] = self._counts[action]
                values[f"{PREFIX}.{action}.duration"] = self._millis.get(action, 0.0)
            for name in sorted(self._sizes):
                values[f"{PREFIX}.{name}"] = self._sizes[name]
            return values

    def register_prometheus(self, registry: CollectorRegistry | None = None) -> None:
        """Register a collector of these values with a Prometheus registry (default: the client library's own).

        The metrics are ``hudi_metadata_operations_total`` and ``hudi_metadata_operation_seconds_total``, each with the
        label ``action``, and ``hudi_metadata_size`` with the labels ``partition`` and ``size``.

        Raises:
            MissingDependencyError: prometheus-client is not installed.
        """
        from hudi_hive.metrics.prometheus import register

        register(self.snapshot, registry)


METADATA_ACTIONS: Final = (
    "initialize",
    "sync",
    "scan",
    "lookup_partitions",
    "lookup_files",
    "lookup_column_stats",
    "lookup_partition_stats",
    "lookup_record_index",
    "lookup_bloom_filters",
    "lookup_secondary_index",
    "validate_partitions",
    "validate_files",
    "validate_errors",
    "fallback",
)
"""Actions that :class:`MetadataMetrics` counts.

- ``initialize``: a metadata table was made, from a listing of its table;
- ``sync``: an action of the table (a write, a clean, a rollback …) was brought into the metadata table;
- ``scan``: records of a partition of it were read; ``lookup_…``: look-ups by kind, each with the scans that it needs;
- ``validate_…``: comparisons with a listing, and the differences that they found;
- ``fallback``: folders were listed in place of a metadata table that could not be used.
"""

METADATA_METRICS: Final = MetadataMetrics()
"""Values of this process."""
