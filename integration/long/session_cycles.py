"""What sessions leave that are made, used and stopped one after the other in one process.

    python -m integration.long.session_cycles [--cycles 20]

Prints for each cycle threads, Java's threads, objects that Java calls, and open files, when these do not change any
more; Spark's own pools keep their threads for a minute. Ends with 1 if a count of the last cycle is above that of the
third, as is known of objects that Java calls and of their connections (``docs/reading.md``).
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import threading
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

import hudi_hive.spark as hudi_spark
from integration.support.spark_options import JAVA_OPTIONS
from tests.support.running.waiting import wait_until

OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
}


def use(folder: str, cycle: int) -> None:
    """A session that writes, reads and changes a table."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "1")
    builder = builder.config("spark.driver.extraJavaOptions", JAVA_OPTIONS).config("spark.log.level", "OFF")
    spark = builder.getOrCreate()
    hudi_spark.enable(hudi_spark.enable(spark))
    path = f"{folder}/trips"
    frame = spark.createDataFrame([(cycle, "a", cycle)], "id int, name string, ts int")
    frame.write.format("hudi").options(**OPTIONS).mode("append").save(path)
    spark.sql(f"UPDATE hudi.`{path}` SET name = 'b', ts = ts + 1 WHERE id = {cycle}")
    assert spark.read.format("hudi").load(path).where("name = 'b'").count() == cycle + 1
    spark.stop()


def left() -> dict[str, int]:
    """What is there, when Java and Python have let go of what nothing refers to."""
    gateway: Any = SparkContext._gateway
    jvm: Any = SparkContext._jvm
    seen: list[dict[str, int]] = []

    def settled() -> bool:
        gc.collect()
        jvm.java.lang.System.gc()
        jvm.java.lang.System.runFinalization()
        seen.append(
            {
                "threads": threading.active_count(),
                "java threads": int(jvm.java.lang.Thread.activeCount()),
                "callbacks": len(gateway.gateway_property.pool),
                "files": len(os.listdir("/proc/self/fd")),
                "java files": len(os.listdir(f"/proc/{gateway.proc.pid}/fd")),
            }
        )
        return len(seen) > 4 and seen[-5:] == [seen[-1]] * 5

    wait_until(settled, "counts that stay")
    return seen[-1]


def main() -> int:
    """Run the cycles; 1 if they leave more and more."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", type=int, default=20)
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        for cycle in range(parser.parse_args().cycles):
            use(folder, cycle)
            counts.append(left())
            print(counts[-1], flush=True)
    settled = counts[min(2, len(counts) - 1)]
    return int(any(count > settled[name] for name, count in counts[-1].items()))


if __name__ == "__main__":
    sys.exit(main())
