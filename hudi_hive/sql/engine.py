"""The engine: DuckDB over scans of Hudi tables."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_hive.connector import ScanSource
from hudi_hive.errors import HudiHiveError, NoSuchObjectError, SqlError, UnsupportedTableError
from hudi_hive.sql.catalog import ConnectorCatalog, InsertTarget, PathCatalog, TableCatalog
from hudi_hive.sql.insert import parse_insert
from hudi_hive.sql.instances import InstancePool
from hudi_hive.sql.run import Run, StatementScan, StatementTable, StatementView
from hudi_hive.sql.statement import Show, Statement, TableName, connection_error, parse_statement
from hudi_hive.sql.views import plain_view

if TYPE_CHECKING:
    from hudi_hive.connector import ConnectorView, HudiConnector
    from hudi_hive.write.writers import WriteReport

_BATCH_ROWS = 65_536
_DEEPEST_VIEW = 16


class SqlEngine:
    """Runs SELECT statements over Hudi tables, in this process.

    Each statement has a DuckDB instance to itself and sees its tables as of the instant at which it began. Columns and
    filters are pushed into the plan of each table: partitions, files and row groups that they rule out are not read.
    Local Parquet files of slices without log files are read by DuckDB's own reader; all else comes as Arrow beside
    them.
    Files outside of the tables cannot be read by a statement, and nothing can be written.

    Args:
        connector: the metastore whose tables statements name (:class:`hudi_hive.connector.HudiConnector`), or another
            catalogue of tables; None for ``tables`` alone.
        tables: more tables, by name or ``schema.name``: their base paths. They go before those of the connector.
        default_schema: the schema of names that do not say.
        memory_limit: memory that DuckDB may take, as ``"2GB"``; beyond it rows go to a temporary folder. None: 80 % of
            what the machine has.
        threads: threads of DuckDB; None: one for each processor.
        temporary_folder: where rows go that do not fit, each statement's in a folder of its own that goes with it.
            None: the system's, if it has one.
        storage_options: arguments of the file system, for ``tables``.

    Raises:
        MissingDependencyError: DuckDB is not installed.
        InvalidOptionError: a setting that DuckDB does not take, or a name that is none.

    Example:
        >>> from hudi_hive.connector import HudiConnector
        >>> engine = SqlEngine(HudiConnector("thrift://localhost:9083"), memory_limit="2GB")
        >>> engine.query("SELECT city, sum(fare) FROM lake.trips GROUP BY city").read_all()
    """

    def __init__(
        self,
        connector: HudiConnector | TableCatalog | None = None,
        *,
        tables: Mapping[str, str] | None = None,
        default_schema: str = "default",
        memory_limit: str | None = None,
        threads: int | None = None,
        temporary_folder: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._catalogs: list[TableCatalog] = []
        if tables:
            named = PathCatalog(tables, default_schema=default_schema, storage_options=storage_options)
            self._catalogs.append(named)
        if connector is not None:
            from hudi_hive.connector import HudiConnector

            self._catalogs.append(ConnectorCatalog(connector) if isinstance(connector, HudiConnector) else connector)
        self._default_schema = default_schema
        self._settings: dict[str, Any] = {"TimeZone": "UTC"}
        if memory_limit is not None:
            self._settings["memory_limit"] = memory_limit
        if threads is not None:
            self._settings["threads"] = threads
        self._pool = InstancePool(self._settings, temporary_folder)
        self._runs: weakref.WeakSet[Run] = weakref.WeakSet()
        # Settings that are wrong are refused now.
        self._pool.check()

    def query(self, sql: str, *, batch_size: int = _BATCH_ROWS) -> pa.RecordBatchReader:
        """Run a statement: SELECT, WITH, VALUES, DESCRIBE, SUMMARIZE, EXPLAIN, SHOW TABLES or SHOW SCHEMAS.

        Tables are ``schema.table``, or ``table`` in the default schema; ``t AT (TIMESTAMP => '2024-05-01 12:00:00')``
        and ``t AT (VERSION => <instant>)`` (or ``t FOR TIMESTAMP AS OF '…'``, ``t FOR VERSION AS OF <instant>``) show a
        table as it was, ``hudi_table_changes('t', 'cdc', begin, end)`` what a range of commits did. Rows are read as
        the batches are asked for; times with a zone come in UTC.

        Args:
            sql: one statement in DuckDB's dialect.
            batch_size: greatest number of rows of a batch.

        Returns:
            A reader; letting it go ends the statement. Of columns that have one name the later ones are called
            ``name_1``, ``name_2``.

        Raises:
            SqlError: a statement that is wrong, or that does not only read; it ran out of memory.
            NoSuchObjectError: a schema or table that does not exist.
            HudiHiveError: whatever reading a table raises, also from the reader.
        """
        run = Run(self._pool)
        self._runs.add(run)
        try:
            statement = parse_statement(run.connection, sql)
            if statement.show is not None:
                run.close(well=True)
                return self._names(statement.show)
            opened = self._opened(run, statement)
            run.register(statement, opened, self._default_schema)
            schema, batches = run.start(statement, batch_size)
        except BaseException:
            run.close()
            raise
        return pa.RecordBatchReader.from_batches(schema, batches)

    def scans(self, sql: str) -> list[StatementScan]:
        """Plan what a statement would read of each Hudi table, and say what was left out by what; nothing is run.

        The filters are those that DuckDB would push down when it plans the statement; what it learns of a join while it
        runs is not among them. Metadata tables, and tables of a metastore that are read by splits, are left out.

        Args:
            sql: as for :meth:`query`, with or without EXPLAIN.

        Returns:
            One for each table and moment that the statement names, by their names.

        Raises:
            HudiHiveError: as :meth:`query`.
        """
        run = Run(self._pool)
        try:
            statement = parse_statement(run.connection, sql)
            if statement.show is not None:
                return []
            return run.scans(statement, self._opened(run, statement), self._default_schema)
        finally:
            run.close()

    def insert(self, sql: str, options: Mapping[str, Any] | None = None) -> WriteReport:
        """Run ``INSERT INTO table [(columns)] query``: the rows of the query become one commit.

        The query's columns go into those of the table, or into the named ones, in their order; columns that are not
        named become null. Types are converted as of :mod:`hudi_hive.connector.assignment`. Rows are kept in memory
        until the commit. A table of a metastore is synced behind it.

        Args:
            sql: one statement.
            options: Hudi's write options; the operation is ``insert`` unless they say ``upsert`` or ``bulk_insert``.

        Returns:
            The report of the commit; what failed behind it, as the sync, is in ``failed``.

        Raises:
            SqlError: a statement that is no such insert, or a query of another number of columns.
            HudiHiveError: whatever :meth:`query` and the write raise; the table is as it was.
        """
        from hudi_hive.connector import PageSink, finish_insert
        from hudi_hive.write.coordination import SYNC, followed

        statement = parse_insert(sql)
        target = self._insert_target(statement.schema or self._default_schema, statement.name)
        insert = target.begin(statement.columns, options)
        sink = PageSink(insert)
        with self.query(statement.query) as rows:
            if len(rows.schema) != len(insert.schema):
                raise SqlError(
                    f"the query has {len(rows.schema)} columns, {statement.name} takes {len(insert.schema)}:"
                    f" {', '.join(insert.schema.names)}",
                    remedy="name the columns: INSERT INTO t (a, b) SELECT …",
                )
            for batch in rows:
                sink.append(batch.rename_columns(insert.schema.names))
        report = finish_insert(target.client, insert, [sink.finish()])
        if target.sync is not None:
            report = followed(report, target.client.base_path, SYNC, target.sync)
        return report

    def interrupt(self) -> None:
        """Interrupt all running statements, from another thread; their results are incomplete."""
        for run in list(self._runs):
            with suppress(connection_error()):  # it is closed: the statement has just ended
                run.connection.interrupt()

    def discard_files(self) -> None:
        """Remove what statements that still run have put aside: for a process that ends without waiting for them."""
        for run in list(self._runs):
            run.remove_folder()

    def _opened(self, run: Run, statement: Statement) -> list[StatementTable | StatementView]:
        """The tables of a statement, and its views behind what they read."""
        tables: dict[tuple[str, str], TableName] = {}  # a table that is named in two ways is opened once
        for table in statement.tables:
            tables.setdefault(((table.schema or self._default_schema).lower(), table.view.lower()), table)
        opened: dict[tuple[str, str], StatementTable | StatementView] = {}
        for (schema, view), table in tables.items():
            try:
                self._open(run, opened, schema, view, table, ())
            except HudiHiveError as error:
                if table.certain:
                    raise
                run.unread[view] = error  # most likely it is a common table expression that is meant
        return list(opened.values())

    def _open(
        self,
        run: Run,
        opened: dict[tuple[str, str], StatementTable | StatementView],
        schema: str,
        view: str,
        table: TableName,
        within: tuple[str, ...],
    ) -> None:
        """Open a table, or a view behind what it reads."""
        if (schema, view) in opened:
            return
        try:
            source = self._source(schema, table)
        except UnsupportedTableError:
            registered = self._view(schema, table)
            if registered is None:
                raise
        else:
            opened[schema, view] = StatementTable(schema, view, source)
            return
        if registered.full_name in within or len(within) >= _DEEPEST_VIEW:
            raise UnsupportedTableError(f"the view {registered.full_name} reads itself: {' > '.join(within)}")
        plain = plain_view(run.connection, registered)
        for inner in plain.tables:
            self._open(run, opened, inner.schema.lower(), inner.view.lower(), inner, (*within, registered.full_name))
        opened[schema, view] = StatementView(schema, view, registered, plain)

    def _view(self, schema: str, table: TableName) -> ConnectorView | None:
        """The view of a name; None where it is no plain name of one."""
        if table.as_of is not None or table.changes is not None:
            return None
        for catalog in self._catalogs:
            if isinstance(catalog, ConnectorCatalog):
                with suppress(NoSuchObjectError):
                    return catalog.view(schema, table.name)
        return None

    def _insert_target(self, schema: str, name: str) -> InsertTarget:
        for catalog in self._catalogs:
            with suppress(NoSuchObjectError):
                return catalog.insert_target(schema, name)
        raise _no_table(schema, name)

    def _source(self, schema: str, table: TableName) -> ScanSource:
        for catalog in self._catalogs:
            try:
                if (changes := table.changes) is not None:
                    return catalog.changes(schema, table.name, changes.query_type, changes.begin, changes.end)
                return catalog.source(schema, table.name, table.as_of)
            except NoSuchObjectError:
                continue
        raise _no_table(schema, table.name)

    def _names(self, show: Show) -> pa.RecordBatchReader:
        names: set[str] = set()
        if show.what == "schemas":
            for catalog in self._catalogs:
                names.update(catalog.schemas())
        else:
            schema, exists = show.schema or self._default_schema, False
            for catalog in self._catalogs:
                with suppress(NoSuchObjectError):
                    names.update(catalog.tables(schema))
                    exists = True
            if not exists:
                raise NoSuchObjectError(f"no schema {schema}", remedy="SHOW SCHEMAS lists them")
        return pa.table({"name": pa.array(sorted(names), pa.string())}).to_reader()


def _no_table(schema: str, name: str) -> NoSuchObjectError:
    return NoSuchObjectError(
        f"no table {schema}.{name}", remedy=f"SHOW TABLES FROM {schema} lists them; `hudi-hive sync` adds one"
    )
