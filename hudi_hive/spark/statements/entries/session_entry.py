"""The entry of a Hudi table in the session's catalog, which definitions of tables change along with the table."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from pyspark.sql.types import StructField, StructType

from hudi_hive.metastore import HiveMetastore, Partition
from hudi_hive.plan import Query
from hudi_hive.spark.bridge import JavaValue, metastore_settings, python_session, quoted, scala_items
from hudi_hive.spark.catalog import HudiTableEntry, SessionHook, made_by_statement
from hudi_hive.spark.scan import spark_schema, table_snapshot
from hudi_hive.sync.config import read_options
from hudi_hive.table.keys import escape_value

_COMMENT: Final = "comment"
_PATH: Final = "path"


class SessionEntry:
    """One entry.

    Args:
        hook: of the session.
        entry: as a look-up gives it.
    """

    def __init__(self, hook: SessionHook, entry: HudiTableEntry) -> None:
        self._hook = hook
        self.entry = entry
        self.database, _, self.name = entry.declared.name.rpartition(".")

    @property
    def catalog(self) -> JavaValue:
        """The session's catalog."""
        return self._hook.session.sessionState().catalog()

    def identifier(self, name: str | None = None, database: str | None = None) -> JavaValue:
        """``TableIdentifier`` of the entry, or of another name in its database."""
        jvm = self._hook.environment.jvm
        return jvm.package("catalyst").TableIdentifier(name or self.name, jvm.some(database or self.database))

    def table(self, name: str | None = None) -> JavaValue:
        """The catalog's ``CatalogTable`` of the entry, or of another name in its database."""
        return self.catalog.getTableMetadata(self.identifier(name))

    @cached_property
    def made_by_statement(self) -> bool:
        """Whether CREATE TABLE made the entry, rather than a sync."""
        return made_by_statement(self._hook.environment.jvm, self._hook.session, self.table())

    @cached_property
    def metastore_uris(self) -> tuple[str, ...]:
        """Addresses of the session's metastore server; none without one."""
        return tuple(read_options(metastore_settings(self._hook.session))[0].get("metastore_uris") or ())

    def refresh(self) -> None:
        """Drop what the session has cached of the table."""
        python_session(self._hook.session).catalog.refreshTable(quoted(self.database, self.name))

    def set_columns(self, renamed: Mapping[str, str] | None = None, types: StructType | None = None) -> None:
        """Give the entry the columns that the table has now; comments that only the catalog keeps stay.

        Args:
            renamed: new name -> old name of columns, in lower case.
            types: columns whose types the entry gets as they are here; others get those that a sync would declare.
        """
        jvm, session = self._hook.environment.jvm, self._hook.session
        snapshot = table_snapshot(self._hook.environment, session, self.entry.location, Query.of("snapshot"))
        evolved = snapshot.client.evolved_schema()
        documented = {} if evolved is None else {one.name.lower(): one.doc for one in evolved.query.fields}
        before = {one.name.lower(): one.metadata.get(_COMMENT) for one in self.entry.declared.columns}
        partition_columns = {name.lower() for name in self.entry.declared.partition_columns}
        columns = []
        for one in spark_schema(snapshot.client, local_times=True):
            name = one.name.lower()
            if name in partition_columns:
                continue
            kind = one.dataType if types is None or one.name not in types.names else types[one.name].dataType
            comment = documented.get(name) or before.get((renamed or {}).get(name, name))
            columns.append(StructField(one.name, kind, True, {_COMMENT: comment} if comment else {}))
        data = jvm.module("org.apache.spark.sql.types.DataType").fromJson(StructType(columns).json())
        self.catalog.externalCatalog().alterTableDataSchema(self.database, self.name, data)
        self.refresh()

    # -- partitions ------------------------------------------------------------------------------------------------
    #
    # Through a metastore server by our own client: Spark's would load the classes of Hudi's input formats.

    def partition_values(self) -> list[dict[str, str]]:
        """Values of the partitions that the catalog lists, by column."""
        names = self.entry.declared.partition_columns
        if self.metastore_uris:
            with HiveMetastore(self.metastore_uris) as metastore:
                listed = list(metastore.partitions(self.database, self.name))
            return [dict(zip(names, map(str, one.values), strict=True)) for one in listed]
        parts = scala_items(self.catalog.listPartitions(self.identifier(), self._hook.environment.jvm.none()))
        return [{str(item._1()): str(item._2()) for item in scala_items(one.spec().toSeq())} for one in parts]

    def add_partitions(self, partitions: Mapping[str, Mapping[str, str]]) -> None:
        """List partitions in the catalog; those that are there are passed over.

        Args:
            partitions: URI of the folder -> values by column.
        """
        if self.metastore_uris:
            self._add_to_metastore(partitions)
            return
        jvm = self._hook.environment.jvm
        storage, made = self.table().storage(), []
        formats = [storage.productElement(at) for at in range(1, storage.productArity())]
        catalog = "org.apache.spark.sql.catalyst.catalog"
        kind = jvm.module(f"{catalog}.CatalogTablePartition")
        # Parameters, times and statistics have defaults, which differ between versions of Spark.
        defaults = [getattr(kind, f"apply$default${number}")() for number in range(3, 7)]
        for uri, values in partitions.items():
            folder = jvm.some(jvm.view.org.apache.hadoop.fs.Path(uri).toUri())
            stored = jvm.module(f"{catalog}.CatalogStorageFormat").apply(folder, *formats)
            made.append(kind.apply(jvm.map(dict(values)), stored, *defaults))
        self.catalog.createPartitions(self.identifier(), jvm.seq(made), True)

    def _add_to_metastore(self, partitions: Mapping[str, Mapping[str, str]]) -> None:
        with HiveMetastore(self.metastore_uris) as metastore:
            storage = metastore.table(self.database, self.name).sd
            made = []
            for uri, values in partitions.items():
                descriptor = copy.copy(storage)
                descriptor.location = uri
                one = Partition(list(values.values()), self.database, self.name, sd=descriptor, parameters={})
                made.append(one)
            metastore.add_partitions(self.database, self.name, made)

    def drop_partitions(self, partitions: Sequence[Mapping[str, str]]) -> None:
        """Take partitions off the catalog's list; their data is left alone."""
        if self.metastore_uris:
            names = [_partition_name(values) for values in partitions]
            with HiveMetastore(self.metastore_uris) as metastore:
                metastore.drop_partitions(self.database, self.name, names)
            return
        jvm = self._hook.environment.jvm
        specifications = jvm.seq([jvm.map(dict(values)) for values in partitions])
        self.catalog.dropPartitions(self.identifier(), specifications, True, False, True)

    # -- names and properties, in a metastore server -----------------------------------------------------------------

    def change_parameters(self, changes: Mapping[str, str | None]) -> None:
        """Set table properties, or remove those whose value is None."""
        with HiveMetastore(self.metastore_uris) as metastore:
            table = metastore.table(self.database, self.name)
            others = {key: text for key, text in (table.parameters or {}).items() if key not in changes}
            table.parameters = {**others, **{key: value for key, value in changes.items() if value is not None}}
            metastore.alter_table(self.database, self.name, table)
        self.refresh()

    def rename_in_metastore(self, database: str, name: str) -> str:
        """Give the entry another name, and its base path where the metastore put it.

        Returns:
            The base path.
        """
        with HiveMetastore(self.metastore_uris) as metastore:
            table = metastore.table(self.database, self.name)
            table.dbName, table.tableName = database, name
            metastore.alter_table(self.database, self.name, table)
            table = metastore.table(database, name)
            parameters = table.sd.serdeInfo.parameters or {}
            location = str(table.sd.location)
            if parameters.get(_PATH) not in (None, location):
                table.sd.serdeInfo.parameters = {**parameters, _PATH: location}
                metastore.alter_table(database, name, table)
            return location


def _partition_name(values: Mapping[str, str]) -> str:
    """A partition's name in a metastore, ``k1=v1/k2=v2``."""
    return "/".join(f"{escape_value(name.lower())}={escape_value(value)}" for name, value in values.items())


__all__ = ["SessionEntry"]
