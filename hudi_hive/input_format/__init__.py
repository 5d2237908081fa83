"""Hive's input formats: path groups, file statuses, splits and Arrow batches of a job.

Tables and plain folders may be mixed in one job; the job's conf is never changed.
"""

from __future__ import annotations

from hudi_hive.input_format.combine import CombinedSplit, HoodieCombineHiveInputFormat
from hudi_hive.input_format.job import InputPath, JobConf, PathGroups, TableInputs, classify
from hudi_hive.input_format.job_report import report
from hudi_hive.input_format.parquet_input_format import HoodieParquetInputFormat
from hudi_hive.input_format.path_filter import HoodieROTablePathFilter
from hudi_hive.input_format.plan import STATUS_SCHEMA, FileStatus, InputPlan, JobTablePlan
from hudi_hive.input_format.realtime import HoodieParquetRealtimeInputFormat, RealtimeSplit
from hudi_hive.input_format.splits import FileSplit, cut_files
from hudi_hive.storage import BlockLocation

__all__ = [
    "STATUS_SCHEMA",
    "BlockLocation",
    "CombinedSplit",
    "FileSplit",
    "FileStatus",
    "HoodieCombineHiveInputFormat",
    "HoodieParquetInputFormat",
    "HoodieParquetRealtimeInputFormat",
    "HoodieROTablePathFilter",
    "InputPath",
    "InputPlan",
    "JobConf",
    "JobTablePlan",
    "PathGroups",
    "RealtimeSplit",
    "TableInputs",
    "classify",
    "cut_files",
    "report",
]
