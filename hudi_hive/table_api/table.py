"""``HudiTable``: opens, reads and writes Hudi tables.

>>> table = HudiTable.open("/lake/trips")                                     # doctest: +SKIP
>>> table.scan(row_filter="city = 'sf'", selected_fields=("id", "fare")).to_arrow()  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from hudi_hive.errors import InvalidOptionError
from hudi_hive.metadata import MetadataListing, MetadataTable
from hudi_hive.metrics import IoCounters
from hudi_hive.plan import Query
from hudi_hive.plan.core import Filter
from hudi_hive.plan.model import Moment
from hudi_hive.table import MetaClient, TableConfig
from hudi_hive.table_api.scan import Scan
from hudi_hive.timeline import Timeline

__all__ = ["HudiTable", "Scan"]

_OPERATION = "hoodie.datasource.write.operation"

if TYPE_CHECKING:
    from hudi_hive.mutation.hudi import HudiMutatorClient
    from hudi_hive.sync.run import SyncAfterWrite
    from hudi_hive.write.alter import AlterReport, Change, SchemaBuilder
    from hudi_hive.write.options import WriteConfig
    from hudi_hive.write.writers import LocalWriter, WriteReport

_Report = TypeVar("_Report", "WriteReport", "AlterReport")


class HudiTable:
    """A Hudi table as of the moment when it was opened; :meth:`refresh` returns its current state."""

    def __init__(self, client: MetaClient) -> None:
        self._client = client

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        *,
        counters: IoCounters | None = None,
    ) -> HudiTable:
        """Open the table at a base path; no metastore is needed.

        Args:
            path: the folder that holds ``.hoodie``: a local path or a URI.
            storage_options: arguments of the file system (keys, region, endpoint …).
            counters: where I/O is counted.

        Raises:
            TableNotFoundError: there is no Hudi table at the path.
            InvalidPropertiesError: its properties are broken.
            UnsupportedTableError: a table version or file format that is not read.
        """
        return cls(MetaClient.load(path, storage_options, counters=counters, listing=MetadataListing()))

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        name: str,
        storage_options: Mapping[str, Any] | None = None,
        **settings: Any,  # noqa: ANN401 - checked by what it is handed to
    ) -> HudiTable:
        """Make an empty table; see :class:`hudi_hive.table.TableDefinition` for all settings.

        Args:
            path: the base path: a local path or a URI.
            name: ``hoodie.table.name``.
            storage_options: arguments of the file system.
            settings: ``table_type``, ``version``, ``record_keys``, ``partition_fields``, ``ordering_fields`` …

        Raises:
            TableExistsError: there is a table already.
            InvalidOptionError: a setting that no table can have.
        """
        from hudi_hive.table.core import TableDefinition, create_table

        # Nothing is read anew: once the table is there this does not fail.
        made = create_table(path, TableDefinition(name=name, **settings), storage_options=storage_options)
        return cls(MetaClient(made.storage, made.config, MetadataListing()))

    def write(
        self, operation: str, rows: pa.Table, options: Mapping[str, Any] | None = None, **extra: str
    ) -> WriteReport:
        """Write rows in this process and see them: the table is refreshed; then sync it, if the options say so.

        Args:
            operation: ``upsert``, ``insert``, ``bulk_insert``, ``delete``, ``insert_overwrite``,
                ``insert_overwrite_table``.
            rows: the table's columns; for a delete those of key and partition are enough.
            options: Hudi's write options, and those of hive-sync (``hoodie.datasource.hive_sync.enable`` …).
            extra: extra metadata of the commit.

        Raises:
            WriteError: it could not be done; the table is as it was. What fails behind the commit (table services, the
                sync) raises nothing: it is in ``failed`` of the report.
            HudiHiveError: as of :meth:`hudi_hive.write.writers.local.LocalWriter.write`.
        """
        return self._written(self._writer(operation, options, extra), lambda writer: writer.write(rows))

    def upsert(self, rows: pa.Table, options: Mapping[str, Any] | None = None) -> WriteReport:
        """Insert rows, or merge them with existing rows of the same key; raises as :meth:`write`."""
        return self.write("upsert", rows, options)

    def insert(self, rows: pa.Table, options: Mapping[str, Any] | None = None) -> WriteReport:
        """Insert rows without looking up their keys; raises as :meth:`write`."""
        return self.write("insert", rows, options)

    def bulk_insert(self, rows: pa.Table, options: Mapping[str, Any] | None = None) -> WriteReport:
        """Insert rows into new file groups; errors as of :meth:`write`."""
        return self.write("bulk_insert", rows, options)

    def delete(self, keys: pa.Table, options: Mapping[str, Any] | None = None) -> WriteReport:
        """Delete the records that the columns of key and partition name; errors as of :meth:`write`."""
        return self.write("delete", keys, options)

    def insert_overwrite(self, rows: pa.Table, options: Mapping[str, Any] | None = None) -> WriteReport:
        """Replace the partitions that the rows belong to; errors as of :meth:`write`."""
        return self.write("insert_overwrite", rows, options)

    def insert_overwrite_table(self, rows: pa.Table, options: Mapping[str, Any] | None = None) -> WriteReport:
        """Replace all rows of the table; errors as of :meth:`write`."""
        return self.write("insert_overwrite_table", rows, options)

    def delete_partitions(self, partitions: Sequence[str], options: Mapping[str, Any] | None = None) -> WriteReport:
        """Delete all rows of partitions, given by their paths; errors as of :meth:`write`."""
        writer = self._writer("delete_partition", options, {})
        return self._written(writer, lambda writer: writer.delete_partitions(partitions))

    def mutator(self, options: Mapping[str, Any] | None = None, **extra: str) -> HudiMutatorClient:
        """Transactions of inserts, updates and deletes by key, a commit each; refresh the table to see them.

        Args:
            options: Hudi's write options, and those of hive-sync, which then follows each commit.
            extra: extra metadata of the commits.

        Raises:
            InvalidOptionError: an option is unknown, not supported, or contradicts the table.
        """
        from hudi_hive.mutation.hudi import HudiMutatorClient
        from hudi_hive.write.options import WriteConfig

        sync = self._sync_asked_by(WriteConfig.of(options or {}, self._client.config))
        given = self._client.storage.storage_options
        follow = None if sync is None else sync.run
        return HudiMutatorClient(self.path, options, storage_options=given, extra=extra, on_commit=follow)

    def _written(self, writer: LocalWriter, write: Callable[[LocalWriter], WriteReport]) -> WriteReport:
        """What a write came to, with the sync that its options ask for behind it."""
        sync = self._sync_asked_by(writer.config)
        return self._followed(write(writer), sync)

    def _followed(self, report: _Report, sync: SyncAfterWrite | None) -> _Report:
        """The report of a commit, behind which the table is seen as it is now and synced."""
        from hudi_hive.write.coordination import REFRESH, SYNC, followed

        instant = report.instant
        assert instant is not None
        report = followed(report, self.path, REFRESH, self._reload)
        if sync is not None:
            report = followed(report, self.path, SYNC, lambda: sync.run(self._client, instant))
        return report

    def _reload(self) -> None:
        self._client = self._client.reload()

    def _sync_asked_by(self, config: WriteConfig) -> SyncAfterWrite | None:
        from hudi_hive.sync.run import SyncAfterWrite
        from hudi_hive.sync.table import path_of

        storage = self._client.storage
        base = path_of(self.path) if storage.is_local else self.path
        return SyncAfterWrite.asked_by(config, base, storage.storage_options)

    def update_schema(self, options: Mapping[str, Any] | None = None) -> SchemaBuilder:
        """Changes of the schema, to be committed as one: ``update_schema().add("tip", "double").commit()``.

        Columns are known by ids from the first change on, so that they can be renamed, dropped, moved and given wider
        types without a look at files; readers need ``hoodie.schema.on.read.enable`` in real Hudi. The table is
        refreshed after the commit, and synced if the options say so.

        Args:
            options: Hudi's write options, and those of hive-sync.

        Raises:
            SchemaError: the table has no schema, or columns of types that have no id-based form.
            UnsupportedTableError: the schema of such a table cannot change.
        """
        from hudi_hive.write.alter import SchemaBuilder

        return SchemaBuilder(self._client, lambda changes, dry_run: self._altered(changes, options or {}, dry_run))

    def _altered(self, changes: Sequence[Change], options: Mapping[str, Any], dry_run: bool) -> AlterReport:
        from hudi_hive.metastore.transactions import MetastoreLock
        from hudi_hive.write.alter import alter, write_config
        from hudi_hive.write.coordination import table_lock

        config = write_config(self._client, options)
        sync = self._sync_asked_by(config)
        lock = table_lock(config.options, self._client.storage, metastore=MetastoreLock.of)
        check = None if sync is None else partial(sync.refuse_types, self._client)
        report = alter(self._client, changes, options, lock=lock, dry_run=dry_run, check=check)
        return report if report.instant is None else self._followed(report, sync)

    def schema_history(self) -> pa.Table:
        """All versions of a schema whose columns have ids, the newest first; no rows where columns have none.

        Returns:
            A row per column: version, instant (null for the version before all changes), column (dotted), id, type,
            optional, doc.

        Raises:
            SchemaError: the history cannot be decoded.
        """
        from hudi_hive.write.alter import versions_table

        return versions_table(self._client)

    def _writer(self, operation: str, options: Mapping[str, Any] | None, extra: Mapping[str, str]) -> LocalWriter:
        from hudi_hive.metastore.transactions import MetastoreLock
        from hudi_hive.write.coordination import table_lock
        from hudi_hive.write.options import WriteConfig
        from hudi_hive.write.writers import LocalWriter

        given = {**(options or {}), _OPERATION: operation}
        if str((options or {}).get(_OPERATION, operation)).strip().lower() != operation.lower():
            raise InvalidOptionError(
                f"option {_OPERATION}={(options or {})[_OPERATION]} contradicts the call, which is {operation}",
                path=self.path,
                remedy="leave the option out",
            )
        config = WriteConfig.of(given, self._client.config)
        lock = table_lock(config.options, self._client.storage, metastore=MetastoreLock.of)
        return LocalWriter(self._client, given, lock=lock, extra=extra)

    def refresh(self) -> HudiTable:
        """The same table as of now."""
        return HudiTable(self._client.reload())

    @property
    def client(self) -> MetaClient:
        """The meta client of the table, for planners."""
        return self._client

    @property
    def path(self) -> str:
        """The base path, a URI."""
        return self._client.base_path

    @property
    def name(self) -> str:
        """``hoodie.table.name``."""
        return self._client.config.name

    @property
    def type(self) -> str:
        """``COPY_ON_WRITE`` or ``MERGE_ON_READ``."""
        return self._client.config.table_type

    @property
    def version(self) -> int:
        """The table version: 6, 8 or 9."""
        return self._client.config.version

    @property
    def config(self) -> TableConfig:
        """The table's properties, typed."""
        return self._client.config

    @property
    def properties(self) -> dict[str, str]:
        """The raw properties of ``hoodie.properties``."""
        return dict(self._client.config.properties)

    @property
    def timeline(self) -> Timeline:
        """The active timeline."""
        return self._client.timeline

    def schema(self, as_of: Moment | None = None) -> pa.Schema:
        """The Arrow schema, meta columns first; with ``as_of`` the one that the table had then."""
        return self._client.schema(Query.of(as_of=as_of, timezone=self.config.timezone).as_of)

    def partitions(self) -> list[str]:
        """Paths of all partitions relative to the base path, sorted; ``[""]`` when it has no partition columns."""
        return self._client.partition_paths()

    @property
    def metadata(self) -> MetadataTable:
        """The table's metadata table: partitions, files, column ranges, places of records.

        Raises:
            MetadataTableError: the table has none that can be used.
        """
        return MetadataTable.open(self._client)

    def scan(
        self,
        row_filter: Filter = None,
        selected_fields: Sequence[str] | None = None,
        query_type: str | None = None,
        as_of: Moment | None = None,
        begin: Moment | None = None,
        end: Moment | None = None,
        limit: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Scan:
        """Make a scan of the table; nothing is read before the scan is used.

        Args:
            row_filter: SQL text (``"city = 'sf' AND fare > 10"``), DNF tuples or an Arrow expression.
            selected_fields: columns to return, in this order; all without it.
            query_type: ``snapshot`` (the default), ``read_optimized``, ``incremental`` (the default with ``begin``) or
                ``cdc`` (what changed in a range, with images before and after).
            as_of: show the table as of this requested time: an instant, ``yyyy-MM-dd[ HH:mm:ss[.SSS]]`` or a datetime.
            begin: incremental: after this time; ``"earliest"`` takes everything. Requested times in table version 6,
                completion times in 8 and 9.
            end: incremental: up to this time, inclusive.
            limit: at most so many rows.
            options: Hudi's own read options (``hoodie.datasource.query.type`` …); what is not honoured is refused.

        Raises:
            InvalidOptionError: an option or argument is unknown, invalid or contradicts another.
        """
        query = Query.of(
            query_type,
            as_of=as_of,
            begin=begin,
            end=end,
            limit=limit,
            options=options,
            timezone=self.config.timezone,
        )
        return Scan(self._client, query, row_filter, None if selected_fields is None else tuple(selected_fields))

    def __repr__(self) -> str:
        kind = {"COPY_ON_WRITE": "copy-on-write", "MERGE_ON_READ": "merge-on-read"}[self.type]
        parts = ", ".join(self.config.partition_fields) or "none"
        return f"HudiTable({self.name!r}, {kind}, version {self.version}, partition columns: {parts}, {self.path})"
