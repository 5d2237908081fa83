"""Savepoints, whose files cleans keep, so that the table can be restored to them.

Source: docs/format.md#plans.
"""

from __future__ import annotations

import posixpath
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

import pyarrow.compute as pc

from hudi_hive.errors import TimeTravelError, WriteError
from hudi_hive.plan.core import earliest_retained, refuse_cleaned_files
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.instants import CLEAN, RESTORE, SAVEPOINT
from hudi_hive.timeline.payloads import SavepointMetadata, encode_savepoint_metadata
from hudi_hive.write.service_base import ServiceContext, refuse_pending_restore, refuse_pending_undo


def create_savepoint(
    context: ServiceContext, requested: str | None = None, *, user: str = "", comments: str = ""
) -> SavepointMetadata:
    """Create a savepoint of a completed write.

    Args:
        context: the table; its lock must not be held.
        requested: requested time of the write; the last completed one without it.
        user, comments: who and why, for the record.

    Raises:
        WriteError: there is no such completed write, it has a savepoint, a clean has taken files of it, or is to, or a
            restore has not ended.
    """
    with context.lock() as held:
        now = context.reload()
        refuse_pending_restore(now.client)
        refuse_pending_undo(now)
        target = _target(now.client, requested)
        files = _files_of(now.client, target.requested)
        _refuse_cleaned(now.client, target.requested, files)
        metadata = SavepointMetadata(
            instant=target,
            by=user,
            at_ms=time.time_ns() // 1_000_000,
            comments=comments,
            partitions=files,
        )
        pending = [i for i in now.client.timeline.pending({SAVEPOINT}) if i.requested == target.requested]
        if not pending:
            now.writer.transition_inflight(SAVEPOINT, target.requested)
        completion = now.clock.completion_time(now.client.timeline, target.requested, now.client.config.timezone)
        if held is not None:
            held.verify()
        outcome = encode_savepoint_metadata(metadata)
        now.writer.complete(SAVEPOINT, target.requested, outcome, completion, just_seen=True)
    return metadata


def delete_savepoint(context: ServiceContext, requested: str) -> None:
    """Delete a savepoint, so that its files may be cleaned.

    Raises:
        WriteError: there is no such savepoint.
    """
    with context.lock():
        now = context.reload()
        matching = [i for i in now.client.timeline.instants if i.action == SAVEPOINT and i.requested == requested]
        if not matching:
            raise WriteError("there is no such savepoint", path=now.client.base_path, instant=requested)
        for pending in now.client.timeline.pending({RESTORE}):
            if now.client.timeline.restore_plan(pending).savepoint == requested:
                raise WriteError(
                    "a restore to this savepoint has not ended",
                    path=now.client.base_path,
                    instant=pending.requested,
                    remedy="end it: `hudi-hive table restore`",
                )
        now.writer.delete(matching[0], [State.COMPLETED, State.INFLIGHT])


def savepoints(client: MetaClient) -> list[SavepointMetadata]:
    """List the savepoints of a table, oldest first."""
    return [client.timeline.savepoint_metadata(i) for i in client.timeline.completed({SAVEPOINT})]


def _target(client: MetaClient, requested: str | None) -> Instant:
    timeline = client.timeline
    last = timeline.last_completed_write()
    if requested is None and last is not None:
        requested = last.requested
    matching = [i for i in timeline.write_instants() if i.requested == requested]
    if not matching:
        raise WriteError(
            "no completed write of that time is on the active timeline", path=client.base_path, instant=requested
        )
    if any(i.action == SAVEPOINT and i.requested == requested for i in timeline.completed()):
        raise WriteError("the instant has a savepoint already", path=client.base_path, instant=requested)
    retained = earliest_retained(timeline)
    if retained is not None and matching[0].requested < retained:
        raise WriteError(
            f"files of this instant may have been cleaned: cleans keep those from {retained} on",
            path=client.base_path,
            instant=requested,
        )
    return matching[0]


def _refuse_cleaned(client: MetaClient, requested: str, files_of_savepoint: Mapping[str, Sequence[str]]) -> None:
    """Refuse a savepoint of which files are gone, by a clean by file versions, or will be, by a clean that is planned.

    Raises:
        WriteError: the table could not be restored to it.
    """
    try:
        refuse_cleaned_files(client, requested, client.list_files(), lambda _: True, logs=True)
    except TimeTravelError as error:
        raise WriteError(
            f"files of this instant were cleaned: {error.message}", path=error.path, instant=requested
        ) from error
    for clean in client.timeline.pending({CLEAN}):
        files = client.timeline.cleaner_plan(clean).files
        for partition, name in zip(files["partition"].to_pylist(), files["name"].to_pylist(), strict=True):
            if name in files_of_savepoint.get(partition, ()):
                raise WriteError(
                    f"the clean planned at {clean.requested} is to delete files of this instant",
                    path=client.storage.uri(posixpath.join(partition, name)),
                    instant=requested,
                    remedy="keep a later one: `hudi-hive table clean` ends that clean",
                )


def _files_of(client: MetaClient, as_of: str) -> dict[str, tuple[str, ...]]:
    """Names of the files that show the table as of an instant, by partition."""
    slices = client.file_system_view().latest_merged_file_slices(as_of)
    partitions: dict[str, list[str]] = defaultdict(list)
    bases = slices.filter(pc.is_valid(slices["base_file"]))
    for partition, name in zip(bases["partition"].to_pylist(), bases["base_file"].to_pylist(), strict=True):
        partitions[partition].append(name)
    for partition, names in zip(slices["partition"].to_pylist(), slices["log_files"].to_pylist(), strict=True):
        partitions[partition] += names
    return {partition: tuple(names) for partition, names in sorted(partitions.items())}
