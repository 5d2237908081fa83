"""Detects files that an earlier table left in the folders of a table."""

from __future__ import annotations

import logging
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import TimelineError
from hudi_hive.timeline import Timeline

_log = logging.getLogger(__name__)

_FIXED: Final = "0000"
"""What the instants begin with that are no times: those of bootstrap and of a metadata table's first files."""

_LONG_HISTORY: Final = 10
"""Completed writes from which on a timeline may have lost its archive: by default Hudi keeps the last twenty active.
Its exporter copies no archive, and there are those who delete it to save space."""


def refuse_earlier_table(timeline: Timeline, instants: pa.Array, base_path: str) -> None:
    """Refuse listed files whose instants are older than the table's whole timeline.

    An instant before the active timeline counts as complete because it was archived. Where nothing was archived, or the
    archive begins later, the files are those of a table that was in this folder before: a listing gives their rows,
    the metadata table does not. A timeline that had an archive and lost it is read with a warning. Costs one listing of
    the archive's folder, once for a timeline, where there are files from before the active timeline.

    Args:
        timeline: the table's, loaded before the listing.
        instants: requested times in the names of the listed files, in any order, each once.
        base_path: of the table, for errors.

    Raises:
        TimelineError: there are such files.
    """
    first = timeline.first_active()
    if first is None or not len(instants):
        return
    old = instants.filter(pc.fill_null(pc.less(instants, first), False))
    old = old.filter(pc.invert(pc.starts_with(old, _FIXED)))
    own = pa.array([instant.requested for instant in timeline.instants], pa.string())
    old = old.filter(pc.invert(pc.is_in(old, value_set=own)))
    if not len(old):
        return
    begin = timeline.archived().begin
    oldest = pc.min(old).as_py()
    if begin is None and _had_archive(timeline, first):
        _log.warning(
            "nothing vouches for files of the instant %s: the archived timeline of %s is gone; they count as committed",
            oldest,
            base_path,
        )
    elif begin is None or oldest < begin:
        known = f"its archive begins at {begin}" if begin else f"the first is {first} and nothing was archived"
        raise TimelineError(
            f"the table's folders hold files of the instant {oldest}, which its timeline does not know: {known}",
            path=base_path,
            instant=oldest,
            remedy="move the files of an earlier table out of the folders, or restore the archived timeline",
        )


def _had_archive(timeline: Timeline, first: str) -> bool:
    """Whether a timeline without an archive began before its first active instant.

    It did if it is long, or if its writes took over files of earlier ones.
    """
    writes = timeline.write_instants()
    if len(writes) >= _LONG_HISTORY:
        return True
    for instant in writes:
        earlier = timeline.commit_metadata(instant).write_stats.column("prev_commit")
        digits = pc.match_substring_regex(earlier, r"^[0-9]+$")
        named = pc.and_(digits, pc.and_not(pc.less(earlier, first), pc.starts_with(earlier, _FIXED)))
        if pc.any(pc.fill_null(named, False), min_count=0).as_py():
            return True
    return False
