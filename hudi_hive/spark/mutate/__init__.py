"""Merges DataFrames into Hive ACID tables and Hudi tables by key, and reads ACID tables."""

from __future__ import annotations

from hudi_hive.spark.mutate.acid_read import read_acid
from hudi_hive.spark.mutate.hudi import mutate_hudi
from hudi_hive.spark.mutate.mutate_frame import MutationReport, mutate
from hudi_hive.spark.mutate.tasks import WriteGroups

__all__ = [
    "MutationReport",
    "WriteGroups",
    "mutate",
    "mutate_hudi",
    "read_acid",
]
