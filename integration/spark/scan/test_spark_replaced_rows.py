"""Rows that log files replace are left out of Spark's batches by place: each way to read, executors elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from integration.support.replaced_rows import SETTINGS, differences, make_table
from integration.support.spark_releases import LIMIT_SECONDS, RELEASES, REPOSITORY, environment_of

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


def test_aggregates_begin_below_the_union_of_base_rows_and_log_records(spark, table):
    hudi_spark.load(spark, table).createOrReplaceTempView("rows")
    plan = spark.sql("SELECT n, sum(v) FROM rows GROUP BY n")._jdf.queryExecution().executedPlan().toString()
    assert plan.count("partial_sum") == 2 and plan.index("Union") < plan.index("partial_sum")
    # Rows of other unions stay as Spark has them.
    both = spark.sql("SELECT sum(id) FROM (SELECT * FROM range(3) UNION ALL SELECT * FROM range(4))")
    plan = both._jdf.queryExecution().executedPlan().toString()
    assert plan.count("partial_sum") == 1


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
