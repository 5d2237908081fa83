"""Schemas of Spark as Arrow's and back, and shuffles by a number, the same under all supported releases of PySpark.

The signatures of PySpark's own functions changed with 4.2: before, timestamps are in UTC without an argument that says
so, and Arrow's timestamps without a zone become Spark's ``timestamp`` unless ``timestamp_ntz`` is preferred.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.pandas import types as pandas_types
from pyspark.sql.types import StructType


def to_arrow_schema(schema: StructType, convert: Callable[..., pa.Schema] | None = None) -> pa.Schema:
    """The Arrow schema of the batches that Spark gives for rows of a schema: its timestamps are in UTC.

    Args:
        schema: columns as Spark names them.
        convert: PySpark's own function; that of the release in use without it.
    """
    convert = convert if convert is not None else pandas_types.to_arrow_schema
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(convert).parameters else {}
    return convert(schema, **zone)


def from_arrow_schema(schema: pa.Schema, convert: Callable[..., StructType] | None = None) -> StructType:
    """Spark's schema for Arrow's: timestamps without a zone become ``timestamp_ntz``.

    Args:
        schema: columns as Arrow names them.
        convert: PySpark's own function; that of the release in use without it.
    """
    convert = convert if convert is not None else pandas_types.from_arrow_schema
    return convert(schema, prefer_timestamp_ntz=True)


def in_microseconds(schema: pa.Schema) -> pa.Schema:
    """A schema whose timestamps are in microseconds on every level, the only unit that Spark takes."""
    return pa.schema([field.with_type(_in_microseconds(field.type)) for field in schema])


def _in_microseconds(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_microseconds(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_microseconds(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, kind.item_field.with_type(_in_microseconds(kind.item_type)))
    return kind


def repartition_by_number(frame: DataFrame, tasks: int, number: Column) -> DataFrame:
    """Rows to the tasks that a column numbers; PySpark 4.0 has no such shuffle, and sends equal numbers to one task."""
    if hasattr(DataFrame, "repartitionById"):
        return frame.repartitionById(tasks, number)
    return frame.repartition(tasks, number)
