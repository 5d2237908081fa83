"""``CREATE TABLE … USING hudi``, with ``AS SELECT`` or without, and ``TRUNCATE TABLE``.

The table is made in its folder and gets its entry in the session's catalog; options come from the session's settings,
the table's options and properties, under Hudi's names and the short ones of its SQL (``primaryKey``, ``type`` …).

Source: Hudi's ``CreateHoodieTableCommand``, ``CreateHoodieTableAsSelectCommand``, ``HoodieOptionConfig``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from hudi_hive.errors import SparkError, UnknownColumnError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.names import (
    HOODIE_DATABASE_NAME,
    HOODIE_DATASOURCE_WRITE_HIVE_STYLE_PARTITIONING,
    HOODIE_DATASOURCE_WRITE_OPERATION,
    HOODIE_PREFIX,
    HOODIE_TABLE_NAME,
)
from hudi_hive.options import Operation
from hudi_hive.options import table as table_options
from hudi_hive.plan import Query
from hudi_hive.schema import META_FIELDS, arrow_to_avro
from hudi_hive.spark.bridge import (
    JavaValue,
    metastore_settings,
    option,
    python_session,
    scala_items,
    store_options,
    to_arrow_schema,
)
from hudi_hive.spark.catalog import MADE_BY_SPARK, PROVIDER, SessionHook
from hudi_hive.spark.scan import location_of, table_snapshot
from hudi_hive.spark.statements.writes.commands import command
from hudi_hive.spark.statements.writes.sink import insert_into, java_schema, sink
from hudi_hive.spark.statements.writes.target import WriteTarget, write_settings
from hudi_hive.spark.write import write
from hudi_hive.storage import Storage
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.sync.config import read_options
from hudi_hive.table import MetaClient, is_hudi_table
from hudi_hive.table.core import create_table
from hudi_hive.write.commit import discarded_on_failure
from hudi_hive.write.coordination import table_lock
from hudi_hive.write.options import WriteConfig

SHORT_NAMES: Final[Mapping[str, str]] = {
    "primarykey": table_options.RECORD_KEY_FIELDS.name,
    "precombinefield": table_options.ORDERING_FIELDS.name,
    "orderingfields": table_options.ORDERING_FIELDS.name,
    "type": table_options.TYPE.name,
    "payloadclass": table_options.PAYLOAD_CLASS.name,
    "recordmergemode": table_options.MERGE_MODE.name,
    "recordmergestrategyid": table_options.MERGE_STRATEGY_ID.name,
}
"""Names of Hudi's SQL for table properties, in lower case."""

_TYPES: Final = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}


