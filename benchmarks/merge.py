"""Merge of a base file with log records: CPU seconds, beside reading the base file alone.

``python benchmarks/merge.py [--rows 3000000] [--updates 300000]``: a base file of that many rows of ten columns, and
two log blocks that update a tenth of them, spread evenly, with some new keys and deletes. Both ways read the same
file with one thread.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_hive.read.merge import merge_slice
from hudi_hive.table.logs import LogData, LogDeletes, LogRecords
from hudi_hive.table.merge import MergeSpec, Order


def rows_of(ids, instant):
    """Rows of ten columns, the record key a UUID-like text."""
    count = len(ids)
    text = pa.array(ids).cast(pa.string())
    keys = pa.compute.binary_join_element_wise("8c4f2a1e-77b0-4e6d-9d35", pa.compute.utf8_lpad(text, 12, "0"), "-")
    return pa.RecordBatch.from_pydict(
        {
            "_hoodie_commit_time": pa.array([instant]).take(pa.array(np.zeros(count, np.int64))),
            "_hoodie_record_key": keys,
            "id": pa.array(ids),
            "city": pa.array(["oslo", "rome", "lima", "cairo"]).take(pa.array(ids % 4)),
            "rider": pa.compute.binary_join_element_wise("rider", text, "-"),
            "fare": pa.array(ids * 0.37),
            "distance": pa.array(np.random.default_rng(1).random(count)),
            "seats": pa.array((ids % 5).astype(np.int32)),
            "paid": pa.array(ids % 2 == 0),
            "ts": pa.array(ids + int(instant)),
        }
    )


def timed(batches):
    """Rows and CPU seconds of going through batches."""
    start = time.process_time()
    rows = sum(batch.num_rows for batch in batches)
    return rows, time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--updates", type=int, default=300_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    pa.set_cpu_count(1)
    random = np.random.default_rng(7)
    updated = np.sort(random.choice(options.rows, options.updates, replace=False))
    new = np.arange(options.rows, options.rows + options.updates // 100)
    half = len(updated) // 2
    deleted = rows_of(updated[::50], "9").column("_hoodie_record_key")
    deletes = pa.table(
        {
            "record_key": deleted,
            "partition_path": pa.array([""]).take(pa.array(np.zeros(len(deleted), np.int64))),
            "ordering": pa.nulls(len(deleted)),
            "has_ordering": pa.array(np.zeros(len(deleted), np.bool_)),
        }
    )
    blocks = (
        LogData("2", rows_of(updated[: half + half // 10], "2"), {}),
        LogData("3", rows_of(np.concatenate([updated[half:], new]), "3"), {}),
        LogDeletes("4", deletes),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "base.parquet"
        base = pa.Table.from_batches([rows_of(np.arange(options.rows), "1")])
        pq.write_table(base, path, row_group_size=500_000, compression="zstd")
        schema = base.schema
        del base

        def read():
            with pq.ParquetFile(path) as file:
                yield from file.iter_batches(65_536, use_threads=False)

        print(f"{options.rows} base rows, {options.updates} updates, {len(new)} new keys, {len(deleted)} deletes")
        alone = min(timed(read())[1] for _ in range(options.repeat))
        print(f"reading the base alone  {alone:6.2f} s CPU")
        for order in Order:
            spec = MergeSpec(8, order, order, ordering_fields=("ts",))
            runs = [timed(merge_slice(read(), LogRecords(blocks), spec, schema)) for _ in range(options.repeat)]
            rows, best = runs[0][0], min(seconds for _, seconds in runs)
            assert rows == options.rows - len(deleted) + len(new), rows
            print(f"{order.value:23s} {best:6.2f} s CPU, {best / alone:.2f} x the base alone, {rows} rows")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the process, generation included: {peak:.0f} MiB")


if __name__ == "__main__":
    main()
