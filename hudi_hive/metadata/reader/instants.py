"""Decides which instants of a metadata table are valid, and whether it is up to date.

Source: docs/format.md#metadata-reading.
"""

from __future__ import annotations

from collections.abc import Collection, Container

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.timeline import Instant, Timeline
from hudi_hive.timeline.instants import COMMIT, DELTA_COMMIT, RESTORE, ROLLBACK

_INITIAL = "00000000000000"
_LENGTH = 17  # of an ordinary instant; table services of version 6 append three digits to one


class ValidInstants:
    """The valid instants, whose log blocks are read, as a container of requested times.

    These are completed instants of the data table, completed delta commits of the metadata table that are not pending
    in the data table, what the data table rolled back, rollbacks and restores of the metadata table, and the instants
    that made it. A metadata delta commit of a data commit that never completed is none of these.

    Args:
        data: timeline of the data table.
        metadata: timeline of the metadata table, loaded after it.
    """

    def __init__(self, data: Timeline, metadata: Timeline) -> None:
        self._data, self._metadata = data, metadata
        completed = {instant.requested for instant in data.completed()}
        self._pending = {instant.requested for instant in data.pending()} - completed
        own = {instant.requested for instant in metadata.completed() if instant.requested not in self._pending}
        self._valid = completed | own
        self._first = metadata.first_active()
        self._rolled_back: frozenset[str] | None = None

    def __contains__(self, instant: object) -> bool:
        if not isinstance(instant, str):
            return False
        if instant in self._valid or instant.startswith(_INITIAL):
            return True
        if instant in self._pending:
            # Of a pending instant only a rollback of an earlier attempt could speak; its blocks were undone then.
            return False
        if self._first is not None and instant < self._first:
            return True  # archived, hence complete
        return instant in self._undone()

    def writes_after(self, time: str) -> set[str]:
        """Requested times, later than the given one, of completed writes that the metadata table holds."""
        own = {instant.requested for instant in self._metadata.completed() if instant.is_write}
        return {instant.requested for instant in self._data.write_instants() if instant.requested > time} & own

    def wrote_to(self, partition: str, file_id: str, instants: Collection[str]) -> list[str]:
        """Which of the given delta commits of the metadata table wrote to a file group of it.

        Args:
            partition: partition of the metadata table.
            file_id: the file group.
            instants: requested times.

        Raises:
            CorruptInstantError: such a commit is damaged.
        """
        writes = []
        for instant in self._metadata.completed({DELTA_COMMIT}):
            if instant.requested in instants:
                stats = self._metadata.commit_metadata(instant).write_stats
                written = zip(stats.column("partition").to_pylist(), stats.column("file_id").to_pylist(), strict=True)
                if (partition, file_id) in written:
                    writes.append(instant.requested)
        return writes

    def unread_commits(self, partition: str, file_id: str, time: str, read: Container[str | None]) -> list[str]:
        """Completed delta commits, later than a time, that wrote to a file group and whose blocks were not read.

        Only of version 6: from version 8 on, the names of log files carry the time of their commit.

        Args:
            partition: partition of the metadata table.
            file_id: the file group.
            time: requested time.
            read: instants of the blocks that were read.

        Raises:
            CorruptInstantError: such a commit is damaged.
        """
        if self._metadata.layout >= 2:
            return []
        own = {instant.requested for instant in self._metadata.completed({DELTA_COMMIT})}
        unread = {instant for instant in own & self._valid if instant > time and instant not in read}
        return self.wrote_to(partition, file_id, unread)

    def _undone(self) -> frozenset[str]:
        """Instants that rollbacks and restores of the data table name; read only where a block asks for them."""
        if self._rolled_back is None:
            rolled_back: set[str] = set()
            for instant in self._data.completed({ROLLBACK}):
                rolled_back.update(self._data.rollback_metadata(instant).rolled_back)
            for instant in self._data.completed({RESTORE}):
                rolled_back.update(self._data.restore_metadata(instant).rolled_back)
            self._rolled_back = frozenset(rolled_back)
        return self._rolled_back


def newest_write_time(timeline: Timeline) -> str | None:
    """Upper bound of the newest slices of a table: its last write, a pending compaction's new slice included.

    Source: docs/format.md#file-groups-and-file-slices.
    """
    writes = [i.requested for i in timeline.instants if i.is_write and (i.is_completed or i.action == "compaction")]
    return max(writes, default=None)


def last_write_time(data: Timeline) -> str:
    """Requested time of the last completed write of a table; empty without one."""
    return max((instant.requested for instant in data.write_instants()), default="")


def holds_last_compaction(files: pa.Table, metadata: Timeline) -> bool:
    """Whether a listing, made while the metadata table's timeline was read, has the base file of the last compaction.

    One that is older may hold log files of the new slices without what they are added to. Where the compaction had
    nothing to do in the listed partition there is no such file either, and the listing has to be made again.

    Args:
        files: the listing.
        metadata: the metadata table's timeline.
    """
    last = max((instant.requested for instant in metadata.completed({COMMIT})), default=None)
    return last is None or bool(pc.any(pc.match_substring(files.column("name"), f"_{last}.")).as_py())


def missing_write(data: Timeline, metadata: Timeline) -> Instant | None:
    """A completed write that the metadata table should hold and does not, which makes it unusable; or None.

    Every write is a delta commit of the same time in the metadata table, unless it was there before the table was made
    or is so old that it was archived here.
    """
    own = [i for i in metadata.completed() if i.is_write and i.action != "replacecommit"]
    if not own:
        return next(iter(data.write_instants()), None)
    if metadata.layout == 1:
        since = min(instant.requested[:_LENGTH] for instant in own)
    else:
        since = min(instant.completed or instant.requested for instant in own)
    own_times = {instant.requested for instant in own}
    late = [i for i in data.write_instants() if i.requested > since and i.requested not in own_times]
    return late[0] if late else None
