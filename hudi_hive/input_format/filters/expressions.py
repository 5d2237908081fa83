"""Conditions as Hive writes them, as trees of calls, columns and literals.

Two forms are read: the expression of ``hive.io.filter.expr.serialized`` and the search argument of ``sarg.pushdown``.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from hudi_hive.errors import PredicateError
from hudi_hive.input_format.filters.kryo import (
    KryoEnum,
    KryoObject,
    LocalDate,
    LocalDateTime,
    SqlDate,
    SqlTimestamp,
    decode,
)
from hudi_hive.input_format.filters.layouts import releases

_MOST_TEXT: Final = 8 << 20
_MOST_NODES: Final = 200_000
_MOST_DEPTH: Final = 60

_PLAN: Final = "org.apache.hadoop.hive.ql.plan."
_UDF: Final = "org.apache.hadoop.hive.ql.udf."
_SARG: Final = "org.apache.hadoop.hive.ql.io.sarg."
_DAY: Final = 86_400_000
_HALF_DAYS: Final = (10 * 3_600_000, 12 * 3_600_000)
_GREGORIAN_MILLIS: Final = -12_219_292_800_000
"""Before 1582-10-15 Java's calendar is another one."""


@dataclass(frozen=True, slots=True)
class DateBetween:
    """A date of which only bounds are known: old releases write midnight in the writer's own time zone."""

    low: date
    high: date


@dataclass(frozen=True, slots=True)
class WallClock:
    """A timestamp without zone: nanoseconds since 1970-01-01 00:00 on the same clock."""

    nanos: int


HiveValue: TypeAlias = bool | int | float | Decimal | str | bytes | date | DateBetween | WallClock | None


@dataclass(frozen=True, slots=True)
class HiveColumn:
    """A column, or a field of a struct column.

    Attributes:
        path: names from the top level down.
        type: Hive's type, in lower case without blanks; None if it is not told.
        is_partition: whether Hive takes its value from the partition; None if it is not told.
    """

    path: tuple[str, ...]
    type: str | None = None
    is_partition: bool | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; ``type`` as in :class:`Column`."""

    value: HiveValue
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A function of arguments: the simple name of Hive's class, and the type of what it gives."""

    function: str
    arguments: tuple[Expression, ...]
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Other:
    """Something of which nothing is known."""


Expression: TypeAlias = HiveColumn | Literal | Call | Other


class Reading(NamedTuple):
    """What was read.

    Attributes:
        condition: the condition.
        in_utc: the release that wrote it has timestamps without zone; early ones have instants, and texts that stand
            for them are of the writer's own time zone, which is not told.
    """

    condition: Expression
    in_utc: bool


def read_expression(text: str) -> Reading:
    """The expression of ``hive.io.filter.expr.serialized``.

    The bytes do not say which release wrote them: the layouts of all are tried. Where several fit, they must agree.

    Raises:
        PredicateError: no release that is known writes such bytes.
    """
    return _read(text, f"{_PLAN}ExprNodeGenericFuncDesc", lambda root: _Expressions().of(root))


def read_search_argument(text: str) -> Reading:
    """The condition of ``sarg.pushdown``; arguments and errors as for :func:`read_expression`."""
    return _read(text, f"{_SARG}SearchArgumentImpl", lambda root: _SearchArgument(root).condition())


def _read(text: str, class_name: str, convert: Callable[[KryoObject], Expression]) -> Reading:
    if len(text) > _MOST_TEXT:
        raise PredicateError(f"a filter of {len(text):,} characters; at most {_MOST_TEXT:,} are read")
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise PredicateError("a serialised filter that is not Base64") from error
    results: dict[str, Expression] = {}
    errors: list[str] = []
    for layouts in releases():
        try:
            results[layouts.release] = convert(decode(data, class_name, layouts))
        except PredicateError as error:
            errors.append(f"Hive {layouts.release}: {error.message}")
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            errors.append(f"Hive {layouts.release}: a part is not what it should be ({type(error).__name__})")
    conditions = list(results.values())
    if not conditions or len({repr(one) for one in conditions}) > 1:  # as texts, in which NaN equals itself
        raise PredicateError("no release wrote such bytes" if errors else "releases differ", remedy="; ".join(errors))
    return Reading(conditions[0], not any(release.startswith("2.") for release in results))


