"""Statements planned by several threads at once, as in a Thrift server: what they share does not mix them up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from pyspark import SparkContext
from pyspark.sql.types import IntegerType, StructField, StructType

from hudi_hive.spark.jvm import Jvm
from hudi_hive.spark.rows import DIRECTORY_SCHEMA, RowBuilder

pytestmark = pytest.mark.jvm


def test_directories_hold_their_own_files_alone(spark):
    """Tables whose partition columns are alike share an expression that Spark does not make for many threads."""
    jvm = Jvm(SparkContext._active_spark_context)
    columns = StructType([StructField("day", IntegerType())])
    partitions, each, rounds, clients = 40, 50, 12, 4

    def foreign(client: int) -> list[str]:
        builder = RowBuilder(jvm, spark._jsparkSession, columns)
        days = np.repeat(np.arange(partitions), each)
        prefix = f"file:/table{client}/"
        files = pa.table(
            [
                pa.array([f"day={day:02d}" for day in days]),
                pa.array([f"{prefix}day={day:02d}/{number}.parquet" for number, day in enumerate(days)]),
                pa.array(np.arange(len(days)) + client * 100_000),
            ],
            schema=DIRECTORY_SCHEMA,
        )
        values = pa.table({"day": [str(day) for day in range(partitions)]})
        wrong = []
        for _ in range(rounds):
            made = builder.directories(files, values, np.zeros(len(days), np.int64))
            texts = str(made.mkString("\n")).split("path=")[1:]
            paths = [text.split(";")[0] for text in texts]
            wrong += [] if paths == files.column("path").to_pylist() else [f"{client}: {len(paths)} files"]
        return wrong

    with ThreadPoolExecutor(clients) as pool:
        assert [item for found in pool.map(foreign, range(clients)) for item in found] == []
