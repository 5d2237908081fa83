"""Procedures that copy what a query of a table shows into another table or a temporary view."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from hudi_hive.errors import SparkError
from hudi_hive.options import QueryType, read
from hudi_hive.spark.bridge import python_session
from hudi_hive.spark.statements.procedures.base import PATH, TABLE, Parameter, Procedure, ProcedureCall, Rows

_QUERY: Final = Parameter("query_type", default="snapshot")
_RANGE: Final = (
    Parameter("begin_instance_time", default=""),
    Parameter("end_instance_time", default=""),
    Parameter("as_of_instant", default=""),
)


def _queried(call: ProcedureCall) -> DataFrame:
    """The rows that a call asks for.

    Raises:
        SparkError: a query that there is none of, or an incremental one without its range.
    """
    kind = (call.text("query_type") or "snapshot").lower()
    kinds = [QueryType.SNAPSHOT.value, QueryType.INCREMENTAL.value, QueryType.READ_OPTIMIZED.value]
    if kind not in kinds:
        raise SparkError(
            f"CALL {call.procedure.name}: there is no query_type {kind!r}", remedy=f"one of {', '.join(kinds)}"
        )
    options = {read.QUERY_TYPE.name: kind}
    begin, end, as_of = (call.text(one.name) for one in _RANGE)
    if kind == QueryType.INCREMENTAL.value:
        if begin is None or end is None:
            raise SparkError(
                f"CALL {call.procedure.name}: an incremental query goes from an instant to another",
                remedy="give begin_instance_time and end_instance_time",
            )
        options |= {read.BEGIN.name: begin, read.END.name: end}
    elif as_of is not None:
        options[read.AS_OF.name] = as_of
    reader = python_session(call.hook.session).read.format("hudi").options(**options)
    return reader.load(call.location)


def _copy_to_table(call: ProcedureCall) -> Rows:
    mode = (call.text("save_mode") or "").lower()
    if mode not in ("overwrite", "append"):
        raise SparkError(f"CALL copy_to_table: there is no save_mode {mode!r}", remedy="give overwrite or append")
    name = str(call.value("new_table"))
    rows = _queried(call)
    session = python_session(call.hook.session)
    if session.catalog.tableExists(name):
        columns = session.table(name).columns
    else:
        columns = [one.strip() for one in (call.text("columns") or "").split(",") if one.strip()] or rows.columns
    by_name = {one.lower(): one for one in rows.columns}
    if missing := [one for one in columns if one.lower() not in by_name]:
        raise SparkError(
            f"CALL copy_to_table: the table has no column {missing[0]!r}",
            path=call.location,
            remedy=f"its columns are {', '.join(rows.columns)}",
        )
    rows.select([rows[by_name[one.lower()]].alias(one) for one in columns]).write.mode(mode).saveAsTable(name)
    return [[0]]


def _copy_to_temp_view(call: ProcedureCall) -> Rows:
    rows, name = _queried(call), str(call.value("view_name"))
    replaces = call.flag("replace")
    if call.flag("global"):
        (rows.createOrReplaceGlobalTempView if replaces else rows.createGlobalTempView)(name)
    else:
        (rows.createOrReplaceTempView if replaces else rows.createTempView)(name)
    return [[0]]


COPY_PROCEDURES: Final = (
    Procedure(
        "copy_to_table",
        "status int",
        _copy_to_table,
        (
            TABLE,
            _QUERY,
            Parameter("new_table", required=True),
            *_RANGE,
            Parameter("save_mode", default="overwrite"),
            Parameter("columns", default=""),
            PATH,
        ),
        "Copies the rows of a query into a table of Spark's.",
    ),
    Procedure(
        "copy_to_temp_view",
        "status int",
        _copy_to_temp_view,
        (
            TABLE,
            _QUERY,
            Parameter("view_name", required=True),
            *_RANGE,
            Parameter("replace", "boolean", default=False),
            Parameter("global", "boolean", default=False),
            PATH,
        ),
        "Makes a temporary view of a query.",
    ),
)
