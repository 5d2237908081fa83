"""What each step costs on a table of very many files, partitions and keys, as far as one machine can tell.

    python benchmarks/scale.py [--files 1000000] [--partitions 100000] [--keys 2000000] [--synced 100000] [--store 1000]
                               [--only plan,sync] [--folder /tmp/scale]

The files are not there: a metadata table lists them (``scale_tables.py``), a fake metastore holds the partitions. Each
step is a process of its own that has done it on a small table before, so that imports do not count. Columns: CPU
seconds of all threads, the peak of resident memory above what was there before, in all and for each unit, requests to
the local disk as a store would see them, calls to the metastore. *by executors*: the part of the work that another
process does in place of executors is not counted. *on S3*: requests that a proxy before moto counted, by kind; the
table there is of
``--store`` partitions, since moto is slow. A step is linear where its figures for each unit are those of a smaller run:
``growth.py`` measures the exponents. ``--folder`` keeps tables for the next run.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

METASTORE: Final = "SCALE_METASTORE"
_STEPS: dict[str, Callable[[Path], dict[str, int]]] = {}
Step = Callable[[Path], dict[str, int]]


def step(name: str) -> Callable[[Step], Step]:
    """Decorator of a step: does it to the table at a path, and gives numbers of what it did."""

    def add(function: Step) -> Step:
        _STEPS[name] = function
        return function

    return add


# -- planning ----------------------------------------------------------------------------------------------------


@step("partitions listed")
def partitions_listed(path: Path) -> dict[str, int]:
    from hudi_hive.metadata import MetadataListing
    from hudi_hive.table import MetaClient

    return {"partitions": len(MetaClient.load(path, listing=MetadataListing()).partition_paths())}


@step("plan")
def plan(path: Path) -> dict[str, int]:
    from hudi_hive import HudiTable

    return {"files": HudiTable.open(path).scan().plan().slices.num_rows}


@step("plan by executors")
def plan_by_executors(path: Path) -> dict[str, int]:
    from hudi_hive.metadata import MetadataListing
    from hudi_hive.plan import Query, plan_scan
    from hudi_hive.table import MetaClient
    from hudi_hive.table.view import DirectoryLister, SpreadListing

    client = MetaClient.load(path, listing=MetadataListing())
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        spread = SpreadListing(lambda function, tasks: pool.map(function, tasks, 1), 50, 32, 1)
        client.memoize("directory_lister", lambda: DirectoryLister(client.storage, lambda: spread))
        return {"files": plan_scan(client, Query()).slices.num_rows}


@step("plan of 10 partitions")
def plan_of_some(path: Path) -> dict[str, int]:
    from hudi_hive import HudiTable

    names = ", ".join(f"'p{number:07d}'" for number in range(10))
    return {"files": HudiTable.open(path).scan(row_filter=f"part IN ({names})").plan().slices.num_rows}


@step("first splits")
def first_splits(path: Path) -> dict[str, int]:
    from hudi_hive.plan import PartitionPlanner, Query, ReadOptions, SplitLoader
    from hudi_hive.table import MetaClient

    begin = time.perf_counter()
    planner = PartitionPlanner(MetaClient.load(path), Query(options=ReadOptions(metadata_enable=True)))
    with SplitLoader(planner) as loader:
        loader.next_batch()
        return {"milliseconds": round(1_000 * (time.perf_counter() - begin))}


@step("all splits")
def all_splits(path: Path) -> dict[str, int]:
    from hudi_hive.plan import PartitionPlanner, Query, ReadOptions, SplitLoader
    from hudi_hive.table import MetaClient

    planner = PartitionPlanner(MetaClient.load(path), Query(options=ReadOptions(metadata_enable=True)))
    splits = 0
    with SplitLoader(planner) as loader:
        while batch := loader.next_batch(10_000).num_rows:
            splits += batch
    return {"splits": splits}


# -- writing ----------------------------------------------------------------------------------------------------


_LATE: Final = 100_000_000
"""Number of an instant behind those of all compactions, which are of now."""


def _commit_files(path: Path, at: int, delta_commits: int) -> dict[str, int]:
    import growth_tables as small

    from hudi_hive.table import MetaClient

    options = {**small.BARE, "hoodie.metadata.compact.max.delta.commits": str(delta_commits)}
    small.apply(MetaClient.load(path), _LATE + at, "commit", small.changes(1_000, 1_000, 100 + at), options)
    small.commit(MetaClient.load(path), _LATE + at, [])
    return {"files": 1_000}


@step("commit of 1,000 files")
def commit_of_files(path: Path) -> dict[str, int]:
    return _commit_files(path, 0, 1_000)


@step("commit that compacts the file lists")
def commit_that_compacts(path: Path) -> dict[str, int]:
    _commit_files(path, 0, 1_000)
    return _commit_files(path, 1, 1)


# -- keys ----------------------------------------------------------------------------------------------------


def look_keys_up(count: int, path: Path) -> dict[str, int]:
    """One task of an executor: keys in one file group of the record index, every second one there."""
    import numpy as np
    import pyarrow as pa
    import scale_tables as tables

    from hudi_hive.metadata import MetadataListing
    from hudi_hive.table import MetaClient
    from hudi_hive.write.coordination import LocalExecutor
    from hudi_hive.write.index import open_index
    from hudi_hive.write.options import WriteConfig

    client = MetaClient.load(path, listing=MetadataListing())
    index = open_index(WriteConfig.of({"hoodie.index.type": "RECORD_INDEX"}, client.config), client)
    (task,) = index.plan_lookup([], LocalExecutor(1)).tasks
    total = json.loads((path / "keys.json").read_text())
    numbers = np.random.default_rng(7).integers(0, 2 * total, count)
    hits = task.lookup(pa.table([tables.keys_of(numbers)], names=["key"]))
    return {"keys": count, "hits": hits.num_rows}


for _count in (1_000, 100_000):
    _STEPS[f"{_count:,} keys looked up in a file group"] = partial(look_keys_up, _count)


# -- syncs ----------------------------------------------------------------------------------------------------


def _sync(path: Path) -> dict[str, int]:
    from hudi_hive.sync import HiveSyncConfig, HiveSyncTool

    prefix = "hoodie.datasource.hive_sync."
    options = {
        "hoodie.datasource.meta.sync.base.path": str(path),
        prefix + "mode": "hms",
        prefix + "metastore.uris": os.environ[METASTORE],
        prefix + "database": f"d_{path.parent.name}_{path.name}",
        prefix + "table": "t",
        prefix + "partition_fields": "part",
        prefix + "partition_extractor_class": "org.apache.hudi.hive.SinglePartPartitionValueExtractor",
    }
    return {"calls": HiveSyncTool(HiveSyncConfig.from_options(options)).sync().total_calls}


_STEPS["first sync"] = _sync
_STEPS["sync of nothing"] = _sync

# -- one process ----------------------------------------------------------------------------------------------------


def child(name: str, small: Path, path: Path) -> dict[str, float]:
    """The costs of a step."""
    from growth import count_requests
    from process_memory import memory_mb, reset_peak

    requests = count_requests()
    function = _STEPS[name]
    if name != "first sync":
        function(small)
    gc.collect()
    requests.clear()
    before = reset_peak()
    start, cpu = time.perf_counter(), time.process_time()
    told = function(path)
    costs = {"cpu": time.process_time() - cpu, "seconds": time.perf_counter() - start, **told}
    of_store = sum(requests[kind] for kind in ("lists", "opens", "reads", "exists", "writes", "deletes"))
    return {**costs, "memory": memory_mb("VmHWM") - before, "requests": of_store}


@dataclass(frozen=True)
class Row:
    """A line of the result: a step, the table that it is done to and its units."""

    step: str
    table: str
    units: int
    unit: str


def rows_of(arguments: argparse.Namespace) -> list[Row]:
    """The lines, in their order."""
    files, partitions, keys, synced = arguments.files, arguments.partitions, arguments.keys, arguments.synced
    of_files = f"files {files} {partitions}"
    result = [
        Row("partitions listed", of_files, partitions, "partition"),
        Row("plan", of_files, files, "file"),
        Row("plan by executors", of_files, files, "file"),
        Row("plan of 10 partitions", of_files, partitions, "partition"),
        Row("first splits", of_files, partitions, "partition"),
        Row("all splits", of_files, files, "file"),
        Row("commit of 1,000 files", of_files, files, "file"),
        Row("commit that compacts the file lists", of_files, files, "file"),
    ]
    result += [Row(name, f"keys {keys}", keys, "key") for name in _STEPS if "looked up" in name]
    of_synced = f"files {synced} {synced}"
    return [*result, *(Row(name, of_synced, synced, "partition") for name in ("first sync", "sync of nothing"))]


def made(folder: Path, table: str) -> Path:
    """The path of a table, which is made if it is not there."""
    import scale_tables as tables

    path = folder / table.replace(" ", "_")
    if not (path / "made").exists():
        shutil.rmtree(path, ignore_errors=True)
        kind, *sizes = table.split()
        if kind == "keys":
            tables.write_index_table(path, int(sizes[0]))
            (path / "keys.json").write_text(sizes[0])
        else:
            tables.write_scale_table(path, int(sizes[0]), int(sizes[1]))
        (path / "made").touch()
    return path


def measure(name: str, small: Path, path: Path, uri: str) -> dict[str, Any]:
    """A step in a process of its own."""
    command = [sys.executable, __file__, "--child", name, str(small), str(path)]
    allocators = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **allocators, METASTORE: uri}, check=False
    )
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def show(row: Row, costs: dict[str, Any]) -> None:
    """Print a line."""
    each = f"{1e6 * costs['cpu'] / row.units:8.2f} µs {1e6 * costs['memory'] / row.units:8.0f} B a {row.unit}"
    more = {name: number for name, number in costs.items() if name not in ("cpu", "memory", "requests", "seconds")}
    numbers = f"{costs['cpu']:8.2f} CPU-s {costs['seconds']:8.2f} s {costs['memory']:7.0f} MB"
    print(f"{row.step:38} {row.table:24} {numbers} {each:38} {costs['requests']:6,.0f} requests {more}", flush=True)


# -- a store ----------------------------------------------------------------------------------------------------


def show_requests(folder: Path, partitions: int) -> None:
    """Print the requests to S3 of opening, planning and looking keys up."""
    from hudi_hive import HudiTable
    from tests.support.stores import S3Server, StoreProxy

    path = made(folder, f"files {10 * partitions} {partitions}")
    with S3Server() as s3, StoreProxy(s3.port) as proxy:
        uri = s3.folder()
        s3.upload(path, uri)
        some = "part IN ('p0000000', 'p0000001')"
        for name, where in (("plan", None), ("plan of 2 partitions", some)):
            with proxy.recording() as recording:
                HudiTable.open(uri, s3.options(proxy.port)).scan(row_filter=where).plan()
            label = f"{name}, on S3"
            kinds = dict(recording.kinds)
            print(f"{label:38} {path.name:24} {len(recording):4} requests, {recording.in_flight} at once: {kinds}")


def main() -> int:
    """Make the tables, run all steps, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, number in (("files", 1_000_000), ("partitions", 100_000), ("keys", 2_000_000), ("synced", 100_000)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--store", type=int, default=1_000, help="partitions of the table on S3; 0 for none")
    parser.add_argument("--only", default="", help="parts of the names of steps, with commas between them")
    parser.add_argument("--folder", type=Path, help="keeps the tables")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    os.fsync = lambda descriptor: None  # nothing here needs to outlive a loss of power
    if arguments.child:
        name, small, path = arguments.child
        print(json.dumps(child(name, Path(small), Path(path))))
        return 0
    from hudi_hive.testing import FakeMetastore

    with tempfile.TemporaryDirectory(prefix="scale_") as text, FakeMetastore() as metastore:
        folder = arguments.folder or Path(text)
        folder.mkdir(parents=True, exist_ok=True)
        for row in rows_of(arguments):
            if any(part in row.step for part in arguments.only.split(",")):
                small = made(folder, "keys 1000" if row.unit == "key" else "files 100 20")
                path = made(folder, row.table)
                if row.step.startswith("commit"):  # it changes the table
                    copies = Path(tempfile.mkdtemp(dir=text))
                    small, path = (Path(shutil.copytree(one, copies / one.name)) for one in (small, path))
                show(row, measure(row.step, small, path, metastore.uri))
        if arguments.store and any(part in "store" for part in arguments.only.split(",")):
            show_requests(folder, arguments.store)
    return 0


if __name__ == "__main__":
    sys.exit(main())
