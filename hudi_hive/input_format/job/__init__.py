"""The keys and input paths of a Hive job: ``hoodie.*.consume.*``, path classification and listing."""

from __future__ import annotations

from hudi_hive.input_format.job.consume import MAX_COMMITS_ALL
from hudi_hive.input_format.job.input_paths import InputPath, PathGroups, TableInputs, classify
from hudi_hive.input_format.job.job_conf import (
    INPUT_DIR,
    INPUT_RECURSIVE,
    SPLIT_MIN_SIZE,
    JobConf,
    check_job,
    is_in_job,
    job_value,
)
from hudi_hive.input_format.job.listing import list_partitions, list_plain, listed_by

__all__ = [
    "INPUT_DIR",
    "INPUT_RECURSIVE",
    "MAX_COMMITS_ALL",
    "SPLIT_MIN_SIZE",
    "InputPath",
    "JobConf",
    "PathGroups",
    "TableInputs",
    "check_job",
    "classify",
    "is_in_job",
    "job_value",
    "list_partitions",
    "list_plain",
    "listed_by",
]
