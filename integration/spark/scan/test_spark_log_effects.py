"""Slices with log files whose base files Spark's own reader reads: which, what is kept, and what is read again."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.options.read import MERGE_MEMORY, SPARK_LOG_RECORDS, SPILL_FOLDER
from tests.support.fixture_tables import encode_rows, fixture_names, rows_sha256, unzip_fixture
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

BESIDE = "beside Spark's own reader"
FIELDS = {"record_keys": ["id"], "ordering_fields": ["ts"], "table_type": "MERGE_ON_READ"}
REASONS = [
    ("v9_mor_part_rli", None),
    ("v8_mor_event_time", None),
    ("v6_mor_event_time", None),
    ("v8_mor_rollback", None),
    ("v9_mor_schema_evo", "columns have ids"),
]


def same(frame, table):
    found, wanted = frame.toArrow(), table.scan().to_arrow()
    return rows_sha256(encode_rows(found, wanted.column_names)) == rows_sha256(encode_rows(wanted))


def lines(frame):
    return [line for line in hudi_spark.explain(frame).splitlines() if BESIDE in line or "merged in Arrow" in line]


@pytest.fixture
def make(tmp_path):
    """Makes a table of several partitions, and writes to it."""

    def made(**more):
        table = HudiTable.create(tmp_path / "t", name="t", partition_fields=["p"], **(FIELDS | more))
        ids = list(range(300))
        table.upsert(pa.table({"id": ids, "ts": [5] * 300, "v": [0.0] * 300, "p": [f"p{i % 3}" for i in ids]}))
        return str(tmp_path / "t")

    return made


def updated(path, ids, ts, value):
    rows = {"id": ids, "ts": [ts] * len(ids), "v": [value] * len(ids), "p": [f"p{i % 3}" for i in ids]}
    HudiTable.open(path).upsert(pa.table(rows))


@pytest.mark.parametrize(("name", "reason"), REASONS)
def test_explain_says_which_way_and_why(spark, name, reason):
    base = unzip_fixture(name)
    frame = hudi_spark.load(spark, base)
    text = hudi_spark.explain(frame)
    if reason is None:
        assert BESIDE in text and "merged in Arrow" not in text
    else:
        assert f"({reason})" in text and BESIDE not in text
    assert same(frame, HudiTable.open(base))


def test_slices_are_read_once(spark, make):
    path = make()
    updated(path, range(30), 6, 1.0)

    def ask(columns, condition="true"):
        hudi_spark.load(spark, path).createOrReplaceTempView("rows")
        return spark.sql(f"SELECT {columns} FROM rows WHERE {condition}")

    total = "sum(v) s, count(*) n"
    first = ask(total)
    assert first.collect()[0] == (30.0, 300)
    assert "3 slices" in lines(first)[0] and "read now" in lines(first)[0]
    assert "kept from before" in lines(ask(total))[0]
    # Another column: the slices are read for it, the columns of before come along.
    assert ask("max(ts)").collect()[0][0] == 6
    assert "kept from before" in lines(ask("sum(v), max(ts)", "p <> 'p9'"))[0]
    # A log file more in one slice: that slice alone.
    updated(path, [0, 3, 6], 7, 2.0)
    fresh = ask(total)
    assert "read now for 1 slices" in lines(fresh)[0] and fresh.collect()[0] == (33.0, 300)
    # An older record does not win, a new one and a delete do.
    updated(path, [1, 400], 1, 100.0)
    HudiTable.open(path).delete(pa.table({"id": [2], "p": ["p2"], "ts": [9]}))
    assert ask(total).collect()[0] == (132.0, 300)
    assert same(hudi_spark.load(spark, path), HudiTable.open(path))


def test_a_limit_alone_has_no_slice_read_as_a_whole(spark, make):
    path = make()
    updated(path, range(30), 6, 1.0)
    few = hudi_spark.load(spark, path).limit(7)
    assert "(some rows will do)" in lines(few)[0] and few.count() == len(few.collect()) == 7
    assert hudi_spark.load(spark, path).where("v >= 0").count() == 300
    few = hudi_spark.load(spark, path).select("v").limit(7)
    assert BESIDE in lines(few)[0] and len(few.collect()) == 7


def test_few_keys_are_merged_once_and_then_slices_are_read_as_a_whole(spark, make):
    path = make()
    updated(path, range(30), 6, 1.0)

    def one(key, condition="true"):
        frame = hudi_spark.load(spark, path).where(f"id = {key} AND {condition}")
        assert [(row.id, row.v) for row in frame.collect()] == [(key, float(key < 30))]
        return lines(frame)[0]

    assert "(records of few keys are asked for)" in one(4, "p = 'p1'")
    assert "(records of few keys are asked for)" in one(5)  # also of slices that nobody asked for before
    assert "read now" in one(200) and "kept from before" in one(7)
    updated(path, [0], 7, 1.0)  # a slice with another log file is another one
    assert "(records of few keys are asked for)" in one(0) and "read now" in one(0)


def test_rows_are_counted_without_reading_them(spark, make):
    """From what log files do, read once; slices without log files by Spark's own reader."""
    path = make()

    def counted(condition="true"):
        hudi_spark.load(spark, path).createOrReplaceTempView("rows")
        frame = spark.sql(f"SELECT count(*) FROM rows WHERE {condition}")
        line = next((item for item in hudi_spark.explain(frame).splitlines() if "rows of" in item), "")
        others = (
            f"FROM rows WHERE {condition} AND v > -1",
            f"FROM (SELECT 1 FROM rows WHERE {condition} AND rand() >= 0)",
        )
        for other in others:
            assert spark.sql(f"SELECT count(*) {other}").collect() == frame.collect()
        return frame.collect()[0][0], line

    assert counted() == (300, "")
    updated(path, [0, 3, 6], 6, 1.0)
    number, line = counted()
    assert number == 300 and "rows of 1 slices counted by what log files do: 1 log files, read now" in line
    HudiTable.open(path).delete(pa.table({"id": [1, 0], "p": ["p1", "p0"], "ts": [9, 9]}))
    number, line = counted()
    assert number == 298 and "rows of 2 slices counted" in line
    # The statement before has left the effects behind, with records of another column.
    assert "kept from before" in counted()[1]
    number, line = counted("p IN ('p0', 'p2') AND p <> 'p2'")
    assert number == 99 and "1 of 3 partitions" in line and "rows of 1 slices counted" in line
    assert counted("p = 'p9'") == (0, "")
    updated(path, range(290, 310), 6, 1.0)
    frame = hudi_spark.load(spark, path)
    assert frame.count() == 308 and frame.select("v").limit(300).count() == 300


