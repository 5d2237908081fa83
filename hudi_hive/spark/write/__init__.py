"""Writes DataFrames to Hudi tables, and runs table services on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.lazy_names import lazy_names

if TYPE_CHECKING:
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
        log_compact,
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
    "init_metadata",
    "log_compact",
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

_HOMES = {
    "BATCH_BYTES": "changes",
    "GROUP": "tasks",
    "IS_GONE": "tasks",
    "IS_NEW": "tasks",
    "Batches": "tasks",
    "RowChanges": "row_changes",
    "SparkExecutor": "executor",
    "StatementRows": "row_changes",
    "WriteFileGroups": "file_steps",
    "WriteMode": "write_frame",
    "all_tasks_ended": "executor",
    "archive": "services",
    "as_schema": "tasks",
    "bootstrap": "bootstrapping",
    "clean": "services",
    "cluster": "services",
    "commit_changes": "changes",
    "compact": "services",
    "create_index": "services",
    "default_tasks": "rows",
    "delete_partitions": "write_frame",
    "drop_index": "services",
    "init_metadata": "services",
    "log_compact": "services",
    "nullable": "changes",
    "persisted_frames": "rows",
    "replace_table": "write_frame",
    "restore": "services",
    "rollback": "services",
    "session_of_steps": "rows",
    "statuses_of": "rows",
    "step": "tasks",
    "sync_of": "write_frame",
    "table_services": "services",
    "task_errors": "executor",
    "write": "write_frame",
    "write_changes": "changes",
}

# Loaded on first use: tasks need a quarter of it, and each of Spark's Python workers loads anew what they need.
__getattr__ = lazy_names(__name__, _HOMES)
