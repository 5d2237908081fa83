"""Tables: in come a base path and its storage, out come typed properties, partitions, files, slices and schemas.

Files and slices are Arrow tables (``FILES_SCHEMA``, ``SLICE_SCHEMA``); what a query does with them is no matter here.
"""

from __future__ import annotations

from hudi_hive.table.config import TableConfig
from hudi_hive.table.file_system_view import FILES_SCHEMA, SLICE_SCHEMA, FileSystemView
from hudi_hive.table.meta_client import MetaClient, is_hudi_table

__all__ = ["FILES_SCHEMA", "SLICE_SCHEMA", "FileSystemView", "MetaClient", "TableConfig", "is_hudi_table"]
