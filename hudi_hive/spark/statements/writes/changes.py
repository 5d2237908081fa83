"""``UPDATE`` and ``DELETE`` of a Hudi table as queries whose rows are the changed records.

The query reads the table as of the statement's beginning; a commit that others complete before the write begins ends
it with an error. Which records are meant is told by the key columns, or by the meta columns in tables without keys.

Source: Hudi's ``UpdateHoodieTableCommand``, ``DeleteHoodieTableCommand``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql.types import StringType, StructField, StructType

from hudi_hive.names import FILE_NAME_COLUMN, PARTITION_PATH_COLUMN, RECORD_KEY_COLUMN
from hudi_hive.options import Operation
from hudi_hive.spark.bridge import JavaValue, class_name, option, scala_items
from hudi_hive.spark.catalog import FORMATS
from hudi_hive.spark.statements.writes.assignments import UPDATE, assigned
from hudi_hive.spark.statements.writes.nodes import Nodes, alias_of
from hudi_hive.spark.statements.writes.sink import Action, insert_into, sink
from hudi_hive.spark.statements.writes.target import WriteTarget

PLACE: Final = (RECORD_KEY_COLUMN, PARTITION_PATH_COLUMN, FILE_NAME_COLUMN)
"""Meta columns that tell the place of a record."""


def update_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``UPDATE``: the rows that the condition takes, with the assigned values.

    Raises:
        SparkError: it assigns no column of the table, or one of its key or partition path.
    """
    target.check_replaces(UPDATE)
    nodes = Nodes(target.hook.environment.jvm)
    table = nodes.readable(node.table())
    alias = _qualifier(table)
    values = assigned(target, nodes, node.assignments(), alias, UPDATE)
    columns = []
    for field in target.columns:
        own = nodes.column(*([alias] if alias else []), field.name)
        value = nodes.cast(values[field.name], field.dataType) if field.name in values else own
        columns.append(nodes.alias(value, field.name))
    rows = nodes.project([*columns, *place(target, nodes, alias)], nodes.where(option(node.condition()), table))
    return written(
        target, UPDATE, rows, lambda frame: target.write(frame, Operation.UPSERT, reads=True), place_fields(target)
    )


def delete_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``DELETE FROM``: the rows that the condition takes."""
    nodes = Nodes(target.hook.environment.jvm)
    table = nodes.readable(node.table())
    alias = _qualifier(table)
    columns = [nodes.column(*([alias] if alias else []), name) for name in target.columns.names]
    rows = nodes.project([*columns, *place(target, nodes, alias)], nodes.where(node.condition(), table))
    return written(
        target, "DELETE", rows, lambda frame: target.write(frame, Operation.DELETE, reads=True), place_fields(target)
    )


def _qualifier(table: JavaValue) -> str:
    """What columns of a table can be called by; empty for a table by path without an alias."""
    if class_name(table) == "UnresolvedRelation":
        parts = [str(part) for part in scala_items(table.multipartIdentifier())]
        return "" if len(parts) > 1 and parts[0].lower() in FORMATS else parts[-1]
    return alias_of(table)


def place(target: WriteTarget, nodes: Nodes, alias: str) -> list[JavaValue]:
    """The columns that tell which records rows are, and where these are."""
    return [nodes.column(*([alias] if alias else []), name) for name in PLACE] if target.has_record_places else []


def place_fields(target: WriteTarget) -> list[StructField]:
    """The types of :func:`place`."""
    return [StructField(name, StringType()) for name in PLACE] if target.has_record_places else []


def written(
    target: WriteTarget, what: str, rows: JavaValue, write: Action, further: Sequence[StructField]
) -> JavaValue:
    """The statement: its rows to the table.

    Args:
        target: the table.
        what: the kind of the statement.
        rows: the query: the columns of the table, then further ones.
        write: writes them.
        further: the further columns.
    """
    columns = [StructField(one.name, one.dataType) for one in target.columns]
    relation = sink(target.hook, f"{what} {target.name}", write, StructType([*columns, *further]))
    return insert_into(target.hook.environment.jvm, relation, rows)


__all__ = ["PLACE", "delete_plan", "place", "place_fields", "update_plan", "written"]
