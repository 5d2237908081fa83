"""Planning 200,000 files in 10,000 partitions: by the metadata table and by listing folders.

    python benchmarks/plan_scale.py [--partitions 10000] [--files 20] [--repeat 3]

Every measurement is a process of its own; imports are not counted as time, but are as memory. Cases:

- plan: open the table and plan a snapshot of it; one partition: the same with a filter on the partition column.
- folders: the partitions and their files by listing folders alone, without a timeline or a view.
- splits: the background loader; the time until the first splits can be taken, how much of the table had been listed by
  then, and the time until the last ones were.
- the ``hudi`` package (Rust) listing its file slices, and Arrow walking all folders, which knows nothing of commits.

All cases run by turns; the least CPU seconds of each count, and are shown as a ratio to those of Arrow's walk. What is
imported when a case of ours runs for the first time is imported beforehand, by a table of eight files. The files are
empty; nothing opens them. ``--child "CASE" TABLE SOURCE`` is one measurement; it wants a table ``small`` beside it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

METADATA, LISTING = "metadata table", "listing"
_ENABLE = "hoodie.metadata.enable"


def options(source: str) -> dict[str, str]:
    return {_ENABLE: str(source == METADATA).lower()}


def plan(path: str, source: str, where: str | None = None) -> dict[str, Any]:
    from hudi_hive import HudiTable

    table = HudiTable.open(path)
    slices = table.scan(row_filter=where, options=options(source)).plan().slices.num_rows
    return {"files": slices, "listings": table.client.counters["lists"]}


def folders(path: str, source: str) -> dict[str, Any]:
    from hudi_hive.storage import Storage
    from hudi_hive.table.view import DirectoryLister

    storage = Storage(path)
    lister = DirectoryLister(storage)
    names = lister.files(lister.partitions()).column("name")
    marks = pc.sum(pc.starts_with(names, ".")).as_py()
    return {"files": len(names) - marks, "listings": storage.counters["lists"]}


def one_partition(path: str, source: str) -> dict[str, Any]:
    return plan(path, source, "city_group = 'p00007'")


def splits(path: str, source: str) -> dict[str, Any]:
    from hudi_hive.plan import PartitionPlanner, Query, ReadOptions, SplitLoader
    from hudi_hive.table import MetaClient

    begin = time.perf_counter()
    client = MetaClient.load(path)
    planner = PartitionPlanner(client, Query(options=ReadOptions(metadata_enable=source == METADATA)))
    with SplitLoader(planner) as loader:
        taken = loader.next_batch().num_rows
        first, listed = time.perf_counter() - begin, loader.progress().partitions_listed
        while batch := loader.next_batch().num_rows:
            taken += batch
    return {"files": taken, "first": first, "listed": listed, "listings": client.counters["lists"]}


def peer(path: str, source: str) -> dict[str, Any]:
    import hudi

    builder = hudi.HudiTableBuilder.from_base_uri(path).with_option(_ENABLE, options(source)[_ENABLE])
    return {"files": len(builder.build().get_file_slices())}


def walk(path: str, source: str) -> dict[str, Any]:
    import pyarrow.fs as pafs

    found = pafs.LocalFileSystem().get_file_info(pafs.FileSelector(path, recursive=True))
    return {"files": sum(info.extension == "parquet" and "/.hoodie/" not in info.path for info in found)}


CASES: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "plan": plan,
    "folders": folders,
    "one partition": one_partition,
    "splits": splits,
    "hudi (Rust)": peer,
    "Arrow walk": walk,
}


def child(case: str, path: str, source: str) -> None:
    """One measurement, printed as JSON."""
    import hudi_hive.plan
    import hudi_hive.table_api  # noqa: F401

    if CASES[case] is peer:
        import hudi  # noqa: F401
    if CASES[case] not in (peer, walk):  # or the imports of its first time, PyArrow's of pandas for one, were counted
        CASES[case](str(Path(path).parent / "small"), source)
    imported = resource.getrusage(resource.RUSAGE_SELF)
    begin = time.perf_counter()
    found = CASES[case](path, source)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - imported.ru_utime - imported.ru_stime
    memory = {"megabytes": after.ru_maxrss / 1024, "imports": imported.ru_maxrss / 1024}
    print(json.dumps({**found, **memory, "seconds": seconds, "cpu": cpu}))


def measure(case: str, path: Path, source: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", case, str(path), source]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]}
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def show(case: str, source: str, run: dict[str, Any], partitions: int) -> None:
    if "error" in run:
        print(f"{source:15} {case:14} {run['error'][:150]}")
        return
    text = f"{source:15} {case:14} {run['seconds']:7.3f} s ({run['cpu']:6.2f} CPU-s) {run['megabytes']:5.0f} MB "
    text += f"(imports {run['imports']:3.0f})  {run['files']:>8,} files"
    if "listings" in run:
        text += f"  {run['listings']:,} listings"
    if "first" in run:
        share = 100 * run["listed"] / partitions
        text += f"; first splits after {run['first']:.3f} s, {share:.1f} % of the partitions listed"
    print(text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=20, help="in each partition")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return 0
    from hudi_tables import write_listing_table

    failed = False
    with tempfile.TemporaryDirectory(prefix="plan_scale_") as text:
        path = Path(text) / "t"
        begin = time.perf_counter()
        files = write_listing_table(path, arguments.partitions, arguments.files)
        print(f"{files:,} files in {arguments.partitions:,} partitions made in {time.perf_counter() - begin:.0f} s\n")
        write_listing_table(path.parent / "small", 8, 1)
        for source in (METADATA, LISTING):
            cases = [case for case in CASES if source == LISTING or CASES[case] not in (walk, folders)]
            turns = [{case: measure(case, path, source) for case in cases} for _ in range(arguments.repeat)]
            least: dict[str, float] = {}
            for case in cases:
                runs = [turn[case] for turn in turns]
                good = [run for run in runs if "error" not in run]
                run = min(good, key=lambda item: item["cpu"]) if good else runs[0]
                show(case, source, run, arguments.partitions)
                least[case] = run.get("cpu", 0.0)
                if CASES[case] not in (peer, walk):
                    expected = arguments.files if CASES[case] is one_partition else files
                    failed |= run.get("files") != expected
            for case in sorted(least.keys() - {"Arrow walk"}) if "Arrow walk" in least else ():
                print(f"{source:15} {case:14} {least[case] / least['Arrow walk']:7.2f} times the CPU of Arrow's walk")
    if failed:
        print("an answer is wrong", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
