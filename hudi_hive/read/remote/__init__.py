"""Reads parts of a scan plan in other processes: executors get serialised plans and give Arrow batches."""

from __future__ import annotations

from hudi_hive.read.remote.executor_plan import MetadataRows, PlanRows
from hudi_hive.read.remote.executor_read import SliceRows, deserialize_error, raw_type, serialize_error
from hudi_hive.read.remote.log_rows import EFFECT_COLUMN, ROWS_COLUMN, SLICE_COLUMN, LogEffect, LogRows
from hudi_hive.read.remote.receiving import PACKAGE_MARK, receive_step
from hudi_hive.read.remote.shipped_step import MaskedSecrets, ShippedStep, mask_secrets

__all__ = [
    "EFFECT_COLUMN",
    "PACKAGE_MARK",
    "ROWS_COLUMN",
    "SLICE_COLUMN",
    "LogEffect",
    "LogRows",
    "MaskedSecrets",
    "MetadataRows",
    "PlanRows",
    "ShippedStep",
    "SliceRows",
    "deserialize_error",
    "mask_secrets",
    "raw_type",
    "receive_step",
    "serialize_error",
]