class _Budget:
    """Bounds what shared parts of a tree come to when they are written out."""

    def __init__(self) -> None:
        self._nodes = 0
        self._depth = 0

    def enter(self) -> None:
        self._nodes += 1
        self._depth += 1
        if self._nodes > _MOST_NODES or self._depth > _MOST_DEPTH:
            raise PredicateError("a filter of too many parts")

    def leave(self) -> None:
        self._depth -= 1


class _Expressions:
    """Makes the tree of the objects of an expression."""

    def __init__(self) -> None:
        self._budget = _Budget()

    def of(self, node: object) -> Expression:
        self._budget.enter()
        result: Expression = Other()
        if isinstance(node, KryoObject):
            make = {
                f"{_PLAN}ExprNodeGenericFuncDesc": self._call,
                f"{_PLAN}ExprNodeColumnDesc": self._column,
                f"{_PLAN}ExprNodeConstantDesc": self._literal,
                f"{_PLAN}ExprNodeFieldDesc": self._field,
            }.get(node.class_name)
            result = result if make is None else make(node)
        elif node is None:
            raise PredicateError("an operand that is not there")
        self._budget.leave()
        return result

    def _call(self, node: KryoObject) -> Expression:
        # The field's name is misspelt up to Hive 3.
        function, children = node.fields["genericUDF"], node.fields.get("children", node.fields.get("chidren"))
        if not isinstance(function, KryoObject) or not isinstance(children, list):
            raise PredicateError("a function without a class or arguments")
        name = function.class_name
        if not name.startswith(_UDF):
            return Other()
        simple = name.rpartition(".")[2]
        if simple == "GenericUDFBridge":
            inner = function.fields["udfClassName"]
            if not isinstance(inner, str) or not inner.startswith(_UDF):
                return Other()
            simple = inner.rpartition(".")[2]
        return Call(simple, tuple(self.of(child) for child in children), _type_name(node.fields["typeInfo"]))

    def _column(self, node: KryoObject) -> Expression:
        name = node.fields["column"]
        if not isinstance(name, str):
            raise PredicateError("a column without a name")
        is_partition = bool(node.fields["isPartitionColOrVirtualCol"])
        return HiveColumn((name,), _type_name(node.fields["typeInfo"]), is_partition)

    def _field(self, node: KryoObject) -> Expression:
        inner, name = self.of(node.fields["desc"]), node.fields["fieldName"]
        if not isinstance(inner, HiveColumn) or not isinstance(name, str) or node.fields["isList"] is not False:
            return Other()
        return HiveColumn((*inner.path, name), _type_name(node.fields["typeInfo"]), inner.is_partition)

    def _literal(self, node: KryoObject) -> Expression:
        kind = _type_name(node.fields["typeInfo"])
        try:
            return Literal(_plain(node.fields["value"]), kind)
        except PredicateError:
            return Other()


def _type_name(info: object) -> str | None:
    """Hive's name of a type; None for one that is not primitive."""
    if not isinstance(info, KryoObject):
        return None
    name = info.fields.get("typeName")
    if not isinstance(name, str):
        return None
    if "length" in info.fields:
        return f"{name.partition('(')[0]}({info.fields['length']})".lower()
    if "precision" in info.fields:
        return f"decimal({info.fields['precision']},{info.fields['scale']})"
    return name.lower().replace(" ", "")


# -- values -----------------------------------------------------------------------------------------------------------


def _plain(value: object) -> HiveValue:
    """The value of a constant.

    Raises:
        PredicateError: of a class that stands for none.
    """
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, SqlDate):
        return _date_of_midnight(value.millis)
    if isinstance(value, SqlTimestamp):
        return WallClock(value.nanos)
    if isinstance(value, KryoObject):
        make = _PLAIN.get(value.class_name.rpartition(".")[2])
        if make is not None:
            return make(value.fields)
    raise PredicateError("a constant of a class that is not decoded")


