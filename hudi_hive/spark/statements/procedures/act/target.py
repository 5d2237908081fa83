"""The table that a procedure changes: its services, the options of the call and the session, what follows a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hudi_hive.errors import SparkError
from hudi_hive.spark.bridge import python_session, quoted
from hudi_hive.spark.statements.procedures.base import ProcedureCall
from hudi_hive.spark.statements.writes import WriteTarget
from hudi_hive.spark.write import table_services
from hudi_hive.write.services import TableServices

SCHEDULE: Final = "schedule"
EXECUTE: Final = "execute"
BOTH: Final = "scheduleandexecute"


def target_of(call: ProcedureCall) -> WriteTarget:
    """The table of a call, as the statements that write have it."""
    name = call.location if call.entry is None else str(call.entry.declared.name)
    return WriteTarget(call.hook, name, call.location, call.entry)


def services_of(
    call: ProcedureCall, options: Mapping[str, str] | None = None, *, defaults: Mapping[str, str] | None = None
) -> TableServices:
    """The table's services, by the session's settings, over them the procedure's, over them the call's ``options``.

    Args:
        call: of the procedure.
        options: Hudi's options that the procedure's other parameters stand for.
        defaults: what holds where nothing is said.

    Raises:
        InvalidOptionError: an option that is unknown or not supported.
        SparkError: ``options`` is no list of ``name=value``.
        TableNotFoundError: there is no table.
    """
    every = {**(defaults or {}), **target_of(call).settings, **(options or {}), **option_pairs(call)}
    return table_services(python_session(call.hook.session), call.location, every)


def option_pairs(call: ProcedureCall) -> dict[str, str]:
    """The call's ``options``, ``name=value`` behind ``name=value`` with commas between them.

    Raises:
        SparkError: a part that is no ``name=value``.
    """
    text = call.text("options") if call.procedure.takes("options") else None
    pairs: dict[str, str] = {}
    for part in (text or "").split(","):
        name, equals, value = part.partition("=")
        if not part.strip():
            continue
        if not equals or not name.strip():
            raise SparkError(
                f"CALL {call.procedure.name}: {part.strip()!r} in options is no name=value",
                remedy="write options => 'hoodie.first.option=value,hoodie.second.option=value'",
            )
        pairs[name.strip()] = value.strip()
    return pairs


def refreshed(call: ProcedureCall) -> None:
    """Have the session read the table anew."""
    catalog = python_session(call.hook.session).catalog
    if call.entry is None:
        catalog.refreshByPath(call.location)
    else:
        catalog.refreshTable(quoted(*call.entry.declared.name.split(".")))


def operation_of(call: ProcedureCall, text: str | None) -> str:
    """What ``op`` of a table service asks for: one of the three; to plan and to run without it.

    Raises:
        SparkError: another text.
    """
    operation = BOTH if text is None else text.strip().lower()
    if operation not in (SCHEDULE, EXECUTE, BOTH):
        raise SparkError(
            f"CALL {call.procedure.name}: op is {text!r}", remedy="op is schedule, execute or scheduleAndExecute"
        )
    return operation


def chosen_instants(
    call: ProcedureCall, pending: list[str], operation: str, instants: str | None
) -> tuple[list[str], str]:
    """The pending instants that a call is about, and what it asks for.

    Args:
        call: of a table service.
        pending: requested times of all pending ones, oldest first.
        operation: what ``op`` asks for.
        instants: times that the call names, commas between them.

    Raises:
        SparkError: an instant that is not pending, or instants where a plan is to be made.
    """
    if instants is None:
        limit = call.value("limit")
        return (pending if limit is None else pending[: max(int(limit), 0)]), operation
    if call.text("op") is not None and operation != EXECUTE:
        raise SparkError(
            f"CALL {call.procedure.name}: instants are for the op 'execute'", remedy="leave op or instants out"
        )
    named = [part.strip() for part in instants.split(",") if part.strip()]
    if unknown := [one for one in named if one not in pending]:
        raise SparkError(
            f"CALL {call.procedure.name}: nothing is pending at {', '.join(unknown)}",
            path=call.location,
            instant=unknown[0],
            remedy=f"pending are: {', '.join(pending) or 'none'}",
        )
    return sorted(set(named)), EXECUTE


__all__ = [
    "BOTH",
    "EXECUTE",
    "SCHEDULE",
    "chosen_instants",
    "operation_of",
    "option_pairs",
    "refreshed",
    "services_of",
    "target_of",
]
