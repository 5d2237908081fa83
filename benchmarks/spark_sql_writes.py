"""SQL statements that write: rows a second and memory, beside real Hudi on Spark 3.5, by turns in one run.

``python benchmarks/spark_sql_writes.py [--rows 2000000] [--cores 2] [--memory 2g] [--hudi 1.0.2] [--kinds COW,MOR]``

Measured are CREATE TABLE AS SELECT and INSERT INTO of all rows, UPDATE of 5 %, DELETE of 1 %, MERGE of 1 % and of 10 %
(nine tenths of the source's rows update, the others are new). Each statement is run by the one side, then by the other;
both first run them all on a small table. Rows are those that change; seconds are those of the clock and of the
processors, of the JVM and all processes below it; memory is the greatest resident one of them (Linux only), sampled.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from spark_write import Peak, session_of

STEPS = ("CTAS", "INSERT", "UPDATE 5 %", "DELETE 1 %", "MERGE 1 %", "MERGE 10 %")
_TICKS = os.sysconf("SC_CLK_TCK")

_ROWS = """SELECT format_string('k%010d', id) AS id, concat('driver-', hash(id, 1) % 5000) AS driver,
  (hash(id) % 10000) / 100.0D AS fare, sha2(CAST(id AS STRING), 256) AS note, CAST({ts} AS BIGINT) AS ts,
  concat('c', id % 8) AS city FROM range({first}, {last}, 1, {parts})"""
_PROPERTIES = "TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts', type = '{kind}')"


def statements(table: str, kind: str, rows: int, parts: int) -> dict[str, tuple[list[str], str, int]]:
    """What is done before a step, the step itself, and how many rows it changes."""
    properties = _PROPERTIES.format(kind=kind.lower())

    def made(first: int, last: int, ts: int) -> str:
        return _ROWS.format(first=first, last=last, ts=ts, parts=parts)

    def source(percent: int, ts: int) -> str:
        known = f"SELECT * FROM ({made(0, rows, ts)}) WHERE abs(hash(id)) % 100 < {percent}"
        added = made(rows * ts, rows * ts + rows * percent // 1000, ts)
        return f"SELECT * FROM ({known}) WHERE note < 'e6' UNION ALL {added}"

    def merge(percent: int, ts: int) -> str:
        return (
            f"MERGE INTO {table} t USING ({source(percent, ts)}) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    create = f"CREATE TABLE {table} (id STRING, driver STRING, fare DOUBLE, note STRING, ts BIGINT, city STRING)"
    partitioned = f"USING hudi PARTITIONED BY (city) {properties}"
    return {
        "CTAS": ([], f"CREATE TABLE {table}_as {partitioned} AS {made(0, rows, 1)}", rows),
        "INSERT": ([f"{create} {partitioned}"], f"INSERT INTO {table} {made(0, rows, 1)}", rows),
        "UPDATE 5 %": ([], f"UPDATE {table} SET fare = fare + 1, ts = 2 WHERE hash(id) % 20 = 0", rows // 20),
        "DELETE 1 %": ([], f"DELETE FROM {table} WHERE hash(id) % 100 = 7", rows // 100),
        "MERGE 1 %": ([], merge(1, 3), rows // 100),
        "MERGE 10 %": ([], merge(10, 4), rows // 10),
    }


def processor_seconds() -> float:
    """Processor time of this process and all below it."""
    ticks: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ticks[int(entry.name)] = (int(fields[1]), sum(int(text) for text in fields[11:15]))
    total, left = 0, [os.getpid()]
    while left:
        process = left.pop()
        total += ticks[process][1]
        left += [child for child, (parent, _) in ticks.items() if parent == process]
    return total / _TICKS


def side(options: argparse.Namespace) -> None:
    """One side, in a process of its own: does the steps whose names it reads, and prints a line of JSON for each."""
    spark = session_of(options.side, options.cores, options.memory)
    spark.sparkContext.setLogLevel("OFF")
    parts = options.cores * 2

    def do(table: str, kind: str, step: str, rows: int) -> dict[str, Any]:
        before, text, changed = statements(table, kind, rows, parts)[step]
        for one in before:
            spark.sql(one)
        with Peak() as peak:
            wall, processors = time.perf_counter(), processor_seconds()
            spark.sql(text)
            seconds = (time.perf_counter() - wall, processor_seconds() - processors)
        return {"rows": changed, "wall": seconds[0], "cpu": seconds[1], "peak": peak.bytes}

    spark.sql(f"CREATE DATABASE bench LOCATION '{options.folder}/{options.side}.db'")
    spark.sql("USE bench")
    for kind in options.kinds.split(","):
        for step in STEPS:
            do(f"warm_{kind}", kind, step, 2000)
    print("told ready", flush=True)
    for line in sys.stdin:
        kind, step = line.strip().split(" ", 1)
        found = do(f"trips_{kind}", kind, step, options.rows)
        if step == STEPS[-1]:
            found["left"] = spark.table(f"trips_{kind}").selectExpr("count(*)", "sum(ts)").collect()[0].asDict()
        print("told " + json.dumps(found), flush=True)
    spark.stop()


class Side:
    """A side's process; ``ask`` has it do something and waits for what it says."""

    def __init__(self, name: str, folder: Path, options: argparse.Namespace) -> None:
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        root = str(Path(__file__).resolve().parents[1])
        if name != "ours":
            sys.path.insert(0, root)
            from tools.real_hudi import class_path

            bundle, _, jars = class_path(release=name).partition(os.pathsep)
            home = Path(jars).parents[1]
            zipped = next((home / "python" / "lib").glob("py4j-*.zip"))
            environment |= {"SPARK_HOME": str(home), "PYTHONPATH": os.pathsep.join([str(home.parent), str(zipped)])}
            environment["HUDI_BUNDLE"] = bundle
        self._log = folder / f"{name}.log"
        arguments = [
            "--side",
            name,
            "--folder",
            str(folder),
            "--rows",
            str(options.rows),
            "--cores",
            str(options.cores),
        ]
        command = [sys.executable, __file__, *arguments, "--memory", options.memory, "--kinds", options.kinds]
        with self._log.open("w") as log:
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log}
            self._process = subprocess.Popen(command, env=environment, text=True, cwd=folder, **pipes)
        self.answer()

    def ask(self, text: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()
        found: dict[str, Any] = json.loads(self.answer())
        return found

    def answer(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("told "):
                return line[5:]
        raise RuntimeError(f"a side ended: {self._log.read_text()[-3000:]}")

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="2g")
    parser.add_argument("--hudi", default="1.0.2")
    parser.add_argument("--kinds", default="COW,MOR")
    parser.add_argument("--side", default="", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        side(options)
        return
    with tempfile.TemporaryDirectory() as name:
        theirs, ours = Side(options.hudi, Path(name), options), Side("ours", Path(name), options)
        for kind in options.kinds.split(","):
            for step in STEPS:
                other, mine = theirs.ask(f"{kind} {step}"), ours.ask(f"{kind} {step}")
                assert mine.get("left") == other.get("left"), f"{kind}: other rows: {mine} {other}"
                rates = {at: [one["rows"] / max(one[at], 0.01) for one in (mine, other)] for at in ("wall", "cpu")}
                print(
                    f"{kind} {step:10}: hudi_hive {rates['cpu'][0]:9,.0f} rows a CPU second, {rates['wall'][0]:9,.0f} "
                    f"a second, {mine['peak'] / 1e9:.2f} GB; Hudi {options.hudi} {rates['cpu'][1]:9,.0f}, "
                    f"{rates['wall'][1]:9,.0f}, {other['peak'] / 1e9:.2f} GB: x{rates['cpu'][0] / rates['cpu'][1]:.2f} "
                    f"by CPU, x{rates['wall'][0] / rates['wall'][1]:.2f} by the clock",
                    flush=True,
                )
        theirs.end()
        ours.end()


if __name__ == "__main__":
    main()
