"""Reads the text of views as DuckDB's SQL, if it is so plain that it means the same there.

What engines take differently (divisions, casts, functions but for a few, windows, limits …) is refused by name: a view
never gives other rows than it does where it was made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hudi_hive.connector.files import quoted, text_literal
from hudi_hive.errors import SqlError, UnsupportedTableError
from hudi_hive.sql.statement import TableName, text_of, tree_nodes, tree_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from hudi_hive.connector import ConnectorView

_FUNCTIONS: Final = frozenset(
    {"count", "count_star", "sum", "min", "max", "avg", "lower", "upper", "coalesce", "abs", "+", "-", "*", "~~", "!~~"}
)
_EXPRESSIONS: Final = frozenset(
    {
        "COLUMN_REF",
        "CONSTANT",
        "COMPARISON",
        "CONJUNCTION",
        "OPERATOR",
        "BETWEEN",
        "CASE",
        "STAR",
        "SUBQUERY",
        "FUNCTION",
        "TYPE",
    }
)
_OPERATORS: Final = frozenset(
    {
        "OPERATOR_NOT",
        "OPERATOR_IS_NULL",
        "OPERATOR_IS_NOT_NULL",
        "OPERATOR_COALESCE",
        "COMPARE_IN",
        "COMPARE_NOT_IN",
    }
)
_COMPARISONS: Final = frozenset(
    {
        "COMPARE_EQUAL",
        "COMPARE_NOTEQUAL",
        "COMPARE_LESSTHAN",
        "COMPARE_GREATERTHAN",
        "COMPARE_LESSTHANOREQUALTO",
        "COMPARE_GREATERTHANOREQUALTO",
    }
)
_JOINS: Final = frozenset({"INNER", "LEFT", "RIGHT", "OUTER", "SEMI", "ANTI"})
_NODES: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE"})
_SOURCES: Final = frozenset({"BASE_TABLE", "SUBQUERY", "JOIN", "EMPTY"})
_TYPES: Final[Mapping[str, str]] = {
    "string": "VARCHAR",
    "varchar": "VARCHAR",
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "float": "REAL",
    "real": "REAL",
    "double": "DOUBLE",
    "date": "DATE",
}
_DECIMAL: Final = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/|[^'\"`/-]+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PlainView:
    """A view as DuckDB reads it.

    Attributes:
        text: its SELECT, whose tables all have a schema.
        tables: those tables.
    """

    text: str
    tables: tuple[TableName, ...]


def plain_view(connection: DuckDBPyConnection, view: ConnectorView) -> PlainView:
    """Read a view.

    Args:
        connection: whose parser to use.
        view: of the metastore.

    Raises:
        UnsupportedTableError: its text is not so plain that it means the same in DuckDB.
    """
    try:
        tree = tree_of(connection, _text_of(view))
    except SqlError as error:
        raise _refused(view, f"its text is not understood ({error.message})") from error
    tables: dict[tuple[str, str], TableName] = {}
    for node in tree_nodes(tree):
        _check(view, node)
        if node.get("type") == "BASE_TABLE":
            table = _qualify(view, node)
            tables[(table.schema.lower(), table.name.lower())] = table
    has_star = any(node.get("class") == "STAR" for node in tree_nodes(tree))
    if has_star and (
        view.query_columns is None or any(node.get("type") == "SET_OPERATION_NODE" for node in tree_nodes(tree))
    ):
        raise _refused(view, "it has a *, whose order of columns is not known")
    return PlainView(text_of(connection, tree), tuple(tables.values()))


def select_of(view: ConnectorView, plain: PlainView, names: Sequence[str]) -> str:
    """The SELECT of a view with its names and types.

    Args:
        view: of the metastore.
        plain: what it became.
        names: of the columns that its text gives, now that its tables are there.

    Raises:
        UnsupportedTableError: it gives other columns than the view has.
    """
    expected = view.query_columns
    if len(names) != len(view.columns) or (
        expected is not None and [name.lower() for name in names] != [name.lower() for name in expected]
    ):
        raise _refused(view, f"its text gives the columns {', '.join(names)}", remedy="make the view again")
    columns = []
    for number, (name, kind) in enumerate(view.columns):
        target = _duckdb_type(kind)
        column = f"c{number}" if target is None else f"CAST(c{number} AS {target})"
        columns.append(f"{column} AS {quoted(name)}")
    aliases = ", ".join(f"c{number}" for number in range(len(view.columns)))
    return f"SELECT {', '.join(columns)} FROM ({plain.text}) AS q({aliases})"


def _duckdb_type(kind: str) -> str | None:
    """The type of a column, None where that of the SELECT stays: of nested and of times."""
    plain = kind.strip().lower()
    decimal = _DECIMAL.fullmatch(plain)
    if decimal is not None:
        return f"DECIMAL({decimal[1]}, {decimal[2]})"
    return _TYPES.get(plain.partition("(")[0])


def _text_of(view: ConnectorView) -> str:
    """The text with DuckDB's quotes: Hive and Spark have names in backticks and texts in either quotes."""
    if view.dialect == "presto":
        return view.text
    parts: list[str] = []
    for part in _QUOTED.findall(view.text):
        mark = part[:1]
        if mark in "'\"" and len(part) > 1:
            if "\\" in part:
                raise _refused(view, f"a text with a backslash: {part}")
            if parts and parts[-1][-1:] == "'":
                raise _refused(view, "texts side by side")
            parts.append(text_literal(part[1:-1]))
        elif mark == "`":
            parts.append(quoted(part[1:-1].replace("``", "`")))
        elif part.startswith(("--", "/*")):
            parts.append(" ")
        else:
            parts.append(part)
    return "".join(parts)


