"""Binds the untyped tree of a row filter to a schema: resolves names and types.

Types meet as in Spark: a quoted literal takes the type of the column it is compared with, numbers are compared exactly
unless a floating-point value is among them, then both sides are doubles; a date stands for its midnight, a timestamp
without zone for UTC; a text that is compared with a date counts as its day alone. NaN equals NaN and is greater than
every other number. What has no meaning there is refused by column name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Final

import pyarrow as pa

from hudi_hive.errors import PredicateError, unknown_column
from hudi_hive.options import parse_boolean
from hudi_hive.predicate import literals, nodes, syntax
from hudi_hive.predicate.evaluate import to_expression
from hudi_hive.predicate.functions import called_function
from hudi_hive.predicate.nodes import FLIPPED, ColumnRef, Node, Operator, conjunction, disjunction

_TEXT_MAX: Final = 60


def bind(tree: syntax.Syntax, schema: pa.Schema) -> Node:
    """Bind an untyped tree to a schema.

    Raises:
        UnknownColumnError: a name that the schema does not have.
        PredicateError: an ambiguous name, or types that do not compare.
    """
    return _Binder(schema).condition(tree)


def is_text(arrow: pa.DataType) -> bool:
    """Whether a type holds text."""
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow))


def is_bytes(arrow: pa.DataType) -> bool:
    """Whether a type holds bytes."""
    return bool(
        pa.types.is_binary(arrow)
        or pa.types.is_large_binary(arrow)
        or pa.types.is_fixed_size_binary(arrow)
        or pa.types.is_binary_view(arrow)
    )


class _Binder:
    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    # -- conditions ----------------------------------------------------------------------------------------------

    def condition(self, tree: syntax.Syntax) -> Node:
        if isinstance(tree, syntax.AllOf):
            return conjunction([self.condition(operand) for operand in tree.operands])
        if isinstance(tree, syntax.AnyOf):
            return disjunction([self.condition(operand) for operand in tree.operands])
        if isinstance(tree, syntax.Negation):
            return nodes.Not(self.condition(tree.operand))
        if isinstance(tree, syntax.TruthTest):
            return nodes.IsTrue(self.condition(tree.operand), tree.value)
        if isinstance(tree, syntax.Compare):
            return _with_functions(self._compare(tree.operator, tree.left, tree.right))
        if isinstance(tree, syntax.InList):
            return _with_functions(self._in(tree))
        if isinstance(tree, syntax.NullTest):
            return _with_functions(self._null_test(tree.operand))
        if isinstance(tree, syntax.LikeTest):
            return _with_functions(self._like(tree))
        return self._truth(tree)

    def _truth(self, operand: syntax.Operand) -> Node:
        if isinstance(operand, syntax.Value):
            if operand.value is None or isinstance(operand.value, bool):
                return nodes.Constant(operand.value)
            raise PredicateError(f"row filter: {operand.text} is not a condition")
        if isinstance(operand, syntax.FunctionCall):
            raise PredicateError(f"row filter: {operand.text} is not a condition", remedy="compare it with a literal")
        column = self.column(operand)
        if pa.types.is_null(column.type):
            return nodes.Constant(None)
        if not pa.types.is_boolean(column.type):
            raise PredicateError(f"row filter: column {column.name!r} is {column.type}, not a condition")
        return nodes.Comparison("=", column, pa.scalar(True))

    def _null_test(self, operand: syntax.Operand) -> Node:
        if isinstance(operand, syntax.Value):
            return nodes.Constant(operand.value is None)
        return nodes.IsNull(self.column(operand))

    def _like(self, tree: syntax.LikeTest) -> Node:
        if isinstance(tree.operand, syntax.Value):
            raise PredicateError("row filter: LIKE needs a column on its left")
        column = self.column(tree.operand)
        if not is_text(column.type):
            raise PredicateError(f"row filter: LIKE on column {column.name!r} of type {column.type}; it needs text")
        if tree.pattern.value is None:
            return nodes.Constant(None)
        if not isinstance(tree.pattern.value, str):
            raise PredicateError(f"row filter: LIKE pattern {tree.pattern.text} is not text")
        return nodes.Like(column, _with_backslash(tree.pattern.value, tree.escape), tree.ignore_case)

    def _in(self, tree: syntax.InList) -> Node:
        comparisons = [self._compare("=", tree.operand, self._listed(tree.operand, item)) for item in tree.items]
        return self._fold_in(comparisons)

    def _listed(self, operand: syntax.Operand, item: syntax.Operand) -> syntax.Operand:
        """An item of a list: there a text does not lose its time of day when it is compared with a date."""
        if not (isinstance(operand, syntax.Name) and isinstance(item, syntax.Value) and isinstance(item.value, str)):
            return item
        if not pa.types.is_date(self.column(operand).type):
            return item
        return syntax.Value(literals.parse_timestamp(item.value), item.text)

    def _fold_in(self, comparisons: list[Node]) -> Node:
        """OR of equalities, those with literals of one operand type as one set."""
        column: ColumnRef | None = None
        scalars: list[pa.Scalar] = []
        has_null = has_nan = False
        rest: list[Node] = []
        valid: nodes.WhenValid | None = None
        for node in comparisons:
            if isinstance(node, nodes.Comparison) and (column is None or node.column == column):
                column = node.column
                scalars.append(node.literal)
            elif isinstance(node, nodes.IsNaN) and (column is None or node.column == column):
                column, has_nan = node.column, True
            elif node == nodes.Constant(None):
                has_null = True
            elif isinstance(node, nodes.WhenValid) and not node.value:
                valid = node
            else:
                rest.append(node)
        if column is not None:
            values = _distinct(scalars, column.operand_type)
            rest.insert(0, nodes.In(column, values, has_null, has_nan))
        elif has_null:
            rest.insert(0, nodes.Constant(None))
        if valid is not None:
            rest.append(valid)
        return disjunction(rest)

    # -- comparisons ---------------------------------------------------------------------------------------------

    def _compare(self, operator: syntax.ComparisonOperator, left: syntax.Operand, right: syntax.Operand) -> Node:
        if operator == "<=>":
            return self._null_safe(left, right)
        if isinstance(left, syntax.Value) and isinstance(right, syntax.Value):
            return _compare_values(operator, left, right)
        if isinstance(left, syntax.Value):
            left, right, operator = right, left, FLIPPED[operator]
        assert not isinstance(left, syntax.Value)  # the two other cases are above
        column = self.column(left)
        if not isinstance(right, syntax.Value):
            return _compare_columns(operator, column, self.column(right))
        if right.value is None or pa.types.is_null(column.type):
            return nodes.Constant(None)
        return _compare_literal(operator, column, right)

    def _null_safe(self, left: syntax.Operand, right: syntax.Operand) -> Node:
        """``<=>``: equality that takes NULL for a value, never NULL itself."""
        is_null = [self._null_test(left), self._null_test(right)]
        both_null = conjunction(is_null)
        equal = self._compare("=", left, right)
        return disjunction([both_null, conjunction([nodes.Not(is_null[0]), nodes.Not(is_null[1]), equal])])

    # -- names ---------------------------------------------------------------------------------------------------

    def column(self, name: syntax.Name | syntax.FunctionCall) -> ColumnRef:
        """Resolve a name: struct fields by their path; a top-level column whose own name has the dots counts too."""
        if isinstance(name, syntax.FunctionCall):
            return self._called(name)
        column = self._descend(name.parts)
        if column is None and len(name.parts) > 1:
            column = self._descend((".".join(name.parts),))
        if column is not None:
            return column
        raise unknown_column(name.text, self._schema.names, "row filter: ")

    def _called(self, call: syntax.FunctionCall) -> ColumnRef:
        """A function of a column in the place of a column."""
        function = called_function(call.function, [str(argument.value) for argument in call.arguments])
        if function is None:
            raise PredicateError(
                f"row filter: function {call.function!r} is not supported in {call.text}",
                remedy="compare columns with literals, or give a pyarrow expression",
            )
        column = self.column(call.column)
        derived = ColumnRef.of_function(function, column)
        if derived is None:
            raise PredicateError(
                f"row filter: {call.text} has no meaning for column {column.name!r} of type {_short(column.type)}"
            )
        return derived

    def _descend(self, parts: tuple[str, ...]) -> ColumnRef | None:
        field = _pick(list(self._schema), parts[0])
        path = [field.name] if field is not None else []
        for part in parts[1:]:
            if field is None or not pa.types.is_struct(field.type):
                return None
            field = _pick([field.type.field(i) for i in range(field.type.num_fields)], part)
            if field is not None:
                path.append(field.name)
        if field is None:
            return None
        arrow = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        return ColumnRef(tuple(path), arrow)


def _with_functions(node: Node) -> Node:
    """The test itself, or as an Arrow expression with the test as its outline where it is one of functions."""
    columns = [column for one in nodes.walk(node) for column in nodes.own_columns(one)]
    if all(column.derived is None for column in columns):
        return node
    sources = (column.path[0] if column.derived is None else column.derived.source[0] for column in columns)
    return nodes.Opaque(to_expression(node), tuple(dict.fromkeys(sources)), node)


def _pick(fields: list[pa.Field], name: str) -> pa.Field | None:
    """The field of that exact name, else the only one that differs in case alone (Spark's default)."""
    exact = [field for field in fields if field.name == name]
    matches = exact or [field for field in fields if field.name.lower() == name.lower()]
    if len(matches) > 1:
        raise PredicateError(
            f"row filter: column {name!r} is ambiguous: " + ", ".join(repr(field.name) for field in matches)
        )
    return matches[0] if matches else None


def _with_backslash(pattern: str, escape: str) -> str:
    """The pattern with the backslash as its escape character; refuses an escape of nothing, as Spark does."""
    result = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == escape:
            position += 1
            if position == len(pattern) or pattern[position] not in ("%", "_", escape):
                raise PredicateError(
                    f"row filter: LIKE pattern {pattern!r} escapes nothing that needs it",
                    remedy=f"{escape!r} may stand before '%', '_' and itself",
                )
            character = pattern[position]
            result.append("\\" + character if character in "%_\\" else character)
        else:
            result.append("\\\\" if character == "\\" else character)
        position += 1
    return "".join(result)


def _distinct(scalars: list[pa.Scalar], arrow: pa.DataType) -> pa.Array:
    values = pa.array([scalar.as_py() for scalar in scalars], arrow) if not _is_nanos(arrow) else None
    if values is None:  # nanoseconds do not survive Python datetimes
        values = pa.array([scalar.cast(pa.int64()).as_py() for scalar in scalars], pa.int64()).cast(arrow)
    if pa.types.is_floating(arrow) and 0.0 in values.to_pylist():
        # Membership goes by bits, equality does not: both zeros must be there.
        values = pa.concat_arrays([values, pa.array([0.0, -0.0], arrow)])
    return values.unique()


def _is_nanos(arrow: pa.DataType) -> bool:
    return bool((pa.types.is_timestamp(arrow) or pa.types.is_time(arrow)) and arrow.bit_width == 64)


# -- literal against literal ------------------------------------------------------------------------------------------

_TESTS: Final[dict[str, Callable[[int], bool]]] = {
    "=": lambda order: order == 0,
    "!=": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


def _compare_values(operator: Operator, left: syntax.Value, right: syntax.Value) -> Node:
    if left.value is None or right.value is None:
        return nodes.Constant(None)
    (left_kind, left_key), (right_kind, right_key) = _sort_key(left.value), _sort_key(right.value)
    if left_kind != right_kind:
        raise PredicateError(f"row filter: {left.text} and {right.text} do not compare")
    order = (left_key > right_key) - (left_key < right_key)  # type: ignore[operator]
    return nodes.Constant(_TESTS[operator](order))


def _sort_key(value: object) -> tuple[str, object]:
    """Kind of a literal and a key that sorts it within its kind; NaN is greatest."""
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return "number", (2 if value != value else 1 if value > 0 else -1, Fraction(0))
    if isinstance(value, (int, float, Decimal)):
        return "number", (0, Fraction(value))
    if isinstance(value, (str, bytes)):
        return "text", value.encode() if isinstance(value, str) else value
    return "time", _time_nanos(value)


def _time_nanos(value: object) -> int | None:
    """Nanoseconds of a date (its midnight) or a timestamp literal, None for anything else."""
    if isinstance(value, syntax.Timestamp):
        return value.nanos
    if isinstance(value, datetime):
        return literals.datetime_nanos(value)
    if isinstance(value, date):
        return literals.date_days(value) * literals.DAY_NANOS
    return None


# -- column against literal -------------------------------------------------------------------------------------------


def _compare_literal(operator: Operator, column: ColumnRef, literal: syntax.Value) -> Node:
    arrow, value = column.type, literal.value
    if pa.types.is_boolean(arrow):
        truth = value if isinstance(value, bool) else _parse_bool(value)
        if truth is not None:
            return nodes.Comparison(operator, column, pa.scalar(truth))
    elif pa.types.is_floating(arrow):
        number = _float_of(value, arrow)
        if number is not None:
            return _compare_float(operator, column, number)
    elif pa.types.is_integer(arrow) or pa.types.is_decimal(arrow):
        return _compare_number(operator, column, literal)
    elif is_text(arrow):
        if isinstance(value, str):
            return nodes.Comparison(operator, column, pa.scalar(value, arrow))
    elif is_bytes(arrow):
        data = value.encode() if isinstance(value, str) else value
        if isinstance(data, bytes):
            cast = pa.binary() if pa.types.is_fixed_size_binary(arrow) else None
            return nodes.Comparison(operator, replace(column, cast=cast), pa.scalar(data, cast or arrow))
    elif pa.types.is_date(arrow) or pa.types.is_timestamp(arrow) or pa.types.is_time(arrow):
        nanos = _nanos_for(arrow, value)
        if nanos is not None:
            return literals.compare_on_grid(operator, column, Fraction(nanos))
    else:
        raise PredicateError(
            f"row filter: column {column.name!r} of type {_short(arrow)} cannot be compared",
            remedy="compare its fields, or test it with IS NULL",
        )
    raise _mismatch(column, literal)


def _nanos_for(arrow: pa.DataType, value: object) -> int | None:
    """The nanoseconds that a literal stands for beside a date, timestamp or time of day; None if for none."""
    if pa.types.is_time(arrow):
        if isinstance(value, str):
            return literals.parse_time(value)
        return literals.time_nanos(value) if isinstance(value, time) else None
    if not isinstance(value, str):
        return _time_nanos(value)
    if pa.types.is_date(arrow):
        # A text becomes a date before it is compared, and loses its time of day; a TIMESTAMP literal keeps it.
        return literals.date_days(literals.date_of_text(value)) * literals.DAY_NANOS
    return literals.parse_timestamp(value).nanos


def _mismatch(column: ColumnRef, literal: syntax.Value) -> PredicateError:
    remedy = "quote the literal" if is_text(column.type) and not isinstance(literal.value, str) else None
    return PredicateError(
        f"row filter: column {column.name!r} of type {_short(column.type)} does not compare with {literal.text}",
        remedy=remedy,
    )


def _short(arrow: pa.DataType) -> str:
    text = str(arrow)
    return text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX] + "…"


def _parse_bool(value: object) -> bool | None:
    return parse_boolean(value) if isinstance(value, str) else None


def _compare_number(operator: Operator, column: ColumnRef, literal: syntax.Value) -> Node:
    value = literal.value
    if isinstance(value, str):
        value = literals.parse_number(value)
    if isinstance(value, float):
        return _compare_float(operator, column.compared_as(pa.float64()), value)
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise _mismatch(column, literal)
    return literals.compare_on_grid(operator, column, Fraction(value))


def _float_of(value: object, arrow: pa.DataType) -> float | None:
    """The literal as a double; None if it is no number."""
    try:
        if isinstance(value, bool):
            return None
        if isinstance(value, int) and arrow == pa.float32():
            return float(struct.unpack("f", struct.pack("f", value))[0])  # Spark compares float and int as floats
        if isinstance(value, (int, float, Decimal)):
            return float(value)
        return float(value) if isinstance(value, str) and "_" not in value else None
    except OverflowError:
        return float("-inf") if str(value).startswith("-") else float("inf")
    except ValueError:
        return None


def _compare_float(operator: Operator, column: ColumnRef, value: float) -> Node:
    if column.operand_type != pa.float64():
        column = column.compared_as(pa.float64())
    if value == value:
        return nodes.Comparison(operator, column, pa.scalar(value, pa.float64()))
    nan = nodes.IsNaN(column)
    if pa.types.is_floating(column.type):
        if operator in ("=", ">="):
            return nan
        if operator in ("!=", "<"):
            return nodes.Not(nan)
        return nodes.WhenValid(column, operator == "<=")
    return nodes.WhenValid(column, operator in ("!=", "<", "<="))  # whole and decimal numbers are never NaN


# -- column against column --------------------------------------------------------------------------------------------


def _compare_columns(operator: Operator, left: ColumnRef, right: ColumnRef) -> Node:
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        return nodes.Constant(None)
    common = left.type if left.type == right.type and not pa.types.is_nested(left.type) else None
    common = common or _common_type(left.type, right.type)
    if common is None:
        raise PredicateError(
            f"row filter: columns {left.name!r} ({_short(left.type)}) and {right.name!r} ({_short(right.type)}) "
            "do not compare"
        )
    return nodes.ColumnComparison(operator, _cast(left, common), _cast(right, common))


def _cast(column: ColumnRef, arrow: pa.DataType) -> ColumnRef:
    return column if column.type == arrow else column.compared_as(arrow)


def _common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    if _is_number(left) and _is_number(right):
        if pa.types.is_floating(left) or pa.types.is_floating(right):
            return pa.float64()
        if pa.types.is_integer(left) and pa.types.is_integer(right):
            return pa.int64()
        return _common_decimal(_as_decimal(left), _as_decimal(right))
    if is_text(left) and is_text(right):
        return pa.string()
    if is_bytes(left) and is_bytes(right):
        return pa.binary()
    if _is_day_or_moment(left) and _is_day_or_moment(right):
        zones = [arrow.tz for arrow in (left, right) if pa.types.is_timestamp(arrow)]
        return pa.timestamp("us", "UTC" if any(zones) else None)
    if pa.types.is_time(left) and pa.types.is_time(right):
        return pa.time64("us")
    return None


def _is_number(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_integer(arrow) or pa.types.is_floating(arrow) or pa.types.is_decimal(arrow))


def _is_day_or_moment(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_date(arrow) or pa.types.is_timestamp(arrow))


def _as_decimal(arrow: pa.DataType) -> tuple[int, int]:
    """Precision and scale."""
    return (arrow.precision, arrow.scale) if pa.types.is_decimal(arrow) else (20, 0)


def _common_decimal(left: tuple[int, int], right: tuple[int, int]) -> pa.DataType:
    scale = max(left[1], right[1])
    whole = max(left[0] - left[1], right[0] - right[1])
    precision = min(whole + scale, 76)
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
