"""Common parts of the writers of all engines: transactions, commits, services behind them, each operation's steps.

A :class:`Writer` knows what an operation does to a table; the writers of engines differ only in how rows are keyed,
tagged with locations and written to files.
"""

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Generic, TypeVar

import pyarrow as pa

from hudi_hive.errors import InvalidOptionError, UnsupportedTableError, WriteConflictError, WriteError
from hudi_hive.metadata import MetadataListing
from hudi_hive.metrics import ObservedOperation, observed
from hudi_hive.options import write as options
from hudi_hive.read.merge import errors_at
from hudi_hive.table import MetaClient
from hudi_hive.table.core import refuse_external_files
from hudi_hive.table.properties import refuse_to_write
from hudi_hive.timeline import InstantClock
from hudi_hive.timeline.instants import COMMIT, DELTA_COMMIT, REPLACE_COMMIT
from hudi_hive.write.commit import Validate, WriteTransaction
from hudi_hive.write.coordination import (
    SERVICES,
    AfterCommit,
    EarlyConflictDetection,
    LocalExecutor,
    TableLock,
    TaskExecutor,
    table_lock,
)
from hudi_hive.write.files import (
    TargetSlice,
    WriteContext,
    WriteHandle,
    WriteTask,
    joined,
    run_write_task,
    with_file_schemas,
)
from hudi_hive.write.index import ConsistentBucketIndex, Index, check_index, renew_hashing
from hudi_hive.write.options import DuplicatePolicy, Operation, WriteConfig
from hudi_hive.write.records import (
    KeyedRecords,
    config_for,
    refuse_gone_groups,
    refuse_nested_partitions,
    write_context_of,
)
from hudi_hive.write.schema import has_order, refuse_without_ids
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import InlineReport, run_inline_services
from hudi_hive.write.writers.file_groups import file_groups_in
from hudi_hive.write.writers.report import WriteReport

_log = logging.getLogger(__name__)

RowsT = TypeVar("RowsT")
"""Rows as an engine has them: an Arrow table, a DataFrame."""


