"""Spark SQL on Hudi tables: reads, writes and table services in PySpark sessions, as ordinary Spark plans.

A plan is Spark's own vectorised Parquet or ORC scan over the files that :mod:`hudi_hive.plan` chose for the statement.
Nothing here needs a JVM class of Hudi; everything is done through py4j on classic PySpark. Where only
Spark Connect's client is installed (``pyspark-client``), ``enable`` is all that there is.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from hudi_hive.errors import MissingDependencyError

if find_spec("pyspark") is None:
    raise MissingDependencyError("PySpark is not installed", remedy="pip install 'hudi_hive[spark]'")
_classic: Final = bool(find_spec("pyspark.core") or find_spec("pyspark.rdd"))  # 3.5 has only the second


def _in_task() -> bool:
    """Whether this is a task of Spark's, which has no session and loads the modules of its step alone."""
    from pyspark import TaskContext

    return TaskContext.get() is not None


if TYPE_CHECKING or (_classic and not _in_task()):
    from hudi_hive.spark.connect import ConnectServer
    from hudi_hive.spark.mutate import MutationReport, mutate, read_acid
    from hudi_hive.spark.scan import PlannedScan
    from hudi_hive.spark.session import disable, enable, explain, last_scan, load, planned_scans, session_builder, table
    from hudi_hive.spark.thrift import ThriftServer
    from hudi_hive.spark.write import (
        archive,
        bootstrap,
        clean,
        cluster,
        compact,
        create_index,
        drop_index,
        init_metadata,
        log_compact,
        restore,
        rollback,
        write,
    )
elif not _classic:
    from hudi_hive.spark.connect_client import enable

    def __getattr__(name: str) -> object:
        if name in __all__:
            raise ImportError(f"hudi_hive.spark.{name} needs pyspark itself, not pyspark-client alone")
        raise AttributeError(f"module 'hudi_hive.spark' has no attribute {name!r}")

else:

    def __getattr__(name: str) -> object:
        """Loaded on first use: modules of users whose functions run in tasks may import what their driver uses."""
        for home in ("connect", "mutate", "scan", "session", "thrift", "write"):
            if name in __all__ and name in (module := import_module(f"hudi_hive.spark.{home}")).__all__:
                return getattr(module, name)
        raise AttributeError(f"module 'hudi_hive.spark' has no attribute {name!r}")


__all__ = [
    "ConnectServer",
    "MutationReport",
    "PlannedScan",
    "ThriftServer",
    "archive",
    "bootstrap",
    "clean",
    "cluster",
    "compact",
    "create_index",
    "disable",
    "drop_index",
    "enable",
    "explain",
    "init_metadata",
    "last_scan",
    "load",
    "log_compact",
    "mutate",
    "planned_scans",
    "read_acid",
    "restore",
    "rollback",
    "session_builder",
    "table",
    "write",
]
