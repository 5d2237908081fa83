"""Binds Arrow expressions as row filters.

Their rows are chosen by Arrow itself, with Arrow's own rules for NaN and null. To prune with them, the expression is
also taken apart, as far as its functions are known, into a tree that comes to the same values; what is not known stands
in it as a leaf of which nothing is known. The parts are read from the form that Arrow pickles expressions in.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import HudiHiveError, PredicateError, UnknownColumnError
from hudi_hive.predicate import nodes, syntax
from hudi_hive.predicate.binding import bind
from hudi_hive.predicate.nodes import Node


def bind_expression(expression: pc.Expression, schema: pa.Schema) -> Node:
    """Bind an Arrow expression to a schema.

    Raises:
        UnknownColumnError: it reads a column that the schema does not have.
        PredicateError: it does not fit the types, or is no condition.
    """
    empty = schema.empty_table()
    _check(expression, empty)
    names = tuple(name for name in dict.fromkeys(schema.names) if not _runs(expression, _without(empty, name)))
    return nodes.Opaque(expression, names, _Outline(schema).of(expression))


def bind_as_sql(expression: pc.Expression, schema: pa.Schema) -> Node:
    """Bind an Arrow expression that an engine made of its own filter (DuckDB, polars), with the engine's semantics.

    Such engines count NaN as the greatest number and a null as in no list, whatever Arrow makes of the expression that
    they put it in. What is known of it stands in nodes of its own, so that each conjunct can serve as one.

    Raises:
        UnknownColumnError, PredicateError: see :func:`bind_expression`.
    """
    _check(expression, schema.empty_table())
    outline = _Outline(schema, sql=True).of(expression)
    if outline is None:
        return bind_expression(expression, schema)
    parts = outline.operands if isinstance(outline, nodes.And) else (outline,)
    translated = [part for part in parts if all(_can_be_evaluated(node) for node in nodes.walk(part))]
    if len(translated) < len(parts):
        translated.append(bind_expression(expression, schema))
    return nodes.conjunction(translated)


def _can_be_evaluated(node: Node) -> bool:
    """Whether a node is known, and of columns alone: functions of columns stand in outlines."""
    return not isinstance(node, nodes.Unknown) and all(column.derived is None for column in nodes.own_columns(node))


def _without(table: pa.Table, name: str) -> pa.Table:
    return table.select([other for other in table.column_names if other != name])


def _runs(expression: pc.Expression, table: pa.Table) -> bool:
    try:
        table.filter(expression)
    except pa.ArrowException:
        return False
    return True


def _check(expression: pc.Expression, empty: pa.Table) -> None:
    try:
        empty.filter(expression)
    except pa.ArrowException as error:
        message = str(error).splitlines()[0]
        if "No match for" in message:
            raise UnknownColumnError(
                f"row filter: {message}", remedy="the columns are " + ", ".join(empty.column_names[:20])
            ) from error
        raise PredicateError(f"row filter: {message}") from error


# -- the outline ------------------------------------------------------------------------------------------------------

_COMPARISONS: Final[dict[str, syntax.ComparisonOperator]] = {
    "equal": "=",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}

_FUNCTIONS: Final = {
    "year": "year",
    "month": "month",
    "day": "day",
    "hour": "hour",
    "abs": "abs",
    "utf8_length": "length",
}
"""Arrow's functions that are functions of a column as ours."""

_MATCH_NULLS: Final = 0
"""Arrow's default for ``is_in``: a null in the list matches a null in the column, anything else is true or false."""


class _UnsupportedExpressionError(Exception):
    """A part of the expression that the outline has no node for."""


@dataclass
class _Call:
    function: str
    arguments: list[Any] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