@dataclass(frozen=True)
class NewTable:
    """What a CREATE TABLE says.

    Attributes:
        hook: of the session.
        database, name: of the table.
        partition_columns: of the PARTITIONED BY clause.
        properties: options and table properties, as they are written.
        location: of the LOCATION clause; None for a managed table.
        comment: of the table.
        if_not_exists: an existing table is left alone.
    """

    hook: SessionHook
    database: str
    name: str
    partition_columns: tuple[str, ...]
    properties: Mapping[str, str]
    location: str | None
    comment: str | None
    if_not_exists: bool

    @classmethod
    def of(cls, hook: SessionHook, node: JavaValue) -> NewTable:
        """The table of a parsed ``CreateTable`` or ``CreateTableAsSelect``.

        Raises:
            SparkError: a partition transform, or a table of another catalog.
        """
        specification = node.tableSpec()
        parts = [str(part) for part in scala_items(node.name().nameParts())]
        if len(parts) == 3 and parts[0].lower() == "spark_catalog":
            parts = parts[1:]
        if len(parts) > 2:
            raise SparkError(f"CREATE TABLE {'.'.join(parts)} in another catalog", remedy="give database.table")
        options = {
            str(item._1()): str(item._2().value()) for item in scala_items(specification.optionExpression().options())
        }
        properties = {str(item._1()): str(item._2()) for item in scala_items(specification.properties())}
        location, comment = option(specification.location()), option(specification.comment())
        current = str(hook.session.sessionState().catalog().getCurrentDatabase())
        return cls(
            hook,
            parts[0] if len(parts) == 2 else current,
            parts[-1],
            tuple(_partition_column(item) for item in scala_items(node.partitioning())),
            {**options, **properties},
            None if location is None else str(location),
            None if comment is None else str(comment),
            bool(node.ignoreIfExists()),
        )

    @cached_property
    def label(self) -> str:
        """Database and name."""
        return f"{self.database}.{self.name}"

    @cached_property
    def _identifier(self) -> JavaValue:
        jvm = self.hook.environment.jvm
        return jvm.package("catalyst").TableIdentifier(self.name, jvm.some(self.database))

    @property
    def _catalog(self) -> JavaValue:
        return self.hook.session.sessionState().catalog()

    @property
    def exists(self) -> bool:
        """Whether the catalog has a table of this name."""
        return bool(self._catalog.tableExists(self._identifier))

    @cached_property
    def base(self) -> str:
        """The base path as Hadoop writes it."""
        return location_of(self.location or str(self._catalog.defaultTablePath(self._identifier).toString()))

    @cached_property
    def stored(self) -> Mapping[str, Any]:
        """Arguments of its file system."""
        return store_options(self.hook.session, self.base)

    def options(self) -> dict[str, str]:
        """Write options of the new table: Hudi's defaults for statements, the session's, then the statement's."""
        texts = write_settings(self.hook.session)
        texts = {HOODIE_DATASOURCE_WRITE_HIVE_STYLE_PARTITIONING: "true", **texts, **self.stated}
        return {**texts, HOODIE_TABLE_NAME: self.name, HOODIE_DATABASE_NAME: self.database}

    @cached_property
    def stated(self) -> dict[str, str]:
        """Write options that the statement itself gives."""
        texts = {}
        for name, text in self.properties.items():
            known = SHORT_NAMES.get(name.lower())
            if known is not None:
                texts[known] = _TYPES.get(text.lower(), text) if known == table_options.TYPE.name else text
            elif name.startswith(HOODIE_PREFIX):
                texts[name] = text
        if self.partition_columns:
            texts[table_options.PARTITION_FIELDS.name] = ",".join(self.partition_columns)
        return texts

    # -- making it ---------------------------------------------------------------------------------------------------

    def check_new(self) -> bool:
        """Whether there is anything to do.

        Raises:
            SparkError: the table is there.
        """
        if not self.exists:
            return True
        if self.if_not_exists:
            return False
        raise SparkError(
            f"CREATE TABLE {self.label}: the table exists", remedy="drop it first, or use CREATE TABLE IF NOT EXISTS"
        )

    def ordered(self, columns: StructType) -> StructType:
        """Columns with the partition columns behind the others, as Spark's catalog has them.

        Raises:
            UnknownColumnError: a partition column that is none.
        """
        by_name = {one.name.lower(): one for one in columns}
        unknown = [name for name in self.partition_columns if name.lower() not in by_name]
        if unknown:
            raise UnknownColumnError(f"PARTITIONED BY {unknown[0]}: {self.label} has no such column")
        last = [by_name[name.lower()] for name in self.partition_columns]
        return StructType([one for one in columns if one not in last] + last)

    def create(self, columns: StructType) -> MetaClient:
        """Make the table in its folder."""
        config = WriteConfig.of(self.options())
        schema = arrow_to_avro(to_arrow_schema(_plain(columns)), f"{self.name}_record", f"{HOODIE_PREFIX}{self.name}")
        definition = replace(config.table_definition(), create_schema=schema)
        storage = Storage(self.base, self.stored)
        lock = (
            None if storage.creates_atomically else table_lock(config.options, storage, metastore=MetastoreLock.connect)
        )
        return create_table(self.base, definition, storage=storage, lock=lock)

    @contextmanager
    def made(self, columns: StructType) -> Iterator[None]:
        """The table in its folder and its entry in the catalog; neither stays if the block fails.

        A metastore server gets the entry in the end; Spark's own catalog before, as a managed table must not have a
        folder then.
        """
        server = bool(self._uris)
        if not server:
            self._enter(columns, self.partition_columns)
        try:
            with discarded_on_failure(self.base, lambda: self.create(columns), self.stored):
                yield
                if server:
                    self._sync(self.partition_columns)
        except BaseException:
            if not server:
                self._catalog.dropTable(self._identifier, True, False)
            raise

    @cached_property
    def _uris(self) -> tuple[str, ...]:
        """Addresses of the session's metastore server; none without one."""
        return tuple(read_options(metastore_settings(self.hook.session))[0].get("metastore_uris") or ())

    def register(self, columns: StructType, partition_columns: Sequence[str]) -> None:
        """Make the table's entry: by a sync to the session's metastore server, else in the session's catalog."""
        if self._uris:
            self._sync(partition_columns)
        else:
            self._enter(columns, partition_columns)

    def _sync(self, partition_columns: Sequence[str]) -> None:
        client = MetaClient.load(self.base, self.stored)
        values, _ = read_options(metastore_settings(self.hook.session))
        config = HiveSyncConfig(
            **{
                **values,
                "base_path": self.base,
                "database": self.database,
                "table": self.name,
                "partition_fields": tuple(partition_columns),
                "strategy": "RT",  # one entry, of all rows, as Hudi's own statement makes it
                "snapshot_with_table_name": False,
                "skip_ro_suffix": True,
                "create_managed_table": self.location is None,
                "table_properties": tuple({**self.properties, MADE_BY_SPARK: PROVIDER}.items()),
            },
            storage_options=self.stored,
        )
        with HiveMetastore(self._uris) as metastore:
            HiveSyncTool(config, metastore=metastore, client=client).sync()

    def _enter(self, columns: StructType, partition_columns: Sequence[str]) -> None:
        jvm = self.hook.environment.jvm
        connector = jvm.view.org.apache.spark.sql.connector
        shown = StructType([*(StructField(name, StringType()) for name in META_FIELDS), *columns.fields])
        properties = jvm.view.java.util.HashMap()
        for name, text in self.properties.items():
            properties.put(name, text)
        properties.put(MADE_BY_SPARK, PROVIDER)
        if self.location is not None:
            properties.put("location", self.base)
            properties.put("external", "true")
        if self.comment is not None:
            properties.put("comment", self.comment)
        transforms = jvm.gateway.new_array(connector.expressions.Transform, len(partition_columns))
        for at, name in enumerate(partition_columns):
            transforms[at] = connector.expressions.Expressions.identity(name)
        identifier = connector.catalog.Identifier.of(jvm.strings([self.database]), self.name)
        catalog = self.hook.session.sessionState().catalogManager().v2SessionCatalog()
        catalog.createTable(identifier, java_schema(jvm, shown), transforms, properties)


