"""Names and ways of Spark that differ between its releases, in a module for each family; chosen once."""

from __future__ import annotations

from hudi_hive.spark.versions.choice import SPARK, SUPPORTED
from hudi_hive.spark.versions.family import AnalyzerRule, JavaValue, SparkFamily, scala_items
from hudi_hive.spark.versions.names import FEATURES, Feature, features_on

__all__ = [
    "FEATURES",
    "SPARK",
    "SUPPORTED",
    "AnalyzerRule",
    "Feature",
    "JavaValue",
    "SparkFamily",
    "features_on",
    "scala_items",
]
