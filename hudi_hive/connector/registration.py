"""Recognises Hudi tables in a metastore, with their base path and view.

The input format class decides, as in Hive, Trino and Presto; where it does not tell (ORC files are registered with
Hive's own classes) ``hoodie.query.as.ro.table`` does, which Spark goes by (docs/format/hive.md#hive-sync-tables).
"""

from __future__ import annotations

from hudi_hive.errors import MetastoreError, UnsupportedTableError
from hudi_hive.metastore import Table
from hudi_hive.names import HOODIE_QUERY_AS_RO_TABLE
from hudi_hive.options import parse_boolean
from hudi_hive.plan.model import QueryType

_LAST_COMMIT = "last_commit_time_sync"
_PROVIDER = "spark.sql.sources.provider"
_READ_OPTIMISED = HOODIE_QUERY_AS_RO_TABLE
_HUDI_CLASSES = ("org.apache.hudi.", "com.uber.hoodie.")


def full_name(table: Table) -> str:
    """``database.table``."""
    return f"{table.dbName}.{table.tableName}"


def is_hudi(table: Table) -> bool:
    """Whether a metastore table stands for a Hudi table: by its input format, Spark's provider or a sync's stamp."""
    if table.tableType == "VIRTUAL_VIEW" or table.sd is None:
        return False
    parameters = table.parameters or {}
    by_class = str(table.sd.inputFormat or "").startswith(_HUDI_CLASSES)
    return by_class or parameters.get(_PROVIDER, "").lower() == "hudi" or _LAST_COMMIT in parameters


def base_path_of(table: Table) -> str:
    """Location of the Hudi table.

    Raises:
        UnsupportedTableError: the metastore table is none of Hudi's.
        MetastoreError: it has no location.
    """
    if not is_hudi(table):
        kind = "a view" if table.tableType == "VIRTUAL_VIEW" else f"input format {table.sd and table.sd.inputFormat}"
        raise UnsupportedTableError(
            f"{full_name(table)} is not a Hudi table ({kind})", remedy="only Hudi tables that were synced are served"
        )
    location = table.sd.location
    if not location:
        raise MetastoreError(f"{full_name(table)} has no location in the metastore", remedy="sync it again")
    return str(location).rstrip("/") or "/"


def query_type_of(table: Table, *, merge_on_read: bool) -> QueryType:
    """Which rows a plain query of a metastore table shows.

    Args:
        table: the metastore table.
        merge_on_read: the Hudi table's type.

    Raises:
        MetastoreError: its input format says one thing, its SerDe parameters another.
    """
    if not merge_on_read:
        return QueryType.SNAPSHOT
    input_format = str(table.sd.inputFormat or "")
    parameters = {**(table.parameters or {}), **((table.sd.serdeInfo and table.sd.serdeInfo.parameters) or {})}
    read_optimised = parse_boolean(parameters.get(_READ_OPTIMISED, ""))
    by_parameter = _query_type(read_optimised)
    by_class = None
    if input_format.startswith(_HUDI_CLASSES):
        realtime = "realtime" in input_format.rpartition(".")[2].lower()
        by_class = _query_type(not realtime)
    if by_class is not None and by_parameter is not None and by_class is not by_parameter:
        raise MetastoreError(
            f"{full_name(table)} contradicts itself: "
            f"input format {input_format}, {_READ_OPTIMISED}={parameters[_READ_OPTIMISED]}",
            remedy="sync it again",
        )
    if by_class is None and by_parameter is None:
        by_class = _query_type(str(table.tableName).endswith("_ro"))
    return by_class or by_parameter or QueryType.SNAPSHOT


def _query_type(read_optimised: bool | None) -> QueryType | None:
    if read_optimised is None:
        return None
    return QueryType.READ_OPTIMIZED if read_optimised else QueryType.SNAPSHOT
