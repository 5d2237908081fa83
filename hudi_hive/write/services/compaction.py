"""Compaction: merges base files with their log files to new base files.

The plan names the files and opens a new slice, on top of which writers go on; running it later gives the same rows. A
run that died is undone and run again from the plan.

Source: docs/format.md#plans.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedTableError, WriteError
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.plan import ScanPlan
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.instants import COMMIT, COMPACTION, DELTA_COMMIT, LOG_COMPACTION, instant_to_millis
from hudi_hive.timeline.payloads import CompactionPlan, encode_commit, encode_compaction_plan
from hudi_hive.write.column_indexes import left_by
from hudi_hive.write.commit import metadata_changes
from hudi_hive.write.coordination import ConcurrentOperation, check_conflicts, touched_groups
from hudi_hive.write.files import (
    Attempt,
    WriteContext,
    joined,
    status,
)
from hudi_hive.write.options import CompactionSettings, WriteConfig
from hudi_hive.write.rollback import requested_again
from hudi_hive.write.service_base import (
    Claim,
    ServiceContext,
    claim,
    is_beating,
    refuse_pending_restore,
    refuse_pending_undo,
)
from hudi_hive.write.services.rewrite import (
    NewBase,
    plan_of,
    service_write_context,
    slice_rows,
    slices_of,
    with_source_files,
    write_base,
)
from hudi_hive.write.services.runs import carried_through, settled_stats

_COMPACT: Final = "COMPACT"
_MIB: Final = 1 << 20


def compact(context: ServiceContext, *, recent: bool = False) -> list[Instant]:
    """Execute pending compactions that no other process executes, then schedule and execute one of the rest.

    Args:
        context: the table; its lock must not be held.
        recent: the context's table was read right before.

    Returns:
        The completed commits.
    """
    now = context if recent else context.reload()
    pending = now.client.timeline.pending({COMPACTION})
    done = [execute_compaction(context, one) for one in pending if not is_beating(context, one.requested)]
    settings = WriteConfig.of(context.options, context.client.config).compaction
    refuse_copy_on_write(context.client)
    with context.lock():
        now = context.reload()
        planned = _scheduled(now, settings, None)
        own = None if planned is None else claim(now.with_pending(planned), planned)
    return done if own is None else [*done, _completed(context, own)]


def compaction_is_due(client: MetaClient, settings: CompactionSettings, *, now_ms: int | None = None) -> bool:
    """Whether a compaction is due, by the number of delta commits, the time since the last one, or both.

    Args:
        client: the table.
        settings: how often, and by what that is measured.
        now_ms: milliseconds since the epoch; this machine's clock without it.
    """
    if not client.config.is_merge_on_read:
        return False
    commits, since = _since_compaction(client, requested=settings.trigger == "NUM_COMMITS_AFTER_LAST_REQUEST")
    if since is None:
        return False
    enough = commits >= settings.after_commits
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    # Whole seconds of both, as Hudi counts them.
    seconds = now_ms // 1000 - instant_to_millis(since, client.config.timezone) // 1000
    late = seconds >= settings.after_seconds
    if settings.trigger == "TIME_ELAPSED":
        return late
    if settings.trigger == "NUM_AND_TIME":
        return enough and late
    return (enough or late) if settings.trigger == "NUM_OR_TIME" else enough


def _since_compaction(client: MetaClient, *, requested: bool) -> tuple[int, str | None]:
    """Completed delta commits after the last compaction, and its time: without any that of the first delta commit."""
    timeline = client.timeline
    last = [i.requested for i in timeline.completed({COMMIT})]
    if requested:
        last += [i.requested for i in timeline.pending({COMPACTION})]
    newest = max(last, default="")
    deltas = [i.requested for i in timeline.completed({DELTA_COMMIT}) if i.requested > newest]
    return len(deltas), newest or min(deltas, default=None)


def schedule_compaction(context: ServiceContext, partitions: Sequence[str] | None = None) -> Instant | None:
    """Schedule a compaction of all slices with log files that no other plan contains; None without any.

    Args:
        context: the table; its lock must not be held.
        partitions: only these.

    Raises:
        UnsupportedTableError: the table is copy on write, or the strategy is not known.
        WriteError: version 6: a write is pending, whose log files would be lost on the older slices.
    """
    settings = WriteConfig.of(context.options, context.client.config).compaction
    refuse_copy_on_write(context.client)
    with context.lock():
        return _scheduled(context.reload(), settings, partitions)


def _scheduled(now: ServiceContext, settings: CompactionSettings, partitions: Sequence[str] | None) -> Instant | None:
    """Write the plan of a compaction under the lock; arguments and errors as of :func:`schedule_compaction`."""
    refuse_pending_restore(now.client)
    refuse_pending_undo(now)
    _refuse_pending_writes(now.client)
    operations = plan_operations(now.client, settings, partitions)
    if not operations.num_rows:
        return None
    time = now.clock.new_instant(now.client.timeline, now.client.config.timezone)
    bare = Instant(time, COMPACTION, State.REQUESTED, None, "", "")
    operations = with_source_files(now.client, operations)
    payload = encode_compaction_plan(CompactionPlan(bare, operations, {}, 2), now.client.config.layout)
    return now.writer.create_requested(COMPACTION, time, payload)


def refuse_copy_on_write(client: MetaClient) -> None:
    """Refuse to compact a table that has no log files.

    Raises:
        UnsupportedTableError: the table is copy-on-write.
    """
    if not client.config.is_merge_on_read:
        raise UnsupportedTableError(
            "only merge-on-read tables are compacted",
            path=client.base_path,
            remedy="join small files of this one by clustering",
        )


def _refuse_pending_writes(client: MetaClient) -> None:
    """In version 6 a log file belongs to the slice in its name: one that a running write makes would end up below."""
    if client.config.layout != 1:
        return
    pending = client.timeline.pending({DELTA_COMMIT, LOG_COMPACTION})
    if pending:
        raise WriteError(
            "a compaction cannot be planned while a write is pending in a table of version 6",
            path=client.base_path,
            instant=pending[0].requested,
            remedy="wait for it, or roll it back if its writer is dead",
        )


def plan_operations(client: MetaClient, settings: CompactionSettings, partitions: Sequence[str] | None) -> pa.Table:
    """Slices to compact, those with most log bytes or files first: ``OPERATIONS_SCHEMA`` and ``metrics``."""
    slices = client.file_system_view(partitions).latest_file_slices()
    counts = pc.list_value_length(slices["log_files"])
    slices = slices.filter(pc.and_(pc.greater(counts, 0), pc.greater_equal(counts, settings.log_count_threshold)))
    busy = busy_groups(client)
    places = zip(slices["partition"].to_pylist(), slices["file_id"].to_pylist(), strict=True)
    slices = slices.filter(pa.array([place not in busy for place in places], pa.bool_()))
    rows = slices.to_pylist()
    logs = np.array([sum(row["log_sizes"]) for row in rows], np.int64)
    by_files = "LogFileNumBased" in settings.strategy
    weights = np.array([len(row["log_files"]) for row in rows], np.int64) if by_files else logs
    order = np.argsort(-weights, kind="stable")
    order = order[logs[order] >= settings.log_size_threshold]
    chosen: list[dict[str, Any]] = []
    left = settings.target_io_mb * _MIB if "UnBounded" not in settings.strategy else None
    for number in order.tolist():
        row = rows[number]
        cost = 2 * (row["base_size"] or 0) + int(logs[number])
        if left is not None:
            left -= cost
            if left < 0 and chosen:
                break
        chosen.append({**row, "metrics": list(slice_metrics(row, int(logs[number])).items())})
    schema = pa.schema(
        [
            ("partition", pa.string()),
            ("file_id", pa.string()),
            ("base_instant", pa.string()),
            ("base_file", pa.string()),
            ("log_files", pa.list_(pa.string())),
            ("metrics", pa.map_(pa.string(), pa.float64())),
        ]
    )
    return pa.Table.from_pylist([{name: row[name] for name in schema.names} for row in chosen], schema=schema)


def slice_metrics(row: Mapping[str, Any], logs: int) -> dict[str, float]:
    """What rewriting a slice reads and writes, under the names that Hudi has in plans.

    Args:
        row: the slice: ``base_size``, in bytes, and ``log_files``.
        logs: bytes of its log files.
    """
    base = int(row["base_size"] or 0)
    return {
        "TOTAL_LOG_FILES": float(len(row["log_files"])),
        "TOTAL_LOG_FILES_SIZE": float(logs),
        "TOTAL_IO_READ_MB": float((base + logs) // _MIB),
        "TOTAL_IO_WRITE_MB": float(base // _MIB),
        "TOTAL_IO_MB": float((2 * base + logs) // _MIB),
    }


def busy_groups(client: MetaClient) -> set[tuple[str, str]]:
    """File groups under a pending compaction, log compaction or clustering."""
    timeline = client.timeline
    tables = [timeline.pending_compactions(), timeline.pending_clustering()]
    tables += [timeline.compaction_plan(instant).operations for instant in timeline.pending({LOG_COMPACTION})]
    return {
        place
        for table in tables
        for place in zip(table["partition"].to_pylist(), table["file_id"].to_pylist(), strict=True)
    }


# -- running ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    """One slice: how it is read, and the base file that it becomes."""

    write_context: WriteContext
    plan: ScanPlan
    base: NewBase
    slice: Mapping[str, Any]


def execute_compaction(context: ServiceContext, instant: Instant) -> Instant:
    """Execute a scheduled compaction.

    Args:
        context: the table; its lock must not be held.
        instant: the compaction, requested, or inflight when a run of it died.

    Returns:
        The completed commit.

    Raises:
        WriteConflictError: another process is at this compaction, or has completed it.
        HudiHiveError: a slice cannot be read or written; the compaction is requested again.
    """
    context, instant = requested_again(context, instant)
    with context.lock():
        own = claim(context.reload(), instant)
    return _completed(context, own)


def _completed(context: ServiceContext, own: Claim) -> Instant:
    """Execute a compaction that is this process's; errors as of :func:`execute_compaction`."""
    return carried_through(context, own, _run, "compaction")


