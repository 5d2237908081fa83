"""Applies a sync by SQL statements, through a server of HiveServer2's protocol (modes ``hiveql`` and ``jdbc``).

Comes in: the metastore's structs. Go out: DDL statements. Needs the extra ``hive`` (PyHive), so nothing imports it
before a mode asks for it.
"""

from __future__ import annotations

from hudi_hive.sync.apply.sql.hiveql import HiveQlWriter, connect
from hudi_hive.sync.apply.sql.sql_server import JdbcAddress, SqlServer, parse_jdbc_url

__all__ = ["HiveQlWriter", "JdbcAddress", "SqlServer", "connect", "parse_jdbc_url"]