def create_plan(hook: SessionHook, node: JavaValue) -> JavaValue:
    """``CREATE TABLE``: a command; over a folder that is a Hudi table already, only the entry is made."""
    table = NewTable.of(hook, node)
    columns = StructType.fromJson(json.loads(node.tableSchema().json()))
    _refuse_made_values(table, columns)

    def run() -> None:
        if not table.check_new():
            return
        if table.location is not None and is_hudi_table(table.base, table.stored):
            _register_existing(table, columns)
            return
        if not columns.fields:
            raise SparkError(f"CREATE TABLE {table.label} without columns", remedy="name columns, or use AS SELECT")
        ordered = table.ordered(columns)
        WriteConfig.of(table.options()).table_definition()
        with table.made(ordered):
            pass

    return command(hook.environment.jvm, f"CREATE TABLE {table.label}", run)


def create_as_plan(hook: SessionHook, node: JavaValue) -> JavaValue:
    """``CREATE TABLE … AS SELECT``: the query's rows to a table that is made for them."""
    table = NewTable.of(hook, node)

    def run(rows: DataFrame) -> None:
        if not table.check_new():
            return
        rows = rows.drop(*META_FIELDS)
        columns = table.ordered(_plain(rows.schema))
        with table.made(columns):
            options = table.options()
            config = MetaClient.load(table.base, table.stored).config
            both = bool(config.record_keys and config.ordering_fields)
            operation = Operation.UPSERT if both else Operation.BULK_INSERT
            options.setdefault(HOODIE_DATASOURCE_WRITE_OPERATION, operation.value)
            write(rows.select(*columns.names), table.base, options, "append")

    relation = sink(hook, f"CREATE TABLE {table.label}", run, StructType(), takes_any_columns=True)
    return insert_into(hook.environment.jvm, relation, node.query())


def truncate_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``TRUNCATE TABLE``: a commit that replaces all file groups by none."""
    hook = target.hook

    def run() -> None:
        nothing = python_session(hook.session).createDataFrame([], target.columns)
        target.write(nothing, Operation.INSERT_OVERWRITE_TABLE)

    return command(hook.environment.jvm, f"TRUNCATE TABLE {target.name}", run)


def _register_existing(table: NewTable, columns: StructType) -> None:
    """The entry of a table that is in its folder already."""
    client = MetaClient.load(table.base, table.stored)
    WriteConfig.of(table.stated, client.config)
    shown = table_snapshot(table.hook.environment, table.hook.session, table.base, Query.of("snapshot")).columns
    own = StructType([one for one in shown if one.name not in META_FIELDS])
    if columns.fields and {one.name.lower() for one in columns} != {one.name.lower() for one in own}:
        raise SparkError(
            f"CREATE TABLE {table.label}: the table in its folder has other columns",
            path=table.base,
            remedy=f"leave the columns out, or name {', '.join(own.names)}",
        )
    names = [name for name in own.names if name.lower() in {one.lower() for one in client.config.partition_fields}]
    table.register(replace(table, partition_columns=tuple(names)).ordered(own), names)


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


def _partition_column(transform: JavaValue) -> str:
    if str(transform.name()) != "identity":
        raise SparkError(
            f"PARTITIONED BY ({transform.describe()}): Hudi tables are partitioned by columns", remedy="name columns"
        )
    return str(transform.references()[0].fieldNames()[0])


def _plain(columns: StructType) -> StructType:
    """Columns without what only the catalog keeps of them: comments and defaults."""
    return StructType([StructField(one.name, one.dataType, one.nullable) for one in columns])


__all__ = ["NewTable", "create_as_plan", "create_plan", "truncate_plan"]
