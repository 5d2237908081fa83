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
from hudi_hive.errors import (
    HudiHiveError,
    InvalidOptionError,
    MutationError,
    MutationStateError,
    RecordIdentifierError,
    RecordSequenceError,
    SchemaError,
    TransactionConflictError,
    UnknownColumnError,
)
from hudi_hive.formats.orc import parse_hive_type
from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.mutation import AcidPartition, AcidReader, MutatorClient, MutatorCoordinator, merge
from hudi_hive.mutation.acid_table import PartitionState
from hudi_hive.spark import MutationReport
from hudi_hive.spark.mutate import WriteGroups
from hudi_hive.write.writers import WriteReport
from integration.support.hive_acid import HiveAcid, plain
from integration.support.metastore_pool import MetastorePool
from integration.support.metastores import TRANSACTIONS
from integration.support.mutation_judge import Judge
from integration.support.mutation_values import columns as all_columns
from integration.support.mutation_values import rows
from tests.support.mutation.hudi_mutation_helpers import AT_FIRST
from tests.support.mutation.hudi_mutation_helpers import make as make_hudi
from tests.support.mutation.hudi_mutation_helpers import seen as seen_in_hudi
from tests.support.running.long import long_case

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

VERSION = "4.0.1"
COLUMNS = (("id", "int"), ("msg", "string"), ("at", "timestamp"))
COUNTRY = (("country", "string"),)
FRAME = "id int, msg string, at timestamp, country string, op string"
NOON = datetime.datetime(2024, 5, 1, 12, 0, 0, 125)

Model = dict[int, tuple[str, str | None]]
"""Message and country of each id."""


@pytest.fixture(scope="module")
def judge(metastores: MetastorePool) -> Iterator[Judge]:
    server = metastores.start(VERSION, TRANSACTIONS, with_hive=True)
    with HiveAcid(VERSION) as hive, HiveMetastore(server.uri) as metastore:
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
    made = spark.createDataFrame(data, FRAME)
    return made.repartition(2, "id")


def run(judge: Judge, rows: DataFrame, name: str, **how: Any) -> Any:
    return hudi_spark.mutate(rows, f"default.{name}", metastore=judge.server.uri, **how)


def staged(judge: Judge, name: str) -> list[Path]:
    """What attempts have left."""
    return list((judge.server.warehouse / name / "_hudi_hive_mutation").rglob("bucket_*"))


ROWS: Model = {n: (f"m{n}", ["x/y", "z", ""][n % 3]) for n in range(60)}
SEEN: Model = {n: (msg, country or None) for n, (msg, country) in ROWS.items()}


@pytest.mark.parametrize("buckets", [long_case(3), long_case(0)])
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
    reader = AcidReader.open(judge.client, "default", name)
    rows = hudi_spark.read_acid(spark, reader, row_filter="id = 59").withColumnRenamed("ROW__ID", "rid")
    gone = rows.withColumn("op", sql.lit("delete"))
    report = run(judge, gone, name, operation="op", read_under=reader, record_id_column="RID")
    assert (report.committed, report.deleted) == (True, 1)
    left = {n: row for n, row in SEEN.items() if n != 59}
    wanted = {n: ("changed", row[1]) if n < 20 else row for n, row in left.items() if n >= 20 or n % 2 == 0}
    assert see(judge, name) == wanted
    assert not staged(judge, name)
    table, uri = f"default.{name}", judge.server.uri
    ids = hudi_spark.read_acid(spark, table, metastore=uri, columns=["ID"], with_row_id=False)
    assert sorted(row[0] for row in ids.collect()) == sorted(wanted)
    assert ids._jdf.queryExecution().optimizedPlan().stats().sizeInBytes() > 1 << 40  # never broadcast


@pytest.mark.long
@pytest.mark.parametrize("buckets, keys, most", [(3, ["ID"], 5), (3, ["id"], 100), (0, ["country", "ID"], 5)])
def test_changes_by_key(
    spark: SparkSession, judge: Judge, monkeypatch: pytest.MonkeyPatch, buckets: int, keys: list[str], most: int
) -> None:
    """As ``merge`` does it in one process: rows change, move to other partitions and buckets, go and come.

    The driver knows all values of the key, or the least and the greatest.
    """
    monkeypatch.setattr(sys.modules[MutationReport.__module__], "_MOST_VALUES", most)
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


ENDS = ("raise", "kill", "twice")


