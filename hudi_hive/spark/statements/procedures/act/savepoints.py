"""Procedures of savepoints and of taking commits back."""

from __future__ import annotations

from typing import Final

from hudi_hive.errors import InstantNotFoundError, SparkError
from hudi_hive.spark.statements.procedures.act.target import refreshed, services_of
from hudi_hive.spark.statements.procedures.base import (
    PATH,
    TABLE,
    TABLE_OR_PATH,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
)
from hudi_hive.timeline.instants import COMPACTION, SAVEPOINT
from hudi_hive.write.services import pending_clusterings

_INSTANT: Final = Parameter("instant_time", default="")


def _create_savepoint(call: ProcedureCall) -> Rows:
    services = services_of(call)
    timeline = call.client.timeline
    writes = [one.requested for one in timeline.write_instants()]
    requested = call.text("commit_time") or (writes[-1] if writes else None)
    if requested is None or requested not in writes:
        raise SparkError(
            f"CALL create_savepoint: no completed commit {requested or ''}".rstrip(),
            path=call.location,
            instant=requested,
            remedy="CALL show_commits lists them",
        )
    if any(one.requested == requested for one in timeline.completed({SAVEPOINT})):
        return [[False]]
    comments = call.text("comments") or call.text("comment") or ""
    services.create_savepoint(requested, user=call.text("user") or "", comments=comments)
    return [[True]]


def _savepoints(call: ProcedureCall, instants: str | None) -> list[str]:
    """The savepoints that a call names, the last one without a name.

    Raises:
        SparkError: there is none, or none of that time.
    """
    existing = [one.requested for one in call.client.timeline.completed({SAVEPOINT})]
    if not existing:
        raise SparkError(
            f"CALL {call.procedure.name}: the table has no savepoint",
            path=call.location,
            remedy="CALL create_savepoint makes one",
        )
    named = [one.strip() for one in (instants or existing[-1]).split(",") if one.strip()]
    for one in named:
        if one not in existing:
            raise SparkError(
                f"CALL {call.procedure.name}: there is no savepoint {one}",
                path=call.location,
                instant=one,
                remedy=f"there are: {', '.join(existing)}",
            )
    return list(dict.fromkeys(named))


def _delete_savepoint(call: ProcedureCall) -> Rows:
    services = services_of(call)
    for requested in _savepoints(call, call.text("instant_time")):
        services.delete_savepoint(requested)
    return [[True]]


def _rollback_to_savepoint(call: ProcedureCall) -> Rows:
    services = services_of(call)
    requested = _savepoints(call, call.text("instant_time"))
    if len(requested) > 1:
        raise SparkError("CALL rollback_to_savepoint: instant_time names several savepoints", remedy="name one")
    services.restore(requested[0])
    refreshed(call)
    return [[True]]


def _rollback_to_instant(call: ProcedureCall) -> Rows:
    services = services_of(call)
    requested = call.text("instant_time")
    writes = [one for one in call.client.timeline.instants if one.requested == requested and one.action != SAVEPOINT]
    if requested is None or not writes:
        raise InstantNotFoundError(
            "CALL rollback_to_instant: there is no such instant",
            path=call.location,
            instant=requested,
            remedy="CALL show_timeline lists them",
        )
    services.rollback(requested)
    refreshed(call)
    return [[True]]


def _rollback_inflight(call: ProcedureCall) -> Rows:
    """Undo what a table service has begun; its plan stays unless the call drops it."""
    import time

    services = services_of(call)
    requested = str(call.value("pending_instant"))
    timeline = call.client.timeline
    pending = [*timeline.pending({COMPACTION}), *pending_clusterings(call.client)]
    begun = [one for one in pending if one.requested == requested and one.state.name == "INFLIGHT"]
    if not begun:
        raise SparkError(
            "CALL run_rollback_inflight_tableservice: no compaction or clustering of that time has begun",
            path=call.location,
            instant=requested,
            remedy="CALL show_compaction and show_clustering list them",
        )
    started = time.monotonic_ns()
    services.rollback_service(begun[0], drop_plan=call.flag("delete_request_instant_file"))
    refreshed(call)
    return [[requested, str((time.monotonic_ns() - started) // 1_000_000)]]


SAVEPOINT_PROCEDURES: Final = (
    Procedure(
        "create_savepoint",
        "create_savepoint_result boolean",
        _create_savepoint,
        (
            Parameter("table"),
            Parameter("commit_time", default=""),
            Parameter("user", default=""),
            Parameter("comments", default=""),
            Parameter("path"),
            Parameter("comment", own=True),
        ),
        "Keeps the files of a commit, the last one unless named, so that the table can be restored to it.",
        changes=True,
    ),
    Procedure(
        "delete_savepoint",
        "delete_savepoint_result boolean",
        _delete_savepoint,
        (Parameter("table"), _INSTANT, Parameter("path")),
        "Deletes savepoints, the last one unless named.",
        changes=True,
    ),
    Procedure(
        "rollback_to_savepoint",
        "rollback_savepoint_result boolean",
        _rollback_to_savepoint,
        (Parameter("table"), _INSTANT, Parameter("path")),
        "Restores the table to a savepoint, the last one unless named; what was written after it is deleted.",
        changes=True,
    ),
    Procedure(
        "rollback_to_instant",
        "rollback_result boolean",
        _rollback_to_instant,
        (TABLE, Parameter("instant_time", required=True), PATH),
        "Undoes the last write, or a pending one.",
        changes=True,
    ),
    Procedure(
        "run_rollback_inflight_tableservice",
        "instant string, time_cost string",
        _rollback_inflight,
        (
            *TABLE_OR_PATH,
            Parameter("pending_instant", required=True),
            Parameter("delete_request_instant_file", "boolean", default=False),
        ),
        "Undoes what a compaction or clustering has begun, and drops its plan if asked.",
        changes=True,
    ),
)
