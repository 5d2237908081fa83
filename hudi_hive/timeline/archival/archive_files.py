"""Writes archives: sorted Parquet files under a manifest (layout 2), log files (layout 1).

Source: docs/format.md#archive-of-layout-1, docs/format.md#lsm-timeline.
"""

from __future__ import annotations

import io
import json
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_hive.errors import CorruptFileError, PathNotFoundError
from hudi_hive.formats.log import BlockType, HeaderKey, encode_block
from hudi_hive.storage import Storage, run_together
from hudi_hive.timeline.instants import (
    CLEAN,
    CLUSTERING,
    COMMIT,
    COMPACTION,
    DELTA_COMMIT,
    LOG_COMPACTION,
    REPLACE_COMMIT,
    ROLLBACK,
    Instant,
    State,
    millis_to_instant,
)
from hudi_hive.timeline.payloads import decode_payload, model_schema, model_text

HISTORY_SCHEMA: Final = pa.schema(
    [
        pa.field("instantTime", pa.string()),
        pa.field("completionTime", pa.string()),
        pa.field("action", pa.string()),
        pa.field("metadata", pa.binary()),
        pa.field("plan", pa.binary()),
        pa.field("version", pa.int32(), nullable=False),
    ]
)
"""Columns of the data files of layout 2."""

MERGED_FILES: Final = 10
"""Files of one level that are merged into one of the next."""

RETAINED_MANIFESTS: Final = 3
"""Manifests that stay for readers who read an older one."""

_DATA_NAME = re.compile(r"([0-9]+)_([0-9]+)_([0-9]+)\.parquet")
_MANIFEST_NAME = re.compile(r"manifest_([0-9]+)")
_LOG_NAME = re.compile(r"\.commits_\.archive\.([0-9]+)(?:_.*)?")
_BLOCK_ENTRIES: Final = 30
_PLANNED: Final = {
    CLEAN: (CLEAN,),
    COMMIT: (COMPACTION,),
    DELTA_COMMIT: (LOG_COMPACTION,),
    REPLACE_COMMIT: (CLUSTERING, REPLACE_COMMIT),
}
"""Completed action -> the actions whose requested file is a plan."""


class StateFile(NamedTuple):
    """The file of one state of an instant.

    Attributes:
        instant: the instant in that state.
        content: the file's bytes.
        mtime_ms: modification time in milliseconds since the epoch.
    """

    instant: Instant
    content: bytes
    mtime_ms: int


class StateFiles(Protocol):
    """The interface of the source of instants' files, from which archives are made."""

    def files(self, instant: Instant, needed: Callable[[Instant], bool]) -> list[StateFile]:
        """The files of the needed states of an instant, oldest first."""


