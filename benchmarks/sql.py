"""SQL over a Hudi table without a JVM: our engine beside DuckDB's own Parquet reader on the same base files.

    python benchmarks/sql.py [--rows 4000000] [--groups 8] [--repeat 5] [--threads 2]

Prints CPU and wall-clock milliseconds of both, by turns, and their ratio. DuckDB is told the files by a glob, which
gives the table's rows only because this copy-on-write table was written once; the results must be equal. The lines
"with logs" are a merge-on-read table, 10 % of whose rows are updated in log files, beside DuckDB on its base files,
which lack the updates: what merging costs. The lines "lazy frame" are Polars on ``to_polars_lazy`` beside
``scan_parquet``. "ours" is what a statement costs beside DuckDB's work: the difference on a statement that DuckDB
answers by footers.
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
import polars
import pyarrow as pa
from hudi_tables import write_table

from hudi_hive import HudiTable
from hudi_hive.sql import SqlEngine

QUERIES = {
    "group all rows": "SELECT city, count(*), sum(stops) FROM {0} GROUP BY ALL ORDER BY ALL",
    "one partition": "SELECT count(*), max(ts) FROM {0} WHERE _hoodie_partition_path = 'g03'",
    "few rows of a range": "SELECT count(*), min(id) FROM {0} WHERE fare > 99.9",
    "join with itself": "SELECT count(*) FROM {0} a JOIN {0} b ON a.id = b.id WHERE b.stops = 3",
    "all columns": "SELECT max(hash(COLUMNS(*))) FROM {0}",
    "distinct texts": "SELECT count(DISTINCT note), max(id) FROM {0}",
}
OURS = "SELECT count(*) FROM {0}"

Result = list[dict[str, object]]
Timed = tuple[float, float, Result]


def timed(run: Callable[[], pa.Table]) -> Timed:
    """CPU and wall-clock milliseconds, and the rows."""
    begin, cpu = time.perf_counter(), time.process_time()
    rows = run()
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - begin) * 1000, rows.to_pylist()


def by_turns(label: str, ours: Callable[[], pa.Table], theirs: Callable[[], pa.Table], repeat: int, same: bool) -> None:
    """One query by both, turn by turn, so that other load on the machine hits both."""
    first, second = [], []
    for _ in range(repeat):
        first.append(timed(ours))
        second.append(timed(theirs))
    assert not same or first[0][2] == second[0][2], (label, first[0][2], second[0][2])
    cpu, wall = (min(run[i] for run in first) for i in (0, 1))
    their_cpu, their_wall = (min(run[i] for run in second) for i in (0, 1))
    print(
        f"{label:<34} ours {cpu:6.0f} / {wall:6.0f} ms   on the files {their_cpu:6.0f} / {their_wall:6.0f} ms   "
        f"ratio {cpu / their_cpu:5.2f} / {wall / their_wall:5.2f}   "
        f"difference {cpu - their_cpu:5.1f} / {wall - their_wall:5.1f}"
    )


def lazy_frames(cow: Path, repeat: int) -> None:
    """Polars on a table and on its files."""
    table = HudiTable.open(cow)
    files = polars.scan_parquet(str(cow / "*" / "*.parquet"))
    for label, query in {
        "group": lambda frame: frame.group_by("city").agg(polars.len(), polars.col("stops").sum()).sort("city"),
        "filter": lambda frame: frame.filter(polars.col("fare") > 99.9).select(polars.len(), polars.col("id").min()),
    }.items():
        by_turns(
            f"lazy frame: {label}",
            lambda query=query: query(table.scan().to_polars_lazy()).collect().to_arrow(),
            lambda query=query: query(files).collect().to_arrow(),
            repeat,
            True,
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
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(config={"threads": options.threads}) as plain:
        cow, mor = Path(folder) / "cow", Path(folder) / "mor"
        write_table(cow, rows=options.rows, groups=options.groups)
        write_table(mor, rows=options.rows, groups=options.groups, updates=0.1)
        engine = SqlEngine(tables={"cow": str(cow), "mor": str(mor)}, threads=options.threads)
        print(f"{options.rows:,} rows in {options.groups} base files; CPU / wall-clock, best of {options.repeat}")
        for table in ("cow", "mor"):
            plain.execute(f"CREATE VIEW {table} AS FROM read_parquet('{folder}/{table}/*/*.parquet')")
            for label, text in {**QUERIES, "ours": OURS}.items():
                by_turns(
                    label if table == "cow" else f"with logs: {label}",
                    lambda text=text, table=table: engine.query(text.format(table)).read_all(),
                    lambda text=text, table=table: plain.sql(text.format(table)).to_arrow_table(),
                    options.repeat,
                    table == "cow",
                )
        lazy_frames(cow, options.repeat)
        whole_process(cow, options.repeat)


if __name__ == "__main__":
    main()
