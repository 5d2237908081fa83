"""Applies a sync plan to the metastore: by Thrift calls here, by SQL statements in ``hudi_hive.sync.apply.sql``."""

from __future__ import annotations

from hudi_hive.sync.apply.catalog_writer import CatalogWriter, MetastoreWriter
from hudi_hive.sync.apply.executor import SyncExecutor
from hudi_hive.sync.apply.indexes import keep_indexes
from hudi_hive.sync.apply.writers import open_writer

__all__ = ["CatalogWriter", "MetastoreWriter", "SyncExecutor", "keep_indexes", "open_writer"]
