"""Mutations on a Spark cluster whose attempts at tasks fail, are killed, or run side by side: no row counts twice.

    python -m integration.long.spark_mutations [--version 4.0.1]

A cluster of Spark's own with two workers, on two addresses so that Spark speculates, mutates tables of real metastores.
What each table holds then is told by Hive's own readers of the same release, row by row and in vectors, and by ours.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

import hudi_hive.spark as hudi_spark
from hudi_hive.metastore import HiveMetastore, TransactionClient, find_java
from hudi_hive.metastore.embedded import find_jars
from hudi_hive.mutation import MutatorClient
from hudi_hive.spark.mutate import WriteGroups
from integration.support.hive_acid import HiveAcid
from integration.support.metastores import HIVE_EXEC, RELEASES, TRANSACTIONS, ReleasedMetastore
from integration.support.mutation_judge import Judge

ROWS = 3000
COLUMNS = (("id", "int"), ("msg", "string"))
KEYS = (("country", "string"),)
_LONG_SECONDS = 600.0

Model = dict[int, tuple[str, str]]
"""Message and country of each id."""


# -- how attempts end -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trouble:
    """What happens to the first attempt at some tasks, when all its files are written and its manifest is made.

    Args:
        name: ``raise``; ``worker`` (the process is killed); ``executor`` (its JVM is); ``straggle`` (it waits until
            Spark has another attempt and ends this one).
        folder: where attempts leave a file each.
    """

    name: str
    folder: str

    def strike(self, written: bool) -> None:
        """Called in the task."""
        context = TaskContext.get()
        assert context is not None
        task = f"{context.stageId()}.{context.partitionId()}"
        if not written:
            return
        first = not any(Path(self.folder).glob(f"{task}-*"))
        (Path(self.folder) / f"{task}-{uuid4().hex}").touch()
        if not first or not self._chosen(context.partitionId()):
            return
        if self.name == "raise":
            raise OSError("the disk is gone")
        if self.name == "worker":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.name == "executor":
            daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
            os.kill(int(daemon[1]), signal.SIGKILL)
        if self.name == "straggle":
            time.sleep(_LONG_SECONDS)

    def _chosen(self, partition: int) -> bool:
        return self.name in ("raise", "worker") or partition == 0

    def attempts(self) -> tuple[int, int]:
        """Tasks that wrote, and complete attempts at them."""
        tasks = [path.name.partition("-")[0] for path in Path(self.folder).iterdir()]
        return len(set(tasks)), len(tasks)


def troubled(trouble: Trouble) -> type[WriteGroups]:
    """The step that writes, with trouble at the end."""

    class Troubled(WriteGroups):
        def _write(self, batches: Any) -> str | None:
            text = super()._write(batches)
            trouble.strike(text is not None)
            return text

    return Troubled


# -- the cluster ------------------------------------------------------------------------------------------------------


@contextmanager
def cluster() -> Iterator[str]:
    """A master and two workers of one core; gives the master's URL."""
    port = _free_port()
    url = f"spark://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="spark_cluster_") as folder, ExitStack() as stack:
        master = ("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        stack.enter_context(_daemon(master, Path(folder) / "master"))
        _wait(lambda: _is_open(port))
        for number in (1, 2):
            options = ("--host", f"127.0.0.{number}", "--cores", "1", "--memory", "900m", "--webui-port", "0")
            work = Path(folder) / f"worker{number}"
            stack.enter_context(_daemon(("worker.Worker", *options, "--work-dir", str(work), url), work))
        yield url


@contextmanager
def _daemon(arguments: Sequence[str], folder: Path) -> Iterator[None]:
    folder.mkdir()
    jars = find_jars()
    command = [str(find_java().executable), "-Xmx192m", "-XX:+UseSerialGC", "-cp", f"{jars}/*"]
    command += ["-Dspark.deploy.maxExecutorRetries=-1", "-Dspark.master.rest.enabled=false"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, f"org.apache.spark.deploy.{arguments[0]}", *arguments[1:]],
            env={**_environment(), "SPARK_LOCAL_IP": arguments[2]},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _environment() -> dict[str, str]:
    root = str(Path(__file__).parents[2])
    jars = find_jars()
    scala = next(jars.glob("spark-core_*.jar")).name.split("_")[1].partition("-")[0]
    own = {"SPARK_HOME": str(jars.parent), "SPARK_SCALA_VERSION": scala}
    return {**os.environ, **own, "PYTHONPATH": root, "PYSPARK_PYTHON": sys.executable}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _is_open(port: int) -> bool:
    with suppress(OSError):
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    return False


def _wait(done: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            raise RuntimeError("the cluster did not come up")
        time.sleep(0.2)


def session(master: str, uri: str) -> SparkSession:
    """A session on the cluster that speculates soon and takes lost executors for nothing special."""
    os.environ.update({name: value for name, value in _environment().items() if name.startswith(("SPARK", "PY"))})
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.multiplier": "1.5",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.minTaskRuntime": "3s",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = hudi_spark.session_builder(uri).master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


# -- what is done -----------------------------------------------------------------------------------------------------


def inserts(spark: SparkSession, first: int, last: int) -> DataFrame:
    """Rows to be inserted."""
    number = sql.col("id")
    country = sql.concat(sql.lit("c"), number % 3)
    return spark.range(first, last, 1, 3).select(
        number.cast("int").alias("id"),
        sql.concat(sql.lit("m"), number).alias("msg"),
        country.alias("country"),
        sql.lit("insert").alias("op"),
    )


def mutations(spark: SparkSession, uri: str, table: str) -> Model:
    """A transaction of each kind; what must be there then."""
    hudi_spark.mutate(inserts(spark, 0, ROWS), table, operation="op", tasks=4)
    with MutatorClient(uri, sinks=[table]) as client, client.new_transaction() as transaction:
        rows = hudi_spark.read_acid(spark, table, transaction=transaction, row_filter="id < 300")
        changed = rows.withColumn("op", sql.when(sql.col("id") % 2 == 0, "update").otherwise("delete"))
        changed = changed.withColumn("msg", sql.lit("changed"))
        hudi_spark.mutate(changed, table, transaction=transaction, operation="op", tasks=4)
    merged = inserts(spark, ROWS - 500, ROWS + 500).drop("op").withColumn("msg", sql.lit("merged"))
    hudi_spark.mutate(merged.withColumn("country", sql.lit("c0")), table, on=["id"], tasks=4)
    model = {n: (f"m{n}", f"c{n % 3}") for n in range(300, ROWS - 500)}
    model |= {n: ("changed", f"c{n % 3}") for n in range(0, 300, 2)}
    return model | dict.fromkeys(range(ROWS - 500, ROWS + 500), ("merged", "c0"))


TROUBLES = ("raise", "worker", "executor", "straggle")
SHAPES = {"buckets": 4, "no buckets": 0}


def run(version: str, folder: Path) -> tuple[int, int]:
    """All troubles with both kinds of tables on one release; how many are right, of how many."""
    right = total = 0
    jars = [HIVE_EXEC[version]]
    with (
        ReleasedMetastore(version, folder / "metastore", properties=TRANSACTIONS, jars=jars) as server,
        HiveMetastore(server.uri) as metastore,
    ):
        judge = Judge(server, TransactionClient(metastore), HiveAcid(version))
        done: list[tuple[str, str, Model, Trouble]] = []
        with cluster() as master:
            spark = session(master, server.uri)
            for shape, buckets in SHAPES.items():
                for name in TROUBLES:
                    table = judge.make(COLUMNS, KEYS, buckets=buckets)
                    trouble = Trouble(name, str(folder / f"{table}-attempts"))
                    Path(trouble.folder).mkdir()
                    module = sys.modules[hudi_spark.MutationReport.__module__]
                    module.WriteGroups = troubled(trouble)  # type: ignore[attr-defined]
                    started = time.monotonic()
                    model = mutations(spark, server.uri, f"default.{table}")
                    print(f"{version} {shape}, {name}: {time.monotonic() - started:.0f} s", flush=True)
                    done.append((f"{shape}, {name}", table, model, trouble))
            spark.stop()
        with judge.hive:
            for what, table, model, trouble in done:
                total += 1
                right += _is_right(judge, f"{version} {what}", table, model, trouble)
    return right, total


def _is_right(judge: Judge, what: str, table: str, model: Model, trouble: Trouble) -> bool:
    tasks, attempts = trouble.attempts()
    rows = judge.values(table)
    found = {row[0]: (row[1], row[2]) for row in rows}
    left = list((judge.server.warehouse / table / "_hudi_hive_mutation").rglob("bucket_*"))
    right = found == model and len(rows) == len(model) and attempts > tasks and not left
    print(
        f"{what}: {'right' if right else 'WRONG'}, {len(rows)} rows of {len(model)}, {attempts} complete attempts at "
        f"{tasks} tasks, {len(left)} files left",
        flush=True,
    )
    return right


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 0 if all is right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", choices=sorted(RELEASES), action="append")
    versions = parser.parse_args(arguments).version or sorted(RELEASES)
    results = []
    for version in versions:
        with tempfile.TemporaryDirectory(prefix="spark_mutations_") as folder:
            results.append(run(version, Path(folder)))
    passed, total = (sum(result[place] for result in results) for place in range(2))
    print(f"passed {passed} / {total}")
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
