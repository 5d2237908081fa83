"""The ``hudi`` data source of Spark: batch and streaming, reads and writes."""

from __future__ import annotations

from hudi_hive.spark.source.source import install_source

__all__ = [
    "install_source",
]
