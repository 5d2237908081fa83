"""A session of the JVM as PySpark's, and its settings."""

from __future__ import annotations

from pyspark import SparkContext
from pyspark.sql import SparkSession

from hudi_hive.spark.versions import SPARK, JavaValue


def python_session(session: JavaValue) -> SparkSession:
    """PySpark's session over one of the JVM."""
    context = SparkContext._active_spark_context
    assert context is not None
    if getattr(SparkSession, "_instantiatedSession") is not None:  # noqa: B009 - PySpark has no other name for it
        return SparkSession(context, session)
    # PySpark makes the first that it sees the JVM's default; where no Python drives Spark there is another.
    sessions = getattr(context._jvm, f"org.apache.spark.sql.{SPARK.classic}.SparkSession".replace("..", "."))
    default = sessions.getDefaultSession()
    made = SparkSession(context, session)
    if default.isDefined():
        sessions.setDefaultSession(default.get())
    return made


def session_settings(session: JavaValue) -> dict[str, str]:
    """Names and texts of all that is set in a session of the JVM."""
    return SPARK.session_settings(session)
