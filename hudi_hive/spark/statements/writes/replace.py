"""``REPLACE TABLE``, with ``AS SELECT`` or without, and new rows in the place of those that a condition takes."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import StructField, StructType

from hudi_hive.errors import InvalidOptionError, SparkError
from hudi_hive.metastore import HiveMetastore, Table
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.names import HOODIE_DATASOURCE_WRITE_OPERATION, HOODIE_QUERY_AS_RO_TABLE
from hudi_hive.options import Operation
from hudi_hive.schema import META_FIELDS
from hudi_hive.spark.bridge import JavaValue, class_name, metastore_settings, option, quoted, scala_items
from hudi_hive.spark.catalog import SessionHook
from hudi_hive.spark.statements.entries import hudi_columns
from hudi_hive.spark.statements.writes.commands import command
from hudi_hive.spark.statements.writes.create import columns_of
from hudi_hive.spark.statements.writes.evolution import field_of
from hudi_hive.spark.statements.writes.insert_columns import matched_columns
from hudi_hive.spark.statements.writes.new_table import NewTable, plain
from hudi_hive.spark.statements.writes.nodes import Nodes, argument
from hudi_hive.spark.statements.writes.sink import insert_into, sink, with_arguments
from hudi_hive.spark.statements.writes.target import WriteTarget
from hudi_hive.spark.versions import SPARK
from hudi_hive.spark.write import RowChanges, persisted_frames, replace_table
from hudi_hive.sync.config import read_options
from hudi_hive.table import MetaClient, is_hudi_table
from hudi_hive.write.commit import in_place_of
from hudi_hive.write.coordination import table_lock

_OPERATION: Final = "_hudi_hive_operation"
_KEY: Final = "_hudi_hive_key_"
_NEW: Final = "_hudi_hive_new"


def replace_as_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """A table of another definition in the place of one that is there, with the rows of a query.

    The old table stays as it is until the new one is complete, so that the query may read it.

    Args:
        target: the table that is there.
        node: a parsed ``CreateTableAsSelect`` of its name.
    """
    hook = target.hook
    table = _new_table(target, node)

    def run(rows: DataFrame) -> None:
        rows = rows.drop(*META_FIELDS)
        new = table.spelled(rows.schema)
        columns = new.ordered(hudi_columns(plain(rows.schema)))
        options = {**new.options(), HOODIE_DATASOURCE_WRITE_OPERATION: Operation.INSERT_OVERWRITE_TABLE.value}
        replace_table(rows.select(*[f"`{name}`" for name in columns.names]), target.location, options)
        _enter(target, new, columns)

    relation = sink(hook, f"REPLACE TABLE {table.label}", run, StructType(), takes_any_columns=True)
    return insert_into(hook.environment.jvm, relation, node.query())


def replace_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """A table of another definition, without rows, in the place of one that is there.

    Args:
        target: the table that is there.
        node: a parsed ``CreateTable`` of its name.
    """
    table = _new_table(target, node)
    columns = columns_of(table, node)
    table = table.spelled(columns)

    def run() -> None:
        if not columns.fields:
            raise SparkError(f"REPLACE TABLE {table.label} without columns", remedy="name columns, or use AS SELECT")
        table.check_partitions(columns)
        ordered = hudi_columns(table.ordered(columns))
        lock = table_lock(table.options(), target.client.storage, metastore=MetastoreLock.connect)
        in_place_of(target.client, lock, lambda path: replace(table, location=path).create(ordered))
        _enter(target, table, ordered)

    return command(target.hook.environment.jvm, f"REPLACE TABLE {table.label}", run)


def _new_table(target: WriteTarget, node: JavaValue) -> NewTable:
    """What the statement says of the new table.

    Raises:
        SparkError: it is to be in another place.
        InvalidOptionError: it is to show base files alone.
    """
    table = NewTable.of(target.hook, node)
    if table.base_files_only is not None:
        raise InvalidOptionError(
            f"REPLACE TABLE {table.label} with {HOODIE_QUERY_AS_RO_TABLE}: it shows a table that is there",
            path=target.location,
            remedy="leave the property out",
        )
    if table.location is not None and table.base.rstrip("/") != target.location.rstrip("/"):
        raise SparkError(
            f"{target.name} cannot be replaced by a table in {table.base}",
            path=target.location,
            remedy="leave the path out, or drop the table first",
        )
    return table


def left_table(hook: SessionHook, node: JavaValue) -> WriteTarget | None:
    """The table that is in the folder of one to be replaced, without an entry: what a replacement that ended left.

    Args:
        hook: of the session.
        node: a parsed ``CreateTableAsSelect``, or ``CreateTable``.
    """
    table = NewTable.of(hook, node)
    if table.exists or not hook.session.sessionState().catalog().databaseExists(table.database):
        return None
    if not is_hudi_table(table.base, table.stored):
        return None
    same = MetaClient.load(table.base, table.stored).config.name == table.name
    return WriteTarget(hook, table.label, table.base, None) if same else None


@dataclass(frozen=True)
class MatchCondition:
    """The condition of ``REPLACE ON``: over a row of the table and a new row, as the query has it.

    As in Delta Lake a column is one of the table's or one of the query's; Spark refuses a name that both have, and
    functions that give other values each time, as in the condition of any join.

    Attributes:
        condition: with columns :attr:`fields` in the place of the query's.
        alias: what the condition calls the table; empty for its name.
        values: what the condition reads of the query, as it is written.
        fields: the names and types of ``values``.

    Source: Spark's ``InsertReplaceOn``; Databricks' reference of ``INSERT``.
    """

    condition: JavaValue
    alias: str
    values: Sequence[JavaValue]
    fields: StructType

    @classmethod
    def of(cls, target: WriteTarget, node: JavaValue, condition: JavaValue, alias: str | None) -> MatchCondition:
        """Tell the columns of a condition apart.

        Args:
            target: the table.
            node: a parsed ``InsertIntoStatement``.
            condition: of its ``REPLACE ON``.
            alias: its name for the table.

        Raises:
            SparkError: schema evolution; a subquery.
        """
        jvm = target.hook.environment.jvm
        subqueries = jvm.module("org.apache.spark.sql.catalyst.expressions.SubqueryExpression")
        if subqueries.hasSubquery(condition):
            raise _refused_match(
                target,
                "has a subquery",
                "join what the subquery reads into the query of the new rows, or use MERGE INTO",
            )
        if argument(node, "withSchemaEvolution"):
            raise _refused_match(target, "stands with SCHEMA EVOLUTION", "add the columns before, by ALTER TABLE")
        columns = _QueryColumns(target, _table(target, alias or ""), target.resolved_query(node.query()))
        separated = columns.replaced(condition, frozenset())
        one = cls(separated, alias or "", columns.values, StructType(columns.fields))
        _resolved(target, one.matched(target, _table(target, one.alias), columns.plan()))  # Spark's errors, before rows
        return one

    def matched(self, target: WriteTarget, table: JavaValue, new: JavaValue) -> JavaValue:
        """The rows of the table that match a new one.

        Args:
            target: the table.
            table: a plan of its rows, by the condition's name for it.
            new: a plan of the new rows' ``fields``.
        """
        return Nodes(target.hook.environment.jvm).join(table, new, "LeftSemi", self.condition)


class _QueryColumns:
    """Collects the columns of a query that a condition reads beside those of a table."""

    def __init__(self, target: WriteTarget, table: JavaValue, query: JavaValue) -> None:
        self._nodes = Nodes(target.hook.environment.jvm)
        both = self._nodes.join(table, query, "Inner", self._nodes.expression("true"))
        self._joined = _resolved(target, both)  # in which columns of the two differ, also if they are of one table
        self._resolver = target.hook.session.sessionState().conf().resolver()
        self._names: dict[tuple[str, ...], str] = {}
        self.values: list[JavaValue] = []
        self.fields: list[StructField] = []

    def replaced(self, expression: JavaValue, bound: frozenset[str]) -> JavaValue:
        """A condition with names of :attr:`fields` in the place of the query's columns.

        Args:
            expression: the condition, or a part of it.
            bound: names of variables of the lambda functions around it, in lower case.
        """
        kind = class_name(expression)
        if kind in ("UnresolvedAttribute", "UnresolvedNamedLambdaVariable"):
            parts = tuple(str(part) for part in scala_items(expression.nameParts()))
            return expression if parts[0].lower() in bound else self._column(expression, parts)
        if kind == "LambdaFunction":
            names = {str(one.name()).lower() for one in scala_items(expression.arguments())}
            function = self.replaced(expression.function(), bound | names)
            return with_arguments(self._nodes.jvm, expression, {"function": function})
        children = list(scala_items(expression.children()))
        if not children:
            return expression
        return expression.withNewChildren(self._nodes.jvm.seq([self.replaced(child, bound) for child in children]))

    def plan(self) -> JavaValue:
        """A row of :attr:`fields`, for Spark to resolve a condition with."""
        nodes = self._nodes
        nulls = [nodes.alias(nodes.cast(nodes.expression("NULL"), one.dataType), one.name) for one in self.fields]
        single = nodes.jvm.module("org.apache.spark.sql.catalyst.plans.logical.OneRowRelation").apply()
        return nodes.project([*nulls, nodes.expression(f"1 AS {_NEW}")], single)

    def _column(self, expression: JavaValue, parts: tuple[str, ...]) -> JavaValue:
        column = option(self._joined.resolve(self._nodes.jvm.seq(list(parts)), self._resolver))
        if column is None or column.references().subsetOf(self._joined.left().outputSet()):
            return expression
        if parts not in self._names:
            name = self._names[parts] = f"{_NEW}_{len(self.fields)}"
            self.values.append(self._nodes.alias(self._nodes.column(*parts), name))
            self.fields.append(_field(name, column))
        return self._nodes.column(self._names[parts])


def overwrite_where_plan(
    target: WriteTarget,
    node: JavaValue,
    condition: JavaValue | None,
    using: Sequence[str] = (),
    on: MatchCondition | None = None,
) -> JavaValue:
    """Rows in the place of those that a condition takes, or that match new ones, in one commit.

    The new rows are computed once.

    Args:
        target: the table.
        node: a parsed ``InsertIntoStatement`` with the new rows, ``REPLACE WHERE`` or without it.
        condition: over the table's columns; None with ``using`` or ``on``.
        using: names of the columns whose values a new row must have for a row to be replaced, null being no value.
        on: what must hold with a new row for a row to be replaced.

    Raises:
        SparkError: the table has no record keys, by which its rows could be deleted beside other changes.
    """
    if not target.record_keys:
        raise SparkError(
            f"overwrite of rows of {target.name} by a condition: the table has no record keys",
            path=target.location,
            remedy="use overwritePartitions(), overwrite(lit(True)), or delete the rows first",
        )
    jvm = target.hook.environment.jvm
    target, columns, matched = _new_rows(target, node, on)
    keys = [name for name in target.columns.names if name.lower() in target.fixed_columns]

    def write(rows: DataFrame) -> None:
        with persisted_frames() as persist:
            new = persist(rows)
            table = _table(target, "" if on is None else on.alias)
            if condition is not None:
                table = jvm.package("catalyst.plans.logical").Filter(condition, table)
            if on is not None:
                values = new.select(*on.fields.names, sql.lit(1).alias(_NEW))
                read = values if on.values else values.limit(1)
                table = on.matched(target, table, read._jdf.queryExecution().analyzed())
            taken = DataFrame(jvm.classic.Dataset.ofRows(target.hook.session, table), new.sparkSession)
            stored = new.select(*map(quoted, target.columns.names))
            if using:
                taken = _alike(taken, stored, using)
            own = [name for name in target.columns.names if field_of(target.shown_columns, name) is not None]
            changes = _changes(stored, taken.select(*map(quoted, own)), keys)
            target.write(changes, Operation.UPSERT, reads=True, changes=RowChanges(_OPERATION))

    relation = sink(target.hook, f"OVERWRITE {target.name}", write, columns)
    changes = {**matched, "table": relation, "overwrite": False}
    if argument(node, "replaceCriteriaOpt") is not None:
        changes["replaceCriteriaOpt"] = jvm.none()
    return with_arguments(jvm, node, changes)


def _new_rows(
    target: WriteTarget, node: JavaValue, on: MatchCondition | None
) -> tuple[WriteTarget, StructType, dict[str, JavaValue]]:
    """What an insert of rows that replace others is: with the values that a condition reads behind its columns.

    Returns:
        The table, the columns of the new rows, and the arguments of the node that change.
    """
    if on is None or not on.values:
        target, matched = matched_columns(target, node, {})
        return target, target.columns, matched
    nodes = Nodes(target.hook.environment.jvm)
    columns = StructType([*target.columns, *on.fields])
    query = nodes.project([nodes.expression("*"), *on.values], node.query())
    wider = with_arguments(nodes.jvm, node, {"query": query})
    return target, columns, {"query": query, **matched_columns(target.with_columns(columns), wider, {})[1]}


def _field(name: str, value: JavaValue) -> StructField:
    """A column of the type of a resolved expression."""
    field = {"name": name, "type": json.loads(value.dataType().json()), "nullable": True, "metadata": {}}
    return StructField.fromJson(field)


def _refused_match(target: WriteTarget, reason: str, remedy: str) -> SparkError:
    return SparkError(
        f"INSERT INTO {target.name} REPLACE ON: the condition {reason}", path=target.location, remedy=remedy
    )


def _resolved(target: WriteTarget, plan: JavaValue) -> JavaValue:
    frame = target.hook.environment.jvm.classic.Dataset.ofRows(target.hook.session, plan)
    return frame.queryExecution().analyzed()


def _table(target: WriteTarget, alias: str) -> JavaValue:
    """The table's rows, by its name or an alias."""
    nodes = Nodes(target.hook.environment.jvm)
    table = nodes.readable(_relation(target))
    return nodes.named(table, alias) if alias else table


