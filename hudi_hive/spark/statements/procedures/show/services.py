"""Procedures about table services: compaction, clustering, clean, rollback, savepoints; and the whole timeline.

Source: Hudi's ``ShowCompactionProcedure``, ``ShowClusteringProcedure``, ``ShowRollbacksProcedure``,
``ShowSavepointsProcedure``, ``ShowCleansProcedure``, ``ShowCleansPlanProcedure``, ``ShowTimelineProcedure``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import pyarrow.compute as pc

from hudi_hive.errors import SparkError
from hudi_hive.spark.statements.procedures.base import (
    FILTER,
    PATH,
    TABLE,
    TABLE_OR_PATH,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    completion_time,
    limited,
)
from hudi_hive.table.properties import MERGE_ON_READ
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.instants import (
    CLEAN,
    CLUSTERING,
    COMMIT,
    COMPACTION,
    LOG_COMPACTION,
    REPLACE_COMMIT,
    ROLLBACK,
    SAVEPOINT,
    parse_instant_name,
)

_LIMIT: Final = Parameter("limit", "int", default=10)
_LONGER_LIMIT: Final = Parameter("limit", "int", default=20)
_ARCHIVED: Final = Parameter("showArchived", "boolean", default=False)


def _newest(call: ProcedureCall, actions: Collection[str], *, archived: bool = False) -> list[Instant]:
    """Instants of some actions in any state, the newest first; those of the archive too."""
    timeline = call.client.timeline
    instants = {(one.requested, one.comparable_action): one for one in timeline.archived().instants if archived}
    instants |= {(one.requested, one.comparable_action): one for one in timeline.instants}
    return sorted((one for one in instants.values() if one.action in actions), key=lambda one: one.sort_key)[::-1]


def _show_compaction(call: ProcedureCall) -> Rows:
    client = call.client
    if client.config.table_type != MERGE_ON_READ:
        raise SparkError("a copy-on-write table has no compactions", path=call.location, remedy="name another table")
    rows = (
        [one.requested, client.timeline.compaction_plan(one).operations.num_rows, one.state.name]
        for one in _newest(call, (COMPACTION, LOG_COMPACTION, COMMIT))
    )
    return limited(call, rows)


def _show_clustering(call: ProcedureCall) -> Rows:
    return limited(call, _clusterings(call))


def _clusterings(call: ProcedureCall) -> Iterator[list[Any]]:
    shows = call.flag("show_involved_partition")
    for instant in _newest(call, (CLUSTERING, REPLACE_COMMIT)):
        plan = call.client.timeline.requested_replace_metadata(instant)
        if not plan.is_clustering:
            continue
        groups = pc.count_distinct(plan.slices.column("group")).as_py()
        partitions = ",".join(pc.unique(plan.slices.column("partition")).to_pylist()) if shows else "*"
        yield [instant.requested, groups, instant.state.name, partitions]


def _show_savepoints(call: ProcedureCall) -> Rows:
    return [[one.requested] for one in _newest(call, (SAVEPOINT,)) if one.is_completed]


# -- rollbacks ---------------------------------------------------------------------------------------------------------


def _show_rollbacks(call: ProcedureCall) -> Rows:
    return limited(call, _rollbacks(call))


def _rollbacks(call: ProcedureCall) -> Iterator[list[Any]]:
    for instant in _newest(call, (ROLLBACK,)):
        if instant.is_completed:
            done = call.client.timeline.rollback_metadata(instant)
            for commit in done.rolled_back:
                counts = [done.total_files_deleted, done.time_taken_ms, len(done.partitions)]
                yield [instant.requested, commit, *counts]


def _show_rollback_detail(call: ProcedureCall) -> Rows:
    name = call.text("instant_time")
    rollbacks = [one for one in _newest(call, (ROLLBACK,)) if one.is_completed]
    match = next((one for one in rollbacks if one.requested == name), None)
    if match is None:
        raise SparkError(
            f"CALL {call.procedure.name}: no completed rollback {name}",
            path=call.location,
            remedy="CALL show_rollbacks lists them",
        )
    return limited(call, _rolled_back_files(call, match))


def _rolled_back_files(call: ProcedureCall, instant: Instant) -> Iterator[list[Any]]:
    base = call.location.rstrip("/")
    done = call.client.timeline.rollback_metadata(instant)
    commits = f"[{', '.join(done.rolled_back)}]"
    for partition, part in done.partitions.items():
        folder = f"{base}/{partition}" if partition else base
        for files, succeeded in ((part.deleted, True), (part.failed, False)):
            for file in files:
                yield [instant.requested, commits, partition, f"{folder}/{file}", succeeded]


# -- cleans ------------------------------------------------------------------------------------------------------------


def _cleans(call: ProcedureCall) -> list[Instant]:
    return _newest(call, (CLEAN,), archived=call.flag("showArchived"))


def _show_cleans(call: ProcedureCall) -> Rows:
    timeline = call.client.timeline
    rows = []
    for instant in _cleans(call):
        if not instant.is_completed:
            continue
        done = timeline.clean_metadata(instant)
        retained = [done.earliest_retained or "", done.last_completed_commit or "", 2]
        head = [instant.requested, completion_time(timeline, instant), CLEAN, instant.requested]
        rows.append([*head, done.time_taken_ms, done.total_files_deleted, *retained])
    return limited(call, rows)


def _show_cleans_metadata(call: ProcedureCall) -> Rows:
    timeline = call.client.timeline
    rows = []
    for instant in _cleans(call):
        if not instant.is_completed:
            continue
        done = timeline.clean_metadata(instant)
        head = [instant.requested, completion_time(timeline, instant), CLEAN, instant.requested]
        for path, part in done.partitions.items():
            counts = [len(part.planned), len(part.deleted), len(part.failed), part.partition_deleted]
            rows.append([*head, path, part.policy, *counts, done.time_taken_ms, done.total_files_deleted])
    return limited(call, rows)


def _show_clean_plans(call: ProcedureCall) -> Rows:
    rows = []
    for instant in _cleans(call):
        plan = call.client.timeline.cleaner_plan(instant)
        partitions = len(pc.unique(plan.files.column("partition")))
        extra = json.dumps(dict(plan.extra)) if plan.extra else None
        texts = [plan.earliest_retained, plan.last_completed_commit, plan.policy, 2]
        head = [instant.requested, instant.state.name, CLEAN]
        rows.append([*head, *texts, partitions, len(plan.partitions_to_delete), extra])
    return limited(call, rows)


# -- all instants ------------------------------------------------------------------------------------------------------


def _show_timeline(call: ProcedureCall) -> Rows:
    client = call.client
    begin, end = call.text("startTime"), call.text("endTime")
    shown = {"ACTIVE": client.timeline.instants}
    if call.flag("showArchived"):
        shown["ARCHIVED"] = client.timeline.archived().instants
    rows: list[list[Any]] = []
    written = _written_times(call)
    for kind, instants in shown.items():
        rolled_back = _rolled_back(call, instants)
        for one in instants:
            if (begin or "") <= one.requested <= (end or "~"):
                times = [written.get((one.requested, state)) for state in State]
                info = rolled_back.get((one.requested, one.action == ROLLBACK))
                rows.append([one.requested, one.action, one.state.name, *times, kind, info])
    rows.sort(key=lambda row: str(row[0]), reverse=True)
    return rows if begin and end else limited(call, rows)


def _written_times(call: ProcedureCall) -> dict[tuple[str, State], str]:
    """When the file of each state of each active instant was written, in local time."""
    client = call.client
    files = client.storage.list(client.timeline_folder)
    times: dict[tuple[str, State], str] = {}
    for path, modified in zip(*(files.column(name).to_pylist() for name in ("path", "mtime_ms")), strict=True):
        instant = parse_instant_name(path.rsplit("/", 1)[-1], client.config.layout, client.timeline_folder)
        if instant is not None:
            text = f"{datetime.fromtimestamp(modified / 1000):%m-%d %H:%M:%S}"
            times[instant.requested, instant.state] = text
    return times


def _rolled_back(call: ProcedureCall, instants: Sequence[Instant]) -> dict[tuple[str, bool], str]:
    """Requested time, and whether it is a rollback's -> what it took back, or what took it back."""
    info: dict[tuple[str, bool], str] = {}
    takers: dict[str, list[str]] = {}
    for instant in (one for one in instants if one.action == ROLLBACK):
        if instant.is_completed:
            commits = call.client.timeline.rollback_metadata(instant).rolled_back
            info[instant.requested, True] = f"Rolled back: {', '.join(commits)}"
        else:
            target = call.client.timeline.rollback_plan(instant).target
            commits = () if target is None else (target[0],)
            info[instant.requested, True] = f"Rolls back {', '.join(commits)}"
        for commit in commits:
            takers.setdefault(commit, []).append(instant.requested)
    return info | {(one, False): f"Rolled back by: {', '.join(times)}" for one, times in takers.items()}


