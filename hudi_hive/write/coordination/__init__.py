"""Coordination of writers: locks, heartbeats, conflict checks, steps after a commit."""

from __future__ import annotations

from hudi_hive.write.coordination.after_commit import (
    CALLBACK,
    COMMIT,
    HEARTBEAT,
    MARKERS,
    REFRESH,
    SERVICES,
    SYNC,
    AfterCommit,
    followed,
    log_failure,
    quietly,
    reported,
)
from hudi_hive.write.coordination.conflicts import (
    BASE,
    EVERYTHING,
    TOUCHED_SCHEMA,
    ConcurrentOperation,
    check_conflicts,
    refuse_clustered,
    refuse_new_index,
    touched_groups,
)
from hudi_hive.write.coordination.early_conflicts import EarlyConflictDetection
from hudi_hive.write.coordination.executor import LocalExecutor, TaskExecutor
from hudi_hive.write.coordination.former_holders import exclude_former_holders
from hudi_hive.write.coordination.heartbeat import (
    FOLDER,
    WriterHeartbeat,
    beating_instants,
    heartbeat_times,
    remove_heartbeat,
    silent_instants,
)
from hudi_hive.write.coordination.locks import (
    LockProvider,
    MetastoreLockFactory,
    Owner,
    StoreLock,
    TableLock,
    table_lock,
)
from hudi_hive.write.coordination.metadata_steps import (
    METRICS,
    VALIDATION,
    check_metadata_table,
    report_metrics,
    start_metrics,
)
from hudi_hive.write.coordination.store_checks import check_store

__all__ = [
    "BASE",
    "CALLBACK",
    "COMMIT",
    "EVERYTHING",
    "FOLDER",
    "HEARTBEAT",
    "MARKERS",
    "METRICS",
    "REFRESH",
    "SERVICES",
    "SYNC",
    "TOUCHED_SCHEMA",
    "VALIDATION",
    "AfterCommit",
    "ConcurrentOperation",
    "EarlyConflictDetection",
    "LocalExecutor",
    "LockProvider",
    "MetastoreLockFactory",
    "Owner",
    "StoreLock",
    "TableLock",
    "TaskExecutor",
    "WriterHeartbeat",
    "beating_instants",
    "check_conflicts",
    "check_metadata_table",
    "check_store",
    "exclude_former_holders",
    "followed",
    "heartbeat_times",
    "log_failure",
    "quietly",
    "refuse_clustered",
    "refuse_new_index",
    "remove_heartbeat",
    "report_metrics",
    "reported",
    "silent_instants",
    "start_metrics",
    "table_lock",
    "touched_groups",
]