def _relation(target: WriteTarget) -> JavaValue:
    parser = target.hook.environment.jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
    parts = ["hudi", target.location] if target.entry is None else target.entry.declared.name.split(".")
    return parser.parsePlan(f"SELECT * FROM {quoted(*parts)}").child()


def _alike(taken: DataFrame, rows: DataFrame, using: Sequence[str]) -> DataFrame:
    """The rows of a table that have the values of a new row in some columns."""
    names = [sql.col(quoted(name)).alias(f"{_KEY}{at}") for at, name in enumerate(using)]
    new = rows.select(*names).distinct()
    same = [taken[quoted(name)] == new[f"{_KEY}{at}"] for at, name in enumerate(using)]
    return taken.join(new, functools.reduce(lambda one, other: one & other, same), "left_semi")


def _changes(rows: DataFrame, taken: DataFrame, keys: list[str]) -> DataFrame:
    """New rows, those that replace a taken one as updates, and the other taken rows as deletes."""
    old = taken.select(*[sql.col(quoted(name)).alias(f"{_KEY}{at}") for at, name in enumerate(keys)])
    new = rows.select(*[sql.col(quoted(name)).alias(f"{_KEY}{at}") for at, name in enumerate(keys)])
    marked = _joined(rows, old.withColumn(_OPERATION, sql.lit("update")), keys, "left")
    stored = marked.select(*map(quoted, rows.columns), sql.coalesce(_OPERATION, sql.lit("insert")).alias(_OPERATION))
    gone = _joined(taken, new, keys, "left_anti").withColumn(_OPERATION, sql.lit("delete"))
    return stored.unionByName(gone, allowMissingColumns=True)


