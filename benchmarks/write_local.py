"""Writing without an engine: tables of each type next to plain Parquet of the same rows, in the same process.

    python benchmarks/write_local.py [--rows 2000000] [--version 8] [--partitions 8] [--no-metadata] [--codec gzip]
                                     [--turns 5]

Prints rows a second by wall clock and by CPU of a bulk_insert, an upsert of a tenth of the rows and a delete of a
hundredth, for copy-on-write and merge-on-read, and of ``pyarrow.parquet`` with the same compression; and the process's
peak memory. ``--profile`` tells where the time of each step goes. ``--turns`` has plain Parquet and a
bulk_insert into a new copy-on-write table by turns instead, so many times, and prints the ratios of each turn, and of
the least and the median seconds of all but the first, which imports modules, too.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import os
import pstats
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
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


def measured(run: Callable[[], object]) -> tuple[float, float]:
    """Seconds of a run: by the clock, and of CPU."""
    gc.collect()
    begin, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - begin, time.process_time() - cpu


def by_turns(rows: pa.Table, arguments: argparse.Namespace, options: dict[str, str]) -> None:
    """Plain Parquet and bulk inserts, one after the other."""
    level = CODECS[arguments.codec]
    taken: list[tuple[tuple[float, float], tuple[float, float]]] = []
    for turn in range(arguments.turns):
        with tempfile.TemporaryDirectory() as folder:
            plain = partial(pq.write_table, rows, f"{folder}/p", compression=arguments.codec, compression_level=level)
            table = make_table(f"{folder}/table", "COPY_ON_WRITE", arguments.version)
            taken.append((measured(plain), measured(partial(table.write, "bulk_insert", rows, options))))
        tell(f"turn {turn + 1}", *taken[-1])
    later = np.array(taken[1:] or taken)  # turn, contender, clock and CPU
    tell("least", *later.min(axis=0).tolist())
    tell("median", *np.median(later, axis=0).tolist())


def tell(label: str, plain: Sequence[float], ours: Sequence[float]) -> None:
    """One line: seconds by the clock and of CPU, and our speed as a share of that of plain Parquet."""
    clock, cpu = (f"{one:6.2f} and {other:6.2f} s ({one / other:.2f})" for one, other in zip(plain, ours, strict=True))
    print(f"{label:8} plain Parquet and bulk_insert: {clock}, CPU {cpu}, load {os.getloadavg()[0]:.1f}", flush=True)


def make_table(path: str, kind: str, version: int) -> HudiTable:
    """A table of rides."""
    return HudiTable.create(
        path,
        name="rides",
        table_type=kind,
        version=version,
        record_keys=["ride_id"],
        partition_fields=["region"],
        ordering_fields=["ts"],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--version", type=int, default=8)
    parser.add_argument("--codec", default="gzip")
    parser.add_argument("--no-metadata", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--turns", type=int, default=0)
    given = parser.parse_args()
    options = {"hoodie.parquet.compression.codec": given.codec}
    options["hoodie.metadata.enable"] = "false" if given.no_metadata else "true"
    rows = make_rows(given.rows, given.partitions, 1)
    if given.turns:
        by_turns(rows, given, options)
        return
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
            table = make_table(f"{folder}/{kind.lower()}", kind, given.version)
            steps = (("bulk_insert", rows), ("upsert", changes), ("delete", deletes))
            for operation, some in steps:
                run = partial(table.write, operation, some, options)
                timed(f"{kind} {operation}", some.num_rows, run, given.profile)
            assert table.refresh().scan().to_arrow().num_rows == given.rows - deletes.num_rows
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")


if __name__ == "__main__":
    main()