class _Outline:
    """Takes expressions over one schema apart; with ``sql`` into what SQL means by them (:func:`bind_as_sql`)."""

    def __init__(self, schema: pa.Schema, *, sql: bool = False) -> None:
        self._schema = schema
        self._sql = sql

    def of(self, expression: pc.Expression) -> Node | None:
        """The outline; None if nothing of it is known."""
        try:
            buffer = expression.__reduce__()[1][0]
            reader = pa.ipc.open_file(buffer)
            constants = reader.get_batch(0)
            root = _parse(_metadata(reader.schema), constants)
        except (pa.ArrowException, LookupError, ValueError, TypeError, AttributeError, _UnsupportedExpressionError):
            return None  # another form than the one we know
        return self._node(root)

    def _node(self, part: object) -> Node:
        try:
            return self._converted(part)
        except (_UnsupportedExpressionError, HudiHiveError):
            return nodes.Unknown()

    def _converted(self, part: object) -> Node:
        if isinstance(part, syntax.Name):
            return bind(part, self._schema)
        if not isinstance(part, _Call):
            raise _UnsupportedExpressionError
        arguments = part.arguments
        if part.function == "and_kleene":
            return nodes.conjunction([self._node(argument) for argument in arguments])
        if part.function == "or_kleene":
            return nodes.disjunction([self._node(argument) for argument in arguments])
        if part.function == "invert":
            return nodes.Not(self._node(arguments[0]))
        if part.function == "is_valid":
            return nodes.Not(self._bound(syntax.NullTest(_name(arguments[0]))))
        if part.function == "is_null" and not part.options.get("nan_is_null"):
            return self._bound(syntax.NullTest(_name(arguments[0])))
        if part.function == "is_nan" and self._sql:
            return nodes.IsNaN(nodes.own_columns(self._bound(syntax.NullTest(_name(arguments[0]))))[0])
        if part.function == "if_else":
            return self._if_valid(*arguments)
        if part.function == "is_in" and part.options.get("null_matching_behavior") == _MATCH_NULLS:
            return self._is_in(_name(arguments[0]), part.options["value_set"])
        if part.function in _COMPARISONS:
            return self._bound(
                syntax.Compare(_COMPARISONS[part.function], _operand(arguments[0]), _operand(arguments[1]))
            )
        raise _UnsupportedExpressionError

    def _is_in(self, name: syntax.Name, values: list[Any]) -> Node:
        null = self._bound(syntax.NullTest(name))
        items = tuple(syntax.Value(value, repr(value)) for value in values if value is not None)
        membership = self._bound(syntax.InList(name, items)) if items else nodes.Constant(False)
        if self._sql and None not in values:
            return membership
        if None in values:
            return nodes.disjunction([null, membership])
        return nodes.conjunction([nodes.Not(null), membership])

    def _if_valid(self, condition: object, then: object, when_null: object) -> Node:
        """``if_else(is_valid(x), is_in(x, …), null)``: how DuckDB writes ``x IN (…)``."""
        if not (isinstance(condition, _Call) and isinstance(then, _Call) and isinstance(when_null, syntax.Value)):
            raise _UnsupportedExpressionError
        name, values = _name(then.arguments[0]), then.options.get("value_set")
        if (
            (condition.function, then.function) != ("is_valid", "is_in")
            or _name(condition.arguments[0]).parts != name.parts
            or when_null.value is not None
            or not values
            or None in values
        ):
            raise _UnsupportedExpressionError
        return self._bound(syntax.InList(name, tuple(syntax.Value(value, repr(value)) for value in values)))

    def _bound(self, tree: syntax.Syntax) -> Node:
        """A test bound to the schema, if Arrow means the same by it.

        It does not for floating point, whose NaN compares otherwise.
        """
        node = bind(tree, self._schema)
        if isinstance(node, nodes.Opaque):  # one of functions
            if node.outline is None:
                raise _UnsupportedExpressionError
            node = node.outline
        if self._sql:
            return node
        for current in nodes.walk(node):
            if not isinstance(current, nodes.IsNull) and any(
                pa.types.is_floating(column.operand_type) for column in nodes.own_columns(current)
            ):
                raise _UnsupportedExpressionError
        return node


def _name(argument: object) -> syntax.Name:
    if isinstance(argument, syntax.Name):
        return argument
    raise _UnsupportedExpressionError


def _operand(argument: object) -> syntax.Operand:
    if isinstance(argument, (syntax.Name, syntax.Value)):
        return argument
    if isinstance(argument, _Call) and argument.function in _FUNCTIONS and len(argument.arguments) == 1:
        name = _name(argument.arguments[0])
        return syntax.FunctionCall(_FUNCTIONS[argument.function], name, (), f"{argument.function}({name.text})")
    raise _UnsupportedExpressionError


def _parse(pieces: list[tuple[str, str]], constants: pa.RecordBatch) -> object:
    """The expression from the flat list of its pieces: ``call``, its arguments, ``options``, ``end``."""
    open_calls: list[_Call] = [_Call("")]
    index = 0
    while index < len(pieces):
        key, value = pieces[index]
        index += 1
        if key == "call":
            call = _Call(value)
            open_calls[-1].arguments.append(call)
            open_calls.append(call)
        elif key == "end":
            open_calls.pop()
        elif key == "options":
            open_calls[-1].options = constants.column(int(value))[0].as_py()
        elif key == "literal":
            literal = constants.column(int(value))[0].as_py()
            open_calls[-1].arguments.append(syntax.Value(literal, repr(literal)))
        elif key in ("field_ref", "nested_field_ref"):
            length = int(value) if key == "nested_field_ref" else 0
            parts = [value] if not length else [name for _, name in pieces[index : index + length]]
            index += length
            open_calls[-1].arguments.append(syntax.Name(tuple(parts), ".".join(parts)))
        else:
            raise _UnsupportedExpressionError
    (root,) = open_calls[0].arguments
    return root


class _CSchema(ctypes.Structure):
    """The beginning of Arrow's C data interface structure of a schema."""

    _fields_ = (("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p))


def _metadata(schema: pa.Schema) -> list[tuple[str, str]]:
    """Key-value metadata in order and with keys that occur several times, which ``schema.metadata`` does not keep.

    Format of the C data interface: number of pairs, then length and bytes of each key and value, as native int32.
    """
    capsule = schema.__arrow_c_schema__()
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = ctypes.cast(get_pointer(capsule, b"arrow_schema"), ctypes.POINTER(_CSchema)).contents.metadata
    if not address:
        raise _UnsupportedExpressionError
    position = address

    def take_int() -> int:
        nonlocal position
        position += 4
        return int(ctypes.c_int32.from_address(position - 4).value)

    def take_text() -> str:
        nonlocal position
        length = take_int()
        position += length
        return ctypes.string_at(position - length, length).decode()

    pairs = [(take_text(), take_text()) for _ in range(take_int())]
    del capsule  # owns the memory read above
    return pairs
