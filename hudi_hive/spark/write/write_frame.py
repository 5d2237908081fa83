"""Writes DataFrames to Hudi tables: rows stay Arrow batches on the executors, with one shuffle to file groups.

Bulk inserts and overwrites go straight from the incoming tasks to new files. Upserts and inserts are prepared, their
keys are looked up where the index says, and each file group's file is written by the task that has all of its rows.
What an operation does is decided as for every :class:`~hudi_hive.write.writers.Writer`; the driver holds numbers of
rows, names of file groups and records that move to another partition, never the rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from hudi_hive.errors import InvalidOptionError, PathExistsError, TableNotFoundError
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.names import HOODIE_TABLE_NAME
from hudi_hive.spark.bridge import (
    JavaValue,
    from_arrow_schema,
    map_in_arrow,
    metastore_settings,
    repartition_by_number,
    store_options,
)
from hudi_hive.spark.write.executor import SparkExecutor, task_errors
from hudi_hive.spark.write.row_changes import StatementRows
from hudi_hive.spark.write.rows import (
    TASKS_PER_CORE,
    IncomingKeys,
    IncomingRows,
    in_order,
    persisted_frames,
    statuses_of,
    with_integer,
)
from hudi_hive.spark.write.tasks import (
    FILE_ID,
    GROUP,
    HITS,
    IS_NEW,
    PLACE_FIELDS,
    TASK,
    LookKeysUp,
    PlaceRows,
    RouteKeys,
    TagKeys,
    TagRows,
    WriteFileGroups,
    WriteNewFileGroups,
)
from hudi_hive.storage import Storage
from hudi_hive.sync.run import SyncAfterWrite
from hudi_hive.table import MetaClient
from hudi_hive.table.core import create_table
from hudi_hive.timeline.instants import REPLACE_COMMIT
from hudi_hive.write.commit import WriteTransaction, discarded_on_failure, in_place_of
from hudi_hive.write.coordination import SYNC, followed, table_lock
from hudi_hive.write.files import (
    PARTITION_PATH,
    RECORD_KEY,
    TargetSlice,
    WriteContext,
    WriteHandle,
    record_size,
)
from hudi_hive.write.index import HITS_SCHEMA, BucketIndex, Index, open_index
from hudi_hive.write.options import DuplicatePolicy, Operation, WriteConfig
from hudi_hive.write.records import RECORD_KEY_SCHEMA, refuse_gone_groups, refuse_nested_partitions
from hudi_hive.write.writers import (
    FileGroupPlan,
    Writer,
    WriteReport,
    assign_file_groups,
    newest_slices,
    refuse_clustered_groups,
    small_groups_of,
)

Annotate = Callable[[MetaClient], Mapping[str, str]]
"""Makes extra metadata of a commit, of the table under its lock."""

MODES: Final = ("append", "overwrite", "error", "errorifexists", "ignore")


def write(
    frame: DataFrame,
    path: str | os.PathLike[str],
    options: Mapping[str, Any] | None = None,
    mode: str = "append",
    *,
    storage_options: Mapping[str, Any] | None = None,
    annotate: Annotate | None = None,
    statement: StatementRows | None = None,
) -> WriteReport | None:
    """Write a DataFrame to the Hudi table at a path, under Hudi's own option names; then sync it, if they say so.

    Args:
        frame: the rows; for a delete the columns of key and partition are enough.
        path: base path of the table; it is made from the options if it is not there.
        options: Hudi's write options (``hoodie.datasource.write.…``, ``hoodie.table.name`` …) and those of hive-sync,
            which goes to the session's metastore if they name none.
        mode: ``append``; ``overwrite``: what the table holds is replaced in one commit, its history stays, unless the
            options contradict the table: then another is made in its place; ``error``; ``ignore``.
        storage_options: of this write, before those of :func:`~hudi_hive.spark.enable` and of Hadoop's configuration.
        annotate: makes extra metadata of the commit of the table as it is when it completes.
        statement: what an SQL statement says of the rows that it writes to a table that is there.

    Returns:
        What was written; None when ``ignore`` found a table.

    Raises:
        InvalidOptionError: an option is unknown, not supported, or contradicts the table.
        PathExistsError: mode ``error`` found a table.
        SchemaError: columns that do not fit the table's.
        WriteConflictError: another writer changed the same file groups and completed first.
        WriteError: the write could not be done; the table is as it was. What fails behind the commit (table services,
            the sync) raises nothing: it is logged, and in ``failed`` of the report.
    """
    if mode.lower() not in MODES:
        raise InvalidOptionError(f"write mode {mode!r} is not known", remedy=", ".join(MODES))
    base, all_options, mode = os.fspath(path), dict(options or {}), mode.lower()
    session = frame.sparkSession._jsparkSession
    stored = store_options(session, base, storage_options)
    client = _table_at(base, stored)
    if client is not None and mode == "ignore":
        return None
    if client is not None and mode.startswith("error"):
        raise PathExistsError("the table is there already", path=base, remedy="write with mode append or overwrite")
    if client is not None and mode == "overwrite" and _contradicts(all_options, client):
        all_options.setdefault(HOODIE_TABLE_NAME, client.config.name)
        sync = sync_of(session, WriteConfig.of(all_options), base, stored)
        report = _in_place_of(client, frame, all_options, stored, annotate)
    elif client is None:
        sync = sync_of(session, WriteConfig.of(all_options), base, stored)
        report = _first_write(frame, base, all_options, stored, annotate)
    else:
        config = WriteConfig.of(all_options, client.config)
        sync = sync_of(session, config, base, stored)
        if mode == "overwrite" and not config.operation.replaces:
            config = config.with_operation(Operation.INSERT_OVERWRITE_TABLE)
        report = _writer(client, config, annotate, statement).write(frame)
    if sync is None:
        return report
    written = MetaClient.load(base, stored)
    return followed(report, written.base_path, SYNC, lambda: sync.run(written, report.instant))


def delete_partitions(
    spark: SparkSession, path: str, partitions: Sequence[str], options: Mapping[str, Any] | None = None
) -> WriteReport:
    """Replace all file groups of partitions by none, in one commit.

    Args:
        spark: the session.
        path: base path of the table.
        partitions: paths of the partitions, in which ``*`` stands for any characters.
        options: Hudi's write options.

    Raises:
        InvalidOptionError: an option is unknown, not supported, or contradicts the table.
        WriteConflictError: another writer changed the same file groups and completed first.
    """
    client = MetaClient.load(path, store_options(spark._jsparkSession, path))
    writer = SparkWriter(client, WriteConfig.of(options or {}, client.config))
    writer.executor = SparkExecutor(spark.sparkContext)
    return writer.delete_partitions(partitions)


def replace_table(frame: DataFrame, path: str | os.PathLike[str], options: Mapping[str, Any]) -> WriteReport:
    """Write a DataFrame to a table that the options describe, which takes the place of the one at a path.

    The old table stays until the new one is complete. Where folders cannot be moved, its rows are replaced in one
    commit if the options describe the same table.

    Args:
        frame: the rows; they may be the old table's.
        path: base path of the table.
        options: Hudi's write options.

    Raises:
        InvalidOptionError: as of :func:`write`; or the table is another one and cannot be moved.
        WriteConflictError: others write to the table.
    """
    base = os.fspath(path)
    stored = store_options(frame.sparkSession._jsparkSession, base)
    client = MetaClient.load(base, stored)
    if client.storage.is_local or _contradicts(options, client):
        return _in_place_of(client, frame, options, stored)
    config = WriteConfig.of(options, client.config).with_operation(Operation.INSERT_OVERWRITE_TABLE)
    return SparkWriter(client, config).write(frame)


def _in_place_of(
    client: MetaClient,
    frame: DataFrame,
    options: Mapping[str, Any],
    stored: Mapping[str, Any],
    annotate: Annotate | None = None,
) -> WriteReport:
    lock = table_lock(options, client.storage, metastore=MetastoreLock.connect)
    return in_place_of(client, lock, lambda path: _first_write(frame, path, options, stored, annotate))


def sync_of(session: JavaValue, config: WriteConfig, base: str, stored: Mapping[str, Any]) -> SyncAfterWrite | None:
    """The sync that a write's options ask for, to the session's metastore if they name none.

    Raises:
        InvalidOptionError: an option of the sync is wrong, or there is no metastore.
    """
    if not config.sync_enabled:
        return SyncAfterWrite.from_write_config(config, base, stored)
    return SyncAfterWrite.from_write_config(config, base, stored, metastore_settings(session))


def _table_at(base: str, stored: Mapping[str, Any]) -> MetaClient | None:
    try:
        return MetaClient.load(base, stored)
    except TableNotFoundError:
        return None


def _contradicts(options: Mapping[str, Any], client: MetaClient) -> bool:
    """Whether options describe another table than the one that is there; wrong ones are refused as of any table."""
    try:
        WriteConfig.of(options, client.config)
    except InvalidOptionError:
        WriteConfig.of(options)
        return True
    return False


def _first_write(
    frame: DataFrame,
    base: str,
    options: Mapping[str, Any],
    stored: Mapping[str, Any],
    annotate: Annotate | None,
) -> WriteReport:
    """The write of a table that is made for it, and does not stay without it."""
    with discarded_on_failure(base, lambda: _created(base, options, stored), stored) as client:
        return _writer(client, WriteConfig.of(options, client.config), annotate).write(frame)


def _writer(
    client: MetaClient,
    config: WriteConfig,
    annotate: Annotate | None,
    statement: StatementRows | None = None,
) -> SparkWriter:
    writer = SparkWriter(client, config, statement)
    writer.annotate = annotate
    return writer


def _created(base: str, options: Mapping[str, Any], stored: Mapping[str, Any]) -> MetaClient:
    """The table that the options describe, new."""
    config = WriteConfig.of(options)
    if config.operation in (Operation.DELETE, Operation.DELETE_PARTITION):
        raise TableNotFoundError("there is no table to delete from", path=base, remedy="give the table's base path")
    storage = Storage(base, stored)
    # Elsewhere the store itself lets only one of several create the table.
    locked = not storage.creates_atomically
    lock = table_lock(options, storage, metastore=MetastoreLock.connect) if locked else None
    return create_table(base, config.table_definition(), storage=storage, lock=lock)


class SparkWriter(Writer[DataFrame]):
    """Writes DataFrames to one Hudi table.

    Args:
        client: the table.
        config: the write's configuration.
        statement: what an SQL statement says of the rows that it writes.
    """

    def __init__(self, client: MetaClient, config: WriteConfig, statement: StatementRows | None = None) -> None:
        lock = table_lock(config.options, client.storage, metastore=MetastoreLock.connect)
        super().__init__(client, config, lock=lock)
        rows = statement if statement is not None else StatementRows()
        self._check, self._replaces, self._changes = rows.check, rows.replaces, rows.changes

    def _begin(self, rows: DataFrame) -> None:
        self.executor = SparkExecutor(rows.sparkSession.sparkContext)

    def _column_names(self, rows: DataFrame) -> Sequence[str]:
        names: list[str] = rows.columns
        return names

    def _partitions_to_delete(self) -> Sequence[str]:
        return self.config.rows.partitions_to_delete

    def _engine_errors(self) -> AbstractContextManager[None]:
        return task_errors()

    # -- straight to new groups --------------------------------------------------------------------------------------

    def _insert(self, rows: DataFrame) -> WriteReport:
        incoming = IncomingRows(rows, self.client, self.config, self._changes)
        index = open_index(self.config, self.client)
        straight = self.config.operation is Operation.BULK_INSERT and not index.assigns_inserts
        return self._append(incoming) if straight and not self.drops_duplicates else self._merge(incoming)

    def _append(self, rows: IncomingRows) -> WriteReport:
        """Bulk insert."""
        with self.transaction(precondition=self._check, recent=True) as transaction:
            prepared = in_order(rows.prepared(transaction.instant), self.config)
            statuses = self._new_groups(prepared, rows, transaction)
            self.refuse_nested(transaction.client, pc.unique(statuses.column("partition")).to_pylist())
            return self.commit_files(transaction, statuses, rows.records.schema_text)

    def _overwrite(self, rows: DataFrame) -> WriteReport:
        incoming = IncomingRows(rows, self.client, self.config)
        with (
            self.transaction(REPLACE_COMMIT, precondition=self._check, recent=True) as transaction,
            persisted_frames() as persist,
        ):
            prepared = incoming.prepared(transaction.instant)
            index = open_index(self.config, transaction.client)
            looks = incoming.may_delete or isinstance(index, BucketIndex)
            if looks:
                prepared = persist(prepared)
                named = _partitions(prepared)
            if isinstance(index, BucketIndex):
                index.start_anew(named)
                tagged = _tagged(prepared, None, index, self._tags(incoming, transaction, index), incoming.columns)
                statuses = self._new_buckets(persist(tagged), incoming, transaction, index)
            else:
                statuses = self._new_groups(prepared, incoming, transaction)
            if not looks:
                named = statuses.column("partition").to_pylist()
            self.refuse_nested(transaction.client, named)
            if self._replaces is not None:
                named = [*named, *filter(self._replaces, transaction.client.partition_paths())]
            replaced = self.replaced_groups(transaction.client, named)
            return self.commit_files(transaction, statuses, incoming.records.schema_text, replaced)

    def _new_groups(self, prepared: DataFrame, rows: IncomingRows, transaction: WriteTransaction) -> pa.Table:
        size = record_size(transaction.client, self.config.files)
        context = self.write_context(transaction, rows.records)
        return statuses_of(prepared, WriteNewFileGroups(context, rows.columns, self.config, rows.spec, size))

    def _tags(self, rows: IncomingRows, transaction: WriteTransaction, index: Index, *, drops: bool = False) -> TagRows:
        return TagRows(index, transaction.client.timeline, rows.spec, rows.columns, drops)

    def _new_buckets(
        self, tagged: DataFrame, rows: IncomingRows, transaction: WriteTransaction, index: Index
    ) -> pa.Table:
        destinations = self._destinations(transaction.client, tagged, [], index, fills_groups=False)
        context = self.write_context(transaction, rows.records)
        return self._to_groups(tagged, destinations, context, rows.columns)

    # -- to the groups of their records ------------------------------------------------------------------------------

    def _merge(self, rows: IncomingRows) -> WriteReport:
        """Upsert and insert, and bulk inserts that need to know which records are there."""
        with self.transaction(precondition=self._check, recent=True) as transaction, persisted_frames() as persist:
            client = transaction.client
            refuse_gone_groups(client, rows.named_files())
            index = open_index(self.config, client)
            prepared = rows.prepared(transaction.instant)
            if self.config.operation is Operation.BULK_INSERT:
                prepared = in_order(prepared, self.config)
            prepared = persist(prepared)
            partitions = _partitions(prepared)
            looks_up = self.updates_records(index) or self.drops_duplicates
            hits = self._hits(prepared, index, partitions) if looks_up else None
            drops = self.drops_duplicates and self.config.duplicate_policy is DuplicatePolicy.DROP
            step = self._tags(rows, transaction, index, drops=drops)
            tagged = persist(_tagged(prepared, hits, index, step, rows.columns))
            self._refuse_duplicates(tagged)
            fills_groups = self.fills_small_groups(index)
            refuse_nested_partitions(client, partitions, lists_all=fills_groups)
            destinations = self._destinations(client, tagged, partitions, index, fills_groups=fills_groups)
            prepared.unpersist()
            context = self.write_context(transaction, rows.records, destinations.merged())
            if self._changes is not None:
                context = replace(context, changed_columns=self._changes.columns_of(context))
            statuses = self._to_groups(tagged, destinations, context, rows.columns)
            return self.commit_files(transaction, statuses, rows.records.schema_text)

    def _delete(self, rows: DataFrame) -> WriteReport:
        # Keys go to the tasks that look for them and to those that write their groups.
        keys = IncomingKeys(rows, self.client, self.config)
        with self.transaction(precondition=self._check, recent=True) as transaction, persisted_frames() as persist:
            client = transaction.client
            refuse_gone_groups(client, keys.named_files())
            index = open_index(self.config, client)
            prepared = persist(keys.prepared())
            hits = self._hits(prepared, index, _partitions(prepared))
            step = TagKeys(index, client.timeline, keys.spec)
            tagged = persist(_tagged(prepared, hits, index, step, RECORD_KEY_SCHEMA))
            destinations = self._destinations(client, tagged, [], index, fills_groups=False)
            context = self.write_context(transaction, keys.records, destinations.merged())
            statuses = self._to_groups(tagged, destinations, context, RECORD_KEY_SCHEMA)
            return self.commit_files(transaction, statuses, keys.records.schema_text)

    def _hits(self, prepared: DataFrame, index: Index, partitions: list[str]) -> DataFrame | None:
        """Where the keys of rows are: a line a key with the list of its hits; None when there is nowhere to look."""
        plan = index.plan_lookup(partitions, self.executor)
        if not plan.tasks:
            return None
        keys = prepared.select(sql.col(RECORD_KEY).alias("key"), sql.col(PARTITION_PATH).alias("partition"))
        routed = map_in_arrow(keys, RouteKeys(plan), with_integer(keys.schema, TASK))
        tasks = min(len(plan.tasks), _parallelism(prepared))
        routed = repartition_by_number(routed, tasks, sql.col(TASK) % tasks)
        hits = map_in_arrow(routed, LookKeysUp(plan), from_arrow_schema(HITS_SCHEMA))
        hit = sql.struct("partition", "file_id")
        by = ["key"] if index.is_global else ["key", "partition"]
        return hits.groupBy(*by).agg(sql.collect_list(hit).alias(HITS))

    def _refuse_duplicates(self, tagged: DataFrame) -> None:
        if self.drops_duplicates and self.config.duplicate_policy is DuplicatePolicy.FAIL:
            count = tagged.where(~sql.col(IS_NEW)).count()
            if count:
                raise self.duplicates_error(count)

    def _destinations(
        self, client: MetaClient, tagged: DataFrame, partitions: list[str], index: Index, *, fills_groups: bool
    ) -> Destinations:
        """File groups for new rows, and all groups that get lines."""
        slices = newest_slices(client, partitions)
        lines = tagged.groupBy(PARTITION_PATH, FILE_ID).count().toArrow()
        lines = lines.rename_columns(["partition", "file_id", "count"])
        free = lines.filter(pc.is_null(lines["file_id"])).sort_by("partition")
        counts = dict(zip(free["partition"].to_pylist(), free["count"].to_pylist(), strict=True))
        assignment = assign_file_groups(client, self.config, counts, slices if fills_groups else None)
        bound = lines.filter(pc.is_valid(lines["file_id"])).select(["partition", "file_id"])
        bound = bound.cast(pa.schema(list(HITS_SCHEMA)[1:]))
        groups = pa.concat_tables([bound, assignment.select(["partition", "file_id"])])
        groups = groups.group_by(["partition", "file_id"]).aggregate([]).select(["partition", "file_id"])
        touched = pc.unique(groups.column("partition")).to_pylist()
        if set(touched) - set(partitions):  # records that are, or stay, elsewhere
            slices = newest_slices(client, touched)
        refuse_clustered_groups(client, groups)
        plan = FileGroupPlan.of(client, slices, small_groups_of(assignment), can_index_log_files=index.assigns_inserts)
        pairs = zip(groups["partition"].to_pylist(), groups["file_id"].to_pylist(), strict=True)
        handles = tuple((plan.handle(group), plan.target(group)) for group in pairs)
        return Destinations(assignment, groups.combine_chunks(), handles)

    def _to_groups(self, tagged: DataFrame, to: Destinations, context: WriteContext, columns: pa.Schema) -> pa.Table:
        """Lines to the files of their groups; the statuses of these."""
        placed = map_in_arrow(tagged, PlaceRows(to.assignment, to.groups), with_integer(tagged.schema, GROUP))
        tasks = max(1, min(to.groups.num_rows, _parallelism(tagged)))
        spread = repartition_by_number(placed, tasks, sql.col(GROUP) % tasks)
        return statuses_of(spread, WriteFileGroups(context, columns, to.handles))


@dataclass(frozen=True)
class Destinations:
    """The file groups and tasks of the rows of a write.

    Attributes:
        assignment: file groups for new rows.
        groups: all groups that get lines, by number.
        handles: what happens to each.
    """

    assignment: pa.Table
    groups: pa.Table
    handles: tuple[tuple[WriteHandle, TargetSlice], ...]

    def merged(self) -> list[TargetSlice]:
        """The groups whose base files are read."""
        return [target for handle, target in self.handles if handle is WriteHandle.MERGE]


def _parallelism(frame: DataFrame) -> int:
    return int(frame.sparkSession.sparkContext.defaultParallelism) * TASKS_PER_CORE * 8


def _partitions(prepared: DataFrame) -> list[str]:
    """Partitions that rows name."""
    paths = [row[0] for row in prepared.select(PARTITION_PATH).distinct().collect()]
    return sorted(path for path in paths if path is not None)


def _tagged(
    prepared: DataFrame, hits: DataFrame | None, index: Index, step: TagRows | TagKeys, columns: pa.Schema
) -> DataFrame:
    """Rows with their hits beside them, through the step that makes lines of them."""
    if hits is None:
        nothing = sql.lit(None).cast("array<struct<partition: string, file_id: string>>")
        joined = prepared.withColumn(HITS, nothing)
    else:
        same: Column = prepared[RECORD_KEY] == hits["key"]
        if not index.is_global:
            same = same & (prepared[PARTITION_PATH] == hits["partition"])
        joined = prepared.join(hits, same, "left").select(*[prepared[f"`{name}`"] for name in prepared.columns], HITS)
    return map_in_arrow(joined, step, from_arrow_schema(pa.schema([*columns, *PLACE_FIELDS])))


__all__ = ["MODES", "SparkWriter", "replace_table", "write"]
