"""Writes instants' files: each state is a new file, which is created only if it is absent.

On an object store a request may be carried out long after its sender has given up, or has been taken for dead. So a
write completes there in two steps: :meth:`TimelineWriter.prepare` replaces the inflight file, if it is unchanged, by
the outcome, and the completed file is a copy of that. Who takes the inflight file away makes sure that no completion
comes behind that. A table service that is undone runs again under the same instant, whose inflight file comes back: its
completed file is a copy of a file that no other run has.

Source: docs/format.md#states-and-payloads.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, Protocol

from hudi_hive.errors import InvalidOptionError, PathExistsError, PathNotFoundError, StorageError, TimelineError
from hudi_hive.storage import FileVersion, Storage
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

STAGING: Final = "mutation-"
"""Beginning of the names of :func:`staging_folder`, below ``.hoodie/.temp``."""

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
        self._begun: dict[str, FileVersion] = {}
        self._prepared: dict[str, str] = {}
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
        done = Instant(instant, comparable_action(action), State.COMPLETED, completed, "", "")
        inflight = self.path(action, instant, State.INFLIGHT)
        source = self._prepared.get(inflight)
        if source is None:
            return self._create(done, payload)
        path = self.path(done.action, instant, State.COMPLETED, completed)
        try:
            self._storage.copy(source, path)
        except PathNotFoundError as error:
            raise self._not_there(action, instant, State.INFLIGHT, inflight) from error
        if source != inflight:
            with suppress(StorageError):  # the next write deletes it
                self._storage.delete(source)
        return replace(done, file_name=path.rsplit("/", 1)[-1], path=path)

    def prepare(self, action: str, instant: str, payload: bytes, *, again: bool = False) -> None:
        """On an object store, write what :meth:`complete` makes of an inflight write into its inflight file.

        Source: docs/format.md#states-and-payloads.

        Args:
            action, instant, payload: as of :meth:`complete`, which is to follow.
            again: a table service's, which may run under this instant again.

        Raises:
            TimelineError: it is not inflight: another writer has rolled it back or excluded it.
        """
        if not self._storage.replaces_atomically:
            return
        action = self._named(action)
        path = self.path(action, instant, State.INFLIGHT)
        try:
            current = self._begun.pop(path, None) or self._storage.read_version(path)
            self._storage.write_version(path, payload, current)
        except (PathExistsError, PathNotFoundError) as error:
            raise self._not_there(action, instant, State.INFLIGHT, path) from error
        source = path
        if again:
            source = f"{staging_folder(instant)}/{uuid.uuid4().hex}"
            self._storage.write_bytes(source, payload)
        self._prepared[path] = source

    def is_prepared(self, instant: Instant) -> bool:
        """Whether the inflight file of a write holds the outcome that :meth:`prepare` has written."""
        if not self._storage.replaces_atomically:
            return False
        try:
            version = self._storage.read_version(self.path(instant.action, instant.requested, State.INFLIGHT))
        except PathNotFoundError:
            return False
        return version.marked and bool(version.data)

    def exclude(self, instant: Instant) -> bool:
        """On an object store, take away the inflight file of a write, so that it cannot complete behind this.

        Returns:
            Whether this was done. Whether the write has completed ahead of it tells the timeline, read behind it.
        """
        if instant.state is not State.INFLIGHT or not self._storage.replaces_atomically:
            return False
        self._storage.delete(self.path(instant.action, instant.requested, State.INFLIGHT))
        self._storage.delete_tree(staging_folder(instant.requested))
        return True

    def withdraw(self, action: str, instant: str) -> bool:
        """Take back what :meth:`prepare` of this writer has made, so that no request of its own completes the write.

        Returns:
            Whether there was something to take back.
        """
        source = self._prepared.get(self.path(self._named(action), instant, State.INFLIGHT))
        if source is None:
            return False
        self._storage.delete(source)
        return True

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
        again; archival takes the completed state last, so that one never looks pending. Pending states that follow
        one another go in one request where a store has such.

        Args:
            instant: any state of it; of a completed one in layout 2 the file name tells the completion time.
            states: the states to delete.
        """
        pending: list[str] = []
        for state in states:
            if state is State.COMPLETED:
                self._storage.delete_files(pending)
                self._storage.delete_files(self._files(instant, state))
                pending = []
            else:
                pending += self._files(instant, state)
        self._storage.delete_files(pending)

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
            if instant.state is State.INFLIGHT and self._storage.replaces_atomically:
                self._begun[path] = self._storage.write_version(path, payload, None)
            else:
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
            raise self._not_there(action, instant, state, path)

    def _not_there(self, action: str, instant: str, state: State, path: str) -> TimelineError:
        return TimelineError(
            f"{action} is not {state.name}: it was never, or was rolled back by another writer",
            path=self._storage.uri(path),
            instant=instant,
            remedy="write again under a new instant",
        )

    def _named(self, action: str) -> str:
        """The action in file names: layout 1 has no separate name for clustering."""
        return REPLACE_COMMIT if self.layout == 1 and action == CLUSTERING else action


def staging_folder(instant: str) -> str:
    """The folder of what a write keeps until it is complete: staged records of a mutation, the outcome of a service.

    It is not below the folder of markers: Hudi takes all that is there for markers when it rolls a write back.
    """
    return f".hoodie/.temp/{STAGING}{instant}"


def _pending_actions(action: str) -> set[str]:
    """Actions that complete as the given one."""
    return {action} | {pending for pending in WRITE_ACTIONS if comparable_action(pending) == action}
