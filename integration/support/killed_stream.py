"""A process with two streams over one table that kills itself, and all its children, at a point it is told.

``killed_stream.py TABLE FOLDER POINT``: a file sink first, a foreachBatch sink that overwrites a folder for each batch
after it, a commit a batch, until everything is read. POINT is ``task`` (rows of a batch are being written), ``written``
(a batch is written, and not yet committed) or ``none``; at each a process is killed once for a folder.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from integration.support.spark_options import INTERPRETED, JAVA_OPTIONS, PYTHON_WORKERS

COLUMNS = ("_hoodie_commit_time", "id", "ts", "a")


class KilledTask:
    """Passes rows on; the first task to see rows of a commit kills a process group."""

    def __init__(self, marker: Path | None, commit: int, group: int) -> None:
        self.marker, self.commit, self.group = marker, commit, group

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            seen = pc.max(batch.column("ts")).as_py()
            if self.marker is not None and seen == self.commit and not self.marker.exists():
                self.marker.touch()
                os.killpg(self.group, signal.SIGKILL)


def rows_of(spark: SparkSession, table: str, task: KilledTask) -> DataFrame:
    source = spark.readStream.format("hudi").option("maxCommitsPerTrigger", 1).load(table).select(*COLUMNS)
    return source.mapInArrow(task, source.schema)


def run(spark: SparkSession, table: str, folder: Path, point: str) -> None:
    """Both streams to their ends."""

    def overwrite(frame: DataFrame, batch: int) -> None:
        frame.write.mode("overwrite").parquet(str(folder / "batches" / f"batch={batch}"))
        marker = folder / "written"
        if point == "written" and batch == 1 and not marker.exists():
            marker.touch()
            os.killpg(0, signal.SIGKILL)

    task = KilledTask(folder / "task" if point == "task" else None, 2, os.getpgrp())
    rows = rows_of(spark, table, task)
    files = rows.writeStream.format("parquet").option("path", str(folder / "files"))
    files = files.option("checkpointLocation", str(folder / "checkpoint-files"))
    files.trigger(availableNow=True).start().awaitTermination()
    batches = rows.writeStream.foreachBatch(overwrite)
    batches = batches.option("checkpointLocation", str(folder / "checkpoint-batches"))
    batches.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    import hudi_hive.spark as hudi_spark

    builder = SparkSession.builder.master("local[1]").config("spark.driver.memory", "512m")
    builder = builder.config(map={**PYTHON_WORKERS, **INTERPRETED})
    builder = builder.config("spark.driver.extraJavaOptions", JAVA_OPTIONS).config("spark.sql.shuffle.partitions", "1")
    builder = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    session = builder.config("spark.sql.catalogImplementation", "in-memory").getOrCreate()
    run(hudi_spark.enable(session), sys.argv[1], Path(sys.argv[2]), sys.argv[3])
