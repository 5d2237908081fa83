"""Selects the instants that may be archived.

Source: docs/format.md#archived-timeline.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hudi_hive.timeline.core import Timeline
from hudi_hive.timeline.instants import CLEAN, REPLACE_COMMIT, RESTORE, ROLLBACK, SAVEPOINT, WRITE_ACTIONS, Instant
from hudi_hive.timeline.payloads import RollbackMetadata

_NO_TABLE_SCHEMA: Final = frozenset({"CLUSTER", "COMPACT", "INDEX", "LOG_COMPACT"})
_SERVICES: Final = frozenset({CLEAN, ROLLBACK})
_UNDOING: Final = frozenset({ROLLBACK, RESTORE})


@dataclass(frozen=True)
class Selection:
    """The instants to archive, oldest first, and the bound that keeps later ones active.

    Args:
        instants: completed instants.
        bound: requested time that archival must not reach, if anything but the number of commits set it.
        reason: what set it.
    """

    instants: tuple[Instant, ...]
    bound: str | None
    reason: str | None


def select_instants(
    timeline: Timeline,
    *,
    min_commits: int,
    max_commits: int,
    bound: str | None = None,
    reason: str | None = None,
    beyond_savepoint: bool = False,
) -> Selection:
    """Select the completed writes before the newest ``min_commits`` if there are more than ``max_commits``.

    The bound is the earliest of: the caller's, the first pending write, what a pending rollback or restore undoes, the
    oldest savepoint, the first replacecommit whose replaced files no clean has taken, and the newest commits that tell
    the table's schema, now and as of each savepoint; and the write before one that was undone, as long as fewer than
    ``min_commits`` writes came since: a request of that write may be carried out late, and what is older than the first
    active instant counts as complete. Completed cleans and rollbacks before the last archived write go with it; the
    last clean stays, as time travel and cleaning look at it.

    Args:
        timeline: the active timeline, as it is under the table's lock.
        min_commits: completed writes that stay at least.
        max_commits: completed writes at which nothing is done yet.
        bound: requested time that must stay, with all later ones.
        reason: why it must.
        beyond_savepoint: savepointed instants stay behind and do not stop archival.
    """
    bounds: list[tuple[str, str | None]] = [(bound, reason)] if bound is not None else []
    bounds += _bounds(timeline)
    saved = {instant.requested for instant in timeline.completed({SAVEPOINT})}
    if not beyond_savepoint:
        bounds += [(time, "savepoint") for time in saved]
        schemas = {_schema_commit(timeline, time) for time in saved}
        bounds += [(time, "the commit that tells the table's schema as of a savepoint") for time in schemas if time]
    writes = sorted(timeline.write_instants(), key=lambda instant: instant.requested)
    if len(writes) > max_commits:
        bounds += _undone_lately(timeline, [instant.requested for instant in writes], min_commits)
    limit, why = min(bounds, key=lambda item: item[0], default=(None, None))
    if len(writes) <= max_commits:
        return Selection((), limit, why)
    oldest = [i for i in writes[: len(writes) - min_commits] if limit is None or i.requested < limit]
    chosen = [instant for instant in oldest if instant.requested not in saved]
    if not chosen:
        return Selection((), limit, why)
    last = chosen[-1].requested
    cleans = timeline.completed({CLEAN})
    newest_clean = max((clean.requested for clean in cleans), default=None)
    services = [
        instant
        for instant in timeline.completed(_SERVICES)
        if instant.requested < last and not (instant.action == CLEAN and instant.requested == newest_clean)
    ]
    return Selection(tuple(sorted([*chosen, *services], key=lambda i: i.sort_key)), limit, why)


def _bounds(timeline: Timeline) -> Iterator[tuple[str, str]]:
    for instant in timeline.pending(WRITE_ACTIONS):
        yield instant.requested, f"pending {instant.action}"
    for instant in timeline.pending({ROLLBACK}):
        target = timeline.rollback_plan(instant).target
        yield (target[0] if target is not None else instant.requested), "pending rollback"
    for instant in timeline.pending({RESTORE}):
        times = [time for time, _ in timeline.restore_plan(instant).targets]
        yield min(times, default=instant.requested), "pending restore"
    uncleaned = _first_uncleaned_replacement(timeline)
    if uncleaned is not None:
        yield uncleaned, "replaced files that no clean has taken yet"
    schema = _schema_commit(timeline)
    if schema is not None:
        yield schema, "the commit that tells the table's schema"


def _undone_lately(timeline: Timeline, writes: Sequence[str], min_commits: int) -> Iterator[tuple[str, str]]:
    """The writes before those that were undone when fewer than ``min_commits`` writes had come since."""
    for instant in timeline.completed(_UNDOING):
        if instant.requested >= writes[-min_commits]:
            for time in [time for metadata in rollbacks_of(timeline, instant) for time in metadata.rolled_back]:
                place = bisect_left(writes, time)
                if place:
                    yield writes[place - 1], "a write that was undone lately"


def rollbacks_of(timeline: Timeline, undoing: Instant) -> list[RollbackMetadata]:
    """The metadata of a completed rollback, or of all the rollbacks of a restore."""
    if undoing.action == ROLLBACK:
        return [timeline.rollback_metadata(undoing)]
    return [one for many in timeline.restore_metadata(undoing).rollbacks.values() for one in many]


def _first_uncleaned_replacement(timeline: Timeline) -> str | None:
    """The first replacecommit that the last clean did not cover; if archived, its replaced files would reappear."""
    cleaned = ""
    cleans = timeline.completed({CLEAN})
    if cleans:
        last = max(cleans, key=lambda clean: clean.requested)
        # A policy by file versions retains no instant: what was replaced before the clean is taken.
        cleaned = timeline.clean_metadata(last).earliest_retained or last.requested
    for instant in timeline.completed({REPLACE_COMMIT}):
        if instant.requested >= cleaned and timeline.commit_metadata(instant).replaced.num_rows:
            return instant.requested
    return None


def _schema_commit(timeline: Timeline, as_of: str | None = None) -> str | None:
    writes = [i for i in timeline.write_instants() if as_of is None or i.requested <= as_of]
    for instant in sorted(writes, key=lambda i: i.requested, reverse=True):
        metadata = timeline.commit_metadata(instant)
        if metadata.operation not in _NO_TABLE_SCHEMA and metadata.schema is not None:
            return instant.requested
    return None
