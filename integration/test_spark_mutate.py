"""Mutations by Spark of tables of a real metastore, judged by Hive's own readers and by ours."""

from __future__ import annotations

import datetime
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

import hudi_hive.spark as hudi_spark
from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.mutation import MutatorClient, MutatorCoordinator, merge
from hudi_hive.spark import MutationReport
from hudi_hive.spark.mutate_tasks import WriteGroups
from integration.hive_acid import HiveAcid
from integration.metastores import HIVE_EXEC, ReleasedMetastore
from integration.mutation_judge import Judge

pytestmark = pytest.mark.jvm

VERSION = "4.0.1"
PROPERTIES = {
    "hive.support.concurrency": "true",
    "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
    "metastore.hmshandler.retry.interval": "1ms",
}
COLUMNS = (("id", "int"), ("msg", "string"), ("at", "timestamp"))
COUNTRY = (("country", "string"),)
NOON = datetime.datetime(2024, 5, 1, 12, 0, 0, 125)

Model = dict[int, tuple[str, str | None]]
"""Message and country of each id."""


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    folder = tmp_path_factory.mktemp("metastore")
    jars = [HIVE_EXEC[VERSION]]
    with (
        HiveAcid(VERSION) as hive,
        ReleasedMetastore(VERSION, folder, properties=PROPERTIES, jars=jars) as server,
        HiveMetastore(server.uri) as metastore,
    ):
        yield Judge(server, TransactionClient(metastore), hive)


@pytest.fixture(autouse=True)
def few_tasks(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", before)


def see(judge: Judge, name: str) -> Model:
    """What Hive's readers and ours see alike."""
    rows = [(partition, row) for (partition, _), row in judge.see(name).items()]
    found = {row[0]: (row[1], partition[0] if partition else None) for partition, row in rows}
    assert len(found) == len(rows)
    assert all(row[2] in (None, "2024-05-01 12:00:00.000125") for _, row in rows)
    return found


def frame(spark: SparkSession, rows: Model, operation: str = "insert") -> DataFrame:
    """Rows with an operation each, in two partitions of Spark's."""
    data = [(number, msg, NOON, country, operation) for number, (msg, country) in rows.items()]
    made = spark.createDataFrame(data, "id int, msg string, at timestamp, country string, op string")
    return made.repartition(2, "id")


def run(judge: Judge, rows: DataFrame, name: str, **how: Any) -> Any:
    return hudi_spark.mutate(rows, f"default.{name}", metastore=judge.server.uri, **how)


def staged(judge: Judge, name: str) -> list[Path]:
    """What attempts have left."""
    return list((judge.server.warehouse / name / "_hudi_hive_mutation").rglob("bucket_*"))


ROWS: Model = {n: (f"m{n}", ["x/y", "z", ""][n % 3]) for n in range(60)}
SEEN: Model = {n: (msg, country or None) for n, (msg, country) in ROWS.items()}


@pytest.mark.parametrize("buckets", [3, 0])
def test_records_with_operations(spark: SparkSession, judge: Judge, buckets: int) -> None:
    """Over several partitions and buckets, in a transaction of its own and in one that is open."""
    name = judge.make(COLUMNS, COUNTRY, buckets=buckets)
    report = run(judge, frame(spark, ROWS), name, operation="op")
    assert (report.committed, report.inserted, report.updated, report.deleted) == (True, 60, 0, 0)
    assert set(report.partitions) == {("x/y",), ("z",), (None,)}
    assert see(judge, name) == SEEN
    with MutatorClient(judge.server.uri, sinks=[f"default.{name}"]) as client, client.new_transaction() as open_one:
        rows = hudi_spark.read_acid(spark, f"default.{name}", transaction=open_one, row_filter="id < 20")
        assert rows.columns == ["ROW__ID", "id", "msg", "at", "country"]
        operation = sql.when(sql.col("id") % 2 == 0, "Update").otherwise("delete")
        changes = rows.withColumn("op", operation).withColumn("msg", sql.lit("changed"))
        report = hudi_spark.mutate(changes, f"default.{name}", transaction=open_one, operation="op")
        assert (report.committed, report.updated, report.deleted) == (False, 10, 10)
        assert see(judge, name) == SEEN
    wanted = {n: ("changed", row[1]) if n < 20 else row for n, row in SEEN.items() if n >= 20 or n % 2 == 0}
    assert see(judge, name) == wanted
    assert not staged(judge, name)
    table, uri = f"default.{name}", judge.server.uri
    ids = hudi_spark.read_acid(spark, table, metastore=uri, columns=["ID"], with_row_id=False)
    assert sorted(row[0] for row in ids.collect()) == sorted(wanted)


@pytest.mark.parametrize("buckets, keys", [(3, ["id"]), (0, ["country", "ID"])])
def test_changes_by_key(spark: SparkSession, judge: Judge, buckets: int, keys: list[str]) -> None:
    """As ``merge`` does it in one process: rows change, move to other partitions and buckets, go and come."""
    name, other = (judge.make(COLUMNS, COUNTRY, buckets=buckets) for _ in range(2))
    for one in (name, other):
        run(judge, frame(spark, ROWS), one, operation="op")
    changes: Model = dict.fromkeys(range(40, 80), ("merged", "z")) | {n: ("here", ROWS[n][1]) for n in range(10)}
    rows = frame(spark, changes).drop("op", "at").withColumn("old", sql.col("id").between(45, 50))
    report = run(judge, rows, name, on=keys, delete_where="old = true")
    local = pa.table(
        {
            "id": pa.array(changes, pa.int32()),
            "msg": [msg for msg, _ in changes.values()],
            "country": [country or None for _, country in changes.values()],
            "old": [45 <= n <= 50 for n in changes],
        }
    )
    with MutatorClient(judge.server.uri, sinks=[f"default.{other}"]) as client, client.new_transaction() as txn:
        result = merge(txn.reader("default", other), local, keys, delete_where="old = true")
        with MutatorCoordinator(txn.table("default", other)) as coordinator:
            result.feed(coordinator)
        txn.accept(coordinator.close())
    seen = judge.values(name)
    assert seen == judge.values(other)
    assert len(seen) == 60 - result.deleted + result.inserted
    moved = report.deleted - result.deleted
    assert (report.inserted, report.updated) == (result.inserted + moved, result.updated - moved)


def test_attempts_that_fail_after_writing(spark: SparkSession, judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt at a task raises or is killed when its files are there; the second one counts."""
    name = judge.make(COLUMNS, COUNTRY, buckets=3)
    for number, deadly in enumerate((False, True)):

        class Failing(WriteGroups):
            def _write(self, batches: Any) -> str | None:
                text = super()._write(batches)
                if TaskContext.get().attemptNumber() == 0 and text is not None:
                    if deadly:  # noqa: B023
                        os.kill(os.getpid(), signal.SIGKILL)
                    raise OSError("the disk is gone")
                return text

        monkeypatch.setattr(sys.modules[MutationReport.__module__], "WriteGroups", Failing)
        rows = {n + 100 * number: row for n, row in ROWS.items()}
        report = run(judge, frame(spark, rows), name, operation="op")
        assert report.inserted == 60
    assert len(see(judge, name)) == 120
    assert not staged(judge, name)
