"""Reads the archive of timeline layout 1: log files with one Avro record for each state of an instant.

Source: docs/format.md#archive-of-layout-1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from hudi_hive.errors import CorruptFileError, FileVanishedError, PathNotFoundError
from hudi_hive.formats.log import BlockType, avro_spans, block_schema, decode_avro_record, iter_blocks
from hudi_hive.storage import Storage
from hudi_hive.timeline.instants import ACTIONS, Instant, State
from hudi_hive.timeline.payloads import Fields, corrupt

if TYPE_CHECKING:
    from fastavro.types import Schema

_FILE_NAME = re.compile(r"\.commits_\.archive\.([0-9]+)(?:_.*)?")
_TIME = re.compile(rb"(?<![0-9])[0-9]{14,17}(?![0-9])")
# What loading needs of an entry; the payloads between these fields are skipped, not decoded.
_NARROW: Final[dict[str, Any]] = {
    "type": "record",
    "name": "HoodieArchivedMetaEntry",
    "namespace": "org.apache.hudi.avro.model",
    "fields": [
        {"name": name, "type": ["null", "string"], "default": None}
        for name in ("commitTime", "actionType", "actionState")
    ],
}
# Where an entry keeps the payload of a completed or inflight state, and that of a requested one.
_OUTCOME_FIELDS: Final = {
    "commit": ("hoodieCommitMetadata",),
    "deltacommit": ("hoodieCommitMetadata",),
    "replacecommit": ("hoodieReplaceCommitMetadata", "HoodieInflightReplaceMetadata"),
    "clustering": ("HoodieInflightReplaceMetadata",),
    "clean": ("hoodieCleanMetadata",),
    "rollback": ("hoodieRollbackMetadata",),
    "savepoint": ("hoodieSavePointMetadata",),
    "indexing": ("hoodieIndexCommitMetadata",),
}
_PLAN_FIELDS: Final = {
    "compaction": "hoodieCompactionPlan",
    "logcompaction": "hoodieCompactionPlan",
    "replacecommit": "hoodieRequestedReplaceMetadata",
    "clustering": "hoodieRequestedReplaceMetadata",
    "clean": "hoodieCleanerPlan",
}
_PENDING_ACTIONS: Final = {
    "commit": ("compaction",),
    "deltacommit": ("logcompaction",),
    "replacecommit": ("replacecommit", "clustering"),
}


@dataclass(frozen=True, slots=True)
class _Place:
    """The byte range of an entry's Avro binary, and its parsed schema."""

    path: str
    offset: int
    length: int
    schema: Schema


@dataclass(frozen=True, slots=True)
class _File:
    """States in the whole blocks of a file, and the bytes of a torn block at its end; empty bytes of an empty file."""

    path: str
    entries: list[Instant]
    torn: bytes | None


