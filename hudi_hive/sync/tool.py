"""``HiveSyncTool``: brings the metastore in line with a Hudi table.

The order of the calls is such that a sync that dies anywhere can simply be run again: the database, then the table
without a stamp (or its new columns), then added, moved and dropped partitions, and last the stamp, which alone says
that everything before it is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hudi_hive.errors import InvalidOptionError, UnsupportedTableError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync.catalog_writer import open_writer
from hudi_hive.sync.config import HiveSyncConfig, SyncTarget
from hudi_hive.sync.executor import Executor
from hudi_hive.sync.plan import SyncPlan, SyncReport
from hudi_hive.sync.planner import Planner
from hudi_hive.sync.table_spec import TableSpec, build_spec, storage_schema, views
from hudi_hive.table.meta_client import MetaClient


class HiveSyncTool:
    """Syncs one Hudi table to a Hive metastore.

    Args:
        config: what to sync, how and where.
        metastore: a client to use instead of one made from ``config.metastore_uris``; it is not closed.
        client: a meta client of the table to use instead of a new one; the sync sees its timeline.

    Raises:
        InvalidOptionError: neither a client nor ``metastore_uris`` is given.

    Example:
        >>> config = HiveSyncConfig(base_path="/lake/trips", metastore_uris="thrift://localhost:9083")
        >>> report = HiveSyncTool(config).sync()  # doctest: +SKIP
        >>> report.rows()  # doctest: +SKIP
    """

    def __init__(
        self, config: HiveSyncConfig, *, metastore: HiveMetastore | None = None, client: MetaClient | None = None
    ) -> None:
        if metastore is None and not config.metastore_uris:
            raise InvalidOptionError(
                "hoodie.datasource.hive_sync.metastore.uris is missing", remedy="give thrift://host:port"
            )
        self.config = config
        self._given_client = client
        self._given_metastore = metastore

    @contextmanager
    def _metastore(self) -> Iterator[HiveMetastore]:
        """The metastore for one plan or sync; connections of our own are closed at its end."""
        if self._given_metastore is not None:
            yield self._given_metastore
            return
        with HiveMetastore(self.config.metastore_uris) as metastore:
            yield metastore

    def plan(self) -> SyncPlan:
        """What a sync would do now. Changes nothing.

        Raises:
            TableError, TimelineError: the Hudi table cannot be read.
            UnsupportedTableError: a merge-on-read table.
            PartitionValueError: a partition's path does not fit the partition fields.
            SchemaSyncError: a column that Hive cannot hold, or other partition keys than the existing table's.
            MetastoreError: the metastore cannot be reached or answers with an error.
        """
        return self.sync(dry_run=True).plan

    def sync(self, dry_run: bool = False) -> SyncReport:
        """Bring the metastore in line with the table.

        A sync that ends with an error can be run again; what it did is kept, and the stamp has not moved.

        Args:
            dry_run: only plan.

        Raises:
            As ``plan``, and SchemaSyncError when the metastore refuses the new columns.
        """
        client = self._given_client or MetaClient.load(self.config.base_path, self.config.storage_options)
        if client.config.is_merge_on_read:
            raise UnsupportedTableError(
                "merge-on-read tables cannot be synced yet", path=client.base_path, remedy="copy-on-write tables can"
            )
        target = self.config.resolve(client.config)
        specs = self._specs(client, target)
        with self._metastore() as metastore:
            before = metastore.calls
            planner = Planner(client, self.config, target, metastore)
            plans = [planner.plan(spec) for spec in specs]
            if not dry_run:
                with open_writer(self.config, metastore) as writer:
                    executor = Executor(self.config, metastore, writer)
                    plans = [executor.apply(planner, plan) for plan in plans]
            return SyncReport(SyncPlan(tuple(plans)), dry_run, dict(metastore.calls - before))

    def _specs(self, client: MetaClient, target: SyncTarget) -> list[TableSpec]:
        fields = storage_schema(client, self.config)
        found = views(self.config, target.table, merge_on_read=client.config.is_merge_on_read)
        return [build_spec(client, self.config, target, name, view, fields) for name, view in found]
