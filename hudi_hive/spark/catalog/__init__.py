"""Synced tables in Spark's session catalog: look-up, table options, the hook of a session."""

from __future__ import annotations

from hudi_hive.spark.catalog.missing_tables import missing_table
from hudi_hive.spark.catalog.recorded_sync_config import sync_config
from hudi_hive.spark.catalog.session_hook import SessionHook, last_hook
from hudi_hive.spark.catalog.table_lookup import (
    FORMATS,
    MADE_BY_SPARK,
    PROVIDER,
    HudiTableEntry,
    made_by_statement,
    managed_tables,
    require_table,
)
from hudi_hive.spark.catalog.table_options import SOURCE, entry_query, hook_table_reads, path_of_view, path_question

__all__ = [
    "FORMATS",
    "MADE_BY_SPARK",
    "PROVIDER",
    "SOURCE",
    "HudiTableEntry",
    "SessionHook",
    "entry_query",
    "hook_table_reads",
    "last_hook",
    "made_by_statement",
    "managed_tables",
    "missing_table",
    "path_of_view",
    "path_question",
    "require_table",
    "sync_config",
]
