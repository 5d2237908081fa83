"""Writes DataFrames to Hudi tables, and runs table services on Spark."""

from __future__ import annotations

from hudi_hive.spark.write.executor import SparkExecutor, settled, task_errors
from hudi_hive.spark.write.rows import default_tasks, kept, statuses_of
from hudi_hive.spark.write.services import archive, clean, cluster, compact, init_metadata, restore, rollback
from hudi_hive.spark.write.tasks import GROUP, IS_GONE, IS_NEW, Batches, WriteGroups, as_schema, gathered_tables, step
from hudi_hive.spark.write.write_frame import write

__all__ = [
    "GROUP",
    "IS_GONE",
    "IS_NEW",
    "Batches",
    "SparkExecutor",
    "WriteGroups",
    "archive",
    "as_schema",
    "clean",
    "cluster",
    "compact",
    "default_tasks",
    "gathered_tables",
    "init_metadata",
    "kept",
    "restore",
    "rollback",
    "settled",
    "statuses_of",
    "step",
    "task_errors",
    "write",
]
