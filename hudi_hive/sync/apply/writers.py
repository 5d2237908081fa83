"""Opens the catalogue writer of a sync's mode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hudi_hive.errors import InvalidOptionError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync.apply.catalog_writer import CatalogWriter, MetastoreWriter
from hudi_hive.sync.catalog import Catalog
from hudi_hive.sync.config import HiveSyncConfig


@contextmanager
def open_writer(config: HiveSyncConfig, metastore: Catalog) -> Iterator[CatalogWriter]:
    """Open the writer of ``config.mode``, which is closed at the end of the block.

    Args:
        config: its mode, and for the SQL modes its address, user and password.
        metastore: the client that the sync reads with.

    Raises:
        InvalidOptionError: a library that the mode needs is not installed.
        MetastoreError: the SQL server cannot be reached.
    """
    if config.mode in ("hms", "glue") or not isinstance(metastore, HiveMetastore):
        yield MetastoreWriter(metastore, config.connections)
        return
    try:
        # Loaded when it is asked for: the SQL client is an extra.
        from hudi_hive.sync.apply.sql import connect
    except ModuleNotFoundError as error:
        raise InvalidOptionError(
            f"hoodie.datasource.hive_sync.mode={config.mode} needs the module {error.name}, which is not installed",
            remedy="install it, or use mode hms",
        ) from error
    with connect(config, metastore) as writer:
        yield writer
