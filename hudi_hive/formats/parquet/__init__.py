"""Parquet files below the level of columns: the headers of pages and the footer, and pages packed by gzip.

Source: Parquet format, "parquet.thrift"; Thrift's compact protocol.
"""

from __future__ import annotations

from hudi_hive.formats.parquet.compact import CompactError
from hudi_hive.formats.parquet.gzip_pages import GzipPages
from hudi_hive.formats.parquet.page_header import PageHeader, read_page_header

__all__ = ["CompactError", "GzipPages", "PageHeader", "read_page_header"]
