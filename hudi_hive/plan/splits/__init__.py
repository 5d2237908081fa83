"""Cuts scan plans into splits, and loads them in the background by partition."""

from __future__ import annotations

from hudi_hive.plan.splits.dynamic_filter import DynamicFilter
from hudi_hive.plan.splits.split_loader import LoadLimits, LoadProgress, SplitLoader
from hudi_hive.plan.splits.splits import (
    FULL_WEIGHT,
    SPLIT_SCHEMA,
    HudiSplit,
    SplitOptions,
    make_splits,
    split_changes,
    split_files,
    split_slices,
    to_splits,
)

__all__ = [
    "FULL_WEIGHT",
    "SPLIT_SCHEMA",
    "DynamicFilter",
    "HudiSplit",
    "LoadLimits",
    "LoadProgress",
    "SplitLoader",
    "SplitOptions",
    "make_splits",
    "split_changes",
    "split_files",
    "split_slices",
    "to_splits",
]
