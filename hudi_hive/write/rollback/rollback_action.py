"""Rollback: rolls back an instant, and the instants of dead writers.

The plan is on the timeline before anything is touched, and every step can be done again: a rollback that died is taken
up from its plan. The data goes first, the instant's own files last, so that nothing undone ever looks committed.

Source: docs/format.md#committed-instants, docs/format.md#plans, docs/format.md#command-blocks.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial

import pyarrow as pa

from hudi_hive.errors import InstantNotFoundError, WriteConflictError, WriteError
from hudi_hive.metadata.reader import DELETED_FILES_SCHEMA, MetadataChanges
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.options import services as declared
from hudi_hive.table import FILES_SCHEMA, MetaClient
from hudi_hive.table.keys import remove_bucket_rules
from hudi_hive.table.view import check_data_files
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.instants import (
    CLUSTERING,
    COMPACTION,
    COMPLETED_WRITE_ACTIONS,
    REPLACE_COMMIT,
    ROLLBACK,
    SAVEPOINT,
)
from hudi_hive.timeline.payloads import (
    RollbackMetadata,
    RollbackPartition,
    RollbackPlan,
    RollbackRequest,
    encode_rollback_metadata,
    encode_rollback_plan,
)
from hudi_hive.write.coordination import (
    WriterHeartbeat,
    heartbeat_times,
    remove_heartbeat,
    silent_instants,
)
from hudi_hive.write.files import (
    remove_markers,
    remove_staging,
    remove_unclaimed,
    try_remove_leftovers,
)
from hudi_hive.write.index import remove_hashing
from hudi_hive.write.rollback.late_files import with_announced
from hudi_hive.write.rollback.leftovers import drop_leftovers, leftovers
from hudi_hive.write.rollback.requests import undo_request
from hudi_hive.write.rollback.undo import files_to_undo
from hudi_hive.write.schema import LATEST_SCHEMA, persist, read, remove, versions_until
from hudi_hive.write.service_base import (
    Claim,
    ServiceContext,
    claimed,
    ending,
    is_beating,
    pending_still,
    refuse_beating,
    refuse_lost_versions,
    refuse_pending_restore,
    refuse_planned,
    refuse_savepointed,
    refuse_topped,
    rolled_back_now,
)


def rollback(
    context: ServiceContext,
    instant: Instant | str,
    *,
    drop_plan: bool = False,
    dead: bool = False,
    pending: bool = False,
) -> RollbackMetadata:
    """Roll an instant back under a new rollback instant.

    A completed write can be undone only if none completed after it and what it wrote over is still there; a pending
    one any time. A compaction or clustering that has begun goes back to being requested, as its plan is still good; of
    one that has not, the plan goes, and that of a log compaction always: Hudi makes another one.

    Args:
        context: the table; its lock must not be held.
        instant: the instant, or its requested time.
        drop_plan: do not leave a table service's plan.
        dead: only if nobody is at work at it.
        pending: only if it is pending still.

    Raises:
        InstantNotFoundError: there is no such instant on the active timeline.
        WriteConflictError: it was completed or undone meanwhile, is being undone, or somebody is at work at it.
        WriteError: it cannot be undone; nothing was changed.
    """
    context = context.reload()
    requested = instant.requested if isinstance(instant, Instant) else instant
    if pending and not any(i.requested == requested for i in context.client.timeline.pending()):
        raise _conflict(context, f"the write of {requested}", requested)
    target = _target(context, requested)
    _check(context, target)
    requests = files_to_undo(context.client, target, context.executor)
    begun = isinstance(instant, Instant) and instant.state is State.INFLIGHT
    drop_plan = drop_plan or (target.state is State.REQUESTED and not begun)
    with ExitStack() as stack:
        beating: list[WriterHeartbeat] = []

        def plan(drawn: str) -> bytes:
            beating.append(WriterHeartbeat.of(context.options, context.client.storage, drawn))
            beating[0].start()  # ahead of the request: from there on others go on with it if nobody is at it
            stack.enter_context(ending(beating[0], drawn))
            own = Instant(drawn, ROLLBACK, State.REQUESTED, None, "", "")
            return encode_rollback_plan(_plan(own, target, requests), context.client.base_path)

        seen = context.client.timeline.instants
        check = partial(_check_again, target=target, dead=dead, seen=seen)
        now, own = context.request(ROLLBACK, plan, check=check)
        return _execute(now, own, target, requests, beating[0], drop_plan=drop_plan)


def rollback_failed_writes(context: ServiceContext, *, recent: bool = False) -> list[RollbackMetadata]:
    """Complete interrupted rollbacks, then roll back the writes of dead writers, newest first.

    A writer is dead that has no heartbeat, a silent one, or that of a process which has ended. Unlike Hudi, ``EAGER``
    of ``hoodie.cleaner.policy.failed.writes`` (one writer) spares living ones too, as ``LAZY`` does: two processes may
    write without knowing of each other. ``NEVER`` undoes nothing. Table services are not writes: what is left of them
    is taken up by the next run of the service. Markers and silent heartbeats that outlived their instant go too.

    Args:
        context: the table; its lock must not be held.
        recent: the context's table was read right before: it is not read again where nothing is pending.

    Raises:
        WriteError: a restore has not ended.
    """
    marked, beating = leftovers(context.client.storage)
    if recent and not marked and not beating and not context.client.timeline.pending():
        return []
    context = context.reload()  # behind the listings: whose markers were there is on the timeline, if it goes on
    refuse_pending_restore(context.client)
    done = []
    for pending in context.client.timeline.pending({ROLLBACK}):
        if not is_beating(context, pending.requested):
            with suppress(WriteConflictError):  # another process goes on with it
                done.append(resume(context, pending))
        context = context.reload()
    drop_leftovers(context, marked, beating)
    for requested in sorted((i.requested for i in _dead_writes(context)), reverse=True):
        with suppress(WriteConflictError, InstantNotFoundError):  # another process was first
            done.append(rollback(context, requested, dead=True, pending=True))
    return done


def resume(context: ServiceContext, instant: Instant) -> RollbackMetadata:
    """Continue an interrupted rollback from its plan.

    Raises:
        WriteConflictError: another process goes on with it.
    """
    with claimed(context, instant) as claim:
        return _resumed(claim)


def _resumed(claim: Claim) -> RollbackMetadata:
    context, instant = claim.context, claim.instant
    plan = context.client.timeline.rollback_plan(instant)
    if plan.target is None:
        raise WriteError(
            "the plan of a pending rollback names no instant", path=instant.path, instant=instant.requested
        )
    requested, action = plan.target
    target = _state_of(context, requested, action)
    if context.writer.exclude(target):
        context = context.reload()
        target = _state_of(context, requested, action)
    return _execute(context, instant, target, plan.requests, claim.heartbeat)


def _state_of(context: ServiceContext, requested: str, action: str) -> Instant:
    """What is there of the target of a rollback that is taken up again."""
    left = [i for i in context.client.timeline.instants if i.requested == requested and i.action != SAVEPOINT]
    return left[0] if left else Instant(requested, action, State.REQUESTED, None, "", "")


def requested_again(context: ServiceContext, instant: Instant) -> tuple[ServiceContext, Instant]:
    """Reset the instant of a table service to requested: undo what an interrupted run has made.

    Raises:
        WriteConflictError: another process is at it, or has completed or undone it.
    """
    context = context.reload()
    for begun in context.client.timeline.pending({ROLLBACK}):
        target = context.client.timeline.rollback_plan(begun).target
        if target is not None and target[0] == instant.requested and not is_beating(context, begun.requested):
            resume(context, begun)
            context = context.reload()
    instant = pending_still(context, instant)
    if instant.state is not State.INFLIGHT:
        return context, instant
    rollback(context, instant, dead=True)
    context = context.reload()
    return context, context.client.timeline.get(instant.requested)


def remove_late_files(context: ServiceContext, target: Instant) -> None:
    """Delete the files of a write that another process rolls back while it is running.

    Args:
        context: the table.
        target: the write, of this process.
    """
    context = context.reload()
    if any(i.requested == target.requested and i.is_completed for i in context.client.timeline.instants):
        return
    remove_unclaimed(context.client.storage, target.requested, ())
    for request in files_to_undo(context.client, target, context.executor):
        if not request.log_blocks:  # blocks of an instant that is not on the timeline count for nobody
            undo_request(context.client.storage, target.requested, target.requested, request)
    try_remove_leftovers(context.client.storage, target.requested)


def undo(
    context: ServiceContext, instant: str, target: Instant, requests: Sequence[RollbackRequest]
) -> RollbackMetadata:
    """Execute rollback requests on the data, without changing the timeline.

    Args:
        context: the table.
        instant: requested time of the rollback or restore.
        target: what is undone.
        requests: the files.
    """
    storage = context.client.storage
    requests = with_announced(context.client, target, requests)
    for request in requests:  # all of them before anything is undone
        check_data_files(request.partition, request.files, instant=instant)
    refuse_savepointed(context.client, target.requested, requests)
    if target.is_completed:
        if storage.replaces_atomically:
            context.writer.delete(target, [State.INFLIGHT])  # of which a late request would make it complete again
        context.writer.delete(target, [State.COMPLETED])  # readers stop seeing it before its files go
    if target.action in (REPLACE_COMMIT, CLUSTERING):
        remove_bucket_rules(storage, target.requested)
        if context.client.config.is_merge_on_read:
            remove_hashing(storage, target.requested)
    parts = context.executor.map(partial(undo_request, storage, instant, target.requested), requests)
    partitions = {path: _merged(own) for path, own in _by_partition(requests, parts)}
    # A file that came back by a loss of power would count as committed once younger instants are archived.
    storage.flush_folders(partitions)
    return RollbackMetadata(
        instant=Instant(instant, ROLLBACK, State.COMPLETED, None, "", ""),
        rolled_back=(target.requested,),
        targets=((target.requested, target.action),),
        total_files_deleted=sum(len(part.deleted) for part in partitions.values()),
        partitions=partitions,
    )


def forget(context: ServiceContext, target: Instant, *, keep_plan: bool) -> None:
    """Remove a rolled-back instant from the timeline, with its markers and heartbeat.

    Args:
        context: the table, under its lock.
        target: the instant.
        keep_plan: leave it requested: a table service can be run again from its plan.
    """
    context.writer.delete(target, [State.COMPLETED, State.INFLIGHT])
    if not keep_plan:
        context.writer.delete(target, [State.REQUESTED])
    remove_markers(context.client.storage, target.requested)
    remove_staging(context.client.storage, target.requested)
    remove_heartbeat(context.client.storage, target.requested)
    remove(context.client.storage, [target.requested])


def hand_down_versions(context: ServiceContext, targets: Collection[str]) -> None:
    """Keep versions of an id-based schema that only files of rolled-back instants hold.

    The newest commit that stays gets a history of its own, as far as it had come.

    Args:
        context: the table; its lock must not be held.
        targets: requested times, newer than all that stays.
    """
    newest = _newest_left(context.client, targets)
    if newest is None:
        return
    with context.lock():
        client = context.reload().client
        versions = versions_until(read(client), newest.requested)
        persist(client, newest.requested, newest.completed or "", versions)


def _newest_left(client: MetaClient, targets: Collection[str]) -> Instant | None:
    """The newest commit that stays, if it has no history of its own; None before the first change of columns."""
    if client.evolved_schema() is None:
        return None
    left = [i.requested for i in client.timeline.write_instants() if i.requested not in targets]
    newest = client.schema_commit(max(left)) if left else None
    if newest is None or LATEST_SCHEMA not in newest.extra:
        return None
    return None if newest.instant.requested in client.schema_history_files() else newest.instant


def changes_of(metadata: RollbackMetadata) -> MetadataChanges:
    """The changes of a rollback to the metadata table: deleted files, and log files of version 6."""
    added: list[tuple[str, str, int]] = []
    deleted: list[tuple[str, str]] = []
    for partition, part in metadata.partitions.items():
        deleted += [(partition, name) for name in part.deleted]
        sizes = {**part.failed_commit_logs, **part.command_logs}
        added += [(partition, name, size) for name, size in sizes.items()]
    return MetadataChanges(
        files_added=_columns(added, FILES_SCHEMA),
        files_deleted=_columns(deleted, DELETED_FILES_SCHEMA),
        partitions_touched=tuple(sorted(metadata.partitions)),
    )


def _still_there(client: MetaClient, changes: MetadataChanges) -> MetadataChanges:
    """The changes without log files that were deleted while the rollback went on; under the table's lock.

    In version 6 the log files of a write stay, and a clean that lists folders may give up their slice meanwhile. What
    it deletes from now on it takes out of the metadata table later.
    """
    added = changes.files_added
    if not added.num_rows:
        return changes
    listed = client.directory_lister.files(sorted(set(added["partition"].to_pylist())))
    there = added.join(listed.select(["partition", "name"]), ["partition", "name"], join_type="left semi")
    return replace(changes, files_added=there)


def _columns(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    values = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.table([pa.array(column, field.type) for column, field in zip(values, schema, strict=True)], schema=schema)


# -- choosing --------------------------------------------------------------------------------------------------------


def _target(context: ServiceContext, requested: str) -> Instant:
    instant = context.client.timeline.get(requested)
    active = [i for i in context.client.timeline.instants if i.requested == requested and i.is_write]
    if not active:
        raise WriteError(
            f"{instant} is no write on the active timeline and cannot be rolled back",
            path=context.client.base_path,
            instant=requested,
        )
    return active[0]


def _check(context: ServiceContext, target: Instant) -> None:
    timeline, path = context.client.timeline, context.client.base_path
    refuse_savepointed(context.client, target.requested)
    if not target.is_completed:
        refuse_topped(context.client, target)
        return
    later = [i for i in timeline.write_instants() if i.requested > target.requested]
    if later:
        raise WriteError(
            f"{len(later)} writes completed after this one, the last of them {later[-1].requested}",
            path=path,
            instant=target.requested,
            remedy="roll those back first, newest first, or restore a savepoint",
        )
    refuse_planned(context.client, target)
    refuse_lost_versions(context.client, target)


def _check_again(now: ServiceContext, *, target: Instant, dead: bool, seen: tuple[Instant, ...]) -> None:
    """Under the lock: what is to be undone is what it was, and nobody else's."""
    same = [i for i in now.client.timeline.instants if (i.requested, i.action) == (target.requested, target.action)]
    begun = {target[0] for target in rolled_back_now(now)}
    # Who takes the table's lock may have excluded it meanwhile, so that it is requested again.
    states = {target.state, State.REQUESTED} if target.state is State.INFLIGHT else {target.state}
    if not any(i.state in states for i in same) or target.requested in begun:
        raise _conflict(now, str(target), target.requested)
    if now.client.timeline.instants != seen:  # whoever deletes files is on the timeline
        _check(now, target)
    if dead:
        refuse_beating(now, target)
    if now.writer.exclude(target):
        later = now.client.reload().timeline.write_instants()
        if any(i.requested == target.requested for i in later):
            raise _conflict(now, str(target), target.requested)


