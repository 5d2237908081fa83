"""Rows that log files replace are left out of Spark's batches by place: each way to read, executors elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.options.read import MERGE_MEMORY
from integration.support.replaced_rows import SETTINGS, differences, make_table
from integration.support.spark_releases import LIMIT_SECONDS, RELEASES, REPOSITORY, environment_of
from tests.support.tables.mor_table import MorTable

pytestmark = pytest.mark.jvm

CLUSTER = "local-cluster[1,1,1024]"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("replaced") / "t")
    make_table(path)
    return path


@pytest.mark.parametrize("name", SETTINGS)
def test_each_way_to_read_leaves_them_out(spark, table, name):
    assert differences(spark, table, {"spark.sql.codegen.wholeStage": "true"} | SETTINGS[name]) == []


@pytest.mark.parametrize("name", ["batches", "many tasks", "rows of batches", "rows"])
def test_large_log_files_come_in_shares_that_the_tasks_of_a_base_file_divide(spark, tmp_path, name):
    path = str(tmp_path / "t")
    make_table(path)
    wanted = HudiTable.open(path).scan(selected_fields=["id", "ts", "v", "text"]).to_arrow().to_pylist()
    for setting, value in SETTINGS[name].items():
        spark.conf.set(setting, value)
    try:
        for _ in range(2):
            frame = hudi_spark.load(spark, path, options={MERGE_MEMORY.name: "1000"}).select("id", "ts", "v", "text")
            assert "merged in Arrow" not in hudi_spark.explain(frame)
            rows = frame.toArrow().to_pylist()
            assert sorted(rows, key=str) == sorted(wanted, key=str)
    finally:
        for setting in SETTINGS[name]:
            spark.conf.unset(setting)
    if name != "rows":
        cached = [rdd for rdd in spark.sparkContext._jsc.getPersistentRDDs().values() if path in str(rdd.name())]
        assert [rdd.getNumPartitions() for rdd in cached] == [spark.sparkContext.defaultParallelism]


@pytest.mark.long
@pytest.mark.parametrize("master", ["local[2]", CLUSTER])
@pytest.mark.parametrize("release", RELEASES)
def test_releases_and_executors_elsewhere(tmp_path, release, master):
    environment = environment_of(release) | {"SPARK_WORKER_DIR": str(tmp_path / "work")}
    if master == CLUSTER:
        environment["SPARK_HOME"] = os.path.join(environment["PYTHONPATH"].split(os.pathsep)[0], "pyspark")
    command = [sys.executable, "-m", "integration.support.replaced_rows", str(tmp_path), master]
    done = subprocess.run(
        command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, timeout=LIMIT_SECONDS
    )
    assert done.returncode in (0, 1), done.stderr[-2000:]
    different = json.loads(done.stdout.splitlines()[-1])
    assert len(different) == len(SETTINGS) and not any(different.values()), different


def test_base_rows_and_log_records_are_one_scan(spark, table):
    hudi_spark.load(spark, table).createOrReplaceTempView("rows")
    plan = spark.sql("SELECT n, sum(v) FROM rows GROUP BY n")._jdf.queryExecution().executedPlan().toString()
    assert plan.count("FileScan") == plan.count("partial_sum") == 1 and "Union" not in plan and "InMemory" not in plan


def test_statements_that_need_no_column(spark, tmp_path):
    """Their batches of log records have no column of the table, but rows; counts of rows leave values as they are."""
    path, rows = str(tmp_path / "t"), {"id": list(range(10)), "k": pa.array([7] * 10, pa.int32())}
    made = HudiTable.create(path, name="t", table_type="MERGE_ON_READ", record_keys=["id"], ordering_fields=["ts"])
    made.upsert(pa.table({**rows, "ts": [1] * 10}))
    for number, replaced in ((2, range(6)), (3, range(10))):
        some = pa.table({**rows, "ts": [number] * 10}).take(pa.array(list(replaced)))
        HudiTable.open(path).upsert(some)
        frame = hudi_spark.load(spark, path)
        frame.createOrReplaceTempView("rows")
        assert frame.count() == 10 and [row.k for row in frame.select("k").collect()] == [7] * 10
        assert frame.limit(9).count() == len(frame.selectExpr("1").limit(9).collect()) == 9 and not frame.isEmpty()
        for statement, wanted in {
            "SELECT count(*) FROM rows WHERE (SELECT max(id) FROM range(10)) > 3": (10,),
            "SELECT count(1), 5 FROM rows WHERE EXISTS (SELECT 1 FROM range(10) WHERE id > 7)": (10, 5),
            "SELECT EXISTS (SELECT 1 FROM rows)": (True,),
            "SELECT sum(k), (SELECT count(*) FROM rows) FROM rows": (70, 10),
        }.items():
            assert tuple(spark.sql(statement).collect()[0]) == wanted, statement


def test_slices_without_a_base_file_are_part_of_the_scan(spark, tmp_path):
    made = MorTable(tmp_path, 8)
    made.log(1, [{"id": "k1", "ts": 1, "a": "a1"}, {"id": "k2", "ts": 1, "a": "a2"}])
    made.log(2, [{"id": "k2", "ts": 2, "a": "b2"}])
    for _ in range(2):
        hudi_spark.load(spark, str(tmp_path)).createOrReplaceTempView("rows")
        wanted = {"true": [("k1", "a1"), ("k2", "b2")], "a = 'b2'": [("k2", "b2")], "ts > 9": []}
        for condition, rows in wanted.items():
            frame = spark.sql(f"SELECT id, a FROM rows WHERE {condition}")
            assert "Union" not in frame._jdf.queryExecution().executedPlan().toString()
            assert sorted(map(tuple, frame.collect())) == rows
    assert spark.table("rows").count() == 2


def test_log_records_stay_when_spark_ignores_a_corrupt_base_file(spark, tmp_path):
    path = str(tmp_path / "t")
    made = HudiTable.create(path, name="t", table_type="MERGE_ON_READ", record_keys=["id"], ordering_fields=["ts"])
    made.upsert(pa.table({"id": list(range(20)), "ts": [1] * 20, "v": [1] * 20}))
    HudiTable.open(path).upsert(pa.table({"id": [0, 1], "ts": [2, 2], "v": [5, 5]}))
    frame = hudi_spark.load(spark, path).select("id", "v")
    assert len(frame.collect()) == 20
    base = next(Path(path).glob("*.parquet"))
    base.write_bytes(base.read_bytes()[:200])
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        assert sorted(map(tuple, hudi_spark.load(spark, path).select("id", "v").collect())) == [(0, 5), (1, 5)]
    finally:
        spark.conf.unset("spark.sql.files.ignoreCorruptFiles")


def test_tasks_with_classes_of_their_session_alone_do_without_those_of_others(spark, table):
    session = spark.newSession()
    hudi_spark.enable(session)
    session.conf.set("spark.sql.artifact.isolation.enabled", "true")
    frame = hudi_spark.load(session, table).select("v")
    assert "row_index" in frame._jdf.queryExecution().executedPlan().toString()  # planned outside of any task
    assert len(frame.collect()) == HudiTable.open(table).scan().to_arrow().num_rows


def test_files_that_cannot_be_numbered_are_no_corrupt_ones(spark, table):
    """A plan stays as it is while settings change: none of its rows may be missing then."""
    frame = hudi_spark.load(spark, table).select("v")
    settings = {"spark.sql.parquet.enableVectorizedReader": "false", "spark.sql.files.ignoreCorruptFiles": "true"}
    try:
        spark.conf.set("spark.sql.codegen.wholeStage", "true")
        frame._jdf.queryExecution().executedPlan()
        for name, value in settings.items():
            spark.conf.set(name, value)
        with pytest.raises(Exception, match="have it planned again"):
            frame.collect()
    finally:
        for name in ("spark.sql.codegen.wholeStage", *settings):
            spark.conf.unset(name)
