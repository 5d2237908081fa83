"""Parses statements with DuckDB's parser: their kind, and the tables that they read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from hudi_hive.errors import SqlError
from hudi_hive.sql.function_filters import function_conditions
from hudi_hive.sql.tokens import to_duckdb

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_EXPLAIN: Final = re.compile(r"\s*EXPLAIN\b(\s*\([^)]*\)|\s+ANALYZE\b)?", re.IGNORECASE)

_SYSTEM_SCHEMAS: Final = frozenset({"information_schema", "pg_catalog"})


CHANGES: Final = "hudi_table_changes"
"""Hudi's table function, of the same arguments as on Spark."""

_ROW_MAKERS: Final = frozenset({CHANGES, "range", "generate_series", "unnest", "repeat", "json_each", "json_tree"})
"""Table functions that read nothing but their arguments."""

_USAGE: Final = f"{CHANGES}('db.table', ['latest_state' or 'cdc',] begin[, end])"


@dataclass(frozen=True, slots=True)
class ChangeRange:
    """What ``hudi_table_changes`` asks for: ``incremental`` or ``cdc``, after ``begin`` up to ``end``."""

    query_type: str
    begin: str
    end: str | None


@dataclass(frozen=True, slots=True)
class TableName:
    """A table of a statement.

    Attributes:
        schema: database in the metastore; empty when the statement does not say.
        name: its name.
        as_of: the moment of ``AT (TIMESTAMP => …)``; None for now.
        view: what the statement calls it in ``schema``: its name, or one of its own when it is read as of a moment.
        certain: False when the name may be that of a common table expression.
        changes: the range of commits that is asked for; None for rows.
    """

    schema: str
    name: str
    as_of: str | None = None
    view: str = ""
    certain: bool = True
    changes: ChangeRange | None = None

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True, slots=True)
class Show:
    """``SHOW TABLES [FROM schema]`` (``what`` is ``tables``) or ``SHOW SCHEMAS`` / ``SHOW DATABASES`` (``schemas``)."""

    what: str
    schema: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that reads.

    Attributes:
        text: for DuckDB.
        tables: those it reads, each once.
        explain: it asks for the plan.
        show: it asks for names, not rows.
        query: the text without EXPLAIN.
        has_conditions: it has a WHERE, a join or the like, so that it may need some rows alone.
        names_files: it has a function or a form by which DuckDB may read files that the statement names.
        conditions: those on functions of columns of its only table (:func:`function_conditions`).
        counts_rows: it is about nothing but the number of rows of its only table.
    """

    text: str
    tables: tuple[TableName, ...]
    explain: bool = False
    show: Show | None = None
    query: str = ""
    has_conditions: bool = False
    names_files: bool = False
    conditions: tuple[str, ...] = ()
    counts_rows: bool = False


def parse_statement(connection: DuckDBPyConnection, sql: str) -> Statement:
    """Read one statement.

    Args:
        connection: whose parser to use; nothing is run on it but the parser.
        sql: the statement; a semicolon may end it.

    Raises:
        SqlError: a syntax error, several statements, or one that does not only read.
    """
    try:
        text = to_duckdb(sql)
        statements = connection.extract_statements(text)
    except connection_error() as error:
        raise SqlError(message_of(error)) from error
    except UnicodeError as error:
        raise SqlError(f"the statement is not Unicode text: {error}") from error
    if len(statements) != 1:
        raise SqlError("no statement" if not statements else f"{len(statements)} statements; run them one by one")
    kind = str(statements[0].type).rpartition(".")[2]
    text = statements[0].query.strip().rstrip(";")
    if kind == "EXPLAIN":
        match = _EXPLAIN.match(_without_comments(text))
        if match is None:
            raise SqlError("EXPLAIN must begin the statement")
        inner = parse_statement(connection, _without_comments(text)[match.end() :])
        text = match.group().strip() + " " + inner.text
        return replace(inner, text=text, explain=True, show=None)
    if kind != "SELECT":
        raise _refused(kind, text)
    return _read_tree(connection, text)


def connection_error() -> type[Exception]:
    """The class of DuckDB's errors."""
    import duckdb

    return duckdb.Error


