"""The typed tree of a row filter.

Leaves are normalised when the filter is bound to a schema, so that whoever walks the tree has few cases: a literal has
the type of its operand, lies in that type's range and is never null or NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.predicate.functions import ColumnFunction, DerivedColumn

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]

FLIPPED: dict[Operator, Operator] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The operator after both sides changed places."""


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column, or a field nested in struct columns.

    ``path`` holds the names from the top level down, as the schema spells them; ``cast`` is the type that the values
    are compared as when it is not their own (a cast that keeps their order). With ``derived`` it is a function of a
    column, whose path is :attr:`DerivedColumn.path`; such references stand in outlines of :class:`Opaque` alone.
    """

    path: tuple[str, ...]
    type: pa.DataType
    cast: pa.DataType | None = None
    derived: DerivedColumn | None = None

    @classmethod
    def of_function(cls, function: ColumnFunction, column: ColumnRef) -> ColumnRef | None:
        """A function of a column; None if the function is not understood for the column's type."""
        result = function.result_type(column.type)
        if result is None:
            return None
        derived = DerivedColumn(function, column.path, column.type)
        return cls(derived.path, result, None, derived)

    def compared_as(self, kind: pa.DataType) -> ColumnRef:
        """The same column, whose values are compared as another type."""
        return replace(self, cast=kind)

    @property
    def operand_type(self) -> pa.DataType:
        """The type that the comparison works in."""
        return self.type if self.cast is None else self.cast

    @property
    def name(self) -> str:
        """Dotted name, for messages; the call of a function."""
        if self.derived is not None:
            return self.derived.function.text(".".join(self.derived.source))
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE or NULL for every row."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class WhenValid:
    """``value`` for rows whose column is not null, NULL for the others: a comparison decided by the type alone."""

    column: ColumnRef
    value: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Column against a literal of the column's operand type."""

    operator: Operator
    column: ColumnRef
    literal: pa.Scalar


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """Column against column, both of one operand type."""

    operator: Operator
    left: ColumnRef
    right: ColumnRef


@dataclass(frozen=True, slots=True, eq=False)
class In:
    """Column in a list of literals of its operand type; ``has_null``: the list also held NULL."""

    column: ColumnRef
    values: pa.Array
    has_null: bool = False
    has_nan: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether the column is null; never NULL itself."""

    column: ColumnRef


@dataclass(frozen=True, slots=True)
class IsNaN:
    """Whether the floating-point column is NaN; NULL for null."""

    column: ColumnRef


@dataclass(frozen=True, slots=True)
class Like:
    """Text column against a LIKE pattern whose escape character is the backslash."""

    column: ColumnRef
    pattern: str
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class IsTrue:
    """Whether the operand is TRUE (``value``) or FALSE (not ``value``); never NULL itself."""

    operand: Node
    value: bool


@dataclass(frozen=True, slots=True)
class Not:
    """Negation; NULL stays NULL."""

    operand: Node


@dataclass(frozen=True, slots=True)
class And:
    """Three-valued conjunction."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Three-valued disjunction."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """An Arrow expression that is evaluated unchanged.

    ``names`` are the top-level columns it reads. ``outline``, if known, is a tree of the same values, with
    :class:`Unknown` in it for parts that have no node of their own; it serves pruning alone.
    """

    expression: pc.Expression
    names: tuple[str, ...]
    outline: Node | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """A condition whose outcome is unknown; occurs in outlines only."""


Node: TypeAlias = (
    Constant
    | WhenValid
    | Comparison
    | ColumnComparison
    | In
    | IsNull
    | IsNaN
    | Like
    | IsTrue
    | Not
    | And
    | Or
    | Opaque
    | Unknown
)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below a node."""
    if isinstance(node, (And, Or)):
        return node.operands
    if isinstance(node, (Not, IsTrue)):
        return (node.operand,)
    return ()


def own_columns(node: Node) -> tuple[ColumnRef, ...]:
    """The columns that a leaf itself reads (none for :class:`Opaque`, see :func:`top_level_names`)."""
    if isinstance(node, ColumnComparison):
        return (node.left, node.right)
    if isinstance(node, (WhenValid, Comparison, In, IsNull, IsNaN, Like)):
        return (node.column,)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """The node and all nodes below it, parents first."""
    todo = [node]
    while todo:
        current = todo.pop()
        yield current
        todo.extend(reversed(children(current)))


def walk_outlines(node: Node) -> Iterator[Node]:
    """As :func:`walk`, and into the outlines of Arrow expressions."""
    for current in walk(node):
        yield current
        if isinstance(current, Opaque) and current.outline is not None:
            yield from walk(current.outline)


def top_level_names(node: Node) -> tuple[str, ...]:
    """Top-level columns that the tree reads, each once, in order of appearance."""
    names: dict[str, None] = {}
    for current in walk(node):
        if isinstance(current, Opaque):
            names.update(dict.fromkeys(current.names))
        for column in own_columns(current):
            names[column.path[0]] = None
    return tuple(names)


def conjunction(nodes: list[Node] | tuple[Node, ...]) -> Node:
    """AND of the nodes, flattened; TRUE of none."""
    flat: list[Node] = []
    for node in nodes:
        flat.extend(node.operands if isinstance(node, And) else (node,))
    if not flat:
        return Constant(True)
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def disjunction(nodes: list[Node] | tuple[Node, ...]) -> Node:
    """OR of the nodes, flattened; FALSE of none."""
    flat: list[Node] = []
    for node in nodes:
        flat.extend(node.operands if isinstance(node, Or) else (node,))
    if not flat:
        return Constant(False)
    return flat[0] if len(flat) == 1 else Or(tuple(flat))
