"""A Hudi table as the target of a statement: Spark matches the statement's columns with it, Python gets the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from hudi_hive.spark.bridge import Function1, JavaValue, Jvm, java_type, python_session, statement_jobs
from hudi_hive.spark.catalog import SessionHook
from hudi_hive.spark.versions import SPARK

Action = Callable[[DataFrame], None]
"""Writes the rows of a statement, and returns when they are committed."""


def sink(
    hook: SessionHook,
    label: str,
    action: Action,
    columns: StructType,
    partition_columns: Sequence[str] = (),
    *,
    takes_any_columns: bool = False,
) -> JavaValue:
    """A resolved relation that takes rows: ``DataSourceV2Relation`` over ``HudiSink.java``.

    Args:
        hook: of the session.
        label: what plans and messages call the table.
        action: what to do with the rows.
        columns: those that Spark casts and orders the rows to, by its rules of store assignment.
        partition_columns: those that a PARTITION clause may name.
        takes_any_columns: the rows come as the query has them.
    """
    jvm = hook.environment.jvm

    def write(rows: JavaValue) -> None:
        frame = DataFrame(rows, python_session(hook.session))
        with statement_jobs(frame.sparkSession.sparkContext, label):
            action(frame)

    schema = java_type(jvm, columns)
    names = jvm.strings(partition_columns)
    table = jvm.made("HudiSink", label, schema, names, takes_any_columns, Function1(write))
    return jvm.package("execution.datasources.v2").DataSourceV2Relation.create(table, jvm.none(), jvm.none())


def insert_into(jvm: Jvm, relation: JavaValue, query: JavaValue) -> JavaValue:
    """``INSERT INTO relation query``, by position, whatever arguments this version of Spark gives the node."""
    parser = jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
    return with_arguments(jvm, parser.parsePlan("INSERT INTO t SELECT 1"), {"table": relation, "query": query})


def with_arguments(jvm: Jvm, node: JavaValue, changes: Mapping[str, JavaValue]) -> JavaValue:
    """A copy of a node with some of its arguments replaced, by their names."""
    values = jvm.view.java.util.ArrayList()
    for index in range(node.productArity()):
        name = SPARK.element_name(node, index)
        values.add(changes[name] if name in changes else node.productElement(index))
    return node.makeCopy(values.toArray())


__all__ = ["Action", "insert_into", "sink", "with_arguments"]