def message_of(error: Exception) -> str:
    """The first line of a DuckDB error, without its kind twice."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    message = lines[0] if lines else type(error).__name__
    hint = next((line for line in lines if line.startswith("Candidate bindings:")), None)
    return message if hint is None or hint in message else f"{message} ({hint})"


def _refused(kind: str, text: str) -> SqlError:
    words = " ".join(text.split()[:6])
    if kind == "COPY":
        return SqlError(f"COPY is not supported: {words} …", remedy="write the rows of a SELECT to a file (-o)")
    if kind == "MULTI":
        return SqlError(f"not supported: {words} …", remedy="a PIVOT must name its values: PIVOT … ON x IN (1, 2)")
    return SqlError(
        f"{words.split()[0].upper()} is not supported, the SQL engine only reads: {words} …",
        remedy="write to Hudi tables with the engine that owns them",
    )


def _without_comments(text: str) -> str:
    return re.sub(r"\A(\s*(--[^\n]*(\n|\Z)|/\*.*?\*/))+", "", text, flags=re.DOTALL)


# -- the tree ---------------------------------------------------------------------------------------------------------


def _read_tree(connection: DuckDBPyConnection, text: str) -> Statement:
    tree = tree_of(connection, text)
    written = next((node["type"] for node in tree_nodes(tree) if str(node.get("type")).endswith("_QUERY_NODE")), None)
    if written is not None:  # WITH x AS (DELETE FROM …)
        raise _refused(written, f"{written.partition('_')[0]} in a common table expression")
    show = _show_of(tree)
    if show is not None:
        return Statement(text, (), show=show)
    nodes = list(tree_nodes(tree))
    names_files, has_conditions = _names_files(tree), any(map(_is_condition, nodes))
    conditions = function_conditions(tree, nodes) if has_conditions else ()
    expressions = {name.lower() for name in _common_table_expressions(tree)}
    tables: dict[tuple[str, str], TableName] = {}
    changed = False
    for node in _nodes(tree, "BASE_TABLE"):
        table = _table_of(node, expressions)
        if table is None:
            continue
        if table.as_of is not None:
            _read_as_of(node, table)
            changed = True
        tables[(table.schema.lower(), table.view.lower())] = table
    for node in _nodes(tree, "TABLE_FUNCTION"):
        table = _changes_of(node)
        if table is not None:
            _read_view(connection, node, table)
            changed = True
            tables[(table.schema.lower(), table.view.lower())] = table
    if changed:
        text = text_of(connection, tree)
    return Statement(
        text,
        tuple(tables.values()),
        query=text,
        has_conditions=has_conditions,
        names_files=names_files,
        conditions=conditions,
        counts_rows=_counts_rows(tree),
    )


def _counts_rows(tree: Mapping[str, Any]) -> bool:
    """Whether a tree is ``SELECT count(*) FROM table`` and no more."""
    (statement,) = tree["statements"]
    select = statement["node"]
    source, columns = select.get("from_table") or {}, select.get("select_list") or ()
    if (select.get("type"), source.get("type")) != ("SELECT_NODE", "BASE_TABLE"):
        return False
    if source.get("sample") or source.get("column_name_alias"):
        return False
    nothing = ("modifiers", "where_clause", "group_expressions", "group_sets", "having", "sample", "qualify")
    if any(select.get(name) for name in nothing) or (select.get("cte_map") or {}).get("map"):
        return False
    return bool(columns) and all(
        (one.get("class"), one.get("function_name")) == ("FUNCTION", "count_star")
        and not (one.get("filter") or one.get("distinct"))
        for one in columns
    )


def _is_condition(node: Mapping[str, Any]) -> bool:
    return node.get("type") == "JOIN" or any(node.get(name) for name in ("where_clause", "having", "qualify"))


def _names_files(tree: object) -> bool:
    """Whether a tree holds more than tables and functions that only make rows."""
    if next(_nodes(tree, "SHOW_REF"), None) is not None:  # DESCRIBE 'a file'
        return True
    calls = (node.get("function") or {} for node in _nodes(tree, "TABLE_FUNCTION"))
    return any(str(call.get("function_name")).lower() not in _ROW_MAKERS for call in calls)


def text_of(connection: DuckDBPyConnection, tree: Mapping[str, Any]) -> str:
    """The text of a parse tree."""
    rows = connection.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)]).fetchall()
    return str(rows[0][0])


def tree_of(connection: DuckDBPyConnection, text: str) -> dict[str, Any]:
    """The parse tree of a SELECT.

    Raises:
        SqlError: a syntax error, or another statement.
    """
    try:
        row = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchall()[0]
    except connection_error() as error:
        raise SqlError(message_of(error)) from error
    tree: dict[str, Any] = json.loads(row[0])
    if tree.get("error"):
        raise SqlError(str(tree.get("error_message")), remedy="only SELECT statements are run")
    return tree


def tree_nodes(tree: object) -> Iterator[dict[str, Any]]:
    """All nodes of a parse tree."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            yield node
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)


def _nodes(tree: object, kind: str) -> Iterator[dict[str, Any]]:
    return (node for node in tree_nodes(tree) if node.get("type") == kind)


def _common_table_expressions(tree: object) -> Iterator[str]:
    for node in tree_nodes(tree):
        entries = node.get("cte_map")
        if isinstance(entries, dict):
            for entry in entries.get("map", ()):
                yield str(entry["key"])
        if node.get("type") in ("RECURSIVE_CTE_NODE", "CTE_NODE") and node.get("cte_name"):
            yield str(node["cte_name"])


