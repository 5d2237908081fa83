"""Writes DataFrames to Hudi tables: rows stay Arrow batches on the executors.

Bulk inserts and overwrites go straight from the incoming tasks to new files. Upserts and inserts are prepared, packed,
many rows to a line, their keys are looked up where the index says, and each file group's file is written by the task
that has all of its rows. What an operation does is decided as for every :class:`~hudi_hive.write.writers.Writer`; the
driver holds numbers of rows, names of file groups and records that move to another partition, never the rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, get_args

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from hudi_hive.errors import InvalidOptionError, PathExistsError, TableNotFoundError
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.names import HOODIE_TABLE_NAME
from hudi_hive.options import WriteOptions
from hudi_hive.spark.bridge import (
    JavaValue,
    metastore_settings,
    statement_jobs,
    store_options,
)
from hudi_hive.spark.write.destinations import (
    Destinations,
    TaggedRows,
    partitions_of,
    partitions_of_rows,
    to_groups,
    with_lines,
)
from hudi_hive.spark.write.executor import SparkExecutor, table_label, task_errors
from hudi_hive.spark.write.file_steps import WriteFileGroups, WriteNewFileGroups
from hudi_hive.spark.write.located_rows import TagKeys, TagRows
from hudi_hive.spark.write.lookups import MOST_ON_DRIVER, are_nowhere, hits_of, tagged_rows
from hudi_hive.spark.write.row_changes import StatementRows
from hudi_hive.spark.write.rows import (
    IncomingKeys,
    IncomingRows,
    Persist,
    default_tasks,
    in_order,
    keyed_in_order,
    persisted_frames,
    statuses_of,
    takes_any_order,
)
from hudi_hive.spark.write.validators import SqlValidation
from hudi_hive.storage import Storage
from hudi_hive.sync.run import SyncAfterWrite
from hudi_hive.table import MetaClient
from hudi_hive.table.core import create_table
from hudi_hive.table.properties import refuse_format
from hudi_hive.timeline.instants import REPLACE_COMMIT
from hudi_hive.write.commit import WriteTransaction, discarded_on_failure, in_place_of
from hudi_hive.write.coordination import SYNC, followed, table_lock
from hudi_hive.write.files import record_size
from hudi_hive.write.index import HITS_SCHEMA, BucketIndex, Index, open_index
from hudi_hive.write.options import DuplicatePolicy, Operation, WriteConfig
from hudi_hive.write.records import RECORD_KEY_SCHEMA, refuse_gone_groups, refuse_nested_partitions
from hudi_hive.write.versions import upgrade_for_write
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

WriteMode: TypeAlias = Literal["append", "overwrite", "error", "errorifexists", "ignore"]
"""What becomes of a table that is there."""
MODES: Final[tuple[WriteMode, ...]] = get_args(WriteMode)


def write(
    frame: DataFrame,
    path: str | os.PathLike[str],
    options: WriteOptions | Mapping[str, Any] | None = None,
    mode: WriteMode = "append",
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
    chosen = str(mode).lower()
    if chosen not in MODES:
        raise InvalidOptionError(f"write mode {mode!r} is not known", remedy=", ".join(MODES))
    base, all_options = os.fspath(path), dict[str, Any](options or {})
    session = frame.sparkSession._jsparkSession
    stored = store_options(session, base, storage_options)
    client = _table_at(base, stored)
    if client is not None and chosen == "ignore":
        return None
    if client is not None and chosen.startswith("error"):
        raise PathExistsError("the table is there already", path=base, remedy="write with mode append or overwrite")
    if client is not None:
        client = upgrade_for_write(client, all_options, metastore_lock=MetastoreLock.connect)
    if client is not None and chosen == "overwrite" and _contradicts(all_options, client):
        all_options.setdefault(HOODIE_TABLE_NAME, client.config.name)
        sync = sync_of(session, WriteConfig.of(all_options), base, stored)
        report = _in_place_of(client, frame, all_options, stored, annotate)
    elif client is None:
        sync = sync_of(session, WriteConfig.of(all_options), base, stored)
        report = _first_write(frame, base, all_options, stored, annotate)
    else:
        config = WriteConfig.of(all_options, client.config)
        sync = sync_of(session, config, base, stored)
        if chosen == "overwrite" and not config.operation.replaces:
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
    writer.use(spark)
    with statement_jobs(spark.sparkContext, f"{Operation.DELETE_PARTITION.value} {table_label(client)}"):
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
        UnsupportedTableError: the old table's base files are of a format that is read only.
        WriteConflictError: others write to the table.
    """
    stored = store_options(frame.sparkSession._jsparkSession, os.fspath(path))
    client = MetaClient.load(path, stored)
    refuse_format(client.config, client.base_path)
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
    frame: DataFrame, base: str, options: Mapping[str, Any], stored: Mapping[str, Any], annotate: Annotate | None
) -> WriteReport:
    """The write of a table that is made for it, and does not stay without it."""
    with discarded_on_failure(base, lambda: _created(base, options, stored), stored) as client:
        return _writer(client, WriteConfig.of(options, client.config), annotate).write(frame)


