"""Finds conditions on functions of columns in a statement, which DuckDB does not push down to scans.

Only a statement over one table, which it names once, is looked into: its conditions are of that table, whatever else
the statement does with the rows. DuckDB checks them itself, so that they only leave out files, by expression indexes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from hudi_hive.connector.files import quoted, text_literal
from hudi_hive.errors import HudiHiveError
from hudi_hive.predicate import RowFilter, conjunction, parse_filter

_COMPARISONS: Final = {
    "COMPARE_EQUAL": "=",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_OF_NUMBERS: Final = frozenset({"year", "month", "day", "hour", "length"})
"""Functions of dates, times in UTC and texts whose results are those of Spark, of which indexes are."""
_TEXTS: Final[Mapping[str, Callable[[str], bool]]] = {
    # Of capitals outside of ASCII only the dotted I becomes a letter of it, an i, which has a dot of its own in Java.
    "lower": lambda text: text.isascii() and "i" not in text,
    "upper": str.isascii,
}
"""Functions of texts, and the texts that Java makes of all that DuckDB makes them of."""
_SMALL: Final = re.compile(r"-?[0-9]{1,9}")
_OTHERS: Final = ("TABLE_FUNCTION", "JOIN", "SUBQUERY")


def function_conditions(tree: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Conditions of a statement over one table on functions of its columns, each as a text for ``parse_filter``.

    Args:
        tree: of the statement (``json_serialize_sql``).
        nodes: all nodes of it.
    """
    select = (tree.get("statements") or [{}])[0].get("node") or {}
    table = select.get("from_table") or {}
    tables = sum(node.get("type") == "BASE_TABLE" for node in nodes)
    if tables != 1 or select.get("type") != "SELECT_NODE" or table.get("type") != "BASE_TABLE":
        return ()
    # Samples are taken before conditions are checked; other names of columns may hide those of the table.
    if select.get("sample") or table.get("sample") or table.get("column_name_alias"):
        return ()
    if any(node.get("type") in _OTHERS for node in nodes) or (select.get("cte_map") or {}).get("map"):
        return ()
    named = {str(item.get("alias") or "").lower() for item in select.get("select_list") or ()}
    return tuple(text for item in _conjuncts(select.get("where_clause")) if (text := _condition(item, named)))


def with_functions(filter: RowFilter | None, conditions: Sequence[str], schema: pa.Schema) -> RowFilter | None:
    """A filter with conditions of :func:`function_conditions` that it understands.

    Args:
        filter: None for all rows.
        conditions: of the table.
        schema: the table's columns.
    """
    roots = [] if filter is None else [filter.root]
    for text in conditions:
        try:
            roots.append(parse_filter(text, schema).root)
        except (HudiHiveError, pa.ArrowException):
            continue
    return RowFilter(conjunction(roots), schema) if roots else None


def _conjuncts(condition: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    if condition is None:
        return
    if condition.get("type") == "CONJUNCTION_AND":
        for child in condition["children"]:
            yield from _conjuncts(child)
    else:
        yield condition


def _condition(item: Mapping[str, Any], named: set[str]) -> str | None:
    operator = _COMPARISONS.get(str(item.get("type")))
    if operator is not None:
        left, right = item["left"], item["right"]
        call = _call(left, named) or _call(right, named)
        if call is None:
            return None
        first = _literal(call[0], left, is_equal=operator == "=")
        second = _literal(call[0], right, is_equal=operator == "=")
        if first is not None:
            return f"{first} {operator} {call[1]}"
        return None if second is None else f"{call[1]} {operator} {second}"
    if item.get("type") != "COMPARE_IN":
        return None
    first, *others = item["children"]
    call = _call(first, named)
    literals = [] if call is None else [_literal(call[0], other, is_equal=True) for other in others]
    if call is None or not literals or None in literals:
        return None
    return f"{call[1]} IN ({', '.join(map(str, literals))})"


def _call(item: Mapping[str, Any], named: set[str]) -> tuple[str, str] | None:
    """The name of a function of one column, and its call."""
    if item.get("class") != "FUNCTION" or item.get("schema") or item.get("catalog") or item.get("filter"):
        return None
    name = str(item.get("function_name")).lower()
    arguments: Sequence[Mapping[str, Any]] = item.get("arguments") or []
    if (name not in _OF_NUMBERS and name not in _TEXTS) or len(arguments) != 1:
        return None
    column = arguments[0].get("expression") or {}
    path: Sequence[str] = column.get("column_names") or []
    if column.get("class") != "COLUMN_REF" or len(path) != 1 or path[0].lower() in named:
        return None
    return name, f"{name}({quoted(path[0])})"


def _literal(function: str, item: Mapping[str, Any], *, is_equal: bool) -> str | None:
    """The text of a literal with which a function may be compared."""
    literal = item.get("literal") or {}
    text = literal.get("text")
    if item.get("class") != "CONSTANT" or not isinstance(text, str):
        return None
    if function in _OF_NUMBERS:
        return text if literal.get("kind") == "INTEGER" and _SMALL.fullmatch(text) else None
    if literal.get("kind") != "STRING" or not is_equal or not _TEXTS[function](text):
        return None
    return text_literal(text)
