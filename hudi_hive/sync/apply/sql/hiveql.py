"""Applies a sync by DDL statements (modes ``hiveql`` and ``jdbc``), with the same result as by Thrift calls.

Databases, tables, columns and partitions are made and changed by SQL. As in real hive-sync, parameters, SerDe and the
stamp go through the metastore's own client. So does

* every drop: SQL would delete the data of managed tables, and of external ones with ``external.table.purge``;
* what no statement can say: the partition of null, values that are empty or that the server would write differently
  (``01`` under an integer key), locations that are no URI;
* on Spark what Spark refuses: ``spark.sql.*`` parameters, REPLACE COLUMNS, TOUCH, and partitions of tables that it
  knows as its data sources.

What a statement has made is read back, and what differs from what was asked for is put right through the client: column
comments, parameters that the server adds by itself, a table type that it chose.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hudi_hive.errors import (
    AlreadyExistsError,
    InvalidOperationError,
    MetastoreServerError,
    NoSuchObjectError,
    TableChangedError,
)
from hudi_hive.metastore import FieldSchema, HiveMetastore, Partition, StorageDescriptor, Table
from hudi_hive.metastore.client import DEFAULT_PARTITION, format_partition_name
from hudi_hive.sync.apply.catalog_writer import MetastoreWriter
from hudi_hive.sync.apply.sql import ddl
from hudi_hive.sync.apply.sql.sql_server import SqlServer, parse_jdbc_url
from hudi_hive.sync.diff import expected_stamp
from hudi_hive.sync.table import same_location

if TYPE_CHECKING:
    from hudi_hive.sync.config import HiveSyncConfig

_DATA_SOURCE = "spark.sql.sources."
# What servers, not syncs, decide: times and statistics. They stay as the server made them.
_SERVERS_OWN = frozenset(
    {
        "transient_lastDdlTime",
        "last_modified_time",
        "last_modified_by",
        "numFiles",
        "totalSize",
        "numRows",
        "rawDataSize",
        "numPartitions",
        "COLUMN_STATS_ACCURATE",
        "STATS_GENERATED_VIA_STATS_TASK",
        "DO_NOT_UPDATE_STATS",
        "bucketing_version",
    }
)
# Names that Spark's parser keeps to itself (``TBLPROPERTIES ('owner'=…)`` is an error).
_RESERVED_BY_SPARK = frozenset({"provider", "location", "owner", "external", "is_managed_location", "option"})
# Values that servers store as they are written, by the key's type: Hive makes 1.0 of the double 01, and takes an empty
# value or a null's name for an error.
_WHOLE = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
_FORMS = {
    "string": re.compile(rf"(?!.*{DEFAULT_PARTITION}).+", re.DOTALL),
    # Days that every month has; the others are not worth a calendar.
    "date": re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])", re.ASCII),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), _WHOLE),
}
_URI = re.compile(r"(?:[A-Za-z0-9._~:/@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+", re.ASCII)


@contextmanager
def connect(config: HiveSyncConfig, metastore: HiveMetastore) -> Iterator[HiveQlWriter]:
    """Open a writer with a session on the server of ``config.jdbc_url``.

    Raises:
        InvalidOptionError: an address that cannot be used.
        MetastoreConnectError, MetastoreServerError: no session.
        MetastoreSecurityError: no login by Kerberos, which takes the keytab or ticket cache of the metastore's login.
    """
    address = parse_jdbc_url(config.jdbc_url)
    with SqlServer(address, config.username, config.password, login=metastore.login) as server:
        yield HiveQlWriter(metastore, server, config.connections)


class HiveQlWriter:
    """``CatalogWriter`` by SQL.

    Args:
        metastore: a client of the metastore that the SQL server uses.
        connection: a session with the server.
        connections: as ``MetastoreWriter``, for what goes to the metastore itself; statements go one by one.
    """

    def __init__(self, metastore: HiveMetastore, connection: SqlServer, connections: int | None = None) -> None:
        self._metastore = metastore
        self._server = connection
        self._client = MetastoreWriter(metastore, connections)
        self._tables: dict[tuple[str, str], Table] = {}

    # -- databases and tables ------------------------------------------------------------------------------------------

    def create_database(self, name: str, *, description: str) -> None:
        """As ``CatalogWriter``. Where the database lies is for the server to decide."""
        self._server.execute(ddl.create_database(name, description), f"database {name}")

    def create_table(self, table: Table) -> None:
        """As ``CatalogWriter``."""
        about = f"table {table.dbName}.{table.tableName}"
        parameters = {name: value for name, value in (table.parameters or {}).items() if self._takes(name)}
        try:
            self._server.execute(ddl.create_table(table, parameters), about)
        except MetastoreServerError as error:
            # Servers have many words for it.
            if self._metastore.find_table(table.dbName, table.tableName) is not None:
                raise AlreadyExistsError(f"{about} exists already", path=error.path) from error
            raise _with_remedy(error, table) from error
        self._tables[table.dbName, table.tableName] = self._put_right(table)

    def _put_right(self, table: Table) -> Table:
        """Give a table that a statement has just made all that was asked for."""
        made = self._metastore.table(table.dbName, table.tableName)
        repaired = _repaired_table(made, table)
        if repaired != made:
            # Another sync may have taken the table for an unfinished one by now, and have finished it.
            self._metastore.alter_table(table.dbName, table.tableName, repaired, expected=expected_stamp(table))
        return repaired

    def _takes(self, parameter: str) -> bool:
        if parameter == "EXTERNAL":
            return False  # The keyword says it.
        if not self._server.is_spark:
            return True
        return not parameter.startswith("spark.sql.") and parameter.lower() not in _RESERVED_BY_SPARK

    def alter_table(
        self,
        database: str,
        name: str,
        table: Table,
        *,
        cascade: bool = False,
        expected: tuple[str, str] | None = None,
    ) -> None:
        """As ``CatalogWriter``: columns and comments by SQL, everything else through the client."""
        existing = self._find(database, name)
        if existing.sd.cols != table.sd.cols and not self._server.is_spark:
            self._replace_columns(existing, table, cascade=cascade, expected=expected)
            cascade = False
        self._metastore.alter_table(database, name, table, cascade=cascade, expected=expected)
        self._tables[database, name] = table

    def _find(self, database: str, name: str) -> Table:
        try:
            return self._metastore.table(database, name)
        except NoSuchObjectError as error:
            # What the metastore says when a table that is not there is to be altered.
            raise InvalidOperationError(error.message, path=error.path) from error

    def _replace_columns(
        self, existing: Table, table: Table, *, cascade: bool, expected: tuple[str, str] | None
    ) -> None:
        about = f"columns of {existing.dbName}.{existing.tableName}"
        if expected is not None and (existing.parameters or {}).get(expected[0]) != expected[1]:
            raise TableChangedError(f"{about}: somebody else changed the table", path=str(self._server.address))
        named = copy.copy(table)
        named.dbName, named.tableName = existing.dbName, existing.tableName
        try:
            self._server.execute(ddl.replace_columns(named, cascade=cascade), about)
        except MetastoreServerError as error:
            raise InvalidOperationError(error.message, path=error.path) from error

    def drop_table(self, database: str, name: str) -> None:
        """As ``CatalogWriter``, through the client: SQL would delete a managed table's data."""
        self._tables.pop((database, name), None)
        self._client.drop_table(database, name)

    # -- partitions ------------------------------------------------------------------------------------------------

    def add_partitions(self, database: str, table: str, partitions: Sequence[Partition], *, batch_size: int) -> None:
        """As ``CatalogWriter``."""
        about = f"partitions of {database}.{table}"
        keys = self._keys(database, table)
        names = [key.name for key in keys]
        by_statement, by_client = _split(partitions, keys)
        for batch in _batches(by_statement, batch_size):
            self._server.execute(ddl.add_partitions(database, table, names, batch), about)
            by_client += self._repair_partitions(database, table, names, batch, moved=False)
        if by_client:
            self._client.add_partitions(database, table, by_client, batch_size=batch_size)

    def alter_partitions(self, database: str, table: str, partitions: Sequence[Partition], *, batch_size: int) -> None:
        """As ``CatalogWriter``: locations by SQL, one statement each."""
        keys = self._keys(database, table)
        names = [key.name for key in keys]
        at_uris = [item for item in partitions if _URI.fullmatch(item.sd.location or "")]
        by_client = [item for item in partitions if not _URI.fullmatch(item.sd.location or "")]
        by_statement, others = _split(at_uris, keys)
        by_client += others
        self._use(database, by_statement)
        for batch in _batches(by_statement, batch_size):
            for item in batch:
                about = f"partition {list(item.values)} of {database}.{table}"
                self._server.execute(ddl.set_location(table, names, item), about)
            by_client += self._repair_partitions(database, table, names, batch, moved=True)
        if by_client:
            self._client.alter_partitions(database, table, by_client, batch_size=batch_size)

    def touch_partitions(self, database: str, table: str, partitions: Sequence[Partition], *, batch_size: int) -> None:
        """As ``CatalogWriter``."""
        about = f"partitions of {database}.{table}"
        keys = [] if self._server.is_spark else self._keys(database, table)
        by_statement, by_client = _split(partitions, keys)
        self._use(database, by_statement)
        for batch in _batches(by_statement, batch_size):
            self._server.execute(ddl.touch_partitions(table, [key.name for key in keys], batch), about)
        if by_client:
            self._client.touch_partitions(database, table, by_client, batch_size=batch_size)

    def drop_partitions(self, database: str, table: str, names: Sequence[str], *, batch_size: int) -> None:
        """As ``CatalogWriter``, through the client: SQL would delete a managed table's data."""
        self._client.drop_partitions(database, table, names, batch_size=batch_size)

    def _use(self, database: str, by_statement: Sequence[Partition]) -> None:
        if by_statement:
            self._server.execute(ddl.use_database(database), f"database {database}")

    def _keys(self, database: str, table: str) -> list[FieldSchema]:
        """The table's partition keys; none when the server does not speak of its partitions."""
        definition = self._tables.get((database, table))
        if definition is None:
            definition = self._tables[database, table] = self._metastore.table(database, table)
        if self._server.is_spark and any(name.startswith(_DATA_SOURCE) for name in definition.parameters or {}):
            return []  # Spark wants to keep the partitions of its data sources by itself, and refuses.
        return list(definition.partitionKeys or [])

    def _repair_partitions(
        self, database: str, table: str, keys: Sequence[str], partitions: Sequence[Partition], *, moved: bool
    ) -> list[Partition]:
        """Put right what statements made of partitions; gives those that are not there under the values asked for.

        A partition that somebody else had added at another place is left as it is, as ``IF NOT EXISTS`` wants it.
        """
        if not partitions:
            return []
        names = [format_partition_name(keys, item.values) for item in partitions]
        made = {tuple(item.values): item for item in self._metastore.partitions(database, table, names)}
        missing, wrong = [], []
        for item in partitions:
            created = made.get(tuple(item.values))
            if created is None:
                missing.append(item)
                continue
            repaired = _repaired_partition(created, item)
            if repaired != created and (moved or same_location(created.sd.location or "", item.sd.location or "")):
                wrong.append(repaired)
        if wrong:
            self._metastore.alter_partitions(database, table, wrong, batch_size=None)
        return missing


