"""Translates a row filter to the column names and types of one file.

What comes out lets all rows pass that the filter would let pass, and maybe others: it serves to leave out row groups,
whose rows are filtered again once they have the table's types. A condition is turned only where the older type orders
values as the newer one does; where it does not (numbers that became text, say), nullness is all that carries over.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.predicate import (
    And,
    ColumnComparison,
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNaN,
    IsNull,
    IsTrue,
    Like,
    Node,
    Not,
    Opaque,
    Operator,
    Or,
    RowFilter,
    Unknown,
    WhenValid,
    conjunction,
    disjunction,
    own_columns,
    top_level_names,
)
from hudi_hive.read.columns.reconcile import Reconciler, source_field

_NOTHING = Constant(None)


def file_conditions(
    row_filter: RowFilter, schema: pa.Schema, reconciler: Reconciler, *, constant_columns: Collection[str] = ()
) -> list[Node]:
    """The conditions of a filter that can be evaluated on a file, with the file's names and types.

    Args:
        row_filter: bound to the table's columns.
        schema: of the file.
        reconciler: makes the table's columns of the file's.
        constant_columns: columns whose values do not come from the file.

    Raises:
        SchemaError: a column could be any of several in the file.
    """
    turn = _Turn(schema, reconciler)
    conditions = []
    for part in row_filter.conjuncts:
        if any(name in constant_columns for name in part.columns):
            continue
        root = part.root if all(turn.is_plain(name) for name in part.columns) else turn.conjunct(part.root)
        if root is not None:
            conditions.append(root)
    return conditions


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a column stands in a file; ``path`` is None if it does not."""

    path: tuple[str, ...] | None
    type: pa.DataType


class _Turn:
    def __init__(self, schema: pa.Schema, reconciler: Reconciler) -> None:
        self._fields = list(schema)
        self._reconciler = reconciler
        self._sources = reconciler.sources

    def is_plain(self, name: str) -> bool:
        """Whether a top-level column is in the file under its name and with its type."""
        return self._sources[name] == name and self._reconciler.same_values(name)

    def conjunct(self, node: Node) -> Node | None:
        if isinstance(node, Opaque):
            # Arrow expressions cannot be turned, but their outlines can; no row is left out by the expression itself.
            outline = None if node.outline is None else self._node(node.outline, loose=True)
            names = () if outline is None else top_level_names(outline)
            return Opaque(pc.scalar(True), names, outline) if names else outline
        return self._node(node, loose=True)

    def _node(self, node: Node, loose: bool) -> Node | None:
        """The node for the file, None if there is none.

        Args:
            node: of the table.
            loose: more rows than the node's may come to TRUE, as they are filtered again; else it must be the same.
        """
        if isinstance(node, (Constant, Unknown)):
            return node
        if isinstance(node, And):
            inner = [self._node(operand, loose) for operand in node.operands]
            convertible = [one for one in inner if one is not None]
            return conjunction(convertible) if convertible and (loose or len(convertible) == len(inner)) else None
        if isinstance(node, Or):
            inner = [self._node(operand, loose) for operand in node.operands]
            return None if any(one is None for one in inner) else disjunction([one for one in inner if one])
        if isinstance(node, Not):
            operand = self._node(node.operand, loose=False)
            return None if operand is None else Not(operand)
        if isinstance(node, IsTrue):
            operand = self._node(node.operand, loose=False)
            return None if operand is None else IsTrue(operand, node.value)
        return None if isinstance(node, Opaque) else self._leaf(node, loose)

    def _leaf(self, node: Node, loose: bool) -> Node | None:
        columns = own_columns(node)
        if any(column.derived is not None for column in columns):
            return None  # a function's values are in no file
        places = [self._place(column) for column in columns]
        if None in places:
            return None
        if any(place is not None and place.path is None for place in places):
            return Constant(True) if isinstance(node, IsNull) else _NOTHING
        refs = [_carried(column, place) for column, place in zip(columns, places, strict=True)]
        if isinstance(node, ColumnComparison):
            left, right = refs
            return None if left is None or right is None else ColumnComparison(node.operator, left, right)
        return _turned(node, columns[0], refs[0], places[0], loose)

    def _place(self, column: ColumnRef) -> _Place | None:
        """Where a column stands; None if the file's type of a struct on the way is no struct."""
        fields, mapping, names = self._fields, self._reconciler.mapping, list[str]()
        kind = column.type
        for level, name in enumerate(column.path):
            source = source_field(fields, name, mapping, ".".join(column.path[: level + 1]), self._reconciler.path)
            if source is None:
                return _Place(None, column.type)
            names.append(source.name)
            kind, mapping = source.type, mapping.below(name)
            if level + 1 < len(column.path):
                if not pa.types.is_struct(kind):
                    return None
                fields = [kind.field(i) for i in range(kind.num_fields)]
        return _Place(tuple(names), kind)


