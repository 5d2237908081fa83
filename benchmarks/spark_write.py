"""Writing DataFrames: rows a second of a bulk insert and of an upsert of a tenth, beside real Hudi on Spark 3.5.

``python benchmarks/spark_write.py [--rows 2000000] [--cores 2] [--memory 2g] [--hudi 1.0.2] [--kinds COW,MOR]``: both
sides write the same rows with the same options into tables of version 8, the metadata table on, in turn; each first
writes a small table to warm up. CPU and peak memory are those of the JVM and all processes below it (Linux only), the
latter sampled.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = {"COW": "COPY_ON_WRITE", "MOR": "MERGE_ON_READ"}
_SAMPLE_SECONDS = 0.2


def options_of(kind: str, operation: str) -> dict[str, str]:
    return {
        "hoodie.table.name": "bench",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.table.type": TYPES[kind],
        "hoodie.datasource.write.operation": operation,
        "hoodie.metadata.enable": "true",
    }


def process_tree(root: int) -> list[int]:
    """A process and all below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    tree = [root]
    for process in tree:
        tree += parents.get(process, [])
    return tree


def resident_bytes(root: int) -> int:
    """Proportional set size of a process and all below it: pages that several have count once together."""
    total = 0
    for process in process_tree(root):
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return total


def cpu_seconds(root: int) -> float:
    """CPU seconds of a process and all below it, of those that have ended, too."""
    ticks = 0
    for process in process_tree(root):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


class Peak:
    """The greatest memory of a process and all below it while the block runs."""

    def __init__(self, root: int | None = None) -> None:
        self._root = root or os.getpid()

    def __enter__(self) -> Peak:
        self.bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._done.wait(_SAMPLE_SECONDS):
            self.bytes = max(self.bytes, resident_bytes(self._root))


def session_of(name: str, cores: int, memory: str) -> SparkSession:
    """A Spark session of one side: with our package enabled, or with the bundle of a release of Hudi."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.driver.memory", memory)
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", str(cores * 2))
    builder = builder.config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
    if name != "ours":
        builder = builder.config("spark.jars", os.environ["HUDI_BUNDLE"])
        builder = builder.config("spark.driver.extraJavaOptions", "-Djol.skipHotspotSAAttach=true")
        builder = builder.config("spark.kryo.registrator", "org.apache.spark.HoodieSparkKryoRegistrar")
        builder = builder.config("spark.sql.extensions", "org.apache.spark.sql.hudi.HoodieSparkSessionExtension")
        catalog = "org.apache.spark.sql.hudi.catalog.HoodieCatalog"
        builder = builder.config("spark.sql.catalog.spark_catalog", catalog)
    spark = builder.getOrCreate()
    if name == "ours":
        import hudi_hive.spark as hudi_spark

        hudi_spark.enable(spark)
    return spark


def side(name: str, folder: Path, rows: int, cores: int, memory: str, kinds: list[str]) -> None:
    """One side, in a process of its own: prints a line of JSON for each measured write."""
    from pyspark.sql import functions as sql

    spark = session_of(name, cores, memory)

    def trips(first: int, last: int, ts: int):
        n = sql.col("n")
        return (
            spark.range(first, last, 1, cores * 2)
            .withColumnRenamed("id", "n")
            .select(
                sql.format_string("k%010d", n).alias("id"),
                sql.concat(sql.lit("c"), (n % 8).cast("string")).alias("city"),
                (sql.hash(n) % 10000 / 100.0).alias("fare"),
                sql.concat(sql.lit("driver-"), (sql.hash(n, sql.lit(1)) % 5000).cast("string")).alias("driver"),
                sql.sha2(n.cast("string"), 256).alias("note"),
                sql.lit(ts).cast("long").alias("ts"),
            )
        )

    def write(frame, path: Path, kind: str, operation: str) -> dict[str, float]:
        with Peak() as peak:
            started, spent = time.perf_counter(), cpu_seconds(os.getpid())
            options = options_of(kind, operation)
            frame.write.format("hudi").options(**options).mode("append").save(str(path))
            seconds = time.perf_counter() - started
            return {"seconds": seconds, "cpu": cpu_seconds(os.getpid()) - spent, "peak": peak.bytes}

    for kind in kinds:
        warm = folder / f"{name}_{kind}_warm"
        write(trips(0, 1000, 1), warm, kind, "bulk_insert")
        write(trips(0, 100, 2), warm, kind, "upsert")
        table = folder / f"{name}_{kind}"
        taken = write(trips(0, rows, 1), table, kind, "bulk_insert")
        print("told " + json.dumps({"kind": kind, "what": "bulk_insert", "rows": rows, **taken}), flush=True)
        taken = write(trips(0, rows, 2).where("hash(id) % 10 = 0"), table, kind, "upsert")
        print(
            "told " + json.dumps({"kind": kind, "what": "upsert of a tenth", "rows": rows // 10, **taken}), flush=True
        )
        count = spark.read.format("hudi").load(str(table)).count()
        assert count == rows, f"{name} {kind}: {count} rows"
    spark.stop()


def run(name: str, folder: Path, options: argparse.Namespace) -> dict[tuple[str, str], dict[str, float]]:
    """A side's measurements by table type and operation."""
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    if name != "ours":
        sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
        from tools.real_hudi import class_path

        bundle, _, jars = class_path(release=name).partition(os.pathsep)
        home = Path(jars).parents[1]
        zipped = next((home / "python" / "lib").glob("py4j-*.zip"))
        environment |= {"SPARK_HOME": str(home), "PYTHONPATH": os.pathsep.join([str(home.parent), str(zipped)])}
        environment["HUDI_BUNDLE"] = bundle
    arguments = ["--side", name, "--folder", str(folder), "--rows", str(options.rows), "--cores", str(options.cores)]
    arguments += ["--memory", options.memory, "--kinds", options.kinds]
    with (folder / f"{name}.log").open("w") as log:
        command = [sys.executable, __file__, *arguments]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} failed: {(folder / f'{name}.log').read_text()[-2000:]}")
    lines = [json.loads(line[5:]) for line in done.stdout.splitlines() if line.startswith("told ")]
    return {(line["kind"], line["what"]): line for line in lines}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="2g")
    parser.add_argument("--hudi", default="1.0.2")
    parser.add_argument("--kinds", default="COW,MOR")
    parser.add_argument("--side", default="")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.side:
        kinds = options.kinds.split(",")
        side(options.side, options.folder, options.rows, options.cores, options.memory, kinds)
        return
    with tempfile.TemporaryDirectory() as folder:
        theirs = run(options.hudi, Path(folder), options)
        ours = run("ours", Path(folder), options)
    for key, mine in ours.items():
        other = theirs[key]
        rates = [line["rows"] / line["seconds"] for line in (mine, other)]
        print(
            f"{key[0]} {key[1]}: hudi_hive {rates[0]:,.0f} rows/s, {mine['cpu']:.1f} CPU-s, "
            f"peak {mine['peak'] / 1e9:.2f} GB; Hudi {options.hudi} {rates[1]:,.0f} rows/s, {other['cpu']:.1f} CPU-s, "
            f"peak {other['peak'] / 1e9:.2f} GB: x{rates[0] / rates[1]:.2f} rows/s, "
            f"x{other['cpu'] / mine['cpu']:.2f} of CPU"
        )


if __name__ == "__main__":
    main()
