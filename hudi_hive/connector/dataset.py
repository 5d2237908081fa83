"""Hudi tables as Arrow datasets, by which engines (DuckDB, polars) push columns and filters into plans.

Such engines call ``dataset.scanner(columns=…, filter=…)`` and read its batches. Each such call is a scan of its own: it
is planned with the engine's filter, so that partitions, files and row groups are left out, and reads the engine's
columns alone. All scans of one dataset see the table as of the same instant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from hudi_hive.caching import cached_property
from hudi_hive.connector.files import DivisionCache
from hudi_hive.errors import InvalidOptionError, QueryError
from hudi_hive.formats.base import BATCH_ROWS
from hudi_hive.plan import PLAN_SCHEMA, Query, QueryType, ScanPlan, plan_scan
from hudi_hive.plan.core import Filter, plan_of_slices
from hudi_hive.predicate import RowFilter, bind_as_sql, conjunction, parse_filter
from hudi_hive.read.scan import output_schema, read_plan
from hudi_hive.table import MetaClient

_FEW_PARTITIONS = 16
_FEW_FILES = 64
"""Files that are planned whole sooner than a filter is looked for: an engine's reader leaves them out by itself."""


class ScanSource(Protocol):
    """The interface of the source of a :class:`ScanDataset`: a table as of one instant."""

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows before any projection."""

    def batches(
        self, columns: Sequence[str] | None, row_filter: RowFilter | None, batch_size: int
    ) -> Iterator[pa.RecordBatch]:
        """Plan and read the rows.

        Args:
            columns: columns to return, in this order; None for all, none for batches that only count rows.
            row_filter: rows to return, bound to :attr:`schema`; None for all.
            batch_size: greatest number of rows of a batch.
        """


@dataclass
class TableSource:
    """A table by its base path, as :class:`hudi_hive.HudiTable` scans it.

    Attributes:
        client: the table as of the moment its timeline was read.
        query: the question to it.
        row_filter: rows that the question asks for, in any form of a filter.
        selected: columns that it asks for; None for all.
    """

    client: MetaClient
    query: Query = field(default_factory=Query)
    row_filter: Filter = None
    selected: Sequence[str] | None = None
    _full_schema: pa.Schema | None = field(default=None, init=False, repr=False)
    _whole: ScanPlan | None = field(default=None, init=False, repr=False)
    _has_few_partitions: bool = field(default=False, init=False, repr=False)

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows; a snapshot's is known without planning."""
        return output_schema(self._shown(), self.selected)

    def batches(
        self, columns: Sequence[str] | None, row_filter: RowFilter | None, batch_size: int
    ) -> Iterator[pa.RecordBatch]:
        """Plan with both filters and read; see :meth:`ScanSource.batches`."""
        names = list(self.schema.names if columns is None else columns)
        if row_filter is not None and self.query.limit is not None:
            return self._behind_limit(names, row_filter, batch_size)
        plan = plan_scan(self.client, self.query, self._both(row_filter))
        return read_plan(self.client.storage, plan, names, batch_size=batch_size)

    @property
    def folder(self) -> str | None:
        """The local folder with all files of the table; None where an engine cannot read files in place of rows."""
        storage = self.client.storage
        if not storage.is_local or self.row_filter is not None or self.query.limit is not None:
            return None
        return None if self.query.query_type is QueryType.CDC else storage.root

    @cached_property
    def divisions(self) -> DivisionCache:
        """Divides its plans for an engine, and remembers what log files do as long as there is the source."""
        return DivisionCache(self.client.storage)

    @property
    def narrows(self) -> bool:
        """Whether a filter can leave out so many files that it pays to ask for one before they are chosen."""
        config = self.client.config
        if not (config.is_partitioned or set(config.metadata_partitions) - {"files"}):
            return False
        return not self._has_few_partitions if self._whole is None else self._whole.slices.num_rows > _FEW_FILES

    def plan(self, row_filter: RowFilter | None) -> ScanPlan:
        """The plan of all rows, without slices that cannot hold one passing the filter; the whole one is made once."""
        if row_filter is not None:
            plan = plan_scan(self.client, self.query, self._rebound(row_filter))
            self._has_few_partitions = plan.partitions_total <= _FEW_PARTITIONS
            return plan
        if self._whole is None:
            self._whole = plan_scan(self.client, self.query)
        return self._whole

    def _shown(self) -> pa.Schema:
        if self._full_schema is None:
            if self.query.query_type.has_range:
                self._full_schema = plan_scan(self.client, self.query).schema
            else:
                self._full_schema = plan_of_slices(self.client, self.query, PLAN_SCHEMA.empty_table()).schema
        return self._full_schema

    def _both(self, row_filter: RowFilter | None) -> Filter:
        if row_filter is None or self.row_filter is None:
            return self.row_filter if row_filter is None else self._rebound(row_filter)
        own = parse_filter(self.row_filter, self._shown())
        return RowFilter(conjunction([own.root, row_filter.root]), self._shown())

    def _rebound(self, row_filter: RowFilter) -> RowFilter:
        return RowFilter(row_filter.root, self._shown())

    def _behind_limit(self, names: list[str], row_filter: RowFilter, batch_size: int) -> Iterator[pa.RecordBatch]:
        """The filter holds for the rows that the limit lets through: it must not choose which ones those are."""
        needed = list(dict.fromkeys([*names, *row_filter.columns]))
        plan = plan_scan(self.client, self.query, self.row_filter)
        for batch in read_plan(self.client.storage, plan, needed, batch_size=batch_size):
            kept = batch.filter(row_filter.evaluate(batch))
            if kept.num_rows:
                yield kept.select(names)


