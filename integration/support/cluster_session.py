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
MANY: Final = 4000
CITIES: Final = 8
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
            "killed under files": self._killed_files,
            "after files": lambda: self._count(f"{self._folder}/files"),
            "killed under a read": lambda: self._killed_read(self._written),
            "killed under a merge of logs": lambda: self._killed_read(self._logs()),
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
        with Killer(flag) as killer:
            rows = self._frame(40).mapInArrow(waiting_at_first(flag, 0), COLUMNS)
            report = hudi_spark.write(rows, f"{self._folder}/killed", OPTIONS)
        return [len(killer.killed), report.inserted, self._files("killed") - report.files]

    def _killed_read(self, path: str) -> list[Any]:
        """What a query of a table gives whose first task ends with its executor; and the kills."""
        expected = self._rows(path)
        flag = f"{self._folder}/read{len(list(self._folder.glob('read*')))}.pid"
        with Killer(flag) as killer:
            frame = self._spark.read.format("hudi").load(path).select("id", "name", "city", "ts")
            frame = frame.mapInArrow(waiting_at_first(flag, 1), COLUMNS)
            rows = sorted([row.id, row.name, row.ts] for row in frame.collect())
        return [len(killer.killed), len(rows) > 0, rows == expected]

    def _logs(self) -> str:
        """A table whose slices have log files."""
        self._sql(f"UPDATE hudi.`{self._logged}` SET name = 'z', ts = 9 WHERE id < 8")
        assert list(Path(self._logged).rglob("*.log.*"))
        return self._logged

    def _killed_files(self) -> list[Any]:
        """A write all whose executors end when the first of its data files is there."""
        table = self._folder / "files"
        killed: list[bool] = []

        def kill() -> None:
            wait_until(lambda: next(table.rglob("c*/*.parquet"), None), "a data file")
            executors = self._executors()
            for executor in executors:
                os.kill(executor, signal.SIGSTOP)
            written = bool(list((table / ".hoodie").rglob("*.commit")))
            for executor in executors:
                os.kill(executor, signal.SIGKILL)
            killed.append(bool(executors) and not written)

        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        spark = self._spark
        frame = spark.range(0, MANY, 1, 2).selectExpr(
            "cast(id AS int) id", "concat('v', id) name", f"concat('c', id % {CITIES}) city", "1 ts"
        )
        report = hudi_spark.write(frame, str(table), OPTIONS)
        thread.join()
        return [killed, report.inserted, self._files("files") - report.files]

    def _executors(self) -> list[int]:
        """Processes of this application's executors, which run where the folder of the cluster is."""
        name = self._spark.sparkContext.applicationId.encode()
        commands = ((int(path.parent.name), read_command(path)) for path in Path("/proc").glob("[0-9]*/cmdline"))
        return [number for number, command in commands if name in command and b"CoarseGrainedExecutor" in command]

    def _files(self, table: str) -> int:
        return len(list((self._folder / table).rglob("c*/*.parquet")))

    def _count(self, path: str) -> list[int]:
        (row,) = self._spark.read.format("hudi").load(path).selectExpr("count(*)", "count(DISTINCT id)").collect()
        return list(row)


class Killer:
    """Kills, in the block, the process that a file names as soon as it is there.

    Args:
        flag: path of the file.

    Attributes:
        killed: the process.
    """

    def __init__(self, flag: str) -> None:
        self._flag = flag
        self._thread = threading.Thread(target=self._kill, daemon=True)
        self.killed: list[int] = []

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self._thread.join()

    def _kill(self) -> None:
        path = Path(self._flag)
        text = wait_until(lambda: path.exists() and path.read_text(), "a task that waits to be killed")
        os.kill(int(text), signal.SIGKILL)
        self.killed.append(int(text))


def read_command(path: Path) -> bytes:
    """The command line of a process; nothing if it has ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def waiting_at_first(flag: str, batch: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A step that tells its executor's process in a file and waits for its end, in the first attempt of a task.

    Args:
        flag: path of the file.
        batch: how many batches go through before.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        first = context.partitionId() == 0 and context.attemptNumber() == 0
        for number, each in enumerate(batches, 1):
            if number > batch and first and not os.path.exists(flag):
                wait_for_death()
            yield each
        if first and not os.path.exists(flag):
            wait_for_death()

    def wait_for_death() -> None:
        daemon = os.getppid()
        with open(f"/proc/{daemon}/stat", encoding="utf-8") as file:
            executor = file.read().rpartition(")")[2].split()[1]
        with open(f"{flag}.new", "w", encoding="utf-8") as file:
            file.write(executor)
        os.rename(f"{flag}.new", flag)
        while os.path.exists(f"/proc/{executor}"):
            threading.Event().wait(0.1)

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
