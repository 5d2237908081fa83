"""Merge-on-read tables in Spark SQL: real Hudi's rows, base files by Spark's own scan, slices with logs merged."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.errors import FileVanishedError, HudiHiveError, UnsupportedTableError
from hudi_hive.options.read import SPARK_LOG_RECORDS
from hudi_hive.schema import META_FIELDS
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import (
    assert_same_rows,
    case_id,
    encode_rows,
    expected,
    fixture_names,
    named_gap,
    one_version_of_each,
    queries,
    rows_sha256,
    unzip_fixture,
)
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

KINDS = ("snapshot", "time_travel", "incremental")
# One query of each kind of each table: planning and merging are those of HudiTable, which is asked all of them.
CASES = [(name, found[-1]) for name in fixture_names("mor") for kind in KINDS if (found := queries(name, kind))]
CASES = [case for case in CASES if not case[0].endswith("schema_evo")]  # test_spark_evolution asks all of theirs
SOME = one_version_of_each(fixture_names("mor"))


@pytest.fixture
def merged_in_arrow(spark):
    """No log records are kept: Python tasks merge slices with log files."""
    spark.conf.set(SPARK_LOG_RECORDS.name, "0")
    yield
    spark.conf.unset(SPARK_LOG_RECORDS.name)


WAYS = [f"{name}_mor_event_time" for name in ("v6", "v9")]


@pytest.mark.parametrize(
    ("name", "query"), with_long_cases([case for case in CASES if case[0] in WAYS], CASES), ids=case_id
)
def test_same_rows_as_hudi_merged_in_arrow(spark, merged_in_arrow, name, query):
    test_same_rows_as_hudi_by_path(spark, name, query)


@pytest.mark.parametrize(
    ("name", "query"), with_long_cases([case for case in CASES if case[0] in SOME], CASES), ids=case_id
)
def test_same_rows_as_hudi_by_path(spark, name, query):
    gap = named_gap(name, query)
    try:
        rows = hudi_spark.load(spark, unzip_fixture(name), query["options"]).toArrow()
    except HudiHiveError as error:
        assert "error" in query, error
        return
    if gap is None:
        assert "error" not in query, f"{rows.num_rows} rows where Hudi refuses: {query['error']}"
        assert_same_rows(rows, name, query)
        return
    ours = HudiTable.open(unzip_fixture(name)).scan(options=query["options"]).to_arrow()
    assert rows.column_names == ours.column_names
    assert rows_sha256(encode_rows(rows)) == rows_sha256(encode_rows(ours)), gap


# -- by name ---------------------------------------------------------------------------------------------------------


def plan_of(frame):
    mode = frame.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("simple")
    return frame._jdf.queryExecution().explainString(mode)


def without_meta(rows, name):
    """Virtual keys: hive-sync declares the meta columns even for tables that do not fill them."""
    return rows.drop_columns(list(META_FIELDS)) if name.endswith("virtual_keys") else rows


def keys_of(rows):
    return sorted(rows.column("_hoodie_record_key").to_pylist())


@pytest.mark.parametrize("name", with_long_cases(SOME[::2], fixture_names("mor")))
def test_same_rows_by_name(spark, synced, name):
    table = synced(name)
    ours = HudiTable.open(unzip_fixture(name))
    for suffix, kind in (("_rt", "snapshot"), ("_ro", "read_optimized")):
        found = without_meta(spark.sql(f"SELECT * FROM {table}{suffix}").toArrow(), name)
        wanted = ours.scan(query_type=kind).to_arrow()
        assert sorted(found.column_names) == sorted(wanted.column_names)
        assert rows_sha256(encode_rows(found, wanted.column_names)) == rows_sha256(encode_rows(wanted))
    assert "MapInArrow" not in plan_of(spark.table(f"{table}_ro"))


@pytest.mark.parametrize("version", with_long_cases(["v8"], ["v6", "v9"]))
def test_time_travel_by_name(spark, synced, version):
    name = f"{version}_mor_event_time"
    table = synced(name)
    ours = HudiTable.open(unzip_fixture(name))
    for query in queries(name, "time_travel"):
        if "error" in query or named_gap(name, query):
            continue
        found = spark.sql(f"SELECT * FROM {table}_rt VERSION AS OF '{query['as_of']}'").toArrow()
        assert keys_of(found) == keys_of(ours.scan(as_of=query["as_of"]).to_arrow())
        assert_same_rows(found, name, query)


# -- every shape of statement: as over a Parquet file with the table's rows --------------------------------------------

MIXED = "v9_mor_part_rli"  # three partitions, each with a slice that has log files and most with one that has none

STATEMENTS = [
    "SELECT count(*) FROM {t}",
    "SELECT count(*), count(driver), sum(fare) FROM {t} WHERE region = 'north'",
    "SELECT region, count(*), max(fare) FROM {t} GROUP BY region",
    "SELECT 1 FROM {t}",
    "SELECT DISTINCT region FROM {t} WHERE fare > 1",
    "SELECT ride_id FROM {t} WHERE region IN ('south', 'west') AND upper(region) LIKE 'W%'",
    "SELECT ride_id FROM {t} WHERE region = 'nowhere'",
    "SELECT a.ride_id, b.fare FROM {t} a JOIN {t} b USING (ride_id) WHERE a.region = 'north' AND b.region = 'north'",
    "SELECT a.ride_id, b.region FROM {t} a LEFT JOIN (SELECT * FROM {t} WHERE region = 'west') b USING (ride_id)",
    "SELECT ride_id FROM {t} WHERE region = 'north' UNION ALL SELECT ride_id FROM {t} WHERE region = 'south'",
    "SELECT ride_id FROM {t} WHERE region = 'north' UNION ALL SELECT ride_id FROM {t}",
    "SELECT region, ride_id FROM {t} WHERE region = (SELECT max(region) FROM {t} WHERE fare IS NOT NULL)",
    "SELECT ride_id FROM {t} WHERE ride_id IN (SELECT ride_id FROM {t} WHERE region = 'west')",
    "SELECT ride_id FROM {t} t WHERE NOT EXISTS (SELECT 1 FROM {t} u WHERE u.ride_id = t.ride_id AND u.fare > 300)",
    "WITH x AS (SELECT region, sum(fare) s FROM {t} GROUP BY region) SELECT ride_id, s FROM {t} JOIN x USING (region)",
    "SELECT ride_id, row_number() OVER (PARTITION BY region ORDER BY fare, ride_id) n FROM {t}",
    "SELECT region FROM (SELECT region, rand() r FROM {t}) WHERE r >= 0 AND region <> 'south'",
    "SELECT count(DISTINCT n) FROM (SELECT monotonically_increasing_id() n FROM {t})",
    "SELECT f.ride_id, d.region FROM {t} f JOIN (SELECT 'west' region) d ON f.region = d.region",
    "SELECT * FROM (SELECT * FROM {t} ORDER BY region, ride_id LIMIT 5)",
]


@pytest.fixture(scope="module")
def views(spark, synced, tmp_path_factory):
    """The table's name, and that of a view of the same rows in a Parquet file."""
    table = f"{synced(MIXED)}_rt"
    path = tmp_path_factory.mktemp("plain") / "rows.parquet"
    pq.write_table(HudiTable.open(unzip_fixture(MIXED)).scan().to_arrow(), path)
    spark.read.parquet(str(path)).createOrReplaceTempView("plain_rows")
    return table, "plain_rows"


