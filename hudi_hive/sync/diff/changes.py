"""Finds the partitions that were written and dropped since the last sync, from commit and clean metadata.

Comes in: a timeline and what the last sync stamped. Goes out: partition paths; nothing is listed. The rules are those
of docs/format/hive.md#hive-sync-changes, so real Hudi's own answers (the fixtures' ``sync`` field) come out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hudi_hive.timeline import Instant, Timeline
from hudi_hive.timeline.instants import millis_to_instant

_DROPPING = frozenset({"DELETE_PARTITION", "INSERT_OVERWRITE", "INSERT_OVERWRITE_TABLE"})


@dataclass(frozen=True, slots=True)
class LastSync:
    """The stamp of the last sync: greatest requested time, greatest completion time (None in old stamps)."""

    requested: str
    completed: str | None = None


NEVER = LastSync("00000000000000")
"""Stamp of a table that a sync has begun to work on and never finished: older than every instant.

That a table has a stamp from the start lets the metastore notice when two first syncs meet.
"""


@dataclass(frozen=True, slots=True)
class Changes:
    """Sorted partition paths that were written and dropped, and the instants that did so."""

    instants: tuple[Instant, ...]
    written: tuple[str, ...]
    dropped: tuple[str, ...]

    @property
    def partitions(self) -> tuple[str, ...]:
        """All partitions that were written or dropped."""
        return tuple(sorted({*self.written, *self.dropped}))


def completion_time(timeline: Timeline, instant: Instant) -> str:
    """Completion time of a completed instant; layout 1 keeps none, so its file's modification time stands in."""
    if instant.completed is not None:
        return instant.completed
    written = timeline.mtime_ms(instant)
    return instant.requested if written is None else millis_to_instant(written, timeline.timezone)


def newest_stamp(timeline: Timeline) -> LastSync | None:
    """The stamp of a sync of this timeline; None without a completed commit.

    The two times can belong to two instants: the newest requested time and the greatest completion time.
    """
    writes = timeline.write_instants()
    if not writes:
        return None
    newest = max(instant.requested for instant in writes)
    return LastSync(newest, max(completion_time(timeline, instant) for instant in writes))


def is_archived(timeline: Timeline, last: LastSync) -> bool:
    """Whether instants since the last sync may be archived, so that all partitions must be compared."""
    first = timeline.first_active()
    return first is None or last.requested < first


def is_rolled_back(timeline: Timeline, last: LastSync) -> bool:
    """Whether the instant of the last sync was rolled back or restored, so that all partitions must be compared."""
    return all(instant.requested != last.requested for instant in timeline.write_instants())


def instants_since(timeline: Timeline, last: LastSync) -> tuple[Instant, ...]:
    """Completed writes requested after the last sync, and those requested before that completed after it."""

    def is_new(instant: Instant) -> bool:
        if instant.requested > last.requested:
            return True
        return (
            last.completed is not None
            and instant.requested < last.requested
            and completion_time(timeline, instant) > last.completed
        )

    return tuple(instant for instant in timeline.write_instants() if is_new(instant))


def changes_since(timeline: Timeline, last: LastSync) -> Changes:
    """Find the partitions written and dropped since the last sync.

    A partition counts as dropped when a replacing write that removes partitions or any clean of the active timeline
    emptied it and no write of the range filled it again.

    Raises:
        CorruptInstantError: a commit or clean cannot be decoded.
    """
    instants = instants_since(timeline, last)
    written: set[str] = set()
    deleted: dict[str, str] = {}
    filled: dict[str, str] = {}
    timeline.read_ahead(instants)
    for instant in sorted(instants, key=lambda item: item.requested):
        metadata = timeline.commit_metadata(instant)
        own = metadata.partitions_written()
        touched = metadata.partitions_touched() if instant.action == "replacecommit" else own
        written.update(touched)
        filled.update(dict.fromkeys(own, instant.requested))
        if instant.action == "replacecommit" and metadata.operation in _DROPPING:
            # An overwrite of the table names partitions too that had no file group left.
            deleted.update(dict.fromkeys(metadata.replaced_keys, instant.requested))
    deleted.update(_cleaned_away(timeline))
    dropped = {path for path, when in deleted.items() if path not in filled or when > filled[path]}
    return Changes(instants, _sorted(written), _sorted(dropped))


def partitions_cleaned_after(timeline: Timeline, completed: str | None) -> bool:
    """Whether a clean that removed whole partitions completed after the given completion time."""
    cleans = [
        instant
        for instant in timeline.completed({"clean"})
        if completed is None or completion_time(timeline, instant) > completed
    ]
    return bool(_deleted_partitions(timeline, cleans))


def _cleaned_away(timeline: Timeline) -> dict[str, str]:
    return _deleted_partitions(timeline, timeline.completed({"clean"}))


def _deleted_partitions(timeline: Timeline, cleans: Iterable[Instant]) -> dict[str, str]:
    deleted: dict[str, str] = {}
    for instant in sorted(cleans, key=lambda item: item.requested):
        for path, partition in timeline.clean_metadata(instant).partitions.items():
            if partition.partition_deleted:
                deleted[path] = instant.requested
    return deleted


def _sorted(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(path for path in paths if path))