class TableCommitter:
    """Begins and commits writes of one table, and runs the table services behind them.

    Args:
        client: the table.
        config: the write's configuration.
        executor: where tasks run; threads of this process without it.
        lock: the table's lock; that of the options without it.
        extra: extra metadata of the commits.

    Attributes:
        annotate: makes more of it of the table as it is when a commit completes; see ``WriteTransaction``.
        clock: draws the instants of its writes; a new one for each without it.
        validate: runs the pre-commit validators of the options; see ``WriteTransaction``.

    Raises:
        UnsupportedTableError: the table is of a kind that is not written.
    """

    annotate: Callable[[MetaClient], Mapping[str, str]] | None = None
    clock: InstantClock | None = None
    validate: Validate | None = None

    def __init__(
        self,
        client: MetaClient,
        config: WriteConfig,
        *,
        executor: TaskExecutor | None = None,
        lock: TableLock | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        self.client = client
        self.config = config
        self.executor: TaskExecutor = executor if executor is not None else LocalExecutor()
        self._lock = lock
        self._behind: MetaClient | None = None
        self._extra = {**config.commit_metadata, **(extra or {})}
        _refuse_unwritable(client)
        if config.rows.schema_on_read is False:
            refuse_without_ids(client)

    @property
    def behind(self) -> MetaClient | None:
        """The table behind the last commit and its services, on a store where that is known without reading it."""
        return self._behind

    def transaction(
        self,
        action: str | None = None,
        *,
        config: WriteConfig | None = None,
        precondition: Callable[[MetaClient], None] | None = None,
        recent: bool = False,
    ) -> WriteTransaction:
        """Make the transaction of a write, which has not begun.

        Args:
            action: action of its instant; commit or delta commit, by the table's type, without it.
            config: the write's configuration; the writer's without it.
            precondition, recent: as of :class:`~hudi_hive.write.commit.WriteTransaction`.
        """
        config = config if config is not None else self.config
        if action is None:
            action = DELTA_COMMIT if self.client.config.is_merge_on_read else COMMIT
        transaction = WriteTransaction(
            self.client,
            config,
            action=action,
            operation=config.operation.commit_name,
            executor=self.executor,
            lock=self._lock,
            clock=self.clock,
            precondition=precondition,
        )
        transaction.recent = recent
        transaction.annotate = self.annotate
        transaction.validate = self.validate
        return transaction

    def write_context(
        self, transaction: WriteTransaction, records: KeyedRecords, merged: Iterable[TargetSlice] = ()
    ) -> WriteContext:
        """Make what all tasks of a write know.

        Args:
            transaction: of this writer; it has begun.
            records: the records, or none of them, with the schema of the files.
            merged: groups whose base files are read.

        Raises:
            WriteError: the records name file groups that the table does not have.
            SchemaError: nothing tells what such a base file calls its columns.
        """
        client = transaction.client
        refuse_gone_groups(client, records.named_files)
        context = write_context_of(client, self.config, transaction.instant, records)
        if self.config.concurrency.early_detection:
            context = replace(context, guard=self._guard(client))
        merged = tuple(merged)
        return with_file_schemas(context, client, merged) if merged else context

    def _guard(self, client: MetaClient) -> EarlyConflictDetection:
        settings = self.config.concurrency
        buckets = self.config.index.numbers_buckets
        return EarlyConflictDetection(client.config, settings.heartbeat_ms, settings.heartbeat_misses, buckets)

    def write_files(self, transaction: WriteTransaction, context: WriteContext, tasks: Sequence[WriteTask]) -> pa.Table:
        """Run the tasks of a write.

        Returns:
            The statuses of the files (``WRITE_STATUS_SCHEMA``).
        """
        merged = [task.target for task in tasks if task.handle is WriteHandle.MERGE]
        context = with_file_schemas(context, transaction.client, merged)
        return joined(self.executor.map(run_write_task, [(context, task) for task in tasks]))

    def commit_files(
        self,
        transaction: WriteTransaction,
        statuses: pa.Table,
        schema: str,
        replaced: Mapping[str, Sequence[str]] | None = None,
        overwrites: frozenset[str] | None = None,
    ) -> WriteReport:
        """Complete the instant of a write; arguments and errors as of ``WriteTransaction.commit``.

        The report is made before, as nothing behind the commit may fail.
        """
        counted = WriteReport.of(transaction.begun, self.config.operation, statuses)
        with transaction.standing():
            transaction.commit(statuses, schema=schema, replaced=replaced, extra=self._extra, overwrites=overwrites)
        assert transaction.completed is not None
        self._behind = transaction.behind
        return replace(counted, instant=transaction.completed, failed=dict(transaction.failed))

    def run_services(self) -> InlineReport:
        """Run the table services that are due (``hoodie.clean.automatic``, ``hoodie.compact.inline`` …).

        Writing does so after every commit; what fails of them is in the report, for the commit stands.
        """
        client = self.client.with_listing(MetadataListing())
        lock = self._lock if self._lock is not None else table_lock(self.config.options, client.storage)
        context = ServiceContext(client, self.config.options, self.executor, lock=lambda: lock)
        behind = None if self._behind is None else self._behind.with_listing(client.listing)
        report = run_inline_services(context, self.config, behind=behind)
        if not report.unchanged:
            self._behind = None
        return report

    def with_services(self, report: WriteReport) -> WriteReport:
        """Run the table services that are due behind a commit, and add to its report what they did."""
        _log.info("%s: %s", self.client.base_path, report.summary())
        after = AfterCommit(self.client.base_path, report.instant.requested, report.instant)
        services = after.attempt(SERVICES, self.run_services)
        failed = {**report.failed, **after.failed, **(services.failed if services is not None else {})}
        return replace(report, services=services, failed=failed)


class Writer(TableCommitter, ABC, Generic[RowsT]):
    """Writes the rows of one engine to one Hudi table; arguments and errors as of :class:`TableCommitter`."""

    def write(self, rows: RowsT) -> WriteReport:
        """Write rows the way that ``hoodie.datasource.write.operation`` says.

        Args:
            rows: the table's columns; those that it lacks become null, new ones are added to the table. For a delete
                the columns of key and partition are enough.

        Raises:
            SchemaError: columns that do not fit the table's.
            KeyGenerationError: a row without a record key.
            WriteConflictError: another writer changed the same file groups and completed first, and did so again in
                each retry that ``hoodie.write.num.retries.on.conflict.failures`` allows.
            WriteError: the write could not be done; the table is as it was.
        """
        with self._observed_write() as operation, errors_at(self.client.base_path):
            report = self._write(rows)
            _count_report(operation, report)
        return report

    def _write(self, rows: RowsT) -> WriteReport:
        self._begin(rows)
        self.config = config_for(self.config, self._column_names(rows))
        check_index(self.config, self.client)
        operation = self.config.operation
        if operation is Operation.DELETE_PARTITION:
            return self._delete_partitions(self._partitions_to_delete())
        if operation is Operation.DELETE:
            attempt = self._delete
        else:
            attempt = self._overwrite if operation.replaces else self._insert
        return self.with_services(self._until_no_conflict(partial(attempt, rows)))

    def _until_no_conflict(self, attempt: Callable[[], WriteReport]) -> WriteReport:
        """Write, and do so again on the table as it is then if others came before (``…on.conflict.failures``)."""
        retries = self.config.concurrency.conflict_retries
        for again in range(1, retries + 1):
            try:
                with self._engine_errors():
                    return attempt()
            except WriteConflictError as conflict:
                _log.warning("%s; the write is done again, for the time %d of %d", conflict, again, retries)
                self.client = self.client.reload()
        with self._engine_errors():
            return attempt()

    def delete_partitions(self, partitions: Sequence[str]) -> WriteReport:
        """Replace all file groups of partitions by nothing.

        Args:
            partitions: partition paths, in which ``*`` stands for any characters; ones that the table does not have
                are passed over.

        Raises:
            InvalidOptionError: no partition is named, or ``hoodie.datasource.write.partitions.to.delete`` names others.
        """
        with self._observed_write() as operation:
            report = self._delete_partitions(partitions)
            _count_report(operation, report)
        return report

    def _observed_write(self) -> AbstractContextManager[ObservedOperation]:
        client = self.client
        return observed("write", self.config.operation.value, client.base_path, client.config.name)

    def _delete_partitions(self, partitions: Sequence[str]) -> WriteReport:
        configured = self.config.rows.partitions_to_delete
        if not partitions or (configured and set(configured) != set(partitions)):
            option = options.PARTITIONS_TO_DELETE
            raise InvalidOptionError(
                "delete_partition names no partitions" if not partitions else f"{option} names other partitions",
                path=self.client.base_path,
                remedy=f"give their paths, on Spark by {option}",
            )
        report = self._until_no_conflict(partial(self._replace_by_nothing, partitions))
        return self.with_services(replace(report, operation=Operation.DELETE_PARTITION))

    def _replace_by_nothing(self, partitions: Sequence[str]) -> WriteReport:
        config = self.config.with_operation(Operation.DELETE_PARTITION)
        with self.transaction(REPLACE_COMMIT, config=config) as transaction:
            client = transaction.client
            replaced = file_groups_in(client, _matching(client.partition_paths(), partitions))
            schema = KeyedRecords.of_table(client).schema_text
            named = frozenset({*partitions, *replaced})
            renew_hashing(client, replaced, transaction.instant)
            return self.commit_files(transaction, joined([]), schema, replaced, named)

    # -- what engines do -------------------------------------------------------------------------------------------

    @abstractmethod
    def _begin(self, rows: RowsT) -> None:
        """Get ready for rows, before anything is read of them."""

    @abstractmethod
    def _column_names(self, rows: RowsT) -> Sequence[str]:
        """Names of the rows' columns."""

    @abstractmethod
    def _insert(self, rows: RowsT) -> WriteReport:
        """Upsert, insert or bulk insert rows."""

    @abstractmethod
    def _overwrite(self, rows: RowsT) -> WriteReport:
        """Replace the partitions of the rows, or the table."""

    @abstractmethod
    def _delete(self, rows: RowsT) -> WriteReport:
        """Delete the records that rows name."""

    def _partitions_to_delete(self) -> Sequence[str]:
        """The partitions that a write with rows deletes."""
        raise InvalidOptionError("delete_partition takes no rows", remedy="call delete_partitions")

    def _engine_errors(self) -> AbstractContextManager[None]:
        """Turn the engine's errors into those of this package."""
        return nullcontext()

    # -- what operations do ----------------------------------------------------------------------------------------

    @property
    def drops_duplicates(self) -> bool:
        """Whether rows whose records the table has are left out or refused (``…insert.dup.policy``)."""
        upserts = self.config.operation is Operation.UPSERT
        return not upserts and self.config.duplicate_policy is not DuplicatePolicy.NONE

    def updates_records(self, index: Index) -> bool:
        """Whether rows go to the file groups that the index finds, so that records of the table are updated."""
        return self.config.operation is Operation.UPSERT or index.assigns_inserts

    def fills_small_groups(self, index: Index) -> bool:
        """Whether new rows go to small file groups of the table rather than to new ones alone."""
        return self.config.operation is not Operation.BULK_INSERT or index.assigns_inserts

    def replaced_groups(self, client: MetaClient, partitions: Iterable[str]) -> dict[str, list[str]]:
        """List the file groups that an overwrite replaces.

        Args:
            client: the table.
            partitions: partition paths of the rows.

        Returns:
            File ids by partition: of the partitions of the rows, or of all.
        """
        whole = self.config.rows.replaces_table
        written = set(partitions)
        return file_groups_in(client, [path for path in client.partition_paths() if whole or path in written])

    def refuse_consistent_overwrite(self, index: Index) -> None:
        """Refuse an overwrite under consistent hashing, behind which Hudi would write to the buckets that are gone.

        Args:
            index: of the write.

        Raises:
            UnsupportedTableError: the write has such an index.
        """
        if isinstance(index, ConsistentBucketIndex):
            raise UnsupportedTableError(
                f"{self.config.operation} under consistent hashing is not supported",
                path=index.client.base_path,
                remedy="delete the partitions, then upsert the rows",
            )

    def refuse_nested(self, client: MetaClient, partitions: Sequence[str]) -> None:
        """Refuse rows whose partitions would lie below or above others; errors of ``refuse_nested_partitions``.

        Args:
            client: the table as it is when the write begins.
            partitions: partition paths of the rows.
        """
        lists_all = self.config.operation is not Operation.BULK_INSERT
        refuse_nested_partitions(client, partitions, lists_all=lists_all)

    def duplicates_error(self, count: int) -> WriteError:
        """Make the error of rows to insert whose records the table has.

        Args:
            count: number of these rows.
        """
        return WriteError(
            f"{count} of the rows to insert have keys that the table has",
            path=self.client.base_path,
            remedy="upsert them, or set hoodie.datasource.insert.dup.policy=drop",
        )


def refuse_sort_columns(config: WriteConfig, schema: pa.Schema, path: str) -> None:
    """Refuse a bulk insert that is to be sorted by columns that are not there, or whose values have no order.

    Args:
        config: of the write.
        schema: the columns that its rows can be sorted by.
        path: base path of the table.

    Raises:
        InvalidOptionError: there is such a column; nothing is written yet.
    """
    if config.operation is not Operation.BULK_INSERT:
        return
    for name in config.files.bulk_insert_sort_columns:
        kind = schema.field(name).type if name in schema.names else None
        if kind is not None and has_order(kind):
            continue
        why = "is not in the table" if kind is None else f"of type {kind} has no order"
        raise InvalidOptionError(
            f"option {options.BULK_INSERT_SORT_COLUMNS}: sort column {name!r} {why}",
            path=path,
            remedy="name columns of numbers, times or texts",
        )


def _count_report(operation: ObservedOperation, report: WriteReport) -> None:
    operation.action = report.operation.value
    operation.instant = report.instant.requested
    rows = report.inserted + report.updated + report.deleted
    operation.count(rows=rows, files=report.files, bytes=report.bytes_written)


def _matching(existing: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Partitions of the table that paths and patterns name."""
    globs = [".*".join(map(re.escape, path.split("*"))) for path in patterns if "*" in path and path not in existing]
    glob = re.compile("|".join(globs), re.DOTALL) if globs else None
    exact = set(patterns)
    return [path for path in existing if path in exact or (glob is not None and glob.fullmatch(path))]


def _refuse_unwritable(client: MetaClient) -> None:
    """Refuse tables that are read but not written."""
    config = client.config
    refuse_to_write(config, client.base_path)
    refuse_external_files(client)
    reasons = {
        "dates in folders of year, month and day": config.slash_separated_dates,
        "change data capture without meta columns": config.cdc_enabled and not config.populate_meta_fields,
    }
    for reason, holds in reasons.items():
        if holds:
            raise UnsupportedTableError(
                f"writing to {reason} is not supported", path=client.base_path, remedy="write it with Hudi"
            )
