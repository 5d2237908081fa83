"""Names and ways of Spark that differ between its releases, in a module for each family; chosen once."""

from __future__ import annotations

from hudi_hive.spark.versions.choice import SPARK, SUPPORTED
from hudi_hive.spark.versions.family import AnalyzerRule, JavaValue, SparkFamily, scala_items

__all__ = ["SPARK", "SUPPORTED", "AnalyzerRule", "JavaValue", "SparkFamily", "scala_items"]
