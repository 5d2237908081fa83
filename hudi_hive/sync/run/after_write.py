"""Syncs after a write, if the write's options enable it (``hoodie.datasource.hive_sync.enable``).

In comes a write's configuration, before anything is written; out goes what syncs the table afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from hudi_hive.errors import SyncError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.names import HOODIE_DATASOURCE_META_SYNC_BASE_PATH
from hudi_hive.schema import InternalSchema
from hudi_hive.sync.catalog import require_catalog
from hudi_hive.sync.config import HiveSyncConfig
from hudi_hive.sync.run.catalog_types import refuse_catalog_types
from hudi_hive.sync.run.report import SyncReport
from hudi_hive.sync.run.tool import HiveSyncTool
from hudi_hive.table.core import MetaClient
from hudi_hive.timeline import Instant
from hudi_hive.write.coordination import reported
from hudi_hive.write.options import WriteConfig

_BASE_PATH = HOODIE_DATASOURCE_META_SYNC_BASE_PATH


@dataclass(frozen=True)
class SyncAfterWrite:
    """A sync after a write."""

    config: HiveSyncConfig

    @classmethod
    def from_write_config(
        cls,
        write: WriteConfig,
        base_path: str,
        storage_options: Mapping[str, Any] | None = None,
        metastore: Mapping[str, str] | None = None,
    ) -> Self | None:
        """Make the sync of a write's options, which are checked in any case; None if it is not enabled.

        Args:
            write: the write's configuration.
            base_path: of the table, as the metastore is to get it.
            storage_options: arguments of the table's file system.
            metastore: options with the metastore to take when the write's options name none.

        Raises:
            InvalidOptionError: an option of the sync is unknown, has a value that it does not take, or is missing.
        """
        if not write.sync_options:
            return None
        options = {_BASE_PATH: base_path, **write.sync_options}
        config = HiveSyncConfig.from_options(options, storage_options=storage_options)
        if not write.sync_enabled:
            return None
        if metastore and config.mode != "glue" and not config.metastore_uris:
            config = HiveSyncConfig.from_options({**metastore, **options}, storage_options=storage_options)
        require_catalog(config)
        return cls(config)

    def refuse_types(self, client: MetaClient, before: InternalSchema, after: InternalSchema) -> None:
        """Refuse a schema change that the sync could not apply to the metastore.

        Args:
            client: the table.
            before: the columns as they are.
            after: the columns as they shall be.

        Raises:
            SchemaError: a column would get a type that the metastore does not let it take.
            MetastoreError: the metastore does not answer.
        """
        if self.config.mode == "glue":  # Glue takes any type
            return
        with HiveMetastore(self.config.metastore_uris) as metastore:
            refuse_catalog_types(metastore, self.config, client, before, after)

    def run(self, client: MetaClient, instant: Instant) -> SyncReport:
        """Run the sync.

        Args:
            client: the table.
            instant: what was written.

        Raises:
            SyncError: the metastore was not brought up to date; the write is complete all the same.
        """
        try:
            return HiveSyncTool(self.config, client=client.reload()).sync()
        except Exception as failure:
            error = reported(failure, client.base_path, instant.requested)
            again = "run `hudi-hive sync`, or write on: the next sync makes up for it"
            raise SyncError(
                f"the write is complete, the sync after it failed: {error.message}",
                path=error.path or client.base_path,
                instant=instant.requested,
                remedy=(error.remedy or again) if error is failure else again,
            ) from failure
