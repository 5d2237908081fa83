"""A session on a cluster whose executors get this package while it runs: ``URL PYTHON FOLDER WHEEL ARCHIVE``.

Prints, as JSON, what each step gave, or the class and text of its error.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

import hudi_hive.spark as hudi_spark
from tests.support.running.waiting import wait_until

OPTIONS: Final = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.parquet.small.file.limit": "0",
}
ON_READ: Final = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
COLUMNS: Final = "id int, name string, city string, ts int"
SETTINGS: Final = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.log.level": "OFF",
    "spark.speculation": "true",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": "2",
}


class Session:
    """Steps in their order: later ones meet what earlier ones left."""

    def __init__(self, spark: SparkSession, folder: str, wheel: str, archive: str) -> None:
        self._spark, self._folder = spark, Path(folder)
        self._wheel, self._archive = wheel, archive
        self._written, self._logged = f"{folder}/written", f"{folder}/logged"

    def steps(self) -> dict[str, Callable[[], Any]]:
        """Name of a step -> the step."""
        sql, logged = self._sql, f"hudi.`{self._logged}`"
        source = "SELECT 1 AS id, 'm' AS name, 'c1' AS city, 3 AS ts UNION ALL SELECT 50, 'n', 'c0', 3"
        return {
            "without": lambda: self._write(self._written),
            "left": lambda: sorted(str(path) for path in self._folder.rglob("*") if "written" in path.name),
            "wheel": lambda: self._with_file(self._wheel),
            "write": lambda: self._with_file(self._archive),
            "read": lambda: self._rows(self._written),
            "upsert": lambda: self._write(self._written, 20, ts=2),
            "upserted": lambda: self._rows(self._written),
            "logged": lambda: self._write(self._logged, options=ON_READ),
            "update": lambda: sql(f"UPDATE {logged} SET name = 'u', ts = 2 WHERE id < 3"),
            "merge": lambda: sql(
                f"MERGE INTO {logged} t USING ({source}) s ON t.id = s.id AND t.city = s.city "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            ),
            "delete": lambda: sql(f"DELETE FROM {logged} WHERE id = 9"),
            "read logs": lambda: self._rows(self._logged),
            "mutate": self._mutate,
            "compact": lambda: len(hudi_spark.compact(self._spark, self._logged)),
            "cluster": lambda: len(hudi_spark.cluster(self._spark, self._written)),
            "read compacted": lambda: self._rows(self._logged),
            "stream": self._stream,
            "streamed": lambda: self._rows(f"{self._folder}/streamed"),
            "executor killed": self._killed_write,
            "after the kill": lambda: self._rows(f"{self._folder}/killed"),
        }

    def _frame(self, count: int = 10, ts: int = 1) -> DataFrame:
        rows = [(number, f"v{ts}", f"c{number % 2}", ts) for number in range(count)]
        return self._spark.createDataFrame(rows, COLUMNS).repartition(2)

    def _write(self, path: str, count: int = 10, ts: int = 1, options: dict[str, str] | None = None) -> list[int]:
        report = hudi_spark.write(self._frame(count, ts), path, OPTIONS | (options or {}))
        return [report.inserted, report.updated]

    def _with_file(self, file: str) -> list[int]:
        self._spark.sparkContext.addPyFile(file)
        return self._write(self._written)

    def _rows(self, path: str) -> list[list[Any]]:
        frame = self._spark.read.format("hudi").load(path).select("id", "name", "ts")
        return sorted([row.id, row.name, row.ts] for row in frame.collect())

    def _sql(self, text: str) -> int:
        return len(self._spark.sql(text).collect())

    def _mutate(self) -> list[int]:
        rows = [(2, "x", "c0", 5, "update"), (60, "y", "c0", 5, "insert"), (4, None, "c0", None, "delete")]
        frame = self._spark.createDataFrame(rows, f"{COLUMNS}, op string")
        report = hudi_spark.mutate(frame, self._logged, operation="op")
        return [report.inserted, report.updated, report.deleted]

    def _stream(self) -> None:
        frame = self._spark.readStream.format("hudi").load(self._logged).select("id", "name", "city", "ts")
        options = {**OPTIONS, "checkpointLocation": f"{self._folder}/checkpoint"}
        query = frame.writeStream.format("hudi").options(**options).trigger(availableNow=True)
        started = query.start(f"{self._folder}/streamed")
        started.awaitTermination()
        if started.exception() is not None:
            raise started.exception()

    def _killed_write(self) -> list[Any]:
        """A write whose first attempt at a task ends with its executor."""
        flag = str(self._folder / "executor.pid")
        killed: list[int] = []

        def kill() -> None:
            text = wait_until(lambda: os.path.exists(flag) and Path(flag).read_text(), "a task that waits to be killed")
            os.kill(int(text), signal.SIGKILL)
            killed.append(int(text))

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        rows = self._frame(40).mapInArrow(waiting_at_first(flag), COLUMNS)
        report = hudi_spark.write(rows, f"{self._folder}/killed", OPTIONS)
        killer.join()
        return [len(killed), report.inserted, len(list((self._folder / "killed").rglob("*.parquet"))) - report.files]


def waiting_at_first(flag: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A step that tells its executor's process in a file and waits for its end, in the first attempt of a task."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        if context.partitionId() == 0 and context.attemptNumber() == 0 and not os.path.exists(flag):
            daemon = os.getppid()
            with open(f"/proc/{daemon}/stat", encoding="utf-8") as file:
                executor = file.read().rpartition(")")[2].split()[1]
            with open(f"{flag}.new", "w", encoding="utf-8") as file:
                file.write(executor)
            os.rename(f"{flag}.new", flag)
            while os.path.exists(f"/proc/{executor}"):
                threading.Event().wait(0.1)
        yield from batches

    return run


def main(url: str, python: str, folder: str, wheel: str, archive: str) -> None:
    """Run the steps and print what they gave."""
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}
    spark = SparkSession.builder.master(url).config(map=SETTINGS).getOrCreate()
    hudi_spark.enable(spark)
    given: dict[str, Any] = {}
    for name, step in Session(spark, folder, wheel, archive).steps().items():
        try:
            given[name] = step()
        except Exception as error:
            given[name] = f"{type(error).__name__}: {error}"
    spark.stop()
    print(json.dumps(given))


if __name__ == "__main__":
    main(*sys.argv[1:])
