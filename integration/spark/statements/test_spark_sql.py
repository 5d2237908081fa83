"""Plain SQL on synced tables in a session enabled while it ran: pruning, freshness, guards, errors, threads."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.errors import (
    FileVanishedError,
    InvalidOptionError,
    PartitionValueError,
    SchemaError,
    SparkError,
    TableNotFoundError,
)
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import expected, unzip_fixture
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

PARTITIONED = "v9_cow_part_mdt"
VERSIONS = ("v6", "v8", "v9")


def count(spark, text):
    return spark.sql(f"SELECT count(*) FROM {text}").collect()[0][0]


def plan_of(frame):
    return frame._jdf.queryExecution().explainString(
        frame.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("simple")
    )


def files_below(path):
    return {str(file.relative_to(path)): file.stat().st_size for file in Path(path).rglob("*") if file.is_file()}


def hide_last_commit(base):
    """Take the last completed instant's file away; gives back what puts it there again: a commit that happens now."""
    client = MetaClient.load(base)
    last = client.timeline.write_instants()[-1]
    source = base / last.path
    hidden = base.parent / f"hidden-{base.name}"
    source.rename(hidden)
    return last, lambda: hidden.rename(source)


# -- planning --------------------------------------------------------------------------------------------------------


def test_partitions_and_columns_are_pruned(spark, synced):
    table = synced(PARTITIONED)
    frame = spark.sql(f"SELECT visit_id FROM {table} WHERE city = 'oslo' AND dwell > 0.1D")
    text = plan_of(frame)
    assert "FileScan parquet" in text and "Batched: true" in text
    assert "PartitionFilters: [isnotnull(city" in text and "= oslo)]" in text
    assert "PushedFilters: [IsNotNull(dwell)" in text
    assert "ReadSchema: struct<visit_id:bigint,dwell:float>" in text
    assert frame.count() == 6
    scan = hudi_spark.last_scan(spark, table)
    assert (scan.partitions_planned, scan.partitions_total, scan.files) == (1, 3, 1)


@pytest.mark.parametrize("version", with_long_cases(["v8"], VERSIONS))
def test_only_needed_partitions_of_250_are_planned(spark, synced, version):
    table = synced(f"{version}_cow_wide_250")
    rows = spark.sql(
        f"SELECT p, count(*) n FROM {table} WHERE p IN ('p001', 'p002') OR p LIKE 'p24%' GROUP BY p"
    ).collect()
    scan = hudi_spark.last_scan(spark, table)
    assert (scan.partitions_planned, scan.partitions_total) == (len(rows), 250)
    assert {row.p for row in rows} == {"p001", "p002", *(f"p24{digit}" for digit in range(10))}


@pytest.mark.parametrize("version", with_long_cases(["v6"], VERSIONS))
def test_typed_partition_columns_prune_as_spark_compares(spark, synced, version):
    table = synced(f"{version}_cow_ymd_hive")
    rows = spark.sql(f"SELECT year, month FROM {table} WHERE year > 2023 AND month < '02'").collect()
    assert rows and all(row.year == 2024 and row.month == "01" for row in rows)
    scan = hudi_spark.last_scan(spark, table)
    assert 0 < scan.partitions_planned < scan.partitions_total
    assert dict(spark.table(table).dtypes)["year"] == "int"


def test_old_file_versions_are_not_read(spark, synced):
    table = synced(PARTITIONED)
    latest = set(expected(PARTITIONED)["latest_base_files"])
    listed = {path.split(f"{PARTITIONED}/")[1] for path in spark.table(table).inputFiles()}
    assert listed == latest
    on_disk = {name for name in files_below(unzip_fixture(PARTITIONED)) if name.endswith(".parquet")}
    assert len({name for name in on_disk if not name.startswith(".hoodie")}) > len(latest)


def test_small_tables_are_broadcast(spark, synced):
    table = synced(PARTITIONED)
    text = plan_of(spark.sql(f"SELECT * FROM {table} a JOIN {table} b ON a.visit_id = b.visit_id"))
    assert "BroadcastHashJoin" in text


