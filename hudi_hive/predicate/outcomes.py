"""Possible outcomes (TRUE, FALSE, NULL) of a filter for many groups of rows at once.

A group is a partition, a file or a row group: of its rows only partition values or column ranges are known. A group may
be skipped when TRUE is not among the possible outcomes. All groups are worked on together, as masks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.predicate import nodes
from hudi_hive.predicate.nodes import ColumnRef, Node

Mask: TypeAlias = npt.NDArray[np.bool_]


class Outcomes(NamedTuple):
    """For each group of rows whether TRUE, FALSE and NULL are possible outcomes; too many are safe."""

    true: Mask
    false: Mask
    null: Mask


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """The range of one column in each of many groups: bounds and nulls.

    Args:
        minimum: lower bounds, of the column's type (or one that its values have the same order in); null = not known.
        maximum: upper bounds, likewise.
        null_count: number of nulls; null = not known.
        row_count: number of rows; null = not known.
        nan_possible: whether NaNs may hide outside the bounds (writers differ in whether bounds cover them).
        exact: whether the bounds are values of the column, not shortened ones.
    """

    minimum: pa.Array
    maximum: pa.Array
    null_count: pa.Array
    row_count: pa.Array
    nan_possible: bool = True
    exact: bool = False


def unknown(count: int) -> Outcomes:
    """Outcomes of which all are possible in every group."""
    yes = np.ones(count, np.bool_)
    return Outcomes(yes, yes, yes)


def possible_outcomes(node: Node, count: int, leaf: Callable[[Node], Outcomes]) -> Outcomes:
    """Combine the outcomes of a tree from those of its leaves.

    Args:
        node: the tree.
        count: number of groups.
        leaf: outcomes of a leaf; :func:`unknown` if it cannot tell.
    """
    if isinstance(node, (nodes.And, nodes.Or)):
        result = possible_outcomes(node.operands[0], count, leaf)
        combine = _and if isinstance(node, nodes.And) else _or
        for operand in node.operands[1:]:
            result = combine(result, possible_outcomes(operand, count, leaf))
        return result
    if isinstance(node, nodes.Not):
        inner = possible_outcomes(node.operand, count, leaf)
        return Outcomes(inner.false, inner.true, inner.null)
    if isinstance(node, nodes.IsTrue):
        inner = possible_outcomes(node.operand, count, leaf)
        hit, miss = (inner.true, inner.false) if node.value else (inner.false, inner.true)
        return Outcomes(hit, miss | inner.null, np.zeros(count, np.bool_))
    if isinstance(node, nodes.Constant):
        return Outcomes(*(np.full(count, node.value is value, np.bool_) for value in (True, False, None)))
    if isinstance(node, nodes.Unknown):
        return unknown(count)
    if isinstance(node, nodes.Opaque) and node.outline is not None:
        known, outlined = leaf(node), possible_outcomes(node.outline, count, leaf)
        return Outcomes(*(one & other for one, other in zip(known, outlined, strict=True)))
    return leaf(node)


def _and(left: Outcomes, right: Outcomes) -> Outcomes:
    null = (left.null & (right.null | right.true)) | (right.null & left.true)
    return Outcomes(left.true & right.true, left.false | right.false, null)


def _or(left: Outcomes, right: Outcomes) -> Outcomes:
    null = (left.null & (right.null | right.false)) | (right.null & left.false)
    return Outcomes(left.true | right.true, left.false & right.false, null)


def outcomes_of_values(result: pa.Array) -> Outcomes:
    """Outcomes of a leaf whose value is known for each group."""
    null = _mask(pc.is_null(result), False)
    true = _mask(result, False)
    return Outcomes(true, ~true & ~null, null)


# -- from ranges ------------------------------------------------------------------------------------------------------


def outcomes_of_ranges(node: Node, count: int, ranges: Mapping[tuple[str, ...], ColumnRange]) -> Outcomes:
    """Outcomes of a tree from the ranges of its columns (column path → range; columns without one are unknown)."""

    def leaf(current: Node) -> Outcomes:
        columns = nodes.own_columns(current)
        of_columns = [ranges.get(column.path) for column in columns]
        if len(columns) != 1 or of_columns[0] is None:
            return unknown(count)
        return _Leaf(columns[0], of_columns[0], count).outcomes(current)

    return possible_outcomes(node, count, leaf)


class _Leaf:
    """Outcomes of the leaves that read one column."""

    def __init__(self, column: ColumnRef, column_range: ColumnRange, count: int) -> None:
        self._column = column
        self._column_range = column_range
        self._count = count
        rows = column_range.row_count.cast(pa.int64())
        self._has_null = ~_mask(pc.equal(column_range.null_count, 0), False)
        self._has_value = ~_mask(pc.equal(column_range.null_count, rows), False)
        self._nan = column_range.nan_possible and bool(pa.types.is_floating(column.type))

    def outcomes(self, node: Node) -> Outcomes:
        if isinstance(node, nodes.IsNull):
            return Outcomes(self._has_null, self._has_value, np.zeros(self._count, np.bool_))
        if isinstance(node, nodes.WhenValid):
            true, false = (self._all(node.value), self._all(not node.value))
        elif isinstance(node, nodes.IsNaN):
            true, false = self._all(self._nan), self._all(True)
        elif isinstance(node, nodes.Comparison):
            true, false = self._comparison(node)
        elif isinstance(node, nodes.In):
            true, false = self._in(node)
            if node.has_null:
                return Outcomes(true & self._has_value, self._all(False), self._all(True))
        elif isinstance(node, nodes.Like):
            true, false = self._like(node), self._all(True)
        else:
            return unknown(self._count)
        return Outcomes(true & self._has_value, false & self._has_value, self._has_null)

    def _all(self, value: bool) -> Mask:
        return np.full(self._count, value, np.bool_)

    def _bounds(self) -> tuple[pa.Array, pa.Array] | None:
        """Bounds in the operand type; None if they do not have it."""
        target = self._column.operand_type
        try:
            return _cast(self._column_range.minimum, target), _cast(self._column_range.maximum, target)
        except pa.ArrowException:
            return None

    def _comparison(self, node: nodes.Comparison) -> tuple[Mask, Mask]:
        bounds = self._bounds()
        if bounds is None:
            return self._all(True), self._all(True)
        minimum, maximum = bounds
        literal, operator = node.literal, node.operator
        if operator in ("!=", ">=", ">"):
            opposite: nodes.Operator = "=" if operator == "!=" else "<" if operator == ">=" else "<="
            true, false = self._comparison(nodes.Comparison(opposite, node.column, literal))
            return false, true
        if operator == "=":
            true = _mask(pc.less_equal(minimum, literal), True) & _mask(pc.greater_equal(maximum, literal), True)
            only = _mask(pc.equal(minimum, literal), False) & _mask(pc.equal(maximum, literal), False)
            return true, ~only | self._nan if self._column_range.exact else self._all(True)
        strict = operator == "<"
        true = _mask((pc.less if strict else pc.less_equal)(minimum, literal), True)
        false = _mask((pc.greater_equal if strict else pc.greater)(maximum, literal), True)
        return true, false | self._nan  # NaN is greater than every literal

    def _in(self, node: nodes.In) -> tuple[Mask, Mask]:
        true = self._all(node.has_nan and self._nan)
        bounds = self._bounds()
        if bounds is None:
            return self._all(True), self._all(True)
        minimum, maximum = bounds
        values = node.values.take(pc.sort_indices(node.values)) if len(node.values) > 1 else node.values
        if len(values) == 0:
            return true, self._all(True)
        if len(values) <= 16:
            for value in values:
                above = _mask(pc.less_equal(minimum, value), True)
                true |= above & _mask(pc.greater_equal(maximum, value), True)
        else:
            true |= _holds_one(values, minimum, maximum)
        return true, self._all(True)

    def _like(self, node: nodes.Like) -> Mask:
        prefix = _literal_prefix(node.pattern)
        bounds = self._bounds()
        if not prefix or node.ignore_case or bounds is None:
            return self._all(True)
        low = pa.scalar(prefix.encode(), pa.binary())
        minimum, maximum = (pc.cast(bound, pa.binary()) for bound in bounds)
        true = _mask(pc.greater_equal(maximum, low), True)
        beyond = _successor(prefix.encode())
        return true & _mask(pc.less(minimum, pa.scalar(beyond, pa.binary())), True) if beyond else true


def _cast(bound: pa.Array, target: pa.DataType) -> pa.Array:
    return bound if bound.type == target else pc.cast(bound, target, safe=False)


def _mask(values: Any, if_null: bool) -> Mask:  # noqa: ANN401 - boolean array or chunked array
    filled = pc.fill_null(values, if_null)
    array = filled.combine_chunks() if isinstance(filled, pa.ChunkedArray) else filled
    result: Mask = array.to_numpy(zero_copy_only=False).astype(np.bool_)
    return result


def _holds_one(values: pa.Array, minimum: pa.Array, maximum: pa.Array) -> Mask:
    """Which ranges may hold one of many sorted values: that from which on values are above the minimum is asked."""
    above = _mask(pc.less_equal(minimum, values[-1]), True)
    envelope = above & _mask(pc.greater_equal(maximum, values[0]), True)
    if values.type != minimum.type:
        return envelope
    # The sort is stable: a minimum comes before values that are equal to it. Those that are null come last.
    order = pc.sort_indices(pa.concat_arrays([minimum, values])).to_numpy()
    is_value = order >= len(minimum)
    first = np.empty(len(order), np.int64)
    first[order] = np.cumsum(is_value)
    places = first[: len(minimum)]
    candidates = values.take(pa.array(np.minimum(places, len(values) - 1)))
    return envelope & (_mask(pc.less_equal(candidates, maximum), True) | _mask(pc.is_null(minimum), False))


def _literal_prefix(pattern: str) -> str:
    """What every text that a LIKE pattern matches begins with."""
    prefix = []
    position = 0
    while position < len(pattern) and pattern[position] not in "%_":
        if pattern[position] == "\\":
            position += 1
        prefix.append(pattern[position : position + 1])
        position += 1
    return "".join(prefix)


def _successor(prefix: bytes) -> bytes | None:
    """The least bytes greater than all that begin with ``prefix``; None if there are none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
