"""``UPDATE``, ``DELETE`` and ``MERGE INTO`` of a Hudi table as queries whose rows are the changed records.

The query reads the table as of the statement's beginning; a commit that others complete before the write begins ends
it with an error. Which records are meant is told by the key columns, or by the meta columns in tables without keys.

Source: Hudi's ``UpdateHoodieTableCommand``, ``DeleteHoodieTableCommand``, ``MergeIntoHoodieTableCommand``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from hudi_hive.errors import SparkError
from hudi_hive.names import COMMIT_SEQNO_COLUMN, FILE_NAME_COLUMN, PARTITION_PATH_COLUMN, RECORD_KEY_COLUMN
from hudi_hive.options import Operation
from hudi_hive.spark.bridge import JavaValue, class_name, option, quoted, scala_items
from hudi_hive.spark.statements.writes.nodes import Branch, Nodes, alias_of
from hudi_hive.spark.statements.writes.sink import insert_into, sink, with_arguments
from hudi_hive.spark.statements.writes.target import WriteTarget

OPERATION: Final = "_hudi_hive_operation"
_CLAUSE: Final = "_hudi_hive_clause"
_IN_TARGET: Final = "_hudi_hive_in_target"
_IN_SOURCE: Final = "_hudi_hive_in_source"
_TIMES: Final = "_hudi_hive_times"
_PLACE: Final = (RECORD_KEY_COLUMN, PARTITION_PATH_COLUMN, FILE_NAME_COLUMN)

UPDATE, DELETE, INSERT = "update", "delete", "insert"


def update_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``UPDATE``: the rows that the condition takes, with the assigned values.

    Raises:
        SparkError: it assigns no column of the table, or one of its key or partition path.
    """
    nodes = Nodes(target.hook.environment.jvm)
    table = nodes.readable(node.table())
    values = _assigned(target, node.assignments(), alias_of(table), "UPDATE")
    columns = [
        nodes.alias(values[name] if name in values else nodes.column(name), name) for name in target.columns.names
    ]
    rows = nodes.where(option(node.condition()), table)
    return _written(target, nodes, "UPDATE", columns, nodes.expression(f"'{UPDATE}'"), rows)


def delete_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``DELETE FROM``: the rows that the condition takes."""
    nodes = Nodes(target.hook.environment.jvm)
    columns = [nodes.alias(nodes.column(name), name) for name in target.columns.names]
    rows = nodes.where(node.condition(), nodes.readable(node.table()))
    return _written(target, nodes, "DELETE", columns, nodes.expression(f"'{DELETE}'"), rows)


def merge_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``MERGE INTO``: the rows of table and source, joined, with the values of the first clause that takes each.

    Raises:
        SparkError: an assignment as of :func:`update_plan`, or a source without a name.
    """
    return _Merge(target, node).plan()


@dataclass(frozen=True)
class _Clause:
    """A clause of a MERGE: which joined rows it takes, and what it makes of them."""

    condition: JavaValue
    operation: str
    values: Mapping[str, JavaValue]