def test_dynamic_partition_pruning_and_subqueries(spark, synced):
    wide = synced("v9_cow_wide_250")
    spark.createDataFrame([("p007",), ("p009",)], "p string").createOrReplaceTempView("wanted")
    joined = spark.sql(f"SELECT w.p FROM {wide} w JOIN wanted ON w.p = wanted.p").collect()
    assert sorted(row.p for row in joined) == ["p007", "p009"]
    assert count(spark, f"{wide} WHERE p = (SELECT max(p) FROM wanted)") == 1


def test_filters_of_one_text_in_two_time_zones_are_different(spark, synced):
    wide = spark.table(synced("v9_cow_wide_250"))
    moment = "cast(concat('2024-01-', substr(p, 3, 2), ' 00:00:00') as timestamp)"
    expression = f"cast({moment} as bigint) >= 1704844800"
    found = []
    try:
        for zone in ("UTC", "Asia/Tokyo"):
            spark.conf.set("spark.sql.session.timeZone", zone)
            found.append({row.p for row in wide.where(f"p < 'p020' AND p > 'p000' AND {expression}").collect()})
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert (min(found[0]), min(found[1])) == ("p010", "p011")


# -- names -----------------------------------------------------------------------------------------------------------


def test_all_ways_to_name_a_table(spark, synced):
    table = synced(PARTITIONED)
    database, name = table.split(".")
    assert spark.table(table).count() == 15
    assert spark.read.table(table).count() == 15
    assert count(spark, f"spark_catalog.{table}") == 15
    assert count(spark, f"`{database}`.`{name}`") == 15
    assert spark.sql(f"WITH x AS (SELECT * FROM {table}) SELECT count(*) FROM x").collect()[0][0] == 15
    spark.sql(f"CREATE OR REPLACE VIEW {database}.oslo AS SELECT * FROM {table} WHERE city = 'oslo'")
    assert count(spark, f"{database}.oslo v JOIN {table} t ON v.visit_id = t.visit_id") == 6
    other = spark.newSession()
    other.sql(f"USE {database}")
    assert count(other, name) == 15
    spark.sql(f"CREATE OR REPLACE TEMP VIEW t AS SELECT city FROM {table}")
    assert spark.sql("SELECT count(DISTINCT city) FROM t").collect()[0][0] == 3
    assert spark.sql(f"DESCRIBE {table}").count() > 10


def test_other_tables_are_left_alone(spark, synced):
    synced(PARTITIONED)
    spark.sql("CREATE OR REPLACE TEMP VIEW numbers AS SELECT * FROM range(3)")
    spark.sql("CREATE TABLE IF NOT EXISTS default.plain (a int) USING parquet")
    spark.sql("INSERT OVERWRITE default.plain SELECT CAST(id AS int) FROM numbers")
    spark.sql("INSERT INTO default.plain VALUES (9)")
    assert sorted(row.a for row in spark.table("default.plain").collect()) == [0, 1, 2, 9]
    spark.sql("DROP TABLE default.plain")


def test_cached_data_is_not_stale(spark, synced, tmp_path):
    table = synced("v9_cow_nonpart", tmp_path, "cached")
    base = tmp_path / "v9_cow_nonpart"
    _, commit = hide_last_commit(base)
    spark.sql(f"CACHE TABLE {table}")
    assert "InMemory" in plan_of(spark.sql(f"SELECT * FROM {table}"))
    before = count(spark, table)
    commit()
    assert count(spark, table) != before
    spark.sql(f"UNCACHE TABLE IF EXISTS {table}")


def test_a_name_that_was_another_table_before(spark, synced, metastore, tmp_path):
    spark.sql(f"CREATE TABLE hudi_it.reborn (a int) USING parquet LOCATION '{tmp_path / 'plain'}'")
    assert count(spark, "hudi_it.reborn") == 0
    metastore.drop_table("hudi_it", "reborn")
    table = synced(PARTITIONED, tmp_path, "reborn")
    assert count(spark, table) == 15
    metastore.drop_table("hudi_it", "reborn")
    assert count(spark, synced("v9_cow_nonpart", tmp_path, "reborn")) == 31


def test_a_temporary_view_hides_a_table(spark, synced):
    from pyspark.errors import AnalysisException

    database, name = synced(PARTITIONED).split(".")
    other = spark.newSession()
    other.sql(f"USE {database}")
    other.sql(f"CREATE TEMP VIEW {name} AS SELECT 7 AS visit_id")
    assert other.table(name).collect()[0].visit_id == 7
    with pytest.raises(AnalysisException):
        other.sql(f"SELECT * FROM {name} TIMESTAMP AS OF '2999-01-01'").collect()
    assert count(other, f"{database}.{name} TIMESTAMP AS OF '2999-01-01'") == 15


