"""Runs planned compactions and clusterings: those of writers that only plan, and those that a death has left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from hudi_hive.errors import CommitOutcomeUnknownError, LockError, UnsupportedTableError, WriteConflictError
from hudi_hive.metrics import observed
from hudi_hive.timeline import Instant
from hudi_hive.timeline.instants import COMPACTION
from hudi_hive.write.rollback import rollback
from hudi_hive.write.service_base import ServiceContext, is_beating
from hudi_hive.write.services.clustering import execute_clustering, pending_clusterings
from hudi_hive.write.services.compaction import execute_compaction

_PLAN_STAYS: Final = (UnsupportedTableError, LockError, WriteConflictError, CommitOutcomeUnknownError)


@dataclass(frozen=True)
class PlanRun:
    """One run of a planned service.

    Attributes:
        planned: requested time of the plan.
        completed: the commit; None if the run failed.
        error: why it failed.
    """

    planned: str
    completed: Instant | None
    error: Exception | None = None


def run_planned_compactions(context: ServiceContext) -> Iterator[PlanRun]:
    """Run the planned compactions at which no other process is, oldest first; one that fails stays planned.

    Args:
        context: the table; its lock must not be held.

    Yields:
        Each run when it has ended; who stops iterating leaves the rest for later.
    """
    pending = context.reload().client.timeline.pending({COMPACTION})
    return _runs(context, "compact", pending, execute_compaction)


def run_planned_clusterings(context: ServiceContext) -> Iterator[PlanRun]:
    """Run the planned clusterings at which no other process is, oldest first.

    One that cannot be done gives up its plan, which bars writers from its file groups. The plan stays where the table
    was locked or the plan is somebody else's: at work at it, or the only one to know its strategy.

    Args:
        context: the table; its lock must not be held.

    Yields:
        Each run when it has ended; who stops iterating leaves the rest for later.
    """
    for run in _runs(context, "cluster", pending_clusterings(context.reload().client), execute_clustering):
        if run.error is not None and not isinstance(run.error, _PLAN_STAYS):
            with suppress(Exception):
                rollback(context, run.planned, dead=True, pending=True)
        yield run


def _runs(
    context: ServiceContext,
    service: str,
    pending: Sequence[Instant],
    execute: Callable[[ServiceContext, Instant], Instant],
) -> Iterator[PlanRun]:
    client = context.client
    for instant in pending:
        if is_beating(context, instant.requested):
            continue  # another process is at it
        try:
            with observed("service", service, client.base_path, client.config.name) as operation:
                completed = execute(context, instant)
                operation.instant = completed.requested
        except Exception as error:
            yield PlanRun(instant.requested, None, error)
        else:
            yield PlanRun(instant.requested, completed)


__all__ = ["PlanRun", "run_planned_clusterings", "run_planned_compactions"]
