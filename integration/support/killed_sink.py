"""A process with a stream of JSON files into a Hudi table that kills itself and its children at a call of the storage.

``killed_sink.py FOLDER KIND OPERATION AT``: FOLDER has the files in ``source``, and gets ``table`` and ``checkpoint``;
each file is a batch. AT is the number of a storage call of the driver, or -1: until everything is read. Without
arguments each line of the input is a query to run to its end, as JSON: ``folder``, ``kind``, ``operation``, and whether
``images`` are taken of it; why it failed goes out as JSON lines.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import hudi_hive.spark as hudi_spark
from integration.support.crash_images import tell
from integration.support.session_process import DONE
from integration.support.spark_options import INTERPRETED, JAVA_OPTIONS, PYTHON_WORKERS
from tests.support.faults.write_faults import Calls, watched

SERVICES_THREAD = "hudi_hive.stream_services"


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


def run_line(spark: SparkSession, line: str) -> str | None:
    """A query that a line of the input names; why it failed."""
    asked = json.loads(line)
    folder = Path(asked["folder"])
    if asked["images"]:
        tell("arm", folder)
    try:
        run(spark, folder, asked["kind"], asked["operation"])
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip()[:1500]}"
    finally:
        for thread in threading.enumerate():
            if thread.name == SERVICES_THREAD:  # it ends behind the query, when no service is due
                thread.join()
        if asked["images"]:
            tell("disarm", Path(folder.name))
    return None


def session() -> SparkSession:
    """A small one, without a metastore."""
    builder = SparkSession.builder.master("local[1]").config("spark.driver.memory", "512m")
    builder = builder.config(map={**PYTHON_WORKERS, **INTERPRETED})
    builder = builder.config("spark.driver.extraJavaOptions", JAVA_OPTIONS).config("spark.sql.shuffle.partitions", "1")
    builder = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    # A kill in its first offset leaves a temporary file: newer releases of Spark take no checkpoint that has one.
    builder = builder.config("spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart", "false")
    return hudi_spark.enable(builder.config("spark.sql.catalogImplementation", "in-memory").getOrCreate())


if __name__ == "__main__":
    own = session()
    if sys.argv[1:]:
        with watched(Calls(int(sys.argv[4]), _die)):
            run(own, Path(sys.argv[1]), sys.argv[2], sys.argv[3])
    else:
        for text in sys.stdin:
            print(DONE + json.dumps(run_line(own, text)), flush=True)
        own.stop()
