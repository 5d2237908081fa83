"""A table that a CREATE TABLE is about to make: what it says of options, where it goes, and how it comes to be.

Options come from the session's settings, the table's options and properties, under Hudi's names and the short ones of
its SQL (``primaryKey``, ``type`` …).

Source: Hudi's ``CreateHoodieTableCommand``, ``HoodieOptionConfig``, ``HoodieCatalogTable``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from pyspark.sql.types import StructField, StructType

from hudi_hive.errors import SchemaError, SparkError, UnknownColumnError, WriteConflictError
from hudi_hive.metastore import HiveMetastore, Table
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.names import (
    HOODIE_DATABASE_NAME,
    HOODIE_DATASOURCE_WRITE_HIVE_STYLE_PARTITIONING,
    HOODIE_DATASOURCE_WRITE_OPERATION,
    HOODIE_HIVE_TIMESTAMP_FOLDERS,
    HOODIE_PREFIX,
    HOODIE_QUERY_AS_RO_TABLE,
    HOODIE_TABLE_NAME,
)
from hudi_hive.options import ALL_OPTIONS, Face, parse_java_boolean
from hudi_hive.options import table as table_options
from hudi_hive.schema import arrow_to_avro
from hudi_hive.spark.bridge import (
    JavaValue,
    class_name,
    metastore_settings,
    option,
    scala_items,
    store_options,
    to_arrow_schema,
)
from hudi_hive.spark.catalog import SessionHook
from hudi_hive.spark.scan import location_of
from hudi_hive.spark.statements.entries import CatalogEntry, hudi_columns, server_table
from hudi_hive.spark.statements.writes.target import write_settings
from hudi_hive.storage import Storage
from hudi_hive.sync import HiveSyncTool
from hudi_hive.sync.config import read_options
from hudi_hive.sync.run import recorded_sync_config
from hudi_hive.table import MetaClient
from hudi_hive.table.core import TableDefinition, create_table
from hudi_hive.table.properties import TableConfig
from hudi_hive.write.commit import Creation, creating, remove_unfinished
from hudi_hive.write.coordination import table_lock
from hudi_hive.write.options import WriteConfig

SHORT_NAMES: Final[Mapping[str, str]] = {
    "primarykey": table_options.RECORD_KEY_FIELDS.name,
    "precombinefield": table_options.ORDERING_FIELDS.name,
    "precombine": table_options.ORDERING_FIELDS.name,
    "orderingfields": table_options.ORDERING_FIELDS.name,
    "type": table_options.TYPE.name,
    "payloadclass": table_options.PAYLOAD_CLASS.name,
    "recordmergemode": table_options.MERGE_MODE.name,
    "recordmergestrategyid": table_options.MERGE_STRATEGY_ID.name,
}
"""Names of Hudi's SQL for table properties, in lower case."""

_TYPES: Final = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}

_SPELLINGS: Final = {
    name.lower(): name for name in ("payloadClass", "recordMergeMode", "recordMergeStrategyId", "orderingFields")
}

_FIELD_LISTS: Final = frozenset({*table_options.RECORD_KEY_FIELDS.names, *table_options.ORDERING_FIELDS.names})
"""Options that name columns of the table, or fields of its structs."""

_DECIDED: Final = frozenset({HOODIE_DATABASE_NAME, HOODIE_TABLE_NAME, HOODIE_DATASOURCE_WRITE_OPERATION})
"""Options that the statement decides, whatever its properties say; the entry does not have them."""