class HistoryArchiveWriter:
    """Writes the archive of timeline layout 2 (LSM timeline), and compacts its files level by level.

    Args:
        storage: rooted at the table's base path.
        folder: the archive's folder relative to it.
    """

    def __init__(self, storage: Storage, folder: str) -> None:
        self._storage = storage
        self._folder = folder

    def add(self, instants: Sequence[Instant], states: StateFiles) -> list[str]:
        """Write completed instants to one file of level 0, and compact; returns the paths of all new files."""
        ordered = sorted(instants, key=lambda i: i.sort_key)
        rows = run_together(self._storage, [partial(self._row, instant, states) for instant in ordered])
        table = pa.Table.from_pylist(rows, schema=HISTORY_SCHEMA)
        entry = self._write_data(table, 0)
        names = self._names()
        current = self._current(names)
        manifest = [listed for listed in self._manifest(current) if listed["fileName"] != entry["fileName"]]
        manifest.append(entry)
        self._publish(manifest, names, current)
        written = [f"{self._folder}/{entry['fileName']}"]
        return [*written, *self._merge_levels(manifest)]

    @staticmethod
    def _row(instant: Instant, states: StateFiles) -> dict[str, Any]:
        planned = _PLANNED.get(instant.action, ())

        def is_plan(state: Instant) -> bool:
            return state.state is State.REQUESTED and state.action in planned

        files = states.files(instant, lambda state: state.is_completed or is_plan(state))
        metadata = next((data for state, data, _ in files if state.is_completed), b"")
        plan = next((data for state, data, _ in files if is_plan(state)), b"")
        return {
            "instantTime": instant.requested,
            "completionTime": instant.completed,
            "action": instant.action,
            "metadata": metadata,
            "plan": plan or None,
            "version": 1,
        }

    def _write_data(self, table: pa.Table, level: int) -> dict[str, Any]:
        times = pc.min_max(table["instantTime"]).as_py()
        name = f"{times['min']}_{times['max']}_{level}.parquet"
        sink = pa.BufferOutputStream()
        footer = {"parquet.avro.schema": model_text("HoodieLSMTimelineInstant", 2)}
        pq.write_table(table.replace_schema_metadata(footer), sink, compression="gzip", store_schema=False)
        data = sink.getvalue().to_pybytes()
        self._storage.write_bytes(f"{self._folder}/{name}", data)  # no manifest names it yet
        self._storage.flush([f"{self._folder}/{name}"])
        return {"fileName": name, "fileLen": len(data)}

    def _merge_levels(self, manifest: list[dict[str, Any]]) -> list[str]:
        """Merge the oldest files of every level that has enough of them."""
        written: list[str] = []
        while True:
            levels: dict[int, list[dict[str, Any]]] = {}
            for entry in manifest:
                levels.setdefault(_level(entry), []).append(entry)
            full = next((level for level in sorted(levels) if len(levels[level]) >= MERGED_FILES), None)
            if full is None:
                return written
            merged = sorted(levels[full], key=lambda entry: str(entry["fileName"]))[:MERGED_FILES]
            table = pa.concat_tables([self._read(str(entry["fileName"])) for entry in merged])
            order = [("instantTime", "ascending"), ("action", "ascending")]
            new = self._write_data(table.sort_by(order), full + 1)
            manifest = [new, *[entry for entry in manifest if entry not in merged]]
            names = self._names()
            self._publish(manifest, names, self._current(names))
            written.append(f"{self._folder}/{new['fileName']}")

    def _read(self, name: str) -> pa.Table:
        with self._storage.open_input(f"{self._folder}/{name}") as stream:
            return pq.read_table(stream, columns=HISTORY_SCHEMA.names).cast(HISTORY_SCHEMA)

    # -- manifest ----------------------------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        listing = self._storage.list(self._folder, missing_ok=True)["path"].to_pylist()
        return [path.rsplit("/", 1)[-1] for path in listing]

    def _current(self, names: Iterable[str]) -> int | None:
        """The number of the current manifest: that in ``_version_``, or the greatest where there is none."""
        try:
            text = self._storage.read_bytes(f"{self._folder}/_version_").decode("latin-1").strip()
        except PathNotFoundError:
            text = ""
        if text.isdecimal():
            return int(text)
        return max(_numbers(names), default=None)

    def _manifest(self, current: int | None) -> list[dict[str, Any]]:
        if current is None:
            return []
        path = f"{self._folder}/manifest_{current}"
        try:
            files = json.loads(self._storage.read_bytes(path))["files"]
            return [{"fileName": str(f["fileName"]), "fileLen": int(f["fileLen"])} for f in files]
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptFileError(f"archive manifest: {error}", path=self._storage.uri(path)) from error

    def _publish(self, entries: list[dict[str, Any]], names: list[str], current: int | None) -> None:
        """Write the next manifest, make it current, and delete files that no retained manifest names.

        Args:
            entries: of the manifest.
            names: files of the archive.
            current: number of the current manifest.
        """
        number = max([*_numbers(names), current or 0], default=0) + 1
        text = json.dumps({"files": sorted(entries, key=lambda entry: str(entry["fileName"]))}, indent=2)
        self._storage.create_if_absent(f"{self._folder}/manifest_{number}", text.encode())
        version = f"{self._folder}/_version_"
        if self._storage.has_folders:
            self._storage.delete(version)  # for a moment the greatest manifest counts, which is the new one
            self._storage.create_if_absent(version, str(number).encode())
        else:
            self._storage.write_bytes(version, str(number).encode())
        self._remove_old([*names, f"manifest_{number}"], {str(entry["fileName"]) for entry in entries})

    def _remove_old(self, names: list[str], named: set[str]) -> None:
        """Delete what no retained manifest names; ``named`` is what the newest one does."""
        numbers = _numbers(names)
        gone = [f"manifest_{number}" for number in numbers[:-RETAINED_MANIFESTS]]
        unnamed = [name for name in names if _DATA_NAME.fullmatch(name) and name not in named]
        if unnamed:
            for number in numbers[-RETAINED_MANIFESTS:-1]:
                manifest = json.loads(self._storage.read_bytes(f"{self._folder}/manifest_{number}"))
                named.update(str(entry["fileName"]) for entry in manifest["files"])
        gone += [name for name in unnamed if name not in named]
        self._storage.delete_files([f"{self._folder}/{name}" for name in gone])


