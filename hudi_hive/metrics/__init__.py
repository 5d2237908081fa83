"""Counters of what planning and reading cost: list calls, opened files, bytes, remote calls.

Tests and ``hudi-hive plan`` assert and print these counts. :class:`MetadataMetrics` and :func:`observed` measure time;
reporters print values, write them to a file or serve them to Prometheus, and spans go to OpenTelemetry.
"""

from __future__ import annotations

from hudi_hive.metrics.io_counters import IoCounters
from hudi_hive.metrics.metadata_metrics import METADATA_ACTIONS, METADATA_METRICS, MetadataMetrics, Totals
from hudi_hive.metrics.operations import (
    AMOUNTS,
    COUNTED,
    KINDS,
    LABELS,
    OPERATION_METRICS,
    CountKey,
    ObservedOperation,
    OperationMetrics,
    observed,
)
from hudi_hive.metrics.prometheus import register_operations, require_prometheus, serve_prometheus
from hudi_hive.metrics.reporters import metric_lines, write_json

__all__ = [
    "AMOUNTS",
    "COUNTED",
    "KINDS",
    "LABELS",
    "METADATA_ACTIONS",
    "METADATA_METRICS",
    "OPERATION_METRICS",
    "CountKey",
    "IoCounters",
    "MetadataMetrics",
    "ObservedOperation",
    "OperationMetrics",
    "Totals",
    "metric_lines",
    "observed",
    "register_operations",
    "require_prometheus",
    "serve_prometheus",
    "write_json",
]