def _conflict(now: ServiceContext, what: str, requested: str) -> WriteConflictError:
    return WriteConflictError(
        f"{what} was completed or undone by another process, or is being undone",
        path=now.client.base_path,
        instant=requested,
        remedy="look at the timeline; roll back again if it still has to be",
    )


def keeps_plan(context: ServiceContext, target: Instant) -> bool:
    """Whether an instant is that of a table service, which can run again from its plan."""
    if target.is_completed:
        return False
    if target.action in (COMPACTION, CLUSTERING):
        return True
    if target.action != REPLACE_COMMIT:
        return False
    return context.client.timeline.requested_replace_metadata(target).is_clustering


def _dead_writes(context: ServiceContext) -> Iterable[Instant]:
    if declared.FAILED_WRITES_POLICY.of(context.options) == "NEVER":
        return []
    timeline = context.client.timeline
    services = {plan.instant.requested for plan in timeline.pending_clustering_plans()}
    others = services | {target[0] for target in rolled_back_now(context)}
    pending = [i for i in timeline.pending(COMPLETED_WRITE_ACTIONS) if i.requested not in others]
    if not pending:
        return []
    interval, misses = heartbeat_times(context.options)
    times = [i.requested for i in pending]
    silent = silent_instants(context.client.storage, times, interval_ms=interval, misses=misses)
    return [i for i in pending if i.requested in silent]


