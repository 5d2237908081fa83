"""``RowFilter``: the typed row filter of planners and readers, whatever form it was given in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import PredicateError
from hudi_hive.predicate import nodes, syntax
from hudi_hive.predicate.binding import bind
from hudi_hive.predicate.evaluate import evaluate, to_expression
from hudi_hive.predicate.nodes import Node
from hudi_hive.predicate.outcomes import (
    ColumnRange,
    Mask,
    Outcomes,
    outcomes_of_ranges,
    outcomes_of_values,
    possible_outcomes,
    unknown,
)
from hudi_hive.predicate.sql import parse_sql


class FilterTerm(NamedTuple):
    """A comparison of a column with a value, or with a list of values (``in``)."""

    column: str
    operator: str
    value: Any


Dnf: TypeAlias = Sequence[tuple[str, str, Any]] | Sequence[Sequence[tuple[str, str, Any]]]
"""``[(column, operator, value), …]`` all of which hold, or a list of such lists of which one holds."""


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A filter bound to a schema. Rows for which it is TRUE pass; those for which it is FALSE or NULL do not.

    ``root`` is the typed tree (:mod:`hudi_hive.predicate.nodes`), ``schema`` the schema it was bound to.
    """

    root: Node
    schema: pa.Schema

    @property
    def is_trivial(self) -> bool:
        """Whether every row passes."""
        return self.root == nodes.Constant(True)

    @property
    def columns(self) -> tuple[str, ...]:
        """Top-level columns that the filter reads, each once, in order of appearance."""
        return nodes.top_level_names(self.root)

    @property
    def conjuncts(self) -> tuple[RowFilter, ...]:
        """The filters whose conjunction is this filter."""
        operands = self.root.operands if isinstance(self.root, nodes.And) else (self.root,)
        return tuple(RowFilter(operand, self.schema) for operand in operands)

    def restrict(self, names: Iterable[str]) -> RowFilter:
        """The conjunction of those conjuncts that read nothing but the named top-level columns."""
        allowed = set(names)
        kept = [part.root for part in self.conjuncts if allowed.issuperset(part.columns)]
        return RowFilter(nodes.conjunction(kept), self.schema)

    def to_arrow(self) -> pc.Expression:
        """The filter as an Arrow expression over :attr:`schema`; three-valued, with NaN as the greatest number."""
        return to_expression(self.root)

    def evaluate(self, data: pa.Table | pa.RecordBatch) -> pa.Array:
        """TRUE, FALSE or NULL for each row; ``data`` has the filter's columns with the types of :attr:`schema`."""
        return evaluate(self.root, data)

    def partitions_that_may_match(
        self, values: pa.Table, ranges: Mapping[tuple[str, ...], ColumnRange] | None = None
    ) -> pa.Array:
        """For each partition: TRUE unless no row of it can pass; never null.

        Args:
            values: typed partition values, a row for each partition, columns by field name. Columns that it does not
                have may be anything, but for those of ``ranges``.
            ranges: columns of which a range is known alone, by column path; as many groups as ``values`` has rows.
        """
        partition_columns = set(values.schema.names)

        def leaf(node: Node) -> Outcomes:
            if partition_columns.issuperset(nodes.top_level_names(node)):
                return outcomes_of_values(evaluate(node, values))
            return outcomes_of_ranges(node, values.num_rows, ranges) if ranges else unknown(values.num_rows)

        return pa.array(possible_outcomes(self.root, values.num_rows, leaf).true, pa.bool_())

    def required_values(self, column: str) -> pa.Array | None:
        """The values that a column can have in passing rows, by equality or ``IN``; None if they are not limited."""
        for part in self.conjuncts:
            values = _values_at(part.root, (column,))
            if values is not None:
                return values
        return None

    def required_values_at(self, path: tuple[str, ...]) -> pa.Array | None:
        """As :meth:`required_values`, of a column by its path or of a function by ``DerivedColumn.path``."""
        for part in self.conjuncts:
            root = part.root.outline if isinstance(part.root, nodes.Opaque) else part.root
            for node in root.operands if isinstance(root, nodes.And) else (root,):
                values = None if node is None else _values_at(node, path)
                if values is not None:
                    return values
        return None

    def groups_that_may_match(self, ranges: Mapping[tuple[str, ...], ColumnRange], count: int) -> Mask:
        """Whether rows of each of ``count`` files or row groups can pass, by their column ranges.

        Args:
            ranges: what is known, by column path (``("fare",)``, ``("st", "x")``); missing columns are unknown.
            count: number of groups, the length of every array in ``ranges``.
        """
        return outcomes_of_ranges(self.root, count, ranges).true


