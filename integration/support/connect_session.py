"""A session of a Spark Connect client, in a process that finds no Java: ``URL FOLDER``.

Prints, as JSON, what each statement gave, or the class and text of its error.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

import hudi_hive.spark as hudi_spark
from hudi_hive.errors import HudiHiveError

OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
}
COLUMNS = "id int, name string, ts int"


class Session:
    """Statements of a client, in their order: later ones meet what earlier ones wrote."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark = spark
        self._trips, self._copy, self._checkpoint = (f"{folder}/{name}" for name in ("trips", "copy", "checkpoint"))
        self._first = ""

    def steps(self) -> dict[str, Callable[[], Any]]:
        """Name of a statement -> the statement."""
        sql, trips = self._sql, self._trips
        return {
            "write": self._write,
            "read": lambda: self._rows(self._spark.read.format("hudi").load(trips)),
            "select by path": lambda: sql(f"SELECT * FROM hudi.`{trips}`"),
            "insert": lambda: sql(f"INSERT INTO hudi.`{trips}` SELECT 3 AS id, 'c' AS name, 1 AS ts"),
            "update": lambda: sql(f"UPDATE hudi.`{trips}` SET name = 'z' WHERE id = 1"),
            "delete": lambda: sql(f"DELETE FROM hudi.`{trips}` WHERE id = 2"),
            "merge": lambda: sql(
                f"MERGE INTO hudi.`{trips}` t USING (SELECT 4 AS id, 'd' AS name, 1 AS ts) s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            ),
            "create": lambda: sql(f"CREATE TABLE trips USING hudi LOCATION '{trips}'"),
            "select by name": lambda: sql("SELECT * FROM trips"),
            "time travel": lambda: sql(f"SELECT * FROM trips TIMESTAMP AS OF '{self._first}'"),
            "changes": lambda: sql(f"SELECT * FROM hudi_table_changes('{trips}', 'latest_state', '{self._first}')"),
            "stream": self._stream,
            "read stream": lambda: self._rows(self._spark.read.format("hudi").load(self._copy)),
            "merged": lambda: self._merged("com.acme.Sum"),
            "without merger": lambda: self._merged("com.acme.Other"),
            "missing table": lambda: sql("SELECT * FROM trip"),
            "misused function": lambda: sql(f"SELECT * FROM hudi_query_timeline('{trips}', 'all')"),
            "storage options": lambda: hudi_spark.enable(self._spark, storage_options={"key": "k"}),
        }

    def _sql(self, text: str) -> list[list[Any]]:
        frame = self._spark.sql(text)
        return self._rows(frame) if text.startswith("SELECT") else frame.collect()  # which must not run it again

    @staticmethod
    def _rows(frame: Any) -> list[list[Any]]:
        return sorted([row.id, row.name] for row in frame.select("id", "name").collect())

    def _write(self) -> None:
        frame = self._spark.createDataFrame([(1, "a", 1), (2, "b", 1)], COLUMNS)
        frame.write.format("hudi").options(**OPTIONS).mode("overwrite").save(self._trips)
        (row,) = self._spark.read.format("hudi").load(self._trips).select("_hoodie_commit_time").distinct().collect()
        self._first = row[0]

    def _merged(self, payload: str) -> list[list[int]]:
        options = OPTIONS | {"hoodie.datasource.write.payload.class": payload}
        for ts, rows in enumerate([[(1, 1), (2, 5)], [(1, 10)]]):
            frame = self._spark.createDataFrame([(*row, ts) for row in rows], "id int, n long, ts int")
            frame.write.format("hudi").options(**options).mode("append").save(f"{self._trips}_{payload}")
        merged = self._spark.read.format("hudi").load(f"{self._trips}_{payload}")
        return sorted([row.id, row.n] for row in merged.select("id", "n").collect())

    def _stream(self) -> None:
        frame = self._spark.readStream.format("hudi").load(self._trips).select("id", "name", "ts")
        writer = frame.writeStream.format("hudi").options(**OPTIONS, checkpointLocation=self._checkpoint)
        query = writer.trigger(availableNow=True).start(self._copy)
        query.awaitTermination()
        if query.exception() is not None:
            raise query.exception()


def main(url: str, folder: str) -> None:
    """Run the statements and print what they gave."""
    assert shutil.which("java") is None
    spark = SparkSession.builder.remote(url).getOrCreate()
    try:
        assert hudi_spark.enable(spark) is spark
    except HudiHiveError as error:
        print(json.dumps({"enable": f"{type(error).__name__}: {error}"}))
        return
    given: dict[str, Any] = {}
    for name, step in Session(spark, folder).steps().items():
        try:
            given[name] = step()
        except Exception as error:
            given[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(given))


if __name__ == "__main__":
    main(*sys.argv[1:])
