"""Converts Spark's conditions to row filters, where both have the same meaning.

Spark still applies its conditions itself, so a filter may let rows pass that Spark drops, but never the other way
round: a conjunct that has a part which is not understood is left out, and so is half of an AND that stands below an OR.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import date
from typing import Any, Final

import pyarrow as pa

from hudi_hive.errors import PredicateError
from hudi_hive.predicate import (
    AllOf,
    AnyOf,
    Compare,
    ComparisonOperator,
    FunctionCall,
    InList,
    LiteralValue,
    Name,
    Negation,
    NullTest,
    RowFilter,
    Syntax,
    Value,
    bind,
    called_function,
)
from hudi_hive.spark.bridge import JavaValue

_OPERATORS: Final[dict[str, tuple[ComparisonOperator, ComparisonOperator]]] = {
    "EqualTo": ("=", "="),
    "EqualNullSafe": ("<=>", "<=>"),
    "LessThan": ("<", ">"),
    "LessThanOrEqual": ("<=", ">="),
    "GreaterThan": (">", "<"),
    "GreaterThanOrEqual": (">=", "<="),
}
"""Comparisons, and the operator after both sides changed places."""


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


_TYPES: Final[dict[str, tuple[pa.DataType, Callable[[str], LiteralValue]]]] = {
    "byte": (pa.int8(), int),
    "short": (pa.int16(), int),
    "integer": (pa.int32(), int),
    "long": (pa.int64(), int),
    "double": (pa.float64(), _finite),
    "string": (pa.string(), str),
    "date": (pa.date32(), date.fromisoformat),
    "boolean": (pa.bool_(), "true".__eq__),
}
"""Spark's types that compare as ours do, with the reader of their literals' texts. Strings with a collation have
another name; timestamps are told in the zone of the JVM."""

_SOURCES: Final[dict[str, pa.DataType]] = {
    **{name: kind for name, (kind, _) in _TYPES.items()},
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
"""Types of columns that functions are of."""

_FUNCTIONS: Final[dict[str, str]] = {
    "Year": "year",
    "Month": "month",
    "DayOfMonth": "day",
    "Hour": "hour",
    "DateFormatClass": "date_format",
    "FromUnixTime": "from_unixtime",
    "ToUnixTimestamp": "unix_timestamp",
    "UnixTimestamp": "unix_timestamp",
    "DateAdd": "date_add",
    "DateSub": "date_sub",
    "Lower": "lower",
    "Upper": "upper",
    "StringTrim": "trim",
    "StringTrimLeft": "ltrim",
    "StringTrimRight": "rtrim",
    "Length": "length",
    "Substring": "substring",
    "RegExpExtract": "regexp_extract",
    "RegExpReplace": "regexp_replace",
    "Abs": "abs",
    "Ceil": "ceil",
    "Floor": "floor",
}
"""Spark's expressions that are functions of a column as ours."""

_CASTS: Final = frozenset(
    {
        ("date", "timestamp"),
        ("date", "timestamp_ntz"),
        ("timestamp", "date"),
        ("long", "integer"),
        ("long", "short"),
        ("double", "integer"),
    }
)
"""Types to and from which Spark casts a column before a function is called, as our functions do."""

_TEXT_CASTS: Final = {
    "Year": "date",
    "Month": "date",
    "DayOfMonth": "date",
    "DateAdd": "date",
    "DateSub": "date",
    "Hour": "timestamp",
    "DateFormatClass": "timestamp",
    "FromUnixTime": "long",
}
"""Types to which Spark casts texts before a function is called, as our functions do."""

_LITERALS: Final = frozenset(kind for kind, _ in _TYPES.values())
"""Types of results that literals are compared with as Spark does."""

_UTC: Final = frozenset({"UTC", "Etc/UTC", "GMT", "Z", "+00:00"})
_NO_FORMAT: Final = frozenset({"ToUnixTimestamp", "UnixTimestamp"})
"""Functions whose format tells nothing where they are of a date or timestamp, but for one of texts."""

