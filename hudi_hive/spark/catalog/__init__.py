"""Synced tables in Spark's session catalog: look-up, table options, the hook of a session."""

from __future__ import annotations

from hudi_hive.spark.catalog.missing_tables import MISSING_TABLE_RULE, explain_missing_tables
from hudi_hive.spark.catalog.recorded_sync_config import sync_config
from hudi_hive.spark.catalog.session_hook import SessionHook
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
    "MISSING_TABLE_RULE",
    "PROVIDER",
    "SOURCE",
    "HudiTableEntry",
    "SessionHook",
    "entry_query",
    "explain_missing_tables",
    "hook_table_reads",
    "made_by_statement",
    "managed_tables",
    "path_of_view",
    "path_question",
    "require_table",
    "sync_config",
]
