"""Turns Hive's conditions into row filters that serve pruning: nothing is left out that Hive may want.

A filter made here is TRUE or unknown for every row for which the condition is TRUE in Hive, and often for no other. To
know that of a negation, it is carried down to the comparisons first; there each may come to more rows than Hive's:

* ``-0.0`` and ``0.0`` are one number or two, as Hive evaluates rows one by one or in batches;
* values of ``char`` end with any number of blanks, those of ``varchar`` may be longer in a file than in Hive;
* casts are followed where they keep values and order; behind all others nothing is known.

Source: docs/format/hive.md#filters-in-a-job.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final

import pyarrow as pa

from hudi_hive.errors import PredicateError, QueryError
from hudi_hive.input_format.filters.expressions import Call, Expression, HiveColumn, Literal
from hudi_hive.input_format.filters.folding import folded
from hudi_hive.input_format.filters.operands import (
    Operand,
    exact_value,
    fits,
    keeps_order,
    literal_value,
    loose_bounds,
    own_kind,
)
from hudi_hive.predicate import (
    Compare,
    ComparisonOperator,
    Constant,
    InList,
    Name,
    Node,
    Not,
    NullTest,
    Unknown,
    Value,
    bind,
    conjunction,
    disjunction,
)

_COMPARISONS: Final[dict[str, ComparisonOperator]] = {
    "GenericUDFOPEqual": "=",
    "GenericUDFOPNotEqual": "!=",
    "GenericUDFOPLessThan": "<",
    "GenericUDFOPEqualOrLessThan": "<=",
    "GenericUDFOPGreaterThan": ">",
    "GenericUDFOPEqualOrGreaterThan": ">=",
}
_FLIPPED: Final[dict[ComparisonOperator, ComparisonOperator]] = {
    "=": "=",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
_NEGATED: Final[dict[ComparisonOperator, ComparisonOperator]] = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
}
_TRUTHS: Final = {
    "GenericUDFOPTrue": (True, False),
    "GenericUDFOPFalse": (False, False),
    "GenericUDFOPNotTrue": (True, True),
    "GenericUDFOPNotFalse": (False, True),
}
"""Tests of a truth value: which one, and whether for all others."""

_CAST_TYPES: Final = {
    "UDFToByte": "tinyint",
    "UDFToShort": "smallint",
    "UDFToInteger": "int",
    "UDFToLong": "bigint",
    "UDFToFloat": "float",
    "UDFToDouble": "double",
    "GenericUDFToDecimal": "decimal",
    "GenericUDFToTimestamp": "timestamp",
    "GenericUDFTimestamp": "timestamp",
    "GenericUDFToDate": "date",
    "GenericUDFToVarchar": "varchar",
    "GenericUDFToChar": "char",
}
_UNKNOWN: Final = Unknown()


class Translator:
    """Translates conditions for one schema.

    Args:
        schema: what is filtered: files, or the partitions of paths.
        types: Hive's types of columns by name in lower case, for conditions that do not tell them.
        hidden: columns, in lower case, of which nothing is known here.
        never_null_test: columns, in lower case, whose nulls in Hive are not those here.
        in_utc: as of :class:`~hudi_hive.input_format.filters.operands.Operand`.
    """

    def __init__(
        self,
        schema: pa.Schema,
        types: Mapping[str, str] | None = None,
        *,
        hidden: frozenset[str] = frozenset(),
        never_null_test: frozenset[str] = frozenset(),
        in_utc: bool = True,
    ) -> None:
        self._schema = schema
        self._types = types or {}
        self._hidden = hidden
        self._never_null_test = never_null_test
        self._in_utc = in_utc

    def node(self, tree: Expression) -> Node:
        """The condition for the schema; :class:`Unknown` where nothing is known."""
        return self._condition(tree, negated=False)

    # -- conditions --------------------------------------------------------------------------------------------------

    def _condition(self, tree: Expression, *, negated: bool) -> Node:
        try:
            return self._converted(tree, negated)
        except (QueryError, ValueError, OverflowError, ArithmeticError, pa.ArrowException):
            return _UNKNOWN

    def _converted(self, tree: Expression, negated: bool) -> Node:
        if isinstance(tree, Literal):
            if tree.value is None:
                return Constant(None)
            return Constant(tree.value is not negated) if isinstance(tree.value, bool) else _UNKNOWN
        if isinstance(tree, HiveColumn):
            return self._truth(tree, negated)
        if not isinstance(tree, Call):
            return _UNKNOWN
        shape = tree.function, len(tree.arguments)
        if tree.function in ("GenericUDFOPAnd", "GenericUDFOPOr") and tree.arguments:
            parts = [self._condition(argument, negated=negated) for argument in tree.arguments]
            return conjunction(parts) if (tree.function == "GenericUDFOPAnd") is not negated else disjunction(parts)
        if shape == ("GenericUDFOPNot", 1):
            return self._condition(tree.arguments[0], negated=not negated)
        if shape == ("GenericUDFBetween", 4):
            return self._between(tree.arguments, negated)
        if tree.function == "GenericUDFIn" and len(tree.arguments) > 1:
            return self._in(tree.arguments, negated)
        return self._test(shape, tree.arguments, negated)

    def _test(self, shape: tuple[str, int], arguments: tuple[Expression, ...], negated: bool) -> Node:
        """Tests of one operand, and comparisons of two."""
        function, count = shape
        if function in ("GenericUDFOPNull", "GenericUDFOPNotNull") and count == 1:
            return self._null_test(arguments[0], (function == "GenericUDFOPNull") is not negated)
        if function in _TRUTHS and count == 1:
            return self._truth_test(function, arguments[0], negated)
        if function in _COMPARISONS and count == 2:
            operator = _COMPARISONS[function]
            return self._comparison(_NEGATED[operator] if negated else operator, arguments[0], arguments[1])
        if function in ("GenericUDFOPEqualNS", "GenericUDFOPNotEqualNS") and count == 2:
            return self._null_safe(arguments[0], arguments[1], (function == "GenericUDFOPEqualNS") is not negated)
        return _UNKNOWN

    def _truth(self, column: HiveColumn, negated: bool) -> Node:
        operand = self._operand(column)
        if operand.kind != "boolean" or not pa.types.is_boolean(operand.arrow):
            return _UNKNOWN
        return self._bound(Compare("=", operand.name, Value(not negated, "TRUE")))

    def _truth_test(self, function: str, operand: Expression, negated: bool) -> Node:
        value, others = _TRUTHS[function]
        if others is not negated:  # the other truth value, or neither
            return disjunction([self._condition(operand, negated=value), self._may_be_null(operand)])
        return self._condition(operand, negated=not value)

    def _may_be_null(self, operand: Expression) -> Node:
        return self._null_test(operand, True) if isinstance(operand, HiveColumn) else _UNKNOWN

    def _null_test(self, tested: Expression, is_null: bool) -> Node:
        if isinstance(tested, Literal):
            return Constant((tested.value is None) is is_null)
        if is_null and not isinstance(tested, HiveColumn):
            return _UNKNOWN  # a cast may make nulls
        operand = self._operand(tested)
        if operand.name.parts[0].lower() in self._never_null_test or (is_null and operand.was_cast):
            return _UNKNOWN
        test = self._bound(NullTest(operand.name))
        return test if is_null else Not(test)

    def _comparison(self, operator: ComparisonOperator, left: Expression, right: Expression) -> Node:
        left, right = folded(left), folded(right)
        if isinstance(left, Literal) and not isinstance(right, Literal):
            left, right, operator = right, left, _FLIPPED[operator]
        if isinstance(left, Literal) or not isinstance(right, Literal):
            return _UNKNOWN
        if right.value is None:
            return Constant(None)
        return self._compared(operator, self._operand(left), right)

    def _null_safe(self, left: Expression, right: Expression, equal: bool) -> Node:
        left, right = folded(left), folded(right)
        if isinstance(left, Literal):
            left, right = right, left
        if isinstance(left, Literal) or not isinstance(right, Literal):
            return _UNKNOWN
        if right.value is None:
            return self._null_test(left, equal)
        if equal:
            return self._comparison("=", left, right)
        return disjunction([self._null_test(left, True), self._comparison("!=", left, right)])

    def _between(self, arguments: tuple[Expression, ...], negated: bool) -> Node:
        inverted = arguments[0]
        if not isinstance(inverted, Literal) or not isinstance(inverted.value, bool):
            return _UNKNOWN
        lower: tuple[ComparisonOperator, ComparisonOperator] = (">=", "<=")
        if inverted.value is negated:
            return conjunction([self._part(op, arguments[1], b) for op, b in zip(lower, arguments[2:], strict=True)])
        bounds = zip(("<", ">"), arguments[2:], strict=True)
        return disjunction([self._part(operator, arguments[1], bound) for operator, bound in bounds])  # type: ignore[arg-type]

    def _part(self, operator: ComparisonOperator, left: Expression, right: Expression) -> Node:
        try:
            return self._comparison(operator, left, right)
        except (QueryError, ValueError, OverflowError, ArithmeticError, pa.ArrowException):
            return _UNKNOWN

    def _in(self, arguments: tuple[Expression, ...], negated: bool) -> Node:
        literals = [argument for argument in map(folded, arguments[1:]) if isinstance(argument, Literal)]
        if len(literals) < len(arguments) - 1 or isinstance(arguments[0], Literal):
            return _UNKNOWN
        operand = self._operand(arguments[0])
        values = [literal for literal in literals if literal.value is not None]
        exact = [exact_value(operand, literal) for literal in values]
        if all(value is not None for value in exact):
            items = [value for value in exact if value is not None]
            if len(values) < len(literals):
                items.append(Value(None, "NULL"))
            test = self._bound(InList(operand.name, tuple(items)))
            return Not(test) if negated else test
        if negated:
            if len(values) < len(literals):
                return Constant(None)
            return conjunction([self._compared("!=", operand, literal) for literal in values])
        return disjunction([self._compared("=", operand, literal) for literal in values])

    # -- operands ----------------------------------------------------------------------------------------------------

    def _operand(self, tree: Expression) -> Operand:
        """A column, or casts of one that keep values and order.

        Raises:
            PredicateError: anything else, or a column that the schema does not have as Hive has it.
        """
        if isinstance(tree, HiveColumn):
            return self._column(tree)
        if isinstance(tree, Call) and len(tree.arguments) == 1 and tree.function in _CAST_TYPES:
            target = tree.type or _CAST_TYPES[tree.function]
            inner = self._operand(tree.arguments[0])
            if keeps_order(inner.kind, target):
                return replace(inner, kind=target, was_cast=True)
        raise PredicateError("an operand of which nothing is known")

    def _column(self, column: HiveColumn) -> Operand:
        fields, path, arrow = list(self._schema), list[str](), None
        if column.path[0].lower() in self._hidden:
            raise PredicateError("a column of which nothing is known here")
        for part in column.path:
            same = [field for field in fields if field.name.lower() == part.lower()]
            if len(same) != 1:
                raise PredicateError(f"no column {part!r}, or several")
            path.append(same[0].name)
            arrow = same[0].type
            fields = [arrow.field(i) for i in range(arrow.num_fields)] if pa.types.is_struct(arrow) else []
        assert arrow is not None
        kind = column.type or (self._types.get(column.path[0].lower()) if len(column.path) == 1 else None)
        kind = kind or own_kind(arrow)
        name, _, rest = kind.partition("(")
        if not fits(kind if name == "decimal" else name, arrow):
            raise PredicateError(f"Hive knows {column.path} as {kind}, Hudi as {arrow}")
        if name == "decimal":
            return Operand(Name(tuple(path), ".".join(path)), arrow, kind)
        length = int(rest.rstrip(")")) if rest.rstrip(")").isdigit() else None
        return Operand(Name(tuple(path), ".".join(path)), arrow, name, length, in_utc=self._in_utc)

    def _compared(self, operator: ComparisonOperator, operand: Operand, literal: Literal) -> Node:
        """A comparison that is TRUE for all rows for which Hive's is."""
        exact = exact_value(operand, literal)
        if exact is None and isinstance(literal.value, (int, float, Decimal)) and literal.value == 0:
            # The two zeros may be different numbers; the literal tells on which side the other one is.
            is_exact = ("=", "<=", ">=", ">" if math.copysign(1, literal.value) > 0 else "<")
            exact = literal_value(0.0) if operator in is_exact else None
        if exact is not None:
            return self._bound(Compare(operator, operand.name, exact))
        loose = loose_bounds(operand, literal)
        if operator == "!=":
            return Not(self._bound(NullTest(operand.name)))
        parts: list[Node] = []
        if operator in ("=", ">", ">="):
            parts.append(self._bound(Compare(">=", operand.name, loose.low)))
        if operator in ("=", "<=") and loose.high is not None:
            parts.append(self._bound(Compare(loose.below_high, operand.name, loose.high)))
        if operator == "<":
            parts.append(self._bound(Compare(loose.below_limit, operand.name, loose.limit)))
        return conjunction(parts)

    def _bound(self, tree: Compare | InList | NullTest) -> Node:
        return bind(tree, self._schema)
