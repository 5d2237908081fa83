"""Detects conflicts of concurrent writers: changes of the same file groups since a write began (RFC-22).

The first one to complete wins; asked under the table's lock, right before completing. What counts is what was completed
since the write read the timeline, not whose instant is older; plans of compaction and clustering count from when they
are made. The rules are Hudi's, per file group, and stricter where Hudi would lose rows (log files of table version 6,
a schema that changed).

Source: docs/format.md#write-conflicts.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import WriteConflictError
from hudi_hive.metadata.reader import RECORD_INDEX, written_partitions
from hudi_hive.schema import InternalField
from hudi_hive.table.core import MetaClient
from hudi_hive.table.keys import rescaling_instants
from hudi_hive.timeline import CommitMetadata, Instant, State, Timeline
from hudi_hive.timeline.instants import (
    COMPACTION,
    LOG_COMPACTION,
    REPLACE_COMMIT,
    RESTORE,
    ROLLBACK,
    WRITE_ACTIONS,
    millis_to_instant,
)

BASE: Final = "base"
LOG: Final = "log"
REPLACED: Final = "replaced"
TOUCHED_SCHEMA: Final = pa.schema([("partition", pa.string()), ("file_id", pa.string()), ("kind", pa.string())])
"""File groups that an action changes, one row each: ``kind`` is how, ``base`` (a new base file), ``log`` (log files
only) or ``replaced`` (the group ends)."""

_BUCKET_DIGITS: Final = 8
_COMPACT: Final = "COMPACT"
_CLUSTER: Final = "CLUSTER"
_LOG_COMPACT: Final = "LOG_COMPACT"
_SERVICES: Final = frozenset({_COMPACT, _CLUSTER, _LOG_COMPACT})
"""Operations that write the rows of a table anew and change none."""

_AGAIN: Final = "write again: the table holds nothing of this write"


@dataclass(frozen=True)
class ConcurrentOperation:
    """A write that is about to complete, with the file groups that it changes.

    Args:
        instant: its requested time.
        operation: Hudi's name of the operation (``UPSERT``, ``CLUSTER`` …).
        touched: :data:`TOUCHED_SCHEMA`.
        schema: the Avro schema that it will say is the table's; null if it says nothing.
        columns: the same with ids, where columns have ids.
        buckets: whether file groups are buckets: two with one number are the same, whatever the rest of their ids.
        blocking: false when log files of several writers may go to one file group (non-blocking mode).
        overwrites: partitions that it is to be all of, or :data:`EVERYTHING`: what others added there meanwhile is in
            groups that it does not know, and would stay.
        alone: the table is to have one writer: another one's write is a conflict wherever it went, since both may have
            inserted the same keys. Table services beside it are judged as beside several writers.
    """

    instant: str
    operation: str
    touched: pa.Table
    schema: Mapping[str, object] | None = None
    columns: tuple[InternalField, ...] | None = None
    buckets: bool = False
    blocking: bool = True
    overwrites: Container[str] = ()
    alone: bool = False


class _Everything:
    def __contains__(self, partition: object) -> bool:
        return True


EVERYTHING: Final[Container[str]] = _Everything()
"""All partitions."""


def touched_groups(statuses: pa.Table, replaced: Mapping[str, Sequence[str]] | None = None) -> pa.Table:
    """The file groups that a commit changes, from write statuses and replaced groups (:data:`TOUCHED_SCHEMA`)."""
    log = pc.is_valid(statuses["log_version"])
    kinds = pc.if_else(log, pa.scalar(LOG), pa.scalar(BASE))
    written = pa.table([statuses["partition"], statuses["file_id"], kinds], schema=TOUCHED_SCHEMA)
    pairs = [(partition, file_id) for partition, ids in (replaced or {}).items() for file_id in ids]
    ended = pa.table(
        [
            pa.array([partition for partition, _ in pairs], pa.string()),
            pa.array([file_id for _, file_id in pairs], pa.string()),
            pa.repeat(pa.scalar(REPLACED), len(pairs)),
        ],
        schema=TOUCHED_SCHEMA,
    )
    return pa.concat_tables([written, ended])


def check_conflicts(
    client: MetaClient,
    begun: Timeline | None,
    operation: ConcurrentOperation,
    *,
    started: Timeline | None = None,
    prepared: Timeline | None = None,
) -> None:
    """Refuse to complete a write that conflicts with writes that completed since it began.

    Args:
        client: the table as it is now, read under its lock.
        begun: the timeline that the write was planned on, read after its instant was drawn; null for a service that
            carries out a plan made earlier: then what completed after the plan's instant counts.
        operation: the write.
        started: of a service, the timeline that its run began with: a plan outlives a restore that came before the run.
        prepared: the timeline that the write's schema comes from, if that was read before the write began.

    Raises:
        WriteConflictError: it must not complete; the error names the other instant and a file group.
    """
    now = client.timeline
    _refuse_undone(client, begun if begun is not None else started, operation)
    if operation.operation == _COMPACT:
        return  # reads and writes slices that nobody else writes: log files go on top of what it makes
    for metadata in _completed_since(now, begun, operation.instant):
        knew_plan = _planned_before(metadata.instant, begun, operation.instant)
        compacted = metadata.operation == _COMPACT or (metadata.compacted and metadata.operation != _LOG_COMPACT)
        if operation.alone and not compacted and metadata.operation not in _SERVICES:
            raise _second_writer(client, operation, metadata)
        mine = _endangered(operation, now.layout, knew_plan) if compacted else _exposed(operation, metadata, now.layout)
        _refuse_overlap(client, operation, mine, metadata.instant.requested, _groups_of(metadata))
        if not compacted:
            _refuse_overwritten(client, operation, metadata)
        if operation.buckets and metadata.instant.action == REPLACE_COMMIT:
            _refuse_rescaled(client, operation, metadata.instant)
    for instant, groups in _by_instant(now.pending_compactions(), "compaction_instant"):
        mine = _endangered(operation, now.layout, _was_pending(instant, begun, operation.instant))
        _refuse_overlap(client, operation, mine, instant, groups)
    for instant, groups in _by_instant(now.pending_clustering(), "instant"):
        if instant != operation.instant:
            _refuse_overlap(client, operation, operation.touched, instant, groups)
    _refuse_other_schema(client, prepared if prepared is not None else begun, operation)


def refuse_clustered(client: MetaClient, touched: pa.Table) -> None:
    """Refuse a write to file groups under a pending clustering, before anything is written.

    Raises:
        WriteConflictError: it would be lost, or lose, when the clustering completes.
    """
    operation = ConcurrentOperation("", "UPSERT", touched)
    for instant, groups in _by_instant(client.timeline.pending_clustering(), "instant"):
        _refuse_overlap(client, operation, touched, instant, groups)


def _refuse_undone(client: MetaClient, begun: Timeline | None, operation: ConcurrentOperation) -> None:
    """The write must still be there: nobody has rolled it back, is about to, or has restored the table."""
    now = client.timeline
    mine = [i for i in now.instants if i.requested == operation.instant and i.is_write]
    if not any(i.state is State.INFLIGHT for i in mine):
        raise _conflict(client, operation, "another writer took this one for dead and rolled it back")
    for rollback in now.pending({ROLLBACK}):
        target = now.rollback_plan(rollback).target
        if target is not None and target[0] == operation.instant:
            raise _conflict(client, operation, "another writer took this one for dead and is rolling it back")
    if begun is not None:
        _refuse_undone_below(client, begun, operation)
    before = {i.requested for i in begun.instants if i.action == RESTORE} if begun is not None else set()
    for restore in (i for i in now.instants if i.action == RESTORE):
        if restore.requested not in before and (begun is not None or restore.requested > operation.instant):
            raise _conflict(client, operation, f"the table was restored by {restore.requested} meanwhile")


def _refuse_undone_below(client: MetaClient, begun: Timeline, operation: ConcurrentOperation) -> None:
    """What was complete when the write began, and may be in what it wrote, must not have been rolled back since.

    Nor the write itself, whose inflight file may have come behind that.
    """
    now = client.timeline
    read = {i.requested for i in begun.write_instants()}
    before = {i.requested for i in begun.instants if i.action == ROLLBACK and i.is_completed}
    for rollback in (i for i in now.instants if i.action == ROLLBACK and i.requested not in before):
        targets = _targets(now, rollback)
        if operation.instant in targets:
            raise _conflict(client, operation, "another writer took this one for dead and rolled it back")
        undone = read.intersection(targets)
        if undone:
            why = f"instant {min(undone)}, which it read, was rolled back by {rollback.requested} meanwhile"
            raise _conflict(client, operation, why)


def _targets(now: Timeline, rollback: Instant) -> tuple[str, ...]:
    if rollback.is_completed:
        return now.rollback_metadata(rollback).rolled_back
    target = now.rollback_plan(rollback).target
    return () if target is None else (target[0],)


def _completed_since(now: Timeline, begun: Timeline | None, instant: str) -> Iterator[CommitMetadata]:
    """Metadata of all that completed since the write began, itself apart; what was archived meanwhile too."""
    if begun is None:
        for other in now.write_instants():
            if other.requested != instant and _completed_after(now, other, instant):
                yield now.commit_metadata(other)
        return
    seen = {i.requested for i in begun.write_instants()} | {instant}
    for other in now.write_instants():
        if other.requested not in seen:
            yield now.commit_metadata(other)
    present = {i.requested for i in now.instants}
    watched = [i.requested for i in begun.pending(WRITE_ACTIONS)]
    last = begun.last_completed_write()
    if last is not None:
        watched.append(last.requested)
    if all(requested in present or requested == instant for requested in watched):
        return
    first = begun.first_active() or ""
    archived = now.archived()
    for other in archived.instants:
        missed = other.requested not in seen and other.requested not in present
        if other.is_completed and other.is_write and missed and other.requested >= min([first, *watched]):
            yield archived.commit_metadata(other)


def _completed_after(now: Timeline, other: Instant, instant: str) -> bool:
    if other.requested > instant:
        return True
    if other.completed is not None:
        return other.completed > instant
    changed = now.mtime_ms(other)  # layout 1 keeps no other completion time
    return changed is not None and millis_to_instant(changed, now.timezone) > instant


def _planned_before(other: Instant, begun: Timeline | None, instant: str) -> bool:
    return _was_pending(other.requested, begun, instant)


def _was_pending(requested: str, begun: Timeline | None, instant: str) -> bool:
    """Whether a plan was there when the write began, which then wrote its log files on top of it."""
    if begun is None:
        return requested < instant
    return any(i.requested == requested for i in begun.pending(WRITE_ACTIONS))


def _endangered(operation: ConcurrentOperation, layout: int, knew_plan: bool) -> pa.Table:
    """What of a write a compaction of the same group would hide.

    A new base file of an older slice is lost. Log files are not when the writer knew of the plan, and in layout 2 not
    when it did not: they belong on top of what their completion finds (docs/format.md#file-groups-and-file-slices).
    Replaced groups end anyhow; but clustering has read them. A log compaction's block holds what the compaction has
    read, and must not come on top of newer rows.
    """
    if operation.operation in (_CLUSTER, _LOG_COMPACT):
        return operation.touched
    kinds = [BASE] if knew_plan or layout >= 2 else [BASE, LOG]
    return operation.touched.filter(pc.is_in(operation.touched["kind"], pa.array(kinds)))


def _exposed(operation: ConcurrentOperation, other: CommitMetadata, layout: int) -> pa.Table:
    """What of a write another one may touch too only at the cost of the one who is second."""
    if _LOG_COMPACT in (operation.operation, other.operation):
        if other.instant.action != "deltacommit" or not _is_behind(operation, other, layout):
            return operation.touched
    elif operation.blocking or other.instant.action != "deltacommit":
        return operation.touched
    return operation.touched.filter(pc.not_equal(operation.touched["kind"], LOG))


def _is_behind(operation: ConcurrentOperation, other: CommitMetadata, layout: int) -> bool:
    """Whether the log files of a write stand behind that of a log compaction beside it.

    Readers with Hudi's optimised scan find the order of the blocks in any case. Others go by the names of files, which
    the instants order in layout 2 alone: to them the log compaction's block would be newer than the write's.
    """
    if operation.operation == other.operation:
        return False
    compacts = operation.operation == _LOG_COMPACT
    write = other.instant.requested if compacts else operation.instant
    return layout >= 2 and write > (operation.instant if compacts else other.instant.requested)


def _groups_of(metadata: CommitMetadata) -> pa.Table:
    written = metadata.write_stats.select(["partition", "file_id"])
    return pa.concat_tables([written, metadata.replaced.select(["partition", "file_id"])])


def _by_instant(groups: pa.Table, column: str) -> Iterable[tuple[str, pa.Table]]:
    for instant in pc.unique(groups[column]).to_pylist():
        yield instant, groups.filter(pc.equal(groups[column], instant)).select(["partition", "file_id"])


def _refuse_overlap(
    client: MetaClient, operation: ConcurrentOperation, mine: pa.Table, other: str, theirs: pa.Table
) -> None:
    if not mine.num_rows or not theirs.num_rows:
        return
    both = mine.filter(pc.is_in(_keys(mine, operation.buckets), _keys(theirs, operation.buckets)))
    if both.num_rows:
        partition, file_id = both["partition"][0].as_py(), both["file_id"][0].as_py()
        more = f" and {both.num_rows - 1} more" if both.num_rows > 1 else ""
        where = f"file group {file_id} of partition {partition!r}{more}"
        raise _conflict(client, operation, f"instant {other} was at the same {where}")


def _refuse_overwritten(client: MetaClient, operation: ConcurrentOperation, other: CommitMetadata) -> None:
    both = [partition for partition in other.partitions_touched() if partition in operation.overwrites]
    if both:
        why = f"instant {other.instant.requested} wrote to partition {both[0]!r}, all of which this one replaces"
        raise _conflict(client, operation, why)


def _refuse_rescaled(client: MetaClient, operation: ConcurrentOperation, other: Instant) -> None:
    """Refuse a write to buckets by other rules than the table was given since: its rows may be in none of them."""
    if other.requested in rescaling_instants(client.storage):
        raise _conflict(client, operation, f"{other.requested} has given the partitions other numbers of buckets")


def _keys(groups: pa.Table, buckets: bool) -> pa.Array:
    ids = groups["file_id"]
    if buckets:
        ids = pc.utf8_slice_codeunits(ids, 0, _BUCKET_DIGITS)
    return pc.binary_join_element_wise(groups["partition"], ids, "\0").combine_chunks()


def _refuse_other_schema(client: MetaClient, before: Timeline | None, operation: ConcurrentOperation) -> None:
    """A commit says what the table's schema is: an older one must not come back, nor a newer one be hidden."""
    if before is None or operation.schema is None:
        return
    current = _columns(client)
    if current is None or current == (_fields(operation.schema), operation.columns):
        return
    if _columns(client.at(before)) != current:
        raise _conflict(client, operation, "another writer changed the table's schema meanwhile")
    newest = client.schema_commit()
    if newest is not None and newest.instant.requested > operation.instant:
        why = f"it changes the schema, and instant {newest.instant.requested}, which is newer, has the one of before"
        raise _conflict(client, operation, why)
    service = _newer_service(client.timeline, operation.instant) if operation.columns is not None else None
    if service is not None:
        # Files are bound to versions by their instants: its files, with the columns of before, would be read by these.
        why = f"it changes the schema, and the table service {service}, which is newer, may have read the one of before"
        raise _conflict(client, operation, why)


def _newer_service(now: Timeline, instant: str) -> str | None:
    """A table service with a later instant, planned or completed; completed writes have been asked for before."""
    times = {i.requested for i in (*now.write_instants(), *now.pending({COMPACTION, LOG_COMPACTION}))}
    times |= {plan.instant.requested for plan in now.pending_clustering_plans()}
    return max((time for time in times if time > instant), default=None)


def _columns(client: MetaClient) -> tuple[object, object] | None:
    """The table's schema as far as it matters: its fields, and those with ids where columns have ids."""
    schema = client.avro_schema()
    if schema is None:
        return None
    evolved = client.evolved_schema()
    return _fields(schema), None if evolved is None else evolved.query.fields


def _fields(schema: Mapping[str, object]) -> object:
    return schema.get("fields")


def refuse_new_index(now: MetaClient, begun: MetaClient, instant: str) -> None:
    """Refuse to complete a write without keys for a record index that was made since it began.

    Args:
        now: the table as it is now, read under its lock.
        begun: the table as the write began with it.
        instant: of the write.

    Raises:
        WriteConflictError: the index would lack the write's records.
    """
    if RECORD_INDEX in now.config.metadata_partitions and RECORD_INDEX not in written_partitions(begun.config):
        operation = ConcurrentOperation(instant, "", TOUCHED_SCHEMA.empty_table())
        raise _conflict(now, operation, "the metadata table was given a record index meanwhile")


def _second_writer(client: MetaClient, operation: ConcurrentOperation, other: CommitMetadata) -> WriteConflictError:
    why = f"instant {other.instant.requested} ({other.operation}) of another writer completed meanwhile"
    error = _conflict(client, operation, why)
    several = "to have several writers set hoodie.write.concurrency.mode=optimistic_concurrency_control and a lock"
    return WriteConflictError(
        error.message, path=error.path, instant=error.instant, remedy=f"{_AGAIN}; {several} provider"
    )


def _conflict(client: MetaClient, operation: ConcurrentOperation, why: str) -> WriteConflictError:
    return WriteConflictError(
        f"the write cannot complete: {why}",
        path=client.base_path,
        instant=operation.instant or None,
        remedy=_AGAIN,
    )
