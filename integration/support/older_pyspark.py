"""Gives PySpark 3.5 what the tests use of PySpark 4: frames that are made of Arrow tables, and tables of frames."""

from __future__ import annotations

import functools
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from hudi_hive.spark.bridge import from_arrow_schema
from hudi_hive.spark.versions import SPARK


def fill_in() -> None:
    """Add them, where PySpark has them not."""
    if hasattr(DataFrame, "toArrow"):
        return
    DataFrame.toArrow = lambda frame: SPARK.to_arrow(frame)  # type: ignore[method-assign,assignment]
    create = SparkSession.createDataFrame

    @functools.wraps(create)
    def of_arrow_too(self: SparkSession, data: Any, *arguments: Any, **named: Any) -> DataFrame:
        if isinstance(data, pa.Table):
            rows = [tuple(row.values()) for row in data.to_pylist(maps_as_pydicts="strict")]
            return create(self, rows, from_arrow_schema(data.schema))
        return create(self, data, *arguments, **named)

    SparkSession.createDataFrame = of_arrow_too  # type: ignore[method-assign]