_ELSEWHERE: Final = frozenset(
    name for one in ALL_OPTIONS if not {Face.WRITE, Face.LOCK} & set(one.faces) for name in one.names
)
"""Options of queries and other faces, which a table may carry and no write takes."""


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
        external: the data stays when the table is dropped.
    """

    hook: SessionHook
    database: str
    name: str
    partition_columns: tuple[str, ...]
    properties: Mapping[str, str]
    location: str | None
    comment: str | None
    if_not_exists: bool
    external: bool = False

    @classmethod
    def of(cls, hook: SessionHook, node: JavaValue) -> NewTable:
        """The table of a parsed ``CreateTable`` or ``CreateTableAsSelect``.

        Raises:
            SparkError: a partition transform, a table of another catalog, or a name that is an expression still.
        """
        specification = node.tableSpec()
        database, name = database_and_name(hook, name_of_new_table(node))
        options = {
            str(item._1()): str(item._2().value()) for item in scala_items(specification.optionExpression().options())
        }
        properties = {str(item._1()): str(item._2()) for item in scala_items(specification.properties())}
        location, comment = option(specification.location()), option(specification.comment())
        return cls(
            hook,
            database,
            name,
            tuple(_partition_column(item) for item in scala_items(node.partitioning())),
            {**options, **properties},
            None if location is None else str(location),
            None if comment is None else str(comment),
            bool(node.ignoreIfExists()),
            location is not None or bool(specification.external()),
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
        decided = {HOODIE_TABLE_NAME: self.name, HOODIE_DATABASE_NAME: self.database}
        return {**texts, **decided, HOODIE_HIVE_TIMESTAMP_FOLDERS: "true"}

    @cached_property
    def stated(self) -> dict[str, str]:
        """Write options that the statement itself gives."""
        texts = {}
        for name, text in self.properties.items():
            known = SHORT_NAMES.get(name.lower())
            if known is not None:
                texts[known] = _TYPES.get(text.lower(), text) if known == table_options.TYPE.name else text
            elif name.startswith(HOODIE_PREFIX) and name not in _DECIDED and name not in _ELSEWHERE:
                texts[name] = text
        if self.partition_columns:
            texts[table_options.PARTITION_FIELDS.name] = ",".join(self.partition_columns)
        return texts

    def spelled(self, columns: StructType) -> NewTable:
        """The table with key, ordering and partition fields as its columns are written, in whatever case it names them.

        Args:
            columns: of the table.
        """
        if str(self.hook.session.conf().get("spark.sql.caseSensitive")).lower() == "true":
            return self
        properties = {
            name: ",".join(_spelled(one.strip(), columns) for one in text.split(","))
            if SHORT_NAMES.get(name.lower(), name) in _FIELD_LISTS
            else text
            for name, text in self.properties.items()
        }
        partitions = tuple(_spelled(name, columns) for name in self.partition_columns)
        return replace(self, properties=properties, partition_columns=partitions)

    def entry_properties(self, table: TableDefinition | TableConfig) -> dict[str, str]:
        """The properties of the entry: what the statement says, under Hudi's spelling, and what the table is.

        Args:
            table: what the table is.
        """
        stated = self.properties.items()
        texts = {name: text for name, text in stated if name.lower() not in SHORT_NAMES and name not in _DECIDED}
        texts |= {_SPELLINGS[name.lower()]: text for name, text in stated if name.lower() in _SPELLINGS}
        texts["type"] = next(short for short, long in _TYPES.items() if long == table.table_type)
        if table.record_keys:
            texts["primaryKey"] = ",".join(table.record_keys)
        if table.ordering_fields and "orderingFields" not in texts:
            texts["preCombineField"] = ",".join(table.ordering_fields)
        return texts

    @property
    def base_files_only(self) -> bool | None:
        """Whether ``hoodie.query.as.ro.table`` has the entry show base files alone; None without that property."""
        text = self.properties.get(HOODIE_QUERY_AS_RO_TABLE)
        return None if text is None else parse_java_boolean(text)

    # -- making it ---------------------------------------------------------------------------------------------------

    def check_new(self, *, registers: bool = False) -> bool:
        """Whether there is anything to do; what is left of a statement whose process died goes first.

        Args:
            registers: the statement makes the entry of a table that is there, which stays if it has a commit.

        Raises:
            SparkError: the table is there.
            WriteConflictError: another statement is making it.
        """
        if not self._catalog.databaseExists(self.database):
            raise SparkError(f"CREATE TABLE {self.label}: there is no database {self.database}", remedy="create it")
        if not self.exists:
            remove_unfinished(self.base, self.stored, keep_commits=registers)
            return True
        with suppress(WriteConflictError):  # another statement is making it
            if not self._uris and remove_unfinished(self.base, self.stored, keep_commits=True):
                self._catalog.dropTable(self._identifier, True, False)  # which was made ahead of the table
                return True
        if self.if_not_exists:
            return False
        raise SparkError(
            f"CREATE TABLE {self.label}: the table exists", remedy="drop it first, or use CREATE TABLE IF NOT EXISTS"
        )

    def ordered(self, columns: StructType) -> StructType:
        """Columns with the partition columns behind the others, as Spark's catalog has them.

        Raises:
            SchemaError: two columns of one name, or none beside the partition columns.
            UnknownColumnError: a partition column that is none.
        """
        names = [name.lower() for name in columns.names]
        twice = [name for at, name in enumerate(names) if name in names[:at]]
        if twice:
            raise SchemaError(f"CREATE TABLE {self.label}: column {twice[0]} is there twice", remedy="rename one")
        by_name = {one.name.lower(): one for one in columns}
        unknown = [name for name in self.partition_columns if name.lower() not in by_name]
        if unknown:
            raise UnknownColumnError(f"PARTITIONED BY {unknown[0]}: {self.label} has no such column")
        last = [by_name[name.lower()] for name in self.partition_columns]
        if last and len(last) == len(columns):
            raise SchemaError(
                f"CREATE TABLE {self.label}: all columns are partition columns", remedy="leave one to the rows"
            )
        return StructType([one for one in columns if one not in last] + last)

    def check_partitions(self, columns: StructType) -> None:
        """Refuse partition columns in another order than the statement declares them in, as real Hudi does.

        Rows would go by position to columns that they were not meant for.

        Raises:
            SchemaError: they are.
        """
        declared = [name for name in columns.names if name in self.partition_columns]
        if sorted(declared) == sorted(self.partition_columns) and declared != list(self.partition_columns):
            raise SchemaError(
                f"CREATE TABLE {self.label} declares its partition columns as {', '.join(declared)}, and "
                f"PARTITIONED BY ({', '.join(self.partition_columns)}) in another order",
                remedy="declare the columns in the order of PARTITIONED BY",
            )

    def create(self, columns: StructType) -> MetaClient:
        """Make the table in its folder."""
        config = WriteConfig.of(self.options())
        schema = arrow_to_avro(to_arrow_schema(plain(columns)), f"{self.name}_record", f"{HOODIE_PREFIX}{self.name}")
        definition = replace(config.table_definition(), create_schema=schema)
        storage = Storage(self.base, self.stored)
        lock = (
            None if storage.creates_atomically else table_lock(config.options, storage, metastore=MetastoreLock.connect)
        )
        return create_table(self.base, definition, storage=storage, lock=lock)

    @contextmanager
    def made(self, columns: StructType) -> Iterator[Creation]:
        """The table in its folder and its entry in the catalog; neither stays if the block fails.

        A metastore server gets the entry in the end; Spark's own catalog before, as a managed table must not have a
        folder then.
        """
        server = bool(self._uris)
        if not server:
            self._enter(columns, self.partition_columns, WriteConfig.of(self.options()).table_definition())
        try:
            with creating(self.base, lambda: self.create(columns), self.stored) as creation:
                yield creation
                if server:
                    self._enter_in_server(columns)
        except BaseException:
            if not server:
                self._catalog.dropTable(self._identifier, True, False)
            raise

    @cached_property
    def _uris(self) -> tuple[str, ...]:
        """Addresses of the session's metastore server; none without one."""
        return tuple(read_options(metastore_settings(self.hook.session))[0].get("metastore_uris") or ())

    def register(self, columns: StructType, partition_columns: Sequence[str]) -> None:
        """Make the entry of a table that is there: in the session's metastore server, else in its catalog."""
        table = MetaClient.load(self.base, self.stored).config
        if self._uris:
            with HiveMetastore(self._uris) as metastore:
                metastore.create_table(server_table(self.hook, self._entry(columns, partition_columns, table)))
        else:
            self._enter(columns, partition_columns, table)

    def enter(self, columns: StructType) -> None:
        """Make the entry of a table that was written already, in a server in the place of the one that is there."""
        if self._uris:
            self._enter_in_server(columns, replaces=True)
        else:
            self._enter(columns, self.partition_columns, MetaClient.load(self.base, self.stored).config)

    def _enter_in_server(self, columns: StructType, *, replaces: bool = False) -> None:
        """Make the entry, and after AS SELECT what a sync adds to it."""
        client = MetaClient.load(self.base, self.stored)
        options = metastore_settings(self.hook.session)
        with HiveMetastore(self._uris) as metastore:
            table = server_table(self.hook, self._entry(columns, self.partition_columns, client.config))
            if not (replaces and self._altered(metastore, table)):
                metastore.create_table(table)
            try:
                if client.timeline.write_instants():
                    config = recorded_sync_config(metastore, table, client, options, self.stored)
                    HiveSyncTool(config, metastore=metastore, client=client).sync()
            except BaseException:
                if not replaces:
                    metastore.drop_table(self.database, self.name, if_exists=True)
                raise

    def _altered(self, metastore: HiveMetastore, table: Table) -> bool:
        """Replace the entry in one call, so that there is one at any time; no metastore changes partition columns."""
        old = metastore.find_table(self.database, self.name)
        if old is None:
            return False
        keys = [[(one.name, one.type) for one in each.partitionKeys or ()] for each in (old, table)]
        if keys[0] != keys[1]:
            metastore.drop_table(self.database, self.name)
            return False
        metastore.alter_table(self.database, self.name, table)
        if keys[0]:  # the sync adds those of the new table
            names = metastore.partition_names(self.database, self.name)
            metastore.drop_partitions(self.database, self.name, names)
        return True

    def _enter(
        self, columns: StructType, partition_columns: Sequence[str], table: TableDefinition | TableConfig
    ) -> None:
        self._entry(columns, partition_columns, table).make(self.hook)

    def _entry(
        self, columns: StructType, partition_columns: Sequence[str], table: TableDefinition | TableConfig
    ) -> CatalogEntry:
        return CatalogEntry(
            self.database,
            self.name,
            hudi_columns(columns),
            partition_columns,
            self.entry_properties(table),
            self.base,
            self.external,
            self.comment,
            merge_on_read=table.table_type == table_options.MERGE_ON_READ,
            base_file_format=table.base_file_format.upper(),
        )


