"""Table services by Spark tasks, and tasks that Spark runs again after they have written their files."""

from __future__ import annotations

import shutil
import sys

import pytest
from pyspark import TaskContext
from pyspark.sql import functions as sql

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError, LockTimeoutError, SparkError, WriteError
from hudi_hive.metadata import MetadataTable, validate
from hudi_hive.spark.versions import SPARK
from hudi_hive.spark.write import executor as write_executor
from hudi_hive.spark.write.executor import SparkExecutor
from hudi_hive.table import MetaClient
from hudi_hive.timeline.instants import COMPACTION
from tests.support.running.lock_holder import LockHolder
from tests.support.running.long import long_case

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

ON_SPARK = sys.modules["hudi_hive.spark.write.write_frame"]
METADATA = "hudi_hive.metadata.writer"


@pytest.fixture(scope="module", autouse=True)
def few_tasks(spark):
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", before)


def trips(spark, first, last, fare=1.0):
    rows = spark.range(first, last)
    city = sql.concat(sql.lit("c"), sql.col("id") % 2).alias("city")
    return rows.select(sql.concat(sql.lit("k"), "id").alias("id"), city, sql.lit(fare).alias("fare"))


def write(rows, path, operation, kind="MERGE_ON_READ", **more):
    options = {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.operation": operation,
        "hoodie.metadata.index.column.stats.enable": "false",
        **more,
    }
    return hudi_spark.write(rows, path, options)


def rows_of(path):
    found = HudiTable.open(str(path)).scan(selected_fields=("id", "fare")).to_arrow().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row["fare"] for row in found}


def failing_after(step, attempts=1):
    """A step whose tasks fail once they have done everything, the first times."""

    class Failing(step):
        def __call__(self, batches):
            yield from step.__call__(self, batches)
            if TaskContext.get().attemptNumber() < attempts:
                raise OSError("the worker is gone")

    return Failing


def files_written(path, instant):
    return sorted(item.name for item in path.rglob(f"*{instant}*") if ".hoodie" not in item.parts and item.is_file())


@pytest.mark.parametrize("kind", ["MERGE_ON_READ", long_case("COPY_ON_WRITE")])
def test_tasks_that_run_again_double_no_row(spark, tmp_path, monkeypatch, kind):
    path = tmp_path / "trips"
    monkeypatch.setattr(ON_SPARK, "WriteNewFileGroups", failing_after(ON_SPARK.WriteNewFileGroups))
    monkeypatch.setattr(ON_SPARK, "WriteFileGroups", failing_after(ON_SPARK.WriteFileGroups))
    model = {}
    for operation, first, last, fare in (("bulk_insert", 0, 20, 1.0), ("upsert", 10, 30, 2.0)):
        report = write(trips(spark, first, last, fare), path, operation, kind)
        model |= {f"k{n}": fare for n in range(first, last)}
        assert rows_of(path) == model
        assert len(files_written(path, report.instant.requested)) == report.files
    client = MetaClient.load(str(path))
    assert client.file_system_view().latest_file_slices()["partition"].to_pylist().count("c0") <= 2
    assert not validate(client).errors


