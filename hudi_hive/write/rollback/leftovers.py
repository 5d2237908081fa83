"""What outlives the instant of a write: markers, staged records, heartbeats."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from hudi_hive.storage import Storage, run_together
from hudi_hive.write.coordination import (
    FOLDER,
    beating_instants,
    heartbeat_times,
    remove_heartbeat,
    silent_instants,
)
from hudi_hive.write.files import MARKERS, marked_instants, remove_unclaimed, try_remove_leftovers
from hudi_hive.write.service_base import ServiceContext

_PARENT: Final = ".hoodie"


class Leftovers(NamedTuple):
    """Requested times of instants that have markers or staged records, and of those that have a heartbeat."""

    marked: Sequence[str]
    beating: Sequence[str]


def leftovers(storage: Storage) -> Leftovers:
    """List markers and heartbeats: on an object store in one request where there are none."""
    if not storage.has_folders:
        folders = storage.list(_PARENT, missing_ok=True).column("path").to_pylist()
        if FOLDER not in folders and MARKERS not in folders:
            return Leftovers([], [])
    return Leftovers(*run_together(storage, [partial(marked_instants, storage), partial(beating_instants, storage)]))


def remove_outlived(context: ServiceContext) -> None:
    """Remove markers and heartbeats that outlived their instants, as writers that died behind their commit leave them.

    The next write or service does so too; this is for an action that finds nothing more to do.

    Args:
        context: the table; its lock need not be held.
    """
    marked, beating = leftovers(context.client.storage)
    if marked or beating:
        drop_leftovers(context.reload(), marked, beating)


def drop_leftovers(context: ServiceContext, marked: Sequence[str], beating: Sequence[str]) -> None:
    """Delete markers and heartbeats of instants that are not pending: completed, undone, or never requested.

    A writer that lives has its instant pending before it makes markers; but it beats before it is on the timeline. One
    that was taken for dead while it stood still may have written after it was undone: those files go with the markers.

    Args:
        context: the table, read after the two were listed.
        marked: instants with markers.
        beating: instants with a heartbeat.
    """
    storage, timeline = context.client.storage, context.client.timeline
    pending = {i.requested for i in timeline.pending()}
    left = [instant for instant in marked if instant not in pending]
    completed = {i.requested for i in (*timeline.instants, *(timeline.archived().instants if left else ()))}
    for instant in left:
        if instant not in completed:
            remove_unclaimed(storage, instant, ())
        try_remove_leftovers(storage, instant)
    interval, misses = heartbeat_times(context.options)
    left = [instant for instant in beating if instant not in pending]
    for instant in silent_instants(storage, left, interval_ms=interval, misses=misses) if left else ():
        remove_heartbeat(storage, instant)