# -- freshness -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", with_long_cases(["v9"], VERSIONS))
def test_each_statement_sees_the_newest_commit_and_only_one_state(spark, synced, tmp_path, version):
    table = synced(f"{version}_cow_nonpart", tmp_path, f"fresh_{version}")
    _, commit = hide_last_commit(tmp_path / f"{version}_cow_nonpart")
    assert count(spark, table) == 35
    analysed = spark.sql(
        f"SELECT count(*) FROM {table} a JOIN {table} b ON a._hoodie_record_key = b._hoodie_record_key"
    )
    commit()
    assert analysed.collect()[0][0] == 35
    assert count(spark, table) == 31
    assert count(spark.newSession(), table) == 31


def test_refresh_moves_an_analysed_frame(spark, synced, tmp_path):
    table = synced("v8_cow_nonpart", tmp_path, "refreshed")
    _, commit = hide_last_commit(tmp_path / "v8_cow_nonpart")
    assert spark.table(table).count() == 35
    commit()
    spark.sql(f"REFRESH TABLE {table}")
    assert spark.table(table).count() == 31


def test_queries_from_several_threads(spark, synced):
    names = [PARTITIONED, "v6_cow_ymd_hive", "v8_cow_types", "v9_cow_wide_250"]
    tables = [synced(name) for name in names]

    def job(number):
        table = tables[number % len(tables)]
        key = "a._hoodie_record_key = b._hoodie_record_key"
        return count(spark, f"{table} a JOIN {table} b ON {key}")

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(job, range(8))) == [15, 15, 18, 251] * 2


# -- time travel and increments --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", with_long_cases(["v6"], VERSIONS))
def test_time_travel_by_version_and_by_timestamp(spark, synced, version):
    name = f"{version}_cow_nonpart"
    table = synced(name)
    commits = MetaClient.load(unzip_fixture(name)).timeline.write_instants()
    counts = [30, 35, 31]
    for commit, rows in zip(commits, counts, strict=True):
        assert count(spark, f"{table} VERSION AS OF '{commit.requested}'") == rows
        assert count(spark, f"{table} TIMESTAMP AS OF '{commit.requested}'") == rows
    first = commits[0].requested
    text = f"{first[:4]}-{first[4:6]}-{first[6:8]} {first[8:10]}:{first[10:12]}:{first[12:14]}.{first[14:]}"
    for moment in (f"'{text}'", f"TIMESTAMP'{text}'", f"to_timestamp('{text}')"):
        assert count(spark, f"{table} TIMESTAMP AS OF {moment}") == 30
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        moment = f"to_timestamp('{text}Z', \"yyyy-MM-dd HH:mm:ss.SSSX\")"
        assert count(spark, f"{table} TIMESTAMP AS OF {moment}") == 30
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    # In a common table expression, in a subquery, beside today's state.
    nested = f"(SELECT _hoodie_record_key FROM {table} VERSION AS OF '{first}')"
    sql = f"WITH old AS (SELECT * FROM {table} VERSION AS OF '{first}') SELECT count(*) FROM old o JOIN {table} n ON "
    sql += f"o._hoodie_record_key = n._hoodie_record_key WHERE n._hoodie_record_key IN {nested}"
    table_now, table_then = (
        HudiTable.open(unzip_fixture(name)).scan(selected_fields=("_hoodie_record_key",), as_of=moment).to_arrow()
        for moment in (None, first)
    )
    both = set(table_now.column(0).to_pylist()) & set(table_then.column(0).to_pylist())
    assert 0 < len(both) < 30
    assert spark.sql(sql).collect()[0][0] == len(both)
    assert spark.sql(f"SELECT * FROM {table} TIMESTAMP AS OF '1999-01-01' WHERE _hoodie_record_key > ''").count() == 0