def test_rows_of_the_default_partition_are_counted_by_their_own_values(spark, make):
    """It holds empty texts beside nulls, which its path does not tell apart."""
    path = make()
    for ts in (5, 6):
        ids = list(range(300, 310))
        rows = {"id": ids, "ts": [ts] * 10, "v": [0.0] * 10, "p": pa.array([None, ""] * 5, pa.string())}
        HudiTable.open(path).upsert(pa.table(rows))
    hudi_spark.load(spark, path).createOrReplaceTempView("rows")
    for condition, number in {"p IS NULL": 5, "p = ''": 5, "p <> 'p0'": 205, "p = 'p1'": 100, "true": 310}.items():
        assert spark.sql(f"SELECT count(*) FROM rows WHERE {condition}").collect()[0][0] == number


@pytest.mark.parametrize("first", ["now", "then"])
def test_records_of_one_moment_do_not_go_with_what_log_files_do_at_another(spark, tmp_path, first):
    """Names of log files of version 6 do not tell whose blocks are in them: a count in between is of another moment."""
    table = HudiTable.create(tmp_path / "t", name="t", version=6, **FIELDS)
    moments = {"now": None}
    for ids, ts, value in ((range(10), 1, 1.0), (range(5), 2, 10.0), (range(8), 3, 100.0), (range(8, 12), 4, 7.0)):
        table.upsert(pa.table({"id": ids, "ts": [ts] * len(ids), "v": [value] * len(ids)}))
        if ts == 2:
            moments["then"] = HudiTable.open(table.path).timeline.completed()[-1].requested
    answers = {"now": (828.0, 12), "then": (55.0, 10)}

    def frame(moment):
        return hudi_spark.load(spark, table.path, as_of=moments[moment])

    other = {"now": "then", "then": "now"}[first]
    for moment in (first, other, first):
        assert frame(other).count() == answers[other][1]
        assert tuple(frame(moment).selectExpr("sum(v)", "count(v)").collect()[0]) == answers[moment]


def test_a_reader_that_is_changed_plans_anew(spark, make):
    path = make()
    updated(path, range(30), 6, 1.0)
    hudi_spark.load(spark, path).createOrReplaceTempView("rows")
    try:
        for vectorised in ("true", "false", "true"):
            spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorised)
            assert tuple(spark.sql("SELECT sum(v), count(v) FROM rows").collect()[0]) == (30.0, 300)
    finally:
        spark.conf.unset("spark.sql.parquet.enableVectorizedReader")


