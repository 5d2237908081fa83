"""A session of the JVM as PySpark's, and its settings."""

from __future__ import annotations

from pyspark import SparkContext
from pyspark.sql import SparkSession

from hudi_hive.spark.versions import SPARK, JavaValue


def python_session(session: JavaValue) -> SparkSession:
    """PySpark's session over one of the JVM."""
    context = SparkContext._active_spark_context
    assert context is not None
    return SparkSession(context, session)


def session_settings(session: JavaValue) -> dict[str, str]:
    """Names and texts of all that is set in a session of the JVM."""
    return SPARK.session_settings(session)
