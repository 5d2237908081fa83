"""Executes a sync plan, in an order that can be interrupted anywhere and run again."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hudi_hive.errors import InvalidOperationError, MetastoreServerError, MetastoreTextError, SchemaSyncError
from hudi_hive.metastore import Partition, Table
from hudi_hive.sync.apply.catalog_writer import CatalogWriter
from hudi_hive.sync.catalog import Catalog
from hudi_hive.sync.config import HiveSyncConfig
from hudi_hive.sync.diff import (
    CREATE,
    NEVER,
    RECREATE,
    PartitionLedger,
    Planner,
    TablePlan,
    batch_sizes,
    changed_table,
    check_stamp,
    existing_comments,
    expected_stamp,
    find_column_steps,
    is_by_position,
    moved_partition,
    new_partitions,
    new_table,
)
from hudi_hive.sync.table import TableSpec

_DESCRIPTION = "automatically created by hoodie"
_GLUE_DESCRIPTION = "Automatically created by org.apache.hudi.aws.sync.AWSGlueCatalogSyncClient"
"""What Hudi's two tools say of a database that they made."""


class SyncExecutor:
    """Executes the plan of a table.

    Args:
        config: the sync's configuration.
        metastore: asked for what is there.
        writer: makes the changes.
        ledger: gets the partitions that were added and moved.
        again: an earlier try of the same sync failed.
    """

    def __init__(
        self,
        config: HiveSyncConfig,
        metastore: Catalog,
        writer: CatalogWriter,
        ledger: PartitionLedger,
        *,
        again: bool = False,
    ) -> None:
        self.config = config
        self._metastore = metastore
        self._writer = writer
        self.ledger = ledger
        self._again = again
        self._notes: list[str] = []

    def apply(self, planner: Planner, plan: TablePlan) -> TablePlan:
        """Execute the plan; returns the executed plan, which differs when the table was recreated."""
        try:
            self._run(plan)
        except MetastoreTextError:
            raise  # a table that is made anew has the same texts
        except (SchemaSyncError, MetastoreServerError) as error:
            if not self.config.recreate_on_error or plan.action in (CREATE, RECREATE):
                raise
            if not self._again and not isinstance(error, (SchemaSyncError, InvalidOperationError)):
                # A metastore in trouble is no reason to drop a table: that needs the same answer twice.
                raise
            plan = planner.plan(plan.spec, anew=True)
            line = f"{plan.spec.full_name} was made anew, since it could not be changed: {error.message}"
            plan = replace(plan, warnings=(*plan.warnings, line))
            self._run(plan)
        notes, self._notes = tuple(self._notes), []
        return replace(plan, warnings=plan.warnings + notes) if notes else plan

    def _run(self, plan: TablePlan) -> None:
        if plan.action in (CREATE, RECREATE):
            self._create(plan)
            return
        has_partition_work = not plan.partitions.is_empty
        # Columns and location come before the partitions; everything else can wait for the stamp's call.
        # A moved table whose partitions were not all moved yet must be compared in full by the next sync; and a table
        # that was never stamped gets a stamp by which other syncs notice this one.
        assert plan.existing is not None
        unstamp = plan.moved_from is not None or expected_stamp(plan.existing) is None
        first = has_partition_work and (bool(plan.columns) or unstamp)
        if first:
            self._alter(plan, stamp=False, unstamp=unstamp)
        self._sync_partitions(plan, fresh=False)
        if has_partition_work:
            plan = self._unless_conflict(plan, unstamped=unstamp)
        if plan.move_stamp or (plan.changes_table and not first):
            self._alter(plan, stamp=plan.move_stamp)

    def _unless_conflict(self, plan: TablePlan, *, unstamped: bool) -> TablePlan:
        """The plan with the table as it is now, after work on its partitions, if no other sync finished meanwhile."""
        table = self._metastore.table(plan.spec.database, plan.spec.name)
        check_stamp(table, None if unstamped else plan.stamp_before)
        return replace(plan, existing=table)

    def _create(self, plan: TablePlan) -> None:
        spec = plan.spec
        if plan.create_database:
            description = _GLUE_DESCRIPTION if self.config.mode == "glue" else _DESCRIPTION
            self._writer.create_database(spec.database, description=description)
        if plan.action == RECREATE:
            self._writer.drop_table(spec.database, spec.name)
        if plan.partitions.is_empty:
            self._writer.create_table(new_table(spec, plan.stamp, plan.existing))
            return
        self._writer.create_table(new_table(spec, NEVER if plan.move_stamp else None, plan.existing))
        self._sync_partitions(plan, fresh=True)
        if plan.move_stamp:
            created = self._metastore.table(spec.database, spec.name)
            check_stamp(created, None)
            stamped = changed_table(created, spec, columns=False, properties=False, stamp=plan.stamp)
            self._writer.alter_table(spec.database, spec.name, stamped, expected=expected_stamp(created))

    def _alter(self, plan: TablePlan, *, stamp: bool, unstamp: bool = False) -> None:
        spec, existing = plan.spec, plan.existing
        assert existing is not None
        table = changed_table(
            existing,
            spec,
            columns=bool(plan.columns),
            properties=True,
            stamp=plan.stamp if stamp else None,
            unstamp=unstamp,
            renames=plan.renames,
        )
        try:
            self._alter_table(plan, table, cascade=bool(plan.columns))
        except InvalidOperationError as error:
            if not plan.columns:
                raise
            if not is_by_position(error.message):
                raise _refused(plan, error) from error
            self._set_columns_in_steps(plan, table, error)

    def _alter_table(self, plan: TablePlan, table: Table, *, cascade: bool) -> None:
        spec, existing = plan.spec, plan.existing
        assert existing is not None
        cascade = cascade and bool(spec.partition_keys)
        self._writer.alter_table(spec.database, spec.name, table, cascade=cascade, expected=expected_stamp(existing))

    def _set_columns_in_steps(self, plan: TablePlan, table: Table, refusal: InvalidOperationError) -> None:
        """Give columns that the metastore refused for their positions.

        A sync that dies between two steps leaves columns out, which the next one adds.
        """
        assert plan.existing is not None
        column_steps = find_column_steps(plan.existing.sd.cols, table.sd.cols, plan.renames)
        if column_steps is None:
            raise _refused(plan, refusal) from refusal
        *between, last = column_steps.steps
        # Hive's own DDL drops columns of a partitioned table with cascade only; elsewhere the last step's will do.
        cascade = self.config.mode not in ("hms", "glue")
        try:
            for columns in between:
                step = copy.deepcopy(plan.existing)
                step.sd.cols = columns
                self._alter_table(plan, step, cascade=cascade)
            table = copy.copy(table)
            table.sd = copy.copy(table.sd)
            table.sd.cols = last
            self._alter_table(plan, table, cascade=True)
        except InvalidOperationError as error:
            raise _refused(plan, error) from error
        if column_steps.reordered:
            self._notes.append(
                f"the columns of {plan.spec.full_name} keep their places in the metastore, which refuses types by "
                "position: new ones stand behind them, whatever the table's order"
            )

    def _sync_partitions(self, plan: TablePlan, *, fresh: bool) -> None:
        spec, partitions, size = plan.spec, plan.partitions, self.config.batch_size
        names = {*partitions.add["name"].to_pylist(), *partitions.move["name"].to_pylist()}
        self.ledger.setdefault((spec.full_name, spec.columns), set()).update(names)
        comments = {} if fresh or plan.existing is None else self._comments(plan)
        if partitions.add.num_rows:
            rows = zip(partitions.add["values"].to_pylist(), partitions.add["path"].to_pylist(), strict=True)
            added = new_partitions(spec, rows, comments, fresh=fresh)
            self._writer.add_partitions(spec.database, spec.name, added, batch_size=size)
        if partitions.move.num_rows:
            registered = self._registered(spec, partitions.move["name"].to_pylist())
            paths = {
                tuple(values): path
                for values, path in zip(
                    partitions.move["values"].to_pylist(), partitions.move["path"].to_pylist(), strict=True
                )
            }
            moved = [moved_partition(item, spec, paths[tuple(item.values)], comments) for item in registered]
            self._writer.alter_partitions(spec.database, spec.name, moved, batch_size=size)
        if partitions.touch.num_rows:
            touched = list(self._registered(spec, partitions.touch["name"].to_pylist()))
            self._writer.touch_partitions(spec.database, spec.name, touched, batch_size=size)
        if partitions.drop.num_rows:
            dropped = partitions.drop["name"].to_pylist()
            self._writer.drop_partitions(spec.database, spec.name, dropped, batch_size=size)

    def _registered(self, spec: TableSpec, names: Sequence[str]) -> Iterator[Partition]:
        batch = batch_sizes(self._metastore, spec)
        return self._metastore.partitions(spec.database, spec.name, names, batch=batch)

    def _comments(self, plan: TablePlan) -> dict[str, str]:
        """Comments that partitions take over from the table."""
        assert plan.existing is not None
        return {**existing_comments(plan.existing, plan.renames), **plan.spec.commented}


def _refused(plan: TablePlan, error: InvalidOperationError) -> SchemaSyncError:
    names = ", ".join(change.name for change in plan.columns)
    return SchemaSyncError(
        f"the metastore refuses the change of columns {names}: {error.message}",
        path=plan.spec.full_name,
        remedy="set hoodie.datasource.hive_sync.recreate_table_on_error=true, or "
        "hive.metastore.disallow.incompatible.col.type.changes=false in the metastore",
    )
