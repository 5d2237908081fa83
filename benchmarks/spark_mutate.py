"""Mutations by Spark next to what plain Spark would do: the same rows as ORC files, and rewriting what changes touch.

    python benchmarks/spark_mutate.py [--rows 1000000] [--partitions 4] [--buckets 4] [--share 0.02] [--cores 2]

Inserts go through one shuffle by partition and bucket to delta files; plain Spark writes ORC files with the same
shuffle and compression. A merge has a ``--share`` of the rows, over all partitions; plain Spark reads its ORC files,
joins the same changes, and writes all again. The metastore is one in this process, all files are on local disk. Runs
of one kind are taken in turn, and the shortest of each counts, as the first one starts what Spark keeps running.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import hudi_hive.spark as hudi_spark
from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.mutation import AcidReader
from hudi_hive.testing import FakeMetastore
from tests.support.mutation.acid_definitions import acid_table

COLUMNS = (("ride_id", "bigint"), ("driver", "string"), ("fare", "double"), ("stops", "int"), ("note", "string"))
RUNS = 2


def session(cores: int) -> SparkSession:
    """Plain Spark on some cores."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.orc.compression.codec": "zlib",
    }
    builder = SparkSession.builder.master(f"local[{cores}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def rides(spark: SparkSession, count: int, partitions: int, every: int = 1) -> DataFrame:
    """Rows, all of them or one of so many."""
    number = sql.col("id")
    return spark.range(0, count, every, spark.sparkContext.defaultParallelism * 2).select(
        number.alias("ride_id"),
        sql.concat(sql.lit("driver "), number % 9973).alias("driver"),
        (number % 1000 / 7).alias("fare"),
        (number % 12).cast("int").alias("stops"),
        sql.concat(sql.lit("note of ride "), number * 7919 % 100003).alias("note"),
        sql.concat(sql.lit("r"), number % partitions).alias("region"),
    )


class Bench:
    """One table in both forms.

    Args:
        arguments: of the command line.
        spark: the session.
        uri: of the metastore.
        folder: for all files.
    """

    def __init__(self, arguments: argparse.Namespace, spark: SparkSession, uri: str, folder: Path) -> None:
        self.arguments, self.spark, self.uri, self.folder = arguments, spark, uri, folder
        self.rows = rides(spark, arguments.rows, arguments.partitions)
        self.changes = rides(spark, arguments.rows, arguments.partitions, round(1 / arguments.share)).withColumn(
            "note", sql.lit("changed")
        )

    def table(self, number: int) -> str:
        """An empty ACID table."""
        name = f"t{number}"
        made = acid_table(
            f"file:{self.folder}/{name}",
            COLUMNS,
            (("region", "string"),),
            name=name,
            buckets=self.arguments.buckets,
            bucket_columns=("ride_id",),
        )
        with HiveMetastore(self.uri) as metastore:
            TransactionClient(metastore).create_table(made)
        return f"default.{name}"

    def insert(self, table: str) -> None:
        hudi_spark.mutate(self.rows.withColumn("op", sql.lit("insert")), table, metastore=self.uri, operation="op")

    def merge(self, table: str, on: list[str]) -> None:
        hudi_spark.mutate(self.changes, table, metastore=self.uri, on=on)

    def write(self, rows: DataFrame, name: str) -> None:
        """As ORC files, one for each partition and bucket."""
        bucket = sql.col("ride_id") % self.arguments.buckets
        together = rows.repartition(2 * self.arguments.cores, "region", bucket)
        ordered = together.sortWithinPartitions("region", bucket)
        ordered.write.mode("overwrite").partitionBy("region").orc(str(self.folder / name))

    def rewrite(self, old: str, new: str) -> None:
        """All rows with the changes."""
        found = self.spark.read.orc(str(self.folder / old))
        changed = self.changes.select("ride_id", sql.col("note").alias("new"))
        merged = found.join(changed, "ride_id", "left").withColumn("note", sql.coalesce("new", "note")).drop("new")
        self.write(merged, new)

    def changed(self, table: str) -> int:
        """Rows that have their new value."""
        with HiveMetastore(self.uri) as metastore:
            reader = AcidReader.open(TransactionClient(metastore), *table.split("."))
            assert reader.read(["stops"], with_row_id=False).num_rows == self.arguments.rows
            return reader.read(["note"], "note = 'changed'", with_row_id=False).num_rows


def timed(call: Callable[[], None]) -> float:
    """Seconds of a call."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def run(bench: Bench) -> None:
    """All kinds, and what they took."""
    best: dict[str, float] = {}
    for number in range(RUNS):
        table, name = bench.table(number), f"plain{number}"
        calls: dict[str, Callable[[], None]] = {
            "insert": lambda: bench.insert(table),  # noqa: B023
            "plain ORC": lambda: bench.write(bench.rows, name),  # noqa: B023
            "merge": lambda: bench.merge(table, ["ride_id"]),  # noqa: B023
            "merge, partition in key": lambda: bench.merge(table, ["region", "ride_id"]),  # noqa: B023
            "rewrite": lambda: bench.rewrite(name, f"{name}-new"),  # noqa: B023
        }
        for what, call in calls.items():
            best[what] = min(best.get(what, float("inf")), timed(call))
        assert bench.changed(table) == bench.changes.count()
    for what, seconds in best.items():
        print(f"{what}: {seconds:.1f} s, {bench.arguments.rows / seconds:,.0f} rows of the table/s")
    print(f"insert / plain ORC: {best['plain ORC'] / best['insert']:.2f} of its rows/s")
    print(f"merge / rewrite: {best['rewrite'] / best['merge']:.2f} of its rows/s")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("rows", 1_000_000), ("partitions", 4), ("buckets", 4), ("cores", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--share", type=float, default=0.02)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, FakeMetastore() as metastore:
        spark = session(arguments.cores)
        run(Bench(arguments, spark, metastore.uri, Path(folder)))
        spark.stop()


if __name__ == "__main__":
    main()
