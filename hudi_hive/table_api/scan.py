"""``Scan``: a query of a table, which can be planned, read and handed to engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa

from hudi_hive.caching import cached_property
from hudi_hive.errors import InvalidOptionError, MissingDependencyError, UnsupportedTableError
from hudi_hive.formats.base import BATCH_ROWS
from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import row_schema
from hudi_hive.metrics import observed
from hudi_hive.notebook_html import rows_html
from hudi_hive.plan import DynamicFilter, PartitionPlanner, Query, ScanPlan, SplitLoader, SplitOptions, plan_scan
from hudi_hive.plan.core import Filter
from hudi_hive.plan.model import PlanStep
from hudi_hive.predicate import RowFilter, parse_filter
from hudi_hive.read.scan import footer_steps, output_schema, read_plan, read_records
from hudi_hive.table import MetaClient

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]
    import polars as pl
    from datafusion import SessionContext
    from duckdb import DuckDBPyConnection

    from hudi_hive.connector import PageSources, ScanDataset, ScanHandle, TableSource


class Scan:
    """A query of a table, which is planned once, on first use, and can be read any number of times."""

    def __init__(
        self, client: MetaClient, query: Query, row_filter: Filter, selected_fields: tuple[str, ...] | None
    ) -> None:
        if isinstance(selected_fields, tuple) and len(set(selected_fields)) != len(selected_fields):
            raise InvalidOptionError(f"selected_fields names a column twice: {', '.join(selected_fields)}")
        self._client = client
        self._row_filter = row_filter
        self._selected = selected_fields
        self.query = query

    @cached_property
    def _plan(self) -> ScanPlan:
        return plan_scan(self._client, self.query, self._row_filter)

    def plan(self) -> ScanPlan:
        """The plan: which file slices are read (``plan().slices``, an Arrow table), and how planning chose them.

        Returns:
            The plan of the table's moment. ``slices`` has a row per file slice: partition, file_id, base_instant,
            base_file, base_size, log_files, log_sizes and path (of the base file below the base path).

        Raises:
            HudiHiveError: see :func:`hudi_hive.plan.plan_scan`.
        """
        return self._plan

    def footer_steps(self) -> list[PlanStep]:
        """Read the footers of all planned base files: what they rule out, as steps after those of the plan.

        Raises:
            HudiHiveError: as :meth:`to_batches`.
        """
        return footer_steps(self._client.storage, self._plan)

    def splits(
        self, options: SplitOptions | None = None, *, dynamic_filter: DynamicFilter | None = None
    ) -> SplitLoader:
        """Start making splits of the scan in the background; iterate over the result, then close it.

        :meth:`page_sources` reads them, here or elsewhere. Columns and a limit are up to who reads them.

        Args:
            options: sizes and weights; splits of 128 MiB without.
            dynamic_filter: rules out splits that were not taken yet.

        Raises:
            HudiHiveError: as :meth:`plan`, here or at the splits.
        """
        planner = PartitionPlanner(self._client, self.query, self._row_filter)
        return SplitLoader(planner, planner, options, dynamic_filter=dynamic_filter)

    @cached_property
    def _handle(self) -> ScanHandle:
        from hudi_hive.connector import ScanHandle

        return ScanHandle.of(self._client, self.query, self._row_filter)

    def page_sources(
        self, columns: Sequence[str] | None = None, row_filter: Filter = None, *, batch_size: int = BATCH_ROWS
    ) -> PageSources:
        """A reader of the scan's splits, which can be pickled with them: ``page_sources().read(split)``.

        It plans nothing and needs no metastore; the rows of all splits are those of the scan but for its limit.

        Args:
            columns: columns to give, in this order; without it those of the scan.
            row_filter: rows to give beyond what the scan asks for.
            batch_size: greatest number of rows of a batch.

        Raises:
            UnknownColumnError, PredicateError: columns or filter do not fit the schema.
            InvalidOptionError: a column is asked for twice, or batches of no row.
            HudiHiveError: as :meth:`plan`.
        """
        from hudi_hive.connector import PageSources

        names = self._selected if columns is None else columns
        return PageSources(self._handle, names, row_filter, batch_size=batch_size)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows: the table's, or the selected fields of it.

        Raises:
            UnknownColumnError: a selected field is not in the table's schema.
        """
        return output_schema(self._plan.schema, self._selected)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows as Arrow record batches, one after the other.

        Raises:
            FileVanishedError: a planned file was cleaned since; scan the refreshed table again.
            CorruptFileError: a file cannot be decoded.
            SchemaError: a file's column cannot become the table's type.
        """
        return self._observed_batches(self._plan, self.schema.names)

    def _observed_batches(self, plan: ScanPlan, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read a plan, as one operation from the first batch to the last that is asked for."""
        client = self._client
        kind = self.query.query_type.value
        with observed("read", kind, client.base_path, client.config.name, nested=False) as operation:
            operation.count(files=plan.file_count, bytes=plan.total_bytes, rows=0)
            for batch in read_plan(client.storage, plan, names):
                operation.count(rows=batch.num_rows)
                yield batch

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as an Arrow record batch reader, for engines that take one."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def to_arrow(self) -> pa.Table:
        """All rows as one Arrow table; it has the full schema even without a row."""
        return pa.Table.from_batches(list(self.to_batches()), schema=self.schema)

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a pandas data frame.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        try:
            import pandas  # noqa: F401
        except ImportError as error:
            raise MissingDependencyError("pandas is not installed", remedy="pip install 'hudi_hive[pandas]'") from error
        return self.to_arrow().to_pandas()

    def to_dataset(self, *, sql_filters: bool = False) -> ScanDataset:
        """The rows as an Arrow dataset: engines that read datasets push their columns and filters into the plan.

        Args:
            sql_filters: filters come from an engine that means SQL by them, as DuckDB and polars do: NaN is the
                greatest number, and a null is in no list.
        """
        from hudi_hive.connector import ScanDataset

        return ScanDataset(self._source(), sql_filters=sql_filters)

    def _source(self) -> TableSource:
        from hudi_hive.connector import TableSource

        return TableSource(self._client, self.query, self._row_filter, self._selected)

    def to_duckdb(self, table_name: str, connection: DuckDBPyConnection | None = None) -> DuckDBPyConnection:
        """Let DuckDB query the rows under a name. Each statement reads only the columns and files that it needs.

        Local Parquet files of slices without log files are read by DuckDB's own reader, if the scan has neither a
        filter nor a limit; all else comes as Arrow beside them.

        Args:
            table_name: the name in DuckDB's SQL.
            connection: where the name is to be known; a new in-memory database without it.

        Raises:
            MissingDependencyError: DuckDB is not installed.
        """
        try:
            import duckdb
        except ImportError as error:
            raise MissingDependencyError("DuckDB is not installed", remedy="pip install 'hudi_hive[duckdb]'") from error
        target = duckdb.connect() if connection is None else connection
        self._register(target, table_name)
        return target

    def _register(self, connection: DuckDBPyConnection, table_name: str) -> None:
        from hudi_hive.connector import ScanDataset
        from hudi_hive.connector.files import create_duckdb_view

        if not create_duckdb_view(
            connection, table_name, self._source(), lambda rest: ScanDataset(rest, sql_filters=True)
        ):
            connection.register(table_name, self.to_dataset(sql_filters=True))

    def to_polars(self) -> pl.DataFrame:
        """All rows as a polars data frame.

        Raises:
            MissingDependencyError: polars is not installed.
        """
        frame: pl.DataFrame = _polars().from_arrow(self.to_arrow())
        return frame

    def to_polars_lazy(self) -> pl.LazyFrame:
        """The rows as a lazy polars frame; collecting it reads only the columns and files that it needs.

        Raises:
            MissingDependencyError: polars is not installed.
        """
        from hudi_hive.connector import polars_lazy

        return polars_lazy(self._source())

    def to_datafusion(self, table_name: str, context: SessionContext | None = None) -> SessionContext:
        """Let DataFusion query the rows under a name. Each statement reads only the columns and files that it needs.

        Args:
            table_name: the name in DataFusion's SQL.
            context: where the name is to be known; a new session without it.

        Raises:
            MissingDependencyError: DataFusion is not installed.
        """
        from hudi_hive.connector import register_datafusion

        return register_datafusion(table_name, self._source(), context)

    def count(self) -> int:
        """Number of rows; reads no column but those that the filter and the range need."""
        return sum(batch.num_rows for batch in read_plan(self._client.storage, self._plan, []))

    def __repr__(self) -> str:
        query = self.query
        parts = [str(query.query_type)]
        parts += [f"{name}={value}" for name in ("as_of", "begin", "end", "limit") if (value := getattr(query, name))]
        if self._row_filter is not None:
            parts.append(f"where {self._row_filter}")
        if self._selected is not None:
            parts.append(f"columns {', '.join(self._selected)}")
        return f"Scan({self._client.config.name!r}, {', '.join(parts)})"

    def _repr_html_(self) -> str:
        rows = [(field.name, field.type, field.nullable) for field in self.schema]
        return rows_html(repr(self), ["column", "type", "nullable"], rows, len(rows))


