"""``MERGE INTO`` a Hudi table as a query whose rows are the records that its clauses change.

Table and source are joined; the first clause that takes a joined row says what becomes of it. All changes are one
upsert, in which each row says what it is; of a merge-on-read table log blocks hold the updated columns alone.

``WITH SCHEMA EVOLUTION`` the table's side of the join has the columns that the statement leaves, so that new ones can
be named as the others, and rows are written whole.

Source: Hudi's ``MergeIntoHoodieTableCommand``; Spark's reference of ``MERGE INTO``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField

from hudi_hive.errors import SparkError
from hudi_hive.names import COMMIT_SEQNO_COLUMN, HOODIE_SPARK_SQL_MERGE_INTO_PARTIAL_UPDATES
from hudi_hive.options import Operation
from hudi_hive.options.write import SCHEMA_ON_READ
from hudi_hive.schema import META_FIELDS
from hudi_hive.spark.bridge import JavaValue, class_name, option, quoted, scala_items
from hudi_hive.spark.statements.writes.assignments import assigned
from hudi_hive.spark.statements.writes.changes import PLACE, place, place_fields, written
from hudi_hive.spark.statements.writes.evolution import (
    Evolution,
    evolved_columns,
    named_in_actions,
    source_columns,
)
from hudi_hive.spark.statements.writes.merge_condition import compared_columns, makes_new_keys, path_to_join
from hudi_hive.spark.statements.writes.merge_pruning import narrowed
from hudi_hive.spark.statements.writes.nodes import Branch, Nodes, alias_of, argument
from hudi_hive.spark.statements.writes.target import WriteTarget
from hudi_hive.spark.write import RowChanges
from hudi_hive.write.records import OPERATION

_CLAUSE: Final = "_hudi_hive_clause"
_IN_TARGET: Final = "_hudi_hive_in_target"
_IN_SOURCE: Final = "_hudi_hive_in_source"
_TIMES: Final = "_hudi_hive_times"

_UPDATE, _DELETE, _INSERT = "update", "delete", "insert"


def merge_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``MERGE INTO``: the rows of table and source, joined, with the values of the first clause that takes each.

    Raises:
        SparkError: an assignment as of :func:`update_plan`, an insert without a column of the key or of the records'
            order, or a source without a name.
        SchemaError: a new column whose type nothing tells.
    """
    target.check_replaces("MERGE INTO")
    evolution = _evolution(target, node) if argument(node, "withSchemaEvolution") else None
    if evolution is not None and evolution.changes:
        target = target.with_columns(evolution.after)
    return _Merge(target, node, evolution).plan()


def _evolution(target: WriteTarget, node: JavaValue) -> Evolution | None:
    """The columns that a MERGE WITH SCHEMA EVOLUTION leaves; None if the source is wrong, which Spark tells later."""
    columns = target.columns_of_query(node.sourceTable())
    if columns is None:
        return None
    source, alias = source_columns(columns), alias_of(node.sourceTable())
    actions = [one for part in (node.matchedActions(), node.notMatchedActions()) for one in scala_items(part)]
    named = named_in_actions(actions, source, alias)
    after = evolved_columns(target.columns, named, target.is_fixed)
    return Evolution(target.columns, source, after, alias)


@dataclass(frozen=True)
class _Clause:
    """A clause of a MERGE: which joined rows it takes, and what it makes of them.

    Attributes:
        condition: of the rows.
        operation: what happens to them.
        values: of the table's columns.
        updated: names of the columns that get new values.
    """

    condition: JavaValue
    operation: str
    values: Mapping[str, JavaValue]
    updated: frozenset[str] = frozenset()