def _date_of_midnight(millis: int) -> HiveValue:
    """The date whose midnight in some time zone an instant is."""
    if not _GREGORIAN_MILLIS + 2 * _DAY < millis < 253_402_000_000_000:
        raise PredicateError("a date of another calendar")
    days, rest = divmod(millis, _DAY)
    here = date.fromordinal(date(1970, 1, 1).toordinal() + days)
    after = date.fromordinal(here.toordinal() + 1)
    if rest == 0:
        return here
    # West of Greenwich midnight comes later, by twelve hours at most, east of it earlier, by fourteen at most.
    if rest < _HALF_DAYS[0]:
        return here
    return after if rest > _HALF_DAYS[1] else DateBetween(here, after)


def _decimal(fields: dict[str, Any]) -> HiveValue:
    """``HiveDecimal``: three words of sixteen digits each."""
    words = [fields[name] for name in ("fast2", "fast1", "fast0")]
    if any(not 0 <= word < 10**16 for word in words) or not 0 <= fields["fastScale"] <= 38:
        raise PredicateError("a decimal of other digits")
    digits = (words[0] * 10**16 + words[1]) * 10**16 + words[2]
    return Decimal((int(fields["fastSignum"] < 0), tuple(map(int, str(digits))), -fields["fastScale"]))


def _date(fields: dict[str, Any]) -> HiveValue:
    inner = fields["localDate"]
    return _local_date(inner)


def _local_date(value: object) -> date:
    if isinstance(value, LocalDate):
        value = KryoObject("", {"year": value.year, "month": value.month, "day": value.day})
    if not isinstance(value, KryoObject):
        raise PredicateError("a date without a value")
    try:
        return date(value.fields["year"], value.fields["month"], value.fields["day"])
    except (ValueError, OverflowError) as error:
        raise PredicateError("a date beyond the years 1 to 9999") from error


def _timestamp(fields: dict[str, Any]) -> HiveValue:
    moment = fields["localDateTime"]
    if isinstance(moment, LocalDateTime):
        day, parts = _local_date(moment.date), moment.time
    else:
        if not isinstance(moment, KryoObject) or not isinstance(moment.fields["time"], KryoObject):
            raise PredicateError("a timestamp without a value")
        time = moment.fields["time"].fields
        day, parts = _local_date(moment.fields["date"]), (time["hour"], time["minute"], time["second"], time["nano"])
    hour, minute, second, nano = parts
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60 and 0 <= nano < 10**9):
        raise PredicateError("a time of day that is none")
    days = day.toordinal() - date(1970, 1, 1).toordinal()
    return WallClock((((days * 24 + hour) * 60 + minute) * 60 + second) * 10**9 + nano)


def _text(fields: dict[str, Any]) -> HiveValue:
    value = fields["value"]
    if not isinstance(value, str):
        raise PredicateError("a text without a value")
    return value


_PLAIN: Final[dict[str, Callable[[dict[str, Any]], HiveValue]]] = {
    "HiveDecimal": _decimal,
    "HiveDecimalWritable": _decimal,
    "HiveChar": _text,
    "HiveVarchar": _text,
    "Date": _date,
    "Timestamp": _timestamp,
}


# -- search arguments -------------------------------------------------------------------------------------------------

_LEAVES: Final = {
    "EQUALS": "GenericUDFOPEqual",
    "NULL_SAFE_EQUALS": "GenericUDFOPEqualNS",
    "LESS_THAN": "GenericUDFOPLessThan",
    "LESS_THAN_EQUALS": "GenericUDFOPEqualOrLessThan",
    "IN": "GenericUDFIn",
    "BETWEEN": "GenericUDFBetween",
    "IS_NULL": "GenericUDFOPNull",
}
_NODES: Final = {"AND": "GenericUDFOPAnd", "OR": "GenericUDFOPOr", "NOT": "GenericUDFOPNot"}
_SARG_TYPES: Final = {
    "LONG": "bigint",
    "FLOAT": "double",
    "STRING": "string",
    "DATE": "date",
    "DECIMAL": "decimal",
    "BOOLEAN": "boolean",
}