def _values_at(node: Node, path: tuple[str, ...]) -> pa.Array | None:
    if not isinstance(node, (nodes.Comparison, nodes.In)) or node.column.path != path:
        return None
    # A literal of another type than the column's own is compared after a cast: not the column's values.
    if node.column.cast is not None:
        return None
    if isinstance(node, nodes.Comparison):
        return pa.array([node.literal.as_py()], node.column.type) if node.operator == "=" else None
    return None if node.has_nan else pc.drop_null(node.values)


def parse_filter(filter: str | Dnf | pc.Expression | RowFilter | None, schema: pa.Schema) -> RowFilter:
    """Parse a filter and bind it to a schema.

    Args:
        filter: SQL text (subset: :mod:`hudi_hive.predicate.sql`); DNF tuples with the operators ``= == != < <= > >=``,
            ``in``, ``not in``, ``is``, ``is not``, ``like``, ``not like``; an Arrow expression, whose rows are chosen
            exactly as Arrow does; None for no filter.
        schema: the table's schema, meta and partition columns included.

    Raises:
        UnknownColumnError: it names a column that the schema does not have.
        PredicateError: it cannot be read, or its types do not fit the columns.
    """
    if filter is None:
        return RowFilter(nodes.Constant(True), schema)
    if isinstance(filter, RowFilter):
        return filter if filter.schema.equals(schema) else _rebound(filter, schema)
    if isinstance(filter, str):
        return RowFilter(bind(parse_sql(filter), schema), schema)
    if isinstance(filter, pc.Expression):
        from hudi_hive.predicate.arrow_expression import bind_expression

        return RowFilter(bind_expression(filter, schema), schema)
    return RowFilter(bind(_dnf(filter), schema), schema)


def _rebound(row_filter: RowFilter, schema: pa.Schema) -> RowFilter:
    """The same filter for another schema in which its columns have the same types."""
    for name in row_filter.columns:
        index = schema.get_field_index(name)
        if index < 0 or schema.field(index).type != row_filter.schema.field(name).type:
            raise PredicateError(f"row filter was made for another schema: column {name!r} differs")
    return RowFilter(row_filter.root, schema)


# -- DNF --------------------------------------------------------------------------------------------------------------

_OPERATORS: Final = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def _dnf(filter: object) -> syntax.Syntax:
    if not isinstance(filter, (list, tuple)) or not filter:
        raise PredicateError(
            f"row filter of type {type(filter).__name__} is not understood",
            remedy="give SQL text, DNF tuples or a pyarrow expression",
        )
    if _is_test(filter):
        return _test(filter)
    if all(_is_test(item) for item in filter):
        return syntax.AllOf(tuple(_test(item) for item in filter))
    if all(isinstance(item, (list, tuple)) and item and all(_is_test(test) for test in item) for item in filter):
        return syntax.AnyOf(tuple(syntax.AllOf(tuple(_test(test) for test in item)) for item in filter))
    raise PredicateError("row filter: DNF is [(column, operator, value), …] or a list of such lists")


def _is_test(item: object) -> bool:
    return isinstance(item, (tuple, list)) and len(item) == 3 and isinstance(item[0], str) and isinstance(item[1], str)


def _test(item: Any) -> syntax.Syntax:  # noqa: ANN401 - user's own values
    text, operator, value = item
    name = syntax.Name(tuple(text.split(".")), text)
    operator = " ".join(operator.lower().split())
    if operator in _OPERATORS:
        return syntax.Compare(cast(syntax.ComparisonOperator, _OPERATORS[operator]), name, _value(value))
    negated = operator.startswith("not ") or operator == "is not"
    if operator in ("in", "not in"):
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise PredicateError(f"row filter: {operator!r} on {text!r} needs a list of values")
        items = tuple(_value(one) for one in value)
        test: syntax.Syntax = syntax.InList(name, items) if items else _none_of(name)
    elif operator in ("is", "is not") and value is None:
        test = syntax.NullTest(name)
    elif operator in ("like", "not like"):
        test = syntax.LikeTest(name, _value(value), "\\", False)
    else:
        raise PredicateError(
            f"row filter: operator {operator!r} is not understood",
            remedy="use = != < <= > >= 'in' 'not in' 'is' 'is not' 'like' 'not like'",
        )
    return syntax.Negation(test) if negated else test


def _none_of(name: syntax.Name) -> syntax.Syntax:
    """IN of an empty list: FALSE, whatever the column; the name is still looked up."""
    return syntax.AllOf((syntax.NullTest(name), syntax.Negation(syntax.NullTest(name))))


def _value(value: Any) -> syntax.Value:  # noqa: ANN401 - user's own values
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    if isinstance(value, np.generic):
        value = value.item()
    return syntax.Value(value, repr(value))
