"""Sessions that are enabled again, and disabled."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.readwriter import DataFrameWriter

import hudi_hive.spark as hudi_spark
from hudi_hive.errors import SparkError
from hudi_hive.spark.bridge import map_in_arrow, planning_once, statement_jobs, use_this_python
from hudi_hive.spark.versions import SPARK
from hudi_hive.spark.write import SparkExecutor

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
}


def rules(spark: SparkSession) -> list[str]:
    """What a session's analyser, parser, cache and optimiser are."""
    java, context = spark._jsparkSession, spark.sparkContext
    lists = ("hintResolutionRules",) if SPARK.has_scripts else ()  # 3.5 has an analyser around that of the session
    lists += ("postHocResolutionRules",)

    def field(target: object, name: str) -> str:
        return str(hudi_spark.session.reader._environment(spark).jvm.field(target, name).get().toString())

    assert context is not None
    state = java.sessionState()
    analyzer = state.analyzer()
    found = [str(analyzer.toString())]
    if found[0] == "hudi_hive.CommandAnalyzer":
        analyzer = analyzer.delegate()
    found += [field(analyzer, name) for name in lists]
    found += [str(java.experimental().extraOptimizations().toString())]
    found += [str(java.experimental().extraStrategies().toString())]
    parser, cache = field(state, "sqlParser"), field(state.catalog(), "tableRelationCache")
    return [text for text in (*found, parser, cache) if "hudi_hive" in text]


def test_a_session_is_enabled_once_and_disabled_to_what_it_was(spark: SparkSession, tmp_path: Path) -> None:
    session = hudi_spark.enable(spark.newSession())
    hooked = rules(session)
    assert rules(hudi_spark.enable(session)) == hooked != []
    path = str(tmp_path / "trips")
    frame = session.createDataFrame([(1, "a", 1)], "id int, name string, ts int")
    frame.write.format("hudi").options(**OPTIONS).save(path)
    assert session.sql(f"SELECT name FROM hudi.`{path}`").first().name == "a"

    assert hudi_spark.disable(session) is session
    assert hudi_spark.disable(session) is session
    later = session.newSession()
    for off in (session, later):
        assert rules(off) == []
        with pytest.raises((SparkError, PySparkException), match="hudi"):
            off.sql(f"SELECT * FROM hudi_query_timeline('{path}')").collect()
    with pytest.raises(SparkError, match="reads and writes no Hudi tables"):
        session.read.format("hudi").load(path)
    with pytest.raises(SparkError, match="reads and writes no Hudi tables"):
        session.createDataFrame([(1,)], "id int").write.format("hudi").options(**OPTIONS).mode("append").save(path)
    assert session.sql("SELECT 1 AS one").first().one == 1
    session.createDataFrame([(1,)], "id int").write.saveAsTable("disabled_plain", path=str(tmp_path / "plain"))
    session.sql("DROP TABLE disabled_plain")

    hudi_spark.enable(spark)  # whose hooks the derived session shared
    assert rules(hudi_spark.enable(session)) == hooked
    assert session.read.format("hudi").load(path).count() == 1
    assert session.sql(f"SELECT count(*) AS n FROM hudi_query_timeline('{path}')").first().n == 1
    assert session.sql(f"UPDATE hudi.`{path}` SET name = 'b'").collect() == []
    assert getattr(DataFrameWriter.saveAsTable, "_hudi_hive", False)
    assert [row.name for row in session.read.format("hudi").load(path).collect()] == ["b"]


def test_frames_of_an_rdd_stay_those_of_the_session_that_the_user_made_last(spark: SparkSession) -> None:
    mine = spark.newSession()
    assert planning_once(mine, 2).conf.get("spark.sql.adaptive.enabled") == "false"
    made = mine.sparkContext.parallelize([(1,)], 1).toDF(["id"])
    assert made.sparkSession is mine


def test_a_statement_clones_a_session_once(spark: SparkSession) -> None:
    mine, other = spark.newSession(), spark.newSession()
    context = mine.sparkContext
    with statement_jobs(context, "MERGE a"):
        first = planning_once(mine, 2)
        with statement_jobs(context, "UPSERT a"):
            assert planning_once(SparkSession(context, mine._jsparkSession), 2) is first
        assert planning_once(mine, 3) is not first
        assert planning_once(other, 2) is not first
    mine.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    with statement_jobs(context, "MERGE a"):
        assert planning_once(mine, 2).conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"


def test_tasks_run_in_the_python_workers_that_run_steps_of_queries(spark: SparkSession) -> None:
    def daemon(_: object) -> int:
        return os.getppid()

    def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.record_batch({"daemon": pa.array([os.getppid()], pa.int64())})

    context = spark.sparkContext
    environment = dict(context.environment)
    queries = {row.daemon for row in map_in_arrow(spark.range(0, 2, 1, 2), step, "daemon long").collect()}
    assert {*SparkExecutor(context).map(daemon, [1, 2])} == queries
    assert context.environment == environment


def test_tasks_may_import_what_the_driver_uses(spark: SparkSession) -> None:
    """A user's module that has functions for tasks beside those for the driver is loaded by both."""

    def imported(_: int) -> list[str]:
        import sys
        from importlib import import_module

        kept = sys.modules.pop("hudi_hive.spark", None)  # as in a worker that has not begun with it
        try:
            module = import_module("hudi_hive.spark")
            return [str(getattr(module, name).__name__) for name in ("enable", "read_acid", "PlannedScan")]
        finally:
            if kept is not None:
                sys.modules["hudi_hive.spark"] = sys.modules["hudi_hive"].spark = kept  # type: ignore[attr-defined]

    names = spark.sparkContext.parallelize([0], 1).map(imported).collect()
    assert names == [["enable", "read_acid", "PlannedScan"]]


def test_tasks_on_this_machine_run_by_the_python_of_the_driver(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = spark.sparkContext
    monkeypatch.setattr(context, "pythonExec", "python-that-is-not-there")
    monkeypatch.setenv("PYSPARK_PYTHON", "python-that-is-not-there")
    use_this_python(context)
    assert context.pythonExec == "python-that-is-not-there"  # chosen by the user
    monkeypatch.delenv("PYSPARK_PYTHON")
    use_this_python(context)
    assert context.pythonExec == sys.executable
    assert map_in_arrow(spark.range(3), lambda batches: batches, "id long").count() == 3
