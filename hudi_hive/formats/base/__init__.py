"""Base files (Parquet, ORC, HFile, Lance) behind one interface: schema, statistics, rows by column, and their writer.

Source: docs/format.md#base-files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.formats.base.base_file import (
    BATCH_ROWS,
    BaseFile,
    ByteRange,
    NamedColumns,
    decoding,
    empty_columns,
    in_range,
    select,
)
from hudi_hive.formats.base.opening import open_base_file
from hudi_hive.formats.base.parquet_base_file import (
    RowGroup,
    open_parquet_bytes,
    parquet_layout,
    read_row_groups,
    row_groups_of,
    sole_value,
)
from hudi_hive.lazy_names import lazy_names

if TYPE_CHECKING:
    from hudi_hive.formats.base.base_file_writer import BaseFileWriter, WrittenBase
    from hudi_hive.formats.base.column_ranges import COLUMN_RANGES_SCHEMA, WRAPPED, WRAPPERS, ColumnRanges
    from hudi_hive.formats.base.creating import create_base_file
    from hudi_hive.formats.base.settings import CODECS, BaseFileSettings, HFileSettings, OrcSettings, ParquetSettings

__all__ = [
    "BATCH_ROWS",
    "CODECS",
    "COLUMN_RANGES_SCHEMA",
    "WRAPPED",
    "WRAPPERS",
    "BaseFile",
    "BaseFileSettings",
    "BaseFileWriter",
    "ByteRange",
    "ColumnRanges",
    "HFileSettings",
    "NamedColumns",
    "OrcSettings",
    "ParquetSettings",
    "RowGroup",
    "WrittenBase",
    "create_base_file",
    "decoding",
    "empty_columns",
    "in_range",
    "open_base_file",
    "open_parquet_bytes",
    "parquet_layout",
    "read_row_groups",
    "row_groups_of",
    "select",
    "sole_value",
]

_HOMES = {
    "BaseFileSettings": "settings",
    "BaseFileWriter": "base_file_writer",
    "CODECS": "settings",
    "COLUMN_RANGES_SCHEMA": "column_ranges",
    "ColumnRanges": "column_ranges",
    "HFileSettings": "settings",
    "OrcSettings": "settings",
    "ParquetSettings": "settings",
    "WRAPPED": "column_ranges",
    "WRAPPERS": "column_ranges",
    "WrittenBase": "base_file_writer",
    "create_base_file": "creating",
}

# Loaded on first use: readers write no base files.
__getattr__ = lazy_names(__name__, _HOMES)
