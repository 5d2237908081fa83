"""Spark processes that time the same statements in turn: plain PySpark with this package, and real Hudi on Spark 3.5.

A contest takes several rounds; in each round every contender runs the statement once. What is printed of a contender
is its best time and its least processor time (of the JVM and all processes below it; Linux only), and of the others
the median of the ratios of the first one's to theirs in the same round. Other work on the machine slows both of a
round, and hardly changes processor time.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_MARK = "answer "
_JAVA = "-Djol.skipHotspotSAAttach=true"


@dataclass(frozen=True)
class Contender:
    """A way to read a table.

    Attributes:
        name: for the report.
        spark: the process: ``ours``, or a release of Hudi.
        reader: ``hudi_hive``, or a format of ``spark.read``.
        paths: what to load.
        options: of the reader.
        schema: as DDL; a reader that has to find it out would be slower.
        same_rows: its answers have to be those of the others.
    """

    name: str
    spark: str
    reader: str
    paths: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    schema: str | None = None
    same_rows: bool = True


class Sessions:
    """A process for each Spark that the contenders need.

    Args:
        cores: of each session.
        memory: largest heap of each.
    """

    def __init__(self, cores: int, memory: str = "1g") -> None:
        self._cores, self._memory = cores, memory
        self._running: dict[str, subprocess.Popen[str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._running.values():
            assert process.stdin is not None
            process.stdin.close()
        for process in self._running.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def run(self, contender: Contender, statement: str) -> tuple[float, float, Any]:
        """Seconds and processor seconds of a statement over ``{t}``, planning included, and its rows."""
        process = self._running.get(contender.spark) or self._start(contender.spark)
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps({"sql": statement, **contender.__dict__}) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            if line.startswith(_MARK):
                answer = json.loads(line.removeprefix(_MARK))
                if "error" in answer:
                    raise RuntimeError(f"{contender.name}: {statement}: {answer['error']}")
                return answer["seconds"], answer["processor"], answer["rows"]
        raise RuntimeError(f"the Spark process of {contender.name} ended")

    def _start(self, kind: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        bundle = ""
        if kind != "ours":
            sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
            from tools.real_hudi import spark_process

            bundle, environment = spark_process(kind)
        command = [sys.executable, __file__, str(self._cores), self._memory, bundle]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self._running[kind] = process
        return process


def contest(sessions: Sessions, contenders: list[Contender], statement: str, rounds: int) -> str:
    """Run a statement by all in turn and report; the first round warms up.

    Raises:
        RuntimeError: the answers differ.
    """
    times: dict[str, list[tuple[float, float]]] = {one.name: [] for one in contenders}
    answers: dict[str, Any] = {}
    for number in range(rounds + 1):
        for one in contenders:
            *taken, rows = sessions.run(one, statement)
            answers[one.name] = rows
            if number:
                times[one.name].append((taken[0], taken[1]))
    first, *others = times
    for name in (one.name for one in contenders[1:] if one.same_rows):
        if not _same(answers[first], answers[name]):
            raise RuntimeError(f"{statement}: {first} gives {answers[first]}, {name} gives {answers[name]}")
    text = f"{first} {_least(times[first])}"
    for name in others:
        pairs = list(zip(times[first], times[name], strict=True))
        ratio, work = (statistics.median(a[kind] / max(b[kind], 0.01) for a, b in pairs) for kind in (0, 1))
        text += f"; {name} {_least(times[name])}: x{ratio:.2f}, processor x{work:.2f}"
    return text


def _least(times: list[tuple[float, float]]) -> str:
    return f"{min(time for time, _ in times):.2f} s ({min(work for _, work in times):.2f} s processor)"


def _same(left: list[list[Any]], right: list[list[Any]]) -> bool:
    """Whether rows are equal but for the order in which doubles were added up."""
    if len(left) != len(right):
        return False
    for mine, theirs in zip(sorted(left, key=str), sorted(right, key=str), strict=True):
        for a, b in zip(mine, theirs, strict=True):
            close = isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-9 * max(abs(a), abs(b))
            if a != b and not close:
                return False
    return True


# -- in the process of a session --------------------------------------------------------------------------------------


def _session(cores: str, memory: str, bundle: str) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.driver.memory", memory)
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.catalogImplementation", "in-memory").config("spark.sql.shuffle.partitions", 2)
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    if bundle:
        hudi = "org.apache.spark.sql.hudi"
        builder = builder.config("spark.jars", bundle).config("spark.driver.extraJavaOptions", _JAVA)
        builder = builder.config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        builder = builder.config("spark.kryo.registrator", "org.apache.spark.HoodieSparkKryoRegistrar")
        builder = builder.config("spark.sql.extensions", f"{hudi}.HoodieSparkSessionExtension")
        builder = builder.config("spark.sql.catalog.spark_catalog", f"{hudi}.catalog.HoodieCatalog")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def _frame(spark: Any, request: dict[str, Any]) -> Any:
    if request["reader"] == "hudi_hive":
        import hudi_hive.spark as hudi_spark

        return hudi_spark.load(spark, request["paths"][0], dict(request["options"]))
    reader = spark.read.format(request["reader"]).options(**dict(request["options"]))
    paths = request["paths"] if len(request["paths"]) > 1 else request["paths"][0]
    return (reader.schema(request["schema"]) if request["schema"] else reader).load(paths)


def _processor_seconds() -> float:
    """What this process and all below it have used; 0 where there is no /proc."""
    parents: dict[int, tuple[int, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        parents[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    mine, grew = {os.getpid()}, True
    while grew:
        below = {number for number, (parent, _) in parents.items() if parent in mine}
        grew = not below <= mine
        mine |= below
    return sum(parents[number][1] for number in mine if number in parents) / os.sysconf("SC_CLK_TCK")


def _serve() -> None:
    spark = _session(*sys.argv[1:4])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            started, before = time.perf_counter(), _processor_seconds()
            _frame(spark, request).createOrReplaceTempView("contest")
            rows = spark.sql(request["sql"].format(t="contest")).collect()
            seconds = time.perf_counter() - started
            answer: dict[str, Any] = {"seconds": seconds, "processor": _processor_seconds() - before}
            answer["rows"] = [list(row) for row in rows]
        except Exception as error:
            answer = {"error": str(error)[:2000]}
        print(_MARK + json.dumps(answer, default=str), flush=True)


if __name__ == "__main__":
    _serve()