@pytest.mark.parametrize("statement", with_long_cases(STATEMENTS[::2], STATEMENTS))
def test_statements_answer_as_on_a_plain_view_of_the_same_rows(spark, views, statement):
    ours, plain = (spark.sql(statement.format(t=name)).toArrow().to_pylist() for name in views)
    assert sorted(map(str, ours)) == sorted(map(str, plain))


@pytest.mark.parametrize("statement", [text for text in STATEMENTS if "JOIN" in text and "north" in text])
def test_statements_without_adaptive_execution(spark, views, statement):
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        test_statements_answer_as_on_a_plain_view_of_the_same_rows(spark, views, statement)
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "true")


# -- plans -----------------------------------------------------------------------------------------------------------


def test_each_part_is_pruned(spark, merged_in_arrow, synced):
    table = f"{synced(MIXED)}_rt"
    frame = spark.sql(f"SELECT fare FROM {table} WHERE region = 'north' AND stops > 0")
    text = plan_of(frame)
    assert "Union" in text and "Batched: true" in text
    assert "PartitionFilters: [isnotnull(region" in text and "PushedFilters: [IsNotNull(stops)" in text
    assert "ReadSchema: struct<fare:decimal(10,2),stops:int>" in text
    merged = next(line for line in text.splitlines() if "MapInArrow" in line)
    assert {name for name in ("fare", "stops", "region", "driver", "ride_id") if f"{name}#" in merged} == {
        "fare",
        "stops",
        "region",
    }
    slices = [item for item in expected(MIXED)["file_slices"] if item["partition"] == "north"]
    assert merged_slices(frame) == sum(bool(item["log_files"]) for item in slices)
    frame.collect()
    scan = hudi_spark.last_scan(spark, table)
    assert (scan.partitions_planned, scan.partitions_total) == (1, 3)
    assert scan.files == sum(not item["log_files"] for item in slices)