def _carried(column: ColumnRef, place: _Place | None) -> ColumnRef | None:
    """A reference to the file's column whose operand has the same value; None if the types do not allow that."""
    if place is None or place.path is None:
        return None
    if place.type == column.type:
        return ColumnRef(place.path, place.type, column.cast)
    if not _same_numbers(place.type, column.type):
        return None
    if column.cast is not None and not (pa.types.is_integer(place.type) and pa.types.is_integer(column.type)):
        return None
    return ColumnRef(place.path, place.type, column.operand_type)


def _same_numbers(older: pa.DataType, newer: pa.DataType) -> bool:
    """Whether Arrow's cast does what reading does and keeps the order: not float to double, which goes by text."""
    if pa.types.is_integer(older):
        return bool(pa.types.is_floating(newer) or (pa.types.is_integer(newer) and older.bit_width < newer.bit_width))
    if pa.types.is_decimal(older) and pa.types.is_decimal(newer):
        room = newer.precision - newer.scale >= older.precision - older.scale
        return bool(newer.scale >= older.scale and room)
    return False


def _turned(node: Node, column: ColumnRef, ref: ColumnRef | None, place: _Place | None, loose: bool) -> Node | None:
    """A leaf of one column for the file's column."""
    assert place is not None and place.path is not None
    bare = ColumnRef(place.path, place.type)
    if isinstance(node, IsNull):
        return IsNull(bare)
    if isinstance(node, WhenValid):
        return WhenValid(bare, node.value)
    if isinstance(node, IsNaN):
        if pa.types.is_floating(place.type):
            return IsNaN(bare)
        return WhenValid(bare, False) if ref is not None else None
    if isinstance(node, Comparison):
        if ref is not None:
            exact = _narrowed(pa.array([node.literal.as_py()], ref.operand_type), ref, column)
            literal, ref = (node.literal, ref) if exact is None else (exact[0], bare)
            return Comparison(node.operator, ref, literal)
        return _of_floats(node, column, bare) if loose else None
    if isinstance(node, In):
        if ref is None:
            return None
        exact = _narrowed(node.values, ref, column)
        if exact is None:
            return In(ref, node.values, node.has_null, node.has_nan)
        return In(bare, exact, node.has_null, node.has_nan)
    if isinstance(node, Like):
        return None if ref is None else Like(ref, node.pattern, node.ignore_case)
    return None


def _narrowed(values: pa.Array, ref: ColumnRef, column: ColumnRef) -> pa.Array | None:
    """Literals in the file's own whole-number type, so that nothing need be cast; None where they do not fit it."""
    if column.cast is not None or not (pa.types.is_integer(ref.type) and pa.types.is_integer(ref.operand_type)):
        return None
    if ref.cast is None:
        return None
    try:
        return values.cast(ref.type)
    except pa.ArrowInvalid:
        return None


_LOOSENED: dict[Operator, Operator] = {"=": "=", "<": "<=", "<=": "<=", ">": ">=", ">=": ">="}


def _of_floats(node: Comparison, column: ColumnRef, bare: ColumnRef) -> Node | None:
    """A comparison of doubles that were floats.

    A float is read as the double of its shortest text, which rounds back to it; rounding keeps order, so that what
    holds for the doubles holds for their floats, but for strictness.
    """
    if column.cast is not None or column.type != pa.float64() or bare.type != pa.float32():
        return None
    if node.operator not in _LOOSENED:
        return None
    literal = node.literal.cast(pa.float32(), safe=False)
    if not -3.4e38 < literal.as_py() < 3.4e38:
        return None
    return Comparison(_LOOSENED[node.operator], bare, literal)


def may_pass(of_file: RowFilter) -> bool:
    """Whether any row of a file can pass a translated filter, given the columns that the file lacks."""
    return bool(of_file.groups_that_may_match({}, 1)[0])
