"""Builds parsed plans of Spark: projections, filters, joins over expressions given as SQL text or as parsed nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql.types import DataType

from hudi_hive.spark.bridge import JavaValue, Jvm, class_name, java_type, quoted, scala_items
from hudi_hive.spark.statements.writes.sink import with_arguments
from hudi_hive.spark.versions import SPARK

Branch = tuple[JavaValue, JavaValue]
"""A condition, and the value where it is the first that holds."""


class Nodes:
    """Makes nodes of parsed plans.

    Args:
        jvm: the JVM.
    """

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm
        self._plans = jvm.package("catalyst.plans.logical")
        self._expressions = jvm.package("catalyst.expressions")
        self._parser = jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
        self._literals = jvm.module("org.apache.spark.sql.catalyst.expressions.Literal")

    def expression(self, text: str) -> JavaValue:
        """The expression of an SQL text."""
        return self._parser.parseExpression(text)

    def column(self, *parts: str) -> JavaValue:
        """A column by its name, behind that of its table or not."""
        return self.expression(quoted(*parts))

    def alias(self, value: JavaValue, name: str) -> JavaValue:
        """``value AS name``."""
        return with_arguments(self.jvm, self.expression(f"1 AS {quoted(name)}"), {"child": value})

    def both(self, first: JavaValue, second: JavaValue | None) -> JavaValue:
        """``first AND second``; ``first`` alone without a second condition."""
        return first if second is None else self._expressions.And(first, second)

    def same(self, left: JavaValue, right: JavaValue) -> JavaValue:
        """``left <=> right``."""
        return with_arguments(self.jvm, self.expression("1 <=> 1"), {"left": left, "right": right})

    def field(self, value: JavaValue, path: Sequence[str]) -> JavaValue:
        """A field of a struct, of its structs …; the value itself without a path."""
        for name in path:
            value = self.jvm.package("catalyst.analysis").UnresolvedExtractValue(value, self.literal(name))
        return value

    def case(self, branches: Iterable[Branch]) -> JavaValue:
        """``CASE WHEN … THEN … END``."""
        pairs = [self.jvm.view.scala.Tuple2(condition, value) for condition, value in branches]
        return self._expressions.CaseWhen(self.jvm.seq(pairs), self.jvm.none())

    def struct(self, fields: Iterable[tuple[str, JavaValue]]) -> JavaValue:
        """``named_struct`` of fields by their names."""
        arguments = []
        for name, value in fields:
            arguments += [self.literal(name), value]
        return self.function("named_struct", *arguments)

    def literal(self, value: str | int) -> JavaValue:
        """A constant."""
        return self._literals.apply(value)

    def array(self, *values: JavaValue) -> JavaValue:
        """``array`` of values; stars among them stand for their columns."""
        return self.function("array", *values)

    def function(self, name: str, *arguments: JavaValue) -> JavaValue:
        """A call of a function."""
        return with_arguments(self.jvm, self.expression(f"{name}()"), {"arguments": self.jvm.seq(arguments)})

    def cast(self, value: JavaValue, kind: DataType, *, legacy: bool = False) -> JavaValue:
        """``CAST(value AS kind)``, with an error where the type cannot hold the value; ``legacy`` without one."""
        changes = {"child": value, "dataType": java_type(self.jvm, kind)}
        modes = self.jvm.module("org.apache.spark.sql.catalyst.expressions.EvalMode")
        changes["evalMode"] = modes.LEGACY() if legacy else modes.ANSI()
        return with_arguments(self.jvm, self.expression("CAST(1 AS INT)"), changes)

    def columns_like(self, pattern: str, table: str = "") -> JavaValue:
        """The columns, of a table or of all, whose whole names match a pattern: as many as there are."""
        of = self.jvm.some(table) if table else self.jvm.none()
        return self.jvm.package("catalyst.analysis").UnresolvedRegex(pattern, of, False)

    def project(self, columns: Sequence[JavaValue], child: JavaValue) -> JavaValue:
        """``SELECT columns FROM child``."""
        return self._plans.Project(self.jvm.seq(columns), child)

    def where(self, condition: JavaValue | None, child: JavaValue) -> JavaValue:
        """``child WHERE condition``; the child itself without a condition."""
        return child if condition is None else self._plans.Filter(condition, child)

    def join(self, left: JavaValue, right: JavaValue, kind: str, condition: JavaValue) -> JavaValue:
        """A join; its kind as Spark's object of it is called."""
        how = self.jvm.module(f"org.apache.spark.sql.catalyst.plans.{kind}")
        hint = self._plans.JoinHint.NONE()
        return self._plans.Join(left, right, how, self.jvm.some(condition), hint)

    def named(self, child: JavaValue, name: str) -> JavaValue:
        """``child AS name``."""
        return self.jvm.module("org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias").apply(name, child)

    def without_meta_columns(self, pattern: str, child: JavaValue) -> JavaValue:
        """The columns of a query whose names match a pattern."""
        return self.project([self.columns_like(pattern)], child)

    def readable(self, table: JavaValue) -> JavaValue:
        """The table of a statement as queries have it, without the mark that it is to be written."""
        kind = class_name(table)
        if kind == "SubqueryAlias":
            return with_arguments(self.jvm, table, {"child": self.readable(table.child())})
        if kind == "UnresolvedRelation":
            empty = self.jvm.view.org.apache.spark.sql.util.CaseInsensitiveStringMap.empty()
            return with_arguments(self.jvm, table, {"options": empty})
        return table


def argument(node: JavaValue, name: str) -> JavaValue | None:
    """An argument of a node by its name; None where this release of Spark has none of that name."""
    names = [SPARK.element_name(node, at) for at in range(node.productArity())]
    return node.productElement(names.index(name)) if name in names else None


def alias_of(table: JavaValue) -> str:
    """What a statement calls a table or subquery; empty where it has no name."""
    if class_name(table) == "SubqueryAlias":
        return str(table.alias())
    if class_name(table) == "UnresolvedRelation":
        return [str(part) for part in scala_items(table.multipartIdentifier())][-1]
    return ""


__all__ = ["Branch", "Nodes", "alias_of", "argument"]
