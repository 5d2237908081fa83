"""Copies a timeline and its archive into the other layout, beside what is there.

Readers go by the layout that the table's properties name: the copy is not seen before these change, and the original
not behind that. So a death at any point leaves a whole timeline, and the copy is simply made again.

Source: docs/format.md#changes-of-the-table-version.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats.avro import write_container
from hudi_hive.storage import Storage, run_together
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.archival import HistoryArchiveWriter, LogArchiveWriter, StateFile
from hudi_hive.timeline.archive import ArchivedTimeline
from hudi_hive.timeline.instants import (
    CLEAN,
    CLUSTERING,
    COMMIT,
    COMPACTION,
    COMPLETED_WRITE_ACTIONS,
    DELTA_COMMIT,
    LOG_COMPACTION,
    REPLACE_COMMIT,
    ROLLBACK,
    SAVEPOINT,
    instant_file_name,
    instant_to_millis,
    millis_to_instant,
    parse_instant_name,
)
from hudi_hive.timeline.payloads import decode_payload, model_schema

FOLDER: Final = {1: ".hoodie", 2: ".hoodie/timeline"}
"""Layout -> the timeline's folder, where this module puts it."""

ARCHIVE: Final = {1: ".hoodie/archived", 2: ".hoodie/timeline/history"}
"""Layout -> the archive's folder."""

_AT_ONCE: Final = 200
_MODELS: Final = {
    COMMIT: "HoodieCommitMetadata",
    DELTA_COMMIT: "HoodieCommitMetadata",
    REPLACE_COMMIT: "HoodieReplaceCommitMetadata",
    CLEAN: "HoodieCleanMetadata",
    ROLLBACK: "HoodieRollbackMetadata",
    SAVEPOINT: "HoodieSavepointMetadata",
}
_PLANS: Final = {
    CLEAN: "HoodieCleanerPlan",
    COMMIT: "HoodieCompactionPlan",
    DELTA_COMMIT: "HoodieCompactionPlan",
    REPLACE_COMMIT: "HoodieRequestedReplaceMetadata",
}


def copy_timeline(client: MetaClient, layout: int) -> None:
    """Copy the active timeline and the archive of a table to a layout that its properties do not name yet.

    Args:
        client: the table, under its lock, with nothing pending but plans of services.
        layout: 1 or 2, not the table's own.
    """
    storage = client.storage
    remove_timeline(storage, layout)
    storage.create_dir(ARCHIVE[layout])
    files = _instant_files(storage, client.config.layout)
    _copy_archive(client, layout)
    steps = [
        partial(_copy_file, client, layout, state, mtime)
        for state, mtime in sorted(files, key=lambda item: item[0].sort_key)
    ]
    for start in range(0, len(steps), _AT_ONCE):
        run_together(storage, steps[start : start + _AT_ONCE])
    storage.flush_folders([FOLDER[layout]])


def remove_timeline(storage: Storage, layout: int) -> None:
    """Delete the timeline and the archive of a layout that the table's properties do not name."""
    if layout == 2:
        storage.delete_tree(FOLDER[2])
        return
    storage.delete_files([state.path for state, _ in _instant_files(storage, 1)])
    storage.delete_tree(ARCHIVE[1])


def _instant_files(storage: Storage, layout: int) -> list[tuple[Instant, int]]:
    """The files of all states of instants in a layout's folder, and when they were modified (ms since the epoch)."""
    listing = storage.list(FOLDER[layout], missing_ok=True)
    files = listing.filter(pc.invert(listing["is_dir"]))
    found: list[tuple[Instant, int]] = []
    for path, mtime in zip(files["path"].to_pylist(), files["mtime_ms"].to_pylist(), strict=True):
        state = parse_instant_name(path.rsplit("/", 1)[-1], layout, FOLDER[layout])
        if state is not None:
            found.append((state, mtime))
    return found


def _copy_file(client: MetaClient, layout: int, state: Instant, mtime: int) -> None:
    storage = client.storage
    data = storage.read_bytes(state.path)
    action = _action(state, data, layout, storage.uri(state.path))
    completed = None
    if layout == 2 and state.is_completed:
        completed = state.completed or _completion(state.requested, mtime, client.config.timezone)
    name = instant_file_name(state.requested, action, state.state, completed=completed)
    storage.write_bytes(f"{FOLDER[layout]}/{name}", _converted(state, data, layout, storage.uri(state.path)))


def _completion(requested: str, mtime: int, timezone: str) -> str:
    """When a write of layout 1 was completed: when its file was made, which may be a copy, and behind its request."""
    later = millis_to_instant(mtime, timezone)
    if later > requested:
        return later
    return millis_to_instant(instant_to_millis(requested, timezone) + 1, timezone)