def keeping_files(step, table, aside):
    """A step whose tasks fail once they have done everything, the first time, and leave a copy of all files aside."""

    class Failing(step):
        def __call__(self, batches):
            yield from step.__call__(self, batches)
            if not TaskContext.get().attemptNumber():
                for file in table.glob("*/*.parquet"):
                    (aside / file.parent.name).mkdir(parents=True, exist_ok=True)
                    shutil.copy(file, aside / file.parent.name)
                raise OSError("the worker is gone")

    return Failing


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", long_case("MERGE_ON_READ")])
def test_files_that_lost_tasks_finish_behind_the_commit_do_not_count(spark, tmp_path, monkeypatch, kind):
    """Without a metadata table too: the commit names one of several files of a group. One of them came in part."""
    path, aside = tmp_path / "trips", tmp_path / "aside"
    options = {"hoodie.metadata.enable": "false"}
    model = {}
    for operation, first, last, fare in (("bulk_insert", 0, 20, 1.0), ("upsert", 10, 30, 2.0)):
        with monkeypatch.context() as patch:
            for name in ("WriteNewFileGroups", "WriteFileGroups"):
                patch.setattr(ON_SPARK, name, keeping_files(getattr(ON_SPARK, name), path, aside))
            report = write(trips(spark, first, last, fare), path, operation, kind, **options)
        model |= {f"k{n}": fare for n in range(first, last)}
        late = [
            file
            for file in aside.glob(f"*/*_{report.instant.requested}.parquet")
            if not (path / file.parent.name / file.name).exists()
        ]
        assert len(late) > 1 or (operation, kind) == ("upsert", "MERGE_ON_READ")
        for number, file in enumerate(late):
            data = file.read_bytes()
            (path / file.parent.name / file.name).write_bytes(data[: len(data) // 2] if number else data)
        assert rows_of(path) == model
        found = hudi_spark.load(spark, str(path)).select("id", "fare").collect()
        assert len(found) == len(model) and dict(found) == model
    write(trips(spark, 15, 20, 3.0), path, "upsert", kind, **options)
    assert rows_of(path) == model | {f"k{n}": 3.0 for n in range(15, 20)}


def test_a_write_whose_tasks_always_fail_is_undone(spark, tmp_path, monkeypatch):
    path = tmp_path / "trips"
    write(trips(spark, 0, 6), path, "upsert")
    before = sorted(item for item in path.rglob("*") if ".hoodie" not in item.parts)
    with monkeypatch.context() as patch:
        patch.setattr(ON_SPARK, "WriteFileGroups", failing_after(ON_SPARK.WriteFileGroups, 99))
        with pytest.raises(Exception, match="the worker is gone"):
            write(trips(spark, 3, 9, 2.0), path, "upsert")
    assert sorted(item for item in path.rglob("*") if ".hoodie" not in item.parts) == before
    assert rows_of(path) == {f"k{n}": 1.0 for n in range(6)}


def test_keys_of_a_delete_stay_on_the_executors(spark, tmp_path, monkeypatch):
    path, most = tmp_path / "trips", []
    write(trips(spark, 0, 300), path, "bulk_insert")
    collect, to_arrow = SPARK.frame_class.collect, SPARK.frame_class.toArrow
    monkeypatch.setattr(SPARK.frame_class, "collect", lambda self: most.append(len(rows := collect(self))) or rows)
    monkeypatch.setattr(
        SPARK.frame_class, "toArrow", lambda self: most.append((rows := to_arrow(self)).num_rows) or rows
    )
    report = write(trips(spark, 100, 400), path, "delete")
    assert report.deleted == 200
    assert most and max(most) <= 4  # partitions and file groups
    monkeypatch.undo()
    assert len(rows_of(path)) == 100


@pytest.fixture
def failing_attempts(monkeypatch):
    """How many attempts of each Spark task fail after their work is done: ``failing_attempts["of a task"]``."""
    attempts = {"of a task": 0}
    run_tasks = SparkExecutor.map

    def run_failing(executor, function, tasks):
        failures = attempts["of a task"]

        def call(task):
            result = function(task)
            context = TaskContext.get()
            if context is not None and context.attemptNumber() < failures:
                raise OSError("the worker is gone")
            return result

        return run_tasks(executor, call, tasks)

    monkeypatch.setattr(SparkExecutor, "map", run_failing)
    return attempts


def test_services_run_as_spark_tasks(spark, tmp_path, failing_attempts):
    path = tmp_path / "trips"
    write(trips(spark, 0, 20), path, "bulk_insert")
    write(trips(spark, 10, 20, 2.0), path, "upsert")
    model = rows_of(path)
    with pytest.raises(InvalidOptionError, match="schedule"):
        hudi_spark.compact(spark, path, schedule=True, execute=True)
    with pytest.raises(InvalidOptionError, match="no_such"):
        hudi_spark.compact(spark, path, {"hoodie.no_such": "1"})
    (planned,) = hudi_spark.compact(spark, path, schedule=True)
    failing_attempts["of a task"] = 99
    with pytest.raises(SparkError, match="tasks failed"):
        hudi_spark.compact(spark, path, execute=True)
    pending = MetaClient.load(str(path)).timeline.pending({COMPACTION})
    assert [instant.requested for instant in pending] == [planned.requested]
    failing_attempts["of a task"] = 1
    (done,) = hudi_spark.compact(spark, path, execute=True)
    failing_attempts["of a task"] = 0
    assert done.requested == planned.requested
    assert rows_of(path) == model
    stats = MetaClient.load(str(path)).timeline.commit_metadata(done).write_stats
    assert len(files_written(path, done.requested)) == stats.num_rows == 2
    assert hudi_spark.compact(spark, path) == []

    write(trips(spark, 20, 22), path, "bulk_insert")
    model |= {"k20": 1.0, "k21": 1.0}
    spark.sparkContext.setJobGroup("services", "")
    (clustered,) = hudi_spark.cluster(spark, path, sort_columns=["fare", "id"], layout="hilbert")
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup("services")) == 1
    assert clustered.action == "replacecommit"
    assert rows_of(path) == model
    hudi_spark.clean(spark, path, {"hoodie.clean.commits.retained": "1"})
    hudi_spark.archive(spark, path)
    assert rows_of(path) == model
    (undone,) = hudi_spark.rollback(spark, path, instant=write(trips(spark, 50, 60), path, "insert").instant.requested)
    assert rows_of(path) == model
    assert undone.rolled_back
    assert hudi_spark.init_metadata(spark, path, partitions=["record_index"]) == ("record_index",)
    assert not validate(MetaClient.load(str(path))).errors


def test_log_compactions_run_as_spark_tasks(spark, tmp_path, failing_attempts):
    path = tmp_path / "trips"
    write(trips(spark, 0, 20), path, "bulk_insert")
    for step in range(3):
        write(trips(spark, step, 10, 2.0 + step), path, "upsert")
    model = rows_of(path)
    options = {"hoodie.log.compaction.blocks.threshold": "2"}
    (planned,) = hudi_spark.log_compact(spark, path, options, schedule=True)
    assert planned.action == "logcompaction" and rows_of(path) == model
    failing_attempts["of a task"] = 1
    (done,) = hudi_spark.log_compact(spark, path, options, execute=True)
    failing_attempts["of a task"] = 0
    assert (done.requested, done.action) == (planned.requested, "deltacommit")
    assert rows_of(path) == model
    assert hudi_spark.log_compact(spark, path, options) == []
    write(trips(spark, 5, 25, 9.0), path, "upsert")
    model |= {f"k{number}": 9.0 for number in range(5, 25)}
    assert rows_of(path) == model
    assert len(hudi_spark.compact(spark, path)) == 1
    assert rows_of(path) == model


def test_a_record_index_is_made_without_its_keys_on_the_driver(spark, tmp_path, monkeypatch):
    path = tmp_path / "trips"
    write(trips(spark, 0, 60), path, "bulk_insert")
    write(trips(spark, 10, 20, 2.0), path, "upsert")
    write(trips(spark, 0, 5), path, "delete")
    read = []
    initial, slice_keys, records = (sys.modules[f"{METADATA}.{name}"] for name in ("initial", "slice_keys", "records"))
    keys_of, locations = slice_keys.keys_of, records.record_locations
    for module in (initial, slice_keys):
        monkeypatch.setattr(module, "keys_of", lambda task: read.append(task) or keys_of(task))
    monkeypatch.setattr(records, "record_locations", lambda *args: read.append(args) or locations(*args))
    options = {"hoodie.metadata.record.index.min.filegroup.count": "3"}
    spark.sparkContext.setJobGroup("record index", "")
    assert hudi_spark.init_metadata(spark, path, options, partitions=["record_index"]) == ("record_index",)
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup("record index")) == 2  # counted, then exchanged
    assert not read
    places = MetadataTable.open(MetaClient.load(str(path))).record_locations()
    assert places.column("key").to_pylist() == sorted(f"k{number}" for number in range(5, 60))
    index = {"hoodie.index.type": "RECORD_INDEX"}
    write(trips(spark, 50, 65, 3.0), path, "upsert", **index)
    assert rows_of(path) == {f"k{n}": 3.0 if n >= 50 else 2.0 if 10 <= n < 20 else 1.0 for n in range(5, 65)}


