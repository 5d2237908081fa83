"""Evaluates typed trees with Arrow kernels, and converts them to Arrow expressions.

Both come from the same calls of ``pyarrow.compute``, which build an expression when given one; so they cannot disagree.
All connectives are the three-valued (Kleene) ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.predicate import nodes
from hudi_hive.predicate.nodes import ColumnRef, Node

Values: TypeAlias = Any
"""An Arrow expression, array, chunked array or scalar; kernels take and give any of them."""


@cache
def _null() -> pa.Scalar:
    # Not a constant of the module: the first scalar that Arrow makes imports pandas where it is installed.
    return pa.scalar(None, pa.bool_())


_KERNELS: dict[str, Callable[[Values, Values], Values]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def to_expression(node: Node) -> pc.Expression:
    """Convert a tree to an Arrow expression over the schema that it is bound to."""
    result: pc.Expression = _Evaluator(_expression_of, lambda opaque: opaque.expression, pc.scalar).run(node)
    return result


def evaluate(node: Node, data: pa.Table | pa.RecordBatch) -> pa.Array:
    """TRUE, FALSE or NULL for each row of ``data``, whose columns have the types that the tree was bound to."""

    def run_opaque(opaque: nodes.Opaque) -> Values:
        return _run_expression(opaque.expression, data.select(list(opaque.names)))

    def resolve(column: ColumnRef) -> Values:
        values = data.column(column.path[0])
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if len(column.path) > 1:
            values = pc.struct_field(values, list(column.path[1:]))
        return values if column.cast is None else pc.cast(values, column.cast, safe=False)

    result = _Evaluator(resolve, run_opaque, lambda scalar: scalar).run(node)
    if isinstance(result, pa.Scalar):
        return pa.repeat(result, data.num_rows)
    return result.combine_chunks() if isinstance(result, pa.ChunkedArray) else result


def _expression_of(column: ColumnRef) -> pc.Expression:
    derived = column.derived
    path = column.path if derived is None else derived.source
    field = pc.field(*path) if len(path) > 1 else pc.field(path[0])
    if derived is not None:
        field = derived.function.of(field, derived.kind)
    return field if column.cast is None else field.cast(column.cast, safe=False)


def _run_expression(expression: pc.Expression, data: pa.Table | pa.RecordBatch) -> pa.ChunkedArray:
    import pyarrow.acero as acero  # here, since few filters come as foreign expressions

    table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(table))
    project = acero.Declaration("project", acero.ProjectNodeOptions([expression.cast(pa.bool_())], ["mask"]), [source])
    return project.to_table(use_threads=False).column(0)


class _Evaluator:
    def __init__(
        self,
        resolve: Callable[[ColumnRef], Values],
        opaque: Callable[[nodes.Opaque], Values],
        constant: Callable[[pa.Scalar], Values],
    ) -> None:
        self._resolve = resolve
        self._opaque = opaque
        self._constant = constant

    def run(self, node: Node) -> Values:
        if isinstance(node, nodes.And):
            return self._combine(pc.and_kleene, node.operands)
        if isinstance(node, nodes.Or):
            return self._combine(pc.or_kleene, node.operands)
        if isinstance(node, nodes.Not):
            return pc.invert(self.run(node.operand))
        if isinstance(node, nodes.IsTrue):
            operand = self.run(node.operand)
            return pc.coalesce(operand if node.value else pc.invert(operand), pa.scalar(False))
        if isinstance(node, nodes.Constant):
            return self._constant(pa.scalar(node.value, pa.bool_()))
        if isinstance(node, nodes.Opaque):
            return self._opaque(node)
        return self._leaf(node)

    def _combine(self, kernel: Callable[[Values, Values], Values], operands: tuple[Node, ...]) -> Values:
        result = self.run(operands[0])
        for operand in operands[1:]:
            result = kernel(result, self.run(operand))
        return result

    def _leaf(self, node: Node) -> Values:
        if isinstance(node, nodes.ColumnComparison):
            return _compare_columns(node, self._resolve(node.left), self._resolve(node.right))
        column = nodes.own_columns(node)[0]
        values = self._resolve(column)
        if isinstance(node, nodes.Comparison):
            result = _KERNELS[node.operator](values, node.literal)
            if node.operator in (">", ">=") and _may_be_nan(column):
                result = pc.or_kleene(result, pc.is_nan(values))  # NaN is greater than every number
            return result
        if isinstance(node, nodes.In):
            return _is_in(node, values)
        if isinstance(node, nodes.IsNull):
            return pc.is_null(values)
        if isinstance(node, nodes.IsNaN):
            return pc.is_nan(values)
        if isinstance(node, nodes.Like):
            return pc.match_like(values, node.pattern, ignore_case=node.ignore_case)
        assert isinstance(node, nodes.WhenValid)  # the last leaf there is
        return pc.if_else(pc.is_null(values), _null(), pa.scalar(node.value))


def _may_be_nan(column: ColumnRef) -> bool:
    return bool(pa.types.is_floating(column.type))


def _is_in(node: nodes.In, values: Values) -> Values:
    is_member = pc.is_in(values, value_set=node.values)
    if node.has_nan:
        is_member = pc.or_kleene(is_member, pc.coalesce(pc.is_nan(values), pa.scalar(False)))
    if node.has_null:
        return pc.if_else(is_member, pa.scalar(True), _null())
    return pc.if_else(pc.is_null(values), _null(), is_member)


def _compare_columns(node: nodes.ColumnComparison, left: Values, right: Values) -> Values:
    if not pa.types.is_floating(node.left.operand_type):
        return _KERNELS[node.operator](left, right)
    if node.operator in (">", "<="):
        left, right = right, left
    left_nan, right_nan = pc.is_nan(left), pc.is_nan(right)
    if node.operator in ("=", "!="):
        result = pc.or_kleene(pc.equal(left, right), pc.and_kleene(left_nan, right_nan))
        return pc.invert(result) if node.operator == "!=" else result
    less = pc.or_kleene(pc.less(left, right), pc.and_kleene(pc.invert(left_nan), right_nan))
    return pc.invert(less) if node.operator in ("<=", ">=") else less
