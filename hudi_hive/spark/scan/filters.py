"""Converts Spark's conditions to row filters, where both have the same meaning.

Spark still applies its conditions itself, so a filter may let rows pass that Spark drops, but never the other way
round: a conjunct that has a part which is not understood is left out, and so is half of an AND that stands below an OR.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import Any, Final

import pyarrow as pa

from hudi_hive.errors import PredicateError
from hudi_hive.predicate import (
    AllOf,
    AnyOf,
    Compare,
    ComparisonOperator,
    InList,
    LiteralValue,
    Name,
    Negation,
    NullTest,
    RowFilter,
    Syntax,
    Value,
    bind,
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


def is_constant(condition: JavaValue) -> bool:
    """Whether a condition has its value before the query runs."""
    text = str(condition.toString())
    return "subquery" not in text and "dynamicpruning" not in text


def filter_of_json(texts: Iterable[str], schema: pa.Schema, besides: Iterable[str]) -> RowFilter | None:
    """Convert conditions, all of which hold, to a row filter.

    Args:
        texts: conditions as ``TreeNode.toJSON`` tells them: their nodes, parents first.
        schema: of the rows.
        besides: columns that the conditions may read, but the filter must not.

    Returns:
        A filter that lets every row pass for which the conditions are true, or None.
    """
    hidden = {name.lower() for name in besides}
    columns = {field.name.lower(): field for field in schema if field.name.lower() not in hidden}
    found = [_loosely(_tree(iter(json.loads(text))), columns) for text in texts]
    parts = tuple(part for part in found if part is not None)
    if not parts:
        return None
    try:
        row_filter = RowFilter(bind(AllOf(parts), schema), schema)
    except PredicateError:
        return None
    return None if row_filter.is_trivial else row_filter


def _tree(nodes: Iterator[dict[str, Any]]) -> dict[str, Any]:
    node = next(nodes)
    node["children"] = [_tree(nodes) for _ in range(node["num-children"])]
    node["kind"] = node["class"].rpartition(".")[2]
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
        name = _column(children[0], columns)
        if name is None:
            return None
        return NullTest(name) if kind == "IsNull" else Negation(NullTest(name))
    if kind == "AttributeReference" and node["dataType"] == "boolean":
        name = _column(node, columns)
        return None if name is None else Compare("=", name, Value(True, "true"))
    if kind in _OPERATORS:
        return _comparison(kind, children, columns)
    if kind == "In":
        name, items = _column(children[0], columns), [_literal(child) for child in children[1:]]
        # Whether -0.0 is among the values is a question that the two might answer differently.
        if name is None or children[0]["dataType"] == "double" or not items:
            return None
        values = tuple(item for item in items if item is not None)
        return InList(name, values) if len(values) == len(items) else None
    return None


def _comparison(kind: str, children: list[dict[str, Any]], columns: Mapping[str, pa.Field]) -> Syntax | None:
    operator, flipped = _OPERATORS[kind]
    left, right = children
    if left["kind"] == "Literal":
        operator, left, right = flipped, right, left
    name, value = _column(left, columns), _literal(right)
    if name is None or value is None or left["dataType"] != right["dataType"]:
        return None
    return Compare(operator, name, value)


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
