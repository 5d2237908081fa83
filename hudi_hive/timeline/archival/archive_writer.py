"""Archives the oldest instants of the active timeline.

Source: docs/format.md#archived-timeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError, PathNotFoundError
from hudi_hive.storage import Storage
from hudi_hive.timeline.archival.archive_files import HistoryArchiveWriter, LogArchiveWriter, StateFile
from hudi_hive.timeline.archival.selection import Selection, select_instants
from hudi_hive.timeline.core import Timeline, TimelineSettings, TimelineWriter, timeline_folder
from hudi_hive.timeline.instants import COMMIT, REPLACE_COMMIT, Instant, State, comparable_action, parse_instant_name

MIN_COMMITS: Final = 20
"""Default of ``hoodie.keep.min.commits``."""

MAX_COMMITS: Final = 30
"""Default of ``hoodie.keep.max.commits``."""

_METADATA_TABLE: Final = ".hoodie/metadata"
_OLDEST_FIRST: Final = (State.REQUESTED, State.INFLIGHT, State.COMPLETED)


class ArchivalConfig(TimelineSettings, Protocol):
    """The interface of the table properties that archival uses; ``TableConfig`` implements it."""

    @property
    def history_path(self) -> str:
        """Archive folder of layout 2, below the timeline folder."""

    @property
    def archive_folder(self) -> str:
        """Archive folder of layout 1, below ``.hoodie``."""

    @property
    def timezone(self) -> str:
        """Time zone of instants: ``LOCAL`` or ``UTC``."""

    @property
    def metadata_partitions(self) -> tuple[str, ...]:
        """Partitions of the metadata table that are complete."""


class TableClient(Protocol):
    """The interface of a table that archival uses; ``MetaClient`` implements it."""

    @property
    def storage(self) -> Storage:
        """Rooted at the table's base path."""

    @property
    def config(self) -> ArchivalConfig:
        """The table's properties."""


@dataclass(frozen=True)
class ArchiveReport:
    """Result of an archival: the archived instants and what kept others active.

    Args:
        archived: the instants that left the active timeline, oldest first.
        active: instants that stay.
        files: archive files written, relative to the table's base path.
        bound: requested time that archival must not reach, and ``reason`` why; both None where only numbers count.
        reason: see ``bound``.
    """

    archived: tuple[Instant, ...]
    active: int
    files: tuple[str, ...]
    bound: str | None
    reason: str | None


def archive(
    client: TableClient,
    *,
    min_commits: int = MIN_COMMITS,
    max_commits: int = MAX_COMMITS,
    bound: str | None = None,
    reason: str | None = None,
    beyond_savepoint: bool = False,
    ahead: Callable[[Timeline, tuple[Instant, ...]], object] | None = None,
) -> ArchiveReport:
    """Archive the oldest completed instants of a table; the caller holds its lock.

    The archive is written whole before the first active file goes, and of an instant the completed file goes last: a
    death at any point leaves every instant complete to all readers, and the next archival goes on.

    Args:
        client: the table; its timeline is read anew.
        min_commits: completed writes that stay active at least (``hoodie.keep.min.commits``).
        max_commits: number of completed writes up to which nothing is archived (``hoodie.keep.max.commits``).
        bound: requested time that archival must not reach: of a metadata table, the first active instant of its table.
        reason: why it must not.
        beyond_savepoint: savepointed instants stay behind and do not stop archival
            (``hoodie.archive.beyond.savepoint``).
        ahead: is called with the timeline and what is to leave it, if anything is, before something changes.

    Raises:
        InvalidOptionError: the numbers contradict one another.
        TimelineError: the timeline cannot be read.
        CorruptFileError: the archive is damaged; nothing was removed.
    """
    if not 1 <= min_commits < max_commits:
        raise InvalidOptionError(
            f"hoodie.keep.min.commits={min_commits} must be at least 1 and less than "
            f"hoodie.keep.max.commits={max_commits}"
        )
    listing = client.storage.list(timeline_folder(client.config.layout, client.config.timeline_path), missing_ok=True)
    timeline = _load(client.storage, client.config, listing if listing.num_rows else None)
    compacted = _metadata_bound(client)
    if compacted is not None and (bound is None or compacted < bound):
        bound, reason = compacted, "the last compaction of the metadata table"

    def select() -> Selection:
        return select_instants(
            timeline,
            min_commits=min_commits,
            max_commits=max_commits,
            bound=bound,
            reason=reason,
            beyond_savepoint=beyond_savepoint,
        )

    selection = select()
    showing = _first_showing(client.storage, timeline, selection.instants)
    if showing is not None:
        bound, reason = showing, "replaced files that are there yet"
        selection = select()
    written: list[str] = []
    if selection.instants:
        if ahead is not None:
            ahead(timeline, selection.instants)
        states = _ActiveFiles(client.storage, timeline.layout, TimelineWriter(client.storage, client.config), listing)
        # An archival that died before it removed the active files had archived them already.
        archived_keys = timeline.archived().completed_since(selection.instants[0].requested)
        fresh = [i for i in selection.instants if (i.requested, i.comparable_action) not in archived_keys]
        if fresh:
            written = _archive_writer(client.storage, client.config).add(fresh, states)
        states.remove(selection.instants)
    active = len(timeline.instants) - len(selection.instants)
    return ArchiveReport(selection.instants, active, tuple(written), selection.bound, selection.reason)


