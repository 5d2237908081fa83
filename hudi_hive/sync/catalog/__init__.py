"""The catalog that a sync keeps: a Hive metastore or AWS Glue, behind one interface."""

from __future__ import annotations

from hudi_hive.sync.catalog.catalog import Catalog
from hudi_hive.sync.catalog.opening import catalog_key, open_catalog, require_catalog

__all__ = ["Catalog", "catalog_key", "open_catalog", "require_catalog"]
