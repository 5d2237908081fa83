"""Procedures that change the version of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hudi_hive.errors import SparkError
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.spark.statements.procedures.act.target import refreshed, target_of
from hudi_hive.spark.statements.procedures.base import PATH, TABLE, Parameter, Procedure, ProcedureCall, Rows
from hudi_hive.write.versions import change_version

_NAMES: Final = ("ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE")


def _changed(*, upward: bool) -> Callable[[ProcedureCall], Rows]:
    def change(call: ProcedureCall) -> Rows:
        """True once the table is of the version."""
        named = str(call.value("to_version")).strip().upper()
        version = _NAMES.index(named) if named in _NAMES else int(named) if named.isdigit() else None
        current = call.client.config.version
        if version is None:
            raise SparkError(
                f"CALL {call.procedure.name}: there is no table version {named!r}", remedy="name it SIX, EIGHT or NINE"
            )
        if (version < current) if upward else (version > current):
            raise SparkError(
                f"CALL {call.procedure.name}: the table is of version {current}",
                path=call.location,
                remedy="downgrade_table goes back" if upward else "upgrade_table goes on",
            )
        change_version(call.client, version, target_of(call).settings, metastore_lock=MetastoreLock.connect)
        refreshed(call)
        return [[True]]

    return change


_TO_VERSION: Final = (TABLE, Parameter("to_version", required=True), PATH)

VERSION_PROCEDURES: Final = (
    Procedure(
        "upgrade_table",
        "result boolean",
        _changed(upward=True),
        _TO_VERSION,
        "Brings a table to a later version: SIX, EIGHT or NINE.",
    ),
    Procedure(
        "downgrade_table",
        "result boolean",
        _changed(upward=False),
        _TO_VERSION,
        "Brings a table to an earlier version: FIVE, SIX or EIGHT.",
    ),
)
