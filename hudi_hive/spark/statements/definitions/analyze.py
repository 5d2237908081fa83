"""``ANALYZE TABLE``: statistics of a table, and of its columns, in its entry.

Source: Spark's ``AnalyzeTableCommand``, ``AnalyzeColumnCommand``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from hudi_hive.errors import SparkError, UnknownColumnError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.spark.bridge import JavaValue, class_name, option, python_session, quoted, scala_items
from hudi_hive.spark.statements.entries import (
    COLUMNS,
    NUM_ROWS,
    PREFIX,
    TOTAL_SIZE,
    SessionEntry,
    set_statistics,
    total_size,
)
from hudi_hive.spark.statements.writes import WriteTarget, command
from hudi_hive.spark.versions import SPARK

_SIMPLE: Final[tuple[type[DataType], ...]] = (
    BinaryType,
    BooleanType,
    DateType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)
"""Types whose columns have statistics."""


def analyze_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``ANALYZE TABLE [NOSCAN | FOR COLUMNS …]``, which Spark carries out in its own catalog.

    Raises:
        SparkError: of one partition in a metastore server, a table by path, or a column of a type without statistics.
        UnknownColumnError: a column that the table does not have.
    """
    if target.entry is None:
        raise SparkError(
            f"ANALYZE by path: {target.name} is no table of a catalog",
            path=target.location,
            remedy="name the table as the catalog has it",
        )
    entry = SessionEntry(target.hook, target.entry)
    if not entry.metastore_uris:
        return node
    arguments = {SPARK.element_name(node, at): node.productElement(at) for at in range(node.productArity())}
    text = f"ANALYZE TABLE {target.name} COMPUTE STATISTICS"
    jvm = target.hook.environment.jvm
    if class_name(node) == "AnalyzeColumn":
        columns = _columns(target, arguments)
        return command(jvm, f"{text} FOR COLUMNS", lambda: _analyze_columns(target, entry, columns))
    if arguments["partitionSpec"].nonEmpty():
        raise SparkError(
            f"ANALYZE of a partition of {target.name}: queries take the size of partitions from the table's timeline",
            path=target.location,
            remedy="leave PARTITION out",
        )
    scans = not arguments["noScan"]
    return command(jvm, text, lambda: _analyze(target, entry, scans=scans))


def _columns(target: WriteTarget, arguments: Mapping[str, JavaValue]) -> list[str]:
    named = option(arguments["columnNames"])
    schema = target.shown_columns
    names = schema.names if named is None else [str(name) for name in scala_items(named)]
    by_name = {one.name.lower(): one for one in schema}
    for name in names:
        field = by_name.get(name.lower())
        if field is None:
            raise UnknownColumnError(f"ANALYZE TABLE {target.name}: there is no column {name}")
        if not isinstance(field.dataType, _SIMPLE):
            raise SparkError(
                f"ANALYZE TABLE {target.name}: column {name} of type {field.dataType.simpleString()} has no statistics",
                path=target.location,
                remedy="name the other columns",
            )
    return [by_name[name.lower()].name for name in names]


def _analyze(target: WriteTarget, entry: SessionEntry, *, scans: bool) -> None:
    """Size and number of rows; what was there stays where both are as they were."""
    size = str(total_size(target.hook, target.location))
    count = str(python_session(target.hook.session).table(_name(entry)).count()) if scans else None
    with HiveMetastore(entry.metastore_uris) as metastore:
        before = _statistics(metastore, entry)
        same_size, same_count = before.get(TOTAL_SIZE) == size, count in (None, before.get(NUM_ROWS))
        if same_size and same_count:
            return
        texts = {TOTAL_SIZE: size, **({} if count is None else {NUM_ROWS: count})}
        set_statistics(metastore, entry.database, entry.name, texts)
    entry.refresh()


def _analyze_columns(target: WriteTarget, entry: SessionEntry, columns: Sequence[str]) -> None:
    jvm, session = target.hook.environment.jvm, target.hook.session
    frame = python_session(session).table(_name(entry))
    plan = frame._jdf.queryExecution().analyzed()
    attributes = {str(one.name()): one for one in scala_items(plan.output())}
    utilities = jvm.module("org.apache.spark.sql.execution.command.CommandUtils")
    computed = utilities.computeColumnStats(session, plan, jvm.seq([attributes[name] for name in columns]))
    texts = {}
    for pair in scala_items(computed._2()):
        statistics = pair._2().toCatalogColumnStat(pair._1().name(), pair._1().dataType())
        for item in scala_items(statistics.toMap(pair._1().name())):
            texts[f"{COLUMNS}{item._1()}"] = str(item._2())
    size = str(total_size(target.hook, target.location))
    with HiveMetastore(entry.metastore_uris) as metastore:
        heads = tuple(f"{COLUMNS}{name}." for name in columns)
        before = _statistics(metastore, entry).items()
        kept = {key: text for key, text in before if key.startswith(COLUMNS) and not key.startswith(heads)}
        texts = {**kept, **texts, TOTAL_SIZE: size, NUM_ROWS: str(computed._1())}
        set_statistics(metastore, entry.database, entry.name, texts)
    entry.refresh()


def _statistics(metastore: HiveMetastore, entry: SessionEntry) -> dict[str, str]:
    parameters = metastore.table(entry.database, entry.name).parameters or {}
    return {key: text for key, text in parameters.items() if key.startswith(PREFIX)}


def _name(entry: SessionEntry) -> str:
    return quoted(entry.database, entry.name)


__all__ = ["analyze_plan"]
