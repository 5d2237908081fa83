"""File sets as DuckDB's own scans of Parquet files: the text of a SELECT, and whether its types are ours."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from hudi_hive.connector.files.division import DividedPlan, FileSet, Origin, SetColumn
from hudi_hive.names import COMMIT_TIME_COLUMN

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MOST_LAYOUTS: Final = 256
_PATTERNS: Final = frozenset("*?[]\\")
"""Characters of paths by which DuckDB matches several files."""

_ROWS: Final = "hudi-hive rows"

_VIRTUAL: Final = frozenset({"filename", "file_index", "file_row_number", "rowid", "file_last_modified", "file_size"})
"""Names that DuckDB has a meaning for in each scan of files."""

# Whatever the first file's folder is called, columns come from the files alone. Statistics say nothing of NaN, which
# DuckDB counts as the greatest number.
_READING: Final = "hive_partitioning = false, union_by_name = false, binary_as_string = false, can_have_nan = true"


class DuckDBFiles:
    """Whether DuckDB reads file sets as we do, and how it is asked to.

    Args:
        connection: one that may open the files; nothing is changed in it.
        schema: the columns that are shown.
        described: types of columns, by layout or schema, for connections with the same settings; more is added.
    """

    def __init__(
        self, connection: DuckDBPyConnection, schema: pa.Schema, described: dict[str, Mapping[str, str]]
    ) -> None:
        self._connection = connection
        self._layouts = described
        # Those that DuckDB gives our Arrow columns.
        self._types = self._described(str(schema.remove_metadata()), lambda: self._of_rows(schema))

    def accepts_path(self, path: str) -> bool:
        """Whether DuckDB takes a full path for that of one file."""
        return _PATTERNS.isdisjoint(path)

    def accepts(self, files: FileSet) -> bool:
        """Whether DuckDB reads the columns of a set with the types of our Arrow columns."""
        for names in ([column.name for column in files.columns], files.schema.names):
            lower = {name.lower() for name in names}
            if len(lower) < len(names) or not _VIRTUAL.isdisjoint(lower):
                return False  # DuckDB would rename one of them
        described = self._of_files(files)
        return described is not None and all(self._fits(column, described) for column in files.columns)

    def _fits(self, column: SetColumn, described: Mapping[str, str]) -> bool:
        kind = self._types.get(column.name)
        if kind is None:
            return False
        if column.origin is Origin.PATH:
            return column.value is not None and _literal(column.value) is not None
        if column.origin is Origin.SAME:
            return described.get(column.source) == kind
        return column.origin is Origin.NOWHERE or column.source in described

    def _of_files(self, files: FileSet) -> Mapping[str, str] | None:
        """DuckDB's types of the columns of a layout."""
        import duckdb

        source = f"read_parquet({text_literal(files.paths[0])}, {_READING})"
        try:
            return self._described(files.layout, lambda: _types_of(self._connection, source))
        except duckdb.Error:
            return None  # our reader says what is wrong, if anything is

    def _of_rows(self, schema: pa.Schema) -> Mapping[str, str]:
        self._connection.register(_ROWS, schema.empty_table())
        try:
            return _types_of(self._connection, quoted(_ROWS))
        finally:
            self._connection.unregister(_ROWS)

    def _described(self, key: str, describe: Callable[[], Mapping[str, str]]) -> Mapping[str, str]:
        described = self._layouts.get(key)
        if described is None:
            described = describe()
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts.clear()
            self._layouts[key] = described
        return described

    def selects(self, divided: DividedPlan) -> list[str]:
        """A SELECT for each set of a plan, with the plan's columns."""
        condition = ""
        if divided.commit_times is not None:
            listed = ", ".join(text_literal(time) for time in divided.commit_times)
            condition = f" WHERE f.{quoted(COMMIT_TIME_COLUMN)} IN ({listed})" if listed else " WHERE false"
        return [self._select(files) + condition for files in divided.sets if not files.replaced]

    def merged_select(self, files: FileSet, handle: str) -> str:
        """A SELECT of the rows of a set that its log files leave.

        Args:
            files: a set with log files.
            handle: name of a table of ``number`` and ``bits``: bytes for each file, 1 for rows that are left out.
        """
        # Joined to the files, the list is there once. Were it a constant, DuckDB would copy it for each vector of rows.
        lists = f"SELECT list(CAST(bits AS BIT) ORDER BY number) AS bits FROM {quoted(handle)}"
        bit = "get_bit(left_out.bits[f.file_index::BIGINT + 1], f.file_row_number::INTEGER)"
        return f"{self._select(files)} CROSS JOIN ({lists}) AS left_out WHERE {bit} = 0"

    def _select(self, files: FileSet) -> str:
        columns = ", ".join(self._column(column) for column in files.columns)
        paths = ", ".join(text_literal(path) for path in files.paths)
        rows = max(files.rows, 1)
        return f"SELECT {columns} FROM read_parquet([{paths}], {_READING}, explicit_cardinality = {rows}) AS f"

    def _column(self, column: SetColumn) -> str:
        name, kind = quoted(column.name), self._types[column.name]
        if column.origin is Origin.NOWHERE:
            return f"CAST(NULL AS {kind}) AS {name}"
        if column.origin is Origin.PATH:
            assert column.value is not None
            return f"CAST({_literal(column.value)} AS {kind}) AS {name}"
        if column.origin is Origin.WIDER:
            return f"CAST(f.{quoted(column.source)} AS {kind}) AS {name}"
        return f"f.{quoted(column.source)} AS {name}"


def _types_of(connection: DuckDBPyConnection, source: str) -> dict[str, str]:
    """DuckDB's types of the columns of what stands behind FROM, by name."""
    rows: Sequence[tuple[str, str]] = [row[:2] for row in connection.execute(f"DESCRIBE FROM {source}").fetchall()]
    return {str(name): str(kind) for name, kind in rows}


def quoted(name: str) -> str:
    """A name as DuckDB's SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _literal(value: pa.Scalar) -> str | None:
    """A value of a partition path; None for those that are not written down here."""
    plain = value.as_py()
    if plain is None:
        return "NULL"
    if isinstance(plain, str):
        return None if "\0" in plain else text_literal(plain)
    if isinstance(plain, bool):
        return str(plain).lower()
    if isinstance(plain, (int, Decimal)):
        return text_literal(str(plain))
    if isinstance(plain, dt.date) and not isinstance(plain, dt.datetime):
        return text_literal(plain.isoformat())
    return None


def text_literal(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"