_FROM_A_POSITION: Final = "RegExpReplace"
_FIRST_POSITION: Final = Value(1, "1")
"""A function with a last argument that is always there, and the only value of it that ours has."""

_BY_PATTERNS: Final = frozenset({"DateFormatClass", "FromUnixTime", *_NO_FORMAT})
"""Functions whose patterns Spark's legacy policy for times takes in another way, for odd texts and old dates."""


def is_constant(condition: JavaValue) -> bool:
    """Whether a condition has its value before the query runs."""
    text = str(condition.toString())
    return "subquery" not in text and "dynamicpruning" not in text


def filter_of_json(
    texts: Iterable[str], schema: pa.Schema, besides: Iterable[str], *, legacy_times: bool = False
) -> RowFilter | None:
    """Convert conditions, all of which hold, to a row filter.

    Args:
        texts: conditions as ``TreeNode.toJSON`` tells them: their nodes, parents first.
        schema: of the rows.
        besides: columns that the conditions may read, but the filter must not.
        legacy_times: whether ``spark.sql.legacy.timeParserPolicy`` is ``LEGACY``.

    Returns:
        A filter that lets every row pass for which the conditions are true, or None.
    """
    hidden = {name.lower() for name in besides}
    columns = {field.name.lower(): field for field in schema if field.name.lower() not in hidden}
    opaque = _BY_PATTERNS if legacy_times else frozenset()
    found = [_loosely(_tree(iter(json.loads(text)), opaque), columns) for text in texts]
    parts = tuple(part for part in found if part is not None)
    if not parts:
        return None
    try:
        row_filter = RowFilter(bind(AllOf(parts), schema), schema)
    except PredicateError:
        return None
    return None if row_filter.is_trivial else row_filter


def _tree(nodes: Iterator[dict[str, Any]], opaque: Container[str]) -> dict[str, Any]:
    """A node with its children; those of opaque kinds have none."""
    node = next(nodes)
    node["children"] = [_tree(nodes, opaque) for _ in range(node["num-children"])]
    kind = node["class"].rpartition(".")[2]
    node["kind"] = "" if kind in opaque else kind
    return node


def _loosely(node: Mapping[str, Any], columns: Mapping[str, pa.Field]) -> Syntax | None:
    """What a condition says at least; None for nothing."""
    if node["kind"] == "And":
        parts = tuple(part for child in node["children"] if (part := _loosely(child, columns)) is not None)
        return AllOf(parts) if parts else None
    if node["kind"] == "Or":
        left, right = (_loosely(child, columns) for child in node["children"])
        return None if left is None or right is None else AnyOf((left, right))
    return _exactly(node, columns)


def _exactly(node: Mapping[str, Any], columns: Mapping[str, pa.Field]) -> Syntax | None:
    """The same condition, or None if there is none."""
    kind, children = node["kind"], node["children"]
    if kind in ("And", "Or", "Not"):
        parts = tuple(_exactly(child, columns) for child in children)
        translated = tuple(part for part in parts if part is not None)
        if len(translated) < len(parts):
            return None
        return Negation(translated[0]) if kind == "Not" else (AllOf if kind == "And" else AnyOf)(translated)
    if kind in ("IsNull", "IsNotNull"):
        name = _column(children[0], columns) or _call(children[0], columns)
        if name is None:
            return None
        return NullTest(name) if kind == "IsNull" else Negation(NullTest(name))
    if kind == "AttributeReference" and node["dataType"] == "boolean":
        name = _column(node, columns)
        return None if name is None else Compare("=", name, Value(True, "true"))
    if kind in _OPERATORS:
        return _comparison(kind, children, columns)
    if kind == "In":
        name = _column(children[0], columns) or _call(children[0], columns, children[-1].get("dataType"))
        items = [_literal(child) for child in children[1:]]
        # Whether -0.0 is among the values is a question that the two might answer differently.
        if name is None or children[0].get("dataType") == "double" or not items:
            return None
        values = tuple(item for item in items if item is not None)
        return InList(name, values) if len(values) == len(items) else None
    return None


