"""Writes instants' files: each state is a new file, which is created only if it is absent.

Source: docs/format.md#states-and-payloads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from hudi_hive.errors import InvalidOptionError, PathExistsError, PathNotFoundError, TimelineError
from hudi_hive.storage import Storage
from hudi_hive.timeline.instants import (
    CLUSTERING,
    REPLACE_COMMIT,
    SAVEPOINT,
    WRITE_ACTIONS,
    Instant,
    State,
    comparable_action,
    instant_file_name,
)

_NEWEST_FIRST: Final = (State.COMPLETED, State.INFLIGHT, State.REQUESTED)


class TimelineSettings(Protocol):
    """The interface of the table properties that the timeline's files depend on; ``TableConfig`` implements it."""

    @property
    def layout(self) -> int:
        """Timeline layout version, 1 or 2."""

    @property
    def timeline_path(self) -> str:
        """Folder of layout 2, below ``.hoodie``."""


class TimelineWriter:
    """Creates and deletes the files of a table's instants.

    Args:
        storage: rooted at the table's base path.
        config: the table's properties.
    """

    def __init__(self, storage: Storage, config: TimelineSettings) -> None:
        self._storage = storage
        self.layout = config.layout
        self.folder = ".hoodie" if config.layout == 1 else f".hoodie/{config.timeline_path.strip('/')}"

    def create_requested(self, action: str, instant: str, payload: bytes = b"") -> Instant:
        """Create the requested file of an action.

        Args:
            action: as the requested file names it: ``commit``, ``compaction``, ``clustering``, which layout 1 calls
                replacecommit …
            instant: requested time.
            payload: the plan; empty for commits and deltacommits.

        Raises:
            TimelineError: an instant of that time and action exists already.
            InvalidOptionError: the action has no requested state in this layout.
        """
        # What has no plan becomes inflight at once, and that makes both names lasting.
        requested = Instant(instant, self._named(action), State.REQUESTED, None, "", "")
        return self._create(requested, payload, lasting=bool(payload))

    def transition_inflight(
        self, action: str, instant: str, payload: bytes = b"", *, just_seen: bool = False
    ) -> Instant:
        """Create the inflight file of a requested action, or of a savepoint, which has no requested file.

        Args:
            action: as the requested file names it.
            instant: requested time.
            payload: of the file.
            just_seen: the caller has just created the requested file, or seen it under the table's lock: a store is not
                asked for it.

        Raises:
            TimelineError: it was not requested, or has begun already.
        """
        action = self._named(action)
        if action != SAVEPOINT and (self._storage.is_local or not just_seen):
            self._must_exist(action, instant, State.REQUESTED)
        return self._create(Instant(instant, action, State.INFLIGHT, None, "", ""), payload)

    def complete(
        self, action: str, instant: str, payload: bytes, completion: str | None = None, *, just_seen: bool = False
    ) -> Instant:
        """Create the completed file of an inflight action, the atomic step that makes it visible.

        Args:
            action: as the inflight file names it; a compaction completes as ``commit`` and so on.
            instant: requested time.
            payload: the outcome.
            completion: completion time, which layout 2 wants and layout 1 does not keep.
            just_seen: the caller has just seen the inflight file under the table's lock: a store is not asked for it.

        Raises:
            TimelineError: it is not inflight (never begun, or rolled back by another writer meanwhile), or is complete.
            InvalidOptionError: no completion time in layout 2, or one that is not after the requested time.
        """
        action = self._named(action)
        if self.layout == 2 and (completion is None or completion <= instant):
            raise InvalidOptionError(f"completion time {completion!r} is not after the requested time", instant=instant)
        if self._storage.is_local or not just_seen:
            self._must_exist(action, instant, State.INFLIGHT)
        completed = completion if self.layout == 2 else None
        return self._create(Instant(instant, comparable_action(action), State.COMPLETED, completed, "", ""), payload)

    def completed_with(self, action: str, instant: str, payload: bytes, completion: str | None) -> Instant | None:
        """Find a completed instant whose file has exactly these bytes, which may exist although creating it failed.

        Args:
            action, instant, payload, completion: as of :meth:`complete`.

        Raises:
            StorageError: it cannot be read whether the file is there.
        """
        action = comparable_action(self._named(action))
        completed = completion if self.layout == 2 else None
        path = self.path(action, instant, State.COMPLETED, completed)
        try:
            if self._storage.read_bytes(path) != payload:
                return None  # of another writer that drew the same instant
        except PathNotFoundError:
            return None
        return Instant(instant, action, State.COMPLETED, completed, path.rsplit("/", 1)[-1], path)

    def delete(self, instant: Instant, states: Sequence[State] = _NEWEST_FIRST) -> None:
        """Delete the files of an instant's states in the given order; absent files are skipped.

        A rollback takes the newest state first, so that a death half-way leaves a pending instant that is rolled back
        again; archival takes the completed state last, so that one never looks pending.

        Args:
            instant: any state of it; of a completed one in layout 2 the file name tells the completion time.
            states: the states to delete.
        """
        for state in states:
            for path in self._files(instant, state):
                self._storage.delete(path)

    def path(self, action: str, instant: str, state: State, completed: str | None = None) -> str:
        """Path of an instant's file relative to the table's base path."""
        return f"{self.folder}/{instant_file_name(instant, action, state, completed=completed)}"

    def _files(self, instant: Instant, state: State) -> list[str]:
        if state is State.COMPLETED:
            return [instant.path] if instant.is_completed else []
        # A completed instant does not tell under which action it was pending: commit or compaction, and so on.
        actions = {instant.action} if not instant.is_completed else _pending_actions(instant.action)
        return [
            self.path(action, instant.requested, state)
            for action in sorted(actions)
            if action != SAVEPOINT or state is State.INFLIGHT
        ]

    def _create(self, instant: Instant, payload: bytes, *, lasting: bool = True) -> Instant:
        path = self.path(instant.action, instant.requested, instant.state, instant.completed)
        try:
            self._storage.create_if_absent(path, payload, lasting=lasting)
        except PathExistsError as error:
            raise TimelineError(
                f"{instant.action} is {instant.state.name} already",
                path=self._storage.uri(path),
                instant=instant.requested,
                remedy="another writer drew the same instant; try again",
            ) from error
        name = path.rsplit("/", 1)[-1]
        return Instant(instant.requested, instant.action, instant.state, instant.completed, name, path)

    def _must_exist(self, action: str, instant: str, state: State) -> None:
        path = self.path(action, instant, state)
        if not self._storage.exists(path):
            raise TimelineError(
                f"{action} is not {state.name}: it was never, or was rolled back by another writer",
                path=self._storage.uri(path),
                instant=instant,
                remedy="write again under a new instant",
            )

    def _named(self, action: str) -> str:
        """The action in file names: layout 1 has no separate name for clustering."""
        return REPLACE_COMMIT if self.layout == 1 and action == CLUSTERING else action


def _pending_actions(action: str) -> set[str]:
    """Actions that complete as the given one."""
    return {action} | {pending for pending in WRITE_ACTIONS if comparable_action(pending) == action}
