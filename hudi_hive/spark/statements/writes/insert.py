"""``INSERT INTO`` and ``INSERT OVERWRITE`` of a Hudi table.

Spark resolves the columns: named or not, by name, with values of a PARTITION clause, cast by its store assignment. The
operation and the rows that it replaces are those of Hudi's SQL.

Source: Hudi's ``ProvidesHoodieConfig`` and ``InsertIntoHoodieTableCommand``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import DataFrame

from hudi_hive.errors import InvalidOptionError, SparkError
from hudi_hive.names import (
    HOODIE_DATASOURCE_WRITE_OPERATION,
    HOODIE_SPARK_SQL_INSERT_INTO_OPERATION,
    HOODIE_SQL_BULK_INSERT_ENABLE,
    HOODIE_SQL_INSERT_MODE,
)
from hudi_hive.options import DuplicatePolicy, Operation, parse_java_boolean
from hudi_hive.options.write import COMBINE_BEFORE_INSERT, DUPLICATE_POLICY, INSERT_DROP_DUPLICATES, OVERWRITE_MODE
from hudi_hive.spark.bridge import JavaValue, class_name, option, python_session, quoted, scala_items, to_arrow_schema
from hudi_hive.spark.statements.writes.insert_columns import matched_columns
from hudi_hive.spark.statements.writes.nodes import argument
from hudi_hive.spark.statements.writes.replace import MatchCondition, overwrite_where_plan
from hudi_hive.spark.statements.writes.sink import sink, with_arguments
from hudi_hive.spark.statements.writes.target import WriteTarget, existing_partitions
from hudi_hive.spark.versions import SPARK
from hudi_hive.table.keys import KeyGenerator

_INSERTS: Final = {one.value: one for one in Operation if one is not Operation.DELETE_PARTITION}
_MODES: Final = ("upsert", "strict", "non-strict")


def insert_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """The insert with the table as a target that Spark knows.

    Args:
        target: the table.
        node: the parsed ``InsertIntoStatement``.

    Raises:
        SparkError: as of REPLACE USING and ON.
    """
    criteria = argument(node, "replaceCriteriaOpt")
    if criteria is not None and option(criteria) is not None:
        return _replacing(target, node, option(criteria))
    jvm = target.hook.environment.jvm
    overwrites = bool(node.overwrite())
    spec = {str(item._1()): option(item._2()) for item in scala_items(node.partitionSpec())}
    static = {name.lower(): str(text) for name, text in spec.items() if text is not None}
    target, changes = matched_columns(target, node, static)
    operation = _overwrite(target, named=bool(spec)) if overwrites else _insert(target)
    options = _options(target, operation)
    only_new = bool(node.ifPartitionNotExists())

    def write(rows: DataFrame) -> None:
        replaces = None
        if overwrites and operation is Operation.INSERT_OVERWRITE and spec and (only_new or _is_static(target)):
            replaces = _replaced(target, static)
        if only_new and replaces is not None and any(map(replaces, existing_partitions(target.client))):
            return
        target.write(rows, operation, options=options, replaces=replaces)

    what = "INSERT OVERWRITE" if overwrites else "INSERT INTO"
    relation = sink(target.hook, f"{what} {target.name}", write, target.columns, target.partition_columns)
    return with_arguments(jvm, node, {**changes, "table": relation, "overwrite": False, "ifPartitionNotExists": False})


def _replacing(target: WriteTarget, node: JavaValue, criteria: JavaValue) -> JavaValue:
    """``REPLACE WHERE`` of a condition, ``REPLACE USING`` columns that new and old rows have alike, ``REPLACE ON``.

    Raises:
        SparkError: columns that the table or the new rows do not have; a condition of ``REPLACE ON`` with a subquery.
    """
    if class_name(criteria) == "InsertReplaceWhere":
        return overwrite_where_plan(target, node, criteria.cond())
    if class_name(criteria) == "InsertReplaceOn":
        on = MatchCondition.of(target, node, criteria.cond(), option(criteria.tableAliasOpt()))
        return overwrite_where_plan(target, node, None, on=on)
    columns = {name.lower(): name for name in target.columns.names}
    named: list[str] = []  # of a query by position; Spark's grammar has no list of columns before USING
    if bool(node.byName()):
        query = target.hook.environment.jvm.classic.Dataset.ofRows(target.hook.session, node.query())
        named = [str(name).lower() for name in query.columns()]
    using = [str(name) for name in scala_items(criteria.cols())]
    for name in using:
        if name.lower() not in columns or (named and name.lower() not in named):
            raise SparkError(
                f"INSERT INTO {target.name} REPLACE USING ({', '.join(using)}): "
                f"{'the rows have' if name.lower() in columns else 'the table has'} no column {name!r}",
                path=target.location,
                remedy="name columns that the table and the new rows have",
            )
    return overwrite_where_plan(target, node, None, [columns[name.lower()] for name in using])


# -- operation -------------------------------------------------------------------------------------------------------


def _insert(target: WriteTarget) -> Operation:
    """The session's operation; without one an upsert where keys and an order tell which of two rows counts.

    Raises:
        InvalidOptionError: the session names an operation that inserts do not take.
    """
    config = target.client.config
    ordered = bool(config.record_keys and config.ordering_fields)
    stated = _stated(target, HOODIE_DATASOURCE_WRITE_OPERATION)
    into = _stated(target, HOODIE_SPARK_SQL_INSERT_INTO_OPERATION)
    mode = target.option(HOODIE_SQL_INSERT_MODE)
    if stated is not None or into is not None:
        operation = stated or into
        assert operation is not None
    elif mode is not None:
        operation = _of_mode(target, mode.lower(), ordered=ordered)
        if _leaves_out(target):
            operation = Operation.BULK_INSERT if operation is Operation.BULK_INSERT else Operation.INSERT
    else:
        operation = Operation.UPSERT if ordered else Operation.INSERT
    looks = (target.option(DUPLICATE_POLICY.name) or DuplicatePolicy.NONE.value).lower() != DuplicatePolicy.NONE.value
    return Operation.INSERT if looks and operation is Operation.UPSERT else operation


def _leaves_out(target: WriteTarget) -> bool:
    """Whether an insert leaves out rows of keys that are there: as real Hudi, where a mode decides its operation."""
    if not target.client.config.record_keys or target.option(HOODIE_SQL_INSERT_MODE) is None:
        return False
    names = (HOODIE_DATASOURCE_WRITE_OPERATION, HOODIE_SPARK_SQL_INSERT_INTO_OPERATION)
    if any(target.option(name) is not None for name in names):
        return False
    return parse_java_boolean(target.option(INSERT_DROP_DUPLICATES.name) or "false")


def _stated(target: WriteTarget, name: str) -> Operation | None:
    text = target.option(name)
    if text is None:
        return None
    if text.lower() not in _INSERTS:
        raise InvalidOptionError(f"{name}={text!r} is not known", remedy=", ".join(_INSERTS))
    return _INSERTS[text.lower()]


def _of_mode(target: WriteTarget, mode: str, *, ordered: bool) -> Operation:
    """The operation of a mode of older releases."""
    if mode not in _MODES:
        raise InvalidOptionError(f"{HOODIE_SQL_INSERT_MODE}={mode!r} is not known", remedy=", ".join(_MODES))
    if parse_java_boolean(target.option(HOODIE_SQL_BULK_INSERT_ENABLE) or "false"):
        if mode != "non-strict" and target.client.config.record_keys:
            raise InvalidOptionError(
                f"{target.name} has record keys, and is not bulk inserted in mode {mode}",
                path=target.location,
                remedy=f"set {HOODIE_SQL_INSERT_MODE}=non-strict, or {HOODIE_SQL_BULK_INSERT_ENABLE}=false",
            )
        return Operation.BULK_INSERT
    return Operation.UPSERT if ordered and mode != "non-strict" else Operation.INSERT


def _overwrite(target: WriteTarget, *, named: bool) -> Operation:
    """The whole table, or the partitions of the rows: with a PARTITION clause, or where the session says dynamic."""
    stated = _stated(target, HOODIE_DATASOURCE_WRITE_OPERATION)
    if stated is not None:
        return Operation.INSERT_OVERWRITE if stated is Operation.INSERT_OVERWRITE else Operation.INSERT_OVERWRITE_TABLE
    if target.partition_columns and (named or not _is_static(target)):
        return Operation.INSERT_OVERWRITE
    return Operation.INSERT_OVERWRITE_TABLE


def _is_static(target: WriteTarget) -> bool:
    """Whether an overwrite replaces what its PARTITION clause says; else the partitions of its rows."""
    mode = target.option(OVERWRITE_MODE.name) or target.setting("spark.sql.sources.partitionOverwriteMode") or ""
    return mode.upper() != "DYNAMIC"


def _replaced(target: WriteTarget, static: Mapping[str, str]) -> Callable[[str], bool]:
    """What says of a partition path whether it has the values of a PARTITION clause."""
    generator = KeyGenerator.of(target.client.config, target.settings)
    fields = [one for one in target.columns if one.name in target.partition_columns]
    texts = [
        f"CAST({_literal(static.get(one.name.lower()))} AS {one.dataType.simpleString()}) AS {quoted(one.name)}"
        for one in fields
    ]
    row = python_session(target.hook.session).sql(f"SELECT {', '.join(texts)}")
    table = SPARK.to_arrow(row).cast(to_arrow_schema(row.schema))
    return generator.matcher(table, set(static))


def _literal(text: str | None) -> str:
    return "NULL" if text is None else "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _options(target: WriteTarget, operation: Operation) -> dict[str, str]:
    """Options of the write: rows of one key are made one where an order tells which of them counts.

    Raises:
        SparkError: rows to leave out where nobody looks which records are there.
    """
    config = target.client.config
    leaves_out = operation in (Operation.INSERT, Operation.BULK_INSERT) and _leaves_out(target)
    dropped = () if leaves_out else (INSERT_DROP_DUPLICATES.name,)
    texts = {name: text for name, text in target.settings.items() if name not in dropped}
    if config.record_keys and config.ordering_fields:
        texts.setdefault(COMBINE_BEFORE_INSERT.name, "true")
    drops = leaves_out or texts.get(DUPLICATE_POLICY.name, "").lower() == DuplicatePolicy.DROP.value
    if drops and operation is Operation.BULK_INSERT:
        raise SparkError(
            f"INSERT INTO {target.name}: a bulk insert does not look for records that are there",
            path=target.location,
            remedy=f"set {HOODIE_SPARK_SQL_INSERT_INTO_OPERATION}=insert, or {DUPLICATE_POLICY}=none",
        )
    return texts


__all__ = ["insert_plan"]
