"""The databases and tables of a fake metastore, and Hive 2.3's rules for changing them.

Methods have the names and arguments of the Thrift calls and raise its exceptions. Stored objects are replaced, never
changed, so answers can be encoded while other calls go on.
"""

from __future__ import annotations

import copy
import fnmatch
import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from hudi_hive.metastore._thrift import ttypes as t
from hudi_hive.metastore.client import Database, FieldSchema, PrincipalType, SkewedInfo, StorageDescriptor, Table
from hudi_hive.options import parse_java_boolean
from hudi_hive.testing import locations
from hudi_hive.testing.column_types import incompatible_columns, is_valid

Copied = TypeVar("Copied")

DDL_TIME = "transient_lastDdlTime"
STATS = ("numFiles", "totalSize")
_NAME = re.compile(r"\w+", re.ASCII)
_CANNOT_COMPARE = (
    'Error executing SQL query "update "TABLE_PARAMS" set "PARAM_VALUE"=? where "TBL_ID"=? and "PARAM_KEY"=? and '
    '"PARAM_VALUE"=?".'
)
"""What metastore 4.0 on Derby says of a guarded change."""


def shallow(value: Copied, **changes: object) -> Copied:
    """A copy of a struct with some fields replaced."""
    made = copy.copy(value)
    for name, new in changes.items():
        setattr(made, name, new)
    return made


def now() -> int:
    """Seconds since the epoch."""
    return int(time.time())


def fits(name: str, pattern: str) -> bool:
    """Hive's name patterns: ``*`` for any text, ``|`` for or, case-insensitive."""
    return any(fnmatch.fnmatchcase(name, part.strip().lower()) for part in pattern.split("|"))


def stored_descriptor(descriptor: StorageDescriptor, location: str | None) -> StorageDescriptor:
    """Normalise a storage descriptor as the metastore does."""
    serde = descriptor.serdeInfo
    return shallow(
        descriptor,
        cols=[stored_column(column) for column in descriptor.cols or []],
        location=location,
        compressed=bool(descriptor.compressed),
        numBuckets=descriptor.numBuckets or 0,
        serdeInfo=shallow(serde, parameters=dict(serde.parameters or {})),
        bucketCols=list(descriptor.bucketCols or []),
        sortCols=list(descriptor.sortCols or []),
        parameters=dict(descriptor.parameters or {}),
        skewedInfo=descriptor.skewedInfo or SkewedInfo([], [], {}),
        storedAsSubDirectories=bool(descriptor.storedAsSubDirectories),
    )


def stored_column(column: FieldSchema) -> FieldSchema:
    """Column names are kept in lower case."""
    return shallow(column, name=column.name.lower())


