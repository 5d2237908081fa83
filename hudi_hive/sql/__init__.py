"""A local SQL engine (DuckDB) for SELECT statements over Hudi tables, without a JVM.

DuckDB runs the statement; each table in it is a scan of ours, planned with the columns and filters that DuckDB pushes
down. Nothing is written.
"""

from __future__ import annotations

from hudi_hive.sql.catalog import ConnectorCatalog, PathCatalog, TableCatalog
from hudi_hive.sql.engine import SqlEngine

__all__ = ["ConnectorCatalog", "PathCatalog", "SqlEngine", "TableCatalog"]
