"""Loads a table's timeline from one listing of its folder; metadata and plans are read when they are needed.

Source: docs/format.md#instants, docs/format.md#committed-instants.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import (
    InstantNotFoundError,
    PathNotFoundError,
    TableNotFoundError,
    UnsupportedTableError,
)
from hudi_hive.storage import Storage, run_together
from hudi_hive.timeline import payloads
from hudi_hive.timeline.core.commit_cache import CACHED_COMMITS, CommitCache
from hudi_hive.timeline.core.highest_states import highest_states
from hudi_hive.timeline.core.instant_files import InstantFiles, join_folders, never_written, timeline_folder
from hudi_hive.timeline.core.schemas import (
    PENDING_CLUSTERING_SCHEMA,
    PENDING_COMPACTION_SCHEMA,
    REPLACED_GROUPS_SCHEMA,
    TIMELINE_SCHEMA,
    concatenated,
    with_constants,
)
from hudi_hive.timeline.core.written_names import WrittenNames
from hudi_hive.timeline.instants import (
    CLEAN,
    CLUSTERING,
    COMMIT,
    COMPACTION,
    COMPLETED_WRITE_ACTIONS,
    LOG_COMPACTION,
    REPLACE_COMMIT,
    RESTORE,
    ROLLBACK,
    SAVEPOINT,
    WRITE_ACTIONS,
    Instant,
    State,
    millis_to_instant,
    parse_instant_name,
)
from hudi_hive.timeline.payloads import CommitMetadata, decode_commit, decode_payload

if TYPE_CHECKING:
    from hudi_hive.timeline.archive import ArchivedTimeline

_T = TypeVar("_T")


class Timeline(WrittenNames):
    """The instants of a table as of one listing; each instant's file is read once, when it is needed.

    Make it with :meth:`load`. Reading may meet an instant that was archived since: it is then looked up there.
    """

    def __init__(
        self,
        storage: Storage,
        instants: Iterable[Instant],
        *,
        layout: int,
        folder: str,
        archive_folder: str,
        timezone: str = "LOCAL",
        mtimes: Mapping[str, int] | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        self.layout = layout
        self.timezone = timezone
        self.instants: tuple[Instant, ...] = tuple(sorted(instants, key=lambda instant: instant.sort_key))
        """Active instants, of each the highest state, sorted by requested time, comparable action, state."""
        self._storage = storage
        self._mtimes = dict(mtimes or {})
        self._sizes = dict(sizes or {})
        self._folder, self._archive_folder = folder, archive_folder
        self._commits = CommitCache()
        self._files = InstantFiles(storage, folder, archive_folder, layout, self.instants)
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._derived: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        dropped = {"_lock", "_derived"}
        return {name: value for name, value in self.__dict__.items() if name not in dropped}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    @classmethod
    def load(
        cls,
        storage: Storage,
        *,
        layout: int,
        timeline_path: str = "timeline",
        history_path: str = "history",
        archive_folder: str = "archived",
        timezone: str = "LOCAL",
        listing: pa.Table | None = None,
    ) -> Timeline:
        """Load a table's timeline by one listing of its folder.

        Args:
            storage: rooted at the table's base path.
            layout: ``hoodie.timeline.layout.version``, 1 or 2.
            timeline_path: ``hoodie.timeline.path``, below ``.hoodie`` (layout 2).
            history_path: ``hoodie.timeline.history.path``, below the timeline folder (layout 2).
            archive_folder: ``hoodie.archivelog.folder``, below ``.hoodie`` (layout 1).
            timezone: ``hoodie.table.timeline.timezone``.
            listing: the listing of the timeline's folder, if there is one already.

        Raises:
            UnsupportedTableError: another layout.
            TableNotFoundError: there is no ``.hoodie`` folder.
            TimelineError: the timeline folder of layout 2 is gone and the table holds data.
        """
        if layout not in (1, 2):
            raise UnsupportedTableError(f"timeline layout {layout} is not supported", path=storage.uri())
        folder = timeline_folder(layout, timeline_path)
        archive = join_folders(".hoodie", archive_folder) if layout == 1 else join_folders(folder, history_path)
        try:
            listing = storage.list(folder) if listing is None else listing
        except PathNotFoundError as error:
            if layout == 1:
                raise TableNotFoundError("no Hudi table: there is no .hoodie folder", path=storage.uri()) from error
            listing = never_written(storage, folder)
        files = listing.filter(pc.invert(listing["is_dir"]))
        mtimes = dict(zip(files["path"].to_pylist(), files["mtime_ms"].to_pylist(), strict=True))
        parsed = (parse_instant_name(path.rsplit("/", 1)[-1], layout, folder) for path in mtimes)
        instants = highest_states(instant for instant in parsed if instant is not None)
        if layout == 2:
            # Completed before an upgrade from layout 1: such a file has no completion time in its name.
            instants = [
                replace(instant, completed=millis_to_instant(mtimes[instant.path], timezone))
                if instant.is_completed and instant.completed is None
                else instant
                for instant in instants
            ]
        active_mtimes = {instant.path: mtimes[instant.path] for instant in instants}
        sizes = dict(zip(files["path"].to_pylist(), files["size"].to_pylist(), strict=True))
        return cls(
            storage,
            instants,
            layout=layout,
            folder=folder,
            archive_folder=archive,
            timezone=timezone,
            mtimes=active_mtimes,
            sizes={instant.path: sizes[instant.path] for instant in instants if not instant.is_completed},
        )

    @property
    def schema_texts(self) -> set[str]:
        """Schemas, as JSON, of the commits whose metadata was read so far."""
        return self._commits.schema_texts

    def adopt_commits(self, earlier: Timeline) -> None:
        """Take over the metadata of completed commits that an earlier timeline of the same table has read."""
        active = {instant for instant in self.instants if instant.is_completed}
        for instant, metadata in earlier._commits.all().items():
            read_at = earlier.mtime_ms(instant)
            if instant in active and read_at in (None, self.mtime_ms(instant)):
                self._commits.add(instant, metadata, staged=earlier._commits.is_staged(instant))

    def is_staged(self, instant: Instant) -> bool:
        """Whether a write counts as completed on this timeline alone, by :meth:`with_completed`."""
        return self._commits.is_staged(instant)

    def with_completed(self, completed: Instant, payload: bytes, *, staged: bool = False) -> Timeline:
        """This timeline with a write completed under its lock; or staged, to be completed by a file of these bytes."""
        others = [i for i in self.instants if (i.requested, i.is_write) != (completed.requested, True)]
        timeline = self._of([*others, completed])
        uri = self._storage.uri(completed.path)
        metadata = decode_commit(decode_payload(payload, uri, completed.requested), completed, uri)
        timeline._commits.add(completed, metadata, staged=staged)
        return timeline

    def with_pending(self, pending: Instant) -> Timeline:
        """This timeline with one instant requested or inflight, under the lock that it was read under."""
        key = (pending.requested, pending.comparable_action)
        return self._of([*(i for i in self.instants if (i.requested, i.comparable_action) != key), pending])

    def _of(self, instants: Iterable[Instant]) -> Timeline:
        """The timeline of other instants of the same table, with the commits that this one has read."""
        timeline = Timeline(
            self._storage,
            instants,
            layout=self.layout,
            folder=self._folder,
            archive_folder=self._archive_folder,
            timezone=self.timezone,
            mtimes=self._mtimes,
            sizes=self._sizes,
        )
        timeline.adopt_commits(self)
        return timeline

    def __repr__(self) -> str:
        pending = len(self.pending())
        return (
            f"Timeline({len(self.instants)} instants, {pending} pending, layout {self.layout}, {self._storage.uri()})"
        )

    # -- instants --------------------------------------------------------------------------------------------------

    def completed(self, actions: Container[str] | None = None) -> tuple[Instant, ...]:
        """The completed active instants, all or those of the given actions as they stand in file names."""
        return tuple(i for i in self.instants if i.is_completed and (actions is None or i.action in actions))

    def pending(self, actions: Container[str] | None = None) -> tuple[Instant, ...]:
        """The requested and inflight instants, all or those of the given actions."""
        return tuple(i for i in self.instants if not i.is_completed and (actions is None or i.action in actions))

    def filled_inflight_writes(self) -> tuple[Instant, ...]:
        """Inflight writes whose file is not empty: that of one which completes on a store holds its outcome."""
        return tuple(i for i in self.pending(WRITE_ACTIONS) if i.state is State.INFLIGHT and self._sizes.get(i.path))

    def write_instants(self) -> tuple[Instant, ...]:
        """Completed active instants that make data visible: commit, deltacommit, replacecommit."""
        return self.completed(COMPLETED_WRITE_ACTIONS)

    def last_completed_write(self) -> Instant | None:
        """The completed write instant with the greatest requested time; None without one."""
        return max(self.write_instants(), key=lambda instant: instant.requested, default=None)

    def get(self, requested: str) -> Instant:
        """Find the instant of a requested time in the active timeline or the archive; of a savepointed one the write.

        Raises:
            InstantNotFoundError: neither has it.
        """
        instants = [instant for instant in self.instants if instant.requested == requested]
        instants = instants or [instant for instant in self.archived().instants if instant.requested == requested]
        if not instants:
            raise InstantNotFoundError("no such instant", path=self._storage.uri(), instant=requested)
        return min(instants, key=lambda instant: (not instant.is_write, -instant.state))

    def first_active(self, without: Collection[Instant] = ()) -> str | None:
        """Requested time of the first active write instant, in any state, that is not the time of a savepoint.

        Every older instant was archived and hence complete (docs/format.md#committed-instants). Savepointed instants
        stay behind when those after them are archived, so they mark no start; where nothing else is left the last of
        them does. Only write instants count: a clean or rollback may stay active after the commits around it were
        archived. Null when the timeline holds no write instant. Instants ``without`` are not counted.
        """
        savepoints = {instant.requested for instant in self.instants if instant.action == SAVEPOINT}
        writes = [one.requested for one in self.instants if one.action in WRITE_ACTIONS and one not in without]
        return min((time for time in writes if time not in savepoints), default=max(writes, default=None))

    def mtime_ms(self, instant: Instant) -> int | None:
        """Modification time of an active instant's file in milliseconds since the epoch; null for archived ones."""
        return self._mtimes.get(instant.path)

    # -- instants of files, vectorised -------------------------------------------------------------------------------

    def committed_mask(self, instants: pa.Array | pa.ChunkedArray) -> pa.Array:
        """Whether each of many requested times, from files' names, is committed (docs/format.md#committed-instants).

        It is if it is a completed write instant or lies before :meth:`first_active`. Null is not committed.

        Args:
            instants: strings, or a dictionary of strings, which is judged once per distinct value.
        """
        return self._per_value(instants, self._committed)

    def _committed(self, times: pa.Array) -> pa.Array:
        requested, _ = self._derive("completions", self._completions)
        mask = pc.is_in(times, value_set=requested)
        first = self._derive("first_active", self.first_active)
        if first is not None:
            mask = pc.or_(mask, pc.fill_null(pc.less(times, first), False))
        return mask

    def completion_times(self, instants: pa.Array | pa.ChunkedArray) -> pa.Array:
        """Completion times of many requested times; null for pending and unknown instants.

        Layout 1 keeps none, so a committed instant's own requested time stands for it. In layout 2 instants older than
        the active timeline are looked up in the archive (only if there are any); one that the archive no longer has is
        given its requested time, as all that is known of it is that it is complete.

        Args:
            instants: strings, or a dictionary of strings, which is looked up once per distinct value.

        Raises:
            CorruptFileError: the archive is needed and damaged.
        """
        return self._per_value(instants, self._completion_times)

    def _completion_times(self, times: pa.Array) -> pa.Array:
        committed = self._committed(times)
        missing = pa.scalar(None, pa.string())
        if self.layout == 1:
            return pc.if_else(committed, times, missing)
        # Planners ask for the files of some partitions at a time.
        requested, completed = self._derive("completions", self._completions)
        result = completed.take(pc.index_in(times, value_set=requested))
        unknown = pc.and_(committed, pc.is_null(result))
        if not pc.any(unknown).as_py():
            return result
        archive = self.archived().completion_times()
        older = archive["completed"].chunk(0).take(pc.index_in(times, value_set=archive["requested"].chunk(0)))
        return pc.if_else(unknown, pc.coalesce(older, times), result)

    def _completions(self) -> tuple[pa.Array, pa.Array]:
        """Requested and completion times of the completed writes."""
        times = {instant.requested: instant.completed for instant in self.write_instants()}
        return _strings(list(times)), _strings(list(times.values()))

    @staticmethod
    def _per_value(instants: pa.Array | pa.ChunkedArray, judge: Callable[[pa.Array], pa.Array]) -> pa.Array:
        array = instants.combine_chunks() if isinstance(instants, pa.ChunkedArray) else instants
        if isinstance(array, pa.ChunkedArray):  # older Arrow: no chunk at all stays chunked
            array = pa.concat_arrays(array.chunks) if array.chunks else pa.array([], array.type)
        if isinstance(array, pa.DictionaryArray):
            result = judge(array.dictionary.cast(pa.string())).take(array.indices)
            return pc.fill_null(result, False) if pa.types.is_boolean(result.type) else result
        return judge(array.cast(pa.string()))

    # -- metadata of instants ----------------------------------------------------------------------------------------

    def commit_metadata(self, instant: Instant) -> CommitMetadata:
        """Read the metadata of a commit, deltacommit or replacecommit; of an inflight one its workload profile.

        Raises:
            CorruptInstantError: the file cannot be decoded.
            InstantNotFoundError: it vanished and the archive does not have it, or it is no write instant.
        """
        if (cached := self._commits.get(instant)) is not None:
            return cached
        if instant.action not in COMPLETED_WRITE_ACTIONS:
            raise self._files.lacks(instant, "commit metadata")
        metadata = decode_commit(self._files.payload(instant), instant, self._storage.uri(instant.path))
        self._commits.add(instant, metadata)
        return metadata

    def read_ahead(self, instants: Iterable[Instant]) -> None:
        """Read the metadata of commits at the same time, where each is waited for; :meth:`commit_metadata` has it then.

        Raises:
            CorruptInstantError, InstantNotFoundError: as :meth:`commit_metadata`.
        """
        cached = self._commits.all()
        missing = [i for i in instants if i not in cached and i.action in COMPLETED_WRITE_ACTIONS]
        if not self._storage.is_local and len(missing) < CACHED_COMMITS:
            run_together(self._storage, [partial(self.commit_metadata, instant) for instant in missing])

    def compaction_plan(self, instant: Instant) -> payloads.CompactionPlan:
        """Read the plan of a compaction or log compaction in any state; raises as :meth:`commit_metadata`."""
        action = COMPACTION if instant.comparable_action == COMMIT else LOG_COMPACTION
        return payloads.decode_compaction_plan(self._files.plan(instant, (action,)), instant)

    def requested_replace_metadata(self, instant: Instant) -> payloads.ClusteringPlan:
        """Read the requested metadata of a replacecommit or clustering: a clustering plan, empty for overwrites."""
        return payloads.decode_clustering_plan(
            self._files.plan(instant, (CLUSTERING, REPLACE_COMMIT), required=False), instant
        )

    def cleaner_plan(self, instant: Instant) -> payloads.CleanerPlan:
        """Read the plan of a clean in any state."""
        return payloads.decode_cleaner_plan(self._files.plan(instant, (CLEAN,)), instant)

    def clean_metadata(self, instant: Instant) -> payloads.CleanMetadata:
        """Read the metadata of a completed clean, once."""
        return self._derive(
            f"clean {instant.requested}",
            lambda: payloads.decode_clean_metadata(self._files.outcome(instant, CLEAN), instant),
        )

    def rollback_plan(self, instant: Instant) -> payloads.RollbackPlan:
        """Read the plan of a rollback in any state."""
        return payloads.decode_rollback_plan(self._files.plan(instant, (ROLLBACK,)), instant)

    def rollback_metadata(self, instant: Instant) -> payloads.RollbackMetadata:
        """Read the metadata of a completed rollback, once."""
        return self._derive(
            f"rollback {instant.requested}",
            lambda: payloads.decode_rollback_metadata(self._files.outcome(instant, ROLLBACK), instant),
        )

    def restore_plan(self, instant: Instant) -> payloads.RestorePlan:
        """Read the plan of a restore in any state."""
        return payloads.decode_restore_plan(self._files.plan(instant, (RESTORE,)), instant)

    def restore_metadata(self, instant: Instant) -> payloads.RestoreMetadata:
        """Read the metadata of a completed restore, once."""
        name = f"restore {instant.requested}"
        return self._derive(
            name, lambda: payloads.decode_restore_metadata(self._files.outcome(instant, RESTORE), instant)
        )

    def savepoint_metadata(self, instant: Instant) -> payloads.SavepointMetadata:
        """Read the metadata of a savepoint: the files that it keeps."""
        return payloads.decode_savepoint_metadata(self._files.outcome(instant, SAVEPOINT), instant)

    # -- file groups of replacecommits and plans -------------------------------------------------------------------

    def replaced_file_groups(self) -> pa.Table:
        """File groups that active replacecommits replaced, oldest first, a table of :data:`REPLACED_GROUPS_SCHEMA`."""
        return self._derive("replaced", self._replaced_file_groups)

    def _replaced_file_groups(self) -> pa.Table:
        tables: list[pa.Table] = []
        for instant in self.completed({REPLACE_COMMIT}):
            replaced = self.commit_metadata(instant).replaced
            tables.append(with_constants(replaced, {"instant": instant.requested, "completed": instant.completed}))
        return concatenated(tables, REPLACED_GROUPS_SCHEMA)

    def pending_compactions(self) -> pa.Table:
        """File groups under pending compactions, log compactions left out: :data:`PENDING_COMPACTION_SCHEMA`."""
        return self._derive("compactions", self._pending_compactions)

    def _pending_compactions(self) -> pa.Table:
        tables: list[pa.Table] = []
        for instant in self.pending({COMPACTION}):
            operations = self.compaction_plan(instant).operations
            groups = with_constants(operations, {"compaction_instant": instant.requested})
            tables.append(groups.select(PENDING_COMPACTION_SCHEMA.names))
        return concatenated(tables, PENDING_COMPACTION_SCHEMA)

    def pending_clustering(self) -> pa.Table:
        """File groups under a pending clustering, a table of :data:`PENDING_CLUSTERING_SCHEMA`."""
        return self._derive("clustering", self._pending_clustering)

    def _pending_clustering(self) -> pa.Table:
        tables: list[pa.Table] = []
        for plan in self.pending_clustering_plans():
            groups = plan.slices.select(["partition", "file_id"])
            tables.append(with_constants(groups, {"instant": plan.instant.requested}))
        return concatenated(tables, PENDING_CLUSTERING_SCHEMA)

    def pending_clustering_plans(self) -> tuple[payloads.ClusteringPlan, ...]:
        """Plans of the pending clusterings, without those that were rolled back since the timeline was loaded."""
        plans = []
        for instant in self.pending({CLUSTERING, REPLACE_COMMIT}):
            with suppress(InstantNotFoundError):  # an overwrite that lost, a clustering that was rolled back
                plans.append(self.requested_replace_metadata(instant))
        return tuple(plan for plan in plans if plan.is_clustering)

    # -- archive and overview ----------------------------------------------------------------------------------------

    def archived(self) -> ArchivedTimeline:
        """The archived timeline, whose files are read when they are needed."""
        return self._files.archived()

    def to_arrow(self, *, archived: bool = False) -> pa.Table:
        """All instants as a table of :data:`TIMELINE_SCHEMA`; with ``archived`` those of the archive in front."""
        instants = [*(self.archived().instants if archived else ()), *self.instants]
        operations = {instant: metadata.operation for instant, metadata in self._commits.all().items()}
        return pa.table(
            [
                _strings([instant.requested for instant in instants]),
                _strings([instant.completed for instant in instants]),
                _strings([instant.action for instant in instants]),
                _strings([instant.state.name for instant in instants]),
                _strings([operations.get(instant) for instant in instants]),
            ],
            schema=TIMELINE_SCHEMA,
        )

    def _derive(self, name: str, make: Callable[[], _T]) -> _T:
        """Compute a value once and cache it."""
        with self._lock:
            if name not in self._derived:
                self._derived[name] = make()
            value: _T = self._derived[name]
            return value


def _strings(values: list[Any]) -> pa.Array:
    return pa.array(values, pa.string())
