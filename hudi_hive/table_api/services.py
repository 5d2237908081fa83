"""Table services as methods of ``HudiTable``: each takes the table's lock, and reports what it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from hudi_hive.errors import InvalidOptionError
from hudi_hive.table import MetaClient
from hudi_hive.table_api.metadata import TableMetadata
from hudi_hive.table_api.moment import TableMoment
from hudi_hive.table_api.report import ServiceReport

if TYPE_CHECKING:
    from hudi_hive.timeline import Instant
    from hudi_hive.timeline.archival import ArchiveReport
    from hudi_hive.timeline.payloads import CleanMetadata, RestoreMetadata, RollbackMetadata, SavepointMetadata
    from hudi_hive.write.services import TableServices
    from hudi_hive.write.versions import VersionChange

Options = Mapping[str, Any]

_Result = TypeVar("_Result")


class MaintainedTable(TableMoment):
    """The part of ``HudiTable`` that runs table services.

    Each service plans from the table as it is when the service runs, and moves this object to the moment behind it.
    ``options`` are Hudi's write options; those of the lock (``hoodie.write.lock.*``) name the lock that the service
    waits for. Beside the errors of each method:

    Raises:
        InvalidOptionError: an option that is unknown or not supported.
        LockTimeoutError: another writer held the table's lock for as long as the options let the service wait.
    """

    def compact(
        self, options: Options | None = None, *, schedule: bool = False, execute: bool = False
    ) -> ServiceReport[list[Instant]]:
        """Merge log files into new base files: run the planned compactions, then plan and run one.

        Args:
            options: Hudi's write options (``hoodie.compaction.*``, ``hoodie.write.lock.*`` …).
            schedule: only plan one.
            execute: only run what is planned.

        Returns:
            The completed commits; with ``schedule`` the plan, if there is anything to do.

        Raises:
            InvalidOptionError: both ``schedule`` and ``execute``.
            UnsupportedTableError: the table is copy on write.
        """
        return self._serve(options, lambda services: services.compact(schedule=schedule, execute=execute))

    def log_compact(
        self, options: Options | None = None, *, schedule: bool = False, execute: bool = False
    ) -> ServiceReport[list[Instant]]:
        """Merge log blocks of file slices without their base files: run the planned log compactions, then a new one.

        Readers then read one block in place of many; the log files stay until the slice is cleaned.

        Args:
            options: Hudi's write options (``hoodie.log.compaction.blocks.threshold``, ``hoodie.write.lock.*`` …).
            schedule: only plan one.
            execute: only run what is planned; a plan whose file groups others have changed is given up.

        Returns:
            The completed delta commits; with ``schedule`` the plan, if there is anything to do.

        Raises:
            InvalidOptionError: both ``schedule`` and ``execute``.
            UnsupportedTableError: the table is copy on write, or merges records by partial updates or a Python merger.
            WriteConflictError: another write was at the same file groups; nothing was changed.
        """
        return self._serve(options, lambda services: services.log_compact(schedule=schedule, execute=execute))

    def cluster(
        self,
        options: Options | None = None,
        *,
        sort_columns: Sequence[str] = (),
        layout: str | None = None,
        schedule: bool = False,
        execute: bool = False,
    ) -> ServiceReport[list[Instant]]:
        """Join small file groups into larger ones: run the planned clusterings, then plan and run one.

        Args:
            options: Hudi's write options (``hoodie.clustering.*``, ``hoodie.write.lock.*`` …).
            sort_columns: sort the rows of each group by these.
            layout: how: ``linear``, or along a space-filling curve, ``z-order`` or ``hilbert``, by which files hold
                narrow ranges of each sort column.
            schedule: only plan one.
            execute: only run what is planned.

        Returns:
            The completed commits; with ``schedule`` the plan, if there is anything to do.

        Raises:
            InvalidOptionError: both ``schedule`` and ``execute``, or a layout that there is not, or one of no columns.
            UnknownColumnError: a sort column is not in the table.
            UnsupportedTableError: the table has a bucket index, and no options of consistent hashing are given.
        """
        return self._serve(
            options,
            lambda services: services.cluster(
                sort_columns=sort_columns, layout=layout, schedule=schedule, execute=execute
            ),
        )

    def clean(self, options: Options | None = None) -> ServiceReport[CleanMetadata | None]:
        """Delete file slices that no retained commit needs.

        Args:
            options: Hudi's write options; ``hoodie.clean.*`` choose what is retained.

        Returns:
            The clean's metadata; None if there was nothing to delete.
        """
        return self._serve(options, lambda services: services.clean())

    def archive(self, options: Options | None = None) -> ServiceReport[ArchiveReport]:
        """Move old instants to the archive.

        Args:
            options: Hudi's write options: ``hoodie.keep.max.commits`` says from how many on instants are archived,
                ``hoodie.keep.min.commits`` how many stay.

        Returns:
            The instants that were archived, and why others were not.
        """
        return self._serve(options, lambda services: services.archive())

    def rollback(
        self, instant: str | None = None, options: Options | None = None
    ) -> ServiceReport[list[RollbackMetadata]]:
        """Undo a write, or what dead writers left; what it wrote is deleted.

        Args:
            instant: requested time of the write to undo, the last completed one or a pending one; without it the
                writes of dead writers.
            options: Hudi's write options.

        Returns:
            The metadata of each rollback, in the order in which they were done.

        Raises:
            InstantNotFoundError: there is no such instant on the active timeline.
            WriteError: it cannot be undone; nothing was changed.
        """
        return self._serve(options, lambda services: services.rollback(instant))

    def savepoint(
        self, instant: str | None = None, options: Options | None = None, *, user: str = "", comments: str = ""
    ) -> ServiceReport[SavepointMetadata]:
        """Keep the files of a completed write from being cleaned, so that the table can be restored to it.

        Args:
            instant: requested time of the write; the last completed one without it.
            options: Hudi's write options.
            user: who makes it, for the record.
            comments: why, for the record.

        Returns:
            The savepoint.

        Raises:
            WriteError: there is no such write, it has a savepoint, or files of it were cleaned.
        """
        return self._serve(options, lambda services: services.create_savepoint(instant, user=user, comments=comments))

    def delete_savepoint(self, instant: str, options: Options | None = None) -> ServiceReport[None]:
        """Let cleans delete the files of a savepoint again.

        Args:
            instant: the savepoint's requested time.
            options: Hudi's write options.

        Raises:
            WriteError: there is no such savepoint, or a restore to it has not ended.
        """
        return self._serve(options, lambda services: services.delete_savepoint(instant))

    def savepoints(self) -> list[SavepointMetadata]:
        """The savepoints that the table had at this moment, oldest first; needs no lock."""
        from hudi_hive.write.rollback import savepoints

        return savepoints(self.client)

    def restore(self, savepoint: str, options: Options | None = None) -> ServiceReport[RestoreMetadata]:
        """Bring the table back to a savepoint; what was written after it is deleted for good.

        Args:
            savepoint: the savepoint's requested time.
            options: Hudi's write options.

        Returns:
            The restore's metadata, with a rollback for each write that was undone.

        Raises:
            WriteError: there is no such savepoint, a later one stands in the way, or writes after it are archived.
        """
        return self._serve(options, lambda services: services.restore(savepoint))

    def upgrade(self, to: int = 8, options: Options | None = None) -> ServiceReport[VersionChange]:
        """Bring the table to a later version, as Hudi's upgrade does (docs/format.md#changes-of-the-table-version).

        Args:
            to: the version: 6, 8 or 9.
            options: Hudi's write options (``hoodie.write.lock.*``).

        Returns:
            What was done; where the table is of the version, what a change that died had left is finished.

        Raises:
            InvalidOptionError: a version that is not later.
            UnsupportedTableError: the version lacks what the table has.
            WriteError: a write is at work.
        """
        return self._change_version(to, options, upward=True)

    def downgrade(self, to: int, options: Options | None = None) -> ServiceReport[VersionChange]:
        """Bring the table to an earlier version, as Hudi's downgrade does; arguments and errors of :meth:`upgrade`.

        Args:
            to: the version: 5, 6 or 8.
            options: Hudi's write options (``hoodie.write.lock.*``).
        """
        return self._change_version(to, options, upward=False)

    def _change_version(self, to: int, options: Options | None, *, upward: bool) -> ServiceReport[VersionChange]:
        from hudi_hive.metastore.transactions import MetastoreLock
        from hudi_hive.write.coordination import REFRESH, AfterCommit
        from hudi_hive.write.versions import change_version

        now = MetaClient.load(self.path, storage=self.client.storage)
        there = now.config.version
        if (to < there) if upward else (to > there):
            raise InvalidOptionError(
                f"the table is of version {there}: {to} is {'no upgrade' if upward else 'no downgrade'}",
                path=self.path,
                remedy="downgrade it" if upward else "upgrade it",
            )
        change = change_version(now, to, options, metastore_lock=MetastoreLock.connect)
        after = AfterCommit(self.path, "")
        after.attempt(REFRESH, self.move_to_now)
        return ServiceReport(change, after.failed)

    @property
    def metadata(self) -> TableMetadata:
        """The table's metadata table (RFC-15): make it, delete it, look into it."""
        return TableMetadata(
            lambda: self.client,
            lambda options, run: self._serve(options, lambda services: run(services.metadata)),
        )

    def _serve(self, options: Options | None, run: Callable[[TableServices], _Result]) -> ServiceReport[_Result]:
        """Run a service on the table as it is now, and move to the moment behind it."""
        from hudi_hive.metastore.transactions import MetastoreLock
        from hudi_hive.write.coordination import REFRESH, AfterCommit
        from hudi_hive.write.services import TableServices

        # A service lists folders: it must not rely on a metadata table that it is about to mend or to give up.
        now = MetaClient(self.client.storage, self.client.config)
        services = TableServices.open(now, options, metastore_lock=MetastoreLock.connect)
        result = run(services)
        after = AfterCommit(self.path, "")
        after.attempt(REFRESH, self.move_to_now)
        return ServiceReport(result, {**services.context.failed, **after.failed})
