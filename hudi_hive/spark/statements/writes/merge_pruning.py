"""Keeps a MERGE from reading files that hold no row of its source: by the keys and partitions that its condition names.

What the source has for a column of the table is looked up before the join runs, and becomes a filter of the table that
the pruning of its scan understands. The source is computed once and kept for the join. Rows of the table that no row of
the source meets leave it before the join, which would else send and sort them all, as the source's rows must stay.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from hudi_hive.spark.bridge import JavaValue, class_name, option, python_session, scala_items
from hudi_hive.spark.statements.writes.merge_condition import conjuncts, path_to_join
from hudi_hive.spark.statements.writes.nodes import Nodes
from hudi_hive.spark.statements.writes.sink import with_arguments
from hudi_hive.spark.statements.writes.target import WriteTarget
from hudi_hive.spark.write import persisted_frames, session_of_steps

MOST_VALUES: Final = 200
"""Values of a column that are named one by one; of more the least and the greatest one count."""

MOST_SENT: Final = 300_000
"""Rows of a source whose values for the table's columns are sent to each executor."""

_TOGETHER: Final = 10
_VALUE: Final = "_hudi_hive_value"
_NUMBER: Final = "_hudi_hive_number"
_IN_PARTITION: Final = (1 << 33) - 1
"""The bits of ``monotonically_increasing_id`` that number the rows of a partition."""
_TYPES: Final = ("tinyint", "smallint", "int", "bigint", "string", "date", "timestamp")
_KINDS: Final = ("Inner", "RightOuter")


@contextmanager
def narrowed(target: WriteTarget, nodes: Nodes, rows: DataFrame, table: str, source: str) -> Iterator[DataFrame]:
    """Rows of a join of a table with a source, which reads no more of the table than the source can meet.

    Args:
        target: the table.
        nodes: makes nodes of plans.
        rows: the rows of the statement.
        table: a column that the table's side of the join has alone.
        source: one that the source's side has alone.
    """
    plan = rows._jdf.queryExecution().analyzed()
    path = _narrowable(path_to_join(plan, table, source))
    pairs = [] if not path else _pairs(target, path[-1])
    if not pairs or target.client.file_system_view().latest_file_slices().num_rows < 2:
        yield rows
        return
    with persisted_frames() as persist:
        narrowing = _Narrowing(target, nodes, path[-1])
        persist(narrowing.source)
        join = narrowing.join(pairs)
        for node in reversed(path[:-1]):
            join = node.withNewChildren(nodes.jvm.seq([join]))
            if class_name(join) == "Window":
                # Rows of one row of the table have the same values here, so that the join's shuffle does.
                spec = [*scala_items(join.partitionSpec()), *(other for _, other in pairs)]
                join = with_arguments(nodes.jvm, join, {"partitionSpec": nodes.jvm.seq(spec)})
        yield narrowing.frame(join)


def _narrowable(path: list[JavaValue]) -> list[JavaValue]:
    """The nodes down to a join whose table's side may have less; none if it is another one."""
    if not path:
        return path
    narrows = str(path[-1].joinType().toString()) in _KINDS
    return path if narrows and path[-1].right().deterministic() else []


def _pairs(target: WriteTarget, join: JavaValue) -> list[tuple[JavaValue, JavaValue]]:
    """What a join compares for equality: a key or partition column of the table, and what the source has for it."""
    condition = option(join.condition())
    names = {name.lower() for name in (*target.record_keys, *target.partition_columns)}
    pairs = []
    for part in conjuncts(condition):
        if class_name(part) != "EqualTo":
            continue
        for own, other in ((part.left(), part.right()), (part.right(), part.left())):
            columns = [str(one.name()).lower() for one in scala_items(own.references().toSeq())]
            sides = own.references().subsetOf(join.left().outputSet()) and other.references().subsetOf(
                join.right().outputSet()
            )
            kind = str(other.dataType().simpleString())
            if len(columns) == 1 and columns[0] in names and sides and kind in _TYPES and other.deterministic():
                pairs.append((own, other))
    return pairs