def _qualify(view: ConnectorView, node: dict[str, Any]) -> TableName:
    catalog, schema, name = str(node.get("catalog_name") or ""), str(node.get("schema_name") or ""), node["table_name"]
    if catalog and catalog.lower() != (view.catalog or "spark_catalog").lower():
        raise _refused(view, f"a table of another catalogue: {catalog}.{schema}.{name}")
    if not schema and view.namespace is None:
        raise _refused(view, f"it does not tell the database of {name}")
    schema = (schema or str(view.namespace)).lower()
    if node.get("at_clause"):
        raise _refused(view, f"time travel of {name}")
    node["alias"] = node.get("alias") or name
    node["catalog_name"], node["schema_name"] = "", schema
    if "qualified_name" in node:
        node["qualified_name"] = {"path": [schema, str(name)]}
    return TableName(schema, str(name), view=str(name))


def _check(view: ConnectorView, node: dict[str, Any]) -> None:
    """Refuse what may mean something else in DuckDB."""
    kind, type_ = str(node.get("class") or ""), str(node.get("type") or "")
    if (node.get("cte_map") or {}).get("map"):
        raise _refused(view, "WITH")
    if kind:
        _check_expression(view, node, kind, type_)
    elif type_.endswith("_NODE"):
        if type_ not in _NODES or node.get("setop_type") not in (None, "UNION", "EXCEPT", "INTERSECT"):
            raise _refused(view, str(node.get("setop_type") or type_))
    elif type_.endswith("_MODIFIER"):
        if type_ not in ("ORDER_MODIFIER", "DISTINCT_MODIFIER") or node.get("distinct_on_targets"):
            raise _refused(view, type_.removesuffix("_MODIFIER"))
    elif "sample" in node and type_ not in _SOURCES:
        raise _refused(view, type_)
    for name, value in (("sample", None), ("qualify", None), ("aggregate_handling", "STANDARD_HANDLING")):
        if node.get(name) not in (None, value):
            raise _refused(view, f"{name} {node[name] if isinstance(node[name], str) else ''}".strip())
    if type_ == "JOIN" and not (
        node.get("ref_type") in ("REGULAR", "CROSS")
        and node.get("join_type") in _JOINS
        and not node.get("using_columns")
    ):
        raise _refused(view, "a join of another kind than ON")


def _check_expression(view: ConnectorView, node: dict[str, Any], kind: str, type_: str) -> None:
    if kind == "CAST":
        child = node.get("child") or {}
        if child.get("class") != "CONSTANT" or node.get("try_cast"):
            raise _refused(view, "CAST")
        return
    if kind not in _EXPRESSIONS:
        raise _refused(view, kind)
    if kind == "OPERATOR" and type_ not in _OPERATORS:
        raise _refused(view, type_)
    if kind == "COMPARISON" and type_ not in _COMPARISONS:
        raise _refused(view, type_)
    if kind == "FUNCTION":
        name = str(node.get("function_name")).lower()
        if name not in _FUNCTIONS or node.get("schema") or node.get("filter"):
            raise _refused(view, f"the function {name}")
        if name == "avg" and any(column.strip().lower().startswith("decimal") for _, column in view.columns):
            raise _refused(view, "avg beside decimals")
        if name in ("~~", "!~~") and "\\" in json.dumps(node).replace('\\"', ""):
            raise _refused(view, "LIKE with a backslash")
    if kind == "STAR" and (node.get("exclude_list") or node.get("replace_list") or node.get("columns")):
        raise _refused(view, "a * but for some columns")


def _refused(view: ConnectorView, what: str, remedy: str | None = None) -> UnsupportedTableError:
    return UnsupportedTableError(
        f"the view {view.full_name} is not read, its SQL ({view.dialect}) is not plain: {what}",
        remedy=remedy or "select from its tables, or query it where it was made",
    )
