"""Secondary and expression indexes in Spark SQL: they leave files out, and never a row of the answer."""

from __future__ import annotations

import tarfile

import pytest

import hudi_hive.spark as hudi_spark
from tests.support.column_indexes import refuse_differences
from tests.support.fixture_tables import DATA

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes")
    for name in ("v9_cow_expression", "v9_cow_secondary"):
        with tarfile.open(DATA / "column_indexes" / f"{name}.tar.xz") as archive:
            archive.extractall(folder)
    return folder


def check(spark, path, condition):
    """How many files an index left out; the rows are those without it."""
    found = hudi_spark.load(spark, str(path)).where(condition)
    unskipped = spark.read.format("hudi").option("hoodie.enable.data.skipping", "false").load(str(path))
    wanted = sorted(row.id for row in unskipped.where(condition).select("id").collect())
    assert sorted(row.id for row in found.select("id").collect()) == wanted
    (line,) = hudi_spark.explain(found).splitlines()
    left_out = line.partition(" left out by their statistics")[0].rpartition(", ")[2]
    return int(left_out) if left_out.isdecimal() else 0


CONDITIONS = {
    "year(at) = 2021": 3,
    "year(at) > 2021": 2,
    "year(at) IN (1999, 2030)": 3,
    "lower(rider) > 'ÿ'": 3,
    "upper(id) = 'K051'": 3,
    "year(at) = 2021 OR year(at) = 1999": 2,
    "month(at) = 5": 0,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_functions_ask_expression_indexes(spark, tables, condition):
    assert check(spark, tables / "v9_cow_expression", condition) == CONDITIONS[condition]


def test_functions_of_another_zone_than_the_index_s_are_not_asked(spark, tables):
    spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    try:
        assert check(spark, tables / "v9_cow_expression", "year(at) = 2021") == 0
        assert check(spark, tables / "v9_cow_expression", "upper(id) = 'K051'") == 3
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_values_ask_a_secondary_index(spark, tables):
    assert check(spark, tables / "v9_cow_secondary", "rider = 'moved' AND ver > 0") > 0


def test_statements_make_show_and_drop_indexes(spark, tmp_path):
    path = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE made (id STRING, name STRING, at TIMESTAMP) USING hudi LOCATION '{path}' "
        "TBLPROPERTIES (primaryKey = 'id', preCombineField = 'at')"
    )
    try:
        spark.sql("INSERT INTO made VALUES ('a', 'x', TIMESTAMP '2020-01-02'), ('b', 'y', TIMESTAMP '2021-01-02')")
        spark.sql("CREATE INDEX by_name ON made (name)")
        spark.sql("CREATE INDEX y ON made USING column_stats (at) OPTIONS (expr = 'year')")
        spark.sql("CREATE INDEX IF NOT EXISTS y ON made USING column_stats (at) OPTIONS (expr = 'year')")
        spark.sql("UPDATE made SET name = 'z' WHERE id = 'a'")
        assert refuse_differences(path) == ["expr_index_y", "secondary_index_by_name"]
        shown = [row.index_name for row in spark.sql("SHOW INDEXES FROM made").collect()]
        assert {"expr_index_y", "secondary_index_by_name", "record_index"} <= set(shown)
        spark.sql("DROP INDEX y ON made")
        hudi_spark.drop_index(spark, str(path), "by_name")
        assert refuse_differences(path) == []
        hudi_spark.create_index(spark, str(path), "lo", "name", "bloom_filters", {"expr": "lower"})
        assert refuse_differences(path) == ["expr_index_lo"]
    finally:
        spark.sql("DROP TABLE made")


REGEX_CONDITIONS = {
    "regexp_extract(id, '([a-z]+)-', 1) = 'ab'": 2,
    "regexp_extract(id, '([a-z]+)-') IN ('ab', 'ef')": 1,
    "regexp_replace(id, '[^0-9]+', '') > '5'": 2,
    "regexp_replace(id, '[^0-9]+', '', 2) > '5'": 0,
    "regexp_extract(id, '([a-z]+)-', 0) = 'ab-'": 0,
    "regexp_extract(id, '([a-z]+)\\\\b', 1) = 'ab'": 0,
}


def test_functions_of_regular_expressions_ask_indexes(spark, tmp_path):
    path = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE matched (id STRING, part STRING) USING hudi PARTITIONED BY (part) LOCATION '{path}' "
        "TBLPROPERTIES (primaryKey = 'id')"
    )
    try:
        spark.sql(
            "INSERT INTO matched VALUES ('ab-1', 'a'), ('ab-2', 'a'), ('cd-3', 'c'), ('ef-5', 'e'), ('ef-6', 'e')"
        )
        spark.sql(
            "CREATE INDEX word ON matched USING column_stats (id) "
            "OPTIONS (expr = 'regexp_extract', pattern = '([a-z]+)-', idx = '1')"
        )
        spark.sql(
            "CREATE INDEX digits ON matched USING column_stats (id) "
            "OPTIONS (expr = 'regexp_replace', pattern = '[^0-9]+', replacement = '')"
        )
        assert refuse_differences(path) == ["expr_index_digits", "expr_index_word"]
        assert {each: check(spark, path, each) for each in REGEX_CONDITIONS} == REGEX_CONDITIONS
    finally:
        spark.sql("DROP TABLE matched")
