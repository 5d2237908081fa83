"""Tables of real Hudi whose base files are Lance files, in Spark SQL: their rows come by Arrow."""

from __future__ import annotations

import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive.errors import HudiHiveError
from tests.support.fixture_tables import assert_same_rows, lance_names, queries, unzip_fixture

pytestmark = pytest.mark.jvm

KINDS = ("snapshot", "read_optimized", "time_travel", "incremental", "cdc")


def chosen(name):
    """The first query of each kind that has rows."""
    first = {}
    for query in queries(name, *KINDS):
        if query["row_count"]:
            first.setdefault(query["kind"], query)
    return first.values()


@pytest.mark.parametrize("name", lance_names())
def test_queries_have_the_rows_of_hudi(spark, name):
    for query in chosen(name):
        frame = spark.read.format("hudi").options(**query["options"]).load(str(unzip_fixture(name)))
        assert_same_rows(frame.toArrow(), name, query)


def test_filters_columns_and_counts(spark):
    frame = hudi_spark.load(spark, unzip_fixture("v9_cow_lance"))
    (query,) = [query for query in queries("v9_cow_lance", "snapshot") if query["label"] == "snapshot"]
    names = [column["name"] for column in query["columns"]]
    seats = [row[names.index("seats")] for row in query["rows"]]
    assert frame.count() == query["row_count"] == 9
    assert sorted(row.seats for row in frame.where("seats > 1").select("seats").collect()) == sorted(
        seat for seat in seats if seat > 1
    )
    assert "converted in Arrow: 2 base files of Lance format" in hudi_spark.explain(frame)
    with pytest.raises(HudiHiveError, match="tells of files"):
        frame.select("_metadata.file_path").collect()


def test_statements_read_and_do_not_write(spark, tmp_path):
    path = unzip_fixture("v9_mor_lance", tmp_path)
    before = {one: one.stat().st_mtime_ns for one in path.rglob("*")}
    spark.sql(f"CREATE TABLE lance_devices USING hudi LOCATION '{path}'")
    try:
        assert spark.sql("SELECT count(*) AS n FROM lance_devices").first().n == 8
        for statement in (
            "INSERT INTO lance_devices SELECT dev, temp, note, event_ts, _hoodie_is_deleted FROM lance_devices",
            "INSERT OVERWRITE lance_devices SELECT dev, temp, note, event_ts, _hoodie_is_deleted FROM lance_devices",
            "UPDATE lance_devices SET note = 'x'",
            "DELETE FROM lance_devices WHERE dev = 'dev1'",
            "MERGE INTO lance_devices t USING (SELECT 'dev1' AS dev) s ON t.dev = s.dev WHEN MATCHED THEN DELETE",
            "TRUNCATE TABLE lance_devices",
            "ALTER TABLE lance_devices ADD COLUMNS (more int)",
            "CALL run_compaction(op => 'run', table => 'lance_devices')",
            "CALL run_clustering(table => 'lance_devices')",
            "CALL run_clean(table => 'lance_devices')",
            "CALL create_savepoint(table => 'lance_devices')",
            "CALL repair_corrupted_clean_files(table => 'lance_devices')",
            "CALL delete_metadata_table(table => 'lance_devices')",
            f"CREATE OR REPLACE TABLE lance_devices USING hudi LOCATION '{path}' AS SELECT 'a' AS dev",
            f"REPLACE TABLE lance_devices USING hudi LOCATION '{path}' AS SELECT 1 AS dev",
            "CREATE INDEX by_note ON lance_devices (note)",
        ):
            with pytest.raises(Exception, match="such tables are read, and not written"):
                spark.sql(statement).collect()
        with pytest.raises(Exception, match="such tables are read, and not written"):
            spark.table("lance_devices").write.format("hudi").mode("append").save(str(path))
        with pytest.raises(Exception, match="such tables are read, and not written"):
            spark.range(3).write.format("hudi").mode("overwrite").save(str(path))
        assert {one: one.stat().st_mtime_ns for one in path.rglob("*")} == before
    finally:
        spark.sql("DROP TABLE lance_devices")
    assert path.is_dir()
