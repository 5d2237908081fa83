"""Sessions of Spark Connect: their server is what must be enabled. Needs no Java and no classic PySpark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from hudi_hive.errors import SparkError

_OF_AN_ENABLED_SERVER = "hudi_query_timeline"
"""A function that every enabled session has."""


def is_connect_session(spark: SparkSession) -> bool:
    """Whether a session is a client's of Spark Connect, which has no JVM in this process."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def enable(spark: SparkSession, *, storage_options: Mapping[str, Any] | None = None) -> SparkSession:
    """Check that the server of a Spark Connect session is enabled, by one question to it; change nothing.

    Args:
        spark: a session of Spark Connect.
        storage_options: refused, for files are read and written by the server and its executors.

    Returns:
        The session.

    Raises:
        SparkError: the server is not enabled, storage options are given, or the session is none of Spark Connect.
    """
    if not is_connect_session(spark):
        raise SparkError(
            f"{type(spark).__name__} is no session of Spark Connect, and this PySpark has nothing else",
            remedy="connect with SparkSession.builder.remote('sc://host:15002')",
        )
    if storage_options:
        raise SparkError(
            "a client of Spark Connect has no storage options: the server reads and writes the files",
            remedy="give them to the server: hudi-hive spark connect-server --storage-option K=V",
        )
    if not spark.catalog.functionExists(_OF_AN_ENABLED_SERVER):
        raise SparkError(
            "the server of this Spark Connect session does not know Hudi tables, and a client cannot enable it",
            remedy="start the server with hudi-hive spark connect-server (docs/spark-connect.md)",
        )
    return spark
