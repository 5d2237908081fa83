"""Applies a sync plan to the metastore, by Thrift or by HiveQL statements."""

from __future__ import annotations

from hudi_hive.sync.apply.catalog_writer import CatalogWriter, MetastoreWriter, open_writer
from hudi_hive.sync.apply.executor import Executor
from hudi_hive.sync.apply.hiveql import HiveQlWriter
from hudi_hive.sync.apply.sql_server import SqlServer, parse_jdbc_url

__all__ = [
    "CatalogWriter",
    "Executor",
    "HiveQlWriter",
    "MetastoreWriter",
    "SqlServer",
    "open_writer",
    "parse_jdbc_url",
]
