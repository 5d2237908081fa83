"""Columns of a scan by their source: partition paths or files."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import DateType, LongType, StringType, StructField, StructType

from hudi_hive.errors import PartitionValueError
from hudi_hive.spark.scan.column_sources import ColumnSources

SOURCES = ColumnSources(
    data=StructType([StructField("id", LongType()), StructField("City", StringType())]),
    path=StructType([StructField("Day", DateType())]),
    hidden=StructType([StructField("City", StringType())]),
)


def test_columns_by_source():
    assert SOURCES.in_paths.names == ["Day", "City"]
    assert SOURCES.all.names == ["id", "City", "Day"]


def test_values_get_the_names_of_the_schema():
    texts = pa.table({"day": ["2024-01-02"], "city": ["lima"], "other": ["x"]})
    assert SOURCES.renamed(texts).column_names == ["Day", "City", "other"]


def test_only_nulls_of_hidden_columns_are_ambiguous():
    texts = pa.table({"Day": [None, "2024-01-02", "2024-01-03"], "City": ["lima", None, "rome"]})
    assert SOURCES.ambiguous(texts, ["Day", "City"]).tolist() == [False, True, False]
    assert SOURCES.ambiguous(texts, ["Day"]).tolist() == [False, False, False]


@pytest.mark.parametrize("text", ["19723", "2024-1-2", "2024", ""])
def test_day_number_is_no_date(text):
    texts = pa.table({"Day": [None, "2024-01-02", text], "City": ["19723", "", "x"]})
    with pytest.raises(PartitionValueError, match="Day is a date") as error:
        SOURCES.check_dates(texts, ["Day", "City"], "/lake/t")
    assert error.value.path == "/lake/t"


def test_dates_and_the_default_partition_pass():
    texts = pa.table({"Day": [None, "2024-01-02"], "City": ["19723", ""]})
    SOURCES.check_dates(texts, ["Day", "City"], "/lake/t")
