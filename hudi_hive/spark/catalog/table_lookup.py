"""Looks up synced Hudi tables in Spark's session catalog: base path and view of a name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql.types import StructType

from hudi_hive.errors import SparkError
from hudi_hive.options import parse_java_boolean
from hudi_hive.plan import Query
from hudi_hive.spark.bridge import JavaValue, Jvm, option, relations, scala_items
from hudi_hive.spark.scan import Declared

PROVIDER = "hudi"

MADE_BY_SPARK = "provider"
"""A table property of entries that CREATE TABLE made, as Hudi's own; a sync sets ``spark.sql.sources.provider``."""

_OF_STATEMENTS = frozenset({MADE_BY_SPARK, "primaryKey", "type", "preCombineField"})
"""Properties of tables that statements made: CREATE TABLE … AS SELECT of real Hudi leaves some of them, or none."""

FORMATS = frozenset({PROVIDER, "org.apache.hudi"})
"""What statements and writers may call the format."""


@dataclass(frozen=True, slots=True)
class HudiTableEntry:
    """A synced table.

    Attributes:
        declared: its columns in the catalog.
        location: its base path as Hadoop writes it.
        read_optimized: it is the ``_ro`` table of a merge-on-read table.
        properties: of the table and its storage format.
        native: it was synced with Spark's table properties, so that Spark takes it for a data source table.
    """

    declared: Declared
    location: str
    read_optimized: bool
    native: bool
    properties: Mapping[str, str]

    def query_type(self) -> str:
        """Query type of a plain SELECT."""
        return "read_optimized" if self.read_optimized else "snapshot"

    def query(self) -> Query:
        """The query of a plain SELECT."""
        return Query.of(self.query_type())


def find_table(jvm: Jvm, session: JavaValue, database: str | None, name: str) -> HudiTableEntry | None:
    """The synced table of this name, or None: no such table, a view, or a table of another kind."""
    entry = relations(jvm).entry(session, database, name)
    return None if entry is None else table_of_entry(entry)


def table_of_entry(entry: JavaValue) -> HudiTableEntry:
    """The synced table of an ``Entry`` of ``Relations.java``."""
    description = json.loads(entry.text())
    columns = StructType.fromJson(json.loads(description["columns"]))
    declared = Declared(description["name"], columns, tuple(description["partition columns"]), entry)
    read_optimised = parse_java_boolean(str(description["read optimised"]))
    properties = description["properties"]
    return HudiTableEntry(declared, description["location"], read_optimised, description["native"], properties)


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
    entry = find_table(jvm, session, parts[-2] if len(parts) == 2 else None, parts[-1])
    if entry is None:
        raise SparkError(
            f"{name} is not a synced Hudi table",
            remedy="sync it to the metastore with `hudi-hive sync`, or read its path with hudi_hive.spark.load",
        )
    return entry


def made_by_statement(jvm: Jvm, session: JavaValue, table: JavaValue) -> bool:
    """Whether a statement made a Hudi table and its entry, rather than a sync the entry alone.

    Statements leave properties that no sync makes. Real Hudi's ``CREATE TABLE … AS SELECT`` without any leaves a
    managed table in the place that its name has by default.

    Args:
        jvm, session: the session's.
        table: the entry, a ``CatalogTable``.
    """
    for properties in (table.properties(), table.storage().properties()):
        if any(option(properties.get(name)) is not None for name in _OF_STATEMENTS):
            return True
    if str(table.tableType().name()) != "MANAGED" or option(table.storage().locationUri()) is None:
        return False
    place = session.sessionState().catalog().defaultTablePath(table.identifier())
    return str(relations(jvm).qualified(session, table.location())) == str(relations(jvm).qualified(session, place))


def managed_tables(
    jvm: Jvm, session: JavaValue, database: Sequence[str], name: str | None = None
) -> list[tuple[str, str]]:
    """Names and base paths of the synced tables of a database whose data the metastore would delete with their entry.

    Those that statements made are not among them: they are there to be dropped.

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
        (f"{where}.{table.identifier().table()}", str(relations(jvm).qualified(session, table.location())))
        for table in tables
        if option(table.provider()) == PROVIDER
        and str(table.tableType().name()) == "MANAGED"
        and not made_by_statement(jvm, session, table)
    ]
