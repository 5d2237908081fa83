"""Procedures that make and delete the metadata table (RFC-15)."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

from hudi_hive.errors import MetadataTableError
from hudi_hive.spark.statements.procedures.act.target import refreshed, services_of
from hudi_hive.spark.statements.procedures.base import PATH, TABLE, Parameter, Procedure, ProcedureCall, Rows

_FOLDER: Final = ".hoodie/metadata"


def _create(call: ProcedureCall) -> Rows:
    started = time.monotonic()
    services_of(call).metadata.create()
    refreshed(call)
    return [[f"Created Metadata Table in {_path(call)} (duration={time.monotonic() - started:.3f}secs)"]]


def _init(call: ProcedureCall) -> Rows:
    started = time.monotonic()
    if not call.client.config.metadata_partitions:
        raise MetadataTableError(
            "CALL init_metadata_table: there is no metadata table",
            path=call.location,
            remedy="CALL create_metadata_table makes one",
        )
    reads = call.flag("read_only")
    if not reads:
        services_of(call).metadata.init()
        refreshed(call)
    action = "Opened" if reads else "Initialized"
    return [[f"{action} Metadata Table in {_path(call)} (duration={time.monotonic() - started:.3f}sec)"]]


def _delete(call: ProcedureCall) -> Rows:
    """Of one table, or of several with commas between their names; all are looked up before the first is changed."""
    names = [one.strip() for one in (call.text("table") or "").split(",") if one.strip()]
    calls = [replace(call, values={**call.values, "table": name}) for name in names] or [call]
    services = [services_of(one) for one in calls]
    for one, own in zip(calls, services, strict=True):
        own.metadata.delete()
        refreshed(one)
    return [[f"Deleted Metadata Table at '{','.join(_path(one) for one in calls)}'"]]


def _path(call: ProcedureCall) -> str:
    return f"{call.location.rstrip('/')}/{_FOLDER}"


METADATA_PROCEDURES: Final = (
    Procedure(
        "create_metadata_table",
        "result string",
        _create,
        (TABLE, PATH),
        "Makes the metadata table of a table that has none.",
        changes=True,
    ),
    Procedure(
        "init_metadata_table",
        "result string",
        _init,
        (TABLE, Parameter("read_only", "boolean", default=False), PATH),
        "Makes the partitions that the metadata table misses.",
        changes=True,
    ),
    Procedure(
        "delete_metadata_table",
        "result string",
        _delete,
        (TABLE, PATH),
        "Deletes the metadata table; the rows stay.",
        changes=True,
    ),
)
