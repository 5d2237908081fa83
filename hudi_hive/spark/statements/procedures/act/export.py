"""``export_instants``: what instants' files say, as JSON files in a local folder."""

from __future__ import annotations

import json
import os
import posixpath
from typing import Final

from hudi_hive.errors import SparkError
from hudi_hive.spark.statements.procedures.base import PATH, TABLE, Parameter, Procedure, ProcedureCall, Rows
from hudi_hive.timeline.payloads import decode_payload

_ACTIONS: Final = "clean,commit,deltacommit,rollback,savepoint,restore"


def _export_instants(call: ProcedureCall) -> Rows:
    folder = str(call.value("local_folder"))
    if not os.path.isdir(folder):
        raise SparkError(f"CALL export_instants: {folder} is no folder of this machine", remedy="make it first")
    actions = {one.strip() for one in (call.text("actions") or "").split(",")}
    timeline = call.client.timeline
    instants = [one for one in timeline.completed() if one.action in actions]
    instants.sort(key=lambda one: one.requested, reverse=call.flag("desc"))
    limit = call.number("limit")
    for one in instants[: None if limit < 0 else limit]:
        record = decode_payload(call.client.storage.read_bytes(one.path), one.path, one.requested)
        with open(os.path.join(folder, posixpath.basename(one.path)), "w", encoding="utf-8") as file:
            json.dump(record if record is not None else {}, file, indent=2, default=_text)
    count = len(instants) if limit < 0 else min(limit, len(instants))
    return [[f"Exported {count} Instants to {folder}"]]


def _text(value: object) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


EXPORT_PROCEDURES: Final = (
    Procedure(
        "export_instants",
        "export_detail string",
        _export_instants,
        (
            TABLE,
            Parameter("local_folder", required=True),
            Parameter("limit", "int", default=-1),
            Parameter("actions", default=_ACTIONS),
            Parameter("desc", "boolean", default=False),
            PATH,
        ),
        "Writes the completed instants of the active timeline as JSON files into a folder of the driver.",
    ),
)
