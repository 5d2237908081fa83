"""Detects conflicts with writers that are still at work, by their markers, before a file is written.

A writer that would lose at its commit ends while there is little to be thrown away. Two that look at the same moment
miss each other: what counts is still :func:`~hudi_hive.write.coordination.check_conflicts`, at the commit.

Source: RFC-56, Hudi's ``SimpleDirectMarkerBasedDetectionStrategy``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import WriteConflictError
from hudi_hive.storage import Storage
from hudi_hive.table import TableConfig
from hudi_hive.table.view import parse_file_names
from hudi_hive.timeline import Timeline
from hudi_hive.timeline.instants import COMPLETED_WRITE_ACTIONS
from hudi_hive.write.coordination.heartbeat import beating_instants, silent_instants

_BUCKET_DIGITS: Final = 8


@dataclass(frozen=True)
class EarlyConflictDetection:
    """Refuses a file of a file group for which another living writer has a marker.

    It goes with the tasks of a write to where they run. A look costs a listing of the heartbeats, and one of the
    markers in the partition for each other living writer.

    Args:
        config: the table's properties.
        interval_ms: milliseconds from heartbeat to heartbeat.
        misses: how many of them a living writer may miss.
        buckets: whether file groups are buckets: two with one number are the same, whatever the rest of their ids.
    """

    config: TableConfig
    interval_ms: int
    misses: int
    buckets: bool = False

    def check(
        self, storage: Storage, instant: str, partition: str, name: str, marked: Callable[[str], list[str]]
    ) -> None:
        """Refuse a file before its marker is there.

        Args:
            storage: rooted at the table's base path.
            instant: the write.
            partition: partition path.
            name: the file.
            marked: names of the files in the partition that an instant has markers for.

        Raises:
            WriteConflictError: another writer is at the same file group.
        """
        others = [one for one in beating_instants(storage) if one != instant]
        if not others:
            return
        silent = set(silent_instants(storage, others, interval_ms=self.interval_ms, misses=self.misses))
        mine = self._group(pa.array([name], pa.string()))[0]
        for other in others:
            if other in silent or not pc.any(pc.equal(self._group(pa.array(marked(other), pa.string())), mine)).as_py():
                continue
            if self._is_pending_write(storage, other):
                raise WriteConflictError(
                    f"the write cannot go on: instant {other}, which is at work, is at the same file group "
                    f"{mine.as_py()} of partition {partition!r}",
                    path=storage.uri(),
                    instant=instant,
                    remedy="write again when that has ended: the table holds nothing of this write",
                )

    def _group(self, names: pa.Array) -> pa.Array:
        """Ids of the file groups of files; the numbers of buckets."""
        ids = parse_file_names(names)["file_id"].combine_chunks().cast(pa.string())
        return pc.utf8_slice_codeunits(ids, 0, _BUCKET_DIGITS) if self.buckets else ids

    def _is_pending_write(self, storage: Storage, instant: str) -> bool:
        """Whether an instant is a write that has not ended: log files may go on top of what a compaction makes."""
        config = self.config
        timeline = Timeline.load(storage, layout=config.layout, timeline_path=config.timeline_path)
        return any(one.requested == instant for one in timeline.pending(COMPLETED_WRITE_ACTIONS))
