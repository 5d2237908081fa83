"""Log compaction: merges the log blocks of file slices to one block, beside them and without their base files.

Readers take the block in place of those that it names; the files stay until the slice is cleaned. A plan holds only
while nothing else changes its slices: one whose run died, or that was passed, is given up, and made again.

Source: RFC-48, docs/format.md#log-compaction, docs/format.md#plans.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedTableError, WriteConflictError
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.plan import ScanPlan
from hudi_hive.read.scan import SliceReader, partition_columns
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table.logs import BlockRange, open_logs
from hudi_hive.table.merge import MergeSpec
from hudi_hive.table.view import FileKind, parse_file_names
from hudi_hive.timeline import Instant, State, Timeline
from hudi_hive.timeline.instants import DELTA_COMMIT, LOG_COMPACTION
from hudi_hive.timeline.payloads import CompactionPlan, encode_commit, encode_compaction_plan
from hudi_hive.write.column_indexes import left_by
from hudi_hive.write.commit import metadata_changes
from hudi_hive.write.coordination import ConcurrentOperation, check_conflicts, touched_groups
from hudi_hive.write.files import (
    Attempt,
    TargetSlice,
    TargetSlices,
    WriteContext,
    joined,
    write_compacted_log,
)
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.rollback import rollback
from hudi_hive.write.service_base import (
    Claim,
    ServiceContext,
    claim,
    is_beating,
    pending_still,
    refuse_pending_restore,
    refuse_pending_undo,
    rolled_back_now,
)
from hudi_hive.write.services.compaction import busy_groups, refuse_copy_on_write, slice_metrics
from hudi_hive.write.services.rewrite import plan_of, service_write_context, slices_of, with_source_files
from hudi_hive.write.services.runs import carried_through, settled_stats

_log = logging.getLogger(__name__)

LOG_COMPACT: Final = "LOG_COMPACT"
"""The operation in commits of log compactions."""
_COMPACTOR: Final = "org.apache.hudi.table.action.compact.LogCompactionExecutionHelper"
_ATTEMPTS: Final = 1 << 30
_BATCH_ROWS: Final = 1 << 16


def log_compact(context: ServiceContext) -> list[Instant]:
    """Execute the planned log compactions that still hold, then schedule and execute one of the rest.

    Args:
        context: the table; its lock must not be held.

    Returns:
        The completed delta commits.

    Raises:
        UnsupportedTableError: the table has no log files, or records that are made of several.
        WriteConflictError: another write was at the same file groups; the log compaction is undone.
    """
    refuse_log_compaction(context.client)
    done = run_planned_log_compactions(context)
    chosen = _slices_with_blocks(context.reload())
    if not chosen:
        return done
    with context.lock():
        now = context.reload()
        planned = _scheduled(now, chosen)
        own = None if planned is None else claim(now.with_pending(planned), planned)
    return done if own is None else [*done, _completed(context, own)]


def schedule_log_compaction(context: ServiceContext) -> Instant | None:
    """Schedule a log compaction of the slices with enough log blocks that no other plan contains; None without any.

    Args:
        context: the table; its lock must not be held.

    Raises:
        UnsupportedTableError: as of :func:`log_compact`.
    """
    refuse_log_compaction(context.client)
    chosen = _slices_with_blocks(context.reload())
    if not chosen:
        return None
    with context.lock():
        return _scheduled(context.reload(), chosen)


def refuse_log_compaction(client: MetaClient) -> None:
    """Refuse to merge the log blocks of a table without their base files.

    Raises:
        UnsupportedTableError: the table is copy on write, or a record may be made of several.
    """
    refuse_copy_on_write(client)
    if MergeSpec.from_config(client.config).makes_rows:
        raise UnsupportedTableError(
            "log blocks of a table with partial updates or a registered merger are not merged without base files",
            path=client.base_path,
            remedy="compact the table instead",
        )


# -- planning --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Look:
    """A slice whose log blocks are counted."""

    storage: Storage
    timeline: Timeline
    partition: str
    log_files: tuple[str, ...]
    sizes: tuple[int | None, ...]
    threshold: int


def _slices_with_blocks(context: ServiceContext) -> list[dict[str, Any]]:
    """The slices that have the blocks for a log compaction, found without the table's lock, since files are read."""
    client = context.client
    threshold = WriteConfig.of(context.options, client.config).compaction.log_blocks_threshold
    busy = busy_groups(client)
    slices = client.file_system_view().latest_file_slices()
    slices = slices.filter(pc.greater(pc.list_value_length(slices["log_files"]), 0))
    rows = [row for row in slices.to_pylist() if (row["partition"], row["file_id"]) not in busy]
    looks = [
        _Look(
            client.storage,
            client.timeline,
            row["partition"],
            tuple(row["log_files"]),
            tuple(row["log_sizes"]),
            threshold,
        )
        for row in rows
    ]
    enough = context.executor.map(_has_enough, looks)
    return [row for row, yes in zip(rows, enough, strict=True) if yes]