# -- doing -----------------------------------------------------------------------------------------------------------


def _plan(instant: Instant, target: Instant, requests: Sequence[RollbackRequest]) -> RollbackPlan:
    return RollbackPlan(instant, (target.requested, target.action), tuple(requests))


def _execute(
    context: ServiceContext,
    instant: Instant,
    target: Instant,
    requests: Sequence[RollbackRequest],
    heartbeat: WriterHeartbeat,
    *,
    drop_plan: bool = False,
) -> RollbackMetadata:
    """Undo the data, then under the lock the metadata table, the instant, and complete."""
    started = time.monotonic_ns()
    keep = bool(target.path) and not drop_plan and keeps_plan(context, target)
    if instant.state is State.REQUESTED:
        instant = context.writer.transition_inflight(ROLLBACK, instant.requested, just_seen=True)
    if target.is_completed:
        hand_down_versions(context, [target.requested])
    metadata = undo(context, instant.requested, target, requests)

    def finish(now: ServiceContext, table: MetadataWriter | None) -> bytes:
        heartbeat.verify()
        if table is not None:
            changes = _still_there(now.client, changes_of(metadata))
            table.rollback(instant.requested, target.requested, changes, current=True)
        if target.path:
            forget(now, target, keep_plan=keep)
        taken = (time.monotonic_ns() - started) // 1_000_000
        return encode_rollback_metadata(replace(metadata, time_taken_ms=taken), context.client.base_path)

    return replace(metadata, instant=context.complete(instant, finish))


def _by_partition(
    requests: Sequence[RollbackRequest], parts: Sequence[RollbackPartition]
) -> Iterable[tuple[str, list[RollbackPartition]]]:
    groups: dict[str, list[RollbackPartition]] = defaultdict(list)
    for request, part in zip(requests, parts, strict=True):
        groups[request.partition].append(part)
    return sorted(groups.items())


def _merged(parts: Sequence[RollbackPartition]) -> RollbackPartition:
    command: dict[str, int] = {}
    failed: dict[str, int] = {}
    for part in parts:
        command |= part.command_logs
        failed |= part.failed_commit_logs
    return RollbackPartition(tuple(name for part in parts for name in part.deleted), (), command, failed)
