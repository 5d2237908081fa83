"""Plans syncs: reads the table and the metastore without changing either."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import NoSuchObjectError, PartitionValueError, SchemaSyncError
from hudi_hive.metastore import Table
from hudi_hive.sync.catalog import Catalog
from hudi_hive.sync.config import HiveSyncConfig, SyncTarget, find_extractor
from hudi_hive.sync.diff import hive_objects as objects
from hudi_hive.sync.diff.changes import (
    LastSync,
    changes_since,
    instants_since,
    is_archived,
    is_rolled_back,
    newest_stamp,
    partitions_cleaned_after,
)
from hudi_hive.sync.diff.concurrency import PartitionLedger, check_timeline, outdated_partitions
from hudi_hive.sync.diff.metastore_partitions import MetastorePartitionReader, aliased_partitions
from hudi_hive.sync.diff.partition_diff import (
    PARTITIONS,
    REGISTERED,
    PartitionDiff,
    diff_partitions,
    no_partitions,
    partition_table,
)
from hudi_hive.sync.diff.plan import ALTER, CREATE, KEEP, RECREATE, TablePlan
from hudi_hive.sync.diff.schema_diff import column_changes, key_mismatch, key_type_warnings, renamed_columns
from hudi_hive.sync.table import TableSpec, relative_to, same_location
from hudi_hive.table.core import MetaClient


@dataclass(frozen=True, slots=True)
class _ChangedPartitions:
    """Partition paths: ``written`` and filled, or ``gone``."""

    written: tuple[str, ...]
    gone: tuple[str, ...]


def _with_other_input_format(spec: TableSpec, registered: pa.Table) -> set[str]:
    """Names of partitions that another class reads than the table: they would show another view of the same rows."""
    other = pc.fill_null(pc.not_equal(registered["input_format"], spec.classes.input_format), False)
    return set(registered.filter(other)["name"].to_pylist())


def _unsynced_table_warnings(specs: Sequence[TableSpec], existing: Mapping[str, Table]) -> tuple[str, ...]:
    """What to say of tables that an earlier sync with other options made: nobody brings them up to date any more."""
    names, base_path = {spec.name for spec in specs}, specs[0].base_path
    return tuple(
        f"{specs[0].database}.{name} shows this table too, but these options do not sync it: drop it if nobody reads it"
        for name, table in sorted(existing.items())
        if name not in names and objects.is_hudi(table) and same_location(table.sd.location or "", base_path)
    )


class Planner:
    """Plans the metastore tables of one Hudi table; what is read of the table is read once for all of them.

    Args:
        client: the Hudi table.
        config: the sync's configuration.
        target: its parts that depend on the table.
        metastore: asked for what is there.
        timeline_is_fresh: the timeline was read after the table's stamp: a stamp that is ahead of it was taken back.
        ledger: what earlier attempts of this sync did, when another sync got in their way.
    """

    def __init__(
        self,
        client: MetaClient,
        config: HiveSyncConfig,
        target: SyncTarget,
        metastore: Catalog,
        *,
        timeline_is_fresh: bool = False,
        ledger: PartitionLedger | None = None,
    ) -> None:
        self._client = client
        self._config = config
        self._target = target
        self._metastore = metastore
        self._timeline_is_fresh = timeline_is_fresh
        self._ledger = ledger or {}
        self._extractor = find_extractor(target.extractor)
        self._metastore_partitions = MetastorePartitionReader(
            metastore, config.filter_pushdown_max_size if config.filter_pushdown and config.mode != "glue" else None
        )
        self._stamp = newest_stamp(client.timeline)
        self._partitions: pa.Table | None = None
        self._changes: dict[LastSync, _ChangedPartitions] = {}
        self._missing: dict[str, bool] = {}
        self._made_by_sql = False  # one of the table's names, by a statement

    def plan_all(self, specs: Sequence[TableSpec]) -> list[TablePlan]:
        """Plan the tables of one database, which are read in one call.

        Raises:
            As ``plan``.
        """
        existing = self._existing(specs)
        self._made_by_sql = any(map(objects.is_made_by_sql, existing.values()))
        plans = [self._plan(spec, existing.get(spec.name)) for spec in specs]
        unsynced = _unsynced_table_warnings(specs, existing)
        # The first one makes the database for the others.
        plans[0] = replace(plans[0], warnings=plans[0].warnings + unsynced)
        return [replace(plan, create_database=plan.create_database and plan is plans[0]) for plan in plans]

    def _existing(self, specs: Sequence[TableSpec]) -> dict[str, Table]:
        """The metastore's tables of all names that the Hudi table may have, whichever of them are synced now."""
        database, name = specs[0].database, self._target.table.lower()
        if not self._client.config.is_merge_on_read:
            table = self._metastore.find_table(database, name)
            return {} if table is None else {name: table}
        names = [f"{name}_ro", f"{name}_rt", name]
        try:
            return {table.tableName.lower(): table for table in self._metastore.table_objects(database, names)}
        except NoSuchObjectError:  # no such database
            return {}

    def plan(self, spec: TableSpec, *, anew: bool = False) -> TablePlan:
        """Plan one metastore table.

        Args:
            spec: the table as it is to be.
            anew: drop an existing table and create it.

        Raises:
            NoSuchObjectError: the database is missing and may not be created.
            PartitionValueError: a partition's path does not fit the partition fields.
            SchemaSyncError: the partition keys of the existing table are others, or it is no Hudi table.
        """
        return self._plan(spec, self._metastore.find_table(spec.database, spec.name), anew=anew)

    def _plan(self, spec: TableSpec, existing: Table | None, *, anew: bool = False) -> TablePlan:
        if existing is None:
            return self._creation(spec, CREATE, create_database=self._database_missing(spec.database))
        if not objects.is_hudi(existing) and not same_location(existing.sd.location or "", spec.base_path):
            raise SchemaSyncError(
                f"the metastore has a table of this name that is no Hudi table (at {existing.sd.location})",
                path=spec.full_name,
                remedy="sync under another name, or drop that table from the metastore",
            )
        mismatch = key_mismatch(objects.existing_columns(existing.partitionKeys), spec.partition_keys)
        anew = anew or self._config.force_recreate
        if mismatch is not None and not (anew or self._config.recreate_on_error):
            raise SchemaSyncError(
                mismatch,
                path=spec.full_name,
                remedy="set hoodie.datasource.hive_sync.recreate_table_on_error=true, drop the table from the "
                "metastore, or give the partition fields that it has",
            )
        if anew or mismatch is not None:
            return self._creation(spec, RECREATE, existing=existing)
        return self._change(spec, existing)

    def _database_missing(self, name: str) -> bool:
        if name not in self._missing:
            self._missing[name] = self._looks_missing(name)
        return self._missing[name]

    def _looks_missing(self, name: str) -> bool:
        try:
            self._metastore.database(name)
        except NoSuchObjectError as error:
            if self._config.auto_create_database:
                return True
            raise NoSuchObjectError(
                f"database {name} does not exist",
                path=self._metastore.uri,
                remedy="create it, or set hoodie.datasource.hive_sync.auto_create_database=true",
            ) from error
        return False

    # -- the table -------------------------------------------------------------------------------------------------

    def _creation(
        self, spec: TableSpec, action: str, *, existing: Table | None = None, create_database: bool = False
    ) -> TablePlan:
        plan = TablePlan(
            objects.with_new_columns(spec) if self._made_by_sql else spec,
            existing,
            action,
            create_database=create_database,
            stamp=self._stamp,
            move_stamp=self._stamp is not None,
            warnings=spec.warnings,
        )
        if not self._syncs_partitions(spec):
            return plan
        partitions = self._all_partitions(spec)
        diff = diff_partitions(partitions, REGISTERED.empty_table(), spec.base_path, drop_others=False)
        return replace(plan, partitions=diff, comparison="full", reason="the table is new")

    def _change(self, spec: TableSpec, existing: Table) -> TablePlan:
        stamp, before = self._stamp, objects.read_stamp(existing)
        if not self._timeline_is_fresh:
            check_timeline(self._client.timeline, before, table=spec.full_name)
        moved = not same_location(existing.sd.location or "", spec.base_path)
        columns = column_changes(objects.existing_columns(existing.sd.cols), spec.columns)
        renames = renamed_columns(self._client, before, columns)
        spec = objects.with_declared_columns(existing, spec, renames, made_by_sql=self._made_by_sql)
        plan = TablePlan(
            spec,
            existing,
            KEEP,
            columns=columns,
            renames=renames,
            parameters=objects.changed_parameters(existing, spec),
            outdated=objects.outdated_parameters(existing, spec),
            comments=objects.changed_comments(existing, spec),
            serde=objects.needs_serde(existing, spec),
            buckets=objects.needs_buckets(existing, spec),
            moved_from=existing.sd.location if moved else None,
            stamp_before=before,
            stamp=stamp,
            warnings=spec.warnings
            + key_type_warnings(objects.existing_columns(existing.partitionKeys), spec.partition_keys),
        )
        if self._syncs_partitions(spec):
            plan = self._with_partitions(plan, None if moved else before)
        changed = plan.changes_table or not plan.partitions.is_empty
        due = stamp is not None and (stamp != before or moved)
        plan = replace(plan, move_stamp=due and (changed or not self._config.conditional))
        return replace(plan, action=ALTER if plan.changes_table or plan.move_stamp else KEEP)

    # -- partitions ------------------------------------------------------------------------------------------------

    def _syncs_partitions(self, spec: TableSpec) -> bool:
        return bool(spec.partition_keys) and not self._config.no_partition_metadata

    def _with_partitions(self, plan: TablePlan, before: LastSync | None) -> TablePlan:
        if before is None and self._stamp is None and plan.moved_from is None and self._config.incremental:
            # Only a sync that stamps adds partitions.
            return replace(plan, partitions=no_partitions(), comparison="none", reason="nothing was ever committed")
        reason = self._reason_for_full(plan, before)
        if reason or before is None:
            diff, warnings = self._full(plan.spec, before)
            return replace(plan, partitions=diff, comparison="full", reason=reason, warnings=plan.warnings + warnings)
        timeline = self._client.timeline
        if not instants_since(timeline, before) and not partitions_cleaned_after(timeline, before.completed):
            return replace(plan, partitions=no_partitions(), comparison="none", reason="nothing was committed since")
        outcome = self._incremental(plan.spec, before, plan.existing)
        if isinstance(outcome, str):
            diff, warnings = self._full(plan.spec, before)
            return replace(plan, partitions=diff, comparison="full", reason=outcome, warnings=plan.warnings + warnings)
        diff, warnings = outcome
        return replace(
            plan,
            partitions=diff,
            comparison="incremental",
            reason=f"commits since {before.requested}",
            warnings=plan.warnings + warnings,
        )

    def _reason_for_full(self, plan: TablePlan, before: LastSync | None) -> str:
        if plan.moved_from is not None:
            return "the base path is another one"
        if before is None:
            return "no sync has finished yet"
        if plan.existing is not None and plan.existing.sd.inputFormat != plan.spec.classes.input_format:
            return "the table is read by another class"
        if not self._config.incremental:
            return "asked for"
        if is_archived(self._client.timeline, before):
            return "commits since the last sync may be archived"
        if is_rolled_back(self._client.timeline, before):
            return f"commit {before.requested} of the last sync was taken back"
        return ""

    def _full(self, spec: TableSpec, before: LastSync | None) -> tuple[PartitionDiff, tuple[str, ...]]:
        partitions = self._all_partitions(spec)
        registered = self._metastore_partitions.all(spec)
        touch: Sequence[str] = ()
        if self._config.touch_partitions:
            touch = self._maybe_written(partitions, before)
        redo = outdated_partitions(self._ledger, spec) | _with_other_input_format(spec, registered)
        diff = diff_partitions(partitions, registered, spec.base_path, drop_others=True, touch=touch, redo=redo)
        warnings = tuple(
            f"partition {name} of {spec.full_name} lies outside the base path and is left alone"
            for name in diff.foreign
        )
        return diff, warnings

    def _maybe_written(self, partitions: pa.Table, before: LastSync | None) -> Sequence[str]:
        """Partitions that may have been written to since a sync: all of them when its time is out of sight."""
        timeline = self._client.timeline
        if before is None or is_archived(timeline, before) or is_rolled_back(timeline, before):
            paths: list[str] = partitions["path"].to_pylist()
            return paths
        return self._changes_since(before).written

    def _incremental(
        self, spec: TableSpec, before: LastSync, existing: Table | None
    ) -> tuple[PartitionDiff, tuple[str, ...]] | str:
        """The difference and warnings, or why only a full comparison helps."""
        changes = self._changes_since(before)
        written = self._partition_table(spec, changes.written)
        dropped = self._partition_table(spec, changes.gone)
        looked_at = pa.concat_tables([written, dropped])
        registered, warnings = self._metastore_partitions.among(spec, looked_at, existing)
        others = aliased_partitions(spec, looked_at, registered)
        if others:
            return f"partition {others[0]} was registered with other values"
        diff = diff_partitions(
            written,
            registered,
            spec.base_path,
            drop_others=False,
            drop=dropped["name"].to_pylist(),
            touch=changes.written if self._config.touch_partitions else (),
            redo=_with_other_input_format(spec, registered),
        )
        self._check_moves(spec, diff)
        return diff, warnings

    def _changes_since(self, before: LastSync) -> _ChangedPartitions:
        """Partitions with rows that were written, and those that have none any more; the same for all tables."""
        if before not in self._changes:
            changes = changes_since(self._client.timeline, before)
            # A partition that commits or cleans call dropped may have been filled again before the last sync.
            gone = set(changes.dropped) - self._existing_paths(changes.dropped)
            written = tuple(path for path in changes.written if path not in gone)
            self._changes[before] = _ChangedPartitions(written, tuple(sorted(gone)))
        return self._changes[before]

    def _check_moves(self, spec: TableSpec, diff: PartitionDiff) -> None:
        """Refuse to move a partition away from a folder that is still a partition of the same values.

        An incremental comparison sees only one of the two; each sync would move the partition to the one written last.
        """
        old: dict[str, tuple[str, str]] = {}
        for row in diff.move.select(["name", "location", "path"]).to_pylist():
            relative = relative_to(spec.base_path, row["location"] or "")
            if relative not in (None, row["path"]):
                old[relative] = (row["name"], row["path"])
        for path in sorted(self._existing_paths(old)):
            name, new_path = old[path]
            if self._partition_table(spec, [path])["name"].to_pylist() == [name]:
                raise PartitionValueError(
                    f"partitions {path} and {new_path} have the same values ({name})",
                    path=new_path,
                    remedy="use an extractor that tells them apart",
                )

    def _partition_table(self, spec: TableSpec, paths: Iterable[str]) -> pa.Table:
        partition_paths = [path for path in paths if path]
        if not partition_paths:
            return PARTITIONS.empty_table()
        keys = [key.name for key in spec.partition_keys]
        return partition_table(partition_paths, keys, self._extractor, decode=self._target.decode_partition)

    def _all_partitions(self, spec: TableSpec) -> pa.Table:
        """All partitions with a committed file slice: those emptied by a drop or the cleaner are left out.

        All metastore tables of one Hudi table have the same keys, so one answer serves them all.
        """
        if self._partitions is None:
            self._partitions = self._partition_table(spec, sorted(self._existing_paths(self._client.partition_paths())))
        return self._partitions

    def _existing_paths(self, paths: Iterable[str]) -> set[str]:
        partitions = list(paths)
        if not partitions:
            return set()
        slices = self._client.file_system_view(partitions=partitions).latest_file_slices()
        return set(pc.unique(slices["partition"]).to_pylist())
