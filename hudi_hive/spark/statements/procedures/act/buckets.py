"""``partition_bucket_index_manager``: rules by which partitions have buckets, and the rescaling of partitions by them.

Source: RFC-89, Hudi's ``PartitionBucketIndexManager``.
"""

from __future__ import annotations

from typing import Final

from hudi_hive.errors import InvalidOptionError, SparkError
from hudi_hive.spark.statements.procedures.act.target import refreshed, services_of
from hudi_hive.spark.statements.procedures.base import PATH, TABLE, Parameter, Procedure, ProcedureCall, Rows
from hudi_hive.table.keys import RULE_TYPE
from hudi_hive.write.services import TableServices, added_rules, rescaling_rules, roll_back_rescaling

_SUCCESS: Final = "SUCCESS"


def _manage(call: ProcedureCall) -> Rows:
    """Show rules, take a rescaling back, or rescale: the first of these that is asked for, as Hudi does."""
    rule = call.text("rule")
    if rule is not None and rule.lower() != RULE_TYPE:
        raise SparkError(f"CALL {call.procedure.name}: there are no rules of type {rule!r}", remedy="rule is regex")
    services = services_of(call)
    if call.value("show_config"):
        return [[_SUCCESS, "SHOW_CONFIG", ";".join(_shown(services))]]
    undone, overwrite, added = call.text("rollback"), call.text("overwrite"), call.text("add")
    if undone is not None:
        roll_back_rescaling(services.context, undone)
        refreshed(call)
        return [[_SUCCESS, "ROLLBACK", f"true to rollback {undone}"]]
    buckets = int(call.value("bucket_number"))
    count = None if buckets == -1 else buckets
    if overwrite is None:
        if added is None:
            return [["ERROR", "INVALID_OPERATION", "No valid operation specified"]]
        overwrite, count = added_rules(services.client, added)
    if count is not None and count < 1:
        raise InvalidOptionError(f"bucket_number {count} is no number of buckets", remedy="give 1 or more")
    if call.value("dry_run"):
        planned = services.rescale_buckets(overwrite, count, dry_run=True)
        changes = ";".join(f"\n{path} => {number}\n" for path, number in planned.partitions.items())
        return [[_SUCCESS, "DRY_RUN_OVERWRITE", changes]]
    done = services.rescale_buckets(overwrite, count)
    refreshed(call)
    told = -1 if count is None else count
    return [[_SUCCESS, "OVERWRITE", f"Expression: {done.rules.expressions}, Bucket Number: {told}, Dry Run: false"]]


def _shown(services: TableServices) -> list[str]:
    return [
        f"PartitionBucketIndexHashingConfig{{expressions='{rules.expressions}', "
        f"defaultBucketNumber='{rules.default}', rule='{RULE_TYPE}', version='1', instant={instant}}}"
        for instant, rules in rescaling_rules(services.client)
    ]


BUCKET_PROCEDURES: Final = (
    Procedure(
        "partition_bucket_index_manager",
        "result string, operation string, details string",
        _manage,
        (
            TABLE,
            Parameter("overwrite"),
            Parameter("bucket_number", "int", default=-1),
            Parameter("add"),
            Parameter("dry_run", "boolean", default=True),
            Parameter("rollback"),
            Parameter("show_config", "boolean", default=False),
            Parameter("rule", default=RULE_TYPE),
            Parameter("options"),
            PATH,
        ),
        "Gives partitions other numbers of buckets by rules, tells what that would change, shows and takes back rules.",
        changes=True,
    ),
)
