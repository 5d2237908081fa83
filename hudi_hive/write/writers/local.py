"""Writing without an engine: Arrow tables in, one commit out; for data that fits into memory.

Rows are prepared, their records are looked up by the index, each is given a file group, and each group's file is
written by a task. The same parts make up the writers of engines, which shuffle rows where this one takes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError, UnsupportedTableError, WriteError
from hudi_hive.metadata import MetadataListing
from hudi_hive.table import MetaClient
from hudi_hive.timeline.instants import COMMIT, DELTA_COMMIT, REPLACE_COMMIT
from hudi_hive.write.commit import WriteTransaction
from hudi_hive.write.coordination import (
    BASE,
    SERVICES,
    TOUCHED_SCHEMA,
    AfterCommit,
    LocalExecutor,
    TableLock,
    TaskExecutor,
    refuse_clustered,
    table_lock,
)
from hudi_hive.write.files import (
    DELETES_SCHEMA,
    PARTITION_PATH,
    RECORD_KEY,
    RECORD_LOCATIONS,
    TargetSlices,
    WriteContext,
    WriteHandle,
    WriteTask,
    assign_inserts,
    attempts,
    joined,
    record_size,
    run_write_task,
    split_by_file_group,
    spread,
    with_file_schemas,
)
from hudi_hive.write.index import open_index
from hudi_hive.write.options import DuplicatePolicy, Operation, WriteConfig
from hudi_hive.write.records import (
    KeyedRecords,
    config_for,
    prepare_deletes,
    prepare_records,
    refuse_gone_groups,
    refuse_nested_partitions,
    write_context_of,
)
from hudi_hive.write.schema import refuse_without_ids
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import InlineReport, run_inline_services
from hudi_hive.write.writers.report import WriteReport


class LocalWriter:
    """Writes Arrow tables to one Hudi table.

    Args:
        client: the table.
        options: Hudi's write options; the table's own properties are known.
        executor: where tasks run; threads of this process without it.
        lock: the table's lock; that of the options without it.
        extra: extra metadata of the commits.

    Raises:
        InvalidOptionError: an option is unknown, not supported, or contradicts the table.
        UnsupportedTableError: the table is of a kind that is not written.
    """

    def __init__(
        self,
        client: MetaClient,
        options: Mapping[str, Any] | None = None,
        *,
        executor: TaskExecutor | None = None,
        lock: TableLock | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        self.config = WriteConfig.of(options or {}, client.config)
        self._client = client
        self._executor = executor if executor is not None else LocalExecutor()
        self._lock = lock
        self._extra = {**self.config.commit_metadata, **(extra or {})}
        _refuse(client)
        if self.config.rows.schema_on_read is False:
            refuse_without_ids(client)

    def write(self, rows: pa.Table) -> WriteReport:
        """Write rows the way that ``hoodie.datasource.write.operation`` says.

        Args:
            rows: the table's columns; those that it lacks become null, new ones are added to the table. For a delete
                the columns of key and partition are enough.

        Raises:
            SchemaError: columns that do not fit the table's.
            KeyGenerationError: a row without a record key.
            WriteConflictError: another writer changed the same file groups and completed first.
            WriteError: the write could not be done; the table is as it was.
        """
        return self._serviced(self._write(rows))

    def _write(self, rows: pa.Table) -> WriteReport:
        self.config = config_for(self.config, rows.column_names)
        operation = self.config.operation
        if operation is Operation.DELETE_PARTITION:
            raise InvalidOptionError("delete_partition takes no rows", remedy="call delete_partitions")
        self._client = self._client.reload()  # others may have added columns since the table was opened
        if operation is Operation.DELETE:
            return self._delete(prepare_deletes(self._client, self.config, rows))
        ready = prepare_records(self._client, self.config, rows)
        return self._overwrite(ready) if operation.replaces else self._add(ready)

    def delete_partitions(self, partitions: Sequence[str]) -> WriteReport:
        """Replace all file groups of partitions by nothing.

        Args:
            partitions: partition paths, in which ``*`` stands for any characters; ones that the table does not have
                are passed over.

        Raises:
            InvalidOptionError: no partition is named, or ``hoodie.datasource.write.partitions.to.delete`` names others.
        """
        asked = self.config.rows.partitions_to_delete
        if not partitions or (asked and set(asked) != set(partitions)):
            raise InvalidOptionError(
                "delete_partition names no partitions" if not partitions else f"{_TO_DELETE} names other partitions",
                path=self._client.base_path,
                remedy=f"give their paths, on Spark by {_TO_DELETE}",
            )
        config = self.config.with_operation(Operation.DELETE_PARTITION)
        with self._transaction(REPLACE_COMMIT, config) as transaction:
            client = transaction.client
            replaced = groups_in(client, _named(partitions, client.partition_paths()))
            schema = KeyedRecords.of_table(client).schema_text
            named = frozenset({*partitions, *replaced})
            report = self._committed(transaction, joined([]), schema, replaced, named)
        return self._serviced(replace(report, operation=Operation.DELETE_PARTITION))

    def run_services(self) -> InlineReport:
        """Run the table services that are due (``hoodie.clean.automatic``, ``hoodie.compact.inline`` …).

        Writing does so after every commit; what fails of them is in the report, for the commit stands.
        """
        client = self._client.with_listing(MetadataListing())
        lock = self._lock if self._lock is not None else table_lock(self.config.options, client.storage)
        context = ServiceContext(client, self.config.options, self._executor, lock=lambda: lock)
        return run_inline_services(context, self.config)

    def _serviced(self, report: WriteReport) -> WriteReport:
        """The report with what the table services behind the commit did."""
        after = AfterCommit(self._client.base_path, report.instant.requested, report.instant)
        services = after.attempt(SERVICES, self.run_services)
        failed = {**report.failed, **after.failed, **(services.failed if services is not None else {})}
        return replace(report, services=services, failed=failed)

    # -- operations ------------------------------------------------------------------------------------------------

    def _add(self, ready: KeyedRecords) -> WriteReport:
        """Upsert, insert and bulk insert."""
        operation = self.config.operation
        with self._transaction(self._action(), precondition=self._precondition(ready)) as transaction:
            ready = ready.at(transaction.instant)
            if operation is Operation.BULK_INSERT:
                ready = replace(ready, rows=_sorted(ready.rows, self.config))
            context = self._write_context(transaction, ready)
            index = open_index(self.config, transaction.client)
            looks = operation is Operation.UPSERT or index.assigns_inserts
            tags = index.tag(ready.index_keys(), self._executor) if looks or self._drops else None
            if self._drops:
                assert tags is not None
                tags = self._without_duplicates(tags)
            fills_groups = operation is not Operation.BULK_INSERT or index.assigns_inserts
            if tags is not None:
                ready = ready.where_tagged(tags)
            known = newest_slices(transaction.client, _partitions(ready, tags)) if fills_groups else None
            places, deletes, taking = self._places(transaction.client, ready, tags, known, inserts_only=not looks)
            groups = TargetSlices.of(known if known is not None else _no_slices(transaction.client))
            refuse_clustered_groups(transaction.client, places, deletes)
            tasks = self._write_tasks(ready.rows, places, deletes, taking, groups, index.assigns_inserts)
            return self._finish(transaction, context, tasks, ready)

    def _overwrite(self, ready: KeyedRecords) -> WriteReport:
        """Insert overwrite, of the partitions that the rows name or of the table."""
        with self._transaction(REPLACE_COMMIT, precondition=self._precondition(ready)) as transaction:
            client = transaction.client
            ready = ready.at(transaction.instant)
            context = self._write_context(transaction, ready)
            replaced = self._replaced(client, ready.partitions())
            self._refuse_buckets(client)
            places, deletes, taking = self._places(client, ready, None, None, inserts_only=True)
            groups = TargetSlices.of(_no_slices(client))
            tasks = self._write_tasks(ready.rows, places, deletes, taking, groups, False)
            return self._finish(transaction, context, tasks, ready, replaced)

    def _delete(self, ready: KeyedRecords) -> WriteReport:
        """Delete records by key."""
        with self._transaction(self._action()) as transaction:
            client = transaction.client
            ready = ready.at(transaction.instant)
            context = self._write_context(transaction, ready)
            index = open_index(self.config, client)
            tags = index.tag(ready.index_keys(deleted=True), self._executor)
            tags = tags.filter(pc.is_valid(tags.column("current_file_id")))
            keys = ready.rows.column(RECORD_KEY).take(tags.column("row"))
            place = [tags.column("current_partition"), tags.column("current_file_id")]
            deletes = pa.table([keys, *place], schema=DELETES_SCHEMA)
            places = RECORD_LOCATIONS.empty_table()
            slices = newest_slices(client, pc.unique(deletes.column("partition")).to_pylist())
            refuse_clustered_groups(client, places, deletes)
            tasks = self._write_tasks(
                ready.rows, places, deletes, frozenset(), TargetSlices.of(slices), index.assigns_inserts
            )
            return self._finish(transaction, context, tasks, ready)

    # -- steps -----------------------------------------------------------------------------------------------------

    @property
    def _drops(self) -> bool:
        """Whether rows whose records the table has are left out or refused."""
        upserts = self.config.operation is Operation.UPSERT
        return not upserts and self.config.duplicate_policy is not DuplicatePolicy.NONE

    def _replaced(self, client: MetaClient, partitions: Iterable[str]) -> dict[str, list[str]]:
        """File groups that an overwrite replaces: those of the partitions that the rows have, or all."""
        whole = self.config.rows.replaces_table
        written = set(partitions)
        return groups_in(client, [path for path in client.partition_paths() if whole or path in written])

    def _refuse_buckets(self, client: MetaClient) -> None:
        """An overwrite makes new groups, which a bucket index does not know."""
        if open_index(self.config, client).assigns_inserts:
            raise UnsupportedTableError(
                f"{self.config.operation} with a bucket index is not supported",
                path=client.base_path,
                remedy="delete the partitions, then upsert the rows",
            )

    def _action(self) -> str:
        return DELTA_COMMIT if self._client.config.is_merge_on_read else COMMIT

    def _precondition(self, ready: KeyedRecords) -> Callable[[MetaClient], None]:
        """Refuses rows by the table as it is when their write begins."""
        lists_all = self.config.operation is not Operation.BULK_INSERT
        return partial(refuse_nested_partitions, paths=ready.partitions(), lists_all=lists_all)

    def _transaction(
        self, action: str, config: WriteConfig | None = None, precondition: Callable[[MetaClient], None] | None = None
    ) -> WriteTransaction:
        config = config if config is not None else self.config
        return WriteTransaction(
            self._client,
            config,
            action=action,
            operation=config.operation.commit_name,
            executor=self._executor,
            lock=self._lock,
            precondition=precondition,
        )

    def _write_context(self, transaction: WriteTransaction, ready: KeyedRecords) -> WriteContext:
        refuse_gone_groups(transaction.client, ready.named_files)
        return write_context_of(transaction.client, self.config, transaction.instant, ready)

    def _without_duplicates(self, tags: pa.Table) -> pa.Table:
        """Rows whose records the table does not have; refuses them if the policy says so."""
        there = pc.is_valid(tags.column("current_file_id"))
        if self.config.duplicate_policy is DuplicatePolicy.FAIL and pc.any(there).as_py():
            raise self._duplicates(pc.sum(there).as_py())
        return tags.filter(pc.invert(there))

    def _duplicates(self, count: int) -> WriteError:
        return WriteError(
            f"{count} of the rows to insert have keys that the table has",
            path=self._client.base_path,
            remedy="upsert them, or set hoodie.datasource.insert.dup.policy=drop",
        )

    def _places(
        self,
        client: MetaClient,
        ready: KeyedRecords,
        tags: pa.Table | None,
        slices: pa.Table | None,
        *,
        inserts_only: bool,
    ) -> tuple[pa.Table, pa.Table, frozenset[tuple[str, str]]]:
        """Where rows go, what is deleted elsewhere, and the groups that take new rows because they are small."""
        marked = ready.marked()
        known, deletes = RECORD_LOCATIONS.empty_table(), DELETES_SCHEMA.empty_table()
        told: pa.Table = RECORD_LOCATIONS.empty_table()
        if tags is None:
            fresh = np.arange(ready.rows.num_rows)
        else:
            tags = tags.combine_chunks()
            has = pc.is_valid(tags.column("file_id"))
            if not inserts_only:
                known = _as_places(tags.filter(has), "file_id", new=False)
                deletes = self._moved(ready, tags)
            new = tags.filter(pc.invert(has)) if not inserts_only else tags
            new = new.filter(pc.invert(marked.take(new.column("row"))))
            bound = pc.is_valid(new.column("new_file_id"))
            told = _as_places(new.filter(bound), "new_file_id", new=True)
            fresh = new.filter(pc.invert(bound)).column("row").to_numpy()
        given, taking = self._free_places(client, ready, fresh[~marked.to_numpy(zero_copy_only=False)[fresh]], slices)
        return pa.concat_tables([known, told, given]), deletes, taking

    def _free_places(
        self, client: MetaClient, ready: KeyedRecords, fresh: np.ndarray, slices: pa.Table | None
    ) -> tuple[pa.Table, frozenset[tuple[str, str]]]:
        """Where rows go that any group may take, and the groups that take some because they are small."""
        partitions = ready.rows.column(PARTITION_PATH).take(pa.array(fresh)).combine_chunks()
        counted = pc.value_counts(partitions)
        counts = dict(zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True))
        size = record_size(client, self.config.files) if counts else 1
        assignment = assign_inserts(counts, slices, self.config.files, size, busy=busy_groups(client))
        line = pa.array(spread(partitions, assignment))
        given = pa.table(
            [pa.array(fresh), partitions, assignment.column("file_id").take(line), pa.repeat(True, len(fresh))],
            schema=RECORD_LOCATIONS,
        )
        return given, small_groups(assignment)

    def _moved(self, ready: KeyedRecords, tags: pa.Table) -> pa.Table:
        """Records that go to another partition are deleted from where they are."""
        moved = pc.not_equal(tags.column("current_partition"), tags.column("partition")).fill_null(False)
        gone = tags.filter(moved)
        keys = ready.rows.column(RECORD_KEY).take(gone.column("row"))
        return pa.table([keys, gone.column("current_partition"), gone.column("current_file_id")], schema=DELETES_SCHEMA)

    def _write_tasks(
        self,
        rows: pa.Table,
        places: pa.Table,
        deletes: pa.Table,
        taking: frozenset[tuple[str, str]],
        groups: TargetSlices,
        can_index_log_files: bool,
    ) -> list[WriteTask]:
        tasks = []
        numbers = attempts()
        for group, own, new, gone in split_by_file_group(rows, places, deletes):
            handle = groups.handle(
                group,
                merge_on_read=self._client.config.is_merge_on_read,
                takes_inserts=group in taking,
                can_index_log_files=can_index_log_files,
            )
            target = groups.target(group)
            tasks.append(WriteTask(handle, target, next(numbers), own, gone, new))
        return tasks

    def _finish(
        self,
        transaction: WriteTransaction,
        context: WriteContext,
        tasks: list[WriteTask],
        ready: KeyedRecords,
        replaced: Mapping[str, Sequence[str]] | None = None,
    ) -> WriteReport:
        context = with_file_schemas(
            context, transaction.client, [task.target for task in tasks if task.handle is WriteHandle.MERGE]
        )
        statuses = joined(self._executor.map(run_write_task, [(context, task) for task in tasks]))
        return self._committed(transaction, statuses, ready.schema_text, replaced)

    def _committed(
        self,
        transaction: WriteTransaction,
        statuses: pa.Table,
        schema: str,
        replaced: Mapping[str, Sequence[str]] | None = None,
        overwrites: frozenset[str] | None = None,
    ) -> WriteReport:
        """Complete the instant; the report is made before, as nothing behind the commit may fail."""
        counted = WriteReport.of(transaction.begun, self.config.operation, statuses)
        with transaction.standing():
            transaction.commit(statuses, schema=schema, replaced=replaced, extra=self._extra, overwrites=overwrites)
        assert transaction.completed is not None
        return replace(counted, instant=transaction.completed, failed=dict(transaction.failed))


_TO_DELETE: Final = "hoodie.datasource.write.partitions.to.delete"


def _named(partitions: Sequence[str], known: Sequence[str]) -> list[str]:
    """Partitions of the table that paths and patterns name."""
    patterns = [".*".join(map(re.escape, path.split("*"))) for path in partitions if "*" in path and path not in known]
    named = re.compile("|".join(patterns), re.DOTALL) if patterns else None
    exact = set(partitions)
    return [path for path in known if path in exact or (named is not None and named.fullmatch(path))]


def _partitions(ready: KeyedRecords, tags: pa.Table | None) -> list[str]:
    """Partitions that rows go to or leave."""
    paths = dict.fromkeys(ready.partitions())
    if tags is not None:
        paths |= dict.fromkeys(pc.unique(tags.column("current_partition").drop_null()).to_pylist())
    return list(paths)


def _sorted(rows: pa.Table, config: WriteConfig) -> pa.Table:
    """Rows of a bulk insert in the order that ``hoodie.bulkinsert.sort.mode`` or the sort columns ask for."""
    names = list(config.files.bulk_insert_sort_columns)
    unknown = [name for name in names if name not in rows.column_names]
    if unknown:
        raise InvalidOptionError(f"sort column {unknown[0]!r} is not in the table")
    if not names and config.files.bulk_insert_sort in ("GLOBAL_SORT", "PARTITION_SORT"):
        names = [PARTITION_PATH, RECORD_KEY]
    if not names and config.files.bulk_insert_sort == "PARTITION_PATH_REPARTITION_AND_SORT":
        names = [PARTITION_PATH]
    return rows.sort_by([(name, "ascending") for name in names]) if names else rows


def _as_places(tags: pa.Table, column: str, *, new: bool) -> pa.Table:
    columns = [tags.column("row"), tags.column("partition"), tags.column(column)]
    return pa.table([*columns, pa.repeat(new, tags.num_rows)], schema=RECORD_LOCATIONS)


def small_groups(assignment: pa.Table) -> frozenset[tuple[str, str]]:
    """Groups that are there and take new rows: partition path and file id."""
    small = assignment.filter(pc.invert(assignment.column("is_new")))
    return frozenset(zip(small["partition"].to_pylist(), small["file_id"].to_pylist(), strict=True))


def newest_slices(client: MetaClient, partitions: Sequence[str]) -> pa.Table:
    """Newest slices of partitions, those of pending compactions included: where a writer appends."""
    known = set(client.partition_paths())
    view = client.file_system_view([path for path in partitions if path in known])
    return view.latest_file_slices()


def _no_slices(client: MetaClient) -> pa.Table:
    return client.file_system_view([]).latest_file_slices()


def groups_in(client: MetaClient, partitions: Sequence[str]) -> dict[str, list[str]]:
    """File groups of partitions, none left out of a partition that has none."""
    slices = client.file_system_view(partitions).latest_file_slices()
    found: dict[str, list[str]] = {path: [] for path in partitions}
    for partition, file_id in zip(slices["partition"].to_pylist(), slices["file_id"].to_pylist(), strict=True):
        found[partition].append(file_id)
    return found


def busy_groups(client: MetaClient) -> list[str]:
    """File groups that a pending compaction or clustering works on."""
    timeline = client.timeline
    pending = [timeline.pending_compactions(), timeline.pending_clustering()]
    return [file_id for table in pending for file_id in table.column("file_id").to_pylist()]


def refuse_clustered_groups(client: MetaClient, *touching: pa.Table) -> None:
    """Refuse file groups that a pending clustering works on.

    Args:
        client: the table.
        touching: tables with ``partition`` and ``file_id`` of the groups that are written.
    """
    groups = pa.concat_tables([table.select(["partition", "file_id"]) for table in touching])
    touched = groups.append_column("kind", pa.repeat(pa.scalar(BASE), groups.num_rows))
    refuse_clustered(client, touched.cast(TOUCHED_SCHEMA))


def _refuse(client: MetaClient) -> None:
    """Tables that are read but not written."""
    config = client.config
    reasons = {
        f"base files of the format {config.base_file_format.upper()}": config.base_file_format != "parquet",
        "a bootstrapped table": config.bootstrap_base_path is not None,
        "change data capture without meta columns": config.cdc_enabled and not config.populate_meta_fields,
    }
    for reason, holds in reasons.items():
        if holds:
            raise UnsupportedTableError(
                f"writing to {reason} is not supported", path=client.base_path, remedy="write it with Hudi"
            )


__all__ = [
    "LocalWriter",
    "WriteReport",
    "busy_groups",
    "groups_in",
    "newest_slices",
    "refuse_clustered_groups",
    "small_groups",
]
