"""The ``hudi`` data source of Spark: batch and streaming, reads and writes."""

from __future__ import annotations

from hudi_hive.spark.source.source import COMMIT_RULE, install_source
from hudi_hive.spark.source.stream_options import StreamOptions

__all__ = [
    "COMMIT_RULE",
    "StreamOptions",
    "install_source",
]