# -- what was made and what was asked for --------------------------------------------------------------------------


def _repaired_table(made: Table, requested: Table) -> Table:
    """What was made, with everything that was asked for and nothing of the server's invention but its statistics."""
    table = copy.deepcopy(made)
    table.owner = requested.owner
    table.sd = _repaired_descriptor(made.sd, requested.sd)
    table.partitionKeys = copy.deepcopy(requested.partitionKeys)
    table.tableType = requested.tableType
    server_parameters = {name: value for name, value in (made.parameters or {}).items() if name in _SERVERS_OWN}
    table.parameters = {**server_parameters, **(requested.parameters or {})}
    return table


def _repaired_partition(made: Partition, requested: Partition) -> Partition:
    partition = copy.deepcopy(made)
    partition.sd = _repaired_descriptor(made.sd, requested.sd)
    server_parameters = {name: value for name, value in (made.parameters or {}).items() if name in _SERVERS_OWN}
    partition.parameters = {**server_parameters, **(requested.parameters or {})}
    return partition


def _repaired_descriptor(made: StorageDescriptor, requested: StorageDescriptor) -> StorageDescriptor:
    descriptor = copy.deepcopy(made)
    if not same_location(made.location or "", requested.location or ""):
        descriptor.location = requested.location
    descriptor.cols = copy.deepcopy(requested.cols)
    descriptor.inputFormat, descriptor.outputFormat = requested.inputFormat, requested.outputFormat
    descriptor.compressed, descriptor.numBuckets = requested.compressed, requested.numBuckets
    descriptor.bucketCols, descriptor.sortCols = list(requested.bucketCols or []), list(requested.sortCols or [])
    descriptor.serdeInfo.serializationLib = requested.serdeInfo.serializationLib
    descriptor.serdeInfo.parameters = dict(requested.serdeInfo.parameters or {})
    descriptor.parameters = dict(requested.parameters or {})
    return descriptor


