"""Memory of reading a file slice whose log files update half of its records, in parts and at once.

``python benchmarks/merge_memory.py [--rows 4000000] [--table FOLDER]``: one slice of that many rows of ten columns
(4,000,000: 1.1 GB of base file and 0.55 GB of log files), read to its end through ``to_batches()`` in a process of its
own for each way. Printed are rows, CPU and wall seconds, the peak of resident memory above that of the imports, and
bytes that went to the local disk. ``at once`` is the same with memory without a bound.

``--spark`` reads it in Spark instead, on one core and on two, a sum and a group-by, for the first time and again: wall
seconds, CPU seconds of the JVM and of each Python worker, and the greatest peak of a worker above its imports.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from process_memory import memory_mb, reset_peak

from hudi_hive import HudiTable

WAYS = {"in parts": {}, "at once": {"hoodie.memory.merge.max.size": str(1 << 40)}}
ONE_FILE = {
    "hoodie.parquet.max.file.size": str(8 << 30),
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.metadata.enable": "false",
    "hoodie.parquet.compression.codec": "uncompressed",
    "hoodie.copyonwrite.record.size.estimate": "64",
}


def rows_of(ids: np.ndarray, moment: int) -> pa.Table:
    """Rows of ten columns whose texts do not compress away."""
    random = np.random.default_rng(moment)
    text = pa.array(ids).cast(pa.string())
    digits = pa.array(random.integers(1 << 62, size=len(ids))).cast(pa.string())
    return pa.table(
        {
            "id": pc.binary_join_element_wise("8c4f2a1e", pc.utf8_lpad(text, 12, "0"), "-"),
            "number": pa.array(ids),
            "city": pa.array(["oslo", "rome", "lima", "cairo"]).take(pa.array(ids % 4)),
            "rider": pc.binary_join_element_wise("rider", digits, "-"),
            "driver": pc.binary_join_element_wise("driver", pc.utf8_reverse(digits), "-"),
            "note": pc.binary_join_element_wise(digits, text, digits, " "),
            "fare": pa.array(random.random(len(ids))),
            "distance": pa.array(random.random(len(ids))),
            "seats": pa.array((ids % 5).astype(np.int32)),
            "ts": pa.array(ids + moment),
        }
    )


def make(folder: str, rows: int) -> None:
    """A merge-on-read table of one slice."""
    table = HudiTable.create(
        folder, name="rides", table_type="MERGE_ON_READ", record_keys=["id"], ordering_fields=["ts"]
    )
    table.bulk_insert(rows_of(np.arange(rows), 1), options=ONE_FILE)
    table.upsert(rows_of(np.arange(0, rows, 2), 2), options=ONE_FILE)


def read(folder: str, way: str) -> None:
    """Read the table in this process, and print what it took."""
    table = HudiTable.open(folder)
    before = reset_peak()
    cpu, wall = time.process_time(), time.perf_counter()
    rows, total = 0, 0
    for batch in table.scan(options=WAYS[way]).to_batches():
        rows += batch.num_rows
        total += pc.sum(batch["ts"]).as_py()
    figures = {
        "rows": rows,
        "sum": total,
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "megabytes": memory_mb("VmHWM") - before,
        "spilled": table.client.storage.counters["bytes_spilled"],
    }
    print(json.dumps(figures))


STATEMENTS = {
    "sum": "SELECT sum(ts) FROM rides",
    "group-by": "SELECT city, count(*), max(rider), sum(distance) FROM rides GROUP BY city",
}


def processes(parent: int) -> dict[tuple[str, str], tuple[float, int]]:
    """CPU seconds and peak MB of the JVM that a process started, and of the Python workers below it."""
    figures = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            numbers = (process / "stat").read_text().rpartition(")")[2].split()
            peak = int((process / "status").read_text().partition("VmHWM:")[2].split()[0])
        except (OSError, IndexError):
            continue
        kind = "worker" if b"pyspark.daemon" in command else "jvm" if int(numbers[1]) == parent else ""
        if kind:
            seconds = (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")
            figures[kind, process.name] = seconds, peak >> 10
    return figures


def read_in_spark(folder: str, cores: int, turns: int) -> None:
    """Read the table in Spark, and print what it took."""
    from pyspark.sql import SparkSession

    import hudi_hive.spark as hudi_spark

    def import_all(batches):
        import hudi_hive.read.remote  # noqa: F401

        yield from batches

    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.driver.memory", "2g")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    hudi_spark.enable(spark)
    spark.range(1000, numPartitions=2 * cores).mapInArrow(import_all, "id long").collect()
    imported = max(peak for (kind, _), (_, peak) in processes(os.getpid()).items() if kind == "worker")
    for name, statement in STATEMENTS.items():
        for turn in range(1 + turns):
            before, wall = processes(os.getpid()), time.perf_counter()
            hudi_spark.load(spark, folder).createOrReplaceTempView("rides")
            spark.sql(statement).collect()
            wall = time.perf_counter() - wall
            took = {key: each[0] - before.get(key, (0, 0))[0] for key, each in processes(os.getpid()).items()}
            shown = ", ".join(f"{kind} {took[kind, number]:.1f}" for kind, number in took if took[kind, number] > 0.05)
            print(f"{cores} cores, {name} {'again' if turn else 'first'}: {wall:5.1f} s  CPU: {shown}", flush=True)
    peak = max(peak for (kind, _), (_, peak) in processes(os.getpid()).items() if kind == "worker")
    print(f"{cores} cores: {peak - imported:,} MB of a worker above its imports", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--table", help="a folder to keep the table in, or that has it")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--cores", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cores:
        read_in_spark(given.table, given.cores, given.turns)
        return
    if given.way:
        read(given.table, given.way)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.table or f"{temporary}/rides"
        if not Path(folder, ".hoodie").is_dir():
            make(folder, given.rows)
        (row,) = HudiTable.open(folder).scan().plan().slices.to_pylist()
        print(f"{row['base_size'] / 1e6:,.0f} MB of base file, {sum(row['log_sizes']) / 1e6:,.0f} MB of logs")
        for cores in (1, 2) if given.spark else ():
            command = [sys.executable, __file__, "--table", folder, "--cores", str(cores), "--turns", str(given.turns)]
            subprocess.run(command, check=True)
        for _ in range(0 if given.spark else given.turns):
            answers = set()
            for way in WAYS:
                command = [sys.executable, __file__, "--table", folder, "--way", way]
                figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                answers.add((figures["rows"], figures["sum"]))
                print(
                    f"{way:9s} {figures['rows']:>10,} rows  {figures['cpu']:6.1f} s CPU  {figures['wall']:6.1f} s  "
                    f"{figures['megabytes']:7,.0f} MB above imports  {figures['spilled'] / 1e6:7,.0f} MB spilled"
                )
            assert len(answers) == 1, answers


if __name__ == "__main__":
    main()
