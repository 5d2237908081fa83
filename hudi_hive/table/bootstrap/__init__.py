"""Bootstrapped tables: the index of their source files, and base files put together from a skeleton and its source.

A base file of the instant ``00000000000001`` holds the meta columns alone; its other columns are in a file of the
bootstrap's source, which the index names. :func:`open_table_file` opens any base file of a table with all its columns.

Source: docs/format.md#bootstrapped-tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.lazy_names import lazy_names
from hudi_hive.table.bootstrap.names import is_skeleton, of_skeletons
from hudi_hive.table.bootstrap.opening import open_table_file, source_file

if TYPE_CHECKING:
    from hudi_hive.table.bootstrap.index import BootstrapIndex, SourceFile
    from hudi_hive.table.bootstrap.index_writer import write_index

__all__ = [
    "BootstrapIndex",
    "SourceFile",
    "is_skeleton",
    "of_skeletons",
    "open_table_file",
    "source_file",
    "write_index",
]

_HOMES = {
    "BootstrapIndex": "index",
    "SourceFile": "index",
    "write_index": "index_writer",
}

# Loaded on first use: few tables are bootstrapped.
__getattr__ = lazy_names(__name__, _HOMES)
