"""``HiveSyncTool``: syncs a Hudi table to a Hive metastore or to AWS Glue.

The order of the calls is such that a sync that dies anywhere can simply be run again: the database, then the table
without a stamp (or its new columns), then added, moved and dropped partitions, and last the stamp, which alone says
that everything before it is done.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

from hudi_hive.metrics import observed
from hudi_hive.sync.apply import SyncExecutor, keep_indexes, open_writer
from hudi_hive.sync.catalog import Catalog, open_catalog, require_catalog
from hudi_hive.sync.config import HiveSyncConfig, SyncTarget
from hudi_hive.sync.diff import PartitionLedger, Planner, SyncPlan, TablePlan, conflicts_detected, retry_on_conflict
from hudi_hive.sync.run.report import PLAN, READ_TABLE, MeasuredWriter, StepLog, SyncReport
from hudi_hive.sync.table import TableSpec, build_spec, storage_schema, views
from hudi_hive.table.core import MetaClient


class HiveSyncTool:
    """Syncs one Hudi table to a Hive metastore or to AWS Glue.

    Args:
        config: what to sync, how and where.
        metastore: a client to use instead of one made from ``config``, of its kind; it is not closed.
        client: a meta client of the table to use instead of a new one; the sync sees its timeline.

    Raises:
        InvalidOptionError: neither a client nor ``metastore_uris`` is given, in a mode that needs one.

    Example:
        >>> config = HiveSyncConfig(base_path="/lake/trips", metastore_uris="thrift://localhost:9083")
        >>> report = HiveSyncTool(config).sync()
        >>> report.rows()
    """

    def __init__(
        self, config: HiveSyncConfig, *, metastore: Catalog | None = None, client: MetaClient | None = None
    ) -> None:
        if metastore is None:
            require_catalog(config)
        self.config = config
        self._own_client = client
        self._own_metastore = metastore

    @contextmanager
    def _metastore(self) -> Iterator[Catalog]:
        """The metastore for one plan or sync; connections of our own are closed at its end."""
        if self._own_metastore is not None:
            yield self._own_metastore
            return
        with closing(open_catalog(self.config)) as metastore:
            yield metastore

    def plan(self) -> SyncPlan:
        """Plan a sync without changing anything.

        Raises:
            TableError, TimelineError: the Hudi table cannot be read.
            UnsupportedTableError: a table version, layout or file format that is not read.
            PartitionValueError: a partition's path does not fit the partition fields.
            SchemaSyncError: a column that Hive cannot hold, or other partition keys than the existing table's.
            MetastoreError: the metastore cannot be reached or answers with an error.
        """
        return self.sync(dry_run=True).plan

    def sync(self, dry_run: bool = False) -> SyncReport:
        """Sync the table to the metastore.

        A sync that ends with an error can be run again; what it did is kept, and the stamp has not moved.

        Args:
            dry_run: only plan.

        Raises:
            As ``plan``, and SchemaSyncError when the metastore refuses the new columns.
        """
        action = "dry_run" if dry_run else self.config.mode
        with observed("sync", action, self.config.base_path) as operation, self._metastore() as metastore:
            log, start = StepLog(lambda: metastore.call_counter.total()), time.perf_counter()
            before = metastore.calls
            ledger: PartitionLedger = {}

            def once(number: int, full: bool) -> tuple[tuple[TablePlan, ...], int]:
                return self._sync(metastore, log, dry_run, ledger, again=number > 0, full=full), number + 1

            plans, attempts = retry_on_conflict(once)
            calls, seconds = dict(metastore.calls - before), time.perf_counter() - start
            operation.count(calls=sum(calls.values()))
            return SyncReport(SyncPlan(plans), dry_run, calls, log.steps(), seconds, attempts)

    def _sync(
        self, metastore: Catalog, log: StepLog, dry_run: bool, ledger: PartitionLedger, *, again: bool, full: bool
    ) -> tuple[TablePlan, ...]:
        """One try; after another sync got in its way the table is read anew, and if need be compared in full."""
        config = replace(self.config, incremental=False) if full else self.config
        with log.step(READ_TABLE):
            client = self._client(again)
            target = config.resolve(client.config)
            specs = self._specs(client, target)
        planner = Planner(client, config, target, metastore, timeline_is_fresh=again, ledger=ledger)
        with log.step(PLAN):
            plans = planner.plan_all(specs)
        if not dry_run:
            with open_writer(config, metastore) as writer, conflicts_detected():
                executor = SyncExecutor(config, metastore, MeasuredWriter(writer, log), ledger, again=again)
                plans = [executor.apply(planner, plan) for plan in plans]
            with conflicts_detected():
                plans = [keep_indexes(config, metastore, plan) for plan in plans]
        return tuple(plans)

    def _client(self, again: bool) -> MetaClient:
        """The Hudi table; its partitions and files come from its metadata table where that is wanted and usable."""
        from hudi_hive.metadata import MetadataListing

        listing = MetadataListing(enable=self.config.metadata_file_listing)
        if self._own_client is None:
            return MetaClient.load(self.config.base_path, self.config.storage_options, listing=listing)
        client = self._own_client.reload() if again else self._own_client
        return client if client.listing is not None and listing.enable else client.with_listing(listing)

    def _specs(self, client: MetaClient, target: SyncTarget) -> list[TableSpec]:
        fields = storage_schema(client, self.config)
        names = views(self.config, target.table, merge_on_read=client.config.is_merge_on_read)
        return [build_spec(client, self.config, target, name, view, fields) for name, view in names]
