"""Metadata tables in Spark as tables of their records: columns, types and rows of real Hudi."""

from __future__ import annotations

import json

import pytest
from pyspark.sql.functions import explode

import hudi_hive.spark as hudi_spark
from hudi_hive.errors import HudiHiveError
from hudi_hive.metrics import METADATA_METRICS
from hudi_hive.schema import META_FIELDS
from tests.support.fixture_tables import unzip_fixture
from tests.support.running.long import with_long_cases
from tests.support.tables.metadata_records import AS_TABLE, records_sha256

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]


@pytest.mark.parametrize(
    "name", with_long_cases(["v6_cow_part_mdt", "v8_cow_part_mdt", "v9_mor_part_rli"], list(AS_TABLE))
)
def test_columns_and_rows_are_those_of_hudi(spark, name):
    path, hudi = f"{unzip_fixture(name)}/.hoodie/metadata", AS_TABLE[name]
    frame = spark.read.format("hudi").load(path)
    assert frame.schema.simpleString() == hudi["type"]
    assert records_sha256(frame.toArrow()) == hudi["sha256"]
    assert frame.where("key = '__all_partitions__'").count() == hudi["all_partitions"]


def test_it_takes_part_in_statements(spark):
    path = f"{unzip_fixture('v9_mor_part_rli')}/.hoodie/metadata"
    frame = hudi_spark.load(spark, path)
    files = frame.where("type = 2").select("key", explode("filesystemMetadata").alias("name", "info"))
    assert files.where("info.size > 0").count() == files.count() > 0
    spark.sql(f"CREATE OR REPLACE TEMP VIEW records USING hudi OPTIONS (path '{path}')")
    by_type = dict(spark.sql("SELECT type, count(*) FROM records GROUP BY 1").collect())
    assert sum(by_type.values()) == AS_TABLE["v9_mor_part_rli"]["row_count"]
    one = spark.sql("SELECT ColumnStatsMetadata.columnName FROM records WHERE type = 3 LIMIT 1").collect()
    assert one[0][0]


def test_other_queries_and_writes_are_refused(spark, tmp_path):
    path = unzip_fixture("v9_mor_part_rli", tmp_path)
    metadata = f"{path}/.hoodie/metadata"
    for options in ({"hoodie.datasource.query.type": "read_optimized"}, {"as.of.instant": "20990101000000000"}):
        with pytest.raises(HudiHiveError, match="not possible on a metadata table"):
            spark.read.format("hudi").options(**options).load(metadata)
    with pytest.raises(HudiHiveError, match="not those of the metadata table"):
        spark.read.format("hudi").schema("key string").load(metadata)
    before = {file: file.stat().st_mtime_ns for file in path.rglob("*")}
    rows = spark.createDataFrame([("k", 1)], "key string, type int")
    for mode in ("append", "overwrite"):
        with pytest.raises(HudiHiveError, match=r"is only read, by HudiTable\.open"):
            rows.write.format("hudi").option("hoodie.table.name", "t").mode(mode).save(metadata)
    with pytest.raises(Exception, match=r"(?i)insert|not allowed|unsupported"):
        spark.read.format("hudi").load(metadata).createOrReplaceTempView("records")
        spark.sql("INSERT INTO records SELECT * FROM records")
    assert {file: file.stat().st_mtime_ns for file in path.rglob("*")} == before
    assert json.loads(spark.read.format("hudi").load(metadata).limit(1).toJSON().first())["key"]


def test_what_tasks_count_comes_back_to_the_driver(spark, tmp_path):
    """Scans of a metadata table that tasks read, and look-ups of keys by the tasks of a write."""
    path = unzip_fixture("v9_mor_part_rli", tmp_path)
    frame = spark.read.format("hudi").load(f"{path}/.hoodie/metadata")
    before = METADATA_METRICS.totals()
    assert frame.count() > 0
    counted = METADATA_METRICS.since(before)
    assert counted["scan"][0] >= 3 and counted["scan"][1] > 0, (
        "one for each partition of it that is not a list of files"
    )
    rows = spark.read.format("hudi").load(str(path)).limit(20).toArrow()
    data = spark.createDataFrame(rows.drop_columns(list(META_FIELDS)))
    options = {"hoodie.table.name": "v9_mor_part_rli", "hoodie.index.type": "RECORD_INDEX"}
    before = METADATA_METRICS.totals()
    data.write.format("hudi").options(**options).mode("append").save(str(path))
    counted = METADATA_METRICS.since(before)
    assert counted["lookup_record_index"][0] >= 1 and counted["lookup_record_index"][1] > 0
    assert counted["sync"][0] == 1
