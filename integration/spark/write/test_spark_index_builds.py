"""Writes of Spark commit while an index is built, and their records are in it; Spark's tasks build indexes, too."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as sql

import hudi_hive.spark as hudi_spark
from hudi_hive.table import MetaClient
from hudi_hive.timeline.instants import INDEXING
from tests.support.index_builds import check_indexes, in_the_middle, services

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

INDEX = {"hoodie.metadata.record.index.enable": "true", "hoodie.metadata.index.column.stats.enable": "false"}


def write(spark, path, first, last, operation="upsert", **more):
    rows = spark.range(first, last)
    city = sql.concat(sql.lit("c"), sql.col("id") % 2).alias("city")
    rows = rows.select(sql.concat(sql.lit("k"), "id").alias("id"), city, sql.lit(float(first)).alias("fare"))
    options = {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.operation": operation,
        "hoodie.metadata.index.column.stats.enable": "false",
        **more,
    }
    hudi_spark.write(rows, path, options)


def test_writes_of_spark_in_the_middle_of_a_build_are_in_the_index(spark, tmp_path):
    path = tmp_path / "t"
    write(spark, path, 0, 10, "insert")

    def more():
        write(spark, path, 5, 15)
        write(spark, path, 0, 3, "delete")
        hudi_spark.compact(spark, path, {"hoodie.compact.inline.max.delta.commits": "1"})

    with in_the_middle(more):
        assert services(path, INDEX).metadata.build().created == ("record_index",)
    check_indexes(path, {"record_index"}, tmp_path)
    write(spark, path, 8, 20, **{"hoodie.index.type": "RECORD_INDEX"})
    check_indexes(path, {"record_index"}, tmp_path)


def test_tasks_of_spark_build_indexes_beside_writes(spark, tmp_path):
    path = tmp_path / "t"
    write(spark, path, 0, 10, "insert")
    options = {**INDEX, "hoodie.metadata.index.async": "true"}
    with in_the_middle(lambda: write(spark, path, 5, 15)):
        assert hudi_spark.init_metadata(spark, path, options) == ("record_index",)
    assert len(MetaClient.load(path).timeline.completed({INDEXING})) == 1
    hudi_spark.create_index(spark, path, "by_city", "city", options=options)
    check_indexes(path, {"record_index"}, tmp_path)
