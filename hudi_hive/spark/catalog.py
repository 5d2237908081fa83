"""Synced tables as Spark's session catalog knows them: is a name a Hudi table, where is it, how is it read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from hudi_hive.errors import SparkError
from hudi_hive.plan import Query
from hudi_hive.spark.failures import JavaValue
from hudi_hive.spark.jvm import Jvm, option, scala_items
from hudi_hive.spark.relation import Declared

PROVIDER = "hudi"

FORMATS = frozenset({PROVIDER, "org.apache.hudi"})
"""What statements and writers may call the format."""

_READ_OPTIMISED = "hoodie.query.as.ro.table"
_INPUT_FORMATS = "org.apache.hudi.hadoop."


@dataclass(frozen=True, slots=True)
class HudiTableEntry:
    """A synced table.

    Attributes:
        declared: its columns in the catalog.
        location: its base path as Hadoop writes it.
        read_optimized: it is the ``_ro`` table of a merge-on-read table.
        native: it was synced with Spark's table properties, so that Spark takes it for a data source table.
    """

    declared: Declared
    location: str
    read_optimized: bool
    native: bool

    def query_type(self) -> str:
        """Query type of a plain SELECT."""
        return "read_optimized" if self.read_optimized else "snapshot"

    def query(self) -> Query:
        """The question that a plain SELECT asks."""
        return Query.of(self.query_type())


def find_table(jvm: Jvm, session: JavaValue, database: str | None, name: str) -> HudiTableEntry | None:
    """The synced table of this name, or None: no such table, a view, or a table of another kind."""
    state = session.sessionState()
    catalog = state.catalog()
    identifier = jvm.package("catalyst").TableIdentifier(name, jvm.some(database) if database else jvm.none())
    try:
        table = catalog.getTableMetadata(identifier)
    except (PySparkException, Py4JJavaError):
        return None
    provider = option(table.provider())
    input_format = option(table.storage().inputFormat()) or ""
    native = provider == PROVIDER
    if not native and not input_format.startswith(_INPUT_FORMATS):
        return None
    location = option(table.storage().locationUri())
    if location is None:
        return None
    properties = table.storage().properties()
    read_optimised = option(properties.get(_READ_OPTIMISED))
    columns = StructType.fromJson(json.loads(table.schema().json()))
    declared = Declared(
        name=f"{table.database()}.{table.identifier().table()}",
        columns=columns,
        partition_columns=tuple(str(item) for item in scala_items(table.partitionColumnNames())),
        table=table,
    )
    return HudiTableEntry(declared, _qualified(jvm, session, location), str(read_optimised).lower() == "true", native)


def require_table(jvm: Jvm, session: JavaValue, name: str) -> HudiTableEntry:
    """The synced table of a name as SQL writes it (``db.t``, back-ticks and ``spark_catalog.`` allowed).

    Raises:
        SparkError: no synced Hudi table has that name.
    """
    parser = jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
    parts = [str(part) for part in scala_items(parser.parseMultipartIdentifier(name))]
    if len(parts) == 3 and parts[0].lower() == "spark_catalog":
        parts = parts[1:]
    if len(parts) > 2:
        raise SparkError(f"{name} is not a table of the session catalog", remedy="give database.table")
    found = find_table(jvm, session, parts[-2] if len(parts) == 2 else None, parts[-1])
    if found is None:
        raise SparkError(
            f"{name} is not a synced Hudi table",
            remedy="sync it to the metastore with `hudi-hive sync`, or read its path with hudi_hive.spark.load",
        )
    return found


def managed_tables(
    jvm: Jvm, session: JavaValue, database: Sequence[str], name: str | None = None
) -> list[tuple[str, str]]:
    """Names and base paths of the synced tables of a database whose data the metastore would delete with their entry.

    Args:
        jvm, session: the session's.
        database: its name, with or without the catalog; the current one when empty.
        name: of one table; without it all are looked at.
    """
    if len(database) > 1 and database[0].lower() != "spark_catalog":
        return []
    catalog = session.sessionState().catalog()
    where = database[-1] if database else catalog.getCurrentDatabase()
    if name is not None:
        tables = [catalog.getTableMetadata(jvm.package("catalyst").TableIdentifier(name, jvm.some(where)))]
    elif catalog.databaseExists(where):
        tables = list(
            scala_items(catalog.externalCatalog().getTablesByName(where, catalog.externalCatalog().listTables(where)))
        )
    else:
        return []
    return [
        (f"{where}.{table.identifier().table()}", _qualified(jvm, session, table.location()))
        for table in tables
        if option(table.provider()) == PROVIDER and str(table.tableType().name()) == "MANAGED"
    ]


def _qualified(jvm: Jvm, session: JavaValue, location: JavaValue) -> str:
    """A location with its scheme: hive-sync writes it as the user gave it, and Hadoop's default file system decides."""
    path = jvm.view.org.apache.hadoop.fs.Path(location)
    if path.toUri().getScheme() is None:
        path = path.getFileSystem(session.sparkContext().hadoopConfiguration()).makeQualified(path)
    return str(path.toString())
