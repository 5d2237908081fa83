"""The data source ``hudi`` in plain Spark: by path, by view and with options, the rows of ``HudiTable``."""

from __future__ import annotations

import gc

import pytest
from pyspark.errors import AnalysisException

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.errors import (
    InvalidOptionError,
    SchemaError,
    SparkError,
    TableNotFoundError,
    TimeTravelError,
    UnknownColumnError,
)
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import encode_rows, queries, query_id, rows_sha256, unzip_fixture
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

COW, MOR = "v9_cow_part_mdt", "v9_mor_part_rli"
NAMES = [
    "v6_cow_tskey_hive",  # a partition column that is read from the files
    "v6_mor_event_time",
    "v8_cow_orc",
    "v9_cow_types",
    COW,
    MOR,
]
KINDS = ("snapshot", "read_optimized", "time_travel", "incremental")
RANGES = ("everything", "second last's", "(empty)")


def chosen(name):
    """One query of each kind that the fixture has, and ranges of three kinds."""
    found = {}
    for query in queries(name, *KINDS):
        ends = [word for word in RANGES if query["label"].endswith(word)] if query["kind"] == "incremental" else [""]
        for word in ends:
            found.setdefault((query["kind"], word), query)
    return found.values()


CASES = [(name, query) for name in NAMES for query in chosen(name)]
CASES = [*CASES[::2], *CASES[1::2]]
HALF = len(CASES) // 2
TYPE, BEGIN = "hoodie.datasource.query.type", "hoodie.datasource.read.begin.instanttime"


def read(spark, path, **options):
    return spark.read.format("hudi").options(**options).load(str(path))


def assert_same(frame, path, **options):
    """The columns in their order and the rows of ``HudiTable``."""
    wanted = HudiTable.open(path).scan(options=options).to_arrow()
    found = frame.toArrow()
    assert found.column_names == wanted.column_names
    assert rows_sha256(encode_rows(found)) == rows_sha256(encode_rows(wanted))


def plan_of(frame):
    mode = frame.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("simple")
    return frame._jdf.queryExecution().explainString(mode)


def second_commit(name):
    """The time that says "after the second commit" of a range."""
    return MetaClient.load(str(unzip_fixture(name))).timeline.write_instants()[1].completed


@pytest.mark.parametrize(
    ("name", "query"),
    with_long_cases(CASES[:HALF], CASES),
    ids=[f"{name}-{query_id(query)}" for name, query in CASES],
)
def test_reads_as_the_table_does(spark, name, query):
    path = unzip_fixture(name)
    if query["kind"] == "time_travel" and "error" in query:
        with pytest.raises(TimeTravelError, match="cleaned"):
            read(spark, path, **query["options"])
    else:
        assert_same(read(spark, path, **query["options"]), path, **query["options"])


def test_the_source_reads_change_data(spark):
    path = unzip_fixture("v8_cow_cdc")
    options = {TYPE: "incremental", BEGIN: "000", "hoodie.datasource.query.incremental.format": "cdc"}
    frame = read(spark, path, **options)
    assert_same(frame, path, **options)
    wanted = HudiTable.open(path).scan(options=options).to_arrow().column("op").to_pylist()
    assert frame.count() == len(wanted)
    assert frame.where("op = 'u'").count() == wanted.count("u")
    assert sorted(row.op for row in frame.select("op").collect()) == sorted(wanted)


def test_columns_and_partitions_are_pruned(spark):
    path = unzip_fixture(COW)
    frame = read(spark, path).where("city = 'oslo'").select("visit_id")
    frame.collect()
    scan = hudi_spark.last_scan(spark, str(path))
    assert (scan.partitions_planned, scan.partitions_total) == (1, 3)
    assert "ReadSchema: struct<visit_id:bigint>" in plan_of(frame)
    assert "Batched: true" in plan_of(frame)


def test_an_incremental_query_reads_few_columns_and_joins_itself(spark):
    begin = second_commit(MOR)
    frame = read(spark, unzip_fixture(MOR), **{TYPE: "incremental", BEGIN: begin})
    total = frame.count()
    assert 0 < total < read(spark, unzip_fixture(MOR)).count()
    assert frame.where("rand() < 2").count() == total
    assert frame.alias("a").join(frame.alias("b"), "_hoodie_record_key").count() == total
    assert "MapInArrow" in plan_of(frame.select("ride_id"))
    assert "ReadSchema: struct<_hoodie_commit_time:string,ride_id:string>" in plan_of(frame.select("ride_id"))


def test_a_session_that_cannot_filter_commits_refuses(spark):
    frame = read(spark, unzip_fixture(COW), **{TYPE: "incremental", BEGIN: "000"})
    frame.createOrReplaceGlobalTempView("some_commits")
    try:
        with pytest.raises(SparkError, match="does not know it"):
            spark.newSession().sql("SELECT * FROM global_temp.some_commits").collect()
    finally:
        spark.catalog.dropGlobalTempView("some_commits")