class _Merge:
    """One MERGE statement."""

    def __init__(self, target: WriteTarget, node: JavaValue) -> None:
        self.target = target
        self.nodes = Nodes(target.hook.environment.jvm)
        self._node = node
        self._table = self.nodes.readable(node.targetTable())
        self._alias, self._source = alias_of(self._table), alias_of(node.sourceTable())

    def plan(self) -> JavaValue:
        nodes, names = self.nodes, self.target.columns.names
        numbered = [(nodes.expression(str(number)), clause) for number, clause in enumerate(self._clauses)]
        chosen = nodes.case((clause.condition, number) for number, clause in numbered)
        joined = nodes.project([nodes.expression("*"), nodes.alias(chosen, _CLAUSE)], self._joined())
        taken = self._counted(nodes.where(nodes.expression(f"{_CLAUSE} IS NOT NULL"), joined))
        here = [nodes.expression(f"{_CLAUSE} = {number}") for number in range(len(self._clauses))]

        def value(name: str) -> JavaValue:
            branches: list[Branch] = [
                (one, clause.values[name]) for one, clause in zip(here, self._clauses, strict=True)
            ]
            return nodes.alias(nodes.case(branches), name)

        operation = nodes.case(
            (one, nodes.expression(f"'{clause.operation}'")) for one, clause in zip(here, self._clauses, strict=True)
        )
        columns = [value(name) for name in names]
        return _written(self.target, nodes, "MERGE", columns, operation, taken, self._alias, self._operations)

    @property
    def _operations(self) -> set[str]:
        return {clause.operation for clause in self._clauses}

    def _joined(self) -> JavaValue:
        node, nodes = self._node, self.nodes
        inserts, orphans = node.notMatchedActions().nonEmpty(), node.notMatchedBySourceActions().nonEmpty()
        kind = {(False, False): "Inner", (True, False): "RightOuter", (False, True): "LeftOuter"}.get(
            (inserts, orphans), "FullOuter"
        )
        left = self._flagged(self._table, _IN_TARGET)
        right = self._flagged(node.sourceTable(), _IN_SOURCE)
        return nodes.join(left, right, kind, node.mergeCondition())

    def _flagged(self, side: JavaValue, flag: str) -> JavaValue:
        """A side of the join with a column that is null only where it has no row."""
        name = alias_of(side)
        if not name:
            raise SparkError(
                f"MERGE INTO {self.target.name} from a source without a name",
                path=self.target.location,
                remedy="give it one: USING (…) AS source",
            )
        child = side.child() if class_name(side) == "SubqueryAlias" else side
        columns = [self.nodes.expression("*"), self.nodes.expression(f"true AS {flag}")]
        return self.nodes.named(self.nodes.project(columns, child), name)

    def _counted(self, rows: JavaValue) -> JavaValue:
        """Rows, with an error where two rows of the source are about to change one of the table."""
        if not self._node.matchedActions().nonEmpty():
            return rows
        target = self.target
        keys = [name for name in target.columns.names if name.lower() in target.record_keys]
        names = (*_PLACE, COMMIT_SEQNO_COLUMN) if target.shows_meta_columns else (*keys, *target.partition_columns)
        place = ", ".join(quoted(self._alias, name) for name in names)
        message = "MERGE INTO: several rows of the source change one row of the table"
        check = (
            f"CASE WHEN {_IN_TARGET} AND {_IN_SOURCE} AND count(1) OVER (PARTITION BY {place}) > 1 "
            f"THEN raise_error('{message}') END AS {_TIMES}"
        )
        counted = self.nodes.project([self.nodes.expression("*"), self.nodes.expression(check)], rows)
        return self.nodes.where(self.nodes.expression(f"{_TIMES} IS NULL"), counted)

    @cached_property
    def _clauses(self) -> list[_Clause]:
        node = self._node
        kinds = (
            (node.matchedActions(), f"{_IN_TARGET} AND {_IN_SOURCE}"),
            (node.notMatchedActions(), f"{_IN_TARGET} IS NULL"),
            (node.notMatchedBySourceActions(), f"{_IN_SOURCE} IS NULL"),
        )
        return [self._clause(action, where) for actions, where in kinds for action in scala_items(actions)]

    def _clause(self, action: JavaValue, where: str) -> _Clause:
        nodes, names, kind = self.nodes, self.target.columns.names, class_name(action)
        condition = nodes.both(nodes.expression(where), option(action.condition()))
        own = {name: nodes.column(self._alias, name) for name in names}
        same_name = {name: nodes.column(self._source, name) for name in names}
        if kind == "DeleteAction":
            return _Clause(condition, DELETE, own)
        if kind == "InsertStarAction":
            return _Clause(condition, INSERT, same_name)
        if kind == "UpdateStarAction":
            return _Clause(condition, UPDATE, same_name | self._fixed(same_name))
        if kind == "InsertAction":
            nothing = {name: nodes.expression("NULL") for name in names}
            return _Clause(condition, INSERT, nothing | self._assigned(action, "INSERT"))
        values = self._assigned(action, "MERGE")
        return _Clause(condition, UPDATE, own | values | self._fixed(values))

    def _fixed(self, values: Mapping[str, JavaValue]) -> dict[str, JavaValue]:
        """The assigned key and partition columns, with an error where one would get another value."""
        nodes, target = self.nodes, self.target
        checked = {}
        for name in (name for name in values if name.lower() in target.fixed_columns):
            own = nodes.column(self._alias, name)
            stays = nodes.expression(f"{quoted(self._alias, name)} <=> 1")
            stays = with_arguments(nodes.jvm, stays, {"right": values[name]})
            shown = name.replace("\\", "").replace("'", "")
            message = f"MERGE INTO changes {shown}, which its records keys or partition paths are made of"
            checked[name] = nodes.case(
                [(stays, own), (nodes.expression("true"), nodes.expression(f"raise_error('{message}')"))]
            )
        return checked

    def _assigned(self, action: JavaValue, what: str) -> dict[str, JavaValue]:
        return _assigned(self.target, action.assignments(), self._alias, what)


def _assigned(target: WriteTarget, assignments: JavaValue, alias: str, what: str) -> dict[str, JavaValue]:
    """The assigned columns and their values.

    Raises:
        SparkError: a column that is none, comes twice, or must stay as it is.
    """
    values: dict[str, JavaValue] = {}
    for assignment in scala_items(assignments):
        name = target.column([str(part) for part in scala_items(assignment.key().nameParts())], alias)
        if name in values:
            raise SparkError(f"{what} of {target.name} assigns {name} twice", path=target.location)
        if what == "UPDATE" and name.lower() in target.fixed_columns:
            raise SparkError(
                f"UPDATE of {target.name} assigns {name}, which its records' keys or partition paths are made of",
                path=target.location,
                remedy="delete the rows and insert them anew",
            )
        values[name] = assignment.value()
    return values


def _written(
    target: WriteTarget,
    nodes: Nodes,
    what: str,
    columns: Sequence[JavaValue],
    operation: JavaValue,
    rows: JavaValue,
    alias: str = "",
    operations: set[str] | None = None,
) -> JavaValue:
    """The statement: its rows, with what happens to each and the meta columns that tell its place, to the table."""
    made = operations or {what.lower()}
    if made > {DELETE} and not target.record_keys:
        raise SparkError(
            f"MERGE INTO {target.name} deletes rows beside other changes, and the table has no record keys",
            path=target.location,
            remedy="delete them by a statement of their own",
        )

    def write(frame: DataFrame) -> None:
        if made > {DELETE}:
            target.change(frame, OPERATION)
        else:
            target.write(frame.drop(OPERATION), _OPERATIONS[made == {DELETE}], reads=True)

    of_place = () if target.record_keys else _PLACE
    place = [nodes.column(*([alias] if alias else []), name) for name in of_place]
    query = nodes.project([*columns, nodes.alias(operation, OPERATION), *place], rows)
    kinds = [StructField(one.name, one.dataType) for one in target.columns]
    kinds += [StructField(name, StringType()) for name in (OPERATION, *of_place)]
    relation = sink(target.hook, f"{what} {target.name}", write, StructType(kinds))
    return insert_into(nodes.jvm, relation, query)


_OPERATIONS: Final = {False: Operation.UPSERT, True: Operation.DELETE}

__all__ = ["delete_plan", "merge_plan", "update_plan"]
