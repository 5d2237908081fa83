"""Mutations by Spark of Hudi tables: one instant, whatever fails and is run again."""

from __future__ import annotations

import datetime
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import hudi_hive.spark as hudi_spark
from hudi_hive.errors import (
    DuplicateRecordError,
    InvalidOptionError,
    MutationError,
    SchemaError,
    StaleRecordError,
    TransactionConflictError,
    UnknownColumnError,
    UnknownRecordError,
)
from hudi_hive.metadata.reader import validate
from hudi_hive.spark.mutate import mutate_hudi
from hudi_hive.spark.write import WriteFileGroups
from hudi_hive.spark.write import changes as module
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from hudi_hive.table_api import HudiTable
from hudi_hive.write.writers import WriteReport
from tests.support.mutation.hudi_mutation_helpers import AT_FIRST, MANY, QUICK, data_files, make, seen, table_of

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

ROW = "id string, p string, ts long, v string"
CHANGED = [
    ("a", "x", 2, "a2", "update"),
    ("c", "y", None, None, "DELETE"),
    ("n", "z", 2, "n2", "insert"),
    ("a", "z", 2, "az", "insert"),
    ("m", "x", 2, "m2", "insert"),
]
AFTER = {
    ("a", "x"): (2, "a2"),
    ("b", "x"): (1, "b1"),
    ("d", "y"): (1, "d1"),
    ("n", "z"): (2, "n2"),
    ("a", "z"): (2, "az"),
    ("m", "x"): (2, "m2"),
}