@pytest.mark.parametrize("name", [COW, MOR])
def test_views_are_read_and_never_written(spark, name):
    path = unzip_fixture(name)
    files = sorted(item for item in path.rglob("*"))
    view = f"CREATE OR REPLACE TEMPORARY VIEW of_path USING hudi OPTIONS (path '{path}'"
    spark.sql(f"{view})")
    assert_same(spark.table("of_path"), path)
    for how in ("INTO", "OVERWRITE"):
        with pytest.raises(SparkError, match="INSERT on the view of_path"):
            spark.sql(f"INSERT {how} of_path SELECT * FROM of_path")
    with pytest.raises(SparkError, match="INSERT on the view of_path") as refused:
        spark.table("of_path").write.insertInto("of_path")
    assert str(path) in str(refused.value)
    spark.sql(f"{view}, '{TYPE}' = 'incremental', '{BEGIN}' = '{second_commit(name)}')")
    assert_same(spark.table("of_path"), path, **{TYPE: "incremental", BEGIN: second_commit(name)})
    spark.catalog.dropTempView("of_path")
    assert sorted(item for item in path.rglob("*")) == files


def test_a_reader_with_a_schema_reads_its_columns(spark):
    path = unzip_fixture(COW)
    frame = spark.read.format("hudi").schema("page STRING, city STRING").load(str(path))
    wanted = HudiTable.open(path).scan().to_arrow().select(["page", "city"])
    assert frame.columns == ["page", "city"]
    assert rows_sha256(encode_rows(frame.toArrow())) == rows_sha256(encode_rows(wanted))
    with pytest.raises(UnknownColumnError, match="nothing"):
        spark.read.format("hudi").schema("nothing STRING").load(str(path))
    for kind in ("TINYINT", "STRING"):
        with pytest.raises(SchemaError, match="visit_id is bigint in the table"):
            spark.read.format("hudi").schema(f"visit_id {kind}").load(str(path))


def test_the_long_name_of_the_format(spark, tmp_path):
    path = unzip_fixture(COW)
    assert_same(spark.read.format("org.apache.hudi").load(str(path)), path)
    with pytest.raises(InvalidOptionError, match="a new table needs a name"):
        spark.range(1).write.format("org.apache.hudi").save(str(tmp_path / "new"))
    spark.sql(f"CREATE TABLE made USING org.apache.hudi LOCATION '{path}'")
    assert spark.table("made").count() == HudiTable.open(path).scan().count()
    spark.sql("DROP TABLE made")
    assert not (tmp_path / "new").exists()


def test_statements_name_a_path(spark):
    path = unzip_fixture(MOR)
    assert_same(spark.sql(f"SELECT * FROM hudi.`{path}`"), path)
    moment = MetaClient.load(str(path)).timeline.write_instants()[1].requested
    assert_same(spark.sql(f"SELECT * FROM hudi.`{path}` VERSION AS OF '{moment}'"), path, **{"as.of.instant": moment})
    counted = spark.sql(f"WITH x AS (SELECT * FROM `hudi`.`{path}`) SELECT count(*) FROM x").first()[0]
    assert counted == HudiTable.open(path).scan().count()


def test_options_beside_a_name(spark, synced):
    table, path = synced(MOR) + "_rt", unzip_fixture(MOR)
    options = {TYPE: "incremental", BEGIN: second_commit(MOR)}
    assert_same(spark.read.options(**options).table(table), path, **options)
    told = ", ".join(f"`{name}` = '{value}'" for name, value in options.items())
    assert_same(spark.sql(f"SELECT * FROM {table} WITH ({told})"), path, **options)
    optimised = {TYPE: "read_optimized"}
    assert_same(spark.read.options(**optimised).table(table), path, **optimised)
    with pytest.raises(InvalidOptionError, match="mergeschema"):
        spark.read.option("mergeSchema", "true").table(table)
    with pytest.raises(AnalysisException):
        spark.read.option("mergeSchema", "true").table(f"{table}_nowhere")


def test_what_cannot_be_done_is_refused_by_name(spark, tmp_path):
    path = str(unzip_fixture(COW))
    with pytest.raises(InvalidOptionError, match="one path"):
        spark.read.format("hudi").load()
    with pytest.raises(InvalidOptionError, match=r"hoodie\.unknown"):
        read(spark, path, **{"hoodie.unknown": "1"})
    with pytest.raises(TableNotFoundError, match="base path"):
        spark.read.format("hudi").load(f"{path}/oslo")
    for mode in ("append", "overwrite", "error"):
        with pytest.raises(InvalidOptionError, match="a new table needs a name"):
            spark.range(1).write.format("hudi").mode(mode).save(str(tmp_path / "new"))
    rows = spark.readStream.format("rate").load().writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(InvalidOptionError, match="a new table needs a name"):
        rows.format("hudi").start(str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_a_stream_finds_the_source(spark):
    frame = spark.readStream.format("hudi").load(str(unzip_fixture(COW)))
    assert frame.isStreaming
    assert frame.schema == read(spark, unzip_fixture(COW)).schema


@pytest.mark.long
def test_sessions_with_views_can_be_garbage_collected(spark):
    virtual = spark._jvm.java.lang
    sessions = {}
    for name in (COW, MOR):
        other = spark.newSession()
        other.sql(f"CREATE TEMPORARY VIEW v USING hudi OPTIONS (path '{unzip_fixture(name)}')")
        # Planned, not run: Spark itself keeps what jobs refer to.
        plan = str(other.table("v")._jdf.queryExecution().optimizedPlan().toString())
        assert ("Union" in plan) == (name == MOR)
        sessions[name] = virtual.ref.WeakReference(other._jsparkSession)
    del other
    spark.newSession().sql("SELECT 1").collect()  # Spark keeps the last one of a thread
    kept = set(sessions)
    for _ in range(100):
        gc.collect()
        virtual.System.gc()
        virtual.System.runFinalization()
        kept = {name for name in kept if sessions[name].get() is not None}
        if not kept:
            break
    assert not kept