class _SearchArgument:
    """Makes the tree of a search argument; where a part is not known it comes to true or unknown there."""

    def __init__(self, root: KryoObject) -> None:
        self._budget = _Budget()
        self._root = root
        self._leaves = root.fields["leaves"]

    def condition(self) -> Expression:
        fields = self._root.fields
        return self._node(fields.get("normalizedExpression", fields.get("expression")))

    def _node(self, node: object) -> Expression:
        if not isinstance(node, KryoObject) or not isinstance(node.fields["operator"], KryoEnum):
            raise PredicateError("a search argument without an operator")
        self._budget.enter()
        operator, children = node.fields["operator"].name, node.fields["children"]
        result: Expression = Other()
        if operator in _NODES:
            if not isinstance(children, list) or not children:
                raise PredicateError("an operator of search arguments without operands")
            result = Call(_NODES[operator], tuple(self._node(child) for child in children), "boolean")
        elif operator == "CONSTANT":
            constant = node.fields["constant"]
            values: dict[str, HiveValue] = {"YES": True, "NO": False, "NULL": None}
            if isinstance(constant, KryoEnum) and constant.name in values:
                result = Literal(values[constant.name], "boolean")
        elif operator == "LEAF":
            result = self._leaf(self._leaf_of(node.fields["leaf"]))
        self._budget.leave()
        return result

    def _leaf_of(self, leaf: object) -> KryoObject:
        if isinstance(leaf, int) and isinstance(self._leaves, list) and 0 <= leaf < len(self._leaves):
            leaf = self._leaves[leaf]
        if not isinstance(leaf, KryoObject):
            raise PredicateError("a leaf of a search argument that is not there")
        return leaf

    def _leaf(self, leaf: KryoObject) -> Expression:
        operator, kind, name = leaf.fields["operator"], leaf.fields["type"], leaf.fields["columnName"]
        if not (isinstance(operator, KryoEnum) and isinstance(kind, KryoEnum) and isinstance(name, str)):
            raise PredicateError("a leaf of a search argument without a column")
        column = HiveColumn((name,))
        if kind.name == "TIMESTAMP":  # instants of the writer's own time zone, which is not told
            return Other()
        type_name = _SARG_TYPES.get(kind.name)
        listed = leaf.fields["literalList"] if operator.name in ("IN", "BETWEEN") else []
        values = listed if isinstance(listed, list) and listed else [leaf.fields["literal"]]
        try:
            literals = tuple(Literal(_plain(value), type_name) for value in values)
        except PredicateError:
            return Other()
        if operator.name == "IS_NULL":
            return Call(_LEAVES[operator.name], (column,), "boolean")
        of_range = operator.name == "BETWEEN"
        if operator.name not in _LEAVES or (of_range and len(literals) != 2):
            return Other()
        if not all(_is_exact(one.value) or (of_range and one.value is None) for one in literals):
            return Other()
        operands: tuple[Expression, ...] = (
            (Literal(False, "boolean"), column, *literals) if of_range else (column, *literals)
        )
        comparison = Call(_LEAVES[operator.name], operands, "boolean")
        return _of_whole_numbers(comparison, column, literals) if type_name == "bigint" else comparison


def _of_whole_numbers(comparison: Call, column: HiveColumn, literals: Sequence[Literal]) -> Expression:
    """A comparison that says nothing of the numbers beside its own: Hive makes 5 of 5.5 beside integers."""
    values = [one.value for one in literals if isinstance(one.value, int)]
    beside = sorted({near for value in values for near in (value - 1, value, value + 1) if -_LONG <= near < _LONG})
    if not beside:
        return Other()
    near = Call(_LEAVES["IN"], (column, *(Literal(value, "bigint") for value in beside)), "boolean")
    elsewhere = Call(_NODES["AND"], (comparison, Call(_NODES["NOT"], (near,), "boolean")), "boolean")
    return Call(_NODES["OR"], (elsewhere, Call(_NODES["AND"], (near, Other()), "boolean")), "boolean")


_LONG: Final = 1 << 63
_NUMBER: Final = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?[dDfFlL]?\s*")


def _is_exact(value: HiveValue) -> bool:
    """Whether a leaf's value is surely the condition's own: Hive writes some that are only near to it.

    It narrows decimals beside doubles to floats, and makes texts of numbers that it compares with columns of strings,
    where ``'05'`` and ``5`` are equal.
    """
    if isinstance(value, float):
        with np.errstate(over="ignore"):
            narrow = np.float32(value)
        return float(narrow) != value or float(str(narrow)) == value
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is None
    return value is not None