SERVICE_PROCEDURES: Final = (
    Procedure(
        "show_compaction",
        "timestamp string, operation_size int, state string",
        _show_compaction,
        (*TABLE_OR_PATH, _LONGER_LIMIT, FILTER),
        "Compactions of a merge-on-read table in any state, the newest first, with the number of file slices.",
    ),
    Procedure(
        "show_clustering",
        "timestamp string, input_group_size int, state string, involved_partitions string",
        _show_clustering,
        (*TABLE_OR_PATH, _LONGER_LIMIT, Parameter("show_involved_partition", "boolean", default=False), FILTER),
        "Clusterings in any state, the newest first, with the number of their input groups.",
    ),
    Procedure(
        "show_savepoints",
        "savepoint_time string",
        _show_savepoints,
        TABLE_OR_PATH,
        "The savepoints of a table, the newest first.",
    ),
    Procedure(
        "show_rollbacks",
        "instant string, rollback_instant string, total_files_deleted int, time_taken_in_millis bigint, "
        "total_partitions int",
        _show_rollbacks,
        (TABLE, _LIMIT, PATH, FILTER),
        "Completed rollbacks, the newest first.",
    ),
    Procedure(
        "show_rollback_detail",
        "instant string, rollback_instant string, `partition` string, deleted_file string, succeeded boolean",
        _show_rollback_detail,
        (TABLE, _LIMIT, Parameter("instant_time", required=True), PATH, FILTER),
        "The files that one rollback deleted.",
    ),
    Procedure(
        "show_cleans",
        "clean_time string, state_transition_time string, action string, start_clean_time string, "
        "time_taken_in_millis bigint, total_files_deleted int, earliest_commit_to_retain string, "
        "last_completed_commit_timestamp string, version int",
        _show_cleans,
        (TABLE, _LIMIT, _ARCHIVED, FILTER, PATH),
        "Completed cleans, the newest first.",
    ),
    Procedure(
        "show_cleans_metadata",
        "clean_time string, state_transition_time string, action string, start_clean_time string, "
        "partition_path string, policy string, delete_path_patterns int, success_delete_files int, "
        "failed_delete_files int, is_partition_deleted boolean, time_taken_in_millis bigint, total_files_deleted int",
        _show_cleans_metadata,
        (TABLE, _LIMIT, _ARCHIVED, FILTER, PATH),
        "What completed cleans deleted in each partition.",
    ),
    Procedure(
        "show_clean_plans",
        "plan_time string, state string, action string, earliest_instant_to_retain string, "
        "last_completed_commit_timestamp string, policy string, version int, total_partitions_to_clean int, "
        "total_partitions_to_delete int, extra_metadata string",
        _show_clean_plans,
        (TABLE, _LIMIT, _ARCHIVED, FILTER, PATH),
        "Plans of cleans in any state, the newest first.",
    ),
    Procedure(
        "show_timeline",
        "instant_time string, action string, state string, requested_time string, inflight_time string, "
        "completed_time string, timeline_type string, rollback_info string",
        _show_timeline,
        (
            *TABLE_OR_PATH,
            _LONGER_LIMIT,
            _ARCHIVED,
            FILTER,
            Parameter("startTime", default=""),
            Parameter("endTime", default=""),
        ),
        "Instants of all actions, the newest first, those of the archive too where asked.",
    ),
)