def name_of_new_table(node: JavaValue) -> list[str]:
    """The parts of the name that a parsed ``CREATE`` or ``REPLACE TABLE`` gives its table.

    Raises:
        SparkError: the name is an expression still.
    """
    if class_name(node.name()) != "UnresolvedIdentifier":
        raise SparkError(
            "CREATE TABLE of a name that IDENTIFIER makes: this release of Spark resolves it too late",
            remedy="write the name of the table itself",
        )
    return [str(part) for part in scala_items(node.name().nameParts())]


def database_and_name(hook: SessionHook, parts: Sequence[str]) -> tuple[str, str]:
    """Database and name of a table that a statement makes.

    Raises:
        SparkError: a table of another catalog.
    """
    rest = list(parts[1:]) if len(parts) == 3 and parts[0].lower() == "spark_catalog" else list(parts)
    if len(rest) > 2:
        raise SparkError(f"CREATE TABLE {'.'.join(parts)} in another catalog", remedy="give database.table")
    current = str(hook.session.sessionState().catalog().getCurrentDatabase())
    return (rest[0] if len(rest) == 2 else current), rest[-1]


def plain(columns: StructType) -> StructType:
    """Columns without what only the catalog keeps of them: comments and defaults."""
    return StructType([StructField(one.name, one.dataType, one.nullable) for one in columns])


def _spelled(path: str, columns: StructType) -> str:
    """The path of a field, its parts as the columns and the fields of their structs are written."""
    head, dot, rest = path.partition(".")
    field = next((one for one in columns if one.name.lower() == head.lower()), None)
    if field is None:
        return path
    inner = _spelled(rest, field.dataType) if isinstance(field.dataType, StructType) else rest
    return f"{field.name}{dot}{inner}"


def _partition_column(transform: JavaValue) -> str:
    if str(transform.name()) != "identity":
        what = "CLUSTERED BY" if str(transform.name()) in ("bucket", "sorted_bucket") else "PARTITIONED BY"
        raise SparkError(
            f"{what} {transform.toString()}: Hudi tables are partitioned by columns",
            remedy="name columns; for buckets give the property hoodie.index.type = 'BUCKET'",
        )
    return str(transform.references()[0].fieldNames()[0])


__all__ = ["SHORT_NAMES", "NewTable", "database_and_name", "name_of_new_table", "plain"]
