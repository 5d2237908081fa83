"""Merge-on-read in Spark SQL: a snapshot, merged in Arrow tasks, against the read-optimised scan of the same table.

``python benchmarks/spark_merge.py [--rows 1600000] [--groups 8] [--updates 0.1] [--cores 2]``: every slice of the table
has a log file. Each statement runs on both in turn, several rounds; the first warms up.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from hudi_tables import write_table

import hudi_hive.spark as hudi_spark

STATEMENTS = {
    "sum of one column": "SELECT sum(fare) FROM {t}",
    "count": "SELECT count(*) FROM {t}",
    "two columns by a third": "SELECT city, sum(fare), max(stops) FROM {t} GROUP BY city",
    "one partition of all": "SELECT city, sum(fare) FROM {t} WHERE city_group = 'g01' GROUP BY city",
    "all columns": "SELECT sum(hash(*)) FROM {t}",
}


def seconds(action) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_600_000)
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--updates", type=float, default=0.1)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "bench"
        print(write_table(base, rows=options.rows, groups=options.groups, updates=options.updates))
        session = hudi_spark.session_builder().master(f"local[{options.cores}]").config("spark.ui.enabled", "false")
        session = session.config("spark.driver.memory", "1g").config("spark.log.level", "OFF")
        session = session.config("spark.ui.showConsoleProgress", "false")
        spark = session.config("spark.sql.catalogImplementation", "in-memory").getOrCreate()
        for name, text in STATEMENTS.items():
            times: dict[str, list[float]] = {"read_optimized": [], "snapshot": []}
            for _ in range(options.rounds + 1):
                for kind, taken in times.items():
                    hudi_spark.load(spark, base, query_type=kind).createOrReplaceTempView(kind)
                    taken.append(seconds(spark.sql(text.format(t=kind)).collect))
            plain, merged = (statistics.median(taken[1:]) for taken in times.values())
            print(f"{name}: {merged:.2f} s, read optimised {plain:.2f} s: x{merged / plain:.2f}", flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
