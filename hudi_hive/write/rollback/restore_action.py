"""Restore: rolls back every write after a savepoint, newest first, as one action.

Source: docs/format.md#plans.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace

from hudi_hive.errors import WriteError
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.instants import CLUSTERING, COMPLETED_WRITE_ACTIONS, REPLACE_COMMIT, RESTORE, SAVEPOINT
from hudi_hive.timeline.payloads import (
    RestoreMetadata,
    RestorePlan,
    RollbackMetadata,
    encode_restore_metadata,
    encode_restore_plan,
)
from hudi_hive.write.rollback.rollback_action import forget, hand_down_versions, undo
from hudi_hive.write.rollback.undo import files_to_undo
from hudi_hive.write.service_base import Claim, ServiceContext, claimed, refuse_pending_restore


def restore(context: ServiceContext, savepoint: str) -> RestoreMetadata:
    """Restore a table to a savepoint; everything written after it is deleted for good.

    A restore that died is taken up by the next call with the same savepoint. A write that is under way meanwhile is
    undone with the others, and its writer refused when it completes.

    Args:
        context: the table; its lock must not be held.
        savepoint: requested time of the savepoint.

    Raises:
        WriteConflictError: another process is at the restore.
        WriteError: there is no such savepoint, a later savepoint stands in the way, or writes after it are archived;
            nothing was changed.
    """
    context = context.reload()
    pending = context.client.timeline.pending({RESTORE})
    if pending:
        plan = context.client.timeline.restore_plan(pending[0])
        if plan.savepoint != savepoint:
            raise WriteError(
                f"a restore to {plan.savepoint} has not ended",
                path=context.client.base_path,
                instant=pending[0].requested,
                remedy=f"end it: restore to {plan.savepoint}",
            )
        return _claimed(context, pending[0], plan)
    targets: list[tuple[str, str]] = []

    def check(now: ServiceContext) -> None:
        """What was written since the caller looked is undone too."""
        refuse_pending_restore(now.client)
        targets[:] = _targets(now, savepoint)

    def payload(instant: str) -> bytes:
        bare = Instant(instant, RESTORE, State.REQUESTED, None, "", "")
        return encode_restore_plan(RestorePlan(bare, tuple(targets), savepoint))

    context, instant = context.request(RESTORE, payload, check=check)
    return _claimed(context, instant, RestorePlan(instant, tuple(targets), savepoint))


def _claimed(context: ServiceContext, instant: Instant, plan: RestorePlan) -> RestoreMetadata:
    with claimed(context, instant) as claim:
        return _execute(claim, plan)


def _targets(context: ServiceContext, savepoint: str) -> tuple[tuple[str, str], ...]:
    """Writes after the savepoint in any state, newest first."""
    timeline, path = context.client.timeline, context.client.base_path
    points = {i.requested for i in timeline.completed({SAVEPOINT})}
    if savepoint not in points:
        raise WriteError(
            "there is no such savepoint", path=path, instant=savepoint, remedy="`hudi-hive timeline` lists them"
        )
    _refuse_later(context.client, savepoint)
    known = timeline.archived().completed_since(savepoint)
    archived = sorted(time for time, action in known if action in COMPLETED_WRITE_ACTIONS and time > savepoint)
    if archived:
        raise WriteError(
            f"{len(archived)} writes after the savepoint are archived and cannot be undone, the first is {archived[0]}",
            path=path,
            instant=savepoint,
            remedy="write the rows again instead; hoodie.archive.beyond.savepoint=false keeps such writes",
        )
    after = [i for i in timeline.instants if i.is_write and i.requested > savepoint]
    return tuple((i.requested, i.action) for i in sorted(after, key=lambda i: i.requested, reverse=True))


def _refuse_later(client: MetaClient, savepoint: str, targets: Collection[str] = ()) -> None:
    """Refuse to undo what a savepoint keeps that is later than the one to go back to, or of an instant to be undone."""
    points = (i.requested for i in client.timeline.completed({SAVEPOINT}))
    later = sorted(time for time in points if time > savepoint or time in targets)
    if later:
        raise WriteError(
            f"later savepoints stand in the way: {', '.join(later)}",
            path=client.base_path,
            instant=savepoint,
            remedy="delete them",
        )


def _execute(claim: Claim, plan: RestorePlan) -> RestoreMetadata:
    context, instant = claim.context, claim.instant
    started = time.monotonic_ns()
    # The plan may be another writer's, and savepoints may have come since.
    undoing = {requested for requested, _ in plan.targets}
    _refuse_later(context.client, plan.savepoint or max(undoing, default=""), undoing)
    hand_down_versions(context, [requested for requested, _ in plan.targets])
    undone: dict[str, tuple[RollbackMetadata, ...]] = {}
    for requested, action in plan.targets:
        context = context.reload()
        target = _state_of(context, requested, action)
        if context.writer.exclude(target):
            context = context.reload()
            target = _state_of(context, requested, action)
        requests = files_to_undo(context.client, target, context.executor, undone=[time for time, _ in plan.targets])
        undone[requested] = (undo(context, instant.requested, target, requests),)
    metadata = RestoreMetadata(instant, tuple(time for time, _ in plan.targets), plan.targets, undone)

    def finish(now: ServiceContext, table: MetadataWriter | None) -> bytes:
        claim.heartbeat.verify()
        undone_times = {requested for requested, _ in plan.targets}
        for target in [i for i in now.client.timeline.instants if i.is_write and i.requested in undone_times]:
            forget(now, target, keep_plan=False)
        if table is not None:
            table.restore(instant.requested)
        taken = (time.monotonic_ns() - started) // 1_000_000
        return encode_restore_metadata(metadata, now.client.base_path, taken)

    return replace(metadata, instant=context.complete(instant, finish))


def _state_of(context: ServiceContext, requested: str, action: str) -> Instant:
    """What is there of a write, which an earlier attempt of the restore may have taken off the timeline."""
    own = [i for i in context.client.timeline.instants if i.requested == requested and i.is_write]
    if own:
        return own[0]
    name = REPLACE_COMMIT if action == CLUSTERING else action
    return Instant(requested, name, State.REQUESTED, None, "", "")
