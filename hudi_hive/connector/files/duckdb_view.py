"""A table under a name in somebody's own DuckDB connection: files for its reader, and all else beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from hudi_hive.connector.files.division import DividedPlan, EngineReader, divide
from hudi_hive.connector.files.division_cache import DivisionCache
from hudi_hive.connector.files.duckdb_files import DuckDBFiles, quoted
from hudi_hive.connector.files.rest_source import RestSource
from hudi_hive.plan import ScanPlan
from hudi_hive.predicate import RowFilter
from hudi_hive.table import MetaClient

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MOST_FILES: Final = 4_096
"""Slices of a plan that is made before the statement is known; more are planned with the filter of each statement."""


class FileSource(Protocol):
    """The interface of a source whose plan may be divided into files for an engine and slices that are read here."""

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows before any projection."""

    @property
    def client(self) -> MetaClient:
        """The table."""

    @property
    def folder(self) -> str | None:
        """The local folder with all files of the table; None where an engine cannot read files in place of rows."""

    @property
    def divisions(self) -> DivisionCache:
        """Divides its plans for an engine, and remembers what log files do to base files."""

    @property
    def narrows(self) -> bool:
        """Whether a filter can leave out so many files that it pays to ask for one before they are chosen."""

    def plan(self, row_filter: RowFilter | None) -> ScanPlan:
        """The plan of all rows, without slices that cannot hold one passing the filter."""


def divide_whole(source: FileSource, reader: EngineReader) -> DividedPlan | None:
    """Divide the plan of all rows of a source; None where no file of it is for an engine, or there are too many.

    Args:
        source: of rows without a filter or limit.
        reader: of the engine.
    """
    if source.folder is None:
        return None
    plan = source.plan(None)
    if plan.slices.num_rows > _MOST_FILES:
        return None
    divided = divide(source.client.storage, plan, source.schema, reader)
    return divided if divided.sets else None


def create_duckdb_view(
    connection: DuckDBPyConnection, name: str, source: FileSource, rows_of: Callable[[RestSource], object]
) -> bool:
    """Let a connection see a table under a name, as a view of its files.

    Args:
        connection: of the user.
        name: in DuckDB's SQL.
        source: the table.
        rows_of: makes what DuckDB scans for slices that it cannot read.

    Returns:
        False if none of the files is for DuckDB's reader, and nothing was done.
    """
    if (
        source.folder is None
        or not connection.execute("SELECT current_setting('enable_external_access')").fetchall()[0][0]
    ):
        return False
    other = connection.cursor()  # an error would end a transaction of the user's
    try:
        files = DuckDBFiles(other, source.schema, {})
        divided = divide_whole(source, files)
    finally:
        other.close()
    if divided is None:
        return False
    selects = files.selects(divided)
    if divided.has_rest:
        handle = f"{name} (slices with log files)"
        connection.register(handle, rows_of(RestSource(source.client, divided.rest, source.schema)))
        selects.append(f"FROM {quoted(handle)}")
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS {' UNION ALL BY NAME '.join(selects)}")
    source.client.counters.add("engine_files", sum(len(one.paths) for one in divided.sets))
    return True
