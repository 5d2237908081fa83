"""``CREATE TABLE … USING hudi``, with ``AS SELECT``, ``LIKE`` or neither.

Source: Hudi's ``CreateHoodieTableCommand``, ``CreateHoodieTableAsSelectCommand``, ``CreateHoodieTableLikeCommand``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from hudi_hive.errors import InvalidOptionError, SchemaError, SparkError
from hudi_hive.names import (
    HOODIE_DATASOURCE_WRITE_OPERATION,
    HOODIE_PREFIX,
    HOODIE_QUERY_AS_RO_TABLE,
    HOODIE_SPARK_SQL_INSERT_INTO_OPERATION,
)
from hudi_hive.options import Operation, services
from hudi_hive.options import table as table_options
from hudi_hive.options.write import COMBINE_BEFORE_INSERT
from hudi_hive.plan import Query
from hudi_hive.schema import META_FIELDS
from hudi_hive.spark.bridge import JavaValue, option, scala_items, session_settings, store_options
from hudi_hive.spark.catalog import HudiTableEntry, SessionHook
from hudi_hive.spark.scan import table_snapshot
from hudi_hive.spark.statements.entries import hudi_columns
from hudi_hive.spark.statements.writes.commands import command
from hudi_hive.spark.statements.writes.new_table import SHORT_NAMES, NewTable, database_and_name, plain
from hudi_hive.spark.statements.writes.sink import insert_into, sink
from hudi_hive.spark.versions import SPARK
from hudi_hive.spark.write import write
from hudi_hive.table import MetaClient, is_hudi_table
from hudi_hive.write.options import WriteConfig


def create_plan(hook: SessionHook, node: JavaValue) -> JavaValue:
    """``CREATE TABLE``: a command; over a folder that is a Hudi table already, only the entry is made."""
    table = NewTable.of(hook, node)
    columns = columns_of(table, node)
    return command(hook.environment.jvm, f"CREATE TABLE {table.label}", lambda: _create(table, columns))


def columns_of(table: NewTable, node: JavaValue) -> StructType:
    """The columns of a parsed ``CreateTable``.

    Raises:
        SparkError: one has values that Spark would make.
    """
    columns = StructType.fromJson(json.loads(node.tableSchema().json()))
    _refuse_made_values(table, columns)
    return columns


def create_like_plan(hook: SessionHook, node: JavaValue, source: HudiTableEntry | None) -> JavaValue:
    """``CREATE TABLE … LIKE``: a Hudi table with the columns of another table, and of a Hudi table its properties too.

    Args:
        hook: of the session.
        node: the parsed ``CreateTableLike``, or ``CreateTableLikeCommand`` of older releases of Spark.
        source: the other table, where it is a Hudi table.
    """
    fields = {SPARK.element_name(node, at): node.productElement(at) for at in range(node.productArity())}
    if "targetTable" in fields:
        of, other = (_parts(fields[name]) for name in ("targetTable", "sourceTable"))
        place = option(fields["fileFormat"].locationUri())
    else:
        of = [str(part) for part in scala_items(fields["name"].nameParts())]
        other = [str(part) for part in scala_items(fields["source"].multipartIdentifier())]
        place = option(fields["location"])
    database, name = database_and_name(hook, of)
    properties = {str(item._1()): str(item._2()) for item in scala_items(fields["properties"])}
    location = None if place is None else str(place.toString()) if hasattr(place, "toString") else str(place)
    table = NewTable(
        hook, database, name, (), properties, location, None, bool(fields["ifNotExists"]), location is not None
    )

    def run() -> None:
        if table.check_new():
            like, columns = _like(table, other, source)
            _create(like, columns)

    return command(hook.environment.jvm, f"CREATE TABLE {table.label} LIKE {'.'.join(other)}", run)


def create_as_plan(hook: SessionHook, node: JavaValue) -> JavaValue:
    """``CREATE TABLE … AS SELECT``: the rows of a query, as they are, in a bulk insert to a new table."""
    table = NewTable.of(hook, node)
    if table.base_files_only is not None:
        raise InvalidOptionError(
            f"CREATE TABLE {table.label} AS SELECT with {HOODIE_QUERY_AS_RO_TABLE}: it shows a table that is there",
            remedy="make the table first, then name it in LOCATION without AS SELECT",
        )

    def run(rows: DataFrame) -> None:
        if not table.check_new():
            return
        rows = rows.drop(*META_FIELDS)
        new = table.spelled(rows.schema)
        columns = new.ordered(hudi_columns(plain(rows.schema)))
        operation = _operation(new)
        options = {**new.options(), HOODIE_DATASOURCE_WRITE_OPERATION: operation, COMBINE_BEFORE_INSERT.name: "false"}
        _check_services(new, options)
        with new.made(columns) as creation:
            write(rows.select(*columns.names), new.base, options, "append", annotate=creation.annotate)

    relation = sink(hook, f"CREATE TABLE {table.label}", run, StructType(), takes_any_columns=True)
    return insert_into(hook.environment.jvm, relation, node.query())


def _create(table: NewTable, columns: StructType) -> None:
    """Make a table, or the entry of one that is in its folder."""
    if not table.check_new(registers=table.external):
        return
    if table.external and is_hudi_table(table.base, table.stored):
        _register_existing(table, columns)
        return
    if table.base_files_only is not None:
        raise SparkError(
            f"CREATE TABLE {table.label} with {HOODIE_QUERY_AS_RO_TABLE}: there is no table to show",
            path=table.base,
            remedy="make the table first",
        )
    if not columns.fields:
        raise SparkError(f"CREATE TABLE {table.label} without columns", remedy="name columns, or use AS SELECT")
    table = table.spelled(columns)
    table.check_partitions(columns)
    ordered = hudi_columns(table.ordered(columns))
    with table.made(ordered):
        pass


def _like(table: NewTable, other: list[str], source: HudiTableEntry | None) -> tuple[NewTable, StructType]:
    """A new table with what it takes over from another one, and its columns."""
    session = table.hook.session
    jvm = table.hook.environment.jvm
    catalog = session.sessionState().catalog()
    names = jvm.package("catalyst").TableIdentifier
    *database, name = other[-2:]
    identifier = names(name, jvm.some(database[0])) if database else names(name)
    entry = catalog.getTempViewOrPermanentTableMetadata(identifier)
    columns = StructType.fromJson(json.loads(entry.schema().json()))
    own = StructType([one for one in columns if one.name not in META_FIELDS])
    partitions = tuple(str(part) for part in scala_items(entry.partitionColumnNames()))
    inherited = {} if source is None else _properties_of(table, source, entry)
    properties = {**inherited, **table.properties}
    return replace(table, partition_columns=partitions, properties=properties), own


def _properties_of(table: NewTable, source: HudiTableEntry, entry: JavaValue) -> Mapping[str, str]:
    """The properties of a Hudi table that a table like it has too."""
    stated = {str(item._1()): str(item._2()) for item in scala_items(entry.properties())}
    client = MetaClient.load(source.location, store_options(table.hook.session, source.location))
    hudi_properties = {
        name: text
        for name, text in stated.items()
        if name != HOODIE_QUERY_AS_RO_TABLE and (name.lower() in SHORT_NAMES or name.startswith(HOODIE_PREFIX))
    }
    return {**table.entry_properties(client.config), **hudi_properties}


def _register_existing(table: NewTable, columns: StructType) -> None:
    """The entry of a table that is in its folder already; its columns are those that the table has."""
    if table.partition_columns and not columns.fields:
        raise SparkError(
            f"CREATE TABLE {table.label}: PARTITIONED BY without columns",
            path=table.base,
            remedy="leave PARTITIONED BY out: the table knows its partition columns",
        )
    client = MetaClient.load(table.base, table.stored)
    shown = table_snapshot(table.hook.environment, table.hook.session, table.base, Query.of("snapshot")).columns
    table = table.spelled(shown)
    if table.stated or client.config.base_file_format.upper() not in table_options.READ_ONLY_FORMATS:
        WriteConfig.of(table.stated, client.config)
    if table.base_files_only is not None and not client.config.is_merge_on_read:
        raise SparkError(
            f"CREATE TABLE {table.label} with {HOODIE_QUERY_AS_RO_TABLE}: the table is copy-on-write",
            path=table.base,
            remedy="leave the property out",
        )
    _check_existing(table, columns, shown)
    stated = {one.name.lower(): one.metadata for one in columns}  # with the comments
    own = StructType(
        [
            StructField(one.name, one.dataType, one.nullable, stated.get(one.name.lower(), one.metadata))
            for one in shown
            if one.name not in META_FIELDS
        ]
    )
    names = [name for name in own.names if name.lower() in {one.lower() for one in client.config.partition_fields}]
    table.register(replace(table, partition_columns=tuple(names)).ordered(own), names)


def _check_existing(table: NewTable, columns: StructType, shown: StructType) -> None:
    """Refuse columns that cannot be those of the table in the folder, as real Hudi: as many, with others among them.

    Raises:
        SchemaError: one is no column of the table, or has a type of another kind.
    """
    own = {one.name.lower(): one.dataType for one in shown if one.name not in META_FIELDS}
    if len(columns) != len(own):
        return  # the table's columns count
    for column in columns:
        kind = own.get(column.name.lower())
        if kind is None or not _is_alike(column.dataType, kind):
            has = "no such column" if kind is None else f"it as {kind.simpleString()}"
            raise SchemaError(
                f"CREATE TABLE {table.label} with {column.name} {column.dataType.simpleString()}: the table has {has}",
                path=table.base,
                remedy="leave the columns out: the table knows its own",
            )


def _is_alike(one: DataType, other: DataType) -> bool:
    """Whether two types are of one kind: structs of as many fields, arrays, maps, or neither."""
    if isinstance(one, StructType) and isinstance(other, StructType):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_is_alike(a.dataType, b.dataType) for a, b in pairs)
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return _is_alike(one.elementType, other.elementType)
    if isinstance(one, MapType) and isinstance(other, MapType):
        return _is_alike(one.keyType, other.keyType) and _is_alike(one.valueType, other.valueType)
    return not any(isinstance(kind, StructType | ArrayType | MapType) for kind in (one, other))


def _operation(table: NewTable) -> str:
    """The operation of the first rows: a bulk insert, if the session's or the table's settings do not say otherwise."""
    settings = session_settings(table.hook.session)
    stated = settings.get(HOODIE_DATASOURCE_WRITE_OPERATION) or settings.get(HOODIE_SPARK_SQL_INSERT_INTO_OPERATION)
    stated = stated or table.properties.get(HOODIE_SPARK_SQL_INSERT_INTO_OPERATION)
    inserts = {one.value for one in (Operation.INSERT, Operation.UPSERT, Operation.BULK_INSERT)}
    return stated.lower() if stated and stated.lower() in inserts else Operation.BULK_INSERT.value


def _check_services(table: NewTable, options: Mapping[str, str]) -> None:
    """Refuse compaction in a table without log files, as Hudi's writer does behind its first commit.

    Raises:
        InvalidOptionError: it is asked for.
    """
    config = WriteConfig.of(options)
    if services.COMPACT_INLINE.of(options) and config.table_definition().table_type == table_options.COPY_ON_WRITE:
        raise InvalidOptionError(
            f"CREATE TABLE {table.label}: a copy-on-write table is not compacted",
            remedy=f"leave {services.COMPACT_INLINE} out, or give type = 'mor'",
        )


def _parts(identifier: JavaValue) -> list[str]:
    database = option(identifier.database())
    return [*([] if database is None else [str(database)]), str(identifier.table())]


def _refuse_made_values(table: NewTable, columns: StructType) -> None:
    """Refuse columns whose values Spark would make: rows of a Hudi table have those that writers give them.

    Raises:
        SparkError: DEFAULT, GENERATED ALWAYS or IDENTITY.
    """
    for column in columns:
        made = [key for key in column.metadata if "DEFAULT" in key or "GENERATION" in key or "identity" in key]
        if made:
            raise SparkError(
                f"CREATE TABLE {table.label}: column {column.name!r} has a default or generated value",
                remedy="leave DEFAULT and GENERATED out; give the values in the statements that write",
            )


__all__ = ["NewTable", "columns_of", "create_as_plan", "create_like_plan", "create_plan"]