@pytest.mark.parametrize(("most", "tasks"), [(10, 5), (2, 2)])
def test_many_tasks_share_those_of_spark(spark, monkeypatch, most, tasks):
    monkeypatch.setattr(write_executor, "_MOST_TASKS", most)
    context = spark.sparkContext
    context.setJobGroup(f"few {most}", "")
    assert SparkExecutor(context).map(abs, [-1, 2, -3, 4, -5]) == [1, 2, 3, 4, 5]
    (job,) = context.statusTracker().getJobIdsForGroup(f"few {most}")
    (stage,) = context.statusTracker().getJobInfo(job).stageIds
    assert context.statusTracker().getStageInfo(stage).numTasks == tasks


def test_services_wait_for_the_lock_of_another_process(spark, tmp_path):
    path = tmp_path / "trips"
    point = write(trips(spark, 0, 20), path, "bulk_insert").instant.requested
    HudiTable.open(path).savepoint(point)
    last = write(trips(spark, 10, 20, 2.0), path, "upsert").instant.requested
    file_lock = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"}
    options = {
        **file_lock,
        "hoodie.write.lock.wait_time_ms": "0",
        "hoodie.write.lock.client.num_retries": "1",
        "hoodie.write.lock.client.wait_time_ms_between_retry": "1",
    }
    services = (
        lambda: hudi_spark.compact(spark, path, options),
        lambda: hudi_spark.cluster(spark, path, options),
        lambda: hudi_spark.clean(spark, path, options),
        lambda: hudi_spark.archive(spark, path, options),
        lambda: hudi_spark.rollback(spark, path, options, instant=last),
        lambda: hudi_spark.restore(spark, path, point, options),
        lambda: hudi_spark.init_metadata(spark, path, options, partitions=["record_index"]),
    )
    instants = HudiTable.open(path).timeline.instants
    with LockHolder(path, file_lock) as holder:
        holder.take()
        for service in services:
            with pytest.raises(LockTimeoutError, match="lock"):
                service()
        assert HudiTable.open(path).timeline.instants == instants
        holder.release()
        assert len(hudi_spark.compact(spark, path, options)) == 1


