"""Types of PySpark as the JVM has them."""

from __future__ import annotations

from pyspark.sql.types import DataType, StructType

from hudi_hive.spark.bridge.jvm import Jvm
from hudi_hive.spark.versions import JavaValue


def java_schema(jvm: Jvm, columns: StructType) -> JavaValue:
    """Columns as the JVM's ``StructType``."""
    return java_type(jvm, columns)


def java_type(jvm: Jvm, kind: DataType) -> JavaValue:
    """A type as the JVM has it."""
    return jvm.module("org.apache.spark.sql.types.DataType").fromJson(kind.json())
