"""SQL statements that write: rows a second and memory, beside real Hudi on Spark 3.5, by turns in one run.

``python benchmarks/spark_sql_writes.py [--rows 2000000] [--cores 2] [--memory 2g] [--hudi 1.0.2] [--kinds COW,MOR]
[--steps "CTAS,INSERT,MERGE 1 %"] [--fresh]``

Measured are CREATE TABLE AS SELECT and INSERT INTO of all rows, UPDATE of 5 %, DELETE of 1 %, MERGE of 1 % and of 10 %
(nine tenths of the source's rows update, the others are new). Each statement is run by the one side, then by the other,
first on a small table (cold: the first statement of its kind in a session), then on the large one (warm). Rows are
those that change; seconds are those of the clock and of the processors, of the JVM and all processes of Python below
the driver's; memory is the greatest proportional set size of them all (Linux only), sampled from outside. At the end of
a kind both tables must have the same rows. With ``--fresh`` each statement on the large table is the first one of its
session, so that its memory holds no heap that others left.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from spark_write import Peak, Side, process_tree, session_of

STEPS = ("CTAS", "INSERT", "UPDATE 5 %", "DELETE 1 %", "MERGE 1 %", "MERGE 10 %")
_SMALL = 2000
_TICKS = os.sysconf("SC_CLK_TCK")

_ROWS = """SELECT format_string('k%010d', id) AS id, concat('driver-', hash(id, 1) % 5000) AS driver,
  (hash(id) % 10000) / 100.0D AS fare, sha2(CAST(id AS STRING), 256) AS note, CAST({ts} AS BIGINT) AS ts,
  concat('c', id % 8) AS city FROM range({first}, {last}, 1, {parts})"""
_PROPERTIES = "TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts', type = '{kind}')"


def statements(table: str, kind: str, rows: int, parts: int) -> dict[str, tuple[list[str], str, int]]:
    """What is done before a step, the step itself, and how many rows it changes.

    What is written comes from tables of Parquet, made before, so that making it counts nowhere.
    """
    properties = _PROPERTIES.format(kind=kind.lower())

    def made(first: int, last: int, ts: int) -> str:
        return _ROWS.format(first=first, last=last, ts=ts, parts=parts)

    def source(percent: int, ts: int) -> list[str]:
        known = f"SELECT * FROM ({made(0, rows, ts)}) WHERE abs(hash(id)) % 100 < {percent} AND note < 'e6'"
        added = made(rows * ts, rows * ts + rows * percent // 1000, ts)
        return [f"CREATE TABLE {table}_{percent} USING parquet AS {known} UNION ALL {added}"]

    def merge(percent: int) -> str:
        return (
            f"MERGE INTO {table} t USING {table}_{percent} s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    create = f"CREATE TABLE {table} (id STRING, driver STRING, fare DOUBLE, note STRING, ts BIGINT, city STRING)"
    partitioned = f"USING hudi PARTITIONED BY (city) {properties}"
    rows_of = f"CREATE TABLE {table}_rows USING parquet AS {made(0, rows, 1)}"
    return {
        "CTAS": ([rows_of], f"CREATE TABLE {table}_as {partitioned} AS SELECT * FROM {table}_rows", rows),
        "INSERT": ([f"{create} {partitioned}"], f"INSERT INTO {table} SELECT * FROM {table}_rows", rows),
        "UPDATE 5 %": ([], f"UPDATE {table} SET fare = fare + 1, ts = 2L WHERE hash(id) % 20 = 0", rows // 20),
        # Not of the keys that are merged later: of those real Hudi 1.0.2 cannot read the log files any more.
        "DELETE 1 %": ([], f"DELETE FROM {table} WHERE abs(hash(id)) % 100 = 50", rows // 100),
        "MERGE 1 %": (source(1, 3), merge(1), rows // 100),
        "MERGE 10 %": (source(10, 4), merge(10), rows // 10),
    }


def processor_seconds() -> tuple[float, float]:
    """Processor time of this process and all below it, and what of it is the JVM's."""
    total = jvm = 0
    for process in process_tree(os.getpid()):
        try:
            head, _, rest = Path(f"/proc/{process}/stat").read_text().rpartition(")")
        except OSError:
            continue
        ticks = sum(int(text) for text in rest.split()[11:15])
        total += ticks
        jvm += ticks if head.endswith("(java") else 0
    return total / _TICKS, jvm / _TICKS