def test_explain_says_what_was_pruned(spark, merged_in_arrow, synced):
    table = f"{synced(MIXED)}_rt"
    slices = [item for item in expected(MIXED)["file_slices"] if item["partition"] == "north"]
    logs = [item for item in slices if item["log_files"]]
    frame = spark.sql(f"SELECT fare FROM {table} WHERE region = 'north' AND stops > 0")
    for _ in range(2):
        native, merged = sorted(hudi_spark.explain(frame).splitlines(), key=lambda line: "merged" in line)
        assert native.startswith(f"{table}: 1 of 3 partitions by ") and merged.startswith(
            f"{table}: 1 of 3 partitions by "
        )
        assert f"Spark's own reader: {len(slices) - len(logs)} base files" in native and "region" in native
        assert f"merged in Arrow: {len(logs)} slices" in merged and merged.endswith("columns fare, stops, region")
    joined = spark.sql(f"SELECT 1 FROM {table} a JOIN {table} b USING (ride_id) WHERE a.region = 'west'")
    assert "3 of 3 partitions" in hudi_spark.explain(joined) and "1 of 3 partitions" in hudi_spark.explain(joined)


def merged_slices(frame):
    """How many slices the optimised plan merges."""
    plan = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    leaves = [plan.apply(index) for index in range(plan.size())]
    return sum(leaf.rdd().count() for leaf in leaves if leaf.getClass().getSimpleName() == "LogicalRDD")


def test_partitions_without_logs_are_one_native_scan(spark, merged_in_arrow, synced):
    table = f"{synced('v8_mor_types')}_rt"
    column = spark.table(table).columns[-1]
    assert "MapInArrow" in plan_of(spark.table(table))
    text = plan_of(spark.sql(f"SELECT count(*) FROM {table} WHERE {column} = 'ünï-名'"))
    assert "FileScan parquet" in text and "MapInArrow" not in text and "Union" not in text


def test_dynamic_partition_pruning(spark, synced, views):
    table, plain = views
    spark.createDataFrame([("west", 1), ("south", 2)], "region string, k int").createOrReplaceTempView("small")
    sql = "SELECT t.ride_id FROM {t} t JOIN small s ON t.region = s.region WHERE s.k = 1"
    frame = spark.sql(sql.format(t=table))
    assert "dynamicpruning" in plan_of(frame)
    assert sorted(frame.collect()) == sorted(spark.sql(sql.format(t=plain)).collect())
    # The pruned table on both sides: the pruning side is merged, too.
    both = "SELECT a.ride_id, b.ride_id FROM {t} a JOIN {t} b ON a.region = b.region WHERE b.ride_id = 'r042'"
    ours, wanted = (spark.sql(both.format(t=name)).collect() for name in views)
    assert sorted(ours) == sorted(wanted)


