"""A Spark Thrift server whose sessions are enabled."""

from __future__ import annotations

from hudi_hive.spark.thrift.main import LaunchCommand
from hudi_hive.spark.thrift.server import ThriftServer

__all__ = [
    "LaunchCommand",
    "ThriftServer",
]
