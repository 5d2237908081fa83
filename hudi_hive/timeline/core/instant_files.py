"""Reads the records of instants' files, from the active timeline or, if they were archived since, from the archive.

Source: docs/format.md#states-and-payloads, docs/format.md#archived-timeline.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InstantNotFoundError, PathNotFoundError, TimelineError
from hudi_hive.storage import Storage
from hudi_hive.timeline.archive import ArchivedTimeline
from hudi_hive.timeline.instants import Instant, State, comparable_action, instant_file_name
from hudi_hive.timeline.payloads import Fields, corrupt, decode_payload


class InstantFiles:
    """Reads records of the instants of one loaded timeline.

    An instant may be archived between the listing and the reading of its file; it is then looked up in the archive.

    Args:
        storage: rooted at the table's base path.
        folder: the timeline's folder relative to it.
        archive_folder: the archive's folder relative to it.
        layout: timeline layout version, 1 or 2.
        active: the instants that were active when the timeline was loaded.
    """

    def __init__(
        self, storage: Storage, folder: str, archive_folder: str, layout: int, active: Iterable[Instant]
    ) -> None:
        self._storage = storage
        self._folder = folder
        self._archive_folder = archive_folder
        self._layout = layout
        self._active = frozenset(active)
        self._archive: ArchivedTimeline | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_archive")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._archive = None
        self._lock = threading.Lock()

    def archived(self, *, reload: bool = False) -> ArchivedTimeline:
        """The archived timeline as of its first use, or as of now with ``reload``."""
        with self._lock:
            if self._archive is None or reload:
                self._archive = ArchivedTimeline(self._storage, self._archive_folder, self._layout, self._active)
            return self._archive

    def outcome(self, instant: Instant, action: str) -> Fields:
        """Read the record of a completed instant of the given action, which must not be empty.

        Raises:
            CorruptInstantError: it is empty or cannot be decoded.
            InstantNotFoundError: it is of another action, not completed, or gone.
        """
        if instant.action != action or not instant.is_completed:
            raise self.lacks(instant, f"{action} metadata")
        record, path = self.payload(instant), self._storage.uri(instant.path)
        if record is None:
            raise corrupt(f"{action} metadata is empty", path, instant.requested)
        return Fields(record, path, instant.requested)

    def payload(self, instant: Instant) -> dict[str, Any] | None:
        """Read the record of the file of an instant's state; None for an empty file.

        Raises:
            CorruptInstantError: it cannot be decoded.
            InstantNotFoundError: it is gone.
        """
        if instant not in self._active:
            return self.archived().payload(instant)
        try:
            data = self._storage.read_bytes(instant.path)
        except PathNotFoundError as error:
            moved = self._since_archived(instant)
            if moved is None:
                raise self._vanished(instant) from error
            return self.archived().payload(moved)
        return decode_payload(data, self._storage.uri(instant.path), instant.requested)

    def plan(self, instant: Instant, actions: tuple[str, ...], *, required: bool = True) -> Fields:
        """Read the plan of an instant: the record of its requested file, of the first action that has one.

        Args:
            instant: the instant, in any state.
            actions: the actions whose plan it can be.
            required: whether an empty plan is an error; it reads as an empty record otherwise.

        Raises:
            CorruptInstantError: it cannot be decoded, or is empty and required.
            InstantNotFoundError: the instant is of another action, or the plan is gone.
        """
        if instant.comparable_action not in map(comparable_action, actions):
            raise self.lacks(instant, f"plan of {' or '.join(actions)}")
        if instant not in self._active:
            return self._archived_plan(instant, required)
        for action in actions:
            path = f"{self._folder}/{instant_file_name(instant.requested, action, State.REQUESTED)}"
            try:
                data = self._storage.read_bytes(path)
            except PathNotFoundError:
                continue
            uri = self._storage.uri(path)
            record = decode_payload(data, uri, instant.requested)
            if record is None and required:
                raise corrupt("the plan is empty", uri, instant.requested)
            return Fields(record or {}, uri, instant.requested)
        moved = self._since_archived(instant)
        if moved is None:
            raise self._vanished(instant)
        return self._archived_plan(moved, required)

    def _archived_plan(self, instant: Instant, required: bool) -> Fields:
        record = self.archived().plan(instant)
        if record is None and required:
            raise self.lacks(instant, "plan in the archive")
        return Fields(record or {}, self._storage.uri(instant.path), instant.requested)

    def _since_archived(self, instant: Instant) -> Instant | None:
        """Find an instant in the archive, which is loaded again."""
        instants = self.archived(reload=True).instants
        return next((candidate for candidate in instants if candidate.sort_key == instant.sort_key), None)

    def _vanished(self, instant: Instant) -> InstantNotFoundError:
        return InstantNotFoundError(
            f"a file of {instant} is missing: rolled back or removed since the timeline was loaded, or never written",
            path=self._storage.uri(instant.path),
            instant=instant.requested,
            remedy="load the table again",
        )

    def lacks(self, instant: Instant, what: str) -> InstantNotFoundError:
        """Make the error for an instant whose action does not have the requested metadata."""
        return InstantNotFoundError(f"{instant} has no {what}", path=self._storage.uri(), instant=instant.requested)


def timeline_folder(layout: int, timeline_path: str) -> str:
    """The folder of the active timeline, relative to the base path; arguments as of ``Timeline.load``."""
    return ".hoodie" if layout == 1 else join_folders(".hoodie", timeline_path)


def join_folders(*parts: str) -> str:
    """A path of folders; empty ones are left out."""
    return "/".join(part.strip("/") for part in parts if part.strip("/"))


def never_written(storage: Storage, folder: str) -> pa.Table:
    """List a missing timeline folder as empty, or refuse it where the table holds data.

    Object stores have no empty folders, so a table without a commit has no timeline folder. A table with anything but
    ``.hoodie`` in it has lost its timeline.

    Raises:
        TimelineError: the table holds data.
    """
    listing = storage.list("", missing_ok=True)
    names = pc.replace_substring_regex(listing["path"], r"(?s)^.*/", "")
    metafiles = pc.and_not(pc.starts_with(names, ".hoodie_partition_metadata"), listing["is_dir"])
    if not pc.all(pc.or_(pc.equal(names, ".hoodie"), metafiles), min_count=0).as_py():
        raise TimelineError(
            "the timeline folder does not exist, but the table holds data",
            path=storage.uri(folder),
            remedy="restore the folder, or correct hoodie.timeline.path",
        )
    return listing.slice(0, 0)
