"""Procedures of Hudi that are not carried out, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hudi_hive.errors import SparkError
from hudi_hive.spark.statements.procedures.base import Parameter, Procedure, ProcedureCall, Rows


def _refused(why: str, remedy: str) -> Callable[[ProcedureCall], Rows]:
    def refuse(call: ProcedureCall) -> Rows:
        raise SparkError(f"CALL {call.procedure.name} is not carried out: {why}", remedy=remedy)

    return refuse


def _texts(*names: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, required=True) for name in names)


REFUSED_PROCEDURES: Final = (
    Procedure(
        "repair_deduplicate",
        "result string",
        _refused(
            "it would change files of completed commits in their place",
            "overwrite the partition: INSERT OVERWRITE t PARTITION (…) SELECT … with one row of each key",
        ),
        (
            *_texts("table", "duplicated_partition_path", "repaired_output_path"),
            Parameter("dry_run", "boolean", default=True),
            Parameter("dedupe_type", default="insert_type"),
        ),
        "Refused.",
    ),
    Procedure(
        "hdfs_parquet_import",
        "import_result int",
        _refused("it starts a job of Hudi's", "INSERT INTO t SELECT … FROM parquet.`…` writes the rows"),
        (
            *_texts("table", "table_type", "src_path", "target_path", "row_key", "partition_key", "schema_file_path"),
            Parameter("command", default="insert"),
            Parameter("retry", "int", default=0),
            Parameter("parallelism", "int", default=1),
            Parameter("props_file_path", default=""),
        ),
        "Refused.",
    ),
)