def test_incremental_through_the_function_and_the_frame(spark, synced):
    table = synced("v9_cow_nonpart")
    base = unzip_fixture("v9_cow_nonpart")
    commits = MetaClient.load(base).timeline.write_instants()
    first, second = commits[0].completed, commits[1].completed
    everything = f"SELECT * FROM hudi_table_changes('{table}', 'latest_state', 'earliest')"
    assert spark.sql(everything).count() == 31
    changed = spark.sql(f"SELECT * FROM hudi_table_changes('{table}', '{first}', '{second}')")
    by_frame = hudi_spark.table(spark, table, begin=first, end=second)
    by_path = hudi_spark.load(spark, base, begin=first, end=second)
    by_path_function = spark.sql(f"SELECT * FROM hudi_table_changes('{base}', '{first}', '{second}')")
    rows = sorted(changed.collect())
    assert {row._hoodie_commit_time for row in rows} == {commits[1].requested}
    assert rows == sorted(by_frame.collect()) == sorted(by_path.collect()) == sorted(by_path_function.collect())
    assert f"EqualTo(_hoodie_commit_time,{commits[1].requested})" in plan_of(changed)
    assert spark.sql(f"SELECT * FROM hudi_table_changes('{table}', '{commits[-1].completed}')").count() == 0


def test_incremental_prunes_partitions(spark, synced):
    table = synced("v9_cow_wide_250")
    commits = MetaClient.load(unzip_fixture("v9_cow_wide_250")).timeline.write_instants()
    frame = spark.sql(f"SELECT p FROM hudi_table_changes('{table}', '{commits[0].completed}')")
    touched = {row.p for row in frame.collect()}
    scan = hudi_spark.last_scan(spark, table)
    assert len(touched) == 3 and (scan.partitions_planned, scan.partitions_total) == (3, 3)
    one = min(touched)
    assert {row.p for row in frame.where(f"p = '{one}'").collect()} == {one}
    assert hudi_spark.last_scan(spark, table).partitions_planned == 1


# -- guards ----------------------------------------------------------------------------------------------------------

WRITES = [
    "ALTER TABLE {t} DROP PARTITION (country = 'oslo')",
    "ALTER TABLE {t} SET LOCATION '/nowhere'",
    "TRUNCATE TABLE {t} PARTITION (country = 'oslo')",
]


@pytest.mark.parametrize("statement", WRITES)
def test_writes_are_refused(spark, synced, statement):
    table = synced(PARTITIONED)
    base = unzip_fixture(PARTITIONED)
    before = files_below(base)
    with pytest.raises(SparkError) as caught:
        spark.sql(statement.format(t=table))
    assert table in str(caught.value) and caught.value.remedy and caught.value.path
    assert files_below(base) == before


CHANGES = ["DELETE FROM {v} WHERE id = 1", "UPDATE {v} SET id = 2", "MERGE INTO {v} v USING s ON v.id = s.id {do}"]


@pytest.mark.parametrize("view", ["number", "global_temp.number", "{db}.visits", "spark_catalog.{db}.visits"])
def test_rows_of_views_are_not_changed(spark, synced, view):
    table = synced(PARTITIONED)
    view = view.format(db=table.split(".")[0])
    spark.range(1).createOrReplaceTempView("s")
    kind = "VIEW" if "visits" in view else "GLOBAL TEMP VIEW" if "." in view else "TEMP VIEW"
    source = f"SELECT visit_id AS id FROM {table}" if kind == "VIEW" else "SELECT 1 AS id"
    spark.sql(f"CREATE OR REPLACE {kind} {view.rsplit('.')[-1] if kind != 'VIEW' else view} AS {source}")
    for statement in CHANGES:
        text = statement.format(v=view, do="WHEN MATCHED THEN DELETE")
        for explains in ("", "EXPLAIN "):
            with pytest.raises(SparkError, match=f"{text.split()[0]} on {view}, which is a view and keeps no rows"):
                spark.sql(explains + text)
    assert count(spark, table) == 15
    spark.sql(f"DROP VIEW {view}")


def test_a_table_without_sparks_properties_is_refused_by_name(spark, synced):
    table = synced(PARTITIONED, table="not_a_datasource", sync_as_datasource=False)
    with pytest.raises(SparkError, match="sync_as_datasource"):
        spark.sql(f"SELECT * FROM {table}").collect()
    assert hudi_spark.table(spark, table).count() == 15


# -- errors ----------------------------------------------------------------------------------------------------------