def test_small_tables_are_broadcast(spark, synced):
    table = f"{synced(MIXED)}_rt"
    text = plan_of(spark.sql(f"SELECT * FROM {table} a JOIN {table} b ON a.ride_id = b.ride_id"))
    assert "BroadcastHashJoin" in text


def test_cached_tables_and_views(spark, synced, views):
    table, _ = views
    database = table.split(".")[0]
    spark.sql(f"CREATE OR REPLACE VIEW {database}.northern AS SELECT * FROM {table} WHERE region = 'north'")
    rows = spark.sql(f"SELECT * FROM {database}.northern").count()
    frame = spark.table(table).cache()
    assert frame.count() == 26 and frame.where("region = 'north'").count() == rows > 0
    frame.unpersist()
    other = spark.newSession()
    assert other.table(table).count() == 26
    assert other.sql(f"SELECT count(*) FROM {database}.northern").collect()[0][0] == rows


# -- freshness and errors ----------------------------------------------------------------------------------------------


def test_each_statement_sees_the_newest_log(spark, synced, tmp_path):
    table = f"{synced('v9_mor_event_time', tmp_path, 'fresh_mor')}_rt"
    base = tmp_path / "v9_mor_event_time"
    last = MetaClient.load(base).timeline.write_instants()[-1]
    hidden = tmp_path / "hidden"
    after = HudiTable.open(base).scan().to_arrow()
    (base / last.path).rename(hidden)
    before = HudiTable.open(base).scan().to_arrow()
    analysed = spark.table(table)
    first = spark.table(table).toArrow()
    hidden.rename(base / last.path)
    assert rows_sha256(encode_rows(first, before.column_names)) == rows_sha256(encode_rows(before))
    assert rows_sha256(encode_rows(analysed.toArrow(), before.column_names)) == rows_sha256(encode_rows(before))
    second = spark.table(table).toArrow()
    assert rows_sha256(encode_rows(second, after.column_names)) == rows_sha256(encode_rows(after))
    assert rows_sha256(encode_rows(before)) != rows_sha256(encode_rows(after))


def test_changes_by_name(spark, synced):
    table = synced(MIXED)
    commits = MetaClient.load(unzip_fixture(MIXED)).timeline.write_instants()
    found = spark.sql(f"SELECT * FROM hudi_table_changes('{table}_rt', '{commits[0].completed}')").toArrow()
    wanted = HudiTable.open(unzip_fixture(MIXED)).scan(begin=commits[0].completed).to_arrow()
    assert wanted.num_rows > 0
    assert rows_sha256(encode_rows(found, wanted.column_names)) == rows_sha256(encode_rows(wanted))


def test_the_metadata_column_of_files_is_refused(spark, synced):
    table = f"{synced(MIXED)}_rt"
    with pytest.raises((UnsupportedTableError, AnalysisException)):
        spark.sql(f"SELECT _metadata.file_name FROM {table}").collect()


def test_a_session_without_the_rule_refuses(spark, synced):
    table = f"{synced(MIXED)}_rt"
    frame = spark.table(table)
    experimental = spark._jsparkSession.experimental()
    rules = experimental.extraOptimizations()
    try:
        getattr(experimental, "extraOptimizations_$eq")(spark._jvm.PythonUtils.toSeq([]))
        with pytest.raises(UnsupportedTableError, match="log files"):
            frame.collect()
    finally:
        getattr(experimental, "extraOptimizations_$eq")(rules)
    assert spark.table(table).count() == 26


def test_a_log_file_that_vanishes_after_planning(spark, merged_in_arrow, tmp_path):
    base = unzip_fixture("v8_mor_rollback", tmp_path)
    frame = hudi_spark.load(spark, base)
    frame._jdf.queryExecution().optimizedPlan()
    for file in base.rglob("*.log.*"):
        file.unlink()
    with pytest.raises(FileVanishedError) as caught:
        frame.collect()
    assert ".log." in caught.value.path and caught.value.remedy
