"""Plan 1,000,000 files: names parsed and reduced to the latest slices, beside a plain Python loop doing the same.

Run ``python benchmarks/file_view.py [--files N]``. Two listings are made, one of base files alone and one with a log
file for every ten files. Each is planned in processes of their own: by ``FileSystemView`` and by a loop with a regular
expression and dicts over the same names, both from the same Arrow table in memory and the same timeline. Seconds
do not count making the listing and loading it; megabytes are the peak of the whole process (``ru_maxrss``), the
libraries and the listing included. Both must come to the same slices.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather

COMMITS = 300
PARTITIONS = 2_000
VERSIONS = 4  # base files a group

SECONDS_LIMIT = 5.0
MEGABYTES_LIMIT = 1_536


def instants() -> np.ndarray:
    """Requested times a minute apart; each completes half a minute later."""
    minutes = np.arange(COMMITS)
    return 20_260_101_000_000_000 + (minutes // 60) * 10_000_000 + (minutes % 60) * 100_000


def make_timeline(table: Path) -> None:
    folder = table / ".hoodie" / "timeline"
    folder.mkdir(parents=True)
    for time_ in instants()[:-1].tolist():
        (folder / f"{time_}_{time_ + 30_000}.deltacommit").touch()
    # One group in a hundred was overwritten by the last commit.
    replaced: dict[str, list[str]] = {}
    for group in range(0, PARTITIONS * 10, 100):
        replaced.setdefault(partition_of(group), []).append(f"{file_id_of(group)}-0")
    last = int(instants()[-1])
    metadata = {"partitionToWriteStats": {}, "partitionToReplaceFileIds": replaced, "extraMetadata": {"schema": ""}}
    (folder / f"{last}_{last + 30_000}.replacecommit").write_text(json.dumps(metadata))


def partition_of(group: int) -> str:
    return f"region=r{group % PARTITIONS % 20:02d}/day=2026-{group % PARTITIONS // 20:04d}"


def file_id_of(group: int) -> str:
    mixed = group * 0x9E3779B97F4A7C15 % 2**64
    return f"{mixed >> 32:08x}-{mixed >> 16 & 0xFFFF:04x}-4{mixed & 0xFFF:03x}-a{group & 0xFFF:03x}-{group:012x}"


def make_listing(files: int, log_share: float) -> pa.Table:
    logs = int(files * log_share)
    bases = files - logs
    rng = np.random.default_rng(7)
    groups = np.concatenate([np.arange(bases) // VERSIONS, rng.integers(0, bases // VERSIONS, logs)])
    times = np.concatenate([np.arange(bases) % VERSIONS * 60 + rng.integers(0, 60, bases), rng.integers(0, 299, logs)])
    ids = pa.array([file_id_of(group) for group in range(int(groups.max()) + 1)]).take(pa.array(groups))
    paths = pa.array([partition_of(group) for group in range(PARTITIONS)]).take(pa.array(groups % PARTITIONS))
    stamp = pa.array(instants()[times]).cast(pa.string())
    number = pa.array(np.arange(files)).cast(pa.string())
    base = pc.binary_join_element_wise(ids, "-0_0-17-", number, "_", stamp, ".parquet", "")
    log = pc.binary_join_element_wise(".", ids, "-0_", stamp, ".log.1_0-17-", number, "")
    names = pc.if_else(pa.array(np.arange(files) < bases), base, log)
    shuffled = pa.array(rng.permutation(files))
    size = pa.array(rng.integers(1_000, 10**9, files))
    return pa.table({"partition": paths, "name": names, "size": size}).take(shuffled)


def summary(rows: int, base_bytes: int, log_files: int, instant_sum: int) -> dict[str, int]:
    return {"slices": rows, "base_bytes": base_bytes, "log_files": log_files, "instant_sum": instant_sum % 2**61}


def columnar(files: pa.Table, table: Path) -> tuple[float, dict[str, int]]:
    from hudi_hive.storage import Storage
    from hudi_hive.table import FileSystemView
    from hudi_hive.timeline import Timeline

    timeline = Timeline.load(Storage(table), layout=2)
    start = time.perf_counter()
    slices = FileSystemView(files, timeline).latest_merged_file_slices()
    seconds = time.perf_counter() - start
    logs = int(pc.sum(pc.list_value_length(slices["log_files"])).as_py())
    stamps = pc.sum(pc.subtract(slices["base_instant"].cast(pa.int64()), int(instants()[0]))).as_py()
    return seconds, summary(len(slices), pc.sum(slices["base_size"]).as_py(), logs, stamps)


def loop(files: pa.Table, table: Path) -> tuple[float, dict[str, int]]:
    """Dicts of slices by file group, as one would write it by hand; the rules are those of table version 8."""
    from hudi_hive.storage import Storage
    from hudi_hive.timeline import Timeline

    timeline = Timeline.load(Storage(table), layout=2)
    base_name = re.compile(r"^([^_.]+)_([^_]+)_(\d+)\.(parquet|orc|hfile)$")
    log_name = re.compile(r"^\.([^._]+)_(\d+)\.log\.(\d+)(?:_(\d+-\d+-\d+)(\.cdc)?)?$")
    start = time.perf_counter()
    completed = {instant.requested: instant.completed for instant in timeline.write_instants()}
    first = min(completed)
    dead = {(row["partition"], row["file_id"]) for row in timeline.replaced_file_groups().to_pylist()}
    bases: dict[tuple[str, str], dict[str, tuple[str, int]]] = {}
    logs: dict[tuple[str, str], list[tuple[str, int, str, str, int]]] = {}
    columns = (files[name].to_pylist() for name in ("partition", "name", "size"))
    for partition, name, size in zip(*columns, strict=True):
        if match := base_name.match(name):
            if match[3] in completed or match[3] < first:
                bases.setdefault((partition, match[1]), {})[match[3]] = (name, size)
        elif (match := log_name.match(name)) and not match[5] and (match[2] in completed or match[2] < first):
            found = (match[2], int(match[3]), match[4] or "", name, size)
            logs.setdefault((partition, match[1]), []).append(found)
    rows = []
    for group in sorted(bases.keys() | logs.keys()):
        if group in dead:
            continue
        slices = {instant: (base, []) for instant, base in bases.get(group, {}).items()}
        for log in sorted(logs.get(group, [])):
            done = completed[log[0]]
            key = max((key for key in slices if key <= done), default=None)
            if key is None:
                slices[log[0]] = (None, [log])
            else:
                slices[key][1].append(log)
        newest = max(slices)
        rows.append((group, newest, *slices[newest]))
    seconds = time.perf_counter() - start
    base_bytes = sum(row[2][1] for row in rows if row[2] is not None)
    stamps = sum(int(row[1]) - int(instants()[0]) for row in rows)
    return seconds, summary(len(rows), base_bytes, sum(len(row[3]) for row in rows), stamps)


def child(how: str, folder: Path, listing: str) -> None:
    files = feather.read_table(folder / listing, memory_map=False)
    seconds, result = {"columnar": columnar, "loop": loop}[how](files, folder / "table")
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "megabytes": megabytes, "result": result}))


def measure(how: str, folder: Path, listing: str, repeats: int) -> dict:
    runs = []
    for _ in range(repeats):
        command = [sys.executable, __file__, "--child", how, str(folder), listing]
        runs.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    return min(runs, key=lambda run: run["seconds"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each kind; the fastest counts")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        how, folder, listing = arguments.child
        child(how, Path(folder), listing)
        return 0
    failed = False
    print(f"{'listing of ' + format(arguments.files, ','):28} {'':10} {'seconds':>8} {'MB peak':>8}  latest slices")
    with tempfile.TemporaryDirectory(prefix="file_view_") as text:
        folder = Path(text)
        make_timeline(folder / "table")
        for label, share in (("base files", 0.0), ("10 % log files", 0.1)):
            feather.write_feather(make_listing(arguments.files, share), folder / "listing", compression="uncompressed")
            ours = measure("columnar", folder, "listing", arguments.repeats)
            peer = measure("loop", folder, "listing", 1)
            for how, run in (("hudi_hive", ours), ("plain loop", peer)):
                print(f"{label:28} {how:10} {run['seconds']:8.2f} {run['megabytes']:8.0f}  {run['result']}")
            print(f"{label:28} {'ratio':10} {peer['seconds'] / ours['seconds']:7.1f}x")
            if ours["result"] != peer["result"]:
                print("the two disagree", file=sys.stderr)
                failed = True
            if ours["seconds"] > SECONDS_LIMIT or ours["megabytes"] > MEGABYTES_LIMIT:
                print(f"over the limit of {SECONDS_LIMIT} s and {MEGABYTES_LIMIT} MB", file=sys.stderr)
                failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
