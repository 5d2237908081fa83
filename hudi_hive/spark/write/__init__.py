"""Writes DataFrames to Hudi tables, and runs table services on Spark."""

from __future__ import annotations

from hudi_hive.spark.write.bootstrapping import bootstrap
from hudi_hive.spark.write.changes import BATCH_BYTES, commit_changes, nullable, write_changes
from hudi_hive.spark.write.executor import SparkExecutor, all_tasks_ended, task_errors
from hudi_hive.spark.write.file_steps import WriteFileGroups
from hudi_hive.spark.write.row_changes import RowChanges, StatementRows
from hudi_hive.spark.write.rows import default_tasks, persisted_frames, session_of_steps, statuses_of
from hudi_hive.spark.write.services import (
    archive,
    clean,
    cluster,
    compact,
    create_index,
    drop_index,
    init_metadata,
    restore,
    rollback,
    table_services,
)
from hudi_hive.spark.write.tasks import (
    GROUP,
    IS_GONE,
    IS_NEW,
    Batches,
    as_schema,
    gathered_tables,
    step,
)
from hudi_hive.spark.write.write_frame import WriteMode, delete_partitions, replace_table, sync_of, write

__all__ = [
    "BATCH_BYTES",
    "GROUP",
    "IS_GONE",
    "IS_NEW",
    "Batches",
    "RowChanges",
    "SparkExecutor",
    "StatementRows",
    "WriteFileGroups",
    "WriteMode",
    "all_tasks_ended",
    "archive",
    "as_schema",
    "bootstrap",
    "clean",
    "cluster",
    "commit_changes",
    "compact",
    "create_index",
    "default_tasks",
    "delete_partitions",
    "drop_index",
    "gathered_tables",
    "init_metadata",
    "nullable",
    "persisted_frames",
    "replace_table",
    "restore",
    "rollback",
    "session_of_steps",
    "statuses_of",
    "step",
    "sync_of",
    "table_services",
    "task_errors",
    "write",
    "write_changes",
]
