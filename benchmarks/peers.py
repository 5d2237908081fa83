"""Us, the ``hudi`` package (Rust) and ``pyarrow.dataset`` on the same generated tables, in one run.

    python benchmarks/peers.py [--rows 2000000] [--groups 8] [--repeat 3] [--only scan,merge,key,listing]

Every measurement is a process of its own: CPU seconds (user and system, all threads) of opening the table and getting
the answer as an Arrow table, imports not counted, the least of several runs taken in turns; and the peak memory of the
whole process. User seconds stand apart as well: system seconds are nearly all spent on clearing fresh memory and vary
several times over with what else the machine does, so that on a busy one only the user ratio can be compared. Answers
are compared: rows and a sum over them. ``pyarrow.dataset`` knows no log files; where it stands beside a merge it reads
the base files alone.
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

import pyarrow as pa
import pyarrow.compute as pc

FEW = ["id", "city", "fare"]
OURS, PEER, ARROW = "hudi_hive", "hudi", "pyarrow"


# -- what is measured: each takes the table's path and gives an Arrow table --------------------------------------------


def ours_scan(path: str, columns: list[str] | None, where: str | None) -> pa.Table:
    from hudi_hive import HudiTable

    return HudiTable.open(path).scan(row_filter=where, selected_fields=columns).to_arrow()


def peer_scan(path: str, columns: list[str] | None, where: str | None) -> pa.Table:
    import hudi

    options = hudi.HudiReadOptions()
    if columns:
        options = options.with_projection(columns)
    if where:
        column, _, value = where.partition(" = ")
        options = options.with_filters([(column, "=", value.strip("'"))])
    table = hudi.HudiTableBuilder.from_base_uri(path).build()
    return pa.Table.from_batches(table.read(options))


def arrow_scan(path: str, columns: list[str] | None, where: str | None) -> pa.Table:
    import pyarrow.dataset as ds

    files = [str(file) for file in sorted(Path(path).glob("*/*.parquet"))]
    expression = None
    if where:
        column, _, value = where.partition(" = ")
        expression = pc.field(column) == value.strip("'")
    return ds.dataset(files, format="parquet").to_table(columns=columns, filter=expression)


def ours_listing(path: str, columns: list[str] | None, where: str | None) -> pa.Table:
    from hudi_hive import HudiTable

    return HudiTable.open(path).client.file_system_view().latest_merged_file_slices().select(["base_file"])


def peer_listing(path: str, columns: list[str] | None, where: str | None) -> pa.Table:
    import hudi

    slices = hudi.HudiTableBuilder.from_base_uri(path).build().get_file_slices()
    return pa.table({"base_file": [piece.base_file_name for piece in slices]})


def arrow_listing(path: str, columns: list[str] | None, where: str | None) -> pa.Table:
    """Not the same work: a plain recursive walk that knows nothing of commits."""
    import pyarrow.fs as pafs

    found = pafs.LocalFileSystem().get_file_info(pafs.FileSelector(path, recursive=True))
    names = [info.base_name for info in found if info.extension == "parquet" and "/.hoodie/" not in info.path]
    return pa.table({"base_file": names})


SCANS = {OURS: ours_scan, PEER: peer_scan, ARROW: arrow_scan}
LISTINGS = {OURS: ours_listing, PEER: peer_listing, ARROW: arrow_listing}

# Case -> (kind, table, columns, filter).
CASES: dict[str, tuple[str, str, list[str] | None, str | None]] = {
    "COW scan, all columns": ("scan", "cow", None, None),
    "COW scan, 3 columns": ("scan", "cow", FEW, None),
    "MOR merge, all columns": ("merge", "mor", None, None),
    "MOR merge, 3 columns": ("merge", "mor", FEW, None),
    "COW look-up by key": ("key", "cow", None, "id = '{key}'"),
    "MOR look-up by key": ("key", "mor", None, "id = '{key}'"),
    "listing, metadata table": ("listing", "listing", None, None),
}


def digest(table: pa.Table) -> list[object]:
    """Rows, and a sum over values that every engine must agree on."""
    fares = pc.sum(table["fare"]).as_py() if "fare" in table.column_names else None
    keys = "id" if "id" in table.column_names else "base_file"
    lengths = pc.sum(pc.binary_length(table[keys].cast(pa.string()))).as_py()
    return [table.num_rows, lengths, None if fares is None else round(fares, 2)]


def child(engine: str, case: str, path: str, where: str | None) -> None:
    """One measurement, printed as JSON."""
    import_engine(engine)
    kind, _, columns, _ = CASES[case]
    run: Callable[[str, list[str] | None, str | None], pa.Table] = (LISTINGS if kind == "listing" else SCANS)[engine]
    begin, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    table = run(path, columns, where)
    end, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - wall
    user = end.ru_utime - begin.ru_utime
    cpu = user + end.ru_stime - begin.ru_stime
    megabytes = end.ru_maxrss / 1024
    print(json.dumps({"cpu": cpu, "user": user, "wall": wall, "megabytes": megabytes, "digest": digest(table)}))


def import_engine(engine: str) -> None:
    import pyarrow.dataset
    import pyarrow.parquet  # noqa: F401

    if engine == OURS:
        import hudi_hive.read
        import hudi_hive.table_api  # noqa: F401
    elif engine == PEER:
        import hudi  # noqa: F401


def measure(engine: str, case: str, path: Path, where: str | None) -> dict:
    command = [sys.executable, __file__, "--child", engine, case, str(path), *([where] if where else [])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"error": lines[-1] if lines else f"ended with {done.returncode}"}
    return json.loads(done.stdout)


def best(runs: list[dict]) -> dict:
    good = [run for run in runs if "error" not in run]
    if not good:
        return runs[0]
    return {**min(good, key=lambda run: run["cpu"]), "user": min(run["user"] for run in good)}


def compare(case: str, path: Path, where: str | None, repeat: int) -> bool:
    """Measure a case with all engines turn by turn, print its lines; false when answers differ or we fail."""
    runs: dict[str, list[dict]] = {engine: [] for engine in (OURS, PEER, ARROW)}
    for _ in range(repeat):
        for engine, found in runs.items():
            found.append(measure(engine, case, path, where))
    result = {engine: best(found) for engine, found in runs.items()}
    ours = result[OURS]
    for engine, run in result.items():
        if "error" in run:
            print(f"{case:26} {engine:10} {run['error'][:120]}")
            continue
        ratio = ""
        if engine != OURS and "error" not in ours:
            user = ours["user"] / max(run["user"], 1e-6)
            ratio = f"ours / it {ours['cpu'] / run['cpu']:5.2f}, user {user:5.2f}"
        print(
            f"{case:26} {engine:10} {run['cpu']:7.3f} CPU-s (user {run['user']:6.3f}) "
            f"{run['wall']:7.3f} s {run['megabytes']:6.0f} MB  {run['digest'][0]:>9,} rows  {ratio}"
        )
    if "error" in ours:
        return False
    same = [PEER] if CASES[case][1] == "mor" else [PEER, ARROW]  # Arrow sees no log files
    agreed = True
    for engine in same:
        answer = result[engine]
        if "error" not in answer and not _close(answer["digest"], ours["digest"]):
            print(f"{case}: {engine} answers {answer['digest']}, we answer {ours['digest']}", file=sys.stderr)
            agreed = False
    return agreed


def _close(left: list, right: list) -> bool:
    """Same rows; sums of floats differ in their last digits with the order of adding."""
    one, other = left[2], right[2]
    return left[:2] == right[:2] and (one == other or abs(one - other) <= 1e-9 * abs(other))


def make_tables(folder: Path, options: argparse.Namespace, kinds: set[str]) -> None:
    from hudi_tables import write_listing_table, write_table

    begin = time.perf_counter()
    if kinds & {"scan", "key"}:
        write_table(folder / "cow", rows=options.rows, groups=options.groups)
    if kinds & {"merge", "key"}:
        table = write_table(folder / "mor", rows=options.rows, groups=options.groups, updates=0.1)
        print(f"{table.rows:,} rows in {options.groups} file groups, {table.updated:,} updated in Avro log blocks")
    if "listing" in kinds:
        files = write_listing_table(folder / "listing", options.partitions, options.files)
        print(f"{files:,} files in {options.partitions:,} partitions, listed by a metadata table of one HFile")
    print(f"tables made in {time.perf_counter() - begin:.0f} s\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--partitions", type=int, default=5_000, help="of the listing")
    parser.add_argument("--files", type=int, default=20, help="a partition of the listing")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="scan,merge,key,listing", help="kinds of cases, separated by commas")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child[:3], options.child[3] if len(options.child) > 3 else None)
        return 0
    kinds = set(options.only.split(","))
    failed = False
    with tempfile.TemporaryDirectory(prefix="peers_") as text:
        make_tables(Path(text), options, kinds)
        key = f"k{options.rows // 3:09d}"
        for case, (kind, table, _, where) in CASES.items():
            if kind in kinds:
                where = where and where.format(key=key)
                failed |= not compare(case, Path(text) / table, where, options.repeat)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
