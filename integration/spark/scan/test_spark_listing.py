"""Folders of tables without metadata table, listed by the executors of Spark: jobs, tasks, and the same rows."""

from __future__ import annotations

import uuid
from contextlib import contextmanager

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import SparkError
from hudi_hive.metadata.reader import FileGroup
from hudi_hive.spark import enable
from hudi_hive.spark.write import SparkExecutor
from hudi_hive.table import MetaClient
from integration.support.stores.hadoop_aws import s3a_class_path
from tests.support.running.long import long_case

pytestmark = pytest.mark.jvm

THRESHOLD = "spark.sql.sources.parallelPartitionDiscovery.threshold"
PLANNED = "spark.hudi_hive.planned.partitions"
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
        assert frame.count() == 24
    assert planned.tasks[0] == 3  # those that the filter leaves; then the rows are counted


def test_a_table_with_a_metadata_table_is_not_listed(spark, tmp_path):
    table = HudiTable.open(make(tmp_path / "t"))
    table.metadata.create()
    with threshold(spark, 0), jobs(spark) as planned:
        assert len(read(spark, tmp_path / "t").inputFiles()) == PARTITIONS
    assert planned.tasks == []


def test_many_partitions_of_a_metadata_table_are_planned_by_tasks(spark, tmp_path, monkeypatch):
    table = HudiTable.open(make(tmp_path / "t"))
    table.metadata.create()
    looked_up = []
    lookup = FileGroup.lookup
    monkeypatch.setattr(
        FileGroup, "lookup", lambda self, field, keys: looked_up.append(keys) or lookup(self, field, keys)
    )
    spark.conf.set(PLANNED, 8)
    try:
        with jobs(spark) as planned:
            frame = read(spark, tmp_path / "t", **{PARALLELISM: "5"})
            assert len(frame.inputFiles()) == PARTITIONS
        assert planned.tasks == [5]
        assert looked_up == [["__all_partitions__"]]  # the driver looks no partition's files up
        with jobs(spark) as few:
            assert frame.where("p IN ('p1', 'p2')").count() == 4
        assert 5 not in few.tasks[:-1]
    finally:
        spark.conf.unset(PLANNED)


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


# -- folders that partition filters leave out --------------------------------------------------------------------------

CITIES, YEARS = ("kyiv", "lima", "oslo"), (2023, 2024)


@contextmanager
def listed(monkeypatch, base):
    """Folders of partitions that a block lists, sorted."""
    clients, load = [], MetaClient.load.__func__

    def loaded(cls, *arguments, **named):
        clients.append(load(cls, *arguments, **named))
        return clients[-1]

    folders: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(MetaClient, "load", classmethod(loaded))
        yield folders
    paths = {path.partition(str(base))[2].strip("/") for client in clients for path in client.counters.listed}
    folders += sorted(path for path in paths if not path.startswith(".hoodie"))


def by_city_and_year(path, order, *, nulls=False, **how):
    """A table of two partition columns; with ``nulls`` a city is null, and one is empty."""
    table = HudiTable.create(path, name="t", record_keys=["id"], partition_fields=list(order), **how)
    cities = [*CITIES, *([None, ""] if nulls else [])]
    rows = [{"id": f"{city}{year}", "city": city, "year": year, "n": 1} for city in cities for year in YEARS]
    types = pa.schema([("id", pa.string()), ("city", pa.string()), ("year", pa.int32()), ("n", pa.int32())])
    off = {"hoodie.metadata.enable": "false"}
    table.insert(pa.Table.from_pylist(rows, types), options=off)
    table.refresh().upsert(pa.Table.from_pylist([{**row, "n": 2} for row in rows[:3]], types), options=off)
    return rows


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize(
    ("order", "where", "folders"),
    [
        # Whether a city is null is seen by the folders above the last ones; the years of other cities are not listed.
        (("city", "year"), "city = 'lima'", ["", "kyiv", "lima", "lima/2023", "lima/2024", "oslo"]),
        (("city", "year"), "city = 'lima' AND year > 2023", ["", "kyiv", "lima", "lima/2024", "oslo"]),
        (("year", "city"), "year = 2024", ["", "2023", "2024", *(f"2024/{city}" for city in CITIES)]),
    ],
)
def test_partition_filters_leave_folders_out(spark, tmp_path, monkeypatch, kind, order, where, folders):
    rows = by_city_and_year(tmp_path / "t", order, table_type=kind, hive_style_partitioning=True)
    with listed(monkeypatch, tmp_path / "t") as seen:
        ids = sorted(row.id for row in read(spark, tmp_path / "t").where(where).select("id").collect())
    assert [path.replace("city=", "").replace("year=", "") for path in seen] == folders
    test = {"city = 'lima'": lambda r: r["city"] == "lima", "year = 2024": lambda r: r["year"] == 2024}
    passes = test.get(where, lambda r: r["city"] == "lima" and r["year"] > 2023)
    assert ids == sorted(row["id"] for row in rows if passes(row))


@pytest.mark.parametrize("hive_style", [True, False])
def test_the_folder_of_null_is_listed_for_nulls_and_empty_texts(spark, tmp_path, monkeypatch, hive_style):
    path = tmp_path / "t"
    by_city_and_year(path, ("city", "year"), nulls=True, hive_style_partitioning=hive_style)
    for where, ids in [
        ("city IS NULL", ["None2023", "None2024"]),
        ("city = ''", ["2023", "2024"]),
        ("city <=> NULL AND year = 2023", ["None2023"]),
        ("coalesce(city, 'x') = 'x'", ["None2023", "None2024"]),
        ("city IS NULL OR city = 'oslo'", ["None2023", "None2024", "oslo2023", "oslo2024"]),
    ]:
        assert sorted(row.id for row in read(spark, path).where(where).collect()) == sorted(ids), where
