"""Procedures about commits: what each wrote, by commit, partition and file.

Source: Hudi's ``ShowCommitsProcedure``, ``ShowCommitFilesProcedure``, ``ShowCommitPartitionsProcedure``,
``ShowCommitWriteStatsProcedure``, ``ShowCommitExtraMetadataProcedure``, ``ShowArchivedCommitsProcedure``,
``CommitsCompareProcedure``, ``StatsWriteAmplificationProcedure``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import SparkError
from hudi_hive.spark.statements.procedures.base import (
    FILTER,
    PATH,
    TABLE,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    completion_time,
    limited,
)
from hudi_hive.table import MetaClient
from hudi_hive.timeline import CommitMetadata, Instant, Timeline
from hudi_hive.timeline.instants import COMPLETED_WRITE_ACTIONS

NEW_FILE: Final = "null"
"""The previous commit in the write stat of a new file."""

_NO_AVERAGE: Final = 2**63 - 1
"""Bytes for each record of a commit without records, as Java rounds infinity."""

_LIMIT: Final = Parameter("limit", "int", default=10)
_INSTANT: Final = Parameter("instant_time", required=True)
_START: Final = Parameter("start_ts", default="")
_END: Final = Parameter("end_ts", default="")
_TOTALS: Final = (
    "total_bytes_written bigint, total_files_added bigint, total_files_updated bigint, "
    "total_partitions_written bigint, total_records_written bigint, total_update_records_written bigint, "
    "total_errors bigint"
)
_COUNTS: Final = (
    "num_writes",
    "num_inserts",
    "num_deletes",
    "num_updates",
    "num_errors",
    "log_blocks",
    "corrupt_blocks",
    "rollback_blocks",
    "log_records",
    "records_compacted",
    "bytes_written",
)
"""Columns of write stats in the order of ``show_commits_metadata``."""

_EACH_FILE: Final = (
    "commit_time string, state_transition_time string, action string, `partition` string, file_id string, "
    "previous_commit string, num_writes bigint, num_inserts bigint, num_deletes bigint, num_update_writes bigint, "
    "total_errors bigint, total_log_blocks bigint, total_corrupt_log_blocks bigint, total_rollback_blocks bigint, "
    "total_log_records bigint, total_updated_records_compacted bigint, total_bytes_written bigint"
)


def _newest(instants: Iterable[Instant]) -> list[Instant]:
    """Completed commits, deltacommits and replacecommits, the newest first."""
    writes = (one for one in instants if one.is_completed and one.action in COMPLETED_WRITE_ACTIONS)
    return sorted(writes, key=lambda one: one.sort_key, reverse=True)


def _total(stats: pa.Table, name: str) -> int:
    return int(pc.sum(stats.column(name)).as_py() or 0)


def _files(stats: pa.Table) -> tuple[int, int]:
    """Files that are new and files that were written before."""
    before = pc.fill_null(stats.column("prev_commit"), "")
    new = pc.sum(pc.equal(before, NEW_FILE)).as_py() or 0
    return new, stats.num_rows - new


def _totals(metadata: CommitMetadata) -> list[Any]:
    stats = metadata.write_stats
    counts = [_total(stats, name) for name in ("num_writes", "num_updates", "num_errors")]
    return [_total(stats, "bytes_written"), *_files(stats), len(metadata.partitions_written()), *counts]


def _listed(values: pa.Table, name: str) -> list[Any]:
    if name not in values.column_names:
        return [0] * values.num_rows
    column = values.column(name)
    return (pc.fill_null(column, 0) if pa.types.is_integer(column.type) else column).to_pylist()


def _each_file(timeline: Timeline, instants: Sequence[Instant]) -> Iterator[list[Any]]:
    for instant in instants:
        stats = timeline.commit_metadata(instant).write_stats
        head = [instant.requested, completion_time(timeline, instant), instant.action]
        columns = [_listed(stats, name) for name in ("partition", "file_id", "prev_commit", *_COUNTS)]
        yield from ([*head, *row] for row in zip(*columns, strict=True))


def _show_commits(call: ProcedureCall) -> Rows:
    timeline = call.client.timeline
    rows = (
        [one.requested, completion_time(timeline, one), one.action, *_totals(timeline.commit_metadata(one))]
        for one in _newest(timeline.instants)
    )
    return limited(call, rows)


def _show_commits_metadata(call: ProcedureCall) -> Rows:
    timeline = call.client.timeline
    return limited(call, _each_file(timeline, _newest(timeline.instants)))


# -- archived commits --------------------------------------------------------------------------------------------------


def _archived(call: ProcedureCall) -> list[Instant]:
    """The archived commits of the range that a call names: without one, from ten days ago until yesterday."""

    def ago(days: int) -> str:
        return f"{datetime.now(UTC) - timedelta(days=days):%Y%m%d%H%M%S}000"

    begin, end = call.text("start_ts") or ago(10), call.text("end_ts") or ago(1)
    return [one for one in _newest(call.client.timeline.archived().instants) if begin < one.requested <= end]


def _show_archived_commits(call: ProcedureCall) -> Rows:
    timeline = call.client.timeline
    rows = ([one.requested, one.completed, *_totals(timeline.commit_metadata(one))] for one in _archived(call))
    return limited(call, rows)


def _show_archived_commits_metadata(call: ProcedureCall) -> Rows:
    return limited(call, _each_file(call.client.timeline, _archived(call)))


# -- one commit --------------------------------------------------------------------------------------------------------


def _commit(call: ProcedureCall) -> CommitMetadata:
    """The metadata of the commit that a call names, the last one without a name.

    Raises:
        SparkError: there is no such completed commit in the active timeline.
    """
    timeline = call.client.timeline
    commits = _newest(timeline.instants)
    name = call.text("instant_time")
    match = next((one for one in commits if name in (None, one.requested)), None)
    if match is None:
        shown = ", ".join(one.requested for one in commits[:3]) or "none"
        raise SparkError(
            f"CALL {call.procedure.name}: no completed commit {name or ''} in the active timeline",
            path=call.location,
            remedy=f"the newest are {shown}; CALL show_commits lists all",
        )
    return timeline.commit_metadata(match)


def _show_commit_files(call: ProcedureCall) -> Rows:
    metadata = _commit(call)
    names = ("partition", "file_id", "prev_commit", "num_updates", "num_writes", "bytes_written", "num_errors")
    columns = [_listed(metadata.write_stats, name) for name in (*names, "file_size")]
    return limited(call, ([metadata.instant.action, *row] for row in zip(*columns, strict=True)))


def _show_commit_partitions(call: ProcedureCall) -> Rows:
    metadata = _commit(call)
    stats = metadata.write_stats
    rows = []
    for partition in dict.fromkeys(metadata.written_keys):
        part = stats.filter(pc.equal(stats.column("partition"), partition))
        before = pc.fill_null(part.column("prev_commit"), "")
        updated = _total(part.filter(pc.not_equal(before, NEW_FILE)), "num_updates")
        inserted, written, errors = (_total(part, name) for name in ("num_inserts", "bytes_written", "num_errors"))
        rows.append([metadata.instant.action, partition, *_files(part), inserted, updated, written, errors])
    return limited(call, rows)


def _show_commit_write_stats(call: ProcedureCall) -> Rows:
    metadata = _commit(call)
    written, records = (_total(metadata.write_stats, name) for name in ("bytes_written", "num_writes"))
    average = math.ceil(written / records) if records else _NO_AVERAGE if written else 0
    return limited(call, [[metadata.instant.action, written, records, average]])


def _show_commit_extra_metadata(call: ProcedureCall) -> Rows:
    metadata = _commit(call)
    key = call.text("metadata_key")
    instant = metadata.instant
    rows = (
        [instant.requested, instant.action, name, value]
        for name, value in metadata.extra.items()
        if key is None or name == key.strip()
    )
    return limited(call, rows)


# -- several -----------------------------------------------------------------------------------------------------------


def _commits_compare(call: ProcedureCall) -> Rows:
    other = MetaClient.load(str(call.text("path")), call.store_options)
    source = [one.requested for one in reversed(_newest(call.client.timeline.instants))]
    target = [one.requested for one in reversed(_newest(other.timeline.instants))]
    last_source, last_target = source[-1] if source else "0", target[-1] if target else "0"
    behind = last_target > last_source
    commits = [one for one in target if one > last_source] if behind else [one for one in source if one > last_target]
    where = "behind" if behind else "ahead"
    names = f"[{', '.join(commits)}]"
    text = f"Source {call.client.config.name} is {where} by {len(commits)} commits. Commits to catch up - {names}"
    return [[text]]


def _amplification(written: int, updated: int) -> str:
    """Records written for each one updated, with two decimals as Java's ``#.00`` shows them."""
    if updated <= 0:
        return "0"
    ratio = Decimal(float(np.float32(written) / np.float32(updated)))
    return str(ratio.quantize(Decimal("0.01"), ROUND_HALF_EVEN)).removeprefix("0")


