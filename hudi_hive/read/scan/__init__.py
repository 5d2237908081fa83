"""Executes scan plans: base files, file slices with logs, change data, as Arrow batches."""

from __future__ import annotations

from hudi_hive.read.scan.files import BaseScan, output_schema, read_base_files
from hudi_hive.read.scan.metadata_records import check_records_query, read_records
from hudi_hive.read.scan.ordered import in_order
from hudi_hive.read.scan.replaced import ReplacedRows, ReplacedShare, counted_share, replaced_rows, replaced_share
from hudi_hive.read.scan.scan import footer_steps, read_plan
from hudi_hive.read.scan.slices import MergedLog, SliceReader
from hudi_hive.read.scan.sources import mapping_at, partition_columns, skeleton_columns

__all__ = [
    "BaseScan",
    "MergedLog",
    "ReplacedRows",
    "ReplacedShare",
    "SliceReader",
    "check_records_query",
    "counted_share",
    "footer_steps",
    "in_order",
    "mapping_at",
    "output_schema",
    "partition_columns",
    "read_base_files",
    "read_plan",
    "read_records",
    "replaced_rows",
    "replaced_share",
    "skeleton_columns",
]