def _run(own: Claim) -> Instant:
    context, time = own.context, own.instant.requested
    client = context.client
    plan = client.timeline.compaction_plan(own.instant)
    write_context, metadata = service_write_context(context, time)
    slices = slices_of(client, plan.operations)
    tasks = []
    for number, row in enumerate(slices.to_pylist()):
        base = NewBase(row["partition"], row["file_id"], Attempt(task=number), merges=row["base_file"] is not None)
        tasks.append(_Task(write_context, plan_of(context, write_context, slices.slice(number, 1)), base, row))
    statuses = joined(context.executor.map(_compact_slice, tasks))
    stats = settled_stats(context, time, statuses)
    metadata = replace(metadata, operation=_COMPACT, stats=stats, compacted=True)

    operation = ConcurrentOperation(time, metadata.operation, touched_groups(statuses))

    payload = encode_commit(metadata, client.config.layout)

    def finish(now: ServiceContext, table: MetadataWriter | None) -> bytes:
        own.heartbeat.verify()
        check_conflicts(now.client, None, operation, started=client.timeline)
        if table is not None:
            changes = replace(metadata_changes(statuses, {}), moves_rows=False)
            table.apply(time, COMMIT, changes, current=True, behind=left_by(time, COMMIT, payload))
        return payload

    return context.complete(own.instant, finish)


def _compact_slice(task: _Task) -> pa.Table:
    written = write_base(task.write_context, task.base, slice_rows(task.write_context, task.plan))
    row = task.slice
    return status(
        task.base.partition,
        task.base.file_id,
        task.base.name(task.write_context),
        prev_commit=row["base_instant"],
        prev_base_file=row["base_file"],
        num_writes=written.rows,
        size=written.size,
        log_files_compacted=len(row["log_files"]),
        log_bytes_compacted=sum(size or 0 for size in row["log_sizes"]),
        ranges=written.ranges if task.write_context.ranges else None,
    )


__all__ = [
    "compact",
    "compaction_is_due",
    "execute_compaction",
    "plan_operations",
    "schedule_compaction",
]
