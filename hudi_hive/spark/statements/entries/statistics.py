"""Statistics of a table in the properties of its entry, as Spark keeps them and its optimiser goes by them.

Through a metastore server they are set by our own client: Spark's would load the classes of Hudi's input formats.

Source: Spark's ``CommandUtils``, ``HiveExternalCatalog``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hudi_hive.metastore import HiveMetastore
from hudi_hive.options import parse_java_boolean
from hudi_hive.plan import Query
from hudi_hive.spark.bridge import JavaValue, option
from hudi_hive.spark.catalog import HudiTableEntry, SessionHook
from hudi_hive.spark.scan import table_snapshot

PREFIX: Final = "spark.sql.statistics."
TOTAL_SIZE: Final = f"{PREFIX}totalSize"
NUM_ROWS: Final = f"{PREFIX}numRows"
COLUMNS: Final = f"{PREFIX}colStats."

_FOLLOWS: Final = "spark.sql.statistics.size.autoUpdate.enabled"


def total_size(hook: SessionHook, location: str) -> int:
    """Bytes of the files that a query of the table reads."""
    return table_snapshot(hook.environment, hook.session, location, Query.of("snapshot")).plan().total_bytes


def set_statistics(metastore: HiveMetastore, database: str, name: str, texts: Mapping[str, str]) -> None:
    """Have an entry in a metastore server carry these statistics and no others.

    Args:
        metastore: the client.
        database, name: of the entry.
        texts: properties.
    """
    table = metastore.table(database, name)
    others = {key: text for key, text in (table.parameters or {}).items() if not key.startswith(PREFIX)}
    table.parameters = {**others, **texts}
    metastore.alter_table(database, name, table)


def follow_write(hook: SessionHook, entry: HudiTableEntry, metastore: HiveMetastore | None) -> None:
    """Drop an entry's statistics behind a write, as they are no longer true, or bring its size up to date.

    The size is kept with ``spark.sql.statistics.size.autoUpdate.enabled``, as by Spark's own writes.

    Args:
        hook: of the session.
        entry: of the table.
        metastore: the metastore server that it is in; None for Spark's own catalog.
    """
    database, _, name = entry.declared.name.rpartition(".")
    jvm, conf = hook.environment.jvm, hook.session.conf()
    follows = parse_java_boolean(str(option(conf.getOption(_FOLLOWS)) or "false"))
    if metastore is not None:
        if any(key.startswith(PREFIX) for key in metastore.table(database, name).parameters or {}):
            texts = {TOTAL_SIZE: str(total_size(hook, entry.location))} if follows else {}
            set_statistics(metastore, database, name, texts)
        return
    catalog = hook.session.sessionState().catalog()
    identifier = jvm.package("catalyst").TableIdentifier(name, jvm.some(database))
    if option(catalog.getTableMetadata(identifier).stats()) is None:
        return
    catalog.alterTableStats(identifier, jvm.some(_of_size(hook, entry.location)) if follows else jvm.none())


def _of_size(hook: SessionHook, location: str) -> JavaValue:
    """``CatalogStatistics`` of the size alone."""
    kind = hook.environment.jvm.module("org.apache.spark.sql.catalyst.catalog.CatalogStatistics")
    size = hook.environment.jvm.module("scala.math.BigInt").apply(str(total_size(hook, location)))
    defaults = [getattr(kind, f"apply$default${number}")() for number in (2, 3)]
    return kind.apply(size, *defaults)


__all__ = ["COLUMNS", "NUM_ROWS", "PREFIX", "TOTAL_SIZE", "follow_write", "set_statistics", "total_size"]
