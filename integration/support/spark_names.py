"""Looks in a running Spark for the names that ``hudi_hive/spark/versions/names.py`` declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from hudi_hive.spark.versions import FEATURES, SPARK, Feature, JavaValue


def missing_names(spark: SparkSession, features: Iterable[Feature] = FEATURES) -> list[str]:
    """What this release of Spark has not, as ``feature: name``."""
    members: dict[str, set[str]] = {}
    missing = []
    objects = [spark, spark.sparkContext, spark.range(1), spark.range(1).write, spark.read]
    for feature in features:
        names = (*feature.names, *(feature.spark4 if SPARK.has_scripts else feature.spark3))
        missing += [f"{feature.title}: {name}" for name in names if not _is_there(spark, name, members)]
        missing += [
            f"{feature.title}: {name}" for name in feature.pyspark if all(not hasattr(each, name) for each in objects)
        ]
    return missing


def _is_there(spark: SparkSession, name: str, members: dict[str, set[str]]) -> bool:
    kind, _, member = name.partition("#")
    view: Any = spark.sparkContext._jvm
    loader = view.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        found = view.java.lang.Class.forName(f"org.apache.spark.{kind}", False, loader)
    except Py4JError:
        return False
    if member and kind not in members:
        members[kind] = set(_members(found))
    return not member or member in members[kind]


def _members(kind: JavaValue) -> Iterator[str]:
    """Names of the methods of a class, and of the fields of it and those above it."""
    yield from (str(one.getName()) for one in kind.getMethods())
    while kind is not None:
        yield from (str(one.getName()) for one in kind.getDeclaredFields())
        kind = kind.getSuperclass()
