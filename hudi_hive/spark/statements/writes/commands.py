"""Statements as Spark commands whose work is done by Python when they run, with rows of any columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hudi_hive.spark.bridge import JavaProxy, JavaValue, Jvm, to_java

Rows = Iterable[Sequence[Any]]


def command(jvm: Jvm, text: str, run: Callable[[], Rows | None], columns: str = "") -> JavaValue:
    """The plan of a command: it runs once, where Spark runs commands, and its rows are those that ``run`` gives.

    Args:
        jvm: the JVM.
        text: how plans show it.
        run: does the work; gives rows of JSON values.
        columns: names and types of the rows as a DDL text; none for a command without rows.
    """
    executor = jvm.package("execution.command").ExternalCommandExecutor(_Runner(run, jvm), text, jvm.map({}))
    parser = jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
    plans = jvm.package("catalyst.plans.logical")
    if not columns:
        return plans.Project(jvm.seq([]), executor)
    shown = parser.parseExpression(f"from_json(command_output, 'row struct<{columns}>').row.*")
    return plans.Project(jvm.seq([shown]), executor)


class _Runner(JavaProxy):
    """Spark's ``ExternalCommandRunner`` over a Python function."""

    label = "hudi_hive.Command"

    def __init__(self, run: Callable[[], Rows | None], jvm: Jvm) -> None:
        self._run = run
        self._jvm = jvm

    @to_java
    def executeCommand(self, command: str, options: JavaValue) -> JavaValue:
        """Run it; its rows as JSON texts."""
        return self._jvm.strings([json.dumps({"row": row}) for row in self._run() or ()])

    class Java:
        implements = ("org.apache.spark.sql.connector.ExternalCommandRunner",)
