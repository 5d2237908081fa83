"""The context of table services: table, lock, executor and metadata table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from hudi_hive.errors import HudiHiveError
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.core import InstantClock, TimelineWriter
from hudi_hive.write.column_indexes import SliceColumns
from hudi_hive.write.coordination import (
    METRICS,
    VALIDATION,
    AfterCommit,
    LocalExecutor,
    TableLock,
    TaskExecutor,
    check_metadata_table,
    exclude_former_holders,
    report_metrics,
    table_lock,
)

Lock = Callable[[], AbstractContextManager[TableLock | None]]
"""Gives the table's lock as a context manager; one that gives None locks nothing."""


@dataclass(frozen=True)
class ServiceContext:
    """One run of table services on one table. Services take the lock themselves: call them without holding it.

    Attributes:
        client: the table at the moment that the service plans from.
        options: Hudi's write options.
        executor: where tasks run.
        lock: the table's lock, held while instants are drawn and completed; that of the options without it.
        clock: draws instants and completion times.
        failed: what failed behind the completed files of services, by step; :meth:`reload` gives the same mapping.
    """

    client: MetaClient
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    executor: TaskExecutor = field(default_factory=LocalExecutor)
    lock: Lock = field(default=None)  # type: ignore[assignment]
    clock: InstantClock = field(default_factory=InstantClock)
    failed: dict[str, HudiHiveError] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.lock is None:
            lock = table_lock(self.options, self.client.storage)
            object.__setattr__(self, "lock", lambda: lock)

    def reload(self) -> ServiceContext:
        """A context with the current state of the table."""
        return replace(self, client=self.client.reload())

    def with_pending(self, instant: Instant) -> ServiceContext:
        """A context whose table has this instant requested or inflight, under the lock that it was read under."""
        return replace(self, client=self.client.at(self.client.timeline.with_pending(instant)))

    @property
    def knows_markers(self) -> bool:
        """Whether threads of this process alone write files, and each of them once: a store need not list markers."""
        return not self.client.storage.is_local and isinstance(self.executor, LocalExecutor)

    @property
    def writer(self) -> TimelineWriter:
        """The writer of the files of instants."""
        return TimelineWriter(self.client.storage, self.client.config)

    def _now(self, instant: str = "") -> ServiceContext:
        """The context under the lock, with nobody about to complete a write who had the lock before."""
        return replace(self, client=exclude_former_holders(self.client.reload(), instant))

    def request(
        self,
        action: str,
        payload: Callable[[str], bytes],
        *,
        check: Callable[[ServiceContext], object] = lambda now: None,
    ) -> tuple[ServiceContext, Instant]:
        """Draw an instant and write its plan, under the lock.

        Args:
            action: as the requested file names it.
            payload: the plan's bytes for the instant drawn.
            check: refuses, by an error, what may not be done to the table as it is under the lock.

        Returns:
            The context with the table as it was when the instant was drawn, and the instant.
        """
        with self.lock():
            now = self._now()
            check(now)
            MetadataWriter.check(now.client, self.options)
            time = self.clock.new_instant(now.client.timeline, now.client.config.timezone)
            return now, self.writer.create_requested(action, time, payload(time))

    def complete(self, instant: Instant, finish: Callable[[ServiceContext, MetadataWriter | None], bytes]) -> Instant:
        """Complete an inflight action under the lock, after its delta commit of the metadata table.

        Args:
            instant: the action.
            finish: does what comes ahead of the completed file (the metadata table's commit, files of other instants)
                and gives the outcome's bytes.

        Raises:
            LockLostError: the lock was lost meanwhile; the action stays inflight.
        """
        after = AfterCommit(self.client.base_path, instant.requested)
        with after, self.lock() as held:
            now = self._now(instant.requested)
            payload = finish(now, MetadataWriter.open(now.client, self.options, self.executor, SliceColumns()))
            completion = self.clock.completion_time(now.client.timeline, instant.requested, now.client.config.timezone)
            writer = self.writer
            if instant.is_write:
                writer.prepare(instant.action, instant.requested, payload, again=True)
            if held is not None:
                held.verify()  # whoever took a lost lock may have completed something that this one has not seen
            pending = now.client.timeline.pending({instant.action})
            is_inflight = any(i.requested == instant.requested and i.state is State.INFLIGHT for i in pending)
            after.complete(writer, instant.action, payload, completion, just_seen=is_inflight)
        after.attempt(VALIDATION, lambda: check_metadata_table(self.client, self.options, reload=True))
        after.attempt(METRICS, lambda: report_metrics(self.client, self.options))
        self.failed.update(after.failed)
        assert after.done is not None
        return after.done
