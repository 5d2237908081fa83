"""Assignments of ``UPDATE`` and ``MERGE``: the columns that get new values, whole or some fields of their structs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pyspark.sql.types import StructType

from hudi_hive.errors import SparkError
from hudi_hive.spark.bridge import JavaValue, class_name, scala_items
from hudi_hive.spark.statements.writes.nodes import Nodes
from hudi_hive.spark.statements.writes.target import WriteTarget

Path = tuple[str, ...]
"""Name of a column, then names of fields in it."""

UPDATE: Final = "UPDATE"

Value = Callable[[Path, JavaValue], JavaValue]
"""Gives the value of a column or field, from the one that the statement says."""


def assigned(
    target: WriteTarget,
    nodes: Nodes,
    assignments: JavaValue,
    alias: str,
    what: str,
    value_of: Value = lambda path, value: value,
) -> dict[str, JavaValue]:
    """The assigned columns and their values; a struct of which fields are assigned keeps the others.

    Args:
        target: the table.
        nodes: makes the values.
        assignments: the parsed assignments.
        alias: what the statement calls the table.
        what: the kind of the statement.
        value_of: gives values in another form than the statement has them.

    Raises:
        SparkError: a column that is none, comes twice, or must stay as it is.
    """
    values: dict[Path, JavaValue] = {}
    for assignment in scala_items(assignments):
        path = target.assignable([str(part) for part in scala_items(assignment.key().nameParts())], alias)
        shown = ".".join(path)
        if any(path[: len(other)] == other[: len(path)] for other in values):
            raise SparkError(f"{what} of {target.name} assigns {shown} twice", path=target.location)
        if what == UPDATE and target.is_fixed(path):
            raise SparkError(
                f"UPDATE of {target.name} assigns {shown}, which its records' keys or partition paths are made of",
                path=target.location,
                remedy="delete the rows and insert them anew",
            )
        value = nodes.expression("NULL") if is_default(assignment.value()) else assignment.value()
        values[path] = value_of(path, value)
    columns: dict[str, dict[Path, JavaValue]] = {}
    for path, value in values.items():
        columns.setdefault(path[0], {})[path[1:]] = value
    qualifier = (alias,) if alias else ()
    return {name: _value(nodes, target, (*qualifier, name), (name,), fields) for name, fields in columns.items()}


def is_default(value: JavaValue) -> bool:
    """Whether a value is the word ``DEFAULT``: null, as columns of Hudi tables have no other default."""
    if class_name(value) != "UnresolvedAttribute":
        return False
    return [str(part).upper() for part in scala_items(value.nameParts())] == ["DEFAULT"]


def _value(
    nodes: Nodes, target: WriteTarget, source: Sequence[str], path: Path, values: Mapping[Path, JavaValue]
) -> JavaValue:
    """The new value of a column or field: the assigned one, or a struct with the assigned fields in it.

    Args:
        nodes: makes the values.
        target: the table.
        source: name of the old value, behind that of the table.
        path: of the column or field.
        values: those assigned, by their paths below it.
    """
    if () in values:
        return values[()]
    kind = target.type_of(path)
    assert isinstance(kind, StructType)
    fields = []
    for field in kind.fields:
        inner = {below[1:]: value for below, value in values.items() if below[0] == field.name}
        name = (*source, field.name)
        fields.append(
            (field.name, _value(nodes, target, name, (*path, field.name), inner) if inner else nodes.column(*name))
        )
    return nodes.struct(fields)


__all__ = ["UPDATE", "assigned", "is_default"]
