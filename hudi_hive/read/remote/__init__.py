"""Reads parts of a scan plan in other processes: executors get serialised plans and give Arrow batches."""

from __future__ import annotations

from hudi_hive.read.remote.executor_plan import MetadataRows, PlanRows
from hudi_hive.read.remote.executor_read import SliceRows, deserialize_error, serialize_error

__all__ = [
    "MetadataRows",
    "PlanRows",
    "SliceRows",
    "deserialize_error",
    "serialize_error",
]
