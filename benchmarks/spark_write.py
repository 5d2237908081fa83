"""Writing DataFrames: rows a second of a bulk insert and of two upserts of a tenth, beside real Hudi on Spark 3.5.

``python benchmarks/spark_write.py [--rows 4000000] [--cores 2] [--memory 2g] [--hudi 1.0.2] [--kinds COW,MOR]``: both
sides write the same rows, which they read from Parquet files, with the same options into tables of version 8, the
metadata table on, write by write in turn; each first writes a small table of the kind to warm up. CPU and peak memory
are those of the JVM and all processes below it (Linux only), the latter sampled.
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
from typing import TYPE_CHECKING, Any

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


STEPS = ("bulk_insert", "upsert of a tenth", "upsert of another")


def side(name: str, folder: Path, rows: int, cores: int, memory: str) -> None:
    """One side, in a process of its own: for each line with a kind and a step it prints a line of JSON."""
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

    def stored(frame, what: str):
        path = str(folder / f"{name}_{what}.parquet")
        frame.write.parquet(path)
        return spark.read.parquet(path)

    def write(frame, path: Path, kind: str, operation: str) -> dict[str, float]:
        with Peak() as peak:
            started, spent = time.perf_counter(), cpu_seconds(os.getpid())
            options = options_of(kind, operation)
            frame.write.format("hudi").options(**options).mode("append").save(str(path))
            seconds = time.perf_counter() - started
            return {"seconds": seconds, "cpu": cpu_seconds(os.getpid()) - spent, "peak": peak.bytes}

    # Rows come from files, as those of users: what making them costs is none of the write's.
    sources = {STEPS[0]: stored(trips(0, rows, 1), "inserted")}
    for number, step in enumerate(STEPS[1:]):
        sources[step] = stored(trips(0, rows, 2 + number).where(f"hash(id) % 10 = {number}"), f"upserted_{number}")
    counts = {step: frame.count() for step, frame in sources.items()}
    print("told {}", flush=True)
    for line in sys.stdin:
        kind, step = line.rstrip().split(" ", 1)
        table = folder / f"{name}_{kind}"
        if step == STEPS[0]:  # warm up
            for count, operation in ((1000, "bulk_insert"), (100, "upsert")):
                write(trips(0, count, 1), folder / f"{name}_{kind}_warm", kind, operation)
        taken = write(sources[step], table, kind, step.partition(" ")[0])
        read = spark.read.format("hudi").load(str(table)).count()
        assert read == rows, f"{name} {kind}: {read} rows"
        print("told " + json.dumps({"rows": counts[step], **taken}), flush=True)
    spark.stop()


class Side:
    """The process of one side: a script that answers each line it reads with ``told`` and a line of JSON.

    Args:
        name: ``ours``, or a release of Hudi; the script is told by ``--side``.
        folder: its working folder; what it prints on the side goes to a file there.
        script: and its arguments.
    """

    def __init__(self, name: str, folder: Path, script: list[str]) -> None:
        self._name, self._log = name, folder / f"{name}.log"
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        if name != "ours":
            sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
            from tools.real_hudi import spark_process

            environment["HUDI_BUNDLE"], real = spark_process(name)
            environment |= real
        command = [sys.executable, *script, "--side", name, "--folder", str(folder)]
        with self._log.open("w") as log:
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log}
            self._process = subprocess.Popen(command, env=environment, text=True, cwd=folder, **pipes)
        self.process = self._process.pid
        self._answer()

    def ask(self, text: str) -> dict[str, Any]:
        """What the side says of one step."""
        assert self._process.stdin is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()
        return self._answer()

    def end(self) -> None:
        """Have the process end, and wait for it."""
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("told "):
                answer: dict[str, Any] = json.loads(line[5:])
                return answer
        raise RuntimeError(f"{self._name} failed: {self._log.read_text()[-3000:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="2g")
    parser.add_argument("--hudi", default="1.0.2")
    parser.add_argument("--kinds", default="COW,MOR")
    parser.add_argument("--side", default="")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.side:
        side(options.side, options.folder, options.rows, options.cores, options.memory)
        return
    script = [str(Path(__file__).resolve()), "--rows", str(options.rows), "--cores", str(options.cores)]
    script += ["--memory", options.memory]
    with tempfile.TemporaryDirectory() as folder:
        sides = [Side(name, Path(folder), script) for name in (options.hudi, "ours")]
        for kind in options.kinds.split(","):
            for step in STEPS:
                theirs, ours = (one.ask(f"{kind} {step}") for one in sides)
                rates = [line["rows"] / line["seconds"] for line in (ours, theirs)]
                print(
                    f"{kind} {step}: hudi_hive {rates[0]:,.0f} rows/s, {ours['cpu']:.1f} CPU-s, "
                    f"peak {ours['peak'] / 1e9:.2f} GB; Hudi {options.hudi} {rates[1]:,.0f} rows/s, "
                    f"{theirs['cpu']:.1f} CPU-s, peak {theirs['peak'] / 1e9:.2f} GB: "
                    f"x{rates[0] / rates[1]:.2f} rows/s, x{theirs['cpu'] / ours['cpu']:.2f} of CPU",
                    flush=True,
                )
        for one in sides:
            one.end()


if __name__ == "__main__":
    main()