def _has_enough(look: _Look) -> bool:
    """Whether the blocks that count, log compactions taken for what they replace, are enough, of several instants."""
    count = BlockRange(look.timeline)
    logs = open_logs(look.storage, look.partition, look.log_files, blocks=count, sizes=look.sizes)
    instants = {block.instant for block in logs.blocks}
    return len(logs.blocks) >= look.threshold and len(instants) > 1 and not logs.are_partial


def _scheduled(now: ServiceContext, chosen: Sequence[dict[str, Any]]) -> Instant | None:
    """Write the plan under the lock, of those of the chosen slices that are as they were."""
    refuse_pending_restore(now.client)
    refuse_pending_undo(now)
    busy = busy_groups(now.client)
    partitions = sorted({row["partition"] for row in chosen})
    current = now.client.file_system_view(partitions).latest_file_slices().to_pylist()
    rows = [row for row in current if row in chosen and (row["partition"], row["file_id"]) not in busy]
    if not rows:
        return None
    schema = pa.schema(
        [
            ("partition", pa.string()),
            ("file_id", pa.string()),
            ("base_instant", pa.string()),
            ("base_file", pa.string()),
            ("log_files", pa.list_(pa.string())),
        ]
    )
    operations = pa.Table.from_pylist([{name: row[name] for name in schema.names} for row in rows], schema=schema)
    operations = with_source_files(now.client, operations)
    metrics = [slice_metrics(row, sum(row["log_sizes"])) for row in rows]
    time = now.clock.new_instant(now.client.timeline, now.client.config.timezone)
    bare = Instant(time, LOG_COMPACTION, State.REQUESTED, None, "", "")
    plan = CompactionPlan(bare, operations, {}, 2)
    payload = encode_compaction_plan(plan, now.client.config.layout, metrics=metrics, compactor=_COMPACTOR)
    return now.writer.create_requested(LOG_COMPACTION, time, payload)


# -- running ---------------------------------------------------------------------------------------------------------


def run_planned_log_compactions(context: ServiceContext) -> list[Instant]:
    """Execute the planned log compactions at which no other process is, and give up those that do not hold any more.

    Args:
        context: the table; its lock must not be held.

    Returns:
        The completed delta commits.
    """
    now = context.reload()
    undone = {requested for requested, _ in rolled_back_now(now)}
    pending = [one for one in now.client.timeline.pending({LOG_COMPACTION}) if one.requested not in undone]
    runs = [execute_log_compaction(context, one) for one in pending if not is_beating(context, one.requested)]
    return [instant for instant in runs if instant is not None]


def execute_log_compaction(context: ServiceContext, instant: Instant) -> Instant | None:
    """Execute a scheduled log compaction.

    Args:
        context: the table; its lock must not be held.
        instant: the log compaction.

    Returns:
        The completed delta commit; None where the plan was given up: a run of it died, or others changed its slices.

    Raises:
        WriteConflictError: another process is at it, or has completed it.
        HudiHiveError: a slice cannot be read or written; the plan is given up.
    """
    context = context.reload()
    instant = pending_still(context, instant)
    if instant.state is State.INFLIGHT:
        _log.info("log compaction %s is given up: a run of it died", instant.requested)
        rollback(context, instant, dead=True)
        return None
    with context.lock():
        own = claim(context.reload(), instant)
    try:
        return _completed(context, own)
    except WriteConflictError as error:
        _log.warning("log compaction %s is given up: %s", instant.requested, error)
        return None


