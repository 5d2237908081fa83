"""Conditions on rows in Spark SQL: they leave files and merged rows out, and never a row of the answer."""

from __future__ import annotations

import itertools

import pyarrow.compute as pc
import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.options.read import SPARK_LOG_RECORDS
from hudi_hive.spark.bridge import scala_items
from tests.support.fixture_tables import encode_rows, rows_sha256, unzip_fixture
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm


def check(spark, name, condition):
    """Rows as Spark itself chooses them among all, and the lines on the scans."""
    path = unzip_fixture(name)
    frame = hudi_spark.load(spark, path).where(condition)
    found = frame.toArrow()
    everything = spark.createDataFrame(HudiTable.open(path).scan().to_arrow())
    wanted = everything.where(condition).toArrow()
    assert rows_sha256(encode_rows(found, wanted.column_names)) == rows_sha256(encode_rows(wanted))
    assert 0 < found.num_rows < everything.count()
    return hudi_spark.explain(frame).splitlines()


VERSIONS = ("v6", "v8", "v9")
CONDITIONS = ("visit_id > 100", "visit_id = 200 OR visit_id = 201", "visit_id >= 200 AND 1 = 1")


@pytest.mark.parametrize(
    ("version", "condition"),
    with_long_cases(zip(VERSIONS, CONDITIONS, strict=True), itertools.product(VERSIONS, CONDITIONS)),
)
def test_files_left_out_by_column_statistics(spark, version, condition):
    (line,) = check(spark, f"{version}_cow_part_mdt", condition)
    assert "left out by their statistics" in line


@pytest.mark.parametrize(
    "condition",
    (
        "page = 'home'",
        "page LIKE 'c%'",
        "dwell > 5 OR dwell IS NULL",
        "seen_at > TIMESTAMP '2024-03-05 08:02:00'",
        "length(page) = 4 AND visit_id < 100",
    ),
)
def test_skipping_files_changes_no_answer(spark, condition):
    check(spark, "v9_cow_part_mdt", condition)


def nodes_of(plan):
    yield plan
    for child in scala_items(plan.children()):
        yield from nodes_of(child)


@pytest.mark.parametrize("version", with_long_cases(["v9"], VERSIONS))
def test_merged_rows_are_chosen_before_they_reach_the_jvm(spark, version):
    name = f"{version}_mor_part_rli"
    condition = "stops > 2 AND upper(driver) <> 'X'"
    same = "stops > 2 AND driver IS NOT NULL"  # nothing is known of the rest here
    check(spark, name, condition)
    spark.conf.set(SPARK_LOG_RECORDS.name, "0")
    try:
        plan = hudi_spark.load(spark, unzip_fixture(name)).where(condition)._jdf.queryExecution().executedPlan()
    finally:
        spark.conf.unset(SPARK_LOG_RECORDS.name)
    plan.executeCollect()
    received = 0
    for node in nodes_of(plan):
        if "MapInArrow" in str(node.nodeName()):
            received += node.metrics().apply("pythonNumRowsReceived").value()
    slices = HudiTable.open(unzip_fixture(name)).scan(same).plan().slices
    with_logs = slices.filter(pc.greater(pc.list_value_length(slices.column("log_files")), 0))
    groups = with_logs.column("file_id").to_pylist()
    rows = HudiTable.open(unzip_fixture(name)).scan(same).to_arrow().column("_hoodie_file_name").to_pylist()
    assert received == sum(any(row.startswith(group) for group in groups) for row in rows) > 0
