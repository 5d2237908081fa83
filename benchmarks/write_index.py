"""Finding the file groups of an upsert's rows: each index on one table, beside a plain join of Arrow's.

``python benchmarks/write_index.py [--rows 2000000] [--share 0.1] [--partitions 8] [--threads 2]``: a table of that many
rows is written, file groups of about 100,000 rows with Hudi's bloom filters, then a share of its keys, once spread over
the table and once neighbours, is looked up together with a tenth as many keys that the table does not have. Seconds
are CPU seconds of all threads, of a process for each measurement, the least of ``--repeat`` runs, with a new client
each; megabytes the peak of that process. The peer reads the key columns of all base files with ``pyarrow.dataset`` and
joins them with the keys.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from process_memory import memory_mb

KINDS = ("SIMPLE", "GLOBAL_SIMPLE", "BLOOM", "GLOBAL_BLOOM", "RECORD_INDEX")
GROUP_ROWS = 100_000
PEER = "pyarrow join"


def key_column(numbers: np.ndarray) -> pa.Array:
    """Keys of 24 characters in the order of their numbers."""
    text = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 12, "0")
    return pc.binary_join_element_wise("trip-2026", text, "xyz", "")


def partition_column(numbers: np.ndarray, partitions: int, rows: int) -> pa.Array:
    """Neighbours share a partition."""
    names = pa.array([f"day={at:03d}" for at in range(partitions + 1)])
    return names.take(pa.array(np.minimum(numbers * partitions // rows, partitions - 1)))


def make_table(path: Path, rows: int, partitions: int, record_index: bool) -> None:
    from hudi_hive import HudiTable

    table = HudiTable.create(
        path, name="t", version=8, record_keys=["id"], partition_fields=["p"], hive_style_partitioning=False
    )
    options = {
        "hoodie.metadata.enable": str(record_index).lower(),
        "hoodie.metadata.record.index.enable": str(record_index).lower(),
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.clean.automatic": "false",
        "hoodie.archive.automatic": "false",
    }
    for start in range(0, rows, GROUP_ROWS):
        numbers = np.arange(start, min(start + GROUP_ROWS, rows))
        columns = [key_column(numbers), partition_column(numbers, partitions, rows), pa.array(numbers * 0.5)]
        table.bulk_insert(pa.table(columns, names=["id", "p", "v"]), options)


def sought(rows: int, partitions: int, share: float, spread: bool) -> pa.Table:
    """Keys to look for: known ones and a tenth as many others."""
    from hudi_hive.write.index import KEYS_SCHEMA

    count = int(rows * share)
    random = np.random.default_rng(3)
    known = np.sort(random.choice(rows, count, replace=False)) if spread else np.arange(rows // 3, rows // 3 + count)
    numbers = np.concatenate([known, rows + np.arange(count // 10)])
    partition = partition_column(numbers, partitions, rows)
    return pa.table([key_column(numbers), partition, np.arange(len(numbers))], schema=KEYS_SCHEMA)


def ours(path: str, kind: str, keys: pa.Table, threads: int) -> tuple[int, int]:
    """Keys found, base files opened."""
    from hudi_hive.metadata import MetadataListing
    from hudi_hive.table import MetaClient
    from hudi_hive.write.coordination import LocalExecutor
    from hudi_hive.write.index import open_index
    from hudi_hive.write.options import WriteConfig

    client = MetaClient.load(path, listing=MetadataListing())
    index = open_index(WriteConfig.of({"hoodie.index.type": kind}, client.config), client)
    tags = index.tag(keys, LocalExecutor(threads))
    files = sum(name.endswith(".parquet") for name in client.counters.opened)
    return tags.num_rows - tags.column("file_id").null_count, files


def peer(path: str, keys: pa.Table) -> tuple[int, int]:
    import pyarrow.dataset as ds

    files = [str(file) for file in Path(path).glob("*/*.parquet")]
    columns = ["_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"]
    there = ds.dataset(files, format="parquet").to_table(columns)
    joined = keys.join(there, ["key", "partition"], columns[:2], join_type="left outer")
    return joined.num_rows - joined.column(columns[2]).null_count, len(files)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    pa.set_cpu_count(options.threads)
    keys = sought(options.rows, options.partitions, options.share, options.spread)
    start = time.process_time()
    if options.measure == PEER:
        found, files = peer(options.path, keys)
    else:
        found, files = ours(options.path, options.measure, keys, options.threads)
    seconds = time.process_time() - start
    # Not ru_maxrss, which begins with what the process that started this one had.
    peak = memory_mb("VmHWM")
    return {"seconds": seconds, "found": found, "files": files, "megabytes": peak, "keys": keys.num_rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--measure")
    parser.add_argument("--path")
    parser.add_argument("--spread", action="store_true")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t"
        make_table(path, options.rows, options.partitions, record_index=True)
        print(f"{options.rows} rows in {len(list(path.glob('*/*.parquet')))} base files")
        for spread in (True, False):
            runs = {kind: [run(kind, path, options, spread) for _ in range(options.repeat)] for kind in (PEER, *KINDS)}
            keys, base = runs[PEER][0]["keys"], min(result["seconds"] for result in runs[PEER])
            print(f"\n{keys} keys, {'spread over the table' if spread else 'neighbours'}")
            for kind, results in runs.items():
                best = min(results, key=lambda result: result["seconds"])
                assert best["found"] == int(options.rows * options.share), (kind, best)
                print(
                    f"{kind:14s} {best['seconds']:6.2f} s CPU, {best['seconds'] / base:5.2f} x the join, "
                    f"{best['files']:4d} files opened, {best['megabytes']:5.0f} MB"
                )


def run(kind: str, path: Path, options: argparse.Namespace, spread: bool) -> dict[str, Any]:
    """One measurement in a process of its own."""
    command = [sys.executable, __file__, "--measure", kind, "--path", str(path)]
    for name in ("rows", "partitions", "share", "threads"):
        command += [f"--{name}", str(getattr(options, name))]
    command += ["--spread"] if spread else []
    result: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return result


if __name__ == "__main__":
    main()
