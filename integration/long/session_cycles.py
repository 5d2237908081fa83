"""What sessions leave that are made, used and stopped one after the other in one process.

    python -m integration.long.session_cycles [--cycles 20] [--side both]

Prints for each cycle, as JSON, Python's threads, Java's threads, proxies (objects of Python's that Java may call), and
open files of both processes, when these do not change any more. Then another process does the like with Parquet in
place of Hudi tables, without this package: what Spark itself leaves. Ends with 1 if Python's side has more after the
last cycle than after the third, or Java's has more and Spark alone would not.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import SparkSession

from integration.support.spark_options import JAVA_OPTIONS
from tests.support.running.waiting import wait_until

COLUMNS: Final = "id int, name string, ts int"
OPTIONS: Final = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
}
POOLS: Final = re.compile(
    r"QueryStageCreator|ResultQueryStage|(shuffle|broadcast|subquery)-exchange|subquery-|process reaper|ForkJoinPool"
)
"""Threads of pools of the whole JVM, which end when they had nothing to do for a minute."""
PYTHONS: Final = ("threads", "proxies", "files")
JAVAS: Final = ("java threads", "java files")


def session() -> SparkSession:
    """A new session."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "1")
    return builder.config("spark.driver.extraJavaOptions", JAVA_OPTIONS).getOrCreate()


def use(folder: str, cycle: int) -> None:
    """A session that writes, reads and changes a table."""
    import hudi_hive.spark as hudi_spark

    spark = session()
    hudi_spark.enable(hudi_spark.enable(spark))
    path = f"{folder}/trips"
    frame = spark.createDataFrame([(cycle, "a", cycle)], COLUMNS)
    frame.write.format("hudi").options(**OPTIONS).mode("append").save(path)
    spark.sql(f"UPDATE hudi.`{path}` SET name = 'b', ts = ts + 1 WHERE id = {cycle}")
    assert spark.read.format("hudi").load(path).where("name = 'b'").count() == cycle + 1
    spark.stop()


def use_parquet(folder: str, cycle: int) -> None:
    """A session that writes and reads files, and has them go through Python."""
    spark = session()
    path = f"{folder}/trips"
    spark.createDataFrame([(cycle, "a", cycle)], COLUMNS).write.mode("append").parquet(path)

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    assert spark.read.parquet(path).mapInArrow(same, COLUMNS).where("name = 'a'").count() == cycle + 1
    spark.stop()


def left() -> dict[str, int]:
    """What is there, when Java and Python have let go of what nothing refers to."""
    gateway: Any = SparkContext._gateway
    jvm: Any = SparkContext._jvm
    java = jvm.java.lang.ProcessHandle.current().pid()
    seen: list[dict[str, int]] = []

    def settled() -> bool:
        gc.collect()
        jvm.java.lang.System.gc()
        jvm.java.lang.System.runFinalization()
        names = [str(thread.getName()) for thread in jvm.java.lang.Thread.getAllStackTraces().keySet()]
        seen.append(
            {
                "threads": threading.active_count(),
                "java threads": sum(POOLS.match(name) is None for name in names),
                "proxies": len(gateway.gateway_property.pool),
                "files": len(os.listdir("/proc/self/fd")),
                "java files": len(os.listdir(f"/proc/{java}/fd")),
            }
        )
        return len(seen) > 4 and seen[-5:] == [seen[-1]] * 5

    wait_until(settled, "counts that stay")
    return seen[-1]


def cycles(number: int, *, plain: bool) -> list[dict[str, int]]:
    """Go through cycles in this process; what is left after each."""
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        for cycle in range(number):
            (use_parquet if plain else use)(folder, cycle)
            counts.append(left())
            print(json.dumps(counts[-1]), flush=True)
    return counts


def grown(counts: list[dict[str, int]], name: str) -> int:
    """How much more there is after the last cycle than after the third."""
    return counts[-1][name] - counts[min(2, len(counts) - 1)][name]


def main() -> int:
    """Run the cycles; 1 if they leave more and more."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", type=int, default=20)
    parser.add_argument("--side", choices=["both", "ours", "plain"], default="both")
    chosen = parser.parse_args()
    counts = cycles(chosen.cycles, plain=chosen.side == "plain")
    if chosen.side != "both":
        return 0
    command = [sys.executable, "-m", "integration.long.session_cycles", "--side", "plain"]
    command += ["--cycles", str(chosen.cycles)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    plain = [json.loads(line) for line in answer.stdout.splitlines() if line.startswith("{")]
    more = {name: grown(counts, name) for name in PYTHONS}
    more |= {name: grown(counts, name) - max(0, grown(plain, name)) for name in JAVAS}
    print(f"more after the last cycle than after the third, without what Spark itself leaves: {more}")
    return int(any(count > 0 for count in more.values()))


if __name__ == "__main__":
    sys.exit(main())