def test_moments_in_partition_paths_are_those_of_the_zone_of_the_session(spark, tmp_path):
    rows = {"id": range(6), "ts": [1] * 6, "v": [0.0] * 6, "p": ["2024-01-01 05:00:00"] * 6}
    table = HudiTable.create(tmp_path / "t", name="t", partition_fields=["p"], **FIELDS)
    table.upsert(pa.table(rows))
    table.upsert(pa.table(rows).slice(0, 3).set_column(1, "ts", pa.array([2] * 3)))
    spark.sql(f"CREATE TABLE moments USING hudi LOCATION '{tmp_path / 't'}'")
    try:
        declared_as_timestamp(spark, "moments", "p")
        for zone in ("America/New_York", "Asia/Tokyo"):
            spark.conf.set("spark.sql.session.timeZone", zone)
            texts = spark.table("moments").selectExpr("ts", "cast(p AS string) AS p").collect()
            assert sorted(map(tuple, texts)) == [(ts, "2024-01-01 05:00:00") for ts in (1, 1, 1, 2, 2, 2)]
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
        spark.sql("DROP TABLE IF EXISTS moments")


def declared_as_timestamp(spark, name, column):
    """Have the catalog say that a column, which is text in the files, is a timestamp."""
    jvm, session = spark._jvm, spark._jsparkSession
    option = jvm.scala.Option.apply("default")
    table = (
        session.sessionState()
        .catalog()
        .getTableMetadata(jvm.org.apache.spark.sql.catalyst.TableIdentifier(name, option))
    )
    fields = [getattr(table, f"copy$default${place}")() for place in range(1, table.productArity() + 1)]
    schema = (
        table.schema().json().replace(f'"name":"{column}","type":"string"', f'"name":"{column}","type":"timestamp"')
    )
    fields[3] = jvm.org.apache.spark.sql.types.DataType.fromJson(schema)
    storage = table.storage()
    parts = [getattr(storage, f"copy$default${place}")() for place in range(1, storage.productArity() + 1)]
    parts[1:4] = [jvm.scala.Option.empty()] * 3  # Hive has no classes of Hudi's here
    fields[2] = storage.copy(*parts)
    catalog = session.sharedState().externalCatalog()
    catalog.dropTable("default", name, True, False)
    catalog.createTable(table.copy(*fields), True)
    spark.catalog.refreshTable(name)


def test_fields_of_nested_columns_are_those_of_their_names(spark, tmp_path):
    """Also where another field of the same type stands in the place that a part of the struct gives them."""
    path = str(tmp_path / "t")
    HudiTable.create(path, name="t", version=9, **FIELDS)
    pair = pa.struct([("a", pa.string()), ("b", pa.string())])
    schema = pa.schema([("id", pa.int64()), ("ts", pa.int64()), ("s", pair), ("many", pa.list_(pair))])
    for ts, ids in ((1, range(6)), (2, range(3))):
        pairs = [{"a": f"a{i}{ts}", "b": f"b{i}{ts}"} for i in ids]
        rows = {"id": list(ids), "ts": [ts] * len(ids), "s": pairs, "many": [[item] for item in pairs]}
        HudiTable.open(path).upsert(pa.table(rows, schema))
    wanted = [(i, f"b{i}{2 if i < 3 else 1}") for i in range(6)]
    for _ in range(2):
        hudi_spark.load(spark, path).createOrReplaceTempView("nested")
        assert sorted(map(tuple, spark.sql("SELECT id, s.b FROM nested").collect())) == wanted
        assert sorted(map(tuple, spark.sql("SELECT id, many.b[0] FROM nested").collect())) == wanted
        assert spark.sql("SELECT id FROM nested WHERE s.b = 'b12'").collect()[0][0] == 1
        assert same(spark.table("nested"), HudiTable.open(path))  # whole columns are kept from here on


def test_filters_are_not_evaluated_on_base_rows_that_log_files_replace(spark, make):
    path = make()
    updated(path, range(300), 6, 1.0)
    hudi_spark.load(spark, path).createOrReplaceTempView("rows")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        assert spark.sql("SELECT count(*) FROM rows WHERE 1 / v = 1").collect()[0][0] == 300
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_without_room_python_tasks_merge(spark, make):
    path = make()
    updated(path, range(30), 6, 1.0)
    spark.conf.set(SPARK_LOG_RECORDS.name, "10")
    try:
        frame = hudi_spark.load(spark, path)
        assert f"({SPARK_LOG_RECORDS.name} is 10 bytes)" in lines(frame)[0]
        assert same(frame, HudiTable.open(path))
    finally:
        spark.conf.unset(SPARK_LOG_RECORDS.name)
    frame = hudi_spark.load(spark, path)
    assert same(frame, HudiTable.open(path)) and BESIDE in hudi_spark.explain(frame)


