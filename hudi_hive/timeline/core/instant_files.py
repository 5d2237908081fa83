"""Reads the records of instants' files, from the active timeline or, if they were archived since, from the archive.

Source: docs/format.md#states-and-payloads, docs/format.md#archived-timeline.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import FileVanishedError, InstantNotFoundError, PathNotFoundError, TimelineError
from hudi_hive.storage import Storage
from hudi_hive.timeline.instants import Instant, State, comparable_action, instant_file_name
from hudi_hive.timeline.payloads import Fields, corrupt, decode_payload

if TYPE_CHECKING:
    from hudi_hive.timeline.archive import ArchivedTimeline

_T = TypeVar("_T")


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
                # Most tables are read without their archive.
                from hudi_hive.timeline.archive import ArchivedTimeline

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
            return self._of_archived(instant, lambda archive, moved: archive.payload(moved), error)
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
            return self._plan_in(self.archived(), instant, required)
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
        return self._of_archived(instant, lambda archive, moved: self._plan_in(archive, moved, required))

    def _plan_in(self, archive: ArchivedTimeline, instant: Instant, required: bool) -> Fields:
        record = archive.plan(instant)
        if record is None and required:
            raise self.lacks(instant, "plan in the archive")
        return Fields(record or {}, self._storage.uri(instant.path), instant.requested)

    def _of_archived(
        self,
        instant: Instant,
        read: Callable[[ArchivedTimeline, Instant], _T],
        cause: PathNotFoundError | None = None,
    ) -> _T:
        """Read of an instant that was archived since the timeline was loaded.

        The archive as it is loaded already is looked at first: an archival moves many instants, and each of them would
        load all of it again.

        Raises:
            InstantNotFoundError: it is not in the archive as of now, either.
        """
        with self._lock:
            loaded = self._archive
        if loaded is not None and (moved := loaded.moved(instant)) is not None:
            with suppress(FileVanishedError):  # merged into another file since
                return read(loaded, moved)
        archive = self.archived(reload=True)
        moved = archive.moved(instant)
        if moved is None:
            raise self._vanished(instant) from cause
        return read(archive, moved)

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
