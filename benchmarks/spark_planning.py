"""How long Spark takes to plan a scan over many files: our file index against Spark's own listing of the same files.

``python benchmarks/spark_planning.py [--partitions 10000] [--files 50000] [--spark]`` makes two tables in a temporary
folder: one with a metadata table that lists its files, and one of tiny Parquet files (one commit) whose folders have to
be listed. On each, two statements are planned down to their tasks, several times: all partitions, and one. Nothing is
read. With ``--spark``, ``spark.read.parquet`` plans the same files too, which takes minutes for 50,000.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hudi_tables import write_listing_table

import hudi_hive.spark as hudi_spark

INSTANT, COMPLETED = "20240101000000000", "20240101000001000"
SCHEMA = {
    "type": "record",
    "name": "bench_record",
    "namespace": "hoodie.bench",
    "fields": [
        {"name": name, "type": ["null", kind], "default": None} for name, kind in (("v", "long"), ("p", "string"))
    ],
}
PROPERTIES = """hoodie.table.name=bench
hoodie.table.type=COPY_ON_WRITE
hoodie.table.version=8
hoodie.timeline.layout.version=2
hoodie.table.partition.fields=p
hoodie.table.keygenerator.type=SIMPLE
hoodie.datasource.write.hive_style_partitioning=true
"""
ROUNDS = 5


def make_table(base: Path, partitions: int, files: int) -> None:
    meta = [f"_hoodie_{name}" for name in ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")]
    row = {**{name: ["x"] for name in meta}, "v": [1], "p": ["x"]}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(row), sink)
    data = sink.getvalue().to_pybytes()
    stats: dict[str, list[dict]] = {}
    for number in range(files):
        partition = f"p=p{number % partitions:06d}"
        folder = base / partition
        if partition not in stats:
            folder.mkdir(parents=True)
            (folder / ".hoodie_partition_metadata").write_text(f"commitTime={INSTANT}\npartitionDepth=1\n")
        name = f"{number:08d}-0000-0000-0000-000000000000-0_0-1-1_{INSTANT}.parquet"
        (folder / name).write_bytes(data)
        stat = {"fileId": name.split("_")[0], "path": f"{partition}/{name}", "prevCommit": "null", "numWrites": 1}
        stats.setdefault(partition, []).append(stat | {"fileSizeInBytes": len(data), "partitionPath": partition})
    timeline = base / ".hoodie" / "timeline"
    timeline.mkdir(parents=True)
    (base / ".hoodie" / "hoodie.properties").write_text(PROPERTIES)
    commit = {"partitionToWriteStats": stats, "compacted": False, "operationType": "INSERT"}
    commit["extraMetadata"] = {"schema": json.dumps(SCHEMA)}
    (timeline / f"{INSTANT}.commit.requested").touch()
    (timeline / f"{INSTANT}.inflight").touch()
    (timeline / f"{INSTANT}_{COMPLETED}.commit").write_text(json.dumps(commit))


def median(action) -> tuple[float, float]:
    """First time and median of the others, seconds."""
    times = []
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return times[0], statistics.median(times[1:])


def planned(frame) -> int:
    """Plan a frame down to its tasks; runs nothing."""
    return frame._jdf.queryExecution().toRdd().getNumPartitions()


def report(spark, base: Path, column: str, value: str) -> None:
    cases = {
        "all partitions": lambda: planned(hudi_spark.load(spark, base)),
        "one partition": lambda: planned(hudi_spark.load(spark, base).where(f"{column} = '{value}'")),
    }
    for name, action in cases.items():
        first, later = median(action)
        scan = hudi_spark.planned_scans(spark)[-1]
        print(
            f"{base.name}, {name}: statement {first:.2f} s at first, {later:.2f} s then; "
            f"{scan.partitions_planned} of {scan.partitions_total} partitions, {scan.files} files; "
            f"of that the file index {scan.seconds:.2f} s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--spark", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with tempfile.TemporaryDirectory() as folder:
        listed, walked = Path(folder) / "metadata_table", Path(folder) / "folders"
        write_listing_table(listed, options.partitions, options.files // options.partitions)
        make_table(walked, options.partitions, options.files)
        session = hudi_spark.session_builder().master("local[2]").config("spark.ui.enabled", "false")
        session = session.config("spark.driver.memory", "1g").config("spark.log.level", "OFF")
        session = session.config("spark.ui.showConsoleProgress", "false")
        spark = session.config("spark.sql.catalogImplementation", "in-memory").getOrCreate()
        report(spark, listed, "city_group", "p00001")
        report(spark, walked, "p", "p000001")
        if options.spark:
            paths = hudi_spark.load(spark, walked).inputFiles()
            schema = spark.read.parquet(paths[0]).schema
            first, later = median(lambda: planned(spark.read.schema(schema).parquet(*paths)))
            print(f"spark.read.parquet on the same {len(paths)} files: {first:.2f} s at first, {later:.2f} s then")
        spark.stop()


if __name__ == "__main__":
    main()
