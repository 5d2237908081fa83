"""Files of writes that were undone, which a store or a stopped writer brings back behind the rollback.

A request that was under way when its writer died may be carried out at any later time, and a process that stood still
goes on. The file counts for nobody while its instant is unknown to the active timeline; but what is older than the
first active instant counts as complete. So:

- a rollback takes note of all files that the write announced by markers, those too that are not there;
- in version 6, where a log file bears another instant than its write's, a command block behind it makes it void before
  it is there;
- before archival moves the first active instant past a write that was undone, and again past its rollback or with it,
  the partitions that the rollback names are listed, and files of the write deleted.

Source: docs/format.md#committed-instants.
"""

from __future__ import annotations

import logging
import posixpath
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.table import MetaClient
from hudi_hive.table.view import FileKind, delete_data_files, is_partition_path, list_folders, parse_file_names
from hudi_hive.timeline import Instant, Timeline
from hudi_hive.timeline.archival import rollbacks_of
from hudi_hive.timeline.instants import RESTORE, ROLLBACK
from hudi_hive.timeline.payloads import RollbackRequest
from hudi_hive.write.rollback.undo import announced_files

_log = logging.getLogger(__name__)

ABSENT: Final = -1
"""Size of a log file that was announced and is not there."""

_UNDOING: Final = frozenset({ROLLBACK, RESTORE})


def with_announced(
    client: MetaClient, target: Instant, requests: Sequence[RollbackRequest]
) -> tuple[RollbackRequest, ...]:
    """Add the files that a write announced and that were not there when its rollback was planned.

    They are not part of the plan, which others may execute, but of what is done: deleted by their names, which the
    metadata of the rollback holds then. A log file that version 6 names after another instant gets a command block.

    Args:
        client: the table.
        target: the write that is undone.
        requests: the plan's.
    """
    planned = {
        posixpath.join(request.partition, name)
        for request in requests
        for name in (*request.files, *request.log_blocks)
    }
    absent = [posixpath.split(path) for path in sorted(announced_files(client, target) - planned)]
    if not absent:
        return tuple(requests)
    parts = parse_file_names(pa.array([name for _, name in absent], pa.string()))
    deleted: dict[str, list[str]] = defaultdict(list)
    appended: dict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
    columns = (parts[name].to_pylist() for name in ("kind", "file_id", "instant"))
    for (partition, name), kind, file_id, instant in zip(absent, *columns, strict=True):
        if client.config.layout == 1 and kind == FileKind.LOG.value and instant != target.requested:
            appended[partition, str(file_id), str(instant)][name] = ABSENT
        else:
            deleted[partition].append(name)
    return (*_joined(requests, appended), *(RollbackRequest(p, None, None, tuple(n), {}) for p, n in deleted.items()))


def _joined(
    requests: Sequence[RollbackRequest], appended: Mapping[tuple[str, str, str], Mapping[str, int]]
) -> Iterator[RollbackRequest]:
    """The requests with more log files of their slices, and those of slices that have none yet."""
    left = dict(appended)
    for request in requests:
        more: Mapping[str, int] = {}
        if request.log_blocks and request.file_id and request.base_instant:
            more = left.pop((request.partition, request.file_id, request.base_instant), {})
        yield replace(request, log_blocks={**request.log_blocks, **more}) if more else request
    for (partition, file_id, instant), names in left.items():
        yield RollbackRequest(partition, file_id, instant, (), names)


def sweep_late_files(client: MetaClient, timeline: Timeline, archived: Collection[Instant]) -> list[str]:
    """Delete files of undone writes that are about to count as complete; nothing is asked where nothing was undone.

    Args:
        client: the table, under its lock.
        timeline: its active timeline.
        archived: instants that are about to leave it.

    Returns:
        Paths of the files that are gone.
    """
    late = _late_files(client, _undone(timeline, frozenset(archived)))
    if not late:
        return []
    archive = {time for time, _ in timeline.archived().completed_since(min(one.time for one in late))}
    gone = []
    for one in late:
        if one.time not in archive:  # no table service that ran again from its plan
            delete_data_files(client.storage, one.partition, [one.name], instant=one.time)
            gone.append(posixpath.join(one.partition, one.name))
    if gone:
        _log.warning("%s: %d files of undone writes came back and were deleted: %s", client.base_path, len(gone), gone)
        client.storage.flush_folders(map(posixpath.dirname, gone))
    return gone


class _LateFile(NamedTuple):
    """A file of a write that was undone: requested time of the write, partition path, file name."""

    time: str
    partition: str
    name: str


def _undone(timeline: Timeline, archived: Collection[Instant]) -> dict[str, dict[str, set[str]]]:
    """The files that rollbacks have deleted, by write and partition, of writes that archival is about to pass.

    Those too whose rollback it passes or archives. Instants of table services that are to run again are none of them.
    """
    undone: dict[str, dict[str, set[str]]] = {}
    first, then = timeline.first_active(), timeline.first_active(without=archived)
    if first is None or then is None:
        return undone
    active = {instant.requested for instant in timeline.instants if instant.is_write}
    for undoing in timeline.completed(_UNDOING):
        leaves = undoing in archived
        if undoing.requested < first and not leaves:
            continue
        for metadata in rollbacks_of(timeline, undoing):
            for time in set(metadata.rolled_back) - active:
                if leaves or undoing.requested < then or first <= time < then:
                    partitions = undone.setdefault(time, {})
                    for partition, part in metadata.partitions.items():
                        partitions.setdefault(partition, set()).update(part.deleted)
    return undone


def _late_files(client: MetaClient, undone: Mapping[str, Mapping[str, Collection[str]]]) -> list[_LateFile]:
    """Files of undone writes that are there, in the partitions of their rollbacks."""
    partitions = sorted({path for one in undone.values() for path in one if is_partition_path(path)})
    if not partitions:
        return []
    files = list_folders(client.storage, partitions)
    parts = parse_file_names(files.column("name"))
    late = []
    for time, deleted in undone.items():
        own = pc.fill_null(pc.equal(parts["instant"].cast(pa.string()), time), False)
        columns = (files["partition"], files["name"], pc.equal(parts["kind"], FileKind.BASE.value))
        rows = zip(*(column.filter(own).to_pylist() for column in columns), strict=True)
        for partition, name, is_base in rows:
            # In version 6 log files of others may bear the instant of a compaction.
            if partition in deleted and (client.config.layout >= 2 or is_base or name in deleted[partition]):
                late.append(_LateFile(time, partition, name))
    return late