class FakeTables:
    """Databases and tables."""

    def __init__(self, warehouse: Path) -> None:
        self._warehouse = warehouse
        default = Database(
            name="default",
            description="Default Hive database",
            locationUri=locations.qualify(str(warehouse)),
            parameters={},
            ownerName="public",
            ownerType=PrincipalType.ROLE,
        )
        self._databases: dict[str, Database] = {"default": default}
        self._tables: dict[tuple[str, str], Table] = {}
        self.check_types = True
        self.can_compare = True

    # -- databases --------------------------------------------------------------------------------------------------

    def get_all_databases(self) -> list[str]:
        return sorted(self._databases)

    def get_databases(self, pattern: str) -> list[str]:
        return sorted(name for name in self._databases if fits(name, pattern))

    def get_database(self, name: str) -> Database:
        database = self._databases.get(name.lower())
        if database is None:
            raise t.NoSuchObjectException(message=name)
        return database

    def create_database(self, database: Database) -> None:
        name = database.name.lower()
        if not _NAME.fullmatch(name):
            raise t.InvalidObjectException(message=f"{database.name} is not a valid database name")
        if name in self._databases:
            raise t.AlreadyExistsException(message=f"Database {name} already exists")
        location = locations.qualify(database.locationUri or str(self._warehouse / f"{name}.db"))
        try:
            locations.make_folder(location)
        except NotADirectoryError as error:
            text = f"Unable to create database path {location}, failed to create database {name}"
            raise t.MetaException(message=text) from error
        self._databases[name] = shallow(
            database,
            name=name,
            locationUri=location,
            parameters=dict(database.parameters or {}),
            ownerType=database.ownerType or PrincipalType.USER,
        )

    def drop_database(self, name: str, deleteData: bool, cascade: bool) -> None:
        name = name.lower()
        if name not in self._databases:
            # Hive 2.3 runs into a null pointer here, which it declares as a MetaException.
            raise t.MetaException(message=f'java.lang.NullPointerException: "{name}" is null')
        if name == "default":
            raise t.MetaException(message="Can not drop default database")
        inside = [key for key in self._tables if key[0] == name]
        if inside and not cascade:
            raise t.InvalidOperationException(message=f"Database {name} is not empty. One or more tables exist.")
        for database, table in inside:
            self.drop_table(database, table, deleteData)
        del self._databases[name]

    # -- tables: reading --------------------------------------------------------------------------------------------

    def find_table(self, database: str, table: str) -> Table:
        found = self._tables.get((database.lower(), table.lower()))
        if found is None:
            raise t.NoSuchObjectException(message=f"{database.lower()}.{table.lower()} table not found")
        return found

    def get_all_tables(self, db_name: str) -> list[str]:
        return sorted(name for database, name in self._tables if database == db_name.lower())

    def get_tables(self, db_name: str, pattern: str) -> list[str]:
        return [name for name in self.get_all_tables(db_name) if fits(name, pattern)]

    def get_table_req(self, req: t.GetTableRequest) -> t.GetTableResult:
        return t.GetTableResult(table=self.find_table(req.dbName, req.tblName))

    def get_table_objects_by_name_req(self, req: t.GetTablesRequest) -> t.GetTablesResult:
        if req.dbName.lower() not in self._databases:
            raise t.UnknownDBException(message=f"Could not find database {req.dbName}")
        requested = {name.lower() for name in req.tblNames or []}
        names = [name for name in self.get_all_tables(req.dbName) if name in requested]
        return t.GetTablesResult(tables=[self.find_table(req.dbName, name) for name in names])

    def get_fields(self, db_name: str, table_name: str) -> list[FieldSchema]:
        try:
            return self.find_table(db_name, table_name).sd.cols
        except t.NoSuchObjectException as error:
            raise t.UnknownTableException(message=str(error.message)) from error

    def get_schema(self, db_name: str, table_name: str) -> list[FieldSchema]:
        return [*self.get_fields(db_name, table_name), *self.find_table(db_name, table_name).partitionKeys]

    # -- tables: writing --------------------------------------------------------------------------------------------

    def create_table(self, tbl: Table) -> None:
        database, name = tbl.dbName.lower(), tbl.tableName.lower()
        if not _NAME.fullmatch(name):
            raise t.InvalidObjectException(message=f"{tbl.tableName} is not a valid object name")
        self._check_columns(tbl)
        if tbl.sd.serdeInfo is None:
            raise t.MetaException(message="Invalid SerDeInfo object")
        if database not in self._databases:
            raise t.InvalidObjectException(message=tbl.dbName)
        if (database, name) in self._tables:
            raise t.AlreadyExistsException(message=f"Table {name} already exists")
        home = str(self._databases[database].locationUri)
        location = locations.qualify(tbl.sd.location or f"{home}/{name}")
        try:
            made = locations.make_folder(location)
        except NotADirectoryError as error:
            raise t.MetaException(message=str(error)) from error
        parameters = dict(tbl.parameters or {})
        if not tbl.partitionKeys and not made and not all(key in parameters for key in STATS):
            parameters |= locations.quick_stats(location)
        created = now()
        parameters.setdefault(DDL_TIME, str(created))
        self._tables[database, name] = self._stored_table(
            shallow(tbl, dbName=database, tableName=name, createTime=created, parameters=parameters), location
        )

    def create_table_with_environment_context(self, tbl: Table, environment_context: t.EnvironmentContext) -> None:
        self.create_table(tbl)

    def _stored_table(self, table: Table, location: str) -> Table:
        external = table.parameters.get("EXTERNAL", "").upper() == "TRUE"
        kinds = {"EXTERNAL_TABLE": "MANAGED_TABLE"} if not external else {"MANAGED_TABLE": "EXTERNAL_TABLE"}
        return shallow(
            table,
            sd=stored_descriptor(table.sd, location),
            partitionKeys=[stored_column(key) for key in table.partitionKeys or []],
            lastAccessTime=table.lastAccessTime or 0,
            retention=table.retention or 0,
            rewriteEnabled=bool(table.rewriteEnabled),
            tableType=kinds.get(table.tableType, table.tableType),
            temporary=None,
            privileges=None,
        )

    def _check_columns(self, table: Table, error: type[Exception] = t.InvalidObjectException) -> None:
        for column in [*table.sd.cols, *(table.partitionKeys or [])]:
            if not is_valid(column.type):
                raise error(message=f"Invalid column type: {column.type}")  # type: ignore[call-arg]

    def alter_table_with_environment_context(
        self, dbname: str, tbl_name: str, new_tbl: Table, environment_context: t.EnvironmentContext | None
    ) -> None:
        properties = (environment_context.properties if environment_context else None) or {}
        self._check_columns(new_tbl, t.InvalidOperationException)
        try:
            old = self.find_table(dbname, tbl_name)
        except t.NoSuchObjectException as error:
            raise t.InvalidOperationException(message=str(error.message)) from error
        if not self.can_compare and "expected_parameter_key" in properties:
            raise t.MetaException(message=_CANNOT_COMPARE)
        _check_expected(old, new_tbl, properties)
        key = (new_tbl.dbName.lower(), new_tbl.tableName.lower())
        if key != (old.dbName, old.tableName) and key in self._tables:
            raise t.InvalidOperationException(message=f"new table {key[0]}.{key[1]} already exists")
        if key[0] not in self._databases:
            raise t.InvalidOperationException(message=f"{key[0]} database not found")
        if [k.name.lower() for k in new_tbl.partitionKeys or []] != [k.name for k in old.partitionKeys]:
            raise t.InvalidOperationException(message="partition keys can not be changed.")
        self._check_change(old, new_tbl)
        location = locations.qualify(new_tbl.sd.location or str(old.sd.location))
        parameters = dict(new_tbl.parameters or {})
        if not old.partitionKeys and key == (old.dbName, old.tableName):
            parameters |= locations.quick_stats(location)
        parameters.setdefault(DDL_TIME, str(now()))
        new = self._stored_table(shallow(new_tbl, dbName=key[0], tableName=key[1], parameters=parameters), location)
        del self._tables[old.dbName, old.tableName]
        self._tables[key] = new
        self._table_changed(old, new, cascade=parse_java_boolean(properties.get("CASCADE", "")))

    def _check_change(self, old: Table, new: Table) -> None:
        if not self.check_types:
            return
        columns = [[(column.name, column.type) for column in table.sd.cols] for table in (old, new)]
        wrong = incompatible_columns(*columns)
        if wrong:
            raise t.InvalidOperationException(
                message="The following columns have types incompatible with the existing columns in their respective"
                f" positions : {','.join(wrong)}"
            )

    def _table_changed(self, old: Table, new: Table, *, cascade: bool) -> None:
        """Called when a table is changed; subclasses update its partitions."""

    def drop_table(self, dbname: str, name: str, deleteData: bool) -> None:
        table = self.find_table(dbname, name)
        assert not deleteData, "no client of ours may ask for data to be deleted"
        del self._tables[table.dbName, table.tableName]
        self._table_dropped(table)

    def _table_dropped(self, table: Table) -> None:
        """Called when a table is dropped; subclasses drop its partitions."""

    # -- other ------------------------------------------------------------------------------------------------------

    def set_ugi(self, user_name: str, group_names: Iterable[str]) -> list[str]:
        return [user_name]

    def get_config_value(self, name: str, defaultValue: str) -> str:
        if name == "hive.metastore.disallow.incompatible.col.type.changes":
            return str(self.check_types).lower()
        return defaultValue


def _check_expected(old: Table, new: Table, properties: Mapping[str, str]) -> None:
    """HIVE-26882: refuse the change when a table parameter has not the expected value any more."""
    key, value = properties.get("expected_parameter_key"), properties.get("expected_parameter_value")
    if key is None or value is None:
        return
    if (new.parameters or {}).get(key) is None:
        raise t.MetaException(message=f"New value for expected key {key} is not set")
    current = (old.parameters or {}).get(key)
    if current != value:
        raise t.MetaException(
            message=f"The table has been modified. The parameter value for key '{key}' is '{current}'. "
            f"The expected was value was '{value}'"
        )
