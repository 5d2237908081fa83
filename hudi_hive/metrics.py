"""Counters of what planning and reading cost: list calls, opened files, bytes, remote calls.

Tests and ``hudi-hive plan`` assert and print these counts. Only :class:`MetadataMetrics` measures time.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from hudi_hive.errors import MissingDependencyError

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric


class IoCounters:
    """Thread-safe counts of storage calls of one table or one job.

    ``lists`` counts directory listings, ``opens`` files opened, ``reads`` read calls made by us, ``bytes_read`` the
    bytes they gave, ``exists`` existence checks, ``writes`` files written, ``deletes`` files deleted. Of a cache of
    remote files, ``cache_hits`` and ``cache_misses`` count ranges, ``cache_bytes`` bytes that it gave, and
    ``cache_damaged`` parts of it that were damaged. ``listed`` and ``opened`` hold how often each path was listed or
    opened.
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


class MetadataMetrics:
    """Thread-safe counts and durations of the metadata table's actions, under the names of RFC-15.

    Names are ``HoodieMetadata.<action>.count`` and ``HoodieMetadata.<action>.duration`` (milliseconds), the actions
    those of :data:`METADATA_ACTIONS`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._millis: dict[str, float] = {}

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

    def snapshot(self) -> dict[str, float]:
        """All values so far by their full names, sorted; actions that never happened are left out."""
        with self._lock:
            values: dict[str, float] = {}
            for action in sorted(self._counts):
                values[f"HoodieMetadata.{action}.count"] = self._counts[action]
                values[f"HoodieMetadata.{action}.duration"] = self._millis.get(action, 0.0)
            return values

    def register_prometheus(self, registry: CollectorRegistry | None = None) -> None:
        """Register a collector of these values with a Prometheus registry (default: the client library's own).

        The metrics are ``hudi_metadata_operations_total`` and ``hudi_metadata_operation_seconds_total``, each with the
        label ``action``.

        Raises:
            MissingDependencyError: prometheus-client is not installed.
        """
        try:
            from prometheus_client import REGISTRY
        except ImportError as error:
            raise MissingDependencyError(
                "prometheus-client is not installed", remedy="pip install 'hudi_hive[metrics]'"
            ) from error
        (registry if registry is not None else REGISTRY).register(_PrometheusCollector(self))


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
"""Actions that :class:`MetadataMetrics` counts: opening the metadata table (``initialize``), reading its timeline
(``sync``), reading a slice (``scan``), look-ups by kind, validation, and listing in its place (``fallback``)."""

METADATA_METRICS: Final = MetadataMetrics()
"""Values of this process."""


class _PrometheusCollector:
    """A Prometheus collector that reads the values at each scrape."""

    def __init__(self, metrics: MetadataMetrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        """The values as two metric families: counts and seconds."""
        from prometheus_client.core import CounterMetricFamily

        counts = CounterMetricFamily("hudi_metadata_operations", "Operations on metadata tables", labels=["action"])
        seconds = CounterMetricFamily(
            "hudi_metadata_operation_seconds", "Time spent in operations on metadata tables", labels=["action"]
        )
        for name, value in self._metrics.snapshot().items():
            _, action, kind = name.split(".")
            if kind == "count":
                counts.add_metric([action], value)
            else:
                seconds.add_metric([action], value / 1000)
        yield counts
        yield seconds