def _comparison(kind: str, children: list[dict[str, Any]], columns: Mapping[str, pa.Field]) -> Syntax | None:
    operator, flipped = _OPERATORS[kind]
    left, right = children
    if left["kind"] == "Literal":
        operator, left, right = flipped, right, left
    value = _literal(right)
    if value is None:
        return None
    name = _column(left, columns)
    if name is not None:
        return Compare(operator, name, value) if left["dataType"] == right["dataType"] else None
    call = _call(left, columns, right["dataType"])
    return None if call is None else Compare(operator, call, value)


def _call(node: Mapping[str, Any], columns: Mapping[str, pa.Field], literal: object = None) -> FunctionCall | None:
    """A function of a column that has the same results here, in the session's time zone; None for others.

    Args:
        node: the call.
        columns: of the table.
        literal: Spark's type of the literals that it is compared with; None if with none.
    """
    function = _function(node)
    if function is None or not _is_of_utc(node):
        return None
    source, *others = node["children"]
    if source["kind"] == "Cast" and _is_cast_to_the_same(source, node["kind"]):
        source = source["children"][0]
    column = _source(source, columns)
    is_without_format = node["kind"] in _NO_FORMAT and source.get("dataType") != "string"
    arguments = () if is_without_format else tuple(_literal(other) for other in others)
    if node["kind"] == _FROM_A_POSITION:
        if arguments[-1] != _FIRST_POSITION:
            return None
        arguments = arguments[:-1]
    if column is None:
        return None
    texts = [argument for argument in arguments if argument is not None]
    if len(texts) < len(arguments):
        return None
    known = called_function(function, [str(argument.value) for argument in texts])
    kind = columns[column.parts[0].lower()].type
    result = None if known is None else known.result_type(kind)
    if result not in _LITERALS or (literal is not None and _TYPES.get(str(literal), (None,))[0] != result):
        return None
    return FunctionCall(function, column, tuple(texts), f"{function}({column.text})")


def _function(node: Mapping[str, Any]) -> str | None:
    if node["kind"] == "Cast" and (node.get("dataType"), node["children"][0].get("dataType")) == ("date", "string"):
        return "to_date"
    return _FUNCTIONS.get(node["kind"])


def _is_of_utc(node: Mapping[str, Any]) -> bool:
    return str(node.get("timeZoneId", "UTC")) in _UTC and all(
        child["kind"] != "Cast" or str(child.get("timeZoneId", "UTC")) in _UTC for child in node["children"]
    )


def _is_cast_to_the_same(cast: Mapping[str, Any], function: str) -> bool:
    """Whether a cast that Spark puts around a column is one that our function makes by itself."""
    source, target = str(cast["children"][0].get("dataType")), str(cast.get("dataType"))
    return _TEXT_CASTS.get(function) == target if source == "string" else (target, source) in _CASTS


def _source(node: Mapping[str, Any], columns: Mapping[str, pa.Field]) -> Name | None:
    """The column that a function is of, of the type that Spark has."""
    if node["kind"] != "AttributeReference":
        return None
    kind, field = _SOURCES.get(str(node["dataType"])), columns.get(node["name"].lower())
    return None if kind is None or field is None or field.type != kind else Name((field.name,), field.name)


def _column(node: Mapping[str, Any], columns: Mapping[str, pa.Field]) -> Name | None:
    """A column whose type here is the one that Spark has."""
    if node["kind"] != "AttributeReference":
        return None
    known, field = _TYPES.get(str(node["dataType"])), columns.get(node["name"].lower())
    if known is None or field is None or field.type != known[0]:
        return None
    return Name((field.name,), field.name)


def _literal(node: Mapping[str, Any]) -> Value | None:
    literal_type = _TYPES.get(str(node.get("dataType"))) if node["kind"] == "Literal" else None
    text = node.get("value")
    if literal_type is None or not isinstance(text, str):
        return None
    try:
        return Value(literal_type[1](text), text)
    except ValueError:
        return None
