"""What log files do to base files that Spark's own reader reads, worked out by executors and kept there."""

from __future__ import annotations

from hudi_hive.spark.logs.log_effects import LogEffects
from hudi_hive.spark.logs.requests import ReadBeside, SliceRequest, files_of, listed_paths

__all__ = ["LogEffects", "ReadBeside", "SliceRequest", "files_of", "listed_paths"]