def _completed(context: ServiceContext, own: Claim) -> Instant:
    """Execute a log compaction that is this process's, or undo it with its plan."""
    return carried_through(context, own, _run, "log compaction")


@dataclass(frozen=True)
class _Task:
    """One slice: how it is read, and where its log file goes."""

    write_context: WriteContext
    plan: ScanPlan
    target: TargetSlice
    attempt: Attempt


def _run(own: Claim) -> Instant:
    context, time = own.context, own.instant.requested
    client = context.client
    operations = client.timeline.compaction_plan(own.instant).operations
    slices = slices_of(client, operations)
    write_context, metadata = service_write_context(context, time)
    targets = _targets(client, slices)
    _check(context, client.timeline, time, _touched(targets))
    tasks = [
        _Task(write_context, plan_of(context, write_context, slices.slice(number, 1)), target, Attempt(task=number))
        for number, target in enumerate(targets)
    ]
    statuses = joined(context.executor.map(_merge_blocks, tasks))
    stats = settled_stats(context, time, statuses)
    metadata = replace(metadata, operation=LOG_COMPACT, stats=stats, compacted=True)
    payload = encode_commit(metadata, client.config.layout)

    def finish(now: ServiceContext, table: MetadataWriter | None) -> bytes:
        own.heartbeat.verify()
        _check(now, client.timeline, time, touched_groups(statuses))
        if table is not None:
            changes = replace(metadata_changes(statuses, {}), moves_rows=False)
            behind = left_by(time, DELTA_COMMIT, payload)
            table.apply(time, DELTA_COMMIT, changes, current=True, behind=behind)
        return payload

    return context.complete(own.instant, finish)


def _check(now: ServiceContext, started: Timeline, instant: str, touched: pa.Table) -> None:
    """Refuse to go on where others have changed the slices since the plan was made."""
    check_conflicts(now.client, None, ConcurrentOperation(instant, LOG_COMPACT, touched), started=started)


def _touched(targets: Sequence[TargetSlice]) -> pa.Table:
    columns = [[one.partition for one in targets], [one.file_id for one in targets], ["log"] * len(targets)]
    return pa.table([pa.array(column, pa.string()) for column in columns], ["partition", "file_id", "kind"])


def _targets(client: MetaClient, slices: pa.Table) -> list[TargetSlice]:
    """The slices as targets, with the greatest version of their log files on disk, others' unfinished ones included."""
    by_place = TargetSlices.of(slices).targets
    places = list(zip(slices["partition"].to_pylist(), slices["file_id"].to_pylist(), strict=True))
    versions: dict[tuple[str, str, str], int] = {}
    if client.config.layout == 1:
        files = client.directory_lister.files(sorted({partition for partition, _ in places}))
        parts = parse_file_names(files["name"])
        logs = pc.equal(parts["kind"], FileKind.LOG.value)
        columns = (files["partition"], parts["file_id"], parts["instant"].cast(pa.string()), parts["log_version"])
        for *slice_of, version in zip(*(column.filter(logs).to_pylist() for column in columns), strict=True):
            partition, file_id, instant = slice_of
            versions[partition, file_id, instant] = max(versions.get((partition, file_id, instant), 0), version)
    targets = [by_place[place] for place in places]
    return [
        replace(
            target,
            log_version=versions.get((target.partition, target.file_id, str(target.base_instant)), target.log_version),
        )
        for target in targets
    ]


def _merge_blocks(task: _Task) -> pa.Table:
    """Merge the log files of one slice."""
    context, slices = task.write_context, task.plan.slices
    reader = SliceReader.of(context.storage, task.plan, context.schema.names, _BATCH_ROWS, schema=task.plan.schema)
    row = slices.to_pylist()[0]
    log = reader.merged_log(row, partition_columns(task.plan, slices))
    if log is None:
        return joined(())
    log = log if log.rows.schema.equals(context.schema) else replace(log, rows=log.rows.cast(context.schema))
    attempt = replace(task.attempt, attempt=secrets.randbelow(_ATTEMPTS))
    return write_compacted_log(context, attempt, task.target, log, log_bytes=sum(n or 0 for n in row["log_sizes"]))


__all__ = [
    "execute_log_compaction",
    "log_compact",
    "refuse_log_compaction",
    "run_planned_log_compactions",
    "schedule_log_compaction",
]
