"""Sessions that are made, used and stopped one after the other in one process: ``FOLDER CYCLES``.

Prints, as JSON, for each cycle what is left after it: threads, Java's threads, objects that Java calls, open files.
"""

from __future__ import annotations

import gc
import json
import os
import sys
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


def main(folder: str, cycles: str) -> None:
    """Run the cycles and print the counts."""
    counts = []
    for cycle in range(int(cycles)):
        use(folder, cycle)
        counts.append(left())
    print(json.dumps(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