def test_attempts_at_tasks(spark: SparkSession, judge: Judge, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """When its files are there the first attempt fails, or is killed, or another one has written, too: one counts."""
    name = judge.make(COLUMNS, COUNTRY, buckets=3)
    for number, end in enumerate(ENDS):
        folder = tmp_path / end
        folder.mkdir()

        class Troubled(WriteGroups):
            def _write(self, batches: Any) -> str | None:
                given = list(batches)
                text = super()._write(iter(given))
                place = TaskContext.get()
                (folder / f"{place.partitionId()}-{place.attemptNumber()}-{text is not None}").touch()  # noqa: B023
                if place.attemptNumber() == 0 and text is not None:
                    if end == "kill":  # noqa: B023
                        os.kill(os.getpid(), signal.SIGKILL)
                    if end == "raise":  # noqa: B023
                        raise OSError("the disk is gone")
                    return super()._write(iter(given))
                return text

        monkeypatch.setattr(sys.modules[MutationReport.__module__], "WriteGroups", Troubled)
        rows = {n + 100 * number: row for n, row in ROWS.items()}
        report = run(judge, frame(spark, rows), name, operation="op", tasks=2)
        assert report.inserted == 60
        attempts = sorted(path.name for path in folder.iterdir())
        twice = ["0-0-True", "0-1-True", "1-0-True", "1-1-True"]
        assert attempts == (twice[::2] if end == "twice" else twice)
    assert len(see(judge, name)) == 60 * len(ENDS)
    assert not staged(judge, name)


def test_what_is_refused(spark: SparkSession, judge: Judge) -> None:
    """On the driver or by tasks; nothing is seen then, nothing is left, and no transaction is open."""
    name = judge.make(COLUMNS, COUNTRY)
    run(judge, frame(spark, {1: ("a", "z"), 2: ("b", "z")}), name, operation="op")
    table, uri = f"default.{name}", judge.server.uri
    rows = hudi_spark.read_acid(spark, table, metastore=uri)
    update = rows.withColumn("op", sql.lit("update"))
    fresh = frame(spark, {3: ("c", "z")})
    reader = AcidReader.open(judge.client, "default", name)
    under = {"operation": "op", "read_under": reader}
    cased = spark.createDataFrame([(4, "d", NOON, "z", "insert", "e")], f"{FRAME}, MSG string")
    cases: list[tuple[type[HudiHiveError], str, DataFrame, dict[str, Any]]] = [
        (InvalidOptionError, "either", fresh, {}),
        (InvalidOptionError, "either", fresh, {"on": ["id"], "operation": "op"}),
        (InvalidOptionError, "0 tasks", fresh, {"operation": "op", "tasks": 0}),
        (UnknownColumnError, "'kind' of operations", fresh, {"operation": "kind"}),
        (UnknownColumnError, "'rid' of identifiers", update, {**under, "record_id_column": "rid"}),
        (InvalidOptionError, "is a column of", update, {**under, "record_id_column": "msg"}),
        (SchemaError, "beside rid", update.withColumn("rid", sql.lit(1)), {**under, "record_id_column": "rid"}),
        (InvalidOptionError, "finds the rows by keys", fresh, {"on": ["id"], "record_id_column": "rid"}),
        (SchemaError, "only in case", cased, {"operation": "op"}),
        (SchemaError, "only in case", cased.drop("op"), {"on": ["id"]}),
        (RecordIdentifierError, "unknown snapshot", update, {"operation": "op"}),
        (RecordSequenceError, "comes after", update.union(update), under),
        (MutationError, "several times", fresh.union(fresh).drop("op"), {"on": ["id"]}),
        (UnknownColumnError, "no column op", fresh, {"on": ["id"]}),
        (UnknownColumnError, "not msg", fresh.drop("op", "msg"), {"on": ["msg"]}),
    ]
    for kind, match, data, how in cases:
        with pytest.raises(kind, match=match):
            run(judge, data, name, **how)
    assert see(judge, name) == {1: ("a", "z"), 2: ("b", "z")}
    assert not staged(judge, name)
    assert not [one for one in judge.client.open_transactions() if not one.aborted]


def test_snapshots_and_transactions(spark: SparkSession, judge: Judge) -> None:
    """Identifiers from before the transaction are good as long as nobody writes; a transaction mutates a table once."""
    name = judge.make(COLUMNS, COUNTRY)
    table, uri = f"default.{name}", judge.server.uri
    run(judge, frame(spark, {1: ("a", "z"), 2: ("b", "z")}), name, operation="op")
    reader = AcidReader.open(judge.client, "default", name)
    update = hudi_spark.read_acid(spark, reader).withColumn("op", sql.lit("update")).withColumn("msg", sql.lit("new"))
    run(judge, update, name, operation="op", read_under=reader)
    with pytest.raises(TransactionConflictError, match="written since"):
        run(judge, update, name, operation="op", read_under=reader)
    fresh = frame(spark, {3: ("c", "new")})
    with MutatorClient(uri, sinks=[table], create_partitions=True) as client:
        transaction = client.new_transaction()
        with pytest.raises(MutationStateError, match="not begun"):
            hudi_spark.mutate(fresh, table, transaction=transaction, operation="op")
        with transaction:
            hudi_spark.mutate(fresh, table, transaction=transaction, operation="op")
            with pytest.raises(MutationStateError, match="has been mutated"):
                hudi_spark.mutate(fresh.drop("op"), table, transaction=transaction, on=["id"])
        with pytest.raises(RuntimeError), client.new_transaction() as other:
            hudi_spark.mutate(fresh, table, transaction=other, operation="op")
            raise RuntimeError
    assert see(judge, name) == {1: ("new", "z"), 2: ("new", "z"), 3: ("c", "new")}


def test_a_merge_reads_the_partitions_of_the_changes(
    spark: SparkSession, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nulls in the key match nothing, several of them neither."""
    name = judge.make((*COLUMNS, ("part", "int")), (("country", "string"), ("day", "date")), buckets=2)
    made = frame(spark, {n: (f"m{n}", f"c{n % 4}") for n in range(40)})
    made = made.withColumn("part", sql.col("id") % 5).withColumn("day", sql.lit("2024-05-01").cast("date"))
    run(judge, made, name, operation="op")
    listed: list[tuple[str | None, ...]] = []
    state = AcidReader.state

    def counted(self: AcidReader, partition: AcidPartition) -> PartitionState:
        listed.append(partition.values)
        return state(self, partition)

    monkeypatch.setattr(AcidReader, "state", counted)
    changes = (
        made.where("id < 8 and country in ('c1', 'c2')").drop("op", "at", "part").withColumn("msg", sql.lit("new"))
    )
    nulls = changes.limit(2).withColumn("country", sql.lit(None).cast("string"))
    report = run(judge, changes.union(nulls), name, on=["country", "id"], when_not_matched="ignore")
    assert (report.inserted, report.updated, report.deleted) == (0, 4, 0)
    assert sorted(listed) == [("c1", "2024-05-01"), ("c2", "2024-05-01")]
    monkeypatch.undo()
    values = judge.values(name)
    assert [row[0] for row in values if row[1] == "new"] == [1, 2, 5, 6]
    assert all(row[3] == row[0] % 5 and row[2] == "2024-05-01 12:00:00.000125" for row in values)


def test_values_of_all_types(spark: SparkSession, judge: Judge) -> None:
    """Written by Spark, and kept by an update of other columns, which reads them through Spark."""
    name = judge.make(all_columns(), (), buckets=4)
    data = rows(40)
    made = spark.createDataFrame(data)
    run(judge, made, name, on=["id"])
    changed = made.where("id between 10 and 19").select("id", sql.lit("changed").alias("c_string"))
    run(judge, changed, name, on=["id"])
    kinds = [parse_hive_type(kind) for _, kind in all_columns()]
    wanted = {}
    for row in data.to_pylist():
        row["c_string"] = "changed" if 10 <= row["id"] < 20 else row["c_string"]
        wanted[row["id"]] = tuple(plain(value, kind) for value, kind in zip(row.values(), kinds, strict=True))
    assert {row[0]: row for row in judge.see(name).values()} == wanted


def test_timestamps_are_what_clocks_show(spark: SparkSession, judge: Judge) -> None:
    """Spark's are instants, which the session's zone shows; Hive's have no zone."""
    name = judge.make((("id", "int"), ("at", "timestamp"), ("more", "array<struct<at:timestamp>>")))
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")
    try:
        noon = "timestamp'2024-05-01 12:00:00.5'"
        made = spark.sql(f"select 1 id, {noon} at, array(named_struct('at', {noon})) more")
        assert made.schema["at"].dataType.typeName() == "timestamp"
        run(judge, made, name, on=["id"])
        (found,) = hudi_spark.read_acid(spark, f"default.{name}", metastore=judge.server.uri).collect()
        assert str(found["at"]) == str(found["more"][0]["at"]) == "2024-05-01 12:00:00.500000"
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    (row,) = judge.see(name).values()
    assert row == (1, "2024-05-01 12:00:00.5", [["2024-05-01 12:00:00.5"]])


def test_a_path_is_a_hudi_table(spark: SparkSession, tmp_path: Path) -> None:
    table = make_hudi(tmp_path)
    columns = "id string, p string, ts long, v string"
    changes = spark.createDataFrame([("a", "x", 2, "new"), ("n", "z", 2, "n2")], columns)
    with pytest.raises(InvalidOptionError, match="metastore belong"):
        hudi_spark.mutate(changes, table.path, on=["id"], metastore="thrift://localhost:1")
    with pytest.raises(InvalidOptionError, match="write options"):
        hudi_spark.mutate(changes, "db.t", on=["id"], options={"hoodie.table.name": "t"})
    report = hudi_spark.mutate(changes, Path(table.path.removeprefix("file:")), on=["id"])
    assert isinstance(report, WriteReport)
    assert seen_in_hudi(table) == {**AT_FIRST, ("a", "x"): (2, "new"), ("n", "z"): (2, "n2")}
