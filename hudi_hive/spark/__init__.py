"""Spark SQL on Hudi tables: reads, writes and table services in PySpark sessions, as ordinary Spark plans.

A plan is Spark's own vectorised Parquet or ORC scan over the files that :mod:`hudi_hive.plan` chose for the statement.
Nothing here needs a JVM class of Hudi; everything is done through py4j on classic PySpark.
"""

from __future__ import annotations

from hudi_hive.spark.mutate import MutationReport, mutate, read_acid
from hudi_hive.spark.scan import PlannedScan
from hudi_hive.spark.session import enable, explain, last_scan, load, planned_scans, session_builder, table
from hudi_hive.spark.thrift import ThriftServer
from hudi_hive.spark.write import archive, clean, cluster, compact, init_metadata, restore, rollback, write

__all__ = [
    "MutationReport",
    "PlannedScan",
    "ThriftServer",
    "archive",
    "clean",
    "cluster",
    "compact",
    "enable",
    "explain",
    "init_metadata",
    "last_scan",
    "load",
    "mutate",
    "planned_scans",
    "read_acid",
    "restore",
    "rollback",
    "session_builder",
    "table",
    "write",
]
