"""Runs chosen services of one table in a process of its own beside the writers, once or again and again.

What inline services do behind a commit is done here by the same conditions, and what writers only planned is run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from hudi_hive.errors import HudiHiveError, InvalidOptionError
from hudi_hive.timeline import Instant
from hudi_hive.write.coordination import reported
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services.compaction import compaction_is_due, refuse_copy_on_write
from hudi_hive.write.services.inline import archive_if_due, clean_if_due, clustering_is_due
from hudi_hive.write.services.log_compaction import refuse_log_compaction
from hudi_hive.write.services.partition_ttl import check_lifetimes, expire_partitions
from hudi_hive.write.services.pending_plans import PlanRun, run_planned_clusterings, run_planned_compactions
from hudi_hive.write.services.table_services import TableServices

_NAMED: Final = 5
"""Deleted partitions that an event names."""

_NEXT_ROUND: Final = "the next round tries it again"


class ServiceKind(StrEnum):
    """The services that rounds can have, in the order in which a round runs them."""

    TTL = "ttl"
    COMPACT = "compact"
    LOG_COMPACT = "log-compact"
    CLUSTER = "cluster"
    CLEAN = "clean"
    ARCHIVE = "archive"
    INDEX = "index"


@dataclass(frozen=True)
class ServiceEvent:
    """One action of a round: what a service completed, or why it failed.

    Attributes:
        service: which.
        instant: requested time of its instant, if it has one.
        detail: what it did, in a few words.
        error: why it failed.
        warnings: steps behind the completed instant that failed, which the next round does again.
    """

    service: ServiceKind
    instant: str | None
    detail: str
    error: HudiHiveError | None = None
    warnings: tuple[str, ...] = ()

    def row(self) -> dict[str, object]:
        """The event as a row: service, event, instant and detail."""
        event = "failed" if self.error is not None else "done"
        return {"service": self.service.value, "event": event, "instant": self.instant, "detail": self.detail}

    def line(self) -> str:
        """The event in a few words."""
        where = "" if self.instant is None else f" {self.instant}"
        return f"{self.service}{where}: {self.detail}"


class ServiceRounds:
    """Runs rounds of table services; each service takes the table's lock for itself.

    Args:
        open_services: the services of the table as it is; called for each round.
        chosen: which services run.
        on_event: called after each action, done or failed; what it raises ends the rounds.

    Raises:
        InvalidOptionError: no service is chosen, or options forbid a chosen one.
        UnsupportedTableError: compactions of a copy-on-write table, log compactions of one with partial updates,
            lifetimes of partitions of a table without any.
        HudiHiveError: the table cannot be opened, or an option is not supported.
    """

    def __init__(
        self,
        open_services: Callable[[], TableServices],
        chosen: Collection[ServiceKind],
        *,
        on_event: Callable[[ServiceEvent], None] = lambda event: None,
    ) -> None:
        if not chosen:
            raise InvalidOptionError("no table service is chosen")
        self._open = open_services
        self._chosen = [kind for kind in ServiceKind if kind in chosen]
        self._on_event = on_event
        self._stopped = threading.Event()
        self._not_made: set[str] = set()
        self._services: TableServices | None = open_services()
        self._refuse(self._services.context)

    def _refuse(self, context: ServiceContext) -> None:
        """Refuse at once what would fail in every round."""
        if ServiceKind.COMPACT in self._chosen:
            refuse_copy_on_write(context.client)
        if ServiceKind.LOG_COMPACT in self._chosen:
            refuse_log_compaction(context.client)
        if ServiceKind.TTL in self._chosen:
            check_lifetimes(context.client, _config(context).ttl)
        if ServiceKind.INDEX in self._chosen:
            TableServices(context).metadata.missing()

    def stop(self) -> None:
        """End the rounds after the service at hand; may be called from other threads, from no signal handler."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        """Whether ``stop`` was called."""
        return self._stopped.is_set()

    def watch(self, interval: float) -> None:
        """Run rounds until stopped; what fails is in an event, and the next round tries it again.

        Args:
            interval: seconds between the end of a round and the next one.

        Raises:
            InvalidOptionError: an interval that is not positive, or longer than a day.
        """
        if not 0 < interval <= 86_400:
            raise InvalidOptionError(f"the seconds between two rounds must be above 0 and at most a day: {interval}")
        while not self.stopped:
            self.run()
            self._stopped.wait(interval)

    def run(self) -> list[HudiHiveError]:
        """Run one round: each chosen service that has something to do; one that fails does not stop the others.

        Returns:
            What failed.
        """
        failures: list[HudiHiveError] = []
        for kind in self._chosen:
            if self.stopped:
                break
            for event in self._events(kind):
                if event.error is not None:
                    failures.append(event.error)
                self._on_event(event)
                if self.stopped:
                    break
            if self._services is None:
                break  # the table cannot be opened, for the other services neither
        self._services = None
        return failures

    def _events(self, kind: ServiceKind) -> Iterator[ServiceEvent]:
        path = ""
        try:
            if self._services is None:
                self._services = self._open()
            path = self._services.client.base_path
            yield from self._actions(kind, self._services.context)
        except Exception as error:
            failure = reported(error, path, remedy=_NEXT_ROUND)
            yield ServiceEvent(kind, failure.instant, str(failure), failure)

    def _actions(self, kind: ServiceKind, context: ServiceContext) -> Iterator[ServiceEvent]:
        """What one service does in a round; each step runs when the one before it was shown."""
        run = {
            ServiceKind.TTL: self._ttl,
            ServiceKind.COMPACT: self._compact,
            ServiceKind.LOG_COMPACT: self._log_compact,
            ServiceKind.CLUSTER: self._cluster,
            ServiceKind.CLEAN: self._clean,
            ServiceKind.ARCHIVE: self._archive,
            ServiceKind.INDEX: self._index,
        }[kind]
        for event in run(context):
            warnings = tuple(f"{step}: {why}" for step, why in context.failed.items())
            context.failed.clear()
            yield ServiceEvent(event.service, event.instant, event.detail, event.error, warnings)

    def _compact(self, context: ServiceContext) -> Iterator[ServiceEvent]:
        def is_due(now: ServiceContext) -> bool:
            return compaction_is_due(now.client, _config(now).compaction)

        return _planned_and_due(ServiceKind.COMPACT, context, run_planned_compactions, is_due, TableServices.compact)

    def _log_compact(self, context: ServiceContext) -> Iterator[ServiceEvent]:
        for instant in TableServices(context).log_compact():
            yield _completed(ServiceKind.LOG_COMPACT, instant, context)

    def _cluster(self, context: ServiceContext) -> Iterator[ServiceEvent]:
        def is_due(now: ServiceContext) -> bool:
            return clustering_is_due(now.client, _config(now).clustering)

        return _planned_and_due(ServiceKind.CLUSTER, context, run_planned_clusterings, is_due, TableServices.cluster)

    def _ttl(self, context: ServiceContext) -> Iterator[ServiceEvent]:
        expired = expire_partitions(context.reload())
        if expired is not None:
            text = f"{len(expired.partitions)} partitions deleted: {', '.join(expired.partitions[:_NAMED])}"
            text += " …" if len(expired.partitions) > _NAMED else ""
            yield ServiceEvent(ServiceKind.TTL, expired.instant.requested, text)

    def _clean(self, context: ServiceContext) -> Iterator[ServiceEvent]:
        now = context.reload()
        cleaned = clean_if_due(now, _config(now).clean)
        if cleaned is not None:
            yield ServiceEvent(
                ServiceKind.CLEAN, cleaned.instant.requested, f"{cleaned.total_files_deleted} files deleted"
            )

    def _archive(self, context: ServiceContext) -> Iterator[ServiceEvent]:
        now = context.reload()
        archived = archive_if_due(now, _config(now).archive)
        if archived is not None and archived.archived:
            text = f"{len(archived.archived)} instants archived, {archived.active} stay active"
            yield ServiceEvent(ServiceKind.ARCHIVE, None, text)

    def _index(self, context: ServiceContext) -> Iterator[ServiceEvent]:
        metadata = TableServices(context).metadata
        if set(metadata.missing()) <= self._not_made:
            return
        created = metadata.build().created
        # A partition that cannot be made of the table's files is not tried again under the lock in each round.
        self._not_made = set(metadata.missing())
        if created:
            yield ServiceEvent(ServiceKind.INDEX, None, f"{', '.join(created)} made")


def _config(context: ServiceContext) -> WriteConfig:
    return WriteConfig.of(context.options, context.client.config)


def _planned_and_due(
    kind: ServiceKind,
    context: ServiceContext,
    run_planned: Callable[[ServiceContext], Iterator[PlanRun]],
    is_due: Callable[[ServiceContext], bool],
    run: Callable[[TableServices], Iterable[Instant]],
) -> Iterator[ServiceEvent]:
    """Run the plans there are and, if none of them failed, one more where that is due."""
    failed = False
    for one in run_planned(context):
        failed = failed or one.error is not None
        yield _of_run(kind, one, context)
    now = context.reload()
    if not failed and is_due(now):
        for instant in run(TableServices(now)):
            yield _completed(kind, instant, now)


def _of_run(kind: ServiceKind, run: PlanRun, context: ServiceContext) -> ServiceEvent:
    if run.completed is not None:
        return _completed(kind, run.completed, context)
    assert run.error is not None
    failure = reported(run.error, context.client.base_path, run.planned, remedy=_NEXT_ROUND)
    return ServiceEvent(kind, run.planned, str(failure), failure)


def _completed(kind: ServiceKind, instant: Instant, context: ServiceContext) -> ServiceEvent:
    timeline = context.reload().client.timeline
    stats = timeline.commit_metadata(timeline.get(instant.requested)).write_stats
    rows = sum(stats["num_writes"].to_pylist())
    return ServiceEvent(kind, instant.requested, f"{rows} rows in {stats.num_rows} files")


__all__ = ["ServiceEvent", "ServiceKind", "ServiceRounds"]
