"""Reconstructs the sync configuration of a table of Spark's catalog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hudi_hive.metastore import HiveMetastore
from hudi_hive.spark.catalog.table_lookup import HudiTableEntry
from hudi_hive.sync import HiveSyncConfig
from hudi_hive.sync.run import recorded_sync_config
from hudi_hive.table import MetaClient


def sync_config(
    metastore: HiveMetastore,
    entry: HudiTableEntry,
    client: MetaClient,
    options: Mapping[str, str],
    storage_options: Mapping[str, Any] | None = None,
) -> HiveSyncConfig:
    """The configuration that a table was synced with, as far as its metastore entries record it.

    Args:
        metastore: holds the entries.
        entry: one of them, as Spark's catalog has it.
        client, options, storage_options: as of :func:`hudi_hive.sync.run.recorded_sync_config`.

    Raises:
        MetastoreError: the metastore does not answer.
        InvalidOptionError: an option that is unknown, or has a value that it does not take.
    """
    database, _, name = entry.declared.name.rpartition(".")
    table = metastore.table(database, name)
    return recorded_sync_config(metastore, table, client, options, storage_options, is_native=entry.native)
