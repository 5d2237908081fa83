"""Reconstructs the sync configuration of a table from its entries in the metastore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hudi_hive.metastore import HiveMetastore, Table
from hudi_hive.names import HOODIE_QUERY_AS_RO_TABLE
from hudi_hive.options import parse_java_boolean
from hudi_hive.schema import META_FIELDS
from hudi_hive.sync.config import HiveSyncConfig, read_options
from hudi_hive.sync.table import CREATE_VERSION, MADE_BY_SQL
from hudi_hive.table import MetaClient

_READ_OPTIMISED = HOODIE_QUERY_AS_RO_TABLE
_PATH = "path"
_PROVIDER = "spark.sql.sources.provider"
_SUFFIXES = ("_ro", "_rt")


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries that a table may have: under a name, and under that with a suffix; None where there is none."""

    name: str
    plain: Table | None
    read_optimised: Table | None
    realtime: Table | None

    def fields(self) -> dict[str, Any]:
        """Which tables a sync makes of a merge-on-read table."""
        if self.read_optimised is not None:
            plain = {"snapshot_with_table_name": self.plain is not None}
            return {"strategy": "ALL"} | plain
        if self.realtime is not None:
            return {"strategy": "ALL", "skip_ro_suffix": True}
        assert self.plain is not None
        if MADE_BY_SQL in (self.plain.parameters or {}):
            return {"strategy": "ALL", "snapshot_with_table_name": True}  # as Hudi's own statements: a write adds both
        return {"strategy": "RO" if _is_read_optimised(self.plain) else "RT"}


def recorded_sync_config(
    metastore: HiveMetastore,
    table: Table,
    client: MetaClient,
    options: Mapping[str, str],
    storage_options: Mapping[str, Any] | None = None,
    *,
    is_native: bool | None = None,
) -> HiveSyncConfig:
    """The configuration that a table was synced with, as far as its metastore entries record it.

    Args:
        metastore: holds the entries.
        table: one of them.
        client: the table.
        options: hive-sync's own under Hudi's names; what they say goes before what the entries tell.
        storage_options: arguments of the table's file system.
        is_native: whether Spark takes it for a data source table; without it as the entry's properties say.

    Raises:
        MetastoreError: the metastore does not answer.
        InvalidOptionError: an option that is unknown, or has a value that it does not take.
    """
    database, name = table.dbName, table.tableName
    if is_native is None:
        is_native = (table.parameters or {}).get(_PROVIDER) == "hudi"
    path = (table.sd.serdeInfo.parameters or {}).get(_PATH) or table.sd.location
    values, warnings = read_options(options)
    recorded: dict[str, Any] = {"database": database, "table": name}
    if client.config.is_merge_on_read:
        entries = _entries(metastore, database, name, table)
        recorded |= {"table": entries.name} | entries.fields()
    keys = tuple(key.name for key in table.partitionKeys or ())
    if {key.lower() for key in keys} != {field.lower() for field in client.config.partition_fields}:
        recorded["partition_fields"] = keys
    columns = {column.name: column for column in table.sd.cols}
    recorded |= {
        "sync_as_datasource": is_native,
        "support_timestamp": _supports_timestamp(table, client),
        "spark_version": (table.parameters or {}).get(CREATE_VERSION),
        "omit_metadata_fields": META_FIELDS[0] not in columns,
        "sync_comment": any(column.comment for column in columns.values()),
        "create_managed_table": table.tableType == "MANAGED_TABLE" and MADE_BY_SQL not in (table.parameters or {}),
    }
    return HiveSyncConfig(
        **{"base_path": path, **recorded, **values}, warnings=warnings, storage_options=storage_options
    )


def _supports_timestamp(table: Table, client: MetaClient) -> bool:
    """Whether timestamps are synced as such: as its columns have it, and where it has none as CREATE TABLE does."""
    if any(column.type == "timestamp" for column in table.sd.cols):
        return True
    if CREATE_VERSION not in (table.parameters or {}):
        return False
    kinds = {field.name.lower(): field.type for field in client.schema()}
    numbers = [kinds.get(column.name) for column in table.sd.cols if column.type == "bigint"]
    return not any(kind is not None and pa.types.is_timestamp(kind) and kind.tz is not None for kind in numbers)


def _entries(metastore: HiveMetastore, database: str, name: str, table: Table) -> _Entries:
    """The entries of the table that an entry of it belongs to."""
    cut = name[:-3] if name.endswith(_SUFFIXES) else name
    for base in dict.fromkeys((cut, name)):
        names = (base, *(base + suffix for suffix in _SUFFIXES))
        tables = [_of_same_table(metastore.find_table(database, other), table) for other in names]
        # Under a name that ends so by itself there is no entry with the suffix, or without it.
        if any(item is not None and item.tableName == name for item in tables) and (base == name or any(tables[1:])):
            plain, read_optimised, realtime = tables
            return _Entries(base, plain, read_optimised, realtime)
    raise AssertionError(name)


def _of_same_table(other: Table | None, table: Table) -> Table | None:
    return other if other is not None and other.sd.location == table.sd.location else None


def _is_read_optimised(table: Table) -> bool:
    return parse_java_boolean((table.sd.serdeInfo.parameters or {}).get(_READ_OPTIMISED, "false"))