def _with_remedy(error: MetastoreServerError, table: Table) -> MetastoreServerError:
    """The error of a CREATE with what helps when the server lacks Hudi's classes."""
    if (table.sd.inputFormat or "") not in error.message and "org/apache/hudi/" not in error.message:
        return error
    return type(error)(
        error.message,
        path=error.path,
        remedy="put a Hudi bundle (hudi-hadoop-mr-bundle, or the one for Spark) on the SQL server's class path, "
        "or use hoodie.datasource.hive_sync.mode=hms",
    )


def _split(partitions: Sequence[Partition], keys: Sequence[FieldSchema]) -> tuple[list[Partition], list[Partition]]:
    """Partitions that a statement can name, and those for the client: all of them when there are no keys."""
    forms = [_FORMS.get(key.type.lower()) for key in keys]
    by_statement: list[Partition] = []
    others: list[Partition] = []
    for item in partitions:
        fits = bool(keys) and len(item.values) == len(forms)
        fits = fits and all(form and form.fullmatch(text) for form, text in zip(forms, item.values, strict=True))
        (by_statement if fits else others).append(item)
    return by_statement, others


def _batches(partitions: Sequence[Partition], size: int) -> Iterator[Sequence[Partition]]:
    for start in range(0, len(partitions), size):
        yield partitions[start : start + size]
