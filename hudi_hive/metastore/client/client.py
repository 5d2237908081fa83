"""The client of a Hive metastore of version 2.3 to 4.x."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hudi_hive.errors import InvalidOperationError, MetastoreServerError, NoSuchObjectError, TableChangedError
from hudi_hive.metastore._thrift import ttypes
from hudi_hive.metastore.client.database_texts import lost_error, lost_text, needs_reading_back
from hudi_hive.metastore.client.partition_calls import PartitionCalls
from hudi_hive.metastore.client.types import Database, FieldSchema, Table
from hudi_hive.metastore.connection import DelegationToken

_COMPARISON = 'update "TABLE_PARAMS" set "PARAM_VALUE"'
"""In the error of a metastore whose database cannot compare a table parameter: 4.0 on Derby, with its long texts."""


class HiveMetastore(PartitionCalls):
    """A client of one Hive metastore, or of several that share one database.

    Safe to use from several threads. Only calls that metastores 2.3, 3.1 and 4.x have in common are made, on the
    default catalog. Nothing here ever deletes table data.

    Args:
        uris: ``thrift://host:port``; several, as a list or with commas between, are tried in order until one answers.
            ``thrift+tls://`` encrypts; after a ``?`` may stand ``ca``, ``certificate``, ``key``, ``key_password_file``,
            ``server_name``, ``sasl``, ``principal``, ``keytab``, ``client_principal``, ``ticket_cache``,
            ``token_file``, ``token_signature``, ``user`` and ``password_file``, with ``&`` between.
            ``http://host:port/metastore`` and ``https://`` are for the transport mode ``http`` of Hive 4.
        timeouts: seconds to connect and to wait for each answer.
        retries: how often a call is tried again after the connection broke.
        batch: sizes of partition batches.
        pool_size: connections open at once; as many partition batches are under way at the same time.
        ugi: user name to announce to the metastore; None announces nobody.
        tls: encrypt connections to addresses that do not say how themselves; None for plain ones.
        sasl: log in at addresses that do not say how themselves; None logs in nowhere.

    Raises:
        InvalidOptionError: a URI or a setting that makes no sense. Nothing is connected before the first call.

    Every method raises ``MetastoreTransportError`` (could not connect, no answer in time, connection broke) or
    ``MetastoreServerError`` (no such object, exists already, refused) with the address in ``path``.

    Example:
        >>> with HiveMetastore("thrift://localhost:9083") as client:
        ...     client.tables("lake")
        ...     for partition in client.partitions("lake", "trips"):
        ...         print(partition.values, partition.sd.location)
    """

    _compares = True
    """False once the metastore has shown that it cannot compare a table parameter with its expected value."""

    # -- databases --------------------------------------------------------------------------------------------------

    def databases(self, pattern: str | None = None) -> list[str]:
        """Names of all databases, or of those that fit ``pattern`` (``*`` for any text, ``|`` for or)."""
        if pattern is None:
            return list(self.call("get_all_databases", about="the databases"))
        return list(self.call("get_databases", pattern, about=f"databases {pattern}"))

    def database(self, name: str) -> Database:
        """One database.

        Raises:
            NoSuchObjectError: there is none of this name.
        """
        database: Database = self.call("get_database", name, about=f"database {name}")
        return database

    def create_database(
        self,
        database: Database | str,
        *,
        description: str | None = None,
        location: str | None = None,
        parameters: Mapping[str, str] | None = None,
        if_not_exists: bool = False,
    ) -> bool:
        """Create a database; the metastore makes its folder.

        Args:
            database: its name, or a whole ``Database``; the other arguments belong to the name.
            description: free text.
            location: folder; None lets the metastore choose one in its warehouse.
            parameters: free properties.
            if_not_exists: an existing database is left as it is.

        Returns:
            False if it existed already.

        Raises:
            AlreadyExistsError: it exists and ``if_not_exists`` is not set.
        """
        if isinstance(database, str):
            database = Database(
                name=database, description=description, locationUri=location, parameters=dict(parameters or {})
            )
        return self.create_object("create_database", database, about=f"database {database.name}", quiet=if_not_exists)

    def drop_database(self, name: str, *, cascade: bool = False, if_exists: bool = False) -> bool:
        """Forget a database and, with ``cascade``, its tables. Folders and data stay.

        Returns:
            False if there was none and ``if_exists`` is set.

        Raises:
            NoSuchObjectError: there is none and ``if_exists`` is not set.
            InvalidOperationError: it has tables and ``cascade`` is not set.
        """
        about = f"database {name}"
        try:
            return self.drop_object("drop_database", name, False, cascade, about=about, quiet=if_exists)
        except (NoSuchObjectError, InvalidOperationError):
            raise
        except MetastoreServerError:
            # Metastore 2.3 fails with a null pointer when there is no such database: ask whether that was it.
            try:
                self.database(name)
            except NoSuchObjectError:
                if if_exists:
                    return False
                raise
            raise

    def config_value(self, name: str, default: str) -> str:
        """A setting of the metastore, such as ``hive.txn.timeout``; ``default`` where it has none."""
        return str(self.call("get_config_value", name, default, about=name))

    # -- delegation tokens --------------------------------------------------------------------------------------------

    def delegation_token(self, owner: str, renewer: str | None = None) -> DelegationToken:
        """Get a delegation token, with which a process logs in that has no Kerberos ticket of its own.

        Args:
            owner: the user whom the token stands for: the one who is logged in, by its short name.
            renewer: who may renew it; None for the owner.

        Raises:
            MetastoreServerError: this connection is not logged in by Kerberos, or the user may not act for the owner.
        """
        text = self.call("get_delegation_token", owner, renewer or owner, about=f"a token of {owner}", repeatable=False)
        return DelegationToken.from_text(text)

    def renew_delegation_token(self, token: DelegationToken) -> int:
        """Renew a token; until when it is valid, in milliseconds since 1970.

        Raises:
            MetastoreServerError: it has expired or was cancelled, or this user is not its renewer.
        """
        return int(self.call("renew_delegation_token", token.text, about="a delegation token"))

    def cancel_delegation_token(self, token: DelegationToken) -> None:
        """Cancel a token: nobody can log in with it any more.

        Raises:
            MetastoreServerError: there is no such token, or it is another user's.
        """
        self.call("cancel_delegation_token", token.text, about="a delegation token", repeatable=False)

    # -- tables -----------------------------------------------------------------------------------------------------

    def tables(self, database: str, pattern: str | None = None) -> list[str]:
        """Names of the tables and views of a database, or of those that fit ``pattern`` (``*`` and ``|``).

        Raises:
            NoSuchObjectError: there is no such database (the metastore itself would answer with an empty list).
        """
        about = f"tables of {database}"
        if pattern is None:
            names = list(self.call("get_all_tables", database, about=about))
        else:
            names = list(self.call("get_tables", database, pattern, about=about))
        if not names:
            self.database(database)
        return names

    def find_table(self, database: str, name: str) -> Table | None:
        """One table, or None if there is none (one call)."""
        try:
            return self.table(database, name)
        except NoSuchObjectError:
            return None

    def table_objects(self, database: str, names: Sequence[str]) -> Iterator[Table]:
        """Several tables, fetched in growing batches; names that do not exist are left out."""
        about = f"tables of {database}"

        def fetch(batch: Sequence[str]) -> list[Table]:
            request = ttypes.GetTablesRequest(dbName=database, tblNames=list(batch))
            return list(self.call("get_table_objects_by_name_req", request, about=about).tables)

        for tables in self.read_batches(names, fetch):
            yield from tables

    def fields(self, database: str, table: str) -> list[FieldSchema]:
        """Columns of a table without its partition keys, by its SerDe."""
        return list(self.call("get_fields", database, table, about=f"table {database}.{table}"))

    def schema(self, database: str, table: str) -> list[FieldSchema]:
        """Columns of a table with its partition keys last."""
        return list(self.call("get_schema", database, table, about=f"table {database}.{table}"))

    def create_table(self, table: Table, *, if_not_exists: bool = False) -> bool:
        """Create a table.

        Returns:
            False if it existed already and ``if_not_exists`` is set; it is left as it is.

        Raises:
            AlreadyExistsError: it exists and ``if_not_exists`` is not set.
            InvalidOperationError: the metastore refuses a name, type or missing database.
            MetastoreTextError: its database did not keep all characters of the definition; there is no such table then.
        """
        about = f"table {table.dbName}.{table.tableName}"
        created = self.create_object("create_table", table, about=about, quiet=if_not_exists)
        if created and needs_reading_back(table):
            lost = lost_text(table, self.table(table.dbName, table.tableName))
            if lost is not None:
                self.drop_table(table.dbName, table.tableName, if_exists=True)
                raise lost_error(lost, f"{table.dbName}.{table.tableName}", self.uri)
        return created

    def alter_table(
        self,
        database: str,
        name: str,
        table: Table,
        *,
        cascade: bool = False,
        expected: tuple[str, str] | None = None,
    ) -> None:
        """Replace a table's definition; another ``tableName`` or ``dbName`` in it renames or moves it.

        Args:
            database: where it is now.
            name: its name now.
            table: the whole new definition.
            cascade: change the columns of all partitions too (slow with many).
            expected: a table parameter and its value: the change is made only while the table still has it (HIVE-26882;
                metastores without that, before 2.3.10 and 3.1.x, change the table in any case; metastore 4.0 on a Derby
                database fails in it, so there the table is read first). ``table`` must have the parameter too.

        Raises:
            InvalidOperationError: no such table, or a type change that the metastore refuses (it compares by position).
            TableChangedError: the parameter ``expected`` has another value by now.
            MetastoreTextError: the table was changed, but its database did not keep all characters.
        """
        properties = {"CASCADE": "true"} if cascade else {}
        compares = expected is not None and self._compares
        if expected is not None and compares:
            properties["expected_parameter_key"], properties["expected_parameter_value"] = expected
        elif expected is not None:
            self._check_parameter(database, name, expected)
        context = ttypes.EnvironmentContext(properties=properties)
        about = f"table {database}.{name}"
        try:
            self.call(
                "alter_table_with_environment_context", database, name, table, context, about=about, repeatable=False
            )
        except MetastoreServerError as error:
            if not compares:
                raise
            if "has been modified" in error.message:
                raise TableChangedError(error.message, path=error.path, remedy="look at it and run again") from error
            if _COMPARISON not in error.message:
                raise
            # Nothing was changed. The metastore tries ten times, for 20 s in all, before it says so: never ask again.
            self._compares = False
            self.alter_table(database, name, table, cascade=cascade, expected=expected)
            return
        if needs_reading_back(table):
            lost = lost_text(table, self.table(table.dbName or database, table.tableName))
            if lost is not None:
                raise lost_error(lost, f"{table.dbName}.{table.tableName}", self.uri)

    def _check_parameter(self, database: str, name: str, expected: tuple[str, str]) -> None:
        """Compare a table parameter here, for a metastore that cannot; who changes it behind this is not noticed."""
        current = (self.table(database, name).parameters or {}).get(expected[0])
        if current != expected[1]:
            what = f"table {database}.{name} has been modified: {expected[0]} is {current!r}, not {expected[1]!r}"
            raise TableChangedError(what, path=self.uri, remedy="look at it and run again")

    def drop_table(self, database: str, name: str, *, if_exists: bool = False) -> bool:
        """Forget a table. Its data stays, whatever kind of table it is.

        Returns:
            False if there was none and ``if_exists`` is set.

        Raises:
            NoSuchObjectError: there is none and ``if_exists`` is not set.
        """
        return self.drop_object("drop_table", database, name, False, about=f"table {database}.{name}", quiet=if_exists)
