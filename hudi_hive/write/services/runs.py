"""Runs of services that rewrite file slices: carried through or undone, and the files that they wrote."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from hudi_hive.errors import CommitOutcomeUnknownError
from hudi_hive.timeline import Instant
from hudi_hive.write.files import remove_unclaimed, try_remove_markers, write_stats
from hudi_hive.write.rollback import rollback
from hudi_hive.write.service_base import Claim, ServiceContext, ending

_log = logging.getLogger(__name__)


def carried_through(
    context: ServiceContext,
    own: Claim,
    run: Callable[[Claim], Instant],
    service: str,
    *,
    plan_is_lost: tuple[type[Exception], ...] = (),
) -> Instant:
    """Run a service that is this process's, and undo it if it fails, unless it may be complete.

    Args:
        context: the table; its lock must not be held.
        own: the claim of this process.
        run: completes the instant.
        service: its name, for the log.
        plan_is_lost: failures after which the plan can never succeed, and goes too.
    """
    try:
        with ending(own.heartbeat, own.instant.requested):
            done = run(own)
    except CommitOutcomeUnknownError:
        raise  # it may be complete
    except Exception as failure:
        try:
            rollback(context, own.instant, drop_plan=isinstance(failure, plan_is_lost))
        except Exception as error:
            _log.warning("%s %s was not undone, its next run will: %s", service, own.instant.requested, error)
        raise
    try_remove_markers(context.client.storage, done.requested, made_here=context.knows_markers)
    return done


def settled_stats(context: ServiceContext, instant: str, statuses: pa.Table) -> list[dict[str, Any]]:
    """Write stats of the files of a run, which are on disk by then, and those of its other attempts gone.

    Args:
        context: the table.
        instant: requested time of the run.
        statuses: what its tasks wrote.
    """
    storage, paths = context.client.storage, statuses["path"].to_pylist()
    if not context.knows_markers:
        remove_unclaimed(storage, instant, paths)
    storage.flush(paths)
    return write_stats(statuses, layout=context.client.config.layout)


__all__ = ["carried_through", "settled_stats"]
