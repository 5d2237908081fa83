"""Reading base files: ours next to ``pyarrow.dataset`` on the same files, in the same process, best of several runs.

    python benchmarks/base_scan.py [--rows 2000000] [--files 8] [--small-files 400] [--repeat 5]

Prints wall-clock milliseconds of both and the ratios of wall-clock and CPU time for: all columns, three columns, a
selective filter, a filter that drops row groups, and many small files.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from hudi_hive.predicate import parse_filter
from hudi_hive.read import BaseScan, read_base_files
from hudi_hive.schema import META_FIELDS
from hudi_hive.storage import Storage


def make_table(rows: int, start: int, name: str) -> pa.Table:
    rng = np.random.default_rng(start)
    ids = np.arange(start, start + rows)
    texts = pa.array(ids).cast(pa.string())
    meta = [
        pa.repeat("20260101000000000", rows),
        pc.binary_join_element_wise(pa.repeat("20260101000000000_0", rows), texts, "_"),
        texts,
        pa.repeat("", rows),
        pa.repeat(name, rows),
    ]
    cities = pa.array(["oslo", "rome", "sf", "lima"]).take(pa.array(rng.integers(0, 4, rows)))
    stops = pa.array(rng.integers(0, 9, rows), pa.int32())
    own = [pa.array(ids), cities, pa.array(rng.random(rows) * 100), stops, pc.utf8_upper(texts)]
    return pa.table([*meta, *own], names=[*META_FIELDS, "id", "city", "fare", "stops", "note"])


def write_files(folder: str, files: int, rows: int, group_rows: int) -> tuple[pa.Table, pa.Schema]:
    names = []
    table = None
    for i in range(files):
        names.append(f"f{i:05d}-0_0-1-1_20260101000000000.parquet")
        table = make_table(rows, i * rows, names[-1])
        pq.write_table(table, f"{folder}/{names[-1]}", row_group_size=group_rows, compression="gzip")
    assert table is not None
    sizes = [os.path.getsize(f"{folder}/{name}") for name in names]
    return pa.table({"partition": [""] * files, "name": names, "size": sizes}), table.schema


def timed(run: Callable[[], int]) -> tuple[float, float, int]:
    """Wall-clock and CPU milliseconds, rows."""
    gc.collect()
    begin, cpu = time.perf_counter(), time.process_time()
    rows = run()
    return (time.perf_counter() - begin) * 1000, (time.process_time() - cpu) * 1000, rows


def compare(label: str, ours: Callable[[], int], theirs: Callable[[], int], repeat: int) -> None:
    # Turn by turn, so that other load on the machine hits both.
    our_runs, their_runs = zip(*((timed(ours), timed(theirs)) for _ in range(repeat)), strict=True)
    our_rows, their_rows = our_runs[0][2], their_runs[0][2]
    assert our_rows == their_rows, (label, our_rows, their_rows)
    our_ms, their_ms = min(run[0] for run in our_runs), min(run[0] for run in their_runs)
    our_cpu, their_cpu = min(run[1] for run in our_runs), min(run[1] for run in their_runs)
    print(
        f"{label:42} {our_rows:>9,} rows   ours {our_ms:7.1f} ms   pyarrow.dataset {their_ms:7.1f} ms   "
        f"ratio {our_ms / their_ms:4.2f}   of CPU {our_cpu / their_cpu:4.2f}"
    )


def scan_cases(folder: str, files: pa.Table, schema: pa.Schema, repeat: int, label: str) -> None:
    storage = Storage(folder)
    paths = [f"{folder}/{name}" for name in files.column("name").to_pylist()]

    def ours(columns: list[str] | None, text: str | None) -> int:
        row_filter = parse_filter(text, schema)
        output = schema if columns is None else pa.schema([schema.field(name) for name in columns])
        scan = BaseScan(target_schema=schema, columns=columns, row_filter=row_filter)
        batches = read_base_files(storage, files, scan)
        return pa.Table.from_batches(batches, schema=output).num_rows

    def theirs(columns: list[str] | None, expression: pc.Expression | None) -> int:
        return ds.dataset(paths, format="parquet").to_table(columns=columns, filter=expression).num_rows

    few = ["id", "city", "fare"]
    cases = [
        ("all columns", None, None, None),
        ("three columns", few, None, None),
        (
            "city = 'sf' AND fare > 10",
            few,
            "city = 'sf' AND fare > 10",
            (pc.field("city") == "sf") & (pc.field("fare") > 10),
        ),
        ("fare < 0.001, all columns", None, "fare < 0.001", pc.field("fare") < 0.001),
        ("id < 100000 (skips row groups)", None, "id < 100000", pc.field("id") < 100_000),
    ]
    for name, columns, text, expression in cases:
        compare(f"{label}: {name}", partial(ours, columns, text), partial(theirs, columns, expression), repeat)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--small-files", type=int, default=400)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files, schema = write_files(folder, options.files, options.rows // options.files, 100_000)
        scan_cases(folder, files, schema, options.repeat, f"{options.files} files")
    with tempfile.TemporaryDirectory() as folder:
        files, schema = write_files(folder, 1, options.rows, 200_000)
        scan_cases(folder, files, schema, options.repeat, "1 file")
    with tempfile.TemporaryDirectory() as folder:
        files, schema = write_files(folder, options.small_files, 200, 200)
        scan_cases(folder, files, schema, options.repeat, f"{options.small_files} small")


if __name__ == "__main__":
    main()
