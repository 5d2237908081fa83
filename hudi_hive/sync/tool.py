"""``HiveSyncTool``: brings the metastore in line with a Hudi table.

The order of the calls is such that a sync that dies anywhere can simply be run again: the database, then the table
without a stamp (or its new columns), then added, moved and dropped partitions, and last the stamp, which alone says
that everything before it is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from hudi_hive.errors import (
    InvalidOperationError,
    InvalidOptionError,
    MetastoreServerError,
    SchemaSyncError,
    UnsupportedTableError,
)
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync import hive_objects as objects
from hudi_hive.sync.config import HiveSyncConfig, SyncTarget
from hudi_hive.sync.plan import CREATE, RECREATE, SyncPlan, SyncReport, TablePlan
from hudi_hive.sync.planner import Planner
from hudi_hive.sync.table_spec import TableSpec, build_spec, storage_schema, views
from hudi_hive.table.meta_client import MetaClient

DATABASE_DESCRIPTION = "automatically created by hoodie"


class HiveSyncTool:
    """Syncs one Hudi table to a Hive metastore (mode ``hms``).

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
            done = []
            for spec in specs:
                plan = planner.plan(spec)
                done.append(plan if dry_run else _Executor(self.config, metastore).apply(planner, plan))
            return SyncReport(SyncPlan(tuple(done)), dry_run, dict(metastore.calls - before))

    def _specs(self, client: MetaClient, target: SyncTarget) -> list[TableSpec]:
        fields = storage_schema(client, self.config)
        found = views(self.config, target.table, merge_on_read=client.config.is_merge_on_read)
        return [build_spec(client, self.config, target, name, view, fields) for name, view in found]


class _Executor:
    """Does what a plan says."""

    def __init__(self, config: HiveSyncConfig, metastore: HiveMetastore) -> None:
        self.config = config
        self._metastore = metastore

    def apply(self, planner: Planner, plan: TablePlan) -> TablePlan:
        """Do it all; gives the plan that was done in the end, which is another one when the table was made anew."""
        try:
            self._run(plan)
        except (SchemaSyncError, MetastoreServerError) as error:
            if not self.config.recreate_on_error or plan.action in (CREATE, RECREATE):
                raise
            plan = planner.plan(plan.spec, anew=True)
            line = f"{plan.spec.full_name} was made anew, since it could not be changed: {error.message}"
            plan = replace(plan, warnings=(*plan.warnings, line))
            self._run(plan)
        return plan

    def _run(self, plan: TablePlan) -> None:
        if plan.action in (CREATE, RECREATE):
            self._create(plan)
            return
        has_partition_work = not plan.partitions.is_empty
        # Columns and location come before the partitions; everything else can wait for the stamp's call.
        first = has_partition_work and bool(plan.columns or plan.moved_from is not None)
        if first:
            self._alter(plan, stamp=False)
        self._sync_partitions(plan, fresh=False)
        if plan.move_stamp or (plan.changes_table and not first):
            self._alter(plan, stamp=plan.move_stamp)

    def _create(self, plan: TablePlan) -> None:
        spec = plan.spec
        if plan.create_database:
            self._metastore.create_database(spec.database, description=DATABASE_DESCRIPTION, if_not_exists=True)
        if plan.action == RECREATE:
            self._metastore.drop_table(spec.database, spec.name, if_exists=True)
        if plan.partitions.is_empty:
            self._metastore.create_table(objects.new_table(spec, plan.stamp))
            return
        table = objects.new_table(spec, None)
        self._metastore.create_table(table)
        self._sync_partitions(plan, fresh=True)
        if plan.move_stamp:
            created = self._metastore.table(spec.database, spec.name)
            stamped = objects.changed_table(created, spec, columns=False, properties=False, stamp=plan.stamp)
            self._metastore.alter_table(spec.database, spec.name, stamped)

    def _alter(self, plan: TablePlan, *, stamp: bool) -> None:
        spec, existing = plan.spec, plan.existing
        assert existing is not None
        table = objects.changed_table(
            existing,
            spec,
            columns=bool(plan.columns),
            properties=True,
            stamp=plan.stamp if stamp else None,
            # A moved table whose partitions were not all moved yet must be compared in full by the next sync.
            unstamp=plan.moved_from is not None and not stamp,
        )
        try:
            self._metastore.alter_table(
                spec.database, spec.name, table, cascade=bool(plan.columns and spec.partition_keys)
            )
        except InvalidOperationError as error:
            if not plan.columns:
                raise
            names = ", ".join(change.name for change in plan.columns)
            raise SchemaSyncError(
                f"the metastore refuses the change of columns {names}: {error.message}",
                path=spec.full_name,
                remedy="set hoodie.datasource.hive_sync.recreate_table_on_error=true, or "
                "hive.metastore.disallow.incompatible.col.type.changes=false in the metastore",
            ) from error

    def _sync_partitions(self, plan: TablePlan, *, fresh: bool) -> None:
        spec, partitions, size = plan.spec, plan.partitions, self.config.batch_size
        comments = {} if fresh or plan.existing is None else self._comments(plan)
        if partitions.add.num_rows:
            rows = zip(partitions.add["values"].to_pylist(), partitions.add["path"].to_pylist(), strict=True)
            added = [objects.new_partition(spec, values, path, comments, fresh=fresh) for values, path in rows]
            self._metastore.add_partitions(spec.database, spec.name, added, batch_size=size)
        if partitions.move.num_rows:
            names = partitions.move["name"].to_pylist()
            found = self._metastore.partitions(spec.database, spec.name, names)
            paths = {
                tuple(values): path
                for values, path in zip(
                    partitions.move["values"].to_pylist(), partitions.move["path"].to_pylist(), strict=True
                )
            }
            moved = [objects.moved_partition(item, spec, paths[tuple(item.values)], comments) for item in found]
            self._metastore.alter_partitions(spec.database, spec.name, moved, batch_size=size)
        if partitions.drop.num_rows:
            names = partitions.drop["name"].to_pylist()
            self._metastore.drop_partitions(spec.database, spec.name, names, batch_size=size)

    def _comments(self, plan: TablePlan) -> dict[str, str]:
        """Comments that partitions take over from the table."""
        assert plan.existing is not None
        kept = {column.name: column.comment for column in objects.existing_columns(plan.existing.sd.cols)}
        return {**kept, **plan.spec.commented}
