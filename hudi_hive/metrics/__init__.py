"""Counters of what planning and reading cost: list calls, opened files, bytes, remote calls.

Tests and ``hudi-hive plan`` assert and print these counts. Only :class:`MetadataMetrics` measures time; reporters
print its values, write them to a file or serve them to Prometheus.
"""

from __future__ import annotations

from hudi_hive.metrics.io_counters import IoCounters
from hudi_hive.metrics.metadata_metrics import METADATA_ACTIONS, METADATA_METRICS, MetadataMetrics, Totals
from hudi_hive.metrics.prometheus import require_prometheus, serve_prometheus
from hudi_hive.metrics.reporters import metric_lines, write_json

__all__ = [
    "METADATA_ACTIONS",
    "METADATA_METRICS",
    "IoCounters",
    "MetadataMetrics",
    "Totals",
    "metric_lines",
    "require_prometheus",
    "serve_prometheus",
    "write_json",
]
