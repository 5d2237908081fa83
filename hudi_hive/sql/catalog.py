"""Catalogues of the tables of statements: of a metastore, or of given paths."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from hudi_hive.connector import ScanSource, TableSource
from hudi_hive.errors import InvalidOptionError, NoSuchObjectError, UnsupportedTableError
from hudi_hive.metadata import MetadataListing, MetadataTable
from hudi_hive.metadata.reader import data_table_path, row_schema
from hudi_hive.metrics import IoCounters
from hudi_hive.plan import Query
from hudi_hive.predicate import RowFilter
from hudi_hive.read.scan import check_records_query, read_records
from hudi_hive.storage import Credentials
from hudi_hive.table import MetaClient

if TYPE_CHECKING:
    from hudi_hive.connector import ConnectorView, HudiConnector, InsertHandle


_MOST_SOURCES = 16


class TableCatalog(Protocol):
    """The interface of a catalogue of tables; names are case-insensitive."""

    def schemas(self) -> list[str]:
        """Names of all schemas (databases), sorted."""

    def tables(self, schema: str) -> list[str]:
        """Names of the tables of a schema, sorted.

        Raises:
            NoSuchObjectError: there is no such schema.
        """

    def source(self, schema: str, name: str, as_of: str | None = None) -> ScanSource:
        """A table as of now, or of a moment.

        Raises:
            NoSuchObjectError: there is no such table.
        """

    def changes(self, schema: str, name: str, query_type: str, begin: str, end: str | None = None) -> ScanSource:
        """What a range of commits wrote: its rows (``incremental``), or what happened to them (``cdc``).

        Raises:
            NoSuchObjectError: there is no such table.
        """

    def insert_target(self, schema: str, name: str) -> InsertTarget:
        """Where rows of an INSERT go.

        Raises:
            NoSuchObjectError: there is no such table.
        """


@dataclass(frozen=True)
class InsertTarget:
    """A table that is inserted into.

    Attributes:
        client: the table as of now.
        begin: begins the insert into some columns, or all.
        sync: brings the catalogue up to date behind the commit; None where there is nothing to do.
    """

    client: MetaClient
    begin: Callable[[Sequence[str] | None, Mapping[str, Any] | None], InsertHandle]
    sync: Callable[[], object] | None = None


class PathCatalog:
    """Tables at known paths, without a metastore.

    Args:
        tables: base paths by ``name`` or ``schema.name``.
        default_schema: the schema of names that do not say.
        storage_options: arguments of the file system.
        counters: where I/O is counted.
    """

    def __init__(
        self,
        tables: Mapping[str, str],
        *,
        default_schema: str = "default",
        storage_options: Mapping[str, Any] | None = None,
        counters: IoCounters | None = None,
    ) -> None:
        self._paths: dict[tuple[str, str], str] = {}
        for text, path in tables.items():
            schema, _, name = text.rpartition(".")
            if not name or "." in schema:
                raise InvalidOptionError(f"{text!r} is no table name", remedy="give name=PATH or schema.name=PATH")
            self._paths[((schema or default_schema).lower(), name.lower())] = path
        self._storage_options = Credentials(storage_options or {})
        self._counters = counters
        self._sources = _Sources()

    def schemas(self) -> list[str]:
        """See :class:`TableCatalog`."""
        return sorted({schema for schema, _ in self._paths})

    def tables(self, schema: str) -> list[str]:
        """See :class:`TableCatalog`."""
        if schema.lower() not in self.schemas():
            raise NoSuchObjectError(f"no schema {schema}")
        return sorted(name for one, name in self._paths if one == schema.lower())

    def source(self, schema: str, name: str, as_of: str | None = None) -> ScanSource:
        """See :class:`TableCatalog`."""
        return self._source(schema, name, as_of=as_of)

    def changes(self, schema: str, name: str, query_type: str, begin: str, end: str | None = None) -> ScanSource:
        """See :class:`TableCatalog`."""
        return self._source(schema, name, query_type, begin=begin, end=end)

    def insert_target(self, schema: str, name: str) -> InsertTarget:
        """See :class:`TableCatalog`."""
        from hudi_hive.connector import begin_insert

        path = self.path(schema, name)
        if data_table_path(path) is not None:
            raise UnsupportedTableError(
                "a metadata table is only read", path=path, remedy="insert into the table that it belongs to"
            )
        client = MetaClient.load(path, self._storage_options, counters=self._counters)
        client = client.with_listing(MetadataListing())
        return InsertTarget(client, partial(begin_insert, client))

    def path(self, schema: str, name: str) -> str:
        """Base path of a table.

        Raises:
            NoSuchObjectError: there is no such table.
        """
        path = self._paths.get((schema.lower(), name.lower()))
        if path is None:
            raise NoSuchObjectError(f"no table {schema}.{name}")
        return path

    def _source(
        self,
        schema: str,
        name: str,
        query_type: str | None = None,
        *,
        as_of: str | None = None,
        begin: str | None = None,
        end: str | None = None,
    ) -> ScanSource:
        path = self.path(schema, name)
        base = data_table_path(path)
        if base is not None:
            check_records_query(Query.of(query_type, as_of=as_of, begin=begin, end=end), path)
            data = MetaClient.load(base, self._storage_options, counters=self._counters)
            return RecordsSource(MetadataTable.open(data))
        client = MetaClient.load(path, self._storage_options, counters=self._counters, listing=MetadataListing())
        zone = client.config.timezone
        query = Query.of(query_type, as_of=as_of, begin=begin, end=end, timezone=zone)
        return self._sources.of(path, TableSource(client, query))


class _Sources:
    """The sources used last, with what was listed and planned: as long as a table's timeline is the same, they are.

    Which of the files count is said by the timeline, and writers announce themselves there before they touch a file.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cached: OrderedDict[tuple[str, Query], tuple[object, TableSource]] = OrderedDict()

    def of(self, path: str, source: TableSource) -> TableSource:
        """An earlier source of the same moment, or the given one."""
        client, key = source.client, (path, source.query)
        if not client.storage.is_local:
            return source
        timeline = client.timeline
        with self._lock:
            cached = self._cached.pop(key, None)
            if not all(instant.is_completed for instant in timeline.instants):
                return source
            # Times of files tell a table that was dropped and made again with the same instants.
            moment = client.config, timeline.instants, tuple(map(timeline.mtime_ms, timeline.instants))
            if cached is None or cached[0] != moment:
                cached = moment, source
            self._cached[key] = cached
            while len(self._cached) > _MOST_SOURCES:
                self._cached.popitem(last=False)
            return cached[1]