def _writer(
    client: MetaClient, config: WriteConfig, annotate: Annotate | None, statement: StatementRows | None = None
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
        self._carries_places = rows.carries_places

    def write(self, rows: DataFrame) -> WriteReport:
        """Write rows, by jobs that Spark's pages call by the operation and the table; see :class:`Writer`."""
        statement = f"{self.config.operation.value} {table_label(self.client)}"
        with statement_jobs(rows.sparkSession.sparkContext, statement):
            return super().write(rows)

    def use(self, session: SparkSession) -> None:
        """Run tasks and pre-commit validators in a session."""
        self.executor, self.validate = SparkExecutor(session.sparkContext), SqlValidation(session, self.config)

    def _begin(self, rows: DataFrame) -> None:
        self.use(rows.sparkSession)

    def _column_names(self, rows: DataFrame) -> Sequence[str]:
        return list(rows.columns)

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
            straight = rows.combine is None and takes_any_order(self.config)
            prepared = None if straight else in_order(rows.prepared(transaction.instant), self.config)
            statuses = self._new_groups(prepared, rows, transaction)
            self.refuse_nested(transaction.client, pc.unique(statuses.column("partition")).to_pylist())
            return self.commit_files(transaction, statuses, rows.records.schema_text)

    def _overwrite(self, rows: DataFrame) -> WriteReport:
        self.refuse_consistent_overwrite(open_index(self.config, self.client))
        incoming = IncomingRows(rows, self.client, self.config)
        with (
            self.transaction(REPLACE_COMMIT, precondition=self._check, recent=True) as transaction,
            persisted_frames() as persist,
        ):
            prepared = incoming.prepared(transaction.instant)
            index = open_index(self.config, transaction.client)
            looks = incoming.may_delete or isinstance(index, BucketIndex)
            if isinstance(index, BucketIndex):
                keyed = keyed_in_order(prepared, persist, by_buckets=False)
                named = partitions_of(keyed)
                index.start_anew(named)
                tagged = tagged_rows(keyed, None, self._tags(incoming, transaction, index))
                statuses = self._new_buckets(persist(tagged), incoming, transaction)
            else:
                if looks:
                    prepared = persist(prepared)
                    named = partitions_of_rows(prepared)
                straight = incoming.combine is None and not looks
                statuses = self._new_groups(None if straight else prepared, incoming, transaction)
            if not looks:
                named = statuses.column("partition").to_pylist()
            self.refuse_nested(transaction.client, named)
            if self._replaces is not None:
                named = [*named, *filter(self._replaces, transaction.client.partition_paths())]
            replaced = self.replaced_groups(transaction.client, named)
            return self.commit_files(transaction, statuses, incoming.records.schema_text, replaced)

    def _new_groups(self, prepared: DataFrame | None, rows: IncomingRows, transaction: WriteTransaction) -> pa.Table:
        """Prepared rows to new groups; without such, rows as they come."""
        size = record_size(transaction.client, self.config.files)
        context = self.write_context(transaction, rows.records)
        step = WriteNewFileGroups(context, rows.columns, self.config, rows.spec, size)
        return rows.written(transaction.instant, step) if prepared is None else statuses_of(prepared, step)

    def _tags(self, rows: IncomingRows, transaction: WriteTransaction, index: Index, *, drops: bool = False) -> TagRows:
        buckets = default_tasks(rows.session)
        return TagRows(index, transaction.client.timeline, rows.spec, rows.columns, buckets, drops)

    def _new_buckets(self, tagged: DataFrame, rows: IncomingRows, transaction: WriteTransaction) -> pa.Table:
        lines = with_lines(tagged)
        destinations = self._destinations(transaction.client, lines, [], fills_groups=False, to_logs=False)
        context = self.write_context(transaction, rows.records)
        return to_groups(lines, destinations, WriteFileGroups(context, rows.columns, destinations.handles))

    # -- to the groups of their records ------------------------------------------------------------------------------

    def _merge(self, rows: IncomingRows) -> WriteReport:
        """Upsert and insert, and bulk inserts that need to know which records are there."""
        with self.transaction(precondition=self._check, recent=True) as transaction, persisted_frames() as persist:
            client = transaction.client
            refuse_gone_groups(client, rows.named_files())
            index = open_index(self.config, client)
            if self._goes_straight(rows, transaction, index):
                tagged = with_lines(persist(rows.with_places(transaction.instant, named=False)))
            elif self._carries_places:
                tagged = self._by_places(rows, transaction, index, persist)
            else:
                if self.config.operation is Operation.BULK_INSERT:
                    prepared = in_order(rows.prepared(transaction.instant), self.config)
                    keyed = keyed_in_order(prepared, persist, by_buckets=self._looks_up(index))
                else:
                    keyed = rows.keyed(transaction.instant, persist)
                tagged = self._by_keys(keyed, rows, transaction, index, persist)
            fills_groups = self.fills_small_groups(index)
            refuse_nested_partitions(client, tagged.partitions, lists_all=fills_groups)
            destinations = self._destinations(
                client, tagged, tagged.partitions, fills_groups=fills_groups, to_logs=index.assigns_inserts
            )
            context = self.write_context(transaction, rows.records, destinations.merged())
            if self._changes is not None:
                context = replace(context, changed_columns=self._changes.columns_of(context))
            combine = rows.combine if tagged.untagged else None
            step = WriteFileGroups(context, rows.columns, destinations.handles, tagged.untagged, combine)
            statuses = to_groups(tagged, destinations, step)
            return self.commit_files(transaction, statuses, rows.records.schema_text)

    def _goes_straight(self, rows: IncomingRows, transaction: WriteTransaction, index: Index) -> bool:
        """Whether no row can be one that the table has, or none is looked up: rows are combined in their new groups."""
        if self.config.operation is Operation.BULK_INSERT or self.drops_duplicates or index.assigns_inserts:
            return False
        if index.is_global and rows.combine is not None:
            return False  # rows of one key may be of several partitions
        return not self.updates_records(index) or not transaction.client.timeline.write_instants()

    def _by_places(
        self, rows: IncomingRows, transaction: WriteTransaction, index: Index, persist: Persist
    ) -> TaggedRows:
        """Rows to the groups that they name; others are looked up, unless they are known to be new."""
        client = transaction.client
        told = self._changes is not None and self._changes.inserts_are_new
        by_group = not index.is_global and not index.assigns_inserts  # those look for all rows of a key
        # Base files of merge-on-read tables have keys that logs delete: their group must get a row of such a key.
        new = told and by_group and not client.config.is_merge_on_read
        named = with_lines(persist(rows.with_places(transaction.instant, named=True, inserts_are_new=new)))
        there, rest, unknown = named.split(client)
        if rest is None:
            return named
        few = by_group and unknown is not None and unknown <= MOST_ON_DRIVER
        if few and are_nowhere(rest, index, self.executor):
            return named.all_new()
        if there is not None and index.is_global:
            there, rest = there.without_keys_of(rest)  # a row of them may be a record that moves
        tagged = self._by_keys(rows.keyed_again(rest, persist), rows, transaction, index, persist)
        return tagged if there is None else there.joined(tagged, rows.columns)

    def _looks_up(self, index: Index) -> bool:
        return self.updates_records(index) or self.drops_duplicates

    def _by_keys(
        self, keyed: DataFrame, rows: IncomingRows, transaction: WriteTransaction, index: Index, persist: Persist
    ) -> TaggedRows:
        """Rows to the groups in which the index finds their records."""
        partitions = partitions_of(keyed)
        hits = hits_of(keyed, index, partitions, self.executor) if self._looks_up(index) else None
        drops = self.drops_duplicates and self.config.duplicate_policy is DuplicatePolicy.DROP
        tagged = with_lines(
            persist(tagged_rows(keyed, hits, self._tags(rows, transaction, index, drops=drops))), partitions
        )
        self._refuse_duplicates(tagged.lines)
        keyed.unpersist()
        return tagged

    def _delete(self, rows: DataFrame) -> WriteReport:
        # Keys go to the tasks that look for them and to those that write their groups.
        keys = IncomingKeys(rows, self.client, self.config)
        with self.transaction(precondition=self._check, recent=True) as transaction, persisted_frames() as persist:
            client = transaction.client
            refuse_gone_groups(client, keys.named_files())
            index = open_index(self.config, client)
            there: TaggedRows | None = None
            rest: DataFrame | None = None
            if self._carries_places:
                there, rest, _ = with_lines(persist(keys.with_places())).split(client)
            if there is None or rest is not None:
                keyed = keys.keyed(persist) if rest is None else keys.keyed_again(rest, persist)
                hits = hits_of(keyed, index, partitions_of(keyed), self.executor)
                tags = TagKeys(index, client.timeline, keys.spec, default_tasks(keyed.sparkSession))
                tagged = with_lines(persist(tagged_rows(keyed, hits, tags)))
                there = tagged if there is None else there.joined(tagged, RECORD_KEY_SCHEMA)
            destinations = self._destinations(client, there, [], fills_groups=False, to_logs=index.assigns_inserts)
            context = self.write_context(transaction, keys.records, destinations.merged())
            step = WriteFileGroups(context, RECORD_KEY_SCHEMA, destinations.handles)
            statuses = to_groups(there, destinations, step)
            return self.commit_files(transaction, statuses, keys.records.schema_text)

    def _refuse_duplicates(self, lines: pa.Table) -> None:
        if self.drops_duplicates and self.config.duplicate_policy is DuplicatePolicy.FAIL:
            count = int(pc.sum(lines.filter(pc.invert(lines.column("is_new"))).column("count")).as_py() or 0)
            if count:
                raise self.duplicates_error(count)

    def _destinations(
        self, client: MetaClient, tagged: TaggedRows, partitions: list[str], *, fills_groups: bool, to_logs: bool
    ) -> Destinations:
        """File groups for new rows, and all groups that get lines; whether new rows may be in log files."""
        slices = newest_slices(client, partitions)
        lines = tagged.lines
        free = lines.filter(pc.is_null(lines["file_id"])).group_by("partition").aggregate([("count", "sum")])
        free = free.sort_by("partition")
        counts = dict(zip(free["partition"].to_pylist(), free["count_sum"].to_pylist(), strict=True))
        assignment = assign_file_groups(client, self.config, counts, slices if fills_groups else None)
        bound = lines.filter(pc.is_valid(lines["file_id"])).select(["partition", "file_id"])
        bound = bound.cast(pa.schema(list(HITS_SCHEMA)[1:]))
        groups = pa.concat_tables([bound, assignment.select(["partition", "file_id"])])
        groups = groups.group_by(["partition", "file_id"]).aggregate([]).select(["partition", "file_id"])
        touched = pc.unique(groups.column("partition")).to_pylist()
        if set(touched) - set(partitions):  # records that are, or stay, elsewhere
            slices = newest_slices(client, touched)
        refuse_clustered_groups(client, groups)
        plan = FileGroupPlan.of(client, slices, small_groups_of(assignment), can_index_log_files=to_logs)
        pairs = zip(groups["partition"].to_pylist(), groups["file_id"].to_pylist(), strict=True)
        handles = tuple((plan.handle(group), plan.target(group)) for group in pairs)
        return Destinations(assignment, groups.combine_chunks(), handles)


__all__ = ["MODES", "SparkWriter", "WriteMode", "replace_table", "write"]
