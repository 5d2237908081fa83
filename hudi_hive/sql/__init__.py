"""A local SQL engine (DuckDB) for SELECT and INSERT statements over Hudi tables, without a JVM.

DuckDB runs the statement; each table in it is a scan of ours, planned with the columns and filters that DuckDB pushes
down. An INSERT writes the rows of its query by the connector's page sinks.
"""

from __future__ import annotations

from hudi_hive.sql.catalog import ConnectorCatalog, PathCatalog, TableCatalog
from hudi_hive.sql.engine import SqlEngine
from hudi_hive.sql.insert import is_insert
from hudi_hive.sql.run import StatementScan

__all__ = ["ConnectorCatalog", "PathCatalog", "SqlEngine", "StatementScan", "TableCatalog", "is_insert"]
