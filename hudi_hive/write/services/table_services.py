"""The services of one table: what ``HudiTable``, Spark's functions, the command line and inline services run.

In come a table and Hudi's write options, out comes what each service did; every one takes the table's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from hudi_hive.errors import InvalidOptionError
from hudi_hive.metrics import observed
from hudi_hive.options import services as options
from hudi_hive.table import MetaClient
from hudi_hive.table.core import refuse_external_files
from hudi_hive.table.properties import refuse_to_write
from hudi_hive.timeline import Instant
from hudi_hive.timeline.archival import ArchiveReport
from hudi_hive.timeline.instants import COMPACTION
from hudi_hive.timeline.payloads import CleanMetadata, RestoreMetadata, RollbackMetadata, SavepointMetadata
from hudi_hive.write.coordination import LocalExecutor, MetastoreLockFactory, TaskExecutor, table_lock
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.rollback import (
    create_savepoint,
    delete_savepoint,
    restore,
    rollback,
    rollback_failed_writes,
    savepoints,
)
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services.archival import archive_instants
from hudi_hive.write.services.cleaning import clean
from hudi_hive.write.services.clustering import (
    cluster,
    execute_clustering,
    pending_clusterings,
    schedule_clustering,
)
from hudi_hive.write.services.compaction import compact, execute_compaction, schedule_compaction
from hudi_hive.write.services.log_compaction import (
    log_compact,
    run_planned_log_compactions,
    schedule_log_compaction,
)
from hudi_hive.write.services.metadata_services import MetadataServices
from hudi_hive.write.services.rescaling import Rescaling, plan_rescaling, rescale_partitions

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _observed_service(
    run: Callable[Concatenate[TableServices, Parameters], Result],
) -> Callable[Concatenate[TableServices, Parameters], Result]:
    """Let a service count as an operation, under its method's name."""

    @wraps(run)
    def service(self: TableServices, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        client = self.context.client
        with observed("service", run.__name__, client.base_path, client.config.name) as operation:
            result = run(self, *args, **kwargs)
            if isinstance(result, list) and result and isinstance(result[-1], Instant):
                operation.instant = result[-1].requested
        return result

    return service


class TableServices:
    """Table services on one table.

    Each plans from the table as it is when the service runs. Whatever a service changes on the timeline it changes
    under the table's lock (RFC-22): plans, completed files, and files that it deletes from the timeline.

    Args:
        context: the table, its lock, and where tasks run; the lock must not be held.
    """

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._is_recent = True

    @property
    def client(self) -> MetaClient:
        """The table."""
        return self._context.client

    @classmethod
    def open(
        cls,
        client: MetaClient,
        options: Mapping[str, Any] | None = None,
        *,
        executor: TaskExecutor | None = None,
        metastore_lock: MetastoreLockFactory | None = None,
    ) -> Self:
        """The services of a table, with the lock that the options name (``hoodie.write.lock.*``).

        Args:
            client: the table.
            options: Hudi's write options.
            executor: where tasks run; threads of this process without it.
            metastore_lock: makes the metastore's lock, for ``HiveMetastoreBasedLockProvider``.

        Raises:
            InvalidOptionError: an option that is unknown or not supported.
            LockError: the lock provider cannot lock this table.
            UnsupportedTableError: Hudi did not write the table's files, or tables of its kind are read only.
        """
        refuse_to_write(client.config, client.base_path)
        refuse_external_files(client)
        texts = WriteConfig.of(options or {}, client.config).options
        lock = table_lock(texts, client.storage, metastore=metastore_lock)
        return cls(ServiceContext(client, texts, executor or LocalExecutor(), lock=lambda: lock))

    @property
    def context(self) -> ServiceContext:
        """The context that the services run with; ``failed`` has the steps behind completed instants that failed."""
        return self._context

    @property
    def metadata(self) -> MetadataServices:
        """The services of the metadata table."""
        return MetadataServices(self._context)

    @_observed_service
    def compact(self, *, schedule: bool = False, execute: bool = False) -> list[Instant]:
        """Merge log files into new base files: run the planned compactions, then plan and run one.

        Args:
            schedule: only plan one.
            execute: only run what is planned.

        Returns:
            The completed commits; with ``schedule`` the plan, if there is anything to do.

        Raises:
            InvalidOptionError: both ``schedule`` and ``execute``.
            UnsupportedTableError: the table is copy on write.
            LockTimeoutError: the table is locked by another writer.
        """
        _refuse_both(schedule, execute)
        if schedule:
            return _as_list(schedule_compaction(self._context))
        if execute:
            pending = self._context.reload().client.timeline.pending({COMPACTION})
            return [execute_compaction(self._context, instant) for instant in pending]
        return compact(self._context, recent=self._read_recently())

    @_observed_service
    def log_compact(self, *, schedule: bool = False, execute: bool = False) -> list[Instant]:
        """Merge log blocks of file slices without their base files: run the planned log compactions, then a new one.

        ``hoodie.log.compaction.blocks.threshold`` says from how many blocks on. A plan that others have passed is given
        up.

        Args:
            schedule: only plan one.
            execute: only run what is planned.

        Returns:
            The completed delta commits; with ``schedule`` the plan, if there is anything to do.

        Raises:
            InvalidOptionError: both ``schedule`` and ``execute``.
            UnsupportedTableError: the table is copy on write, or merges records by partial updates or a Python merger.
            WriteConflictError: another write was at the same file groups; nothing was changed.
            LockTimeoutError: the table is locked by another writer.
        """
        _refuse_both(schedule, execute)
        if schedule:
            return _as_list(schedule_log_compaction(self._context))
        if execute:
            return run_planned_log_compactions(self._context)
        return log_compact(self._context)

    @_observed_service
    def cluster(
        self,
        *,
        sort_columns: Sequence[str] = (),
        layout: str | None = None,
        schedule: bool = False,
        execute: bool = False,
    ) -> list[Instant]:
        """Join small file groups into larger ones: run the planned clusterings, then plan and run one.

        Args:
            sort_columns: sort the rows of each group by these, as ``hoodie.clustering.plan.strategy.sort.columns``.
            layout: how, as ``hoodie.layout.optimize.strategy``: ``linear``, or along a curve, ``z-order``, ``hilbert``.
            schedule: only plan one.
            execute: only run what is planned.

        Returns:
            The completed commits; with ``schedule`` the plan, if there is anything to do.

        Raises:
            InvalidOptionError: both ``schedule`` and ``execute``, or a layout that there is not, or one of no columns.
            UnknownColumnError: a sort column is not in the table.
            UnsupportedTableError: the table has a bucket index, and no options of consistent hashing are given.
            LockTimeoutError: the table is locked by another writer.
        """
        _refuse_both(schedule, execute)
        context = self._context
        if sort_columns:
            stated = {options.CLUSTERING_SORT_COLUMNS.name: ",".join(sort_columns)}
            context = replace(context, options={**context.options, **stated})
        if layout is not None:
            options.LAYOUT_STRATEGY.parse(layout)
            context = replace(context, options={**context.options, options.LAYOUT_STRATEGY.name: layout})
        if schedule:
            return _as_list(schedule_clustering(context))
        if execute:
            pending = pending_clusterings(context.reload().client)
            return [execute_clustering(context, instant) for instant in pending]
        return cluster(context, recent=self._read_recently())

    @_observed_service
    def rescale_buckets(self, expressions: str, buckets: int | None = None, *, dry_run: bool = False) -> Rescaling:
        """Give partitions other numbers of buckets by rules, and keep the rules with the table (RFC-89).

        Args:
            expressions: rules, ``EXPRESSION,BUCKETS`` with semicolons between; the first regular expression that is
                found in a partition's path counts.
            buckets: buckets of all other partitions; of a table without rules also how many partitions have now.
            dry_run: only tell what would change.

        Raises:
            InvalidOptionError: rules that are not understood, no number of buckets, or options of another index.
            UnsupportedTableError: file groups that are of none of the buckets of now.
            WriteConflictError: another writer came before; the table is as it was.
            LockTimeoutError: the table is locked by another writer.
        """
        return (plan_rescaling if dry_run else rescale_partitions)(self._context, expressions, buckets)

    @_observed_service
    def clean(self) -> CleanMetadata | None:
        """Delete file slices that no retained commit needs, as ``hoodie.clean.*`` say; None without any.

        Raises:
            LockTimeoutError: the table is locked by another writer.
        """
        return clean(self._context, recent=self._read_recently())

    @_observed_service
    def archive(self) -> ArchiveReport:
        """Move instants beyond ``hoodie.keep.max.commits`` to the archive, down to ``hoodie.keep.min.commits``.

        Raises:
            LockTimeoutError: the table is locked by another writer.
        """
        return archive_instants(self._context)

    @_observed_service
    def rollback(self, instant: str | None = None) -> list[RollbackMetadata]:
        """Undo a write, or what dead writers left.

        Args:
            instant: requested time of the write to undo, the last completed one or a pending one; without it the
                writes of dead writers.

        Raises:
            InstantNotFoundError: there is no such instant on the active timeline.
            WriteError: it cannot be undone; nothing was changed.
            LockTimeoutError: the table is locked by another writer.
        """
        if instant is None:
            return rollback_failed_writes(self._context, recent=self._read_recently())
        return [rollback(self._context, instant)]

    def rollback_service(self, instant: Instant, *, drop_plan: bool = False) -> RollbackMetadata:
        """Undo what a compaction or clustering has begun: it goes back to being requested.

        Args:
            instant: it, inflight.
            drop_plan: its plan goes too.

        Raises:
            WriteConflictError: somebody is at work at it, or has completed it.
            LockTimeoutError: the table is locked by another writer.
        """
        return rollback(self._context, instant, drop_plan=drop_plan, dead=True, pending=True)

    @_observed_service
    def create_savepoint(self, instant: str | None = None, *, user: str = "", comments: str = "") -> SavepointMetadata:
        """Keep the files of a completed write from being cleaned, so that the table can be restored to it.

        Args:
            instant: requested time of the write; the last completed one without it.
            user: who makes it, for the record.
            comments: why, for the record.

        Raises:
            WriteError: there is no such write, it has a savepoint, or files of it were cleaned.
            LockTimeoutError: the table is locked by another writer.
        """
        return create_savepoint(self._context, instant, user=user, comments=comments)

    def delete_savepoint(self, instant: str) -> None:
        """Let cleans delete the files of a savepoint again.

        Args:
            instant: the savepoint's requested time.

        Raises:
            WriteError: there is no such savepoint.
            LockTimeoutError: the table is locked by another writer.
        """
        delete_savepoint(self._context, instant)

    def savepoints(self) -> list[SavepointMetadata]:
        """The table's savepoints as of now, oldest first; needs no lock."""
        return savepoints(self._context.reload().client)

    @_observed_service
    def restore(self, savepoint: str) -> RestoreMetadata:
        """Bring the table back to a savepoint; what was written after it is deleted for good.

        Args:
            savepoint: the savepoint's requested time.

        Raises:
            WriteError: there is no such savepoint, a later one stands in the way, or writes after it are archived.
            LockTimeoutError: the table is locked by another writer.
        """
        return restore(self._context, savepoint)

    def _read_recently(self) -> bool:
        """Whether the context's table is as it is now: of a client that was just made, for the first service."""
        is_recent, self._is_recent = self._is_recent, False
        return is_recent


def _refuse_both(schedule: bool, execute: bool) -> None:
    if schedule and execute:
        raise InvalidOptionError("schedule and execute are for one of the two alone", remedy="give neither for both")


def _as_list(instant: Instant | None) -> list[Instant]:
    return [] if instant is None else [instant]
