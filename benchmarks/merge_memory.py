"""Memory of reading a file slice whose log files update half of its records, in parts and at once.

``python benchmarks/merge_memory.py [--rows 4000000] [--table FOLDER]``: one slice of that many rows of ten columns
(4,000,000: 1.1 GB of base file and 0.55 GB of log files), read to its end through ``to_batches()`` in a process of its
own for each way. Printed are rows, CPU and wall seconds, the peak of resident memory above that of the imports, and
bytes that went to the local disk. ``at once`` is the same with memory without a bound.
"""

from __future__ import annotations

import argparse
import json
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--table", help="a folder to keep the table in, or that has it")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        read(given.table, given.way)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.table or f"{temporary}/rides"
        if not Path(folder, ".hoodie").is_dir():
            make(folder, given.rows)
        (row,) = HudiTable.open(folder).scan().plan().slices.to_pylist()
        print(f"{row['base_size'] / 1e6:,.0f} MB of base file, {sum(row['log_sizes']) / 1e6:,.0f} MB of logs")
        for _ in range(given.turns):
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