def _joined(left: DataFrame, right: DataFrame, keys: list[str], how: str) -> DataFrame:
    same = [left[quoted(name)].eqNullSafe(right[f"{_KEY}{at}"]) for at, name in enumerate(keys)]
    return left.join(right, functools.reduce(lambda one, other: one & other, same), how)


def _enter(target: WriteTarget, table: NewTable, columns: StructType) -> None:
    """The table's entry, which may have other columns and properties now; the data stays where it is.

    If the new entry cannot be made the old one is there again, and without either repeating the statement makes it.
    """
    hook = target.hook
    catalog = hook.session.sessionState().catalog()
    identifier = hook.environment.jvm.package("catalyst").TableIdentifier(
        table.name, hook.environment.jvm.some(table.database)
    )
    old = catalog.getTableMetadata(identifier) if catalog.tableExists(identifier) else None
    managed = not table.external if old is None else str(old.tableType().name()) == "MANAGED"
    uris = tuple(read_options(metastore_settings(hook.session))[0].get("metastore_uris") or ())
    if uris:
        with HiveMetastore(uris) as metastore, _restored(metastore, _dropped(metastore, table)):
            catalog.refreshTable(identifier)
            replace(table, location=None if managed else target.location, external=not managed).enter(columns)
        return
    try:
        if old is not None:
            if managed:
                _alter_type(target, old, "EXTERNAL")  # whose data Spark leaves where it is
            catalog.dropTable(identifier, True, False)
        replace(table, location=target.location, external=True).enter(columns)
        if managed:
            _alter_type(target, catalog.getTableMetadata(identifier), "MANAGED")
    except BaseException:
        if old is not None:
            if catalog.tableExists(identifier):
                _alter_type(target, catalog.getTableMetadata(identifier), "EXTERNAL")
                catalog.dropTable(identifier, True, False)
            catalog.createTable(old, True, False)
        raise


