"""Plans of Hudi tables as Spark's own scans: file index, filters, slices with logs, change data."""

from __future__ import annotations

from hudi_hive.spark.scan.changes import changes_plan, metadata_plan, records_plan
from hudi_hive.spark.scan.hudi_file_index import HudiFileIndex, PlannedScan
from hudi_hive.spark.scan.listings import spread_listing
from hudi_hive.spark.scan.merging import MERGE_RULE, described_scans, install_merge_rule
from hudi_hive.spark.scan.relation import (
    Declared,
    Environment,
    Scanned,
    columns_as_of,
    commit_times,
    file_index,
    files_relation,
    relation_plan,
    scanned,
    table_snapshot,
)
from hudi_hive.spark.scan.schema import spark_schema
from hudi_hive.spark.scan.snapshot import TableSnapshot, location_of, refuse_globs

__all__ = [
    "MERGE_RULE",
    "Declared",
    "Environment",
    "HudiFileIndex",
    "PlannedScan",
    "Scanned",
    "TableSnapshot",
    "changes_plan",
    "columns_as_of",
    "commit_times",
    "described_scans",
    "file_index",
    "files_relation",
    "install_merge_rule",
    "location_of",
    "metadata_plan",
    "records_plan",
    "refuse_globs",
    "relation_plan",
    "scanned",
    "spark_schema",
    "spread_listing",
    "table_snapshot",
]
