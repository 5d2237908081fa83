"""Checks before a table service changes anything."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedTableError, WriteError
from hudi_hive.table import MetaClient
from hudi_hive.table.view import FileKind, parse_file_names
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.instants import CLEAN, COMPACTION, DELTA_COMMIT, LOG_COMPACTION, RESTORE, SAVEPOINT
from hudi_hive.timeline.payloads import CLEAN_FILES_SCHEMA, RollbackRequest
from hudi_hive.write.options import IndexType

_BUCKET: Final = r"^0000\d{4}-"
"""Ids of the first 10,000 buckets; random ids do not begin so."""

NO_PREVIOUS = "null"
"""Previous commit of a write stat whose file group is new."""


def refuse_planned(client: MetaClient, target: Instant) -> None:
    """Refuse to undo a completed write while a plan reads what it wrote.

    The plan's run would miss files, or take rows that were undone.

    Raises:
        WriteError: a compaction or clustering of its file groups is planned.
        CorruptInstantError: its metadata, or a plan, cannot be decoded.
    """
    timeline = client.timeline
    metadata = timeline.commit_metadata(target)
    tables = [metadata.write_stats.select(["partition", "file_id"]), metadata.replaced.select(["partition", "file_id"])]
    touched = pa.concat_tables(tables)
    mine = set(zip(touched["partition"].to_pylist(), touched["file_id"].to_pylist(), strict=True))
    clustering = timeline.pending_clustering()
    plans = [("clustering", i, clustering.filter(pc.equal(clustering["instant"], i))) for i in _distinct(clustering)]
    pending = timeline.pending({COMPACTION, LOG_COMPACTION})
    plans += [(i.action, i.requested, timeline.compaction_plan(i).operations) for i in pending]
    for action, instant, slices in plans:
        places = zip(slices["partition"].to_pylist(), slices["file_id"].to_pylist(), strict=True)
        both = sorted(mine.intersection(places))
        if both and instant > target.requested:
            raise WriteError(
                f"the {action} planned at {instant} reads what this instant wrote",
                path=client.storage.uri(posixpath.join(*both[0])),
                instant=target.requested,
                remedy=f"run or roll back {instant} first",
            )


def _distinct(clustering: pa.Table) -> list[str]:
    return sorted(set(clustering["instant"].to_pylist()))


def refuse_topped(client: MetaClient, target: Instant) -> None:
    """Refuse to roll back a compaction plan of version 6 whose slice has log files, which would belong to no slice.

    Raises:
        WriteError: there are log files that name the compaction, or a pending write that may make some.
    """
    if client.config.layout != 1 or target.state is not State.REQUESTED or target.action != COMPACTION:
        return
    files = client.list_files()
    parts = parse_file_names(files["name"])
    logs = pc.equal(parts["kind"], FileKind.LOG.value)
    mine = pc.fill_null(pc.and_(logs, pc.equal(parts["instant"].cast(pa.string()), target.requested)), False)
    if pc.any(mine).as_py() or client.timeline.pending({DELTA_COMMIT}):
        raise WriteError(
            "writes have gone on on top of this planned compaction, so that its plan cannot be taken back",
            path=client.base_path,
            instant=target.requested,
            remedy="run it",
        )


def refuse_buckets(client: MetaClient, index: IndexType, slices: pa.Table) -> None:
    """Refuse to cluster file groups of a bucket index, which would not find the new groups.

    Args:
        client: the table.
        index: the index that the options name; tables do not tell theirs.
        slices: what is to be clustered (``file_id``).

    Raises:
        UnsupportedTableError: the index is the bucket index, or file ids begin with the number of a bucket.
    """
    numbered = pc.match_substring_regex(slices["file_id"], _BUCKET)
    if slices.num_rows and (index is IndexType.BUCKET or pc.any(numbered).as_py()):
        raise UnsupportedTableError(
            "clustering a table with a bucket index is not supported: its rows must stay in their buckets",
            path=client.base_path,
            remedy="leave clustering out; compaction keeps the buckets",
        )


def refuse_pending_restore(client: MetaClient) -> None:
    """Refuse to run while a restore is pending.

    Raises:
        WriteError: a restore is pending.
    """
    pending = client.timeline.pending({RESTORE})
    if pending:
        savepoint = client.timeline.restore_plan(pending[0]).savepoint
        raise WriteError(
            "a restore has not ended",
            path=client.base_path,
            instant=pending[0].requested,
            remedy=f"end it: restore to {savepoint}",
        )


def refuse_savepointed(client: MetaClient, target: str, requests: Sequence[RollbackRequest] = ()) -> None:
    """Refuse to roll back what a savepoint keeps.

    Args:
        client: the table.
        target: requested time of the instant that is to be undone.
        requests: the files that are to be deleted for it.

    Raises:
        WriteError: the instant has a savepoint, or one keeps a file of the requests.
    """
    timeline = client.timeline
    files = {(request.partition, name) for request in requests for name in request.files}
    for point in (i for i in timeline.instants if i.action == SAVEPOINT):
        what, at = "a savepoint keeps this instant", client.base_path
        if point.requested != target:
            kept = timeline.savepoint_metadata(point).partitions if files and point.is_completed else {}
            both = sorted((path, name) for path, name in files if name in kept.get(path, ()))
            if not both:
                continue
            what, at = f"the savepoint {point.requested} keeps a file of this", client.storage.uri("/".join(both[0]))
        raise WriteError(what, path=at, instant=target, remedy=f"delete the savepoint {point.requested} first")


def refuse_lost_versions(client: MetaClient, target: Instant) -> None:
    """Refuse to undo a completed write over what a clean has deleted.

    Its file groups would come back empty, or as an older version that a savepoint keeps.

    Raises:
        WriteError: of a group that it wrote to or replaced the newest file before it is gone.
        CorruptInstantError: its metadata cannot be decoded.
    """
    metadata = client.timeline.commit_metadata(target)
    stats = metadata.write_stats
    old = pc.and_(
        pc.fill_null(pc.not_equal(stats["prev_commit"], NO_PREVIOUS), False),
        pc.fill_null(pc.not_equal(stats["prev_commit"], target.requested), False),
    )
    needed = pa.concat_tables([stats.filter(old).select(["partition", "file_id"]), metadata.replaced])
    if not needed.num_rows:
        return
    partitions = sorted(set(needed["partition"].to_pylist()))
    left = _newest_before(client.directory_lister.files(partitions), target.requested)
    gone = _newest_before(_cleaned_since(client, target.requested), target.requested)
    for place in zip(needed["partition"].to_pylist(), needed["file_id"].to_pylist(), strict=True):
        if place not in left or left[place] < gone.get(place, ""):
            raise WriteError(
                "what this instant wrote over was cleaned, so that undoing it would lose rows",
                path=client.storage.uri(posixpath.join(*place)),
                instant=target.requested,
                remedy="write the rows again instead",
            )


def _cleaned_since(client: MetaClient, requested: str) -> pa.Table:
    """Files that cleans have deleted, or are about to, since an instant: ``partition``, ``name``."""
    timeline = client.timeline
    plans = [timeline.cleaner_plan(i).files for i in timeline.pending({CLEAN}) if i.requested > requested]
    places = [
        (partition, name)
        for clean in timeline.completed({CLEAN})
        if clean.requested > requested
        for partition, cleaned in timeline.clean_metadata(clean).partitions.items()
        for name in cleaned.deleted
    ]
    columns = [pa.array([place[at] for place in places], pa.string()) for at in range(2)]
    return pa.concat_tables([pa.table(columns, schema=CLEAN_FILES_SCHEMA), *plans])


def _newest_before(files: pa.Table, requested: str) -> dict[tuple[str, str], str]:
    """The newest instant before another one that is in the names of each file group's files."""
    parts = parse_file_names(files["name"])
    instants = parts["instant"].cast(pa.string())
    older = pc.and_(
        pc.is_in(parts["kind"], value_set=pa.array([FileKind.BASE.value, FileKind.LOG.value], pa.int8())),
        pc.fill_null(pc.less(instants, requested), False),
    )
    columns = (files["partition"], parts["file_id"], instants)
    newest: dict[tuple[str, str], str] = {}
    for partition, file_id, instant in zip(*(column.filter(older).to_pylist() for column in columns), strict=True):
        newest[partition, file_id] = max(newest.get((partition, file_id), ""), instant)
    return newest