def _stats_wa(call: ProcedureCall) -> Rows:
    timeline = call.client.timeline
    rows: list[list[Any]] = []
    for instant in reversed(_newest(timeline.instants)):
        if instant.action == "deltacommit":
            continue
        stats = timeline.commit_metadata(instant).write_stats
        updated, written = _total(stats, "num_updates"), _total(stats, "num_writes")
        rows.append([instant.requested, updated, written, _amplification(written, updated)])
    updated, written = sum(row[1] for row in rows), sum(row[2] for row in rows)
    return limited(call, [*rows, ["Total", updated, written, _amplification(written, updated)]])


_OWN: Final = (PATH, FILTER)

COMMIT_PROCEDURES: Final = (
    Procedure(
        "show_commits",
        f"commit_time string, state_transition_time string, action string, {_TOTALS}",
        _show_commits,
        (TABLE, _LIMIT, *_OWN),
        "Completed commits, the newest first, with what they wrote.",
    ),
    Procedure(
        "show_commits_metadata",
        _EACH_FILE,
        _show_commits_metadata,
        (TABLE, _LIMIT, *_OWN),
        "The files that completed commits wrote, the newest commit first.",
    ),
    Procedure(
        "show_archived_commits",
        f"commit_time string, state_transition_time string, {_TOTALS}",
        _show_archived_commits,
        (TABLE, _LIMIT, _START, _END, *_OWN),
        "Archived commits of a range of time, the newest first: from ten days ago until yesterday without a range.",
    ),
    Procedure(
        "show_archived_commits_metadata",
        _EACH_FILE,
        _show_archived_commits_metadata,
        (TABLE, _LIMIT, _START, _END, *_OWN),
        "The files that archived commits of a range of time wrote.",
    ),
    Procedure(
        "show_commit_files",
        "action string, partition_path string, file_id string, previous_commit string, total_records_updated bigint, "
        "total_records_written bigint, total_bytes_written bigint, total_errors bigint, file_size bigint",
        _show_commit_files,
        (TABLE, _LIMIT, _INSTANT, *_OWN),
        "The files that one commit wrote.",
    ),
    Procedure(
        "show_commit_partitions",
        "action string, partition_path string, total_files_added bigint, total_files_updated bigint, "
        "total_records_inserted bigint, total_records_updated bigint, total_bytes_written bigint, total_errors bigint",
        _show_commit_partitions,
        (TABLE, _LIMIT, _INSTANT, *_OWN),
        "What one commit wrote in each partition.",
    ),
    Procedure(
        "show_commit_write_stats",
        "action string, total_bytes_written bigint, total_records_written bigint, avg_record_size bigint",
        _show_commit_write_stats,
        (TABLE, _LIMIT, _INSTANT, *_OWN),
        "Bytes and records of one commit, and bytes for each record.",
    ),
    Procedure(
        "show_commit_extra_metadata",
        "instant_time string, action string, metadata_key string, metadata_value string",
        _show_commit_extra_metadata,
        (TABLE, Parameter("limit", "int", default=100), Parameter("instant_time"), Parameter("metadata_key"), *_OWN),
        "The extra metadata of a commit, of the last one where none is named.",
    ),
    Procedure(
        "commits_compare",
        "compare_detail string",
        _commits_compare,
        (TABLE, Parameter("path", required=True)),
        "Which commits a table has that the table at a path lacks, or the other way round.",
    ),
    Procedure(
        "stats_wa",
        "commit_time string, total_upserted bigint, total_written bigint, write_amplification_factor string",
        _stats_wa,
        (TABLE, _LIMIT, *_OWN),
        "Records written for each record updated, by commit and in all.",
    ),
)
