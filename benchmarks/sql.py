"""SQL over a Hudi table without a JVM: our engine beside DuckDB's own Parquet reader on the same base files.

    python benchmarks/sql.py [--rows 1000000] [--groups 8] [--repeat 5]

Prints CPU and wall-clock milliseconds of both, and their ratio. DuckDB is told the files by a glob, which gives
the table's rows only because this copy-on-write table was written once; the results must be equal. The last column is
the engine on a merge-on-read table, 10 % of whose rows are updated in log files: DuckDB alone cannot read it.
A statement of the engine begins with a DuckDB instance of its own and a fresh look at the table's timeline.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
from hudi_tables import write_table

from hudi_hive.sql import SqlEngine

QUERIES = {
    "group all rows": "SELECT city, count(*), sum(stops) FROM {0} GROUP BY ALL ORDER BY ALL",
    "one partition": "SELECT count(*), max(ts) FROM {0} WHERE _hoodie_partition_path = 'g03'",
    "few rows of a range": "SELECT count(*), min(id) FROM {0} WHERE fare > 99.9",
    "join with itself": "SELECT count(*) FROM {0} a JOIN {0} b ON a.id = b.id WHERE b.stops = 3",
}


Result = list[dict[str, object]]


def timed(run: Callable[[], pa.Table]) -> tuple[float, float, Result]:
    """CPU and wall-clock milliseconds, and the rows."""
    begin, cpu = time.perf_counter(), time.process_time()
    rows = run()
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - begin) * 1000, rows.to_pylist()


def best(runs: list[tuple[float, float, Result]]) -> tuple[float, float]:
    """Least CPU and least wall-clock time."""
    return min(run[0] for run in runs), min(run[1] for run in runs)


def compare(label: str, engine: SqlEngine, plain: duckdb.DuckDBPyConnection, text: str, repeat: int) -> None:
    """One query by both, turn by turn, so that other load on the machine hits both."""
    ours, theirs, merged = [], [], []
    for _ in range(repeat):
        ours.append(timed(lambda: engine.query(text.format("cow")).read_all()))
        theirs.append(timed(lambda: plain.sql(text.format("files")).to_arrow_table()))
        merged.append(timed(lambda: engine.query(text.format("mor")).read_all()))
    assert ours[0][2] == theirs[0][2], (label, ours[0][2], theirs[0][2])
    (cpu, wall), (their_cpu, their_wall), (merged_cpu, merged_wall) = best(ours), best(theirs), best(merged)
    print(
        f"{label:<20} engine {cpu:6.0f} / {wall:6.0f} ms   DuckDB's reader {their_cpu:6.0f} / {their_wall:6.0f} ms   "
        f"ratio {cpu / their_cpu:5.2f} / {wall / their_wall:5.2f}   with logs {merged_cpu:6.0f} / {merged_wall:6.0f} ms"
    )


def whole_process(path: Path, repeat: int) -> None:
    """``hudi-hive sql`` from its start to its end."""
    command = [sys.executable, "-c", "from hudi_hive.cli.main import main; main()", "sql", "--table", f"t={path}"]
    walls, cpus = [], []
    for _ in range(repeat):
        begin, used = time.perf_counter(), os.times()
        subprocess.run([*command, QUERIES["one partition"].format("t")], check=True, capture_output=True)
        walls.append(time.perf_counter() - begin)
        now = os.times()
        cpus.append(now.children_user + now.children_system - used.children_user - used.children_system)
    print(f"hudi-hive sql, whole process: {min(cpus):.2f} s of CPU, {min(walls):.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cow, mor = Path(folder) / "cow", Path(folder) / "mor"
        write_table(cow, rows=options.rows, groups=options.groups)
        write_table(mor, rows=options.rows, groups=options.groups, updates=0.1)
        engine = SqlEngine(tables={"cow": str(cow), "mor": str(mor)})
        print(f"{options.rows:,} rows in {options.groups} base files; CPU / wall-clock, best of {options.repeat}")
        with duckdb.connect() as plain:
            plain.execute(f"CREATE VIEW files AS FROM read_parquet('{cow}/*/*.parquet')")
            for label, text in QUERIES.items():
                compare(label, engine, plain, text, options.repeat)
        whole_process(cow, options.repeat)


if __name__ == "__main__":
    main()
