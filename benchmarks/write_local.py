"""Writing without an engine: tables of each type next to plain Parquet of the same rows, in the same process.

    python benchmarks/write_local.py [--rows 2000000] [--version 8] [--partitions 8] [--no-metadata] [--codec gzip]

Prints rows a second by wall clock and by CPU of a bulk_insert, an upsert of a tenth of the rows and a delete of a
hundredth, for copy-on-write and merge-on-read, and of ``pyarrow.parquet`` with the same compression; and the process's
peak memory. ``--profile`` tells where the time of each step goes.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import pstats
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_hive import HudiTable
from hudi_hive.formats.base import CODECS


def make_rows(count: int, partitions: int, seed: int, ids: np.ndarray | None = None) -> pa.Table:
    """Rides: a key of text, an ordering field, a partition, numbers and texts."""
    rng = np.random.default_rng(seed)
    numbers = np.arange(count) if ids is None else ids
    places = pa.array([f"region-{number}" for number in range(partitions)])
    return pa.table(
        {
            "ride_id": pc.binary_join_element_wise("ride", pa.array(numbers + 10**9).cast(pa.string()), "-"),
            "ts": pa.array(np.full(len(numbers), seed)),
            "region": places.take(pa.array(numbers % partitions)),
            "driver": pc.binary_join_element_wise(
                "d", pa.array(rng.integers(0, 50_000, len(numbers))).cast(pa.string()), ""
            ),
            "fare": pa.array(rng.random(len(numbers)) * 100),
            "stops": pa.array(rng.integers(0, 9, len(numbers)), pa.int32()),
            "paid": pa.array(rng.integers(0, 10**15, len(numbers)), pa.timestamp("us", "UTC")),
            "note": pc.binary_join_element_wise(
                "note", pa.array(rng.integers(0, 10**6, len(numbers))).cast(pa.string()), " "
            ),
        }
    )


def timed(label: str, rows: int, run: Callable[[], object], profile: bool) -> None:
    gc.collect()
    profiler = cProfile.Profile() if profile else None
    begin, cpu = time.perf_counter(), time.process_time()
    if profiler is not None:
        profiler.runcall(run)
    else:
        run()
    wall, spent = time.perf_counter() - begin, time.process_time() - cpu
    speed = f"{rows / wall:>11,.0f} rows/s   of CPU {rows / spent:>11,.0f} rows/s"
    print(f"{label:36} {rows:>9,} rows  {wall:7.2f} s  {speed}")
    if profiler is not None:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(18)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--version", type=int, default=8)
    parser.add_argument("--codec", default="gzip")
    parser.add_argument("--no-metadata", action="store_true")
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    options = {"hoodie.parquet.compression.codec": given.codec}
    options["hoodie.metadata.enable"] = "false" if given.no_metadata else "true"
    rows = make_rows(given.rows, given.partitions, 1)
    rng = np.random.default_rng(7)
    tenth = rng.choice(given.rows, given.rows // 10, replace=False)
    changes = make_rows(given.rows, given.partitions, 2, tenth)
    deletes = rows.take(pa.array(tenth[: given.rows // 100])).select(["ride_id", "region", "ts"])
    with tempfile.TemporaryDirectory() as folder:
        level = CODECS[given.codec]
        timed(
            f"plain Parquet, {given.codec}",
            given.rows,
            lambda: pq.write_table(rows, f"{folder}/p", compression=given.codec, compression_level=level),
            False,
        )
        for kind in ("COPY_ON_WRITE", "MERGE_ON_READ"):
            table = HudiTable.create(
                f"{folder}/{kind.lower()}",
                name="rides",
                table_type=kind,
                version=given.version,
                record_keys=["ride_id"],
                partition_fields=["region"],
                ordering_fields=["ts"],
            )
            steps = (("bulk_insert", rows), ("upsert", changes), ("delete", deletes))
            for operation, some in steps:
                run = partial(table.write, operation, some, options)
                timed(f"{kind} {operation}", some.num_rows, run, given.profile)
            assert table.refresh().scan().to_arrow().num_rows == given.rows - deletes.num_rows
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")


if __name__ == "__main__":
    main()