class RecordsScan(Scan):
    """A query of a metadata table's records; it is read without a plan of files."""

    def __init__(
        self, table: MetadataTable, query: Query, row_filter: Filter, selected_fields: tuple[str, ...] | None
    ) -> None:
        super().__init__(table.client, query, row_filter, selected_fields)
        self._records = table

    @property
    def schema(self) -> pa.Schema:
        """The schema of the records, or the selected fields of it.

        Raises:
            UnknownColumnError: a selected field is not in it.
        """
        return output_schema(row_schema(self._records), self._selected)

    def _bound(self) -> RowFilter | None:
        bound = parse_filter(self._row_filter, row_schema(self._records))
        return None if bound.is_trivial else bound

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read the records as Arrow record batches, a partition after the other."""
        return read_records(self._records, self.schema.names, self._bound(), self.query.limit)

    def count(self) -> int:
        """Number of records."""
        return sum(batch.num_rows for batch in self.to_batches())

    def to_dataset(self, *, sql_filters: bool = False) -> Any:  # noqa: ANN401 - of another class than a table's
        """All records as an Arrow dataset in memory."""
        import pyarrow.dataset as pds  # imports pandas

        return pds.InMemoryDataset(self.to_arrow())

    def _register(self, connection: DuckDBPyConnection, table_name: str) -> None:
        connection.register(table_name, self.to_arrow())

    def to_polars_lazy(self) -> pl.LazyFrame:
        """All records as a lazy polars frame.

        Raises:
            MissingDependencyError: polars is not installed.
        """
        return self.to_polars().lazy()

    def _no_plan(self, *_: object, **__: object) -> NoReturn:
        raise UnsupportedTableError(
            "the records of a metadata table are read without a plan of files",
            path=self._records.client.base_path,
            remedy="read them: to_batches, to_arrow …",
        )

    plan: Any = _no_plan
    footer_steps: Any = _no_plan
    splits: Any = _no_plan


def _polars() -> ModuleType:
    try:
        import polars
    except ImportError as error:
        raise MissingDependencyError("polars is not installed", remedy="pip install 'hudi_hive[polars]'") from error
    return polars
