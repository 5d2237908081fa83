"""Entries of Hudi tables in Spark's session catalog and in metastore servers: how statements make and change them."""

from __future__ import annotations

from hudi_hive.spark.statements.entries.entry import CatalogEntry, converted_columns, hudi_columns
from hudi_hive.spark.statements.entries.server_entry import server_table
from hudi_hive.spark.statements.entries.session_entry import SessionEntry
from hudi_hive.spark.statements.entries.statistics import (
    COLUMNS,
    NUM_ROWS,
    PREFIX,
    TOTAL_SIZE,
    follow_write,
    set_statistics,
    total_size,
)

__all__ = [
    "COLUMNS",
    "NUM_ROWS",
    "PREFIX",
    "TOTAL_SIZE",
    "CatalogEntry",
    "SessionEntry",
    "converted_columns",
    "follow_write",
    "hudi_columns",
    "server_table",
    "set_statistics",
    "total_size",
]
