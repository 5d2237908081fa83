"""The archived timeline of either layout, which is read only when it is needed.

Loading reads times and actions only; payloads are fetched one by one.

Source: docs/format.md#archived-timeline.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

from hudi_hive.caching import cached_property
from hudi_hive.errors import InstantNotFoundError
from hudi_hive.storage import Storage
from hudi_hive.timeline.archive.archive_log import LogArchive
from hudi_hive.timeline.archive.lsm_history import HistoryArchive
from hudi_hive.timeline.instants import COMPLETED_WRITE_ACTIONS, Instant, InstantOrder
from hudi_hive.timeline.payloads import CommitMetadata, decode_commit

COMPLETION_SCHEMA: Final = pa.schema([("requested", pa.string()), ("completed", pa.string())])
"""Columns of :meth:`ArchivedTimeline.completion_times`."""


class ArchivedTimeline:
    """The archived instants of a table, of either timeline layout.

    Args:
        storage: rooted at the table's base path.
        folder: folder of the archive relative to it.
        layout: timeline layout version, 1 or 2.
        active: instants of the active timeline; an archive that lacks some of them lost nothing.
    """

    def __init__(self, storage: Storage, folder: str, layout: int, active: Iterable[Instant] = ()) -> None:
        self._storage = storage
        self._folder = folder
        completed = frozenset((i.requested, i.comparable_action) for i in active if i.is_completed)
        archive = LogArchive if layout == 1 else HistoryArchive
        self._archive: LogArchive | HistoryArchive = archive(storage, folder, completed)

    def __repr__(self) -> str:
        return f"ArchivedTimeline({self._storage.uri(self._folder)})"

    @cached_property
    def entries(self) -> tuple[Instant, ...]:
        """All archived states in timeline order: in layout 1 each state of an instant, in layout 2 the completed one.

        Raises:
            CorruptFileError: a file of the archive is damaged.
            FileVanishedError: a file that the archive names is gone.
        """
        # Archive files are merged by writing the new file before the old ones go, so an entry may be there twice.
        unique = {instant.sort_key: instant for instant in self._archive.entries()}
        return tuple(unique[key] for key in sorted(unique))

    @cached_property
    def begin(self) -> str | None:
        """A lower bound of the archived requested times, from one listing; None when nothing was archived."""
        return self._archive.begin()

    @cached_property
    def instants(self) -> tuple[Instant, ...]:
        """The archived instants in their highest state, sorted by requested time; raises as :attr:`entries`."""
        best: dict[tuple[str, str], Instant] = {}
        for instant in self.entries:
            best[(instant.requested, instant.comparable_action)] = instant  # sorted, so the highest state comes last
        return tuple(best.values())

    def moved(self, instant: Instant) -> Instant | None:
        """The archived instant of an active one that is archived in the same state; None without."""
        return self._highest.get(instant.sort_key)

    @cached_property
    def _highest(self) -> dict[InstantOrder, Instant]:
        return {instant.sort_key: instant for instant in self.instants}

    def completed_since(self, time: str) -> frozenset[tuple[str, str]]:
        """Requested times and comparable actions of completed archived instants, from a requested time on.

        Reads only what may hold them; errors as of :attr:`entries`.
        """
        entries = self._archive.entries_since(time)
        return frozenset((i.requested, i.comparable_action) for i in entries if i.is_completed)

    def range(self, begin: str, end: str) -> tuple[Instant, ...]:
        """The archived instants with a requested time from ``begin`` to ``end``, both inclusive."""
        return tuple(instant for instant in self.instants if begin <= instant.requested <= end)

    def completion_times(self) -> pa.Table:
        """Requested and completion times of the completed archived writes, a table of :data:`COMPLETION_SCHEMA`.

        Each of its columns is one chunk.
        """
        return self._completion_times

    @cached_property
    def _completion_times(self) -> pa.Table:
        writes = [i for i in self.instants if i.is_completed and i.action in COMPLETED_WRITE_ACTIONS]
        return pa.table(
            [
                pa.array([i.requested for i in writes], pa.string()),
                pa.array([i.completed for i in writes], pa.string()),
            ],
            schema=COMPLETION_SCHEMA,
        )

    def commit_metadata(self, instant: Instant) -> CommitMetadata:
        """Read the metadata of an archived commit, deltacommit or replacecommit.

        Raises:
            InstantNotFoundError: the archive does not have it, or it is no write instant.
            CorruptInstantError: its payload cannot be decoded.
        """
        if instant.action not in COMPLETED_WRITE_ACTIONS:
            raise self._not_found(instant, "has no commit metadata")
        return decode_commit(self.payload(instant), instant, self._storage.uri(instant.path))

    def payload(self, instant: Instant) -> dict[str, Any] | None:
        """Read the record of an archived instant's state; None where it is empty.

        Raises:
            InstantNotFoundError: the archive does not have it.
            CorruptInstantError: it cannot be decoded.
        """
        return self._archive.payload(self._archived(instant))

    def plan(self, instant: Instant) -> dict[str, Any] | None:
        """Read the plan of an archived instant; None where it has none or the archive does not hold it.

        Raises:
            InstantNotFoundError: the archive does not have the instant.
            CorruptInstantError: the plan cannot be decoded.
        """
        return self._archive.plan(self._archived(instant))

    def completion_time(self, instant: Instant) -> str:
        """When an archived instant was completed; its requested time where the archive does not say.

        Layout 1 has it as the time of the last change of state (``stateTransitionTime``).

        Raises:
            InstantNotFoundError: the archive does not have it.
        """
        archived = self._archived(instant)
        return self._archive.completion_time(archived) or archived.requested

    def _archived(self, instant: Instant) -> Instant:
        entry = self._by_key.get(instant.sort_key)
        if entry is None:
            raise self._not_found(instant, "is neither active nor archived")
        return entry

    @cached_property
    def _by_key(self) -> dict[InstantOrder, Instant]:
        return {instant.sort_key: instant for instant in self.entries}

    def _not_found(self, instant: Instant, what: str) -> InstantNotFoundError:
        path = self._storage.uri(self._folder)
        return InstantNotFoundError(f"{instant} {what}", path=path, instant=instant.requested)
