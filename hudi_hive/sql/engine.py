"""The engine: DuckDB over scans of Hudi tables."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_hive.connector import ScanDataset, ScanSource
from hudi_hive.errors import (
    HudiHiveError,
    InvalidOptionError,
    MissingDependencyError,
    NoSuchObjectError,
    SqlError,
    StorageError,
    UnsupportedTableError,
)
from hudi_hive.sql.catalog import ConnectorCatalog, InsertTarget, PathCatalog, TableCatalog
from hudi_hive.sql.insert import parse_insert
from hudi_hive.sql.statement import Show, Statement, TableName, connection_error, message_of, parse_statement
from hudi_hive.sql.views import PlainView, plain_view, select_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from hudi_hive.connector import ConnectorView, HudiConnector
    from hudi_hive.write.writers import WriteReport

_CATALOG = "hudi-hive sql"
"""Name of DuckDB's own database, out of the way of schemas that are called ``memory``."""

_BATCH_ROWS = 65_536
_DEEPEST_VIEW = 16


class SqlEngine:
    """Runs SELECT statements over Hudi tables, in this process.

    Each statement has a DuckDB instance of its own and sees its tables as of the instant at which it began. Columns and
    filters are pushed into the plan of each table: partitions, files and row groups that they rule out are not read.
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
        self._temporary_folder = temporary_folder
        self._runs: weakref.WeakSet[_Run] = weakref.WeakSet()
        # Settings that are wrong are refused now. The instance is not kept for a statement: one that is inherited by a
        # forked process can be neither used nor closed there.
        _connect(self._settings).close()

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
        run = _Run(self._settings, self._temporary_folder)
        self._runs.add(run)
        try:
            statement = parse_statement(run.connection, sql)
            if statement.show is not None:
                run.close()
                return self._names(statement.show)
            self._register(run, statement)
            schema, batches = run.start(statement, batch_size)
        except BaseException:
            run.close()
            raise
        return pa.RecordBatchReader.from_batches(schema, batches)

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

    def _register(self, run: _Run, statement: Statement) -> None:
        tables: dict[tuple[str, str], TableName] = {}  # a table that is named in two ways is opened once
        for table in statement.tables:
            tables.setdefault(((table.schema or self._default_schema).lower(), table.view.lower()), table)
        for (schema, view), table in tables.items():
            try:
                self._add(run, schema, view, table, ())
            except HudiHiveError as error:
                if table.certain:
                    raise
                run.unread[view] = error  # most likely it is a common table expression that is meant
        run.use(self._default_schema)

    def _add(self, run: _Run, schema: str, view: str, table: TableName, within: tuple[str, ...]) -> None:
        """Let a statement see a table, or a view and what it reads."""
        if (schema, view) in run.names:
            return
        try:
            source = self._source(schema, table)
        except UnsupportedTableError:
            registered = self._view(schema, table)
            if registered is None:
                raise
        else:
            run.add(schema, view, ScanDataset(source, sql_filters=True, on_error=run.errors.append))
            return
        if registered.full_name in within or len(within) >= _DEEPEST_VIEW:
            raise UnsupportedTableError(f"the view {registered.full_name} reads itself: {' > '.join(within)}")
        plain = plain_view(run.connection, registered)
        for inner in plain.tables:
            self._add(run, inner.schema.lower(), inner.view.lower(), inner, (*within, registered.full_name))
        run.add_view(schema, view, registered, plain)

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


class _Run:
    """One statement: its DuckDB instance, and the errors of its tables, of which DuckDB hands on the text alone."""

    def __init__(self, settings: Mapping[str, Any], temporary_folder: str | None) -> None:
        folder = _make_folder(temporary_folder)
        # Also when the statement is never begun or never closed.
        self.remove_folder = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.connection = _connect({**settings, "temp_directory": folder})
        # A list of its own: DuckDB holds the datasets, and they must not hold DuckDB's connection in turn.
        self.errors: list[Exception] = []
        self.unread: dict[str, HudiHiveError] = {}
        """Names that are those of common table expressions, too: why there is no table of the name."""
        self._views = 0
        self.names: set[tuple[str, str]] = set()

    def add_view(self, schema: str, view: str, registered: ConnectorView, plain: PlainView) -> None:
        """Let the statement see a view of a metastore, whose tables it sees."""
        self.names.add((schema, view))
        with self.translated():
            names = [str(row[0]) for row in self.connection.execute(f"DESCRIBE {plain.text}").fetchall()]
            text = select_of(registered, plain, names)
            self._create_schema(schema)
            self.connection.execute(f"CREATE VIEW {_quoted(schema)}.{_quoted(view)} AS {text}")

    def add(self, schema: str, view: str, dataset: ScanDataset) -> None:
        """Let the statement see a dataset under a name."""
        self.names.add((schema, view))
        handle = f"scan {self._views}"
        self._views += 1
        with self.translated():
            self.connection.register(handle, dataset)
            self._create_schema(schema)
            self.connection.execute(f"CREATE VIEW {_quoted(schema)}.{_quoted(view)} AS FROM {_quoted(handle)}")

    def use(self, schema: str) -> None:
        """The schema of names that do not say."""
        with self.translated():
            self._create_schema(schema)
            self.connection.execute(f"USE {_quoted(_CATALOG)}.{_quoted(schema)}")

    def start(self, statement: Statement, batch_size: int) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Begin; the schema is known then, rows come with the batches."""
        with self.translated():
            if statement.explain:
                rows = self.connection.execute(statement.text).fetchall()
                plan = pa.table({"plan": pa.array([text for row in rows for text in row[1:]], pa.string())})
                self.close()
                return plan.schema, iter(plan.to_batches())
            reader = self.connection.sql(statement.text).to_arrow_reader(batch_size)
        schema = _with_distinct_names(reader.schema)
        return schema, self._batches(reader, schema)

    def close(self) -> None:
        """End the statement."""
        self.connection.close()
        self.remove_folder()

    def _batches(self, reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            with self.translated():
                for batch in reader:
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        finally:
            reader.close()
            self.close()

    def _create_schema(self, schema: str) -> None:
        if schema.lower() in ("system", "temp"):
            raise InvalidOptionError(
                f"a schema cannot be called {schema} here", remedy="read its tables by their paths"
            )
        self.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_quoted(schema)}")

    def translated(self) -> _Translated:
        """Errors of DuckDB, in the block, as ours."""
        return _Translated(self)

    def error_of(self, error: BaseException) -> HudiHiveError | None:
        """What to raise for an error that DuckDB, or Arrow around it, raised; None: the error itself."""
        if isinstance(error, HudiHiveError) or not isinstance(error, (connection_error(), pa.ArrowException, OSError)):
            return None
        own = next((one for one in self.errors if isinstance(one, HudiHiveError)), None)
        if own is not None:
            return own
        text = message_of(error)
        for name, reason in self.unread.items():
            if f"Table with name {name} " in text or f'Circular reference to CTE "{name}"' in text:
                return reason
        remedy = None
        if "Out of Memory" in text:
            remedy = "give it more memory (memory_limit), or select less"
        return SqlError(text, remedy=remedy)


