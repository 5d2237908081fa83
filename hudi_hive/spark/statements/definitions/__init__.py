"""SQL statements that define Hudi tables: their columns, partitions, names, properties and indexes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hudi_hive.spark.bridge import JavaValue
from hudi_hive.spark.statements.definitions.analyze import analyze_plan
from hudi_hive.spark.statements.definitions.columns import COLUMN_CHANGES, alter_columns
from hudi_hive.spark.statements.definitions.indexes import (
    create_index_plan,
    drop_index_plan,
    index_statement,
    indexes_of,
    refresh_index_plan,
    show_indexes_plan,
)
from hudi_hive.spark.statements.definitions.partition_changes import (
    add_partitions,
    add_partitions_plan,
    drop_partition_paths,
    drop_partitions,
    drop_partitions_plan,
    repair_plan,
    repair_table,
    truncate_partition_plan,
    truncate_plan,
    truncate_table,
)
from hudi_hive.spark.statements.definitions.shown_partitions import show_partitions
from hudi_hive.spark.statements.definitions.tables import (
    comment_plan,
    drop_plan,
    rename_plan,
    set_properties_plan,
    unset_properties_plan,
)
from hudi_hive.spark.statements.writes import WriteTarget

DEFINITIONS: Final[dict[str, Callable[[WriteTarget, JavaValue], JavaValue]]] = {
    **dict.fromkeys(COLUMN_CHANGES, alter_columns),
    "AnalyzeColumn": analyze_plan,
    "AnalyzeTable": analyze_plan,
    "CreateIndex": create_index_plan,
    "DropIndex": drop_index_plan,
    "CommentOnTable": comment_plan,
    "AddPartitions": add_partitions_plan,
    "DropPartitions": drop_partitions_plan,
    "DropTable": drop_plan,
    "RecoverPartitions": repair_plan,
    "RenameTable": rename_plan,
    "RepairTable": repair_plan,
    "SetTableProperties": set_properties_plan,
    "ShowPartitions": show_partitions,
    "TruncatePartition": truncate_partition_plan,
    "TruncateTable": truncate_plan,
    "UnsetTableProperties": unset_properties_plan,
}
"""Node of a parsed statement whose first argument is the table -> gives the plan in its place."""

__all__ = [
    "DEFINITIONS",
    "add_partitions",
    "drop_partition_paths",
    "drop_partitions",
    "index_statement",
    "indexes_of",
    "refresh_index_plan",
    "repair_table",
    "show_indexes_plan",
    "truncate_table",
]