def side(options: argparse.Namespace) -> None:
    """One side, in a process of its own: does the steps whose names it reads, and prints a line of JSON for each."""
    spark = session_of(options.side, options.cores, options.memory)
    spark.sparkContext.setLogLevel("OFF")
    parts = options.cores * 2

    def do(table: str, kind: str, step: str, rows: int) -> dict[str, Any]:
        before, text, changed = statements(table, kind, rows, parts)[step]
        for one in before:
            spark.sql(one)
        wall, processors = time.perf_counter(), processor_seconds()
        spark.sql(text)
        cpu, jvm = (after - before for after, before in zip(processor_seconds(), processors, strict=True))
        return {"rows": changed, "wall": time.perf_counter() - wall, "cpu": cpu, "jvm": jvm}

    database = Path(f"{options.folder}/{options.side}.db")
    made = sorted(database.iterdir()) if database.is_dir() else []
    spark.sql(f"CREATE DATABASE bench LOCATION '{database}'")
    spark.sql("USE bench")
    for path in made:  # by a session before this one
        source = "hudi" if (path / ".hoodie").is_dir() else "parquet"
        spark.sql(f"CREATE TABLE {path.name} USING {source} LOCATION '{path}'")
    print("told {}", flush=True)
    for line in sys.stdin:
        size, kind, step = line.strip().split(" ", 2)
        table = f"{size}_{kind}"
        found = do(table, kind, step, options.rows if size == "large" else _SMALL)
        if step == STEPS[-1]:
            found["left"] = spark.table(table).selectExpr("count(*)", "sum(ts)").collect()[0].asDict()
        print("told " + json.dumps(found), flush=True)
    spark.stop()


def measured(one: Side, text: str) -> dict[str, Any]:
    """What a side says of one step, and how much memory it took."""
    with Peak(one.process) as peak:
        answer = one.ask(text)
    return {**answer, "peak": peak.bytes}


def end(sides: list[Side]) -> None:
    """End all sides that there are."""
    while sides:
        sides.pop().end()


def compared(step: str, mine: dict[str, Any], other: dict[str, Any]) -> str:
    """A line about one step of both sides, and how many times Hudi's rate ours is."""
    sides = [
        f"{name} {one['wall']:7.2f} s, {one['cpu']:7.2f} CPU-s ({one['jvm']:.2f} JVM), "
        f"{one['rows'] / one['wall']:9,.0f} rows/s, {one['peak'] / 1e9:.2f} GB"
        for name, one in (("ours", mine), ("Hudi", other))
    ]
    ratios = f"x{other['wall'] / mine['wall']:.2f} wall, x{other['cpu'] / max(mine['cpu'], 0.01):.2f} CPU"
    return f"{step:20}: {'; '.join(sides)}: {ratios}, memory {mine['peak'] / other['peak']:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="2g")
    parser.add_argument("--hudi", default="1.0.2")
    parser.add_argument("--kinds", default="COW,MOR")
    parser.add_argument("--steps", default=",".join(STEPS), help="INSERT wants CTAS before it, the others want INSERT")
    parser.add_argument("--fresh", action="store_true", help="a session for each statement")
    parser.add_argument("--side", default="", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        side(options)
        return
    script = [str(Path(__file__).resolve()), "--rows", str(options.rows), "--cores", str(options.cores)]
    script += ["--memory", options.memory]
    with tempfile.TemporaryDirectory() as name:
        sides: list[Side] = []
        for kind in options.kinds.split(","):
            for size in ("large",) if options.fresh else ("small", "large"):
                for step in options.steps.split(","):
                    if options.fresh:
                        end(sides)
                    if not sides:
                        sides += (Side(one, Path(name), script) for one in (options.hudi, "ours"))
                    other, mine = (measured(one, f"{size} {kind} {step}") for one in sides)
                    assert mine.get("left") == other.get("left"), f"{kind}: other rows: {mine} {other}"
                    when = "cold" if options.fresh or size == "small" else "warm"
                    print(compared(f"{when} {kind} {step}", mine, other), flush=True)
        end(sides)


if __name__ == "__main__":
    main()
