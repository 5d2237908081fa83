"""Files of an earlier table in the folders of this one: nothing on the timeline vouches for them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import TimelineError
from hudi_hive.timeline import Timeline

_FIXED = "0000"
"""What the instants begin with that are no times: those of bootstrap and of a metadata table's first files."""


def refuse_earlier_table(timeline: Timeline, instants: pa.Array, base_path: str) -> None:
    """Refuse listed files of instants from before all that the timeline knows.

    An instant before the active timeline counts as complete because it was archived. Where nothing was archived, or the
    archive begins later, the files are those of a table that was in this folder before: a listing gives their rows,
    the metadata table does not. Costs one listing of the archive's folder, once for a timeline, where there are files
    from before the active timeline.

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
    if begin is None or oldest < begin:
        known = f"its archive begins at {begin}" if begin else f"the first is {first} and nothing was archived"
        raise TimelineError(
            f"the table's folders hold files of the instant {oldest}, which its timeline does not know: {known}",
            path=base_path,
            instant=oldest,
            remedy="move the files of an earlier table out of the folders, or restore the archived timeline",
        )