class RecordsSource:
    """A metadata table as a table of its records.

    Args:
        records: the metadata table.
    """

    def __init__(self, records: MetadataTable) -> None:
        self._records = records
        self.schema = row_schema(records)

    def batches(
        self, columns: Sequence[str] | None, row_filter: RowFilter | None, batch_size: int
    ) -> Iterator[pa.RecordBatch]:
        """Read the records; a filter on ``key`` by equality or ``IN`` reads only what may hold those keys."""
        names = self.schema.names if columns is None else list(columns)
        for batch in read_records(self._records, names or self.schema.names[:1], row_filter):
            for start in range(0, batch.num_rows, batch_size):
                yield batch.slice(start, batch_size).select(names)


class ConnectorCatalog:
    """Tables of a metastore, through the connector.

    Args:
        connector: the metastore.
    """

    def __init__(self, connector: HudiConnector) -> None:
        self._connector = connector

    def schemas(self) -> list[str]:
        """See :class:`TableCatalog`."""
        return self._connector.metadata.schemas()

    def tables(self, schema: str) -> list[str]:
        """See :class:`TableCatalog`; views are among them."""
        metadata = self._connector.metadata
        return sorted([*metadata.tables(schema), *metadata.views(schema)])

    def view(self, schema: str, name: str) -> ConnectorView:
        """See :meth:`hudi_hive.connector.ConnectorMetadata.view`."""
        return self._connector.metadata.view(schema, name)

    def source(self, schema: str, name: str, as_of: str | None = None) -> ScanSource:
        """See :class:`TableCatalog`; the rows of the partitions that were synced, as of a moment, too.

        Raises:
            UnsupportedTableError: it is no Hudi table.
        """
        from hudi_hive.connector import ConnectorSource

        return ConnectorSource(self._connector, self._connector.metadata.table(schema, name, as_of=as_of))

    def changes(self, schema: str, name: str, query_type: str, begin: str, end: str | None = None) -> ScanSource:
        """See :class:`TableCatalog`; errors and partitions as of :meth:`source`."""
        from hudi_hive.connector import ConnectorSource

        handle = self._connector.metadata.table(schema, name, query_type=query_type, begin=begin, end=end)
        return ConnectorSource(self._connector, handle)

    def insert_target(self, schema: str, name: str) -> InsertTarget:
        """See :class:`TableCatalog`; behind the commit the table is synced as it was synced before.

        Raises:
            UnsupportedTableError: it is no Hudi table.
        """
        handle = self._connector.metadata.table(schema, name)
        return InsertTarget(
            handle.client,
            partial(self._connector.begin_insert, handle),
            partial(self._sync, handle.client, schema, name),
        )

    def _sync(self, client: MetaClient, schema: str, name: str) -> None:
        from hudi_hive.sync import HiveSyncTool
        from hudi_hive.sync.run import recorded_sync_config

        metastore = self._connector.metastore
        table = metastore.table(schema.lower(), name.lower())
        config = recorded_sync_config(metastore, table, client, {}, client.storage.storage_options)
        HiveSyncTool(config, metastore=metastore, client=client.reload()).sync()
