"""``MetaClient``: one table at one moment (configuration, timeline, file-system view); and making a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.lazy_names import lazy_names
from hudi_hive.table.core.base_files import refuse_damaged_names, refuse_rows_of_others
from hudi_hive.table.core.external_files import external_commit, refuse_external_files, refuse_unlisted_files
from hudi_hive.table.core.generations import refuse_earlier_table
from hudi_hive.table.core.meta_client import MetaClient, is_hudi_table

if TYPE_CHECKING:
    from hudi_hive.table.core.creation import DEFAULT_TABLE_VERSION, TableDefinition, create_table
    from hudi_hive.table.core.overview import glob_regex, instant_rows, slice_rows

__all__ = [
    "DEFAULT_TABLE_VERSION",
    "MetaClient",
    "TableDefinition",
    "create_table",
    "external_commit",
    "glob_regex",
    "instant_rows",
    "is_hudi_table",
    "refuse_damaged_names",
    "refuse_earlier_table",
    "refuse_external_files",
    "refuse_rows_of_others",
    "refuse_unlisted_files",
    "slice_rows",
]

_HOMES = {
    "DEFAULT_TABLE_VERSION": "creation",
    "TableDefinition": "creation",
    "create_table": "creation",
    "glob_regex": "overview",
    "instant_rows": "overview",
    "slice_rows": "overview",
}

# Loaded on first use: readers make no tables.
__getattr__ = lazy_names(__name__, _HOMES)
