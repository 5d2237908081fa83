"""``HudiConnector``: metadata, splits and rows of synced Hudi tables for query engines (RFC-40)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from hudi_hive.connector.handle import HudiTableHandle
from hudi_hive.connector.metadata import ConnectorMetadata
from hudi_hive.connector.page_sink import InsertFragment, InsertHandle, PageSink, begin_insert, finish_insert
from hudi_hive.connector.page_source import PageSources
from hudi_hive.connector.split_manager import PartitionSource, SplitSource
from hudi_hive.errors import UnsupportedTableError
from hudi_hive.formats.base import BATCH_ROWS
from hudi_hive.metastore import HiveMetastore
from hudi_hive.metrics import IoCounters
from hudi_hive.plan.core import Filter
from hudi_hive.plan.model import QueryType
from hudi_hive.plan.splits import DynamicFilter, HudiSplit, LoadLimits, SplitOptions
from hudi_hive.predicate import RowFilter
from hudi_hive.read.scan import in_order

if TYPE_CHECKING:
    import polars as pl
    from datafusion import SessionContext

    from hudi_hive.connector.dataset import ScanDataset
    from hudi_hive.write.writers import WriteReport

_READERS = 4


class HudiConnector:
    """Tables of one metastore: their metadata, splits and rows.

    Args:
        metastore: the metastore, or its URIs.
        storage_options: for the tables' files.
        counters: where their I/O is counted.

    Example:
        >>> with HudiConnector("thrift://localhost:9083") as connector:
        ...     handle = connector.metadata.table("lake", "trips")
        ...     with connector.splits(handle, "city = 'sf'") as splits:
        ...         for split in splits:
        ...             for batch in connector.page_source(handle, split, ["fare"]):
        ...                 print(batch.num_rows)
    """

    def __init__(
        self,
        metastore: HiveMetastore | str | Iterable[str],
        storage_options: Mapping[str, Any] | None = None,
        *,
        counters: IoCounters | None = None,
    ) -> None:
        self._is_own = not isinstance(metastore, HiveMetastore)
        self.metastore = metastore if isinstance(metastore, HiveMetastore) else HiveMetastore(metastore)
        self.metadata = ConnectorMetadata(self.metastore, storage_options, counters=counters)

    def splits(
        self,
        handle: HudiTableHandle,
        row_filter: Filter = None,
        *,
        source: PartitionSource = "metastore",
        dynamic_filter: DynamicFilter | None = None,
        options: SplitOptions | None = None,
        listing_threads: int = 4,
        split_threads: int = 2,
        max_outstanding_splits: int = 1000,
    ) -> SplitSource:
        """Start making the splits of a query in the background.

        Args:
            handle: the table.
            row_filter: rows that are asked for, beyond what the handle says. Partitions and files that cannot hold one
                are left out; splits carry it as their predicate, by which :meth:`page_source` filters rows.
            source: where partitions come from. ``metastore``: those that were synced, at the locations that were
                recorded, which are not looked at. ``metadata table``: all that the table's metadata table names.
                ``listing``: all folders. Files come from the metadata table where it can be used, unless ``listing``.
            dynamic_filter: may become narrower while splits are made; those made after that carry it, too.
            options: sizes and weights of splits.
            listing_threads, split_threads: threads that plan batches of partitions, and that make splits.
            max_outstanding_splits: splits that may wait to be taken.

        Raises:
            PredicateError, UnknownColumnError: the filter cannot be read or does not fit the columns.
            InvalidOptionError: another source, or partition keys of which ``source`` does not tell the values.
            MetadataTableError: ``metadata table`` is asked for and cannot be used.
            HudiHiveError: whatever planning refuses, here or when splits are taken.
        """
        return SplitSource(
            self.metastore,
            handle,
            row_filter,
            source=source,
            dynamic_filter=dynamic_filter,
            options=options,
            limits=LoadLimits(listing_threads, split_threads, max_outstanding_splits),
        )

    def page_source(
        self,
        handle: HudiTableHandle,
        split: HudiSplit,
        columns: Sequence[str] | None = None,
        row_filter: Filter = None,
        *,
        batch_size: int = BATCH_ROWS,
    ) -> Iterator[pa.RecordBatch]:
        """Read the rows of a split that pass its predicate and ``row_filter``.

        Where many are read alike, :class:`PageSources` prepares once.

        Arguments and errors are those of :class:`PageSources` and :meth:`PageSources.read`.
        """
        return PageSources(handle, columns, row_filter, batch_size=batch_size).read(split)

    def read(
        self,
        handle: HudiTableHandle,
        columns: Sequence[str] | None = None,
        row_filter: Filter = None,
        *,
        source: PartitionSource = "metastore",
        dynamic_filter: DynamicFilter | None = None,
        batch_size: int = BATCH_ROWS,
        threads: int = _READERS,
    ) -> Iterator[pa.RecordBatch]:
        """Read all rows of a query while splits are still made; their order is not defined.

        Rows that ``dynamic_filter`` rules out when their split is read are left out. Other arguments and errors are
        those of :meth:`splits` and :class:`PageSources`; ``threads`` splits are read at once.
        """
        pages = PageSources(handle, columns, row_filter, batch_size=batch_size)
        splits = self.splits(handle, row_filter, source=source, dynamic_filter=dynamic_filter)
        return _read(splits, pages, threads)

    def dataset(self, handle: HudiTableHandle, **options: Any) -> ScanDataset:  # noqa: ANN401 - as ScanDataset
        """A table as an Arrow dataset, for engines that push columns and filters into datasets.

        Args:
            handle: the table.
            options: of :class:`~hudi_hive.connector.dataset.ScanDataset`.
        """
        from hudi_hive.connector.dataset import ScanDataset

        return ScanDataset(ConnectorSource(self, handle), **options)

    def to_polars_lazy(self, handle: HudiTableHandle) -> pl.LazyFrame:
        """A table as a lazy Polars frame, whose columns and predicates reach the plan of each collection.

        Raises:
            MissingDependencyError: Polars is not installed.
        """
        from hudi_hive.connector.polars_source import polars_lazy

        return polars_lazy(ConnectorSource(self, handle))

    def to_datafusion(
        self, table_name: str, handle: HudiTableHandle, context: SessionContext | None = None
    ) -> SessionContext:
        """Let DataFusion query a table under a name; arguments and errors as of ``register_datafusion``."""
        from hudi_hive.connector.datafusion_source import register_datafusion

        return register_datafusion(table_name, ConnectorSource(self, handle), context)

    def begin_insert(
        self, handle: HudiTableHandle, columns: Sequence[str] | None = None, options: Mapping[str, Any] | None = None
    ) -> InsertHandle:
        """Begin an insert into a table: nothing is written yet.

        Args:
            handle: the table, as of now.
            columns: columns that pages will have, in any case; others become null. None: all but Hudi's meta columns.
            options: as of :func:`hudi_hive.connector.begin_insert`.

        Raises:
            UnsupportedTableError: the handle is of a ``_ro`` table, of a moment or of a range.
            HudiHiveError: as of :func:`hudi_hive.connector.begin_insert`.
        """
        if handle.query_type is not QueryType.SNAPSHOT or handle.as_of is not None:
            raise UnsupportedTableError(
                f"{handle.full_name} is not inserted into: it is read by a {handle.query_type} query",
                path=handle.base_path,
                remedy="insert into the table itself, as of now",
            )
        return begin_insert(handle.client, columns, options)

    def page_sink(self, insert: InsertHandle) -> PageSink:
        """A sink for the pages of one task of an insert."""
        return PageSink(insert)

    def finish_insert(
        self, handle: HudiTableHandle, insert: InsertHandle, fragments: Sequence[InsertFragment]
    ) -> WriteReport:
        """Write the rows of all sinks of an insert as one commit; without it an insert leaves nothing.

        Arguments and errors are those of :func:`hudi_hive.connector.finish_insert`. Partitions that are new are read by
        their names when the table was synced again.
        """
        return finish_insert(handle.client, insert, fragments)

    def close(self) -> None:
        """Close the connections that the connector opened."""
        if self._is_own:
            self.metastore.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"HudiConnector({self.metastore.uri!r})"


@dataclass(frozen=True)
class ConnectorSource:
    """A table that is read through its splits: the source of a :class:`~hudi_hive.connector.dataset.ScanDataset`.

    Attributes:
        connector: plans and reads.
        handle: the table, as of one moment.
    """

    connector: HudiConnector
    handle: HudiTableHandle

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows before any projection."""
        return self.handle.schema

    def batches(
        self, columns: Sequence[str] | None, row_filter: RowFilter | None, batch_size: int
    ) -> Iterator[pa.RecordBatch]:
        """Plan and read, as :meth:`HudiConnector.read`."""
        return self.connector.read(self.handle, columns, row_filter, batch_size=batch_size)


def _read(source: SplitSource, pages: PageSources, threads: int) -> Iterator[pa.RecordBatch]:
    def tables() -> Iterator[pa.Table]:
        while (table := source.next_batch()).num_rows:
            yield table

    with source:
        tasks: Iterator[Callable[[], Iterator[pa.RecordBatch]]] = (
            partial(pages.read_table, table, source) for table in tables()
        )
        batches = in_order(tasks, threads)
        try:
            yield from batches
        finally:
            batches.close()
