"""Schema changes by ``ALTER TABLE`` as commits of their own (RFC-33)."""

from __future__ import annotations

from hudi_hive.write.alter.alter_table import (
    AlterReport,
    Change,
    Check,
    alter,
    alter_schema,
    schema_update,
    tidy,
    write_config,
)
from hudi_hive.write.alter.schema_builder import VERSIONS_SCHEMA, SchemaBuilder, versions_table

__all__ = [
    "VERSIONS_SCHEMA",
    "AlterReport",
    "Change",
    "Check",
    "SchemaBuilder",
    "alter",
    "alter_schema",
    "schema_update",
    "tidy",
    "versions_table",
    "write_config",
]