def test_errors_keep_their_class_path_and_remedy(spark, synced, tmp_path, capfd):
    table = synced("v9_cow_nonpart", tmp_path, "gone")
    shutil.rmtree(tmp_path / "v9_cow_nonpart")
    with pytest.raises(TableNotFoundError) as caught:
        spark.sql(f"SELECT * FROM {table}")
    assert str(tmp_path) in caught.value.path and caught.value.remedy
    with pytest.raises(SparkError, match="not a synced Hudi table"):
        spark.sql("SELECT * FROM hudi_table_changes('default.nothing', '0')")
    with pytest.raises(InvalidOptionError):
        spark.sql(f"SELECT * FROM hudi_table_changes('{synced(PARTITIONED)}')")
    with pytest.raises(InvalidOptionError):
        hudi_spark.load(spark, unzip_fixture(PARTITIONED), {"hoodie.no.such.option": "1"})
    assert "Traceback" not in capfd.readouterr().err


def test_sparks_own_errors_stay_as_they_are(spark):
    from pyspark.errors import AnalysisException, ParseException

    with pytest.raises(ParseException, match="PARSE_SYNTAX_ERROR"):
        spark.sql("SELEC 1")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("SELECT * FROM default.no_such_table")


def test_a_file_that_vanishes_after_planning(spark, synced, tmp_path):
    table = synced("v9_cow_nonpart", tmp_path, "vanishing")
    frame = spark.table(table)
    for file in frame.inputFiles():
        Path(file.removeprefix("file:").replace("//", "/")).unlink()
    with pytest.raises(FileVanishedError) as caught:
        frame.collect()
    assert caught.value.path.endswith(".parquet") and "again" in caught.value.remedy


def test_a_damaged_commit(spark, synced, tmp_path):
    from hudi_hive.errors import HudiHiveError

    table = synced("v6_cow_nonpart", tmp_path, "damaged")
    base = tmp_path / "v6_cow_nonpart"
    last = MetaClient.load(base).timeline.write_instants()[-1]
    (base / last.path).write_bytes(b"{ not json")
    with pytest.raises(HudiHiveError) as caught:
        spark.table(table).collect()
    assert caught.value.instant == last.requested or last.requested in str(caught.value)
    # What its entry says can be had all the same, and no other table is hidden by it.
    database, name = table.split(".")
    kinds = {entry.name: entry.tableType for entry in spark.catalog.listTables(database)}
    assert kinds[name] == "EXTERNAL" and spark.catalog.getTable(table).tableType == "EXTERNAL"
    assert "_hoodie_record_key" in {row.col_name for row in spark.sql(f"DESCRIBE {table}").collect()}


def rewrite_column(path, name, kind, values=None):
    table = pq.read_table(path)
    index = table.column_names.index(name)
    column = table.column(name).cast(kind) if values is None else pa.array(values(table.num_rows), kind)
    pq.write_table(table.set_column(index, name, column), path)


def test_promoted_types_are_right_or_refused_by_name(spark, tmp_path):
    base = unzip_fixture("v9_cow_nonpart", tmp_path)
    good = sorted(map(str, hudi_spark.load(spark, base).collect()))
    types = dict(hudi_spark.load(spark, base).dtypes)
    long = next(name for name, kind in types.items() if kind == "bigint")
    file = Path(hudi_spark.load(spark, base).inputFiles()[0].removeprefix("file:").replace("//", "/"))
    rewrite_column(file, long, pa.int32())  # an older file, from before the column was widened
    if spark.version.startswith("3.5"):  # which reads no type as another one
        with pytest.raises(SchemaError, match=f"{long}.*bigint"):
            hudi_spark.load(spark, base).collect()
    else:
        assert sorted(map(str, hudi_spark.load(spark, base).collect())) == good
    rewrite_column(file, long, pa.string())  # a change that Spark cannot read through
    with pytest.raises(SchemaError) as caught:
        hudi_spark.load(spark, base).collect()
    assert long in str(caught.value) and file.name in caught.value.path


def test_a_partition_value_that_does_not_fit_its_type(spark, tmp_path):
    base = unzip_fixture("v8_cow_ymd_hive", tmp_path)
    (base / "year=2023").rename(base / "year=soon")
    with pytest.raises(PartitionValueError, match="soon"):
        hudi_spark.load(spark, base).where("year > 2000").collect()
    with pytest.raises(PartitionValueError, match="soon"):
        hudi_spark.load(spark, base).collect()