def _table_of(node: dict[str, Any], expressions: set[str]) -> TableName | None:
    schema, name = str(node.get("schema_name") or ""), str(node["table_name"])
    if node.get("catalog_name"):
        raise SqlError(
            f"{node['catalog_name']}.{schema}.{name}: tables have names of two parts", remedy="leave the first out"
        )
    if schema.lower() in _SYSTEM_SCHEMAS:
        raise SqlError(f"{schema}.{name} is not supported", remedy="SHOW SCHEMAS and SHOW TABLES FROM … list names")
    as_of = _moment_of(node)
    view = name if as_of is None else f"{name} AT {as_of}"
    return TableName(schema, name, as_of, view, bool(schema) or name.lower() not in expressions)


def _moment_of(node: dict[str, Any]) -> str | None:
    """The text of ``AT (TIMESTAMP => '…')`` or ``AT (VERSION => instant)``."""
    clause = node.get("at_clause")
    if not clause:
        return None
    text = _constant(clause.get("expr") or {})
    if text is None:
        raise SqlError("AT takes a text or a number, not an expression", remedy="AT (TIMESTAMP => '2024-05-01 12:00')")
    return text


def _read_as_of(node: dict[str, Any], table: TableName) -> None:
    """Let the tree read a view of its own, under the name by which the statement knows the table."""
    node["at_clause"] = None
    node["alias"] = node.get("alias") or table.name
    node["table_name"] = table.view
    if "qualified_name" in node:
        node["qualified_name"] = {"path": [part for part in (table.schema, table.view) if part]}


# -- hudi_table_changes -----------------------------------------------------------------------------------------------


def _changes_of(node: dict[str, Any]) -> TableName | None:
    """The table and range of a call of ``hudi_table_changes``; None for other functions."""
    function = node.get("function") or {}
    if str(function.get("function_name")).lower() != CHANGES:
        return None
    expressions = function.get("arguments") or function.get("children") or ()
    arguments = [_literal_of(one.get("expression", one)) for one in expressions]
    if not 2 <= len(arguments) <= 4:
        raise SqlError(f"{CHANGES} takes 2 to 4 arguments, not {len(arguments)}", remedy=_USAGE)
    table, *rest = arguments
    mode = rest.pop(0).lower() if rest[0].lower() in ("latest_state", "cdc") else "latest_state"
    if not 1 <= len(rest) <= 2:
        raise SqlError(f"{CHANGES} does not understand its arguments", remedy=_USAGE)
    if "/" in table:
        raise SqlError(
            f"{CHANGES}({table!r}): a statement reads tables by their names", remedy="give the path a name (--table)"
        )
    schema, _, name = table.replace("`", "").replace('"', "").rpartition(".")
    if not name or "." in schema:
        raise SqlError(f"{CHANGES}: {table!r} is no table name", remedy=_USAGE)
    changes = ChangeRange("cdc" if mode == "cdc" else "incremental", rest[0], rest[1] if len(rest) == 2 else None)
    view = f"{name} CHANGES {changes.query_type} {changes.begin} {changes.end or ''}"
    return TableName(schema, name, view=view, changes=changes)


def _literal_of(node: dict[str, Any]) -> str:
    value = _constant(node)
    if value is None:
        raise SqlError(f"{CHANGES} takes texts and numbers, not expressions", remedy=_USAGE)
    return value


def _constant(expression: dict[str, Any]) -> str | None:
    """The text of a literal; None for any other expression, and for NULL."""
    while expression.get("class") == "CAST":  # TIMESTAMP '…'
        expression = expression.get("child") or {}
    if expression.get("class") != "CONSTANT":
        return None
    literal = expression.get("literal") or expression.get("value") or {}
    text = literal.get("text", literal.get("value"))
    return None if text is None else str(text)


def _read_view(connection: DuckDBPyConnection, node: dict[str, Any], table: TableName) -> None:
    """Put a table in the place of a call."""
    (made,) = _nodes(tree_of(connection, "SELECT * FROM t"), "BASE_TABLE")
    names = ("alias", "column_name_alias", "sample", "query_location")
    kept: dict[str, Any] = {name: node[name] for name in names if name in node}
    node.clear()
    node.update(made)
    node.update(kept)
    node["schema_name"] = table.schema
    _read_as_of(node, TableName(table.schema, CHANGES, view=table.view))


def _show_of(tree: object) -> Show | None:
    for node in _nodes(tree, "SHOW_REF"):
        kind, what = str(node.get("show_type")), str(node.get("table_name") or "").strip('"').lower()
        if kind == "SHOW_FROM":
            return Show("tables", str(node.get("schema_name") or ""))
        if kind in ("SHOW_SPECIAL", "SHOW_UNQUALIFIED") or (what and node.get("query") is None):
            if what == "tables":
                return Show("tables")
            if what in ("schemas", "databases"):
                return Show("schemas")
            raise SqlError(f"SHOW {what} is not supported", remedy="SHOW SCHEMAS, SHOW TABLES [FROM …], DESCRIBE t")
    return None
