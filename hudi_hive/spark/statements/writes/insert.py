"""``INSERT INTO`` and ``INSERT OVERWRITE`` of a Hudi table.

Spark resolves the columns: named or not, by name, with values of a PARTITION clause, cast by its store assignment. The
operation is the one that Hudi's SQL takes: an upsert for tables that have keys and order their records, else an insert.

Source: Hudi's ``ProvidesHoodieConfig`` and ``InsertIntoHoodieTableCommand``.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import DataFrame

from hudi_hive.errors import InvalidOptionError
from hudi_hive.names import HOODIE_SPARK_SQL_INSERT_INTO_OPERATION
from hudi_hive.options import Operation
from hudi_hive.options.write import OVERWRITE_MODE
from hudi_hive.schema import META_FIELDS
from hudi_hive.spark.bridge import JavaValue, class_name
from hudi_hive.spark.statements.writes.nodes import Nodes
from hudi_hive.spark.statements.writes.sink import sink, with_arguments
from hudi_hive.spark.statements.writes.target import WriteTarget

_DATA_COLUMNS: Final = f"(?!(?:{'|'.join(META_FIELDS)})$).*"
_INSERTS: Final = {one.value: one for one in (Operation.INSERT, Operation.UPSERT, Operation.BULK_INSERT)}
_INLINE: Final = frozenset({"UnresolvedInlineTable", "LocalRelation", "OneRowRelation"})


def insert_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """The insert with the table as a target that Spark knows.

    Args:
        target: the table.
        node: the parsed ``InsertIntoStatement``.
    """
    jvm = target.hook.environment.jvm
    overwrites = bool(node.overwrite())
    operation = _overwrite(target, node) if overwrites else _insert(target)

    def write(rows: DataFrame) -> None:
        target.write(rows, operation)

    what = "INSERT OVERWRITE" if overwrites else "INSERT INTO"
    relation = sink(target.hook, f"{what} {target.name}", write, target.columns, target.partition_columns)
    changes: dict[str, Any] = {"table": relation, "overwrite": False}
    query = node.query()
    if class_name(query) not in _INLINE:
        # As Hudi, so that SELECT * of another Hudi table can be inserted. Inline values keep their DEFAULT.
        changes["query"] = Nodes(jvm).without_meta_columns(_DATA_COLUMNS, query)
    return with_arguments(jvm, node, changes)


def _insert(target: WriteTarget) -> Operation:
    """The session's operation; without one an upsert where keys and an order tell which of two rows counts.

    Raises:
        InvalidOptionError: the session names an operation that inserts do not take.
    """
    text = target.setting(HOODIE_SPARK_SQL_INSERT_INTO_OPERATION)
    if text is not None:
        if text.lower() not in _INSERTS:
            raise InvalidOptionError(
                f"{HOODIE_SPARK_SQL_INSERT_INTO_OPERATION}={text!r} is not known", remedy=", ".join(_INSERTS)
            )
        return _INSERTS[text.lower()]
    config = target.client.config
    return Operation.UPSERT if config.record_keys and config.ordering_fields else Operation.INSERT


def _overwrite(target: WriteTarget, node: JavaValue) -> Operation:
    """The whole table, or the partitions of the rows: with a PARTITION clause, or where the session says dynamic."""
    mode = target.setting(OVERWRITE_MODE.name) or target.setting("spark.sql.sources.partitionOverwriteMode") or ""
    if node.partitionSpec().nonEmpty() or (target.partition_columns and mode.upper() == "DYNAMIC"):
        return Operation.INSERT_OVERWRITE
    return Operation.INSERT_OVERWRITE_TABLE


__all__ = ["insert_plan"]
