"""Takes commits back: rollback, restore and savepoints."""

from __future__ import annotations

from hudi_hive.write.rollback.late_files import sweep_late_files
from hudi_hive.write.rollback.leftovers import remove_outlived
from hudi_hive.write.rollback.restore_action import restore
from hudi_hive.write.rollback.rollback_action import (
    keeps_plan,
    remove_late_files,
    requested_again,
    rollback,
    rollback_failed_writes,
)
from hudi_hive.write.rollback.savepoint_action import create_savepoint, delete_savepoint, savepoints

__all__ = [
    "create_savepoint",
    "delete_savepoint",
    "keeps_plan",
    "remove_late_files",
    "remove_outlived",
    "requested_again",
    "restore",
    "rollback",
    "rollback_failed_writes",
    "savepoints",
    "sweep_late_files",
]
