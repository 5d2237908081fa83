"""Opens the catalog that a sync's configuration names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.errors import InvalidOptionError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.options import sync as options
from hudi_hive.sync.catalog.catalog import Catalog
from hudi_hive.sync.config import HiveSyncConfig

if TYPE_CHECKING:
    from collections.abc import Hashable


def require_catalog(config: HiveSyncConfig) -> None:
    """Refuse a configuration that does not say where its catalog is; Glue's place may come from the environment.

    Raises:
        InvalidOptionError: a metastore without an address.
    """
    if config.mode != "glue" and not config.metastore_uris:
        raise InvalidOptionError(
            "hoodie.datasource.hive_sync.metastore.uris is missing",
            remedy="give thrift://host:port, or mode glue for AWS Glue",
        )


def catalog_key(config: HiveSyncConfig) -> Hashable:
    """What two configurations have in common that sync to one catalog with the same credentials."""
    if config.mode == "glue":
        return config.glue.completed_by(config.storage_options)
    return tuple(config.metastore_uris)


def open_catalog(config: HiveSyncConfig) -> Catalog:
    """Open the catalog of a configuration; who opens it closes it. Nothing is connected before the first call.

    Raises:
        InvalidOptionError: its place or its credentials make no sense.
    """
    require_catalog(config)
    if config.mode != "glue":
        return HiveMetastore(config.metastore_uris, pool_size=config.connections or options.USUAL_CONNECTIONS)
    # Loaded when it is asked for: few syncs go there.
    from hudi_hive.glue import GlueCatalog

    return GlueCatalog(config.glue.completed_by(config.storage_options))