def test_a_write_waits_for_tasks_that_lost(request, spark, tmp_path, monkeypatch):
    """With speculation the files of attempts are gone through only when none of them runs any more."""
    conf = spark.sparkContext._jsc.sc().conf()
    request.addfinalizer(lambda: conf.remove("spark.speculation"))
    conf.set("spark.speculation", "true")
    asked, answers = [], iter([2, 1])
    running = write_executor._running

    def slow(context, tag):
        asked.append(running(context, tag))
        return next(answers, asked[-1])

    monkeypatch.setattr(write_executor, "_running", slow)
    write(trips(spark, 0, 4), tmp_path / "trips", "bulk_insert")
    assert asked == [0, 0, 0]
    monkeypatch.setattr(write_executor, "_running", lambda context, tag: 1)
    monkeypatch.setattr(write_executor, "_LOSERS_SECONDS", 0.0)
    with pytest.raises(WriteError, match="ran twice"):
        write(trips(spark, 4, 8), tmp_path / "trips", "bulk_insert")
    assert len(rows_of(tmp_path / "trips")) == 4


def test_bulk_inserts_are_not_begun_if_they_cannot_be_sorted(spark, tmp_path):
    path = tmp_path / "trips"
    write(trips(spark, 0, 4), path, "bulk_insert")
    before = sorted(path.rglob("*"))
    for column in ("none", "_hoodie_record_key"):
        with pytest.raises(InvalidOptionError, match="sort column"):
            write(
                trips(spark, 4, 8),
                path,
                "bulk_insert",
                **{"hoodie.bulkinsert.user.defined.partitioner.sort.columns": column},
            )
    assert sorted(path.rglob("*")) == before
