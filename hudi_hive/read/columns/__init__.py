"""Converts the columns of files to those of a query: reconciliation, type promotion, filters."""

from __future__ import annotations

from hudi_hive.read.columns.file_filter import file_conditions, may_pass
from hudi_hive.read.columns.promote import scalar_promotion
from hudi_hive.read.columns.reconcile import BY_NAME, ColumnMapping, Reconciler, same_kind

__all__ = [
    "BY_NAME",
    "ColumnMapping",
    "Reconciler",
    "file_conditions",
    "may_pass",
    "same_kind",
    "scalar_promotion",
]
