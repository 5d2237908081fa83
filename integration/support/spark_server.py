"""A Spark Thrift Server as others run it, in which no Hudi table is enabled: for syncs by SQL."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hudi_hive.spark import ThriftServer
from hudi_hive.spark.thrift import LaunchCommand


class PlainThriftServer(ThriftServer):
    """Our server without what it adds to Spark's: statements that change synced tables are Spark's to carry out."""

    def _launch_command(self, directory: Path) -> LaunchCommand:
        return replace(super()._launch_command(directory), enables=False)
