"""Views of a metastore: their text, as Hive, Spark and Presto or Trino store it."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from hudi_hive.errors import MetastoreError, UnsupportedTableError
from hudi_hive.metastore import Table

Dialect: TypeAlias = Literal["hive", "spark", "presto"]
"""Whose SQL the text of a view is in."""

_PRESTO: Final = re.compile(r"/\* Presto View: ([A-Za-z0-9+/=\s]*) \*/")
_PRESTO_KIND: Final = re.compile(r"\s*/\* Presto ([A-Za-z ]*)")
_LONGEST: Final = 1 << 20
"""Characters of a text that is looked at."""

_SPARK: Final = "view.catalogAndNamespace."
_SPARK_COLUMNS: Final = "view.query.out."


@dataclass(frozen=True, slots=True)
class ConnectorView:
    """A view.

    Attributes:
        database, name: in the metastore, in lower case.
        text: its SELECT.
        dialect: whose SQL that is.
        catalog, namespace: of names in the text that do not say; None where the view does not tell.
        columns: names and types of its rows, types in the dialect's words.
        query_columns: names that its SELECT gives, where the view tells them.
    """

    database: str
    name: str
    text: str
    dialect: Dialect
    catalog: str | None
    namespace: str | None
    columns: tuple[tuple[str, str], ...]
    query_columns: tuple[str, ...] | None

    @property
    def full_name(self) -> str:
        """``database.view``."""
        return f"{self.database}.{self.name}"


def is_view(table: Table) -> bool:
    """Whether a metastore table is a view."""
    return bool(table.tableType == "VIRTUAL_VIEW")


def view_of(table: Table) -> ConnectorView:
    """Decode a view.

    Raises:
        UnsupportedTableError: the metastore table is no view, or one of a kind whose text is no SQL.
        MetastoreError: its text cannot be decoded.
    """
    name = f"{table.dbName}.{table.tableName}"
    text = str(table.viewOriginalText or "")
    if not is_view(table):
        raise UnsupportedTableError(f"{name} is not a view ({table.tableType})")
    if len(text) > _LONGEST or len(str(table.viewExpandedText or "")) > _LONGEST:
        raise UnsupportedTableError(f"the text of the view {name} is longer than {_LONGEST} characters")
    kind = _PRESTO_KIND.match(text)
    if kind is not None:
        return _presto(table, name, text, kind[1].strip())
    parameters = {str(key): str(value) for key, value in (table.parameters or {}).items()}
    columns = tuple((str(column.name), str(column.type)) for column in (table.sd.cols if table.sd else None) or ())
    expanded = str(table.viewExpandedText or text)
    if not expanded.strip() or not columns:
        raise UnsupportedTableError(f"the view {name} has no text that can be read, or no columns")
    if any(key.startswith(_SPARK) for key in parameters):
        catalog, namespace = _spark_namespace(parameters)
        own = _spark_columns(parameters)
        return ConnectorView(table.dbName, table.tableName, expanded, "spark", catalog, namespace, columns, own)
    return ConnectorView(table.dbName, table.tableName, expanded, "hive", None, str(table.dbName), columns, None)


def _presto(table: Table, name: str, text: str, kind: str) -> ConnectorView:
    match = _PRESTO.fullmatch(text.strip())
    if match is None:
        raise UnsupportedTableError(f"{name} is a Presto {kind}, whose text is not read", remedy="read its tables")
    try:
        stored = json.loads(base64.b64decode(match[1], validate=False))
        columns = tuple((_text(column["name"]), _text(column["type"])) for column in stored["columns"])
        sql, catalog, namespace = _text(stored["originalSql"]), stored.get("catalog"), stored.get("schema")
    except (binascii.Error, ValueError, KeyError, TypeError, RecursionError) as error:
        raise MetastoreError(f"the view {name} cannot be decoded: {error!r}", remedy="make the view again") from error
    return ConnectorView(
        table.dbName,
        table.tableName,
        sql,
        "presto",
        None if catalog is None else str(catalog),
        None if namespace is None else str(namespace),
        columns,
        tuple(column for column, _ in columns),
    )


def _text(value: Any) -> str:  # noqa: ANN401 - JSON
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _spark_namespace(parameters: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The catalogue and database that were current when Spark made the view."""
    parts = [parameters.get(f"{_SPARK}part.{number}") for number in range(2)]
    return (parts[0], parts[1]) if parameters.get(f"{_SPARK}numParts") == "2" else (None, None)


def _spark_columns(parameters: Mapping[str, str]) -> tuple[str, ...] | None:
    count = parameters.get(f"{_SPARK_COLUMNS}numCols", "")
    if not count.isdecimal() or int(count) > len(parameters):
        return None
    names = [parameters.get(f"{_SPARK_COLUMNS}col.{number}") for number in range(int(count))]
    return None if any(name is None for name in names) else tuple(name for name in names if name is not None)