def _load(storage: Storage, config: ArchivalConfig, listing: pa.Table | None) -> Timeline:
    return Timeline.load(
        storage,
        layout=config.layout,
        timeline_path=config.timeline_path,
        history_path=config.history_path,
        archive_folder=config.archive_folder,
        timezone=config.timezone,
        listing=listing,
    )


def _archive_writer(storage: Storage, config: ArchivalConfig) -> HistoryArchiveWriter | LogArchiveWriter:
    if config.layout == 1:
        return LogArchiveWriter(storage, f".hoodie/{config.archive_folder}", config.timezone)
    return HistoryArchiveWriter(storage, f".hoodie/{config.timeline_path}/{config.history_path}")


def _metadata_bound(client: TableClient) -> str | None:
    """Time of the metadata table's last compaction, from which on instants must stay active.

    Readers of the metadata table look up in the active timeline which of the later log blocks are valid. Before the
    first compaction nothing is archived.
    """
    if "files" not in client.config.metadata_partitions:
        return None
    timeline = Timeline.load(client.storage.child(_METADATA_TABLE), layout=client.config.layout)
    return max((instant.requested for instant in timeline.completed({COMMIT})), default="0")


def _first_showing(storage: Storage, timeline: Timeline, instants: Iterable[Instant]) -> str | None:
    """The first replacecommit whose replaced file groups still have files; if archived, these would become visible.

    A savepoint may keep them from the clean that went by.
    """
    replacing = [instant for instant in instants if instant.action == REPLACE_COMMIT]
    timeline.read_ahead(replacing)
    for instant in replacing:
        replaced = timeline.commit_metadata(instant).replaced
        ids: dict[str, set[str]] = {}
        for partition, file_id in zip(replaced["partition"].to_pylist(), replaced["file_id"].to_pylist(), strict=True):
            ids.setdefault(partition, set()).add(file_id)
        for partition, gone in ids.items():
            names = (path.rpartition("/")[2] for path in storage.list(partition, missing_ok=True)["path"].to_pylist())
            if any(name.lstrip(".").partition("_")[0] in gone and not name.endswith(".crc") for name in names):
                return instant.requested
    return None


class _ActiveFiles:
    """The files of all states of active instants, from a listing of their folder."""

    def __init__(self, storage: Storage, layout: int, writer: TimelineWriter, listing: pa.Table) -> None:
        self._storage = storage
        self._writer = writer
        files = listing.filter(pc.invert(listing["is_dir"]))
        self._states: dict[tuple[str, str], list[tuple[Instant, int]]] = {}
        for path, mtime in zip(files["path"].to_pylist(), files["mtime_ms"].to_pylist(), strict=True):
            state = parse_instant_name(path.rsplit("/", 1)[-1], layout, writer.folder)
            if state is not None:
                key = (state.requested, comparable_action(state.action))
                self._states.setdefault(key, []).append((state, mtime))

    def files(self, instant: Instant, needed: Callable[[Instant], bool]) -> list[StateFile]:
        """The files of the needed states of an instant, oldest state first."""
        result: list[StateFile] = []
        for state, mtime in self._ordered(instant):
            if not needed(state):
                continue
            try:
                data = self._storage.read_bytes(state.path)
            except PathNotFoundError:
                if state.is_completed:
                    raise
                continue
            # A completed instant of layout 2 that an upgrade left has its completion time from the timeline.
            result.append(StateFile(instant if state.is_completed else state, data, mtime))
        return result

    def remove(self, instants: Iterable[Instant]) -> None:
        """Delete the files of instants: the pending states of all, then the completed ones, the oldest first.

        One by one: what is older than the first active instant counts as complete, what is newer must be there.
        """
        states = [state for instant in instants for state, _ in self._ordered(instant)]
        self._storage.delete_files([state.path for state in states if not state.is_completed])
        for state in states:
            if state.is_completed:
                self._storage.delete(state.path)

    def _ordered(self, instant: Instant) -> list[tuple[Instant, int]]:
        states = self._states.get((instant.requested, instant.comparable_action), [])
        return sorted(states, key=lambda item: _OLDEST_FIRST.index(item[0].state))
