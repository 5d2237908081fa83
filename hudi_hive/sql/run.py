"""One statement on a DuckDB instance: the tables that it sees, its rows, its errors as ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import pyarrow as pa

from hudi_hive.connector import ScanDataset, ScanSource, TableSource
from hudi_hive.connector.files import DuckDBFiles, FileSet, FileSource, RestSource, quoted
from hudi_hive.errors import HudiHiveError, InvalidOptionError, SqlError
from hudi_hive.predicate import RowFilter
from hudi_hive.read.scan import footer_steps, read_plan
from hudi_hive.sql.function_filters import with_functions
from hudi_hive.sql.instances import CATALOG, Instance, InstancePool
from hudi_hive.sql.scan_filters import PlannedTable, scan_filters
from hudi_hive.sql.statement import Statement, connection_error, message_of
from hudi_hive.sql.views import PlainView, select_of

if TYPE_CHECKING:
    from hudi_hive.connector import ConnectorView
    from hudi_hive.plan import PlanStep, ScanPlan
    from hudi_hive.table import MetaClient

_OF_FILES: Final = re.compile(
    r"IO Error|Invalid Error|Serialization Error|(?i:parquet|page|decompress|snappy|gzip|zstd|lz4|brotli|decod|corrupt)"
)
"""What errors of DuckDB that are about the content of files look like."""


@dataclass(frozen=True, slots=True)
class StatementTable:
    """A table of a statement, under its name there."""

    schema: str
    view: str
    source: ScanSource

    @property
    def file_source(self) -> FileSource | None:
        """The source, if DuckDB may read files of it."""
        source = cast(FileSource, self.source)
        return None if getattr(source, "folder", None) is None else source


@dataclass(frozen=True, slots=True)
class StatementView:
    """A view of a metastore that a statement names, whose tables are opened before it."""

    schema: str
    view: str
    registered: ConnectorView
    plain: PlainView


@dataclass(frozen=True, slots=True)
class StatementScan:
    """What a statement would read of one table.

    Attributes:
        table: ``schema.table``.
        plan: the slices that would be read, and the filter that was found in the statement.
        steps: what each step of planning left out, then what the footers of the files do.
    """

    table: str
    plan: ScanPlan
    steps: Sequence[PlanStep]


class Run:
    """One statement: its DuckDB instance, and the errors of its tables, of which DuckDB hands on the text alone.

    Args:
        pool: gives the instance.
    """

    def __init__(self, pool: InstancePool) -> None:
        self._pool = pool
        # A list of its own: DuckDB holds the datasets, and they must not hold DuckDB's connection in turn.
        self.errors: list[Exception] = []
        self.unread: dict[str, HudiHiveError] = {}
        """Names that are those of common table expressions, too: why there is no table of the name."""
        self._by_engine: list[tuple[MetaClient, ScanPlan]] = []
        self._handles = 0
        self._use(pool.take())

    def _use(self, instance: Instance) -> None:
        self._instance = instance
        self.connection = instance.root.cursor()
        # One transaction, so that now() is the same when the statement is planned and when it is run.
        self.connection.execute("BEGIN")

    def register(
        self, statement: Statement, opened: Sequence[StatementTable | StatementView], default_schema: str
    ) -> None:
        """Let the statement see its tables and views.

        Args:
            statement: reads them.
            opened: views behind what they read.
            default_schema: the schema of names that do not say.
        """
        tables = [one for one in opened if isinstance(one, StatementTable)]
        sources = {number: table.file_source for number, table in enumerate(tables)}
        if statement.names_files or self.unread:
            sources = dict.fromkeys(sources)  # DuckDB must not read a file that the statement itself names
            self._change(self._pool.strict())
        else:
            folders = frozenset(source.folder for source in sources.values() if source is not None and source.folder)
            if not self._instance.folders >= folders:
                self._change(self._pool.take(folders))
        views = [one for one in opened if isinstance(one, StatementView)]
        with self.translated():
            self._create_schemas(opened, default_schema)
            narrows = (statement.has_conditions or bool(views)) and any(
                source is not None and source.narrows for source in sources.values()
            )
            filters = self._filters(statement, tables, views) if narrows else {}
            for number, table in enumerate(tables):
                source = sources[number]
                if source is None:
                    self._view(table, f"FROM {self._scan(table.source)}")
                else:
                    self._view(
                        table, self._divided(source, filters.get(number), counts=statement.counts_rows and not views)
                    )
            if not narrows:
                self._views(views)

    def scans(
        self, statement: Statement, opened: Sequence[StatementTable | StatementView], default_schema: str
    ) -> list[StatementScan]:
        """What the statement would read of each table that it names; arguments as for :meth:`register`."""
        tables = [one for one in opened if isinstance(one, StatementTable)]
        views = [one for one in opened if isinstance(one, StatementView)]
        if statement.names_files or self.unread:
            self._change(self._pool.strict())
        with self.translated():
            self._create_schemas(opened, default_schema)
            filters = self._filters(statement, tables, views)
        scans = []
        for number, table in enumerate(tables):
            if isinstance(table.source, TableSource):
                plan = table.source.plan(filters.get(number))
                steps = [*plan.steps, *footer_steps(table.source.client.storage, plan)]
                scans.append(StatementScan(f"{table.schema}.{table.view}", plan, steps))
        return sorted(scans, key=lambda scan: scan.table)

    def _change(self, instance: Instance) -> None:
        self.close(well=True)
        self._use(instance)

    def _filters(
        self, statement: Statement, tables: Sequence[StatementTable], views: Sequence[StatementView]
    ) -> Mapping[int, RowFilter | None]:
        """What the statement can use of each table."""
        planned = {number: PlannedTable(number, table.source.schema) for number, table in enumerate(tables)}
        for number, table in enumerate(tables):
            handle = self._handle()
            self.connection.register(handle, planned[number])
            self._view(table, planned[number].select(handle))
        self._views(views)
        self.connection.execute("SET explain_output = 'all'")
        filters = scan_filters(self.connection, statement.query, planned)
        self.connection.execute("SET explain_output = 'physical_only'")
        if statement.conditions and len(tables) == 1 and not views:
            return {0: with_functions(filters[0], statement.conditions, tables[0].source.schema)}
        return filters

    def _divided(self, source: FileSource, row_filter: RowFilter | None, *, counts: bool) -> str:
        """A SELECT of a table's rows: files that DuckDB reads, and all else beside them.

        Args:
            source: the table.
            row_filter: what the statement can use of it.
            counts: nothing but the number of rows matters.
        """
        client, schema = source.client, source.schema
        plan = source.plan(row_filter)
        # On a connection of its own: an error would end the transaction.
        other = self._instance.root.cursor()
        try:
            files = DuckDBFiles(other, schema, self._instance.described)
            divided = source.divisions.divide(plan, schema, files)
        finally:
            other.close()
        if counts and divided.rows is not None and any(one.replaced for one in divided.sets):
            return f"SELECT NULL AS nothing FROM range({divided.rows})"  # none of them is read or tested
        selects = files.selects(divided)
        for one in divided.sets:
            if one.replaced:
                selects += self._merged(files, one, schema)
        if divided.has_rest or not selects:
            selects.append(f"FROM {self._scan(RestSource(client, divided.rest, schema))}")
        self._by_engine.append((client, divided.by_engine))
        for one in divided.sets:
            client.counters.add("engine_files", len(one.paths))
        return " UNION ALL BY NAME ".join(selects)

    def _merged(self, files: DuckDBFiles, one: FileSet, schema: pa.Schema) -> list[str]:
        """SELECTs of files with log files: the rows that those leave, and those that stand for the others."""
        bits, rows = self._handle(), self._handle()
        numbers = pa.array(range(len(one.left_out)), pa.int64())
        self.connection.register(bits, pa.table({"number": numbers, "bits": one.left_out}))
        merged = pa.concat_tables([replaced.rows for replaced in one.replaced]).select(schema.names)
        self.connection.register(rows, merged)
        return [files.merged_select(one, bits), f"FROM {quoted(rows)}"]

    def _scan(self, source: ScanSource) -> str:
        """The name of a scan of ours."""
        handle = self._handle()
        self.connection.register(handle, ScanDataset(source, sql_filters=True, on_error=self.errors.append))
        return quoted(handle)

    def _handle(self) -> str:
        self._handles += 1
        return f"scan {self._handles}"

    def _view(self, table: StatementTable | StatementView, select: str) -> None:
        self.connection.execute(f"CREATE OR REPLACE VIEW {quoted(table.schema)}.{quoted(table.view)} AS {select}")

    def _views(self, views: Sequence[StatementView]) -> None:
        for view in views:
            names = [str(row[0]) for row in self.connection.execute(f"DESCRIBE {view.plain.text}").fetchall()]
            self._view(view, select_of(view.registered, view.plain, names))

    def start(self, statement: Statement, batch_size: int) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Begin; the schema is known then, rows come with the batches."""
        with self.translated():
            if statement.explain:
                rows = self.connection.execute(statement.text).fetchall()
                plan = pa.table({"plan": pa.array([text for row in rows for text in row[1:]], pa.string())})
                self.close(well=True)
                return plan.schema, iter(plan.to_batches())
            reader = self.connection.sql(statement.text).to_arrow_reader(batch_size)
        schema = _with_distinct_names(reader.schema)
        return schema, self._batches(reader, schema)

    def close(self, *, well: bool = False) -> None:
        """End the statement.

        Args:
            well: it has come to its end, so that its instance may serve another one.
        """
        self.connection.close()
        if well:
            self._pool.give_back(self._instance)
        else:
            self._instance.close()

    def remove_folder(self) -> None:
        """Remove what the statement has put aside."""
        self._instance.remove_folder()

    def _batches(self, reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        well = False
        try:
            with self.translated():
                for batch in reader:
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
            well = not self.errors
        finally:
            reader.close()
            self.close(well=well)

    def _create_schemas(self, opened: Sequence[StatementTable | StatementView], default_schema: str) -> None:
        for schema in dict.fromkeys([*(one.schema for one in opened), default_schema]):
            self._create_schema(schema)
        self.connection.execute(f"USE {quoted(CATALOG)}.{quoted(default_schema)}")

    def _create_schema(self, schema: str) -> None:
        if schema.lower() in ("system", "temp"):
            raise InvalidOptionError(
                f"a schema cannot be called {schema} here", remedy="read its tables by their paths"
            )
        self.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")

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
        of_file = self._error_of_file(text)
        if of_file is not None:
            return of_file
        remedy = None
        if "Out of Memory" in text:
            remedy = "give it more memory (memory_limit), or select less"
        return SqlError(text, remedy=remedy)

    def _error_of_file(self, text: str) -> HudiHiveError | None:
        """What our reader says of the files that DuckDB could not read: DuckDB does not name them each time."""
        if _OF_FILES.search(text) is None:
            return None
        for client, plan in self._by_engine:
            try:
                for _ in read_plan(client.storage, plan):
                    pass
            except HudiHiveError as error:
                return error
        return None


class _Translated:
    def __init__(self, run: Run) -> None:
        self._run = run

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and (own := self._run.error_of(error)) is not None:
            raise own from error


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
