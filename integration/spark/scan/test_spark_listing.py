"""Folders of tables without metadata table, listed by the executors of Spark: jobs, tasks, and the same rows."""

from __future__ import annotations

import uuid
from contextlib import contextmanager

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import SparkError
from hudi_hive.spark import enable
from hudi_hive.spark.write import SparkExecutor
from integration.support.stores.hadoop_aws import s3a_class_path
from tests.support.running.long import long_case

pytestmark = pytest.mark.jvm

THRESHOLD = "spark.sql.sources.parallelPartitionDiscovery.threshold"
PARALLELISM = "hoodie.file.listing.parallelism"
PARTITIONS = 40


def make(path, storage_options=None, **options):
    table = HudiTable.create(
        path, name="t", record_keys=["id"], partition_fields=["p"], storage_options=storage_options, options=options
    )
    ids = [f"k{number}" for number in range(2 * PARTITIONS)]
    rows = pa.table({"id": ids, "p": [f"p{number % PARTITIONS}" for number in range(2 * PARTITIONS)]})
    table.bulk_insert(rows, {"hoodie.metadata.enable": "false", **options})
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make(tmp_path_factory.mktemp("listing") / "t")


class Jobs:
    """Jobs that Spark ran in a block, as numbers of tasks."""

    tasks: list[int]


@contextmanager
def jobs(spark):
    """The jobs of a block."""
    context, tag, seen = spark.sparkContext, uuid.uuid4().hex, Jobs()
    context.addJobTag(tag)
    try:
        yield seen
    finally:
        context.removeJobTag(tag)
        context._jsc.sc().listenerBus().waitUntilEmpty()
        tracker = context._jsc.sc().statusTracker()
        seen.tasks = []
        for number in sorted(tracker.getJobIdsForTag(tag)):
            stages = [tracker.getStageInfo(stage).get() for stage in tracker.getJobInfo(number).get().stageIds()]
            seen.tasks.append(sum(int(stage.numTasks()) for stage in stages))


@contextmanager
def threshold(spark, folders):
    before = spark.conf.get(THRESHOLD)
    spark.conf.set(THRESHOLD, folders)
    try:
        yield
    finally:
        spark.conf.set(THRESHOLD, before)


def read(spark, path, **options):
    return spark.read.format("hudi").options(**options).load(str(path))


def test_many_folders_are_listed_by_tasks_and_few_by_the_driver(spark, made, tmp_path):
    keys = sorted(HudiTable.open(made).scan(selected_fields=["id"]).to_arrow().column("id").to_pylist())
    with threshold(spark, 8), jobs(spark) as planned:
        frame = read(spark, made, **{PARALLELISM: "5"})
        frame._jdf.queryExecution().executedPlan()
        assert len(frame.inputFiles()) == PARTITIONS
    assert planned.tasks == [5]
    assert sorted(row.id for row in frame.select("id").collect()) == keys
    with threshold(spark, 8), jobs(spark) as again:
        assert len(read(spark, made).inputFiles()) == PARTITIONS  # the listing of before
    assert again.tasks == []
    other = make(tmp_path / "t")
    with threshold(spark, PARTITIONS), jobs(spark) as by_driver:
        assert len(read(spark, other).inputFiles()) == PARTITIONS
    assert by_driver.tasks == []


def test_chosen_partitions_are_listed_by_tasks(spark, tmp_path):
    path = make(tmp_path / "t")
    chosen = [f"p{number}" for number in range(12)]
    with threshold(spark, 8), jobs(spark) as planned:
        frame = read(spark, path, **{PARALLELISM: "3"}).where(f"p IN ({', '.join(map(repr, chosen))})")
        frame._jdf.queryExecution().executedPlan()
    assert 3 in planned.tasks and set(planned.tasks) == {3}
    assert frame.count() == 24


def test_a_table_with_a_metadata_table_is_not_listed(spark, tmp_path):
    table = HudiTable.open(make(tmp_path / "t"))
    table.metadata.create()
    with threshold(spark, 0), jobs(spark) as planned:
        assert len(read(spark, tmp_path / "t").inputFiles()) == PARTITIONS
    assert planned.tasks == []


@pytest.mark.parametrize("scheme", [long_case("s3a")])
def test_folders_of_a_store_with_the_options_of_the_session(spark, s3, scheme):
    if not s3a_class_path():
        pytest.skip("hadoop-aws cannot be downloaded")
    one, other = make(s3.folder(scheme), s3.options()), make(s3.folder(scheme), s3.options())
    enable(spark, storage_options=s3.options())
    try:
        with threshold(spark, 8), jobs(spark) as planned:
            frame = read(spark, one, **{PARALLELISM: "5"})
            assert len(frame.inputFiles()) == PARTITIONS
        assert planned.tasks == [5]
        assert frame.count() == 2 * PARTITIONS
        with threshold(spark, PARTITIONS), jobs(spark) as by_driver:
            assert len(read(spark, other).inputFiles()) == PARTITIONS
        assert by_driver.tasks == []
    finally:
        enable(spark, storage_options={})


def test_the_driver_lists_where_executors_cannot(spark, tmp_path, monkeypatch, caplog):
    path = make(tmp_path / "t")

    def refuse(*_: object) -> None:
        raise SparkError("no package")

    monkeypatch.setattr(SparkExecutor, "map", refuse)
    with threshold(spark, 4):
        assert spark.read.format("hudi").load(str(path)).count() == 2 * PARTITIONS
    assert "executors do not list folders" in caplog.text
