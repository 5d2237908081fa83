"""Claims the instant of a table service for one process at a time, by a heartbeat on the instant.

A service's instant that is inflight without a living heartbeat was left by a run that died, and may be undone and run
again. One with a heartbeat is somebody's: to undo it would take the files away under the hands of that process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from hudi_hive.errors import CommitOutcomeUnknownError, TimelineError, WriteConflictError
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.instants import ROLLBACK
from hudi_hive.write.coordination import HEARTBEAT, WriterHeartbeat, heartbeat_times, quietly, silent_instants
from hudi_hive.write.service_base.context import ServiceContext


def is_beating(context: ServiceContext, instant: str) -> bool:
    """Whether a running process has a heartbeat on an instant."""
    interval, misses = heartbeat_times(context.options)
    return not silent_instants(context.client.storage, [instant], interval_ms=interval, misses=misses)


def refuse_beating(context: ServiceContext, instant: Instant) -> None:
    """Refuse an instant on which another process has a heartbeat.

    Raises:
        WriteConflictError: it has a heartbeat.
    """
    if is_beating(context, instant.requested):
        raise WriteConflictError(
            f"another process is at work at {instant.action}",
            path=context.client.base_path,
            instant=instant.requested,
            remedy="let it finish",
        )


class Claim(NamedTuple):
    """A service's instant that this process is at.

    Attributes:
        context: the table as of the claim, under its lock.
        instant: the inflight instant.
        heartbeat: its heartbeat, which must still beat when the service completes.
    """

    context: ServiceContext
    instant: Instant
    heartbeat: WriterHeartbeat


def claim(now: ServiceContext, instant: Instant, payload: bytes = b"") -> Claim:
    """Start a requested service, or continue an interrupted one, with a heartbeat, which :func:`ending` ends.

    Args:
        now: the table, under its lock.
        instant: the service's instant, pending.
        payload: of the inflight file, if the instant is to begin.

    Raises:
        WriteConflictError: another process is at it, or has completed or undone it.
    """
    heartbeat = WriterHeartbeat.of(now.options, now.client.storage, instant.requested)
    inflight = _begun(now, instant, payload)
    heartbeat.start()
    return Claim(now.with_pending(inflight), inflight, heartbeat)


@contextmanager
def claimed(context: ServiceContext, instant: Instant, payload: bytes = b"") -> Iterator[Claim]:
    """Claim an instant under the table's lock, and end its heartbeat behind the block.

    Args:
        context: the table; its lock must not be held.
        instant, payload: as of :func:`claim`.

    Yields:
        The claim.

    Raises:
        WriteConflictError: as of :func:`claim`.
    """
    with context.lock():
        own = claim(context.reload(), instant, payload)
    with ending(own.heartbeat, own.instant.requested):
        yield own


@contextmanager
def ending(heartbeat: WriterHeartbeat, instant: str) -> Iterator[None]:
    """End a heartbeat behind the block; the file stays where it is not known whether the action is complete.

    Others wait for the end of such a heartbeat before they look at the instant.
    """
    try:
        yield
    except CommitOutcomeUnknownError:
        heartbeat.abandon()
        raise
    except BaseException:
        quietly(HEARTBEAT, instant, heartbeat.stop)
        raise
    quietly(HEARTBEAT, instant, heartbeat.stop)


def pending_still(now: ServiceContext, instant: Instant) -> Instant:
    """Read the current state of a pending instant.

    Raises:
        WriteConflictError: another process has completed it, or has undone it or is about to.
    """
    found = [i for i in now.client.timeline.pending({instant.action}) if i.requested == instant.requested]
    if found and instant.requested not in {target[0] for target in rolled_back_now(now)}:
        return found[0]
    raise WriteConflictError(
        f"{instant.action} was completed or undone by another process",
        path=now.client.base_path,
        instant=instant.requested,
        remedy="nothing is to be done if the table service is complete; run it again otherwise",
    )


def _begun(now: ServiceContext, instant: Instant, payload: bytes) -> Instant:
    pending = pending_still(now, instant)
    if pending.state is State.INFLIGHT:
        refuse_beating(now, pending)
        return pending
    try:
        return now.writer.transition_inflight(instant.action, instant.requested, payload, just_seen=True)
    except TimelineError as error:  # processes without a common lock
        raise WriteConflictError(
            f"another process has just begun {instant.action}",
            path=now.client.base_path,
            instant=instant.requested,
            remedy="let it finish",
        ) from error


def rolled_back_now(now: ServiceContext) -> list[tuple[str, str]]:
    """Requested times and actions of the targets of pending rollbacks."""
    timeline = now.client.timeline
    targets = [timeline.rollback_plan(instant).target for instant in timeline.pending({ROLLBACK})]
    return [target for target in targets if target is not None]


def refuse_pending_undo(now: ServiceContext) -> None:
    """Refuse a plan while a completed write is being rolled back.

    It would count on files that are about to go, or take away those that are needed when they are gone.

    Args:
        now: the table, under its lock.

    Raises:
        WriteConflictError: a rollback of a completed write has not ended.
    """
    completed = {instant.requested for instant in now.client.timeline.write_instants()}
    undone = next((requested for requested, _ in rolled_back_now(now) if requested in completed), None)
    if undone is not None:
        raise WriteConflictError(
            "a rollback of this instant has not ended",
            path=now.client.base_path,
            instant=undone,
            remedy="let it end; if it died `hudi-hive table rollback --failed` ends it, and so does the next write",
        )
