"""A jar that enables sessions where no Python drives Spark, and the Python process behind it.

In comes a file's name; out comes a jar, which ``spark-sql`` and ``spark-shell`` take (``docs/spark-jar.md``).
"""

from __future__ import annotations

from hudi_hive.spark.jar.jar import EXTENSION, write_jar

__all__ = ["EXTENSION", "write_jar"]
