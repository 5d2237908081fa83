"""Rows that a statement answers with, as a plan."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hudi_hive.spark.bridge import JavaValue
from hudi_hive.spark.statements.writes import WriteTarget


def answer(target: WriteTarget, names: Sequence[str], rows: Sequence[Sequence[str]]) -> JavaValue:
    """The plan of rows of texts.

    Args:
        target: the table that the statement is about.
        names: of the columns.
        rows: a text per column each.
    """
    jvm, session = target.hook.environment.jvm, target.hook.session
    texts = jvm.strings([json.dumps(dict(zip(names, row, strict=True))) for row in rows])
    values = jvm.as_seq(texts)
    frame = session.createDataset(values, jvm.package("Encoders").STRING()).toDF(jvm.seq(["value"]))
    columns = ", ".join(f"{name} STRING" for name in names)
    answers = frame.selectExpr(jvm.strings([f"from_json(value, '{columns}') AS answer"]))
    return answers.selectExpr(jvm.strings(["answer.*"])).queryExecution().analyzed()


__all__ = ["answer"]
