"""Procedures that delete the rows of partitions or of the whole table, each as one commit."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hudi_hive.errors import SparkError
from hudi_hive.options import Operation
from hudi_hive.options import services as declared
from hudi_hive.options.write import PARTITIONS_TO_DELETE
from hudi_hive.spark.bridge import python_session
from hudi_hive.spark.statements.procedures.act.target import option_pairs, refreshed, target_of
from hudi_hive.spark.statements.procedures.base import PATH, TABLE, Parameter, Procedure, ProcedureCall, Rows
from hudi_hive.spark.write import table_services
from hudi_hive.write.files import WRITE_STATUS_SCHEMA
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.services import expire_partitions
from hudi_hive.write.writers import WriteReport

_BY_TIME: Final = "KEEP_BY_TIME"
_BY_CREATION: Final = "KEEP_BY_CREATION_TIME"


def _delete(call: ProcedureCall, partitions: str | None) -> None:
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
    stated = {**target.settings, PARTITIONS_TO_DELETE.name: partitions}
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
    policy, days = (call.text("ttl_policy") or "").upper(), call.value("retain_days")
    if policy not in ("", _BY_TIME, _BY_CREATION):
        raise SparkError(
            f"CALL run_ttl: there is no ttl_policy {policy!r}", remedy=f"there are {_BY_TIME} and {_BY_CREATION}"
        )
    stated = {declared.TTL_BY_CREATION.name: policy} if policy else {}
    stated |= {declared.TTL_DAYS.name: str(days)} if days is not None else {}
    texts = {**target_of(call).settings, **option_pairs(call), **stated}
    context = table_services(python_session(call.hook.session), call.location, texts).context
    if WriteConfig.of(context.options, context.client.config).ttl.days <= 0 or not context.client.config.is_partitioned:
        return []
    expired = expire_partitions(context)  # chooses them under the table's lock
    if expired is None:
        return []
    report = WriteReport.of(expired.instant, Operation.DELETE_PARTITION, WRITE_STATUS_SCHEMA.empty_table())
    target_of(call).follow(replace(report, failed=dict(context.failed)))
    refreshed(call)
    return [[path] for path in sorted(expired.partitions)]


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
