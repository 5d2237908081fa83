"""A process with a stream of JSON files into a Hudi table that kills itself and its children at a call of the storage.

``killed_sink.py FOLDER KIND OPERATION AT``: FOLDER has the files in ``source``, and gets ``table`` and ``checkpoint``;
each file is a batch. AT is the number of a storage call of the driver, or -1: until everything is read.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import hudi_hive.spark as hudi_spark
from integration.support.spark_options import INTERPRETED, JAVA_OPTIONS, PYTHON_WORKERS
from tests.support.faults.write_faults import Calls, watched


def run(spark: SparkSession, folder: Path, kind: str, operation: str) -> None:
    """The stream to its end."""
    rows = spark.readStream.schema("id long, ts long, p string").option("maxFilesPerTrigger", 1)
    writer = rows.json(str(folder / "source")).writeStream.format("hudi").trigger(availableNow=True)
    writer = writer.options(
        **{
            "checkpointLocation": str(folder / "checkpoint"),
            "hoodie.table.name": "t",
            "hoodie.datasource.write.table.type": kind,
            "hoodie.datasource.write.operation": operation,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.partitionpath.field": "p",
            "hoodie.compact.inline.max.delta.commits": "2",
        }
    )
    writer.start(str(folder / "table")).awaitTermination()


def _die(*_: Any) -> None:
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    builder = SparkSession.builder.master("local[1]").config("spark.driver.memory", "512m")
    builder = builder.config(map={**PYTHON_WORKERS, **INTERPRETED})
    builder = builder.config("spark.driver.extraJavaOptions", JAVA_OPTIONS).config("spark.sql.shuffle.partitions", "1")
    builder = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    session = hudi_spark.enable(builder.config("spark.sql.catalogImplementation", "in-memory").getOrCreate())
    with watched(Calls(int(sys.argv[4]), _die)):
        run(session, Path(sys.argv[1]), sys.argv[2], sys.argv[3])