class LogArchive:
    """The archive of layout 1 in a folder; :meth:`entries` remembers where the record of each state is.

    Args:
        storage: rooted at the table's base path.
        folder: the archive's folder relative to it.
        active: completed instants of the active timeline: requested time and comparable action.
    """

    def __init__(self, storage: Storage, folder: str, active: frozenset[tuple[str, str]] = frozenset()) -> None:
        self._storage = storage
        self._folder = folder
        self._active = active
        self._places: dict[tuple[str, str, State], _Place] = {}

    def entries(self) -> Iterator[Instant]:
        """Yield all states of all archived instants, in the order of the files.

        Raises:
            CorruptFileError: a file is damaged.
        """
        yield from self._checked([self._entries_of(path) for path in self._files()])

    def entries_since(self, time: str) -> Iterator[Instant]:
        """Yield states of instants from a requested time on; files are read from the newest to the first without any.

        Raises:
            CorruptFileError: a file is damaged.
        """
        read: list[_File] = []
        for path in reversed(self._files()):
            read.insert(0, self._entries_of(path))
            entries = read[0].entries
            if entries and all(instant.requested < time for instant in entries):
                break
        yield from (instant for instant in self._checked(read, whole=False) if instant.requested >= time)

    def begin(self) -> str | None:
        """The least possible time if there is an archive file, whose name has no times; None if there is none."""
        return "" if self._files() else None

    def _checked(self, files: Sequence[_File], *, whole: bool = True) -> list[Instant]:
        """Yield the states in files, oldest first; raises where states are missing.

        Args:
            files: the files that were read, oldest first.
            whole: they are all files of the archive.
        """
        later = {time.encode() for time, _ in self._active}
        for file in reversed(files):
            if file.torn is not None and not later.intersection(_TIME.findall(file.torn)):
                raise CorruptFileError(
                    "the archive file is torn, and what it lost is nowhere else" if file.torn else "archive is empty",
                    path=self._storage.uri(file.path),
                    remedy="restore the file; remove it only if an archival died while it began it",
                )
            later.update(instant.requested.encode() for instant in file.entries)
        contents: dict[frozenset[tuple[str, str, int]], _File] = {}
        for file in files:
            twin = contents.setdefault(frozenset(instant.sort_key for instant in file.entries), file)
            if twin is not file:
                raise CorruptFileError(
                    f"the archive file holds the same as {twin.path}: one is a copy in the place of another",
                    path=self._storage.uri(file.path),
                )
        entries = [instant for file in files for instant in file.entries]
        if whole:
            self._refuse_unfinished(entries)
        return entries

    def _refuse_unfinished(self, entries: Sequence[Instant]) -> None:
        """Refuse an instant without completed state: only completed ones are archived, so the file was cut off."""
        ended = {(i.requested, i.comparable_action) for i in entries if i.is_completed} | self._active
        for instant in entries:
            if (instant.requested, instant.comparable_action) not in ended:
                raise CorruptFileError(
                    f"the archive lacks the end of {instant}: entries behind it were lost",
                    path=self._storage.uri(instant.path),
                    instant=instant.requested,
                )

    def _files(self) -> list[str]:
        """Paths of the archive's files, oldest first."""
        listing = self._storage.list(self._folder, missing_ok=True)
        numbered: list[tuple[int, str]] = []
        for path in listing.filter(pc.invert(listing["is_dir"]))["path"].to_pylist():
            match = _FILE_NAME.fullmatch(path.rsplit("/", 1)[-1])
            if match:
                numbered.append((int(match[1]), path))
        return [path for _, path in sorted(numbered)]

    def _entries_of(self, path: str) -> _File:
        import fastavro

        uri = self._storage.uri(path)
        narrow = fastavro.parse_schema(_NARROW)
        data = self._read(path)
        entries: list[Instant] = []
        for block in iter_blocks(data, uri):
            if block.type is BlockType.CORRUPT:
                if block.offset + block.size == len(data):
                    # Maybe an archival died while it wrote; it deletes active files only after closing this one.
                    return _File(path, entries, bytes(block.content))
                raise CorruptFileError(f"archive is damaged at offset {block.offset}", path=uri)
            schema = block_schema(block)
            for start, end in avro_spans(block):
                entry = Fields(decode_avro_record(block.content[start:end], schema, uri, narrow), uri, "")
                instant = _instant_of(entry, path)
                if instant is not None:
                    place = _Place(path, block.content_offset + start, end - start, schema)
                    self._places[(instant.requested, instant.action, instant.state)] = place
                    entries.append(instant)
        return _File(path, entries, None if data else b"")

    def payload(self, instant: Instant) -> dict[str, Any] | None:
        """Read the record of the state of an instant of :meth:`entries`; None where it is empty.

        Raises:
            CorruptInstantError: it cannot be decoded.
        """
        entry = self._entry(instant.requested, instant.action, instant.state)
        if entry is None:
            return None
        if instant.state is State.REQUESTED:
            return _plan_of(entry, instant.action)
        return next(
            (record for record in map(entry.record.get, _OUTCOME_FIELDS.get(instant.action, ())) if record), None
        )

    def completion_time(self, instant: Instant) -> str | None:
        """When an instant of :meth:`entries` came to its state; None where the entry does not say.

        Raises:
            CorruptInstantError: it cannot be decoded.
        """
        entry = self._entry(instant.requested, instant.action, instant.state)
        return None if entry is None else entry.text("stateTransitionTime")

    def plan(self, instant: Instant) -> dict[str, Any] | None:
        """Read the plan of an instant of :meth:`entries`; None where it has none.

        Raises:
            CorruptInstantError: it cannot be decoded.
        """
        for action in _PENDING_ACTIONS.get(instant.comparable_action, (instant.action,)):
            for state in (State.REQUESTED, State.INFLIGHT):
                entry = self._entry(instant.requested, action, state)
                plan = _plan_of(entry, action) if entry is not None else None
                if plan is not None:
                    return plan
        return None

    def _entry(self, requested: str, action: str, state: State) -> Fields | None:
        """Read the complete entry of one state."""
        place = self._places.get((requested, action, state))
        if place is None:
            return None
        uri = self._storage.uri(place.path)
        data = self._read(place.path, place.offset, place.length)
        try:
            return Fields(decode_avro_record(data, place.schema, uri), uri, requested)
        except CorruptFileError as error:
            raise corrupt(error.message, uri, requested) from error

    def _read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        try:
            return self._storage.read_bytes(path, offset, length)
        except PathNotFoundError as error:
            uri = self._storage.uri(path)
            raise FileVanishedError("archive file is gone", path=uri, remedy="load the table again") from error


def _instant_of(entry: Fields, path: str) -> Instant | None:
    requested, action = entry.text("commitTime"), entry.text("actionType")
    # Archives of the first releases name no state; they hold completed instants only.
    state_name = (entry.text("actionState") or "COMPLETED").upper()
    if requested is None or action is None or state_name not in State.__members__:
        raise CorruptFileError("archived instant without time, action or state", path=entry.path)
    if action not in ACTIONS:
        return None
    state = State[state_name]
    return Instant(requested, action, state, None, path.rsplit("/", 1)[-1], path)


def _plan_of(entry: Fields, action: str) -> dict[str, Any] | None:
    field = _PLAN_FIELDS.get(action)
    return None if field is None else entry.mapping(field) or None
