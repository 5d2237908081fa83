"""Writes as methods of ``HudiTable``: rows, schema changes and transactions, each a commit that moves the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from hudi_hive.errors import InvalidOptionError
from hudi_hive.options import write as declared
from hudi_hive.table import MetaClient
from hudi_hive.table_api.moment import TableMoment

if TYPE_CHECKING:
    from hudi_hive.mutation.hudi import HudiMutatorClient
    from hudi_hive.sync.run import SyncAfterWrite
    from hudi_hive.timeline import Instant
    from hudi_hive.write.alter import AlterReport, Change, SchemaBuilder
    from hudi_hive.write.options import WriteConfig
    from hudi_hive.write.writers import LocalWriter, WriteReport

_OPERATION: Final = declared.OPERATION.name

_Report = TypeVar("_Report", "WriteReport", "AlterReport")


class WritableTable(TableMoment):
    """The part of ``HudiTable`` that writes rows and changes the schema."""

    def write(
        self, operation: str, rows: pa.Table, options: Mapping[str, Any] | None = None, **extra: str
    ) -> WriteReport:
        """Write rows in this process as one commit, move to the moment behind it, and sync it if the options say so.

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
        """Transactions of inserts, updates and deletes by key, a commit each, which moves this object.

        Args:
            options: Hudi's write options, and those of hive-sync, which then follows each commit.
            extra: extra metadata of the commits.

        Raises:
            InvalidOptionError: an option is unknown, not supported, or contradicts the table.
        """
        from hudi_hive.mutation.hudi import HudiMutatorClient
        from hudi_hive.write.options import WriteConfig

        sync = self._sync_of(WriteConfig.of(options or {}, self.client.config))

        def follow(client: MetaClient, instant: Instant) -> None:
            try:
                self.move_to_now(client)
            finally:
                if sync is not None:
                    sync.run(client, instant)

        storage_options = self.client.storage.storage_options
        return HudiMutatorClient(self.path, options, storage_options=storage_options, extra=extra, on_commit=follow)

    def _written(self, writer: LocalWriter, write: Callable[[LocalWriter], WriteReport]) -> WriteReport:
        """What a write came to, with the sync that its options ask for behind it."""
        sync = self._sync_of(writer.config)
        return self._followed(write(writer), sync, lambda: writer.behind)

    def _followed(
        self,
        report: _Report,
        sync: SyncAfterWrite | None,
        behind: Callable[[], MetaClient | None] = lambda: None,
    ) -> _Report:
        """The report of a commit, behind which the table is seen as it is now and synced.

        Args:
            report: of the commit.
            sync: the sync, if there is to be one.
            behind: the table behind the commit, if the writer knows it.
        """
        from hudi_hive.write.coordination import REFRESH, SYNC, followed

        instant = report.instant
        assert instant is not None
        report = followed(report, self.path, REFRESH, lambda: self.move_to_now(behind()))
        if sync is not None:
            report = followed(report, self.path, SYNC, lambda: sync.run(self.client, instant))
        return report

    def _sync_of(self, config: WriteConfig) -> SyncAfterWrite | None:
        from hudi_hive.sync.run import SyncAfterWrite
        from hudi_hive.sync.table import path_of

        storage = self.client.storage
        base = path_of(self.path) if storage.is_local else self.path
        return SyncAfterWrite.from_write_config(config, base, storage.storage_options)

    def update_schema(self, options: Mapping[str, Any] | None = None) -> SchemaBuilder:
        """Changes of the schema, to be committed as one: ``update_schema().add("tip", "double").commit()``.

        Columns are known by ids from the first change on, so that they can be renamed, dropped, moved and given wider
        types without a look at files; readers need ``hoodie.schema.on.read.enable`` in real Hudi. The commit moves this
        object, and is synced if the options say so.

        Args:
            options: Hudi's write options, and those of hive-sync.

        Raises:
            SchemaError: the table has no schema, or columns of types that have no id-based form.
            UnsupportedTableError: the schema of such a table cannot change.
        """
        from hudi_hive.write.alter import SchemaBuilder

        return SchemaBuilder(
            self.client,
            lambda changes, dry_run, check_data: self._altered(changes, options or {}, dry_run, check_data),
        )

    def _altered(
        self, changes: Sequence[Change], options: Mapping[str, Any], dry_run: bool, check_data: bool
    ) -> AlterReport:
        from hudi_hive.metastore.transactions import MetastoreLock
        from hudi_hive.write.alter import alter, write_config
        from hudi_hive.write.coordination import table_lock

        config = write_config(self.client, options)
        sync = self._sync_of(config)
        lock = table_lock(config.options, self.client.storage, metastore=MetastoreLock.connect)
        check = None if sync is None else partial(sync.refuse_types, self.client)
        report = alter(self.client, changes, options, lock=lock, dry_run=dry_run, check=check, check_values=check_data)
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

        return versions_table(self.client)

    def _writer(self, operation: str, options: Mapping[str, Any] | None, extra: Mapping[str, str]) -> LocalWriter:
        from hudi_hive.metastore.transactions import MetastoreLock
        from hudi_hive.write.coordination import table_lock
        from hudi_hive.write.options import WriteConfig
        from hudi_hive.write.versions import upgrade_for_write
        from hudi_hive.write.writers import LocalWriter

        all_options = {**(options or {}), _OPERATION: operation}
        if str((options or {}).get(_OPERATION, operation)).strip().lower() != operation.lower():
            raise InvalidOptionError(
                f"option {_OPERATION}={(options or {})[_OPERATION]} contradicts the call, which is {operation}",
                path=self.path,
                remedy="leave the option out",
            )
        client = upgrade_for_write(self.client, all_options, metastore_lock=MetastoreLock.connect)
        config = WriteConfig.of(all_options, client.config)
        lock = table_lock(config.options, client.storage, metastore=MetastoreLock.connect)
        return LocalWriter(client, all_options, lock=lock, extra=extra)
