"""Plans divided into files for an engine's own Parquet reader and slices that are read here."""

from __future__ import annotations

from hudi_hive.connector.files.division import DividedPlan, FileSet, divide
from hudi_hive.connector.files.division_cache import DivisionCache
from hudi_hive.connector.files.duckdb_files import DuckDBFiles, quoted, text_literal
from hudi_hive.connector.files.duckdb_view import FileSource, create_duckdb_view, divide_whole
from hudi_hive.connector.files.merged_slices import MergedSlices
from hudi_hive.connector.files.polars_files import PolarsFiles
from hudi_hive.connector.files.rest_source import RestSource

__all__ = [
    "DividedPlan",
    "DivisionCache",
    "DuckDBFiles",
    "FileSet",
    "FileSource",
    "MergedSlices",
    "PolarsFiles",
    "RestSource",
    "create_duckdb_view",
    "divide",
    "divide_whole",
    "quoted",
    "text_literal",
]
