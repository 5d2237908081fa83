"""Statements as Spark commands whose work is done by Python when they run, with rows of any columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from hudi_hive.errors import SparkError
from hudi_hive.spark.bridge import Function1, JavaProxy, JavaValue, Jvm, quoted, statement_jobs, to_java
from hudi_hive.spark.versions import SPARK

Rows = Iterable[Sequence[Any]]


def command(jvm: Jvm, text: str, run: Callable[[], Rows | None], columns: str = "") -> JavaValue:
    """The plan of a command: it runs once, where Spark runs commands, and its rows are those that ``run`` gives.

    Args:
        jvm: the JVM.
        text: how plans show it.
        run: does the work; gives rows of JSON values.
        columns: names and types of the rows as a DDL text; none for a command without rows.
    """
    if columns:
        return call(jvm, text, {}, lambda _: run(), columns)
    return jvm.made("EmptyCommand", _Runner(run, jvm), text, jvm.map({}))


def call(
    jvm: Jvm,
    text: str,
    arguments: Mapping[str, tuple[str, JavaValue]],
    run: Callable[[list[Any]], Rows | None],
    columns: str,
    condition: Callable[[list[Any]], str | None] | None = None,
) -> JavaValue:
    """The plan of a command with arguments: Spark's own ``CALL``, so that Spark computes them.

    Args:
        jvm: the JVM.
        text: how plans show it.
        arguments: name -> its type in SQL, and the parsed expression that gives its value.
        run: does the work, with the arguments' values; gives rows of JSON values.
        columns: names and types of the rows as a DDL text.
        condition: which of the rows are shown, as an SQL text made of the arguments' values.
    """
    if not SPARK.has_procedures:
        return _command_with_rows(jvm, text, arguments, run, columns, condition)
    parser = jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
    schema = jvm.module("org.apache.spark.sql.types.StructType").fromDDL(columns)
    names = [str(name) for name in schema.fieldNames()]

    def rows(values: JavaValue) -> JavaValue:
        given = list(values)
        shown = None if condition is None else condition(given)
        with _jobs(f"CALL {text}"):
            made = run(given) or ()
        return _internal_rows(jvm, made, names, columns, shown)

    connector = jvm.view.org.apache.spark.sql.connector.catalog
    parameter = connector.procedures.ProcedureParameter
    parameters = jvm.gateway.new_array(parameter, len(arguments))
    values = []
    for at, (name, (kind, expression)) in enumerate(arguments.items()):
        cast = parser.parseExpression(f"CAST(1 AS {kind})")
        values.append(cast.withNewChildren(jvm.seq([expression])))
        parameters[at] = getattr(parameter, "in")(name, cast.dataType()).build()
    procedure = jvm.made("HudiProcedure", text, parameters, schema, Function1(rows))
    identifier = connector.Identifier.of(jvm.strings([]), text)
    resolved = jvm.package("catalyst.analysis").ResolvedProcedure(procedure, identifier, procedure)
    return jvm.package("catalyst.plans.logical").Call(resolved, jvm.seq(values), True)


def _command_with_rows(
    jvm: Jvm,
    text: str,
    arguments: Mapping[str, tuple[str, JavaValue]],
    run: Callable[[list[Any]], Rows | None],
    columns: str,
    condition: Callable[[list[Any]], str | None] | None,
) -> JavaValue:
    """The same under releases of Spark without ``CALL``: its arguments are computed when it runs."""
    schema = jvm.module("org.apache.spark.sql.types.StructType").fromDDL(columns)
    names = [str(name) for name in schema.fieldNames()]

    done: list[JavaValue] = []

    def rows(_: JavaValue) -> JavaValue:
        if not done:  # copies of the plan share what it did
            given = _values(jvm, arguments)
            shown = None if condition is None else condition(given)
            with _jobs(f"CALL {text}"):
                made = run(given) or ()
            done.append(_rows_frame(jvm, made, names, columns, shown).collect())
        return done[0]

    attributes = jvm.module("org.apache.spark.sql.catalyst.types.DataTypeUtils").toAttributes(schema)
    return jvm.made("RowsCommand", _Runner(lambda: None, jvm), text, jvm.map({}), attributes, Function1(rows))


def _jobs(statement: str) -> AbstractContextManager[None]:
    """Describes the jobs of a statement."""
    context = SparkContext._active_spark_context
    return nullcontext() if context is None else statement_jobs(context, statement)


def _values(jvm: Jvm, arguments: Mapping[str, tuple[str, JavaValue]]) -> list[Any]:
    """What Spark computes of the arguments' expressions."""
    if not arguments:
        return []
    parser = jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
    single = jvm.module("org.apache.spark.sql.catalyst.plans.logical.OneRowRelation").apply()
    columns = []
    for kind, expression in arguments.values():
        named = parser.parseExpression(f"CAST(1 AS {kind}) AS argument")
        columns.append(named.withNewChildren(jvm.seq([named.child().withNewChildren(jvm.seq([expression]))])))
    plan = jvm.package("catalyst.plans.logical").Project(jvm.seq(columns), single)
    row = jvm.classic.Dataset.ofRows(jvm.classic.SparkSession.active(), plan).head()
    return [row.get(at) for at in range(len(columns))]


def _internal_rows(jvm: Jvm, rows: Rows, names: Sequence[str], columns: str, condition: str | None) -> JavaValue:
    """Rows as Spark keeps them inside."""
    return _rows_frame(jvm, rows, names, columns, condition).queryExecution().executedPlan().executeCollect()


def _rows_frame(jvm: Jvm, rows: Rows, names: Sequence[str], columns: str, condition: str | None) -> JavaValue:
    texts = [json.dumps({"row": dict(zip(names, row, strict=True))}) for row in rows]
    values = jvm.as_seq(jvm.strings(texts))
    session = jvm.classic.SparkSession.active()
    frame = session.createDataset(values, jvm.package("Encoders").STRING())
    frame = frame.selectExpr(jvm.strings([f"from_json(value, 'row struct<{columns}>').row AS row"]))
    frame = frame.selectExpr(jvm.strings([f"row.{quoted(name)} AS {quoted(name)}" for name in names]))
    if condition is not None:
        frame = _filtered(frame, condition, names)
    return frame


def _filtered(frame: JavaValue, condition: str, names: Sequence[str]) -> JavaValue:
    try:
        return frame.filter(condition)
    except (PySparkException, Py4JJavaError) as error:
        reason = str(error).strip().partition("\n")[0]
        remedy = f"give a condition on the columns {', '.join(names)}"
        raise SparkError(f"the filter {condition!r} cannot be applied: {reason}", remedy=remedy) from error


class _Runner(JavaProxy):
    """Spark's ``ExternalCommandRunner`` over a Python function."""

    label = "hudi_hive.Command"

    def __init__(self, run: Callable[[], Rows | None], jvm: Jvm) -> None:
        self._run = run
        self._jvm = jvm
        self._done = False

    @to_java
    def executeCommand(self, command: str, options: JavaValue) -> JavaValue:
        """Run it, once: ``EXECUTE IMMEDIATE`` runs its statement, and then shows its plan. It has no rows to show."""
        if not self._done:
            with _jobs(command):
                self._run()
            self._done = True
        return self._jvm.strings([])

    class Java:
        implements = ("org.apache.spark.sql.connector.ExternalCommandRunner",)