def _action(state: Instant, data: bytes, layout: int, uri: str) -> str:
    """The action as the layout names it: only layout 2 has clustering, and only while it is pending."""
    if state.action == CLUSTERING and layout == 1:
        return REPLACE_COMMIT
    if layout == 2 and state.action == REPLACE_COMMIT and state.state is State.REQUESTED:
        plan = decode_payload(data, uri, state.requested) or {}
        return CLUSTERING if plan.get("clusteringPlan") else REPLACE_COMMIT
    return state.action


def _converted(state: Instant, data: bytes, layout: int, uri: str) -> bytes:
    """Commit metadata is JSON in layout 1 and Avro in layout 2; everything else is the same in both."""
    if not data or state.action not in COMPLETED_WRITE_ACTIONS or state.state is State.REQUESTED:
        return data
    record = decode_payload(data, uri, state.requested) or {}
    if layout == 2 and data[:1] == b"{":
        return _avro(_MODELS[state.action], record)
    if layout == 1 and data[:1] != b"{":
        return json.dumps({key: value for key, value in record.items() if key != "version"}, indent=2).encode()
    return data


def _avro(model: str, record: dict[str, Any]) -> bytes:
    """A record of an instant in Avro, without what JSON alone has."""
    extra = record.get("extraMetadata")
    if isinstance(extra, dict):
        record = {**record, "extraMetadata": {key: value for key, value in extra.items() if value is not None}}
    if "partitionToWriteStats" in record:
        record = {**record, "version": record.get("version") or 1}
    return write_container(model_schema(model, 2), [record])


# -- archive ---------------------------------------------------------------------------------------------------------


def _copy_archive(client: MetaClient, layout: int) -> None:
    archived = client.timeline.archived()
    active = {(one.requested, one.comparable_action) for one in client.timeline.instants}
    instants = [
        one for one in archived.instants if one.is_completed and (one.requested, one.comparable_action) not in active
    ]
    if not instants:
        return
    source = _ArchivedStates(archived, client.storage)
    writer: HistoryArchiveWriter | LogArchiveWriter
    if layout == 2:
        writer = HistoryArchiveWriter(client.storage, ARCHIVE[2])
        instants = [source.with_completion(one) for one in instants]
    else:
        writer = LogArchiveWriter(client.storage, ARCHIVE[1], client.config.timezone)
    for start in range(0, len(instants), _AT_ONCE):
        writer.add(instants[start : start + _AT_ONCE], source)


class _ArchivedStates:
    """The records of archived instants, as files of layout 2 that an archive is made from."""

    def __init__(self, archived: ArchivedTimeline, storage: Storage) -> None:
        self._archived = archived
        self._storage = storage
        self._own: dict[tuple[str, str], Instant] = {}

    def with_completion(self, instant: Instant) -> Instant:
        """The instant with its completion time."""
        completed = self._archived.completion_time(instant)
        return Instant(instant.requested, instant.action, instant.state, completed, instant.file_name, instant.path)

    def files(self, instant: Instant, needed: Callable[[Instant], bool]) -> list[StateFile]:
        """The files of the needed states of an instant, the plan first."""
        mtime = _millis(instant.completed or instant.requested)
        result = []
        plan = self._archived.plan(instant)
        model = _PLANS.get(instant.action)
        if plan is not None and model is not None:
            requested = Instant(instant.requested, _planned(instant.action), State.REQUESTED, None, "", instant.path)
            if needed(requested):
                result.append(StateFile(requested, write_container(model_schema(model, 2), [plan]), mtime))
        if needed(instant):
            record = self._archived.payload(instant)
            known = _MODELS.get(instant.action)
            data = _avro(known, dict(record)) if record and known else b""
            result.append(StateFile(instant, data, mtime))
        return result


def _planned(action: str) -> str:
    """The action of the plan that an action completes."""
    return {COMMIT: COMPACTION, DELTA_COMMIT: LOG_COMPACTION}.get(action, action)


def _millis(instant: str) -> int:
    return instant_to_millis(instant, "UTC") if len(instant) in (14, 17) else 0


def pending_slices(client: MetaClient) -> Sequence[str]:
    """Paths of the newest slices that have log files, which a change of the layout must not find."""
    slices = client.file_system_view().latest_merged_file_slices()
    with_logs = slices.filter(pc.greater(pc.list_value_length(slices["log_files"]), 0))
    names: pa.ChunkedArray = pc.binary_join_element_wise(with_logs["partition"], with_logs["file_id"], "/")
    return [str(name) for name in names.to_pylist()]
