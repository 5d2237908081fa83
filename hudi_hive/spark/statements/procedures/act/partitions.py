"""Procedures that delete the rows of partitions or of the whole table, each as one commit."""

from __future__ import annotations

import time
from typing import Final

from hudi_hive.errors import SparkError
from hudi_hive.formats import parse_properties
from hudi_hive.options import Operation
from hudi_hive.options.write import PARTITIONS_TO_DELETE
from hudi_hive.spark.bridge import python_session
from hudi_hive.spark.statements.procedures.act.target import option_pairs, refreshed, target_of
from hudi_hive.spark.statements.procedures.base import PATH, TABLE, Parameter, Procedure, ProcedureCall, Rows
from hudi_hive.table import MetaClient
from hudi_hive.table.keys import PARTITION_METAFILE
from hudi_hive.timeline.instants import instant_to_millis

_BY_TIME: Final = "KEEP_BY_TIME"
_BY_CREATION: Final = "KEEP_BY_CREATION_TIME"
_DAY_MS: Final = 24 * 60 * 60 * 1000


def _delete(call: ProcedureCall, partitions: str | None, options: dict[str, str] | None = None) -> None:
    """Delete the rows of partitions, or all rows where none are named, in one commit."""
    target = target_of(call)
    nothing = python_session(call.hook.session).createDataFrame([], target.columns)
    if partitions is None:
        target.write(nothing, Operation.INSERT_OVERWRITE_TABLE)
        return
    if not target.partition_columns:
        raise SparkError(
            f"CALL {call.procedure.name}: {target.name} is not partitioned",
            path=call.location,
            remedy="CALL truncate_table without partitions deletes all rows",
        )
    stated = {**target.settings, **(options or {}), PARTITIONS_TO_DELETE.name: partitions}
    target.write(nothing, Operation.DELETE_PARTITION, options=stated)


def _drop_partition(call: ProcedureCall) -> Rows:
    named = call.text("partition")
    if named is None:
        raise SparkError("CALL drop_partition: partition is empty", remedy="give paths, as 'day=1' or 'day=1,day=2'")
    _delete(call, named)
    refreshed(call)
    return [["Success"]]


def _truncate_table(call: ProcedureCall) -> Rows:
    _delete(call, call.text("partitions"))
    refreshed(call)
    return []


def _run_ttl(call: ProcedureCall) -> Rows:
    policy = (call.text("ttl_policy") or _BY_TIME).upper()
    if policy not in (_BY_TIME, _BY_CREATION):
        raise SparkError(
            f"CALL run_ttl: there is no ttl_policy {policy!r}", remedy=f"there are {_BY_TIME} and {_BY_CREATION}"
        )
    days = call.value("retain_days")
    options = option_pairs(call)
    client = call.client
    if days is None or days <= 0 or not client.config.partition_fields:
        return []
    since = time.time_ns() // 1_000_000 - days * _DAY_MS
    times = _created(client) if policy == _BY_CREATION else _last_written(client)
    zone = client.config.timezone
    expired = sorted(path for path, instant in times.items() if instant_to_millis(instant, zone) < since)
    if expired:
        _delete(call, ",".join(expired), options)
        refreshed(call)
    return [[path] for path in expired]


def _last_written(client: MetaClient) -> dict[str, str]:
    """Partition path -> requested time of the last commit that wrote to it."""
    slices = client.file_system_view().latest_file_slices()
    last: dict[str, str] = {}
    for path, instant in zip(slices["partition"].to_pylist(), slices["base_instant"].to_pylist(), strict=True):
        last[path] = max(last.get(path, ""), instant)
    for commit in client.timeline.write_instants():
        for path in client.timeline.commit_metadata(commit).partitions_written():
            if path in last:
                last[path] = max(last[path], commit.requested)
    return last


def _created(client: MetaClient) -> dict[str, str]:
    """Partition path -> the commit that made it, as its metafile has it; only of partitions that have one."""
    created = {}
    for path in _last_written(client):
        metafile = f"{path}/{PARTITION_METAFILE}"
        if client.storage.exists(metafile):
            instant = parse_properties(client.storage.read_bytes(metafile)).get("commitTime")
            if instant and instant.isdigit():
                created[path] = instant
    return created


PARTITION_PROCEDURES: Final = (
    Procedure(
        "drop_partition",
        "result string",
        _drop_partition,
        (TABLE, Parameter("partition", required=True), PATH),
        "Deletes the rows of partitions, given by their paths with commas between them; * stands for any characters.",
        changes=True,
    ),
    Procedure(
        "truncate_table",
        "result string, time_cost bigint",
        _truncate_table,
        (TABLE, Parameter("partitions"), PATH),
        "Deletes all rows, or those of partitions.",
        changes=True,
    ),
    Procedure(
        "run_ttl",
        "deleted_partitions string",
        _run_ttl,
        (TABLE, Parameter("ttl_policy"), Parameter("retain_days", "int"), Parameter("options"), PATH),
        "Deletes the rows of partitions that were not written, or were made, more than so many days ago.",
        changes=True,
    ),
)