class _Narrowing:
    """Filters of the table's side of one join."""

    def __init__(self, target: WriteTarget, nodes: Nodes, join: JavaValue) -> None:
        self._session = python_session(target.hook.session)
        self._nodes = nodes
        self._join = join
        self._expressions = nodes.jvm.package("catalyst.expressions")
        self._few = False  # rows of the source, each of which meets few of the table
        self._keys = target.record_keys
        self._steps = session_of_steps(self._session)
        self._rows = 0  # of the source, where it has many values

    @property
    def source(self) -> DataFrame:
        """The rows of the join's source."""
        return self.frame(self._join.right())

    def frame(self, plan: JavaValue) -> DataFrame:
        """The rows of a plan of the statement."""
        return self._frame(plan, self._steps if self._few else self._session)

    def _frame(self, plan: JavaValue, session: SparkSession) -> DataFrame:
        return DataFrame(self._nodes.jvm.classic.Dataset.ofRows(session._jsparkSession, plan), session)

    def join(self, pairs: Iterable[tuple[JavaValue, JavaValue]]) -> JavaValue:
        """The join with less of the table."""
        pairs = list(pairs)
        conditions = self._conditions(pairs)
        both = functools.reduce(lambda one, other: self._nodes.both(one, other), conditions)
        left = self._nodes.where(both, self._join.left())
        if 0 < self._rows <= MOST_SENT:
            left = self._met(left, pairs)
        return self._join.withNewChildren(self._nodes.jvm.seq([left, self._join.right()]))

    def _met(self, table: JavaValue, pairs: Sequence[tuple[JavaValue, JavaValue]]) -> JavaValue:
        """The table's rows for which the source has all values, which each executor gets."""
        nodes = self._nodes
        columns = [nodes.alias(other, f"{_VALUE}_{number}") for number, (_, other) in enumerate(pairs)]
        values = sql.broadcast(self.frame(nodes.project(columns, self._join.right())))
        plan = values._jdf.queryExecution().analyzed()
        equal = [
            self._expressions.EqualTo(own, value)
            for (own, _), value in zip(pairs, scala_items(plan.output()), strict=True)
        ]
        return nodes.join(table, plan, "LeftSemi", functools.reduce(nodes.both, equal))

    def _conditions(self, pairs: Sequence[tuple[JavaValue, JavaValue]]) -> list[JavaValue]:
        """For each pair that the table's value is one of the source's, or at least between least and greatest."""
        nodes, names = self._nodes, [f"{_VALUE}_{number}" for number in range(len(pairs))]
        columns = [nodes.alias(other, name) for name, (_, other) in zip(names, pairs, strict=True)]
        values = self._frame(nodes.project(columns, self._join.right()), self._steps)
        number = sql.monotonically_increasing_id().bitwiseAND(sql.lit(_IN_PARTITION))
        ends = [sql.array(sql.min(name), sql.max(name)) for name in names]
        # The first rows of each partition: all, where no partition has more.
        first = [sql.collect_set(sql.when(sql.col(_NUMBER) <= MOST_VALUES, sql.col(name))) for name in names]
        found = values.withColumn(_NUMBER, number).agg(sql.count(sql.lit(1)), sql.max(_NUMBER), *ends, *first)
        (row,) = found._jdf.queryExecution().executedPlan().executeCollect()
        row = row.copy()
        rows = int(row.getLong(0))
        self._few = rows <= MOST_SENT and self._have_keys(pairs)
        few = not rows or int(row.getLong(1)) <= MOST_VALUES
        result = []
        for at, (own, other) in enumerate(pairs):
            literals = self._items(row.getArray(2 + len(pairs) + at), other) if few else []
            if not few and not (rows > _TOGETHER * MOST_VALUES and self._is_whole_key(own)):
                distinct = values.select(names[at]).distinct().limit(MOST_VALUES + 2)  # one of them may be null
                literals = self._literals(distinct.agg(sql.collect_set(names[at])), other)
                few_of_it = len(literals) <= MOST_VALUES
            else:
                few_of_it = few and len(literals) <= MOST_VALUES
            if few_of_it:
                result.append(self._one_of(own, literals))
                continue
            self._rows = rows
            least, greatest = self._items(row.getArray(2 + at), other)
            expressions = self._expressions
            result.append(
                nodes.both(expressions.GreaterThanOrEqual(own, least), expressions.LessThanOrEqual(own, greatest))
            )
        return result

    def _have_keys(self, pairs: Sequence[tuple[JavaValue, JavaValue]]) -> bool:
        """Whether the pairs tell a record of each partition, so that a row of the source meets few rows."""
        names = {str(one.name()).lower() for own, _ in pairs for one in scala_items(own.references().toSeq())}
        return bool(self._keys) and set(self._keys) <= names

    def _is_whole_key(self, own: JavaValue) -> bool:
        """Whether a column is the only one of the keys, so that rows of the source hardly share its values."""
        (column,) = scala_items(own.references().toSeq())
        return self._keys == [str(column.name()).lower()]

    def _one_of(self, own: JavaValue, literals: Sequence[JavaValue]) -> JavaValue:
        parts = [literals[at : at + _TOGETHER] for at in range(0, len(literals), _TOGETHER)]
        ins = [self._expressions.In(own, self._nodes.jvm.seq(part)) for part in parts]
        return _balanced(ins, self._expressions.Or) if ins else self._nodes.expression("false")

    def _literals(self, frame: DataFrame, of: JavaValue) -> list[JavaValue]:
        """The items of the one array that a query gives, as constants."""
        (row,) = frame._jdf.queryExecution().executedPlan().executeCollect()
        return self._items(row.copy().getArray(0), of)

    def _items(self, array: JavaValue, of: JavaValue) -> list[JavaValue]:
        types = self._nodes.jvm.view.org.apache.spark.sql.types
        constant = self._expressions.Literal(array, types.ArrayType(of.dataType(), True))
        literal = self._nodes.literal
        return [self._expressions.GetArrayItem(constant, literal(at), False) for at in range(int(array.numElements()))]


def _balanced(items: list[JavaValue], combined: Callable[[JavaValue, JavaValue], JavaValue]) -> JavaValue:
    """Items combined by twos, so that the tree is not deep."""
    while len(items) > 1:
        pairs = [items[at : at + 2] for at in range(0, len(items), 2)]
        items = [combined(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return items[0]


__all__ = ["MOST_SENT", "MOST_VALUES", "narrowed"]
