"""Finds the files that rolling back an instant has to delete: by markers, metadata or listing.

Files that bear the instant in their name are deleted. In version 6 a log file bears its slice's base instant instead:
what the instant appended to older slices stays, and a command block behind it declares it void.

Source: docs/format.md#plans, docs/format.md#command-blocks.
"""

from __future__ import annotations

import logging
import posixpath
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsafePathError
from hudi_hive.formats.log import iter_blocks
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table.view import FileKind, check_data_files, parse_file_names
from hudi_hive.timeline import Instant
from hudi_hive.timeline.instants import DELTA_COMMIT, LOG_COMPACTION
from hudi_hive.timeline.payloads import RollbackRequest
from hudi_hive.write.coordination import TaskExecutor
from hudi_hive.write.files import marked_files, marker_folder, server_marked_paths

_log = logging.getLogger(__name__)

_APPENDING: Final = frozenset({DELTA_COMMIT, LOG_COMPACTION})


def files_to_undo(
    client: MetaClient, target: Instant, executor: TaskExecutor, *, undone: Collection[str] = ()
) -> tuple[RollbackRequest, ...]:
    """Make rollback requests: one for each partition with files to delete, one for each slice with a command block.

    Markers tell the partitions of an instant that did not complete; without any, all partitions are listed. Folders
    are listed always, never the metadata table: it does not know what was left behind.

    Args:
        client: the table.
        target: the instant, in any state.
        executor: where log files are looked into when nothing says which of them the instant appended to.
        undone: later instants that are undone with it, and before it.
    """
    marked = _marked_data_files(client.storage, target.requested)
    written: set[str] | None = None
    if target.is_completed:
        stats = client.timeline.commit_metadata(target).write_stats
        written = {path for path in stats.column("path").to_pylist() if path}
        partitions: Iterable[str] = {posixpath.dirname(path) for path in written}
    elif marked:
        written = marked
        partitions = {posixpath.dirname(path) for path in marked}
    else:
        partitions = _all_partitions(client)
    files = _with_parts(client.directory_lister.files(sorted(partitions)))
    doomed = files.filter(_deleted(client, target, files, undone))
    requests = [
        RollbackRequest(partition, None, None, tuple(names), {}) for partition, names in sorted(_by_partition(doomed))
    ]
    if client.config.layout == 1 and target.action in _APPENDING:
        kept = files.filter(pc.invert(_deleted(client, target, files, undone)))
        requests += _void_blocks(client, target, kept, written, executor)
    return tuple(requests)


def announced_files(client: MetaClient, target: Instant) -> set[str]:
    """Paths of the data files that the markers of an instant name, which did not complete."""
    return set() if target.is_completed else _marked_data_files(client.storage, target.requested)


def _all_partitions(client: MetaClient) -> list[str]:
    return client.directory_lister.partitions() if client.config.is_partitioned else [""]


def _marked_data_files(storage: Storage, instant: str) -> set[str]:
    """Paths that markers name; none, so that all folders are listed, if one of them is no data file of the table."""
    paths = _marked_paths(storage, instant)
    for partition, name in map(posixpath.split, paths):
        try:
            check_data_files(partition, [name], instant=instant)
            storage.check_read(partition)
        except UnsafePathError as error:
            _log.warning("the markers of %s are not used, all partitions are listed: %s", instant, error)
            return set()
    return paths


def _marked_paths(storage: Storage, instant: str) -> set[str]:
    """Paths of the files that markers of either kind name (docs/format.md#markers)."""
    listing = storage.list(marker_folder(instant), recursive=True, missing_ok=True)
    direct = marked_files(storage, instant, listing)
    paths = {
        posixpath.join(*place)
        for place in zip(direct["partition"].to_pylist(), direct["name"].to_pylist(), strict=True)
    }
    return paths | server_marked_paths(storage, instant, listing)


def _with_parts(files: pa.Table) -> pa.Table:
    """A listing with what its names tell: ``kind``, ``file_id``, ``instant``, ``log_version``."""
    parts = parse_file_names(files.column("name"))
    return (
        files.append_column("kind", parts["kind"])
        .append_column("file_id", parts["file_id"])
        .append_column("instant", parts["instant"].cast(pa.string()))
        .append_column("log_version", parts["log_version"])
    )


def _deleted(client: MetaClient, target: Instant, files: pa.Table, undone: Collection[str]) -> pa.ChunkedArray:
    """Files of the listing that bear the instant and are its own."""
    mine = pc.fill_null(pc.equal(files["instant"], target.requested), False)
    if client.config.layout >= 2:
        return mine
    # In version 6 later delta commits name their log files after the slice that this instant opened, if they see it:
    # those of a pending delta commit they do not.
    opened = target.is_completed or target.action not in _APPENDING
    later = opened and any(
        i.comparable_action == DELTA_COMMIT and i.requested > target.requested and i.requested not in undone
        for i in client.timeline.instants
    )
    return pc.and_(mine, pc.not_equal(files["kind"], FileKind.LOG.value)) if later else mine


def _by_partition(files: pa.Table) -> Iterable[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for partition, name in zip(files["partition"].to_pylist(), files["name"].to_pylist(), strict=True):
        groups[partition].append(name)
    return groups.items()


def _void_blocks(
    client: MetaClient, target: Instant, files: pa.Table, written: set[str] | None, executor: TaskExecutor
) -> list[RollbackRequest]:
    """Slices that the target appended to, with the log files that stay and hold its blocks."""
    logs = files.filter(
        pc.and_(pc.equal(files["kind"], FileKind.LOG.value), pc.less_equal(files["instant"], target.requested))
    )
    rows = logs.select(["partition", "name", "size", "file_id", "instant"]).to_pylist()
    paths = [posixpath.join(row["partition"], row["name"]) for row in rows]
    if written is not None:
        mine = [path in written for path in paths]
    else:
        mine = executor.map(partial(_find_blocks, client.storage, target.requested), paths)
    slices: dict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
    for row, appended in zip(rows, mine, strict=True):
        if appended:
            slices[row["partition"], row["file_id"], row["instant"]][row["name"]] = row["size"]
    return [
        RollbackRequest(partition, file_id, instant, (), names)
        for (partition, file_id, instant), names in sorted(slices.items())
    ]


def _find_blocks(storage: Storage, instant: str, path: str) -> bool:
    """Whether a log file holds a block of an instant; corrupt ends, which belong to nobody, do not count."""
    return any(block.instant == instant for block in iter_blocks(storage.read_bytes(path), storage.uri(path)))


def log_versions(names: Iterable[str], file_id: str, base_instant: str) -> Mapping[int, str]:
    """Log files of a slice of version 6 among names, by version number."""
    table = pa.table({"name": pa.array(list(names), pa.string())})
    parts = parse_file_names(table.column("name"))
    fits = pc.and_(
        pc.equal(parts["kind"], FileKind.LOG.value),
        pc.and_(pc.equal(parts["file_id"], file_id), pc.equal(parts["instant"].cast(pa.string()), base_instant)),
    )
    fits = pc.fill_null(fits, False)
    return dict(zip(parts["log_version"].filter(fits).to_pylist(), table["name"].filter(fits).to_pylist(), strict=True))