def test_records_beyond_the_bound_stay_until_others_are_read(spark, make, tmp_path):
    """As batches they are larger than the log files, whose bytes the bound is held against at first."""
    path = make()
    updated(path, range(30), 6, 1.0)
    other = str(shutil.copytree(path, tmp_path / "other"))
    sizes = HudiTable.open(path).scan().plan().slices.column("log_sizes").to_pylist()
    spark.conf.set(SPARK_LOG_RECORDS.name, str(sum(sum(each) for each in sizes)))
    try:
        for read, when in ((path, "read now"), (path, "kept from before"), (other, "read now"), (path, "read now")):
            frame = hudi_spark.load(spark, read)
            assert same(frame, HudiTable.open(read))
            assert when in lines(frame)[0]
    finally:
        spark.conf.unset(SPARK_LOG_RECORDS.name)


def test_large_log_files_are_read_in_shares_and_parts(spark, make, tmp_path):
    path = make()
    updated(path, range(30), 6, 1.0)
    updated(path, [3, 400], 1, 9.0)
    HudiTable.open(path).delete(pa.table({"id": [6, 7], "p": ["p0", "p1"], "ts": [9, 1]}))
    options = {MERGE_MEMORY.name: "1", SPILL_FOLDER.name: str(tmp_path / "spilled")}

    def load():
        return hudi_spark.load(spark, path, options=options)

    counted = load().where("p = 'p0'").groupBy().count()
    assert counted.collect()[0][0] == 99 and "rows of 1 slices counted" in hudi_spark.explain(counted)
    assert (tmp_path / "spilled").is_dir()
    frame = load()
    assert "merged in Arrow" not in hudi_spark.explain(frame) and "read now" in lines(frame)[0]
    assert same(frame, HudiTable.open(path))
    assert "kept from before" in lines(load())[0] and same(load(), HudiTable.open(path))
    assert load().where("v = 1.0").count() == HudiTable.open(path).scan(row_filter="v = 1.0").count() == 28
    assert not list((tmp_path / "spilled").iterdir())


def test_cached_log_records_that_executors_lose_are_read_again(spark, make):
    path = make()
    updated(path, range(0, 90, 2), 6, 1.0)
    frame = hudi_spark.load(spark, path)
    wanted = sorted(map(str, frame.collect()))
    planned = hudi_spark.load(spark, path)
    planned._jdf.queryExecution().executedPlan()
    for rdd in spark.sparkContext._jsc.getPersistentRDDs().values():
        rdd.unpersist(True)
    assert sorted(map(str, planned.collect())) == wanted
    again = hudi_spark.load(spark, path)
    assert sorted(map(str, again.collect())) == wanted and "kept from before" in lines(again)[0]


def test_a_table_made_again_under_its_path(spark, make, tmp_path):
    base = unzip_fixture("v8_mor_event_time", tmp_path)
    first = hudi_spark.load(spark, base).count()
    log = sorted(base.rglob(".*.log.*"))[-1]
    HudiTable.open(base)
    shutil.rmtree(base)
    again = unzip_fixture("v8_mor_event_time", tmp_path)
    assert again == base and log.exists()
    assert hudi_spark.load(spark, base).count() == first
    assert same(hudi_spark.load(spark, base), HudiTable.open(base))


@pytest.mark.parametrize("name", with_long_cases([], fixture_names("mor")))
def test_cold_warm_and_merged_rows_are_the_same(spark, name, tmp_path):
    """Also where log files are too large for the memory, as a copy of the table is read for the first time."""
    base = unzip_fixture(name)
    try:
        HudiTable.open(base).scan().to_arrow()
    except Exception:
        return
    number = hudi_spark.load(spark, base).count()
    answers = []
    for most in ("0", str(1 << 30), str(1 << 30)):
        spark.conf.set(SPARK_LOG_RECORDS.name, most)
        try:
            answers.append(sorted(map(str, hudi_spark.load(spark, base).collect())))
        finally:
            spark.conf.unset(SPARK_LOG_RECORDS.name)
    frame = hudi_spark.load(spark, unzip_fixture(name, tmp_path), options={MERGE_MEMORY.name: "5000"})
    answers.append(sorted(map(str, frame.collect())))
    assert "log files too large" not in hudi_spark.explain(frame)
    assert answers[0] == answers[1] == answers[2] == answers[3] and len(answers[0]) == number