def _numbers(names: Iterable[str]) -> list[int]:
    """Numbers of the manifests among files."""
    return sorted(int(match[1]) for match in map(_MANIFEST_NAME.fullmatch, names) if match)


def _level(entry: Mapping[str, Any]) -> int:
    match = _DATA_NAME.fullmatch(str(entry["fileName"]))
    return int(match[3]) if match else -1  # a name of no archive: left alone


class LogArchiveWriter:
    """Writes the archive of timeline layout 1: log files with one record for each state of an instant.

    Args:
        storage: rooted at the table's base path.
        folder: the archive's folder relative to it.
        timezone: the table's ``hoodie.table.timeline.timezone``.
    """

    def __init__(self, storage: Storage, folder: str, timezone: str) -> None:
        self._storage = storage
        self._folder = folder
        self._timezone = timezone

    def add(self, instants: Sequence[Instant], states: StateFiles) -> list[str]:
        """Write all states of completed instants to a new log file; returns its path."""
        ordered = sorted(instants, key=lambda i: i.sort_key)
        reads = [partial(states.files, instant, lambda _: True) for instant in ordered]
        files = [file for own in run_together(self._storage, reads) for file in own]
        entries = [self._entry(state, data, mtime) for state, data, mtime in files]
        blocks = [
            _entry_block(entries[start : start + _BLOCK_ENTRIES]) for start in range(0, len(entries), _BLOCK_ENTRIES)
        ]
        listing = self._storage.list(self._folder, missing_ok=True)["path"].to_pylist()
        matches = (_LOG_NAME.fullmatch(path.rsplit("/", 1)[-1]) for path in listing)
        number = max((int(match[1]) for match in matches if match), default=0) + 1
        path = f"{self._folder}/.commits_.archive.{number}_1-0-1"
        self._storage.create_if_absent(path, b"".join(blocks))
        return [path]

    def _entry(self, state: Instant, data: bytes, mtime: int) -> dict[str, Any]:
        record = decode_payload(data, self._storage.uri(state.path), state.requested)
        entry: dict[str, Any] = {
            "commitTime": state.requested,
            "actionType": state.action,
            "actionState": state.state.name,
            "stateTransitionTime": millis_to_instant(mtime, self._timezone),
        }
        field = _payload_field(state)
        if field is not None and record is not None:
            entry[field] = _without_nulls(record)
        return entry


def _payload_field(state: Instant) -> str | None:
    """The name of the field of an archive entry that holds a state's record."""
    completed, requested = state.is_completed, state.state is State.REQUESTED
    if state.action in (COMMIT, DELTA_COMMIT):
        return "hoodieCommitMetadata"
    if state.action in (COMPACTION, LOG_COMPACTION):
        return "hoodieCompactionPlan"
    if state.action == REPLACE_COMMIT and not completed:
        return "hoodieRequestedReplaceMetadata" if requested else "HoodieInflightReplaceMetadata"
    if state.action == REPLACE_COMMIT:
        return "hoodieReplaceCommitMetadata"
    if state.action == CLEAN:
        return "hoodieCleanMetadata" if completed else "hoodieCleanerPlan"
    return "hoodieRollbackMetadata" if state.action == ROLLBACK and completed else None


def _without_nulls(record: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the nulls from a commit's extra metadata, which JSON may hold and Avro may not."""
    extra = record.get("extraMetadata")
    if not isinstance(extra, Mapping):
        return dict(record)
    return {**record, "extraMetadata": {key: value for key, value in extra.items() if value is not None}}


def _entry_block(entries: Iterable[Mapping[str, Any]]) -> bytes:
    """An AVRO_DATA block of archive entries; its header has the schema alone."""
    schema = fastavro.parse_schema(model_schema("HoodieArchivedMetaEntry", 1))
    encoded: list[bytes] = []
    for entry in entries:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, schema, entry)
        encoded.append(stream.getvalue())
    parts = [struct.pack(">ii", 3, len(encoded))]
    for data in encoded:
        parts += [struct.pack(">i", len(data)), data]
    headers = {HeaderKey.SCHEMA: model_text("HoodieArchivedMetaEntry", 1)}
    return encode_block(BlockType.AVRO_DATA, headers, b"".join(parts))