class _Merge:
    """One MERGE statement."""

    def __init__(self, target: WriteTarget, node: JavaValue, evolution: Evolution | None) -> None:
        self.target = target
        self._evolution = evolution
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
        columns = [*(value(name) for name in names), nodes.alias(operation, OPERATION)]
        rows = nodes.project([*columns, *place(self.target, nodes, self._alias)], taken)
        further = [StructField(OPERATION, StringType()), *place_fields(self.target)]
        return written(self.target, "MERGE", rows, self._write, further)

    def _write(self, frame: DataFrame) -> None:
        """One commit. Rows that are all new are inserted where nothing tells which of two rows of a key counts."""
        target = self.target
        inserts = all(clause.operation == _INSERT for clause in self._clauses)
        changes = RowChanges(OPERATION, self._updated, self._inserts_are_new(frame))
        with narrowed(target, self.nodes, frame, _IN_TARGET, _IN_SOURCE) as rows:
            if inserts and not (target.record_keys and target.client.config.ordering_fields):
                target.write(rows.drop(OPERATION, *PLACE), Operation.INSERT, reads=True)
            else:
                target.write(rows, Operation.UPSERT, reads=True, changes=changes)

    def _inserts_are_new(self, frame: DataFrame) -> bool:
        """Whether the table has no record of a row that is inserted, in the row's partition."""
        target = self.target
        pairs = {} if target.evolved is not None else self._compared
        if not pairs:
            return False
        path = path_to_join(frame._jdf.queryExecution().analyzed(), _IN_TARGET, _IN_SOURCE)
        return bool(path) and makes_new_keys(target, path[-1], pairs)

    @cached_property
    def _compared(self) -> dict[str, str]:
        return compared_columns(self.target, self._node, self._alias, self._source)

    @property
    def _updated(self) -> tuple[str, ...]:
        """The columns that updates change, if log blocks may hold them alone."""
        setting = self.target.option
        whole = (setting(HOODIE_SPARK_SQL_MERGE_INTO_PARTIAL_UPDATES) or "true").strip().lower() == "false"
        if whole or self.target.evolved is not None or (setting(SCHEMA_ON_READ.name) or "").strip().lower() == "true":
            return ()
        return tuple(sorted(frozenset().union(*(clause.updated for clause in self._clauses))))

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
        evolves = flag == _IN_TARGET and self.target.evolved is not None
        columns = self._own_columns if evolves else [self.nodes.expression("*")]
        columns = [*columns, self.nodes.expression(f"true AS {flag}")]
        return self.nodes.named(self.nodes.project(columns, child), name)

    @property
    def _own_columns(self) -> list[JavaValue]:
        """The table's columns as the statement leaves them."""
        nodes, evolution = self.nodes, self._evolution
        assert evolution is not None
        meta = [nodes.column(name) for name in self.target.shown_columns.names if name in META_FIELDS]
        values = ((name, nodes.expression(evolution.own(name))) for name in evolution.after.names)
        return [*meta, *(nodes.alias(self._typed({name: value})[name], name) for name, value in values)]

    def _counted(self, rows: JavaValue) -> JavaValue:
        """Rows, with an error where two rows of the source are about to change one of the table."""
        if not self._node.matchedActions().nonEmpty():
            return rows
        target = self.target
        keys = [name for name in target.columns.names if name.lower() in target.record_keys]
        names = (*PLACE, COMMIT_SEQNO_COLUMN) if target.fills_meta_columns else (*keys, *target.partition_columns)
        place = ", ".join(quoted(self._alias, name) for name in names)
        message = "MERGE INTO: several rows of the source change one row of the table"
        check = (
            f"CASE WHEN {_IN_TARGET} AND {_IN_SOURCE} AND count(1) OVER (PARTITION BY {place}) > 1 "
            f"THEN raise_error('{message}') END AS {_TIMES}"
        )
        counted = self.nodes.project([self.nodes.expression("*"), self.nodes.expression(check)], rows)
        return self.nodes.where(self.nodes.expression(f"{_TIMES} IS NULL"), counted)

    # -- clauses -----------------------------------------------------------------------------------------------------

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
        if kind == "DeleteAction":
            return _Clause(condition, _DELETE, own | self._ordering_values)
        nothing = {name: nodes.expression("NULL") for name in names}
        if kind == "InsertStarAction":
            values = self._all_columns(keeps_own=False)
            self._check_insert(values)
            return _Clause(condition, _INSERT, nothing | values)
        if kind == "UpdateStarAction":
            values = self._all_columns(keeps_own=True)
            return _Clause(condition, _UPDATE, own | values | self._fixed(values), frozenset(values))
        if kind == "InsertAction":
            values = self._assigned(action, "INSERT")
            self._check_insert(values)
            return _Clause(condition, _INSERT, nothing | values)
        values = self._assigned(action, "MERGE")
        return _Clause(condition, _UPDATE, own | values | self._fixed(values), frozenset(values))

    def _all_columns(self, *, keeps_own: bool) -> dict[str, JavaValue]:
        """The table's columns from those of the source of the same names; which it may lack if the schema evolves.

        Args:
            keeps_own: fields of structs that the source's lack stay as they are.
        """
        names, evolution = self.target.columns.names, self._evolution
        if evolution is None:
            return self._typed({name: self.nodes.column(self._source, name) for name in names})
        texts = {name: evolution.starred(name, quoted(self._alias, name) if keeps_own else "") for name in names}
        return self._typed({name: self.nodes.expression(text) for name, text in texts.items() if text is not None})

    @property
    def _ordering_values(self) -> dict[str, JavaValue]:
        """Values that decide whether a deletion comes too late for its record, from the source's columns.

        As in Hudi a merge-on-read table holds a deletion's ordering value against those of its record.
        """
        rules, values = self.target.merge_rules, {}
        if not (self.target.client.config.is_merge_on_read and rules.needs_ordering and self._source):
            return {}
        for field in rules.ordering_fields:
            for name in (name for name in self.target.columns.names if name.lower() == field.lower()):
                theirs = self.nodes.array(self.nodes.columns_like(f"(?i){re.escape(name)}", self._source))
                taken = self.nodes.function("get", theirs, self.nodes.expression("0"))
                values[name] = self.nodes.function("coalesce", taken, self.nodes.column(self._alias, name))
        return self._typed(values)

    def _check_insert(self, values: Mapping[str, JavaValue]) -> None:
        """Refuse inserts without what tells records apart, or which of two counts.

        Raises:
            SparkError: such a column gets no value.
        """
        target = self.target
        heads = {name.lower() for name in values}
        rules = target.merge_rules
        needed = [*target.record_keys, *(rules.ordering_fields if target.record_keys and rules.needs_ordering else ())]
        for name in needed:
            if name.partition(".")[0].lower() not in heads:
                role = "record keys" if name in target.record_keys else "order of records"
                raise SparkError(
                    f"MERGE INTO {target.name} inserts rows without {name}, which the table's {role} are made of",
                    path=target.location,
                    remedy=f"give {name} a value in the INSERT clause",
                )

    def _fixed(self, values: Mapping[str, JavaValue]) -> dict[str, JavaValue]:
        """The assigned key and partition columns, with an error where one would get another value.

        Of a struct the fields count that keys are made of. Records may move to other partitions where the index finds
        them in all.
        """
        nodes, target = self.nodes, self.target
        checked = {}
        for name in (name for name in values if target.is_fixed([name])):
            is_key = any(key.partition(".")[0] == name.lower() for key in target.record_keys)
            if not is_key and target.moves_records:
                continue
            own, value = nodes.column(self._alias, name), values[name]
            paths = [path.split(".")[1:] for path in target.fixed_columns if path.partition(".")[0] == name.lower()]
            stays: JavaValue = None
            for path in paths:
                stays = nodes.both(nodes.same(nodes.field(own, path), nodes.field(value, path)), stays)
            shown = name.replace("\\", "").replace("'", "")
            message = f"MERGE INTO changes {shown}, which its records keys or partition paths are made of"
            if not is_key:
                message += "; SET hoodie.index.type=GLOBAL_SIMPLE lets records move"
            checked[name] = nodes.case(
                [
                    (stays, value if all(paths) else own),
                    (nodes.expression("true"), nodes.expression(f"raise_error('{message}')")),
                ]
            )
        return checked

    def _assigned(self, action: JavaValue, what: str) -> dict[str, JavaValue]:
        return self._typed(
            assigned(self.target, self.nodes, action.assignments(), self._alias, what, self._assigned_value)
        )

    def _assigned_value(self, path: tuple[str, ...], value: JavaValue) -> JavaValue:
        text = None if self._evolution is None else self._evolution.assigned(path, value)
        return value if text is None else self.nodes.expression(text)

    def _typed(self, values: Mapping[str, JavaValue]) -> dict[str, JavaValue]:
        """Values with the types of their columns, which must hold them."""
        return {name: self.nodes.cast(value, self.target.type_of([name])) for name, value in values.items()}


__all__ = ["merge_plan"]
