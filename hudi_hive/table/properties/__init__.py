"""``hoodie.properties``: reads, checks and writes the configuration of a table."""

from __future__ import annotations

from hudi_hive.table.properties.config import (
    BACKUP_PATH,
    COPY_ON_WRITE,
    LAYOUT_OF_VERSION,
    MERGE_ON_READ,
    PROPERTIES_PATH,
    SUPPORTED_VERSIONS,
    TableConfig,
    is_old,
    refuse_format,
    refuse_to_write,
)
from hudi_hive.table.properties.writer import properties_bytes, table_checksum, update_properties

__all__ = [
    "BACKUP_PATH",
    "COPY_ON_WRITE",
    "LAYOUT_OF_VERSION",
    "MERGE_ON_READ",
    "PROPERTIES_PATH",
    "SUPPORTED_VERSIONS",
    "TableConfig",
    "is_old",
    "properties_bytes",
    "refuse_format",
    "refuse_to_write",
    "table_checksum",
    "update_properties",
]
