"""Twenty everyday statements on Hudi tables in the PySpark that is first on the path: the program of one release.

``python -m integration.support.everyday FOLDER`` makes its tables in an empty folder and prints, as JSON, for each
feature the names of its statements with null, or the error that one ended with.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import hudi_hive.spark as hudi_spark
from integration.support.spark_names import missing_names
from integration.support.spark_options import INTERPRETED, PYTHON_WORKERS, QUICK

Step = Callable[[], None]


class Everyday:
    """The statements, in the order in which they run: later ones meet what earlier ones wrote.

    Args:
        spark: an enabled session with a catalog in memory.
        folder: an empty folder for tables.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._cow, self._mor, self._copy = (str(folder / name) for name in ("cow", "mor", "copy"))
        self._checkpoint = str(folder / "checkpoint")

    def steps(self) -> dict[str, dict[str, Step]]:
        """Feature -> name of a statement -> the statement, which raises where its rows are not those expected."""
        return {
            "DataFrame writes": {
                "overwrite": lambda: self._write(self._cow, "cow", "overwrite"),
                "append": lambda: self._write(self._cow, "cow", "append", ("b", 5)),
                "merge-on-read": lambda: self._write(self._mor, "mor", "overwrite"),
                "log files": lambda: self._write(self._mor, "mor", "append", ("b", 5)),
            },
            "reads by path": {
                "copy-on-write": lambda: self._same(self._load(self._cow), "a1 b5"),
                "merge-on-read": lambda: self._same(self._load(self._mor), "a1 b5"),
                "time travel": lambda: self._same(self._load(self._cow, **{"as.of.instant": self._first()}), "a1 b2"),
            },
            "SQL that writes": {
                "CREATE TABLE": lambda: self._run(
                    f"CREATE TABLE t (id STRING, v INT) USING hudi LOCATION '{self._copy}' "
                    "TBLPROPERTIES (primaryKey = 'id', preCombineField = 'v')"
                ),
                "INSERT": lambda: self._run("INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3)", "a1 b2 c3"),
                "UPDATE": lambda: self._run("UPDATE t SET v = 7 WHERE id = 'a'", "a7 b2 c3"),
                "DELETE": lambda: self._run("DELETE FROM t WHERE id = 'c'", "a7 b2"),
                "MERGE": lambda: self._run(
                    "MERGE INTO t USING (SELECT 'b' AS id, 9 AS v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
                    "a7 b9",
                ),
            },
            "reads by name": {"SELECT": lambda: self._same(self._spark.sql("SELECT * FROM t"), "a7 b9")},
            "functions": {
                "changes": lambda: self._same(self._call("hudi_table_changes", "'latest_state', 'earliest'"), "a1 b5"),
                "snapshot": lambda: self._same(self._call("hudi_query", "'snapshot'"), "a1 b5"),
                "timeline": lambda: self._count(self._call("hudi_query_timeline", ""), 2),
            },
            "streams": {"source": self._stream},
            "ALTER": {"ADD COLUMNS": lambda: self._run("ALTER TABLE t ADD COLUMNS (note STRING)", "a7 b9")},
            "services": {"compact": self._compact, "clean": lambda: void(hudi_spark.clean(self._spark, self._cow))},
            "private names": {"all are there": self._names},
        }

    def _write(self, path: str, kind: str, mode: str, *rows: tuple[str, int]) -> None:
        frame = self._spark.createDataFrame(list(rows) or [("a", 1), ("b", 2)], "id STRING, v INT")
        options = {
            "hoodie.table.name": "everyday",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "v",
            "hoodie.datasource.write.table.type": {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[kind],
        }
        frame.write.format("hudi").options(**options).mode(mode).save(path)

    def _load(self, path: str, **options: str) -> DataFrame:
        return self._spark.read.format("hudi").options(**options).load(path)

    def _first(self) -> str:
        times = self._load(self._cow).select("_hoodie_commit_time").collect()
        return min(str(row[0]) for row in times)

    def _call(self, function: str, arguments: str) -> DataFrame:
        return self._spark.sql(f"SELECT * FROM {function}('{self._cow}'{', ' + arguments if arguments else ''})")

    def _run(self, statement: str, rows: str = "") -> None:
        self._spark.sql(statement).collect()
        self._same(self._spark.sql("SELECT * FROM t"), rows)

    def _same(self, frame: DataFrame, rows: str) -> None:
        found = " ".join(sorted(f"{row['id']}{row['v']}" for row in frame.collect()))
        if found != rows:
            raise AssertionError(f"rows {found!r} in place of {rows!r}")

    def _count(self, frame: DataFrame, count: int) -> None:
        found = len(frame.collect())
        if found != count:
            raise AssertionError(f"{found} rows in place of {count}")

    def _stream(self) -> None:
        stream = self._spark.readStream.format("hudi").load(self._cow)
        query = (
            (stream.writeStream.format("memory").queryName("streamed").trigger(availableNow=True))
            .option("checkpointLocation", self._checkpoint)
            .start()
        )
        query.awaitTermination()
        self._same(self._spark.sql("SELECT * FROM streamed"), "a1 b5")

    def _names(self) -> None:
        missing = missing_names(self._spark)
        if missing:
            raise AssertionError(f"not in this release: {missing}")

    def _compact(self) -> None:
        hudi_spark.compact(self._spark, self._mor)
        self._same(self._load(self._mor, **{"hoodie.datasource.query.type": "read_optimized"}), "a1 b5")


def void(_: object) -> None:
    """Drop a result."""


def main(folder: Path) -> None:
    """Run all on a session of its own and print what became of each."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config(map={**PYTHON_WORKERS, **INTERPRETED})
    builder = builder.config("spark.driver.extraJavaOptions", QUICK).config("spark.log.level", "OFF")
    builder = builder.config("spark.sql.shuffle.partitions", "1")
    spark = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse")).getOrCreate()
    hudi_spark.enable(spark)
    ended: dict[str, dict[str, str | None]] = {}
    for feature, steps in Everyday(spark, folder).steps().items():
        ended[feature] = {}
        for name, step in steps.items():
            try:
                step()
                ended[feature][name] = None
            except Exception as error:  # the program goes on with the next statement
                ended[feature][name] = f"{type(error).__name__}: {error}"[:500]
    spark.stop()
    print(json.dumps(ended))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