@pytest.fixture(autouse=True)
def few_tasks(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", before)


def frame(spark: SparkSession, rows: list[tuple[Any, ...]], columns: str = ROW + ", op string") -> DataFrame:
    return spark.createDataFrame(rows, columns).repartition(2, "id")


@pytest.mark.parametrize(("version", "kind"), [(8, COPY_ON_WRITE), (9, MERGE_ON_READ)])
def test_records_of_all_operations_are_one_instant(spark, tmp_path, version, kind):
    table = make(tmp_path, version, kind, {})
    before = len(table.refresh().timeline.completed())
    report = hudi_spark.mutate(frame(spark, CHANGED), table.path, operation="op")
    assert isinstance(report, WriteReport)
    assert seen(table) == AFTER
    assert (report.inserted, report.updated, report.deleted) == (3, 1, 1)
    after = table.refresh()
    assert len(after.timeline.completed()) == before + 1 and not after.timeline.pending()
    assert validate(after.client).is_valid


def test_each_fault_has_its_own_error_and_nothing_becomes_visible(spark, tmp_path):
    table = make(tmp_path)
    files = data_files(table)
    faults = [
        ([("q", "x", 2, "q", "update")], UnknownRecordError),
        ([("n", "x", 2, "q", "insert"), ("n", "x", 3, "q", "insert")], DuplicateRecordError),
        ([("a", "x", 0, "q", "update")], StaleRecordError),
        ([("a", "x", 2, "q", "merge")], MutationError),
    ]
    for rows, error in faults:
        with pytest.raises(error) as caught:
            mutate_hudi(frame(spark, [*rows, ("b", "x", 5, "b5", "update")]), table.path, operation="op", options=QUICK)
        assert type(caught.value) is error
    assert seen(table) == AT_FIRST and data_files(table) == files
    assert not table.refresh().timeline.pending()


def test_ambiguous_arguments_of_a_mutation_are_refused(spark, tmp_path):
    table = make(tmp_path)
    rows = frame(spark, CHANGED)
    for how in ({}, {"operation": "op", "on": ["id"]}):
        with pytest.raises(InvalidOptionError, match="either"):
            mutate_hudi(rows, table.path, **how)
    with pytest.raises(UnknownColumnError):
        mutate_hudi(rows, table.path, operation="what", options=QUICK)
    with pytest.raises(UnknownColumnError):
        mutate_hudi(rows, table.path, on=["id"], options=QUICK)  # the column of operations is none of the table's
    with pytest.raises(SchemaError, match="lack v"):
        mutate_hudi(rows.drop("v"), table.path, operation="op", options=QUICK)
    with pytest.raises(SchemaError, match="only in case"):
        again = spark.createDataFrame([("a", "x", 2, "a2", "update", "a2")], ROW + ", op string, V string")
        mutate_hudi(again, table.path, operation="op", options=QUICK)
    assert seen(table) == AT_FIRST and not table.refresh().timeline.pending()


def test_a_key_that_spark_reads_as_something_else_is_refused(spark, tmp_path):
    table = HudiTable.create(tmp_path / "t", name="t", record_keys=["id"])
    moment = datetime.datetime(2024, 3, 10, 7, 30)
    table.insert(pa.table({"id": ["a"], "at": pa.array([moment], pa.timestamp("us"))}), QUICK)
    changes = spark.createDataFrame([("a", moment)], "id string, at timestamp_ntz")
    with pytest.raises(SchemaError, match="'at', which Spark reads as bigint"):
        mutate_hudi(changes, table.path, on=["at"], options=QUICK)
    assert not table.refresh().timeline.pending()


def test_changes_by_key_are_joined_by_spark(spark, tmp_path):
    table = make(tmp_path, kind=MERGE_ON_READ, ordering_fields=[])
    changes = [
        ("a", "x", 7, False),
        ("c", "x", 7, False),
        ("d", "y", 7, True),
        ("n", "z", 7, False),
        ("q", "z", 7, True),
    ]
    given = frame(spark, changes, "id string, p string, ts long, gone boolean")
    report = mutate_hudi(given, table.path, on=["ID"], delete_where="gone", options=QUICK)
    # What the changes do not tell stays; `c` moves to another partition.
    expected = {("a", "x"): (7, "a1"), ("b", "x"): (1, "b1"), ("c", "x"): (7, "c1"), ("n", "z"): (7, None)}
    assert seen(table) == expected
    assert (report.inserted, report.updated, report.deleted) == (2, 1, 2)
    with pytest.raises(MutationError, match="several times"):
        mutate_hudi(given.unionAll(given), table.path, on=["id"], delete_where="gone", options=QUICK)
    mutate_hudi(given.drop("gone", "ts"), table.path, on=["id", "p"], when_matched="delete", when_not_matched="ignore")
    assert seen(table) == {("b", "x"): (1, "b1")}


def test_others_that_commit_first_win(spark, tmp_path, monkeypatch):
    table = make(tmp_path)
    written = module.statuses_of

    def late(*arguments: Any) -> Any:
        done = written(*arguments)
        table.upsert(table_of([("b", "x", 9, "b9")]), MANY)
        return done

    monkeypatch.setattr(module, "statuses_of", late)
    with pytest.raises(TransactionConflictError, match="same file group"):
        mutate_hudi(frame(spark, CHANGED), table.path, operation="op", options=MANY)
    assert seen(table) == {**AT_FIRST, ("b", "x"): (9, "b9")}
    monkeypatch.undo()
    mutate_hudi(frame(spark, CHANGED), table.path, operation="op", options=MANY)
    assert seen(table) == {**AFTER, ("b", "x"): (9, "b9")}


class KilledOnce:
    """A step whose first worker dies when it has written its files, ahead of its answer."""

    def __init__(self, inner: module.WriteGroups, mark: Path) -> None:
        self._inner, self._mark = inner, mark

    def __call__(self, batches: Any) -> Any:
        found = list(self._inner(batches))
        if found and not self._mark.exists():
            self._mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from found


def test_a_task_whose_worker_dies_counts_once(spark, tmp_path, monkeypatch):
    table = make(tmp_path)
    mark = tmp_path / "killed"
    monkeypatch.setattr(module, "WriteFileGroups", lambda *about: KilledOnce(WriteFileGroups(*about), mark))
    mutate_hudi(frame(spark, CHANGED), table.path, operation="op", options=QUICK)
    assert mark.exists()
    assert seen(table) == AFTER
    timeline = table.refresh().timeline
    stats = [timeline.commit_metadata(one).write_stats for one in timeline.completed()]
    paths = {path for one in stats for path in one["path"].to_pylist()}
    assert {path for path in data_files(table) if path.endswith(".parquet")} == paths
    assert HudiTable.open(table.path).scan().to_arrow().num_rows == len(AFTER)