class _Translated:
    def __init__(self, run: _Run) -> None:
        self._run = run

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and (own := self._run.error_of(error)) is not None:
            raise own from error


def _make_folder(parent: str | None) -> str:
    """A folder for rows that do not fit into memory, that nobody else can look into; empty if there is no place."""
    try:
        if parent is not None:
            os.makedirs(parent, exist_ok=True)
        return tempfile.mkdtemp(prefix="hudi-hive-sql-", dir=parent)
    except OSError as error:
        if parent is None:
            return ""
        raise StorageError(f"no temporary folder can be made: {error.strerror}", path=parent) from error


def _connect(settings: Mapping[str, Any]) -> DuckDBPyConnection:
    try:
        import duckdb
    except ImportError as error:
        raise MissingDependencyError("DuckDB is not installed", remedy="pip install 'hudi_hive[duckdb]'") from error
    connection = duckdb.connect()
    try:
        connection.execute(f"ATTACH ':memory:' AS {_quoted(_CATALOG)}; USE {_quoted(_CATALOG)}; DETACH memory")
        for name, value in settings.items():
            connection.execute(f"SET {name} = {_literal(value)}")
        for name in _GUARDS:
            connection.execute(f"SET {name} = false")
        connection.execute("SET lock_configuration = true")
    except duckdb.Error as error:
        connection.close()
        raise InvalidOptionError(message_of(error)) from error
    return connection


_GUARDS: Sequence[str] = (
    "python_enable_replacements",  # no names of Python variables
    "autoinstall_known_extensions",
    "autoload_known_extensions",
    "enable_external_access",  # no files but those of the tables
)


def _with_distinct_names(schema: pa.Schema) -> pa.Schema:
    """``a, a`` as ``a, a_1``: of two columns of one name, dicts, JSON and most readers of Parquet lose one."""
    names, taken = [], set(schema.names)
    for name in schema.names:
        new, count = name, 0
        while new in names or (new in taken and new != name):
            count += 1
            new = f"{name}_{count}"
        names.append(new)
    return pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)], schema.metadata)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: object) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def _no_table(schema: str, name: str) -> NoSuchObjectError:
    return NoSuchObjectError(
        f"no table {schema}.{name}", remedy=f"SHOW TABLES FROM {schema} lists them; `hudi-hive sync` adds one"
    )
