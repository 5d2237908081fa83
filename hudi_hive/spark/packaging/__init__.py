"""The archive of this package and of what it needs, for executors that have neither."""

from __future__ import annotations

from hudi_hive.spark.packaging.archive import write_package

__all__ = ["write_package"]
