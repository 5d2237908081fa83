"""SQL statements that write Hudi tables, as queries whose rows go to a table, and as commands."""

from __future__ import annotations

from hudi_hive.spark.statements.writes.changes import delete_plan, update_plan
from hudi_hive.spark.statements.writes.commands import call, command
from hudi_hive.spark.statements.writes.create import create_as_plan, create_like_plan, create_plan
from hudi_hive.spark.statements.writes.insert import insert_plan
from hudi_hive.spark.statements.writes.merge import merge_plan
from hudi_hive.spark.statements.writes.new_table import SHORT_NAMES, name_of_new_table
from hudi_hive.spark.statements.writes.nodes import Nodes, alias_of
from hudi_hive.spark.statements.writes.replace import (
    left_table,
    overwrite_where_plan,
    replace_as_plan,
    replace_plan,
)
from hudi_hive.spark.statements.writes.sink import with_arguments
from hudi_hive.spark.statements.writes.target import WriteTarget, checked_options, existing_partitions

__all__ = [
    "SHORT_NAMES",
    "Nodes",
    "WriteTarget",
    "alias_of",
    "call",
    "checked_options",
    "command",
    "create_as_plan",
    "create_like_plan",
    "create_plan",
    "delete_plan",
    "existing_partitions",
    "insert_plan",
    "left_table",
    "merge_plan",
    "name_of_new_table",
    "overwrite_where_plan",
    "replace_as_plan",
    "replace_plan",
    "update_plan",
    "with_arguments",
]