class ScanScanner:
    """A scan of a dataset by an engine, which is planned when its first batch is read."""

    def __init__(self, schema: pa.Schema, start: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self._schema = schema
        self._start = start

    @property
    def projected_schema(self) -> pa.Schema:
        """Schema of the batches."""
        return self._schema

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a reader that opens files when their batches are read; planning is done when this returns."""
        return pa.RecordBatchReader.from_batches(self._schema, self._start())

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as batches."""
        return self._start()

    def to_table(self) -> pa.Table:
        """All rows."""
        return pa.Table.from_batches(list(self._start()), schema=self._schema)

    def head(self, num_rows: int) -> pa.Table:
        """The first rows; no more is read than they need."""
        taken: list[pa.RecordBatch] = []
        left = num_rows
        batches = self._start()
        while left > 0 and (batch := next(batches, None)) is not None:
            taken.append(batch.slice(0, left))
            left -= taken[-1].num_rows
        return pa.Table.from_batches(taken, schema=self._schema)

    def count_rows(self) -> int:
        """Number of rows."""
        return sum(batch.num_rows for batch in self._start())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows for any library that takes Arrow's C stream interface."""
        return self.to_reader().__arrow_c_stream__(requested_schema)


class ScanDataset(ds.Dataset):
    """A Hudi table as an Arrow dataset, for engines that push columns and filters into datasets.

    Args:
        source: what is read.
        sql_filters: filters come from an engine that means SQL by them (NaN is the greatest number, a null is in no
            list), not from a user who means what Arrow makes of the expression.
        on_error: called with each error of planning or reading before it is raised, as engines keep only its text.

    Raises (when rows are read): whatever :meth:`hudi_hive.table_api.table.Scan.to_batches` raises.

    Example:
        >>> dataset = HudiTable.open("/lake/trips").scan().to_dataset()
        >>> dataset.to_table(columns=["fare"], filter=pc.field("city") == "sf")
    """

    # The base class is the shell of a C++ object that does not exist here: each of its methods must be defined.
    def __init__(
        self,
        source: ScanSource,
        *,
        sql_filters: bool = False,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        self._source = source
        self._sql_filters = sql_filters
        self._on_error = on_error

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._source, self._sql_filters)

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows, meta columns first."""
        with _ErrorReport(self._on_error):
            return self._source.schema

    @property
    def partition_expression(self) -> pc.Expression:
        """An expression that holds for every row: the constant true."""
        return pc.scalar(True)

    def scanner(
        self,
        columns: Sequence[str] | dict[str, pc.Expression] | None = None,
        filter: pc.Expression | RowFilter | str | None = None,
        batch_size: int = BATCH_ROWS,
        **options: object,
    ) -> ScanScanner:
        """A scan of some columns and rows.

        Args:
            columns: names, in the order they come out; or expressions by name, computed after reading.
            filter: an Arrow expression, or what else :func:`~hudi_hive.predicate.parse_filter` takes.
            batch_size: greatest number of rows of a batch.
            options: Arrow's options about read-ahead, threads and memory pools, which have no meaning here.

        Raises:
            UnknownColumnError, PredicateError: the columns or the filter do not fit the schema.
            InvalidOptionError: a column is asked for twice, or batches of no row.
        """
        with _ErrorReport(self._on_error):
            if batch_size < 1:
                raise InvalidOptionError(f"batch_size must be at least 1, not {batch_size}")
            schema = self._source.schema
            row_filter = self._bound(filter, schema)
            if isinstance(columns, dict):
                return self._computed(columns, row_filter, batch_size)
            projected = output_schema(schema, columns)
        names = None if columns is None else projected.names
        return ScanScanner(projected, lambda: self._read(names, row_filter, batch_size))

    def to_batches(self, *args: Any, **options: Any) -> Iterator[pa.RecordBatch]:  # noqa: ANN401 - as scanner
        """Batches of :meth:`scanner`."""
        return self.scanner(*args, **options).to_batches()

    def to_table(self, *args: Any, **options: Any) -> pa.Table:  # noqa: ANN401 - as scanner
        """All rows of :meth:`scanner`."""
        return self.scanner(*args, **options).to_table()

    def head(self, num_rows: int, *args: Any, **options: Any) -> pa.Table:  # noqa: ANN401 - as scanner
        """The first rows of :meth:`scanner`."""
        return self.scanner(*args, **options).head(num_rows)

    def count_rows(self, filter: pc.Expression | None = None, **options: Any) -> int:  # noqa: ANN401 - as scanner
        """Number of rows; reads no column but those of the filter."""
        return self.scanner([], filter, **options).count_rows()

    def take(self, indices: pa.Array | pa.ChunkedArray | Sequence[int], *args: Any, **options: Any) -> pa.Table:  # noqa: ANN401 - as scanner
        """Rows by their number; reads all of them."""
        return self.to_table(*args, **options).take(indices)

    def filter(self, expression: pc.Expression) -> ScanDataset:
        """The dataset with a filter that holds for every scan."""
        with _ErrorReport(self._on_error):
            row_filter = self._bound(expression, self._source.schema)
        narrowed = _Narrowed(self._source, row_filter)
        return ScanDataset(narrowed, sql_filters=self._sql_filters, on_error=self._on_error)

    def sort_by(self, sorting: str | list[tuple[str, str]], **options: Any) -> ds.InMemoryDataset:  # noqa: ANN401
        """All rows in memory, sorted."""
        return ds.InMemoryDataset(self.to_table().sort_by(sorting, **options))

    def join(self, right_dataset: ds.Dataset, *args: Any, **options: Any) -> ds.InMemoryDataset:  # noqa: ANN401
        """All rows in memory, joined with another dataset's."""
        return ds.InMemoryDataset(self.to_table().join(right_dataset.to_table(), *args, **options))

    def join_asof(self, right_dataset: ds.Dataset, *args: Any, **options: Any) -> ds.InMemoryDataset:  # noqa: ANN401
        """All rows in memory, joined with the nearest of another dataset's."""
        return ds.InMemoryDataset(self.to_table().join_asof(right_dataset.to_table(), *args, **options))

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[ds.Fragment]:
        """Refused, since rows of a file are not the rows of the table.

        Raises:
            QueryError: always.
        """
        raise QueryError("a Hudi table has no Arrow fragments", remedy="use scanner, or the splits of the connector")

    def _get_fragments(self, filter: pc.Expression | None) -> Iterator[ds.Fragment]:
        return self.get_fragments(filter)

    def replace_schema(self, schema: pa.Schema) -> ScanDataset:
        """Refused, unless it is the schema that the table has.

        Raises:
            QueryError: the schema differs.
        """
        if schema.equals(self.schema):
            return self
        raise QueryError("a Hudi table's schema cannot be replaced", remedy="cast the table that comes out")

    def __repr__(self) -> str:
        return f"ScanDataset({self._source!r})"

    def _bound(self, filter: object, schema: pa.Schema) -> RowFilter | None:
        if filter is None:
            return None
        if self._sql_filters and isinstance(filter, pc.Expression):
            bound = RowFilter(bind_as_sql(filter, schema), schema)
        else:
            bound = parse_filter(cast(Filter, filter), schema)
        return None if bound.is_trivial else bound

    def _read(
        self, columns: Sequence[str] | None, row_filter: RowFilter | None, batch_size: int
    ) -> Iterator[pa.RecordBatch]:
        """Planned now, read later."""
        with _ErrorReport(self._on_error):
            batches = self._source.batches(columns, row_filter, batch_size)
        return self._watched(batches)

    def _watched(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with _ErrorReport(self._on_error):
            yield from batches

    def _computed(
        self, columns: dict[str, pc.Expression], row_filter: RowFilter | None, batch_size: int
    ) -> ScanScanner:
        empty = ds.Scanner.from_batches(iter(()), schema=self._source.schema, columns=columns)

        def start() -> Iterator[pa.RecordBatch]:
            reader = pa.RecordBatchReader.from_batches(self._source.schema, self._read(None, row_filter, batch_size))
            batches: Iterator[pa.RecordBatch] = ds.Scanner.from_batches(reader, columns=columns).to_batches()
            return batches

        return ScanScanner(empty.projected_schema, start)


@dataclass
class _Narrowed:
    """A source with a filter of its own."""

    source: ScanSource
    row_filter: RowFilter | None

    @property
    def schema(self) -> pa.Schema:
        return self.source.schema

    def batches(
        self, columns: Sequence[str] | None, row_filter: RowFilter | None, batch_size: int
    ) -> Iterator[pa.RecordBatch]:
        parts = [one.root for one in (self.row_filter, row_filter) if one is not None]
        combined = RowFilter(conjunction(parts), self.schema) if parts else None
        return self.source.batches(columns, combined, batch_size)


class _ErrorReport:
    """Reports an error that leaves the block."""

    def __init__(self, report: Callable[[Exception], None] | None) -> None:
        self._report = report

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._report is not None and isinstance(error, Exception):
            self._report(error)


def _restored(source: ScanSource, sql_filters: bool) -> ScanDataset:
    return ScanDataset(source, sql_filters=sql_filters)
