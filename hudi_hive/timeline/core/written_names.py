"""Names of the base files that commits wrote, for telling them from files of attempts that came late."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from hudi_hive.errors import HudiHiveError
from hudi_hive.timeline.instants import Instant
from hudi_hive.timeline.payloads import CommitMetadata

if TYPE_CHECKING:
    from hudi_hive.timeline.archive import ArchivedTimeline


class WrittenNames:
    """A timeline's commits, active and archived, as the names of the base files that they recorded."""

    def write_instants(self) -> tuple[Instant, ...]:
        """Completed active instants that make data visible."""
        raise NotImplementedError

    def commit_metadata(self, instant: Instant) -> CommitMetadata:
        """The metadata of an active one."""
        raise NotImplementedError

    def archived(self) -> ArchivedTimeline:
        """The archived timeline."""
        raise NotImplementedError

    def written_names(self, times: Collection[str]) -> frozenset[str]:
        """Names of the base files, without folders, that the commits of some requested times wrote.

        Of a commit that neither the active timeline nor the archive can tell of there are none.
        """
        names: set[str] = set()
        active = {instant.requested: instant for instant in self.write_instants()}
        for time in times:
            metadata = self.commit_metadata(active[time]) if time in active else self._archived_metadata(time)
            if metadata is not None:
                stats = metadata.write_stats
                paths = stats.column("path").filter(pc.is_null(stats.column("log_version")))
                names.update(path.rpartition("/")[2] for path in paths.to_pylist() if path)
        return frozenset(names)

    def _archived_metadata(self, time: str) -> CommitMetadata | None:
        archive = self.archived()
        try:
            instant = next((i for i in archive.instants if i.requested == time and i.is_completed and i.is_write), None)
            return None if instant is None else archive.commit_metadata(instant)
        except HudiHiveError:
            return None  # a damaged archive: the table is read as it would be without one
