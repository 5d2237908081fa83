"""A Spark Connect server whose sessions are enabled."""

from __future__ import annotations

from hudi_hive.spark.connect.server import ConnectServer

__all__ = ["ConnectServer"]