def _dropped(metastore: HiveMetastore, table: NewTable) -> list[Table]:
    """The entries of a table in a metastore server: its own, which is replaced in place, and further ones, which go."""
    own = metastore.find_table(table.database, table.name)
    others = [metastore.find_table(table.database, f"{table.name}{suffix}") for suffix in ("_ro", "_rt")]
    same = [one for one in others if own is not None and one is not None and one.sd.location == own.sd.location]
    for one in same:
        metastore.drop_table(table.database, one.tableName)
    return same if own is None else [own, *same]


@contextmanager
def _restored(metastore: HiveMetastore, entries: Sequence[Table]) -> Iterator[None]:
    """If the block fails the entries are there again."""
    try:
        yield
    except BaseException:
        for one in entries:
            if metastore.find_table(one.dbName, one.tableName) is None:
                metastore.create_table(one)
        raise


def _alter_type(target: WriteTarget, table: JavaValue, kind: str) -> None:
    """Have the catalog say that a table is managed, or external."""
    jvm = target.hook.environment.jvm
    kinds = jvm.module("org.apache.spark.sql.catalyst.catalog.CatalogTableType")
    arguments = jvm.gateway.new_array(jvm.view.java.lang.Object, table.productArity())
    for at in range(table.productArity()):
        changes = SPARK.element_name(table, at) == "tableType"
        arguments[at] = getattr(kinds, kind)() if changes else table.productElement(at)
    constructors = [one for one in table.getClass().getConstructors() if one.getParameterCount() == len(arguments)]
    target.hook.session.sessionState().catalog().alterTable(constructors[0].newInstance(arguments))


__all__ = ["MatchCondition", "left_table", "overwrite_where_plan", "replace_as_plan", "replace_plan"]
