"""Converts schemas between Spark and Arrow, and shuffles rows by number, under all supported releases of PySpark.

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
    """The Arrow schema of batches that Spark makes of rows of a schema, with timestamps in UTC.

    Args:
        schema: columns as Spark names them.
        convert: PySpark's own function; that of the release in use without it.
    """
    convert = convert if convert is not None else pandas_types.to_arrow_schema
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(convert).parameters else {}
    return convert(schema, **zone)


def from_arrow_schema(schema: pa.Schema, convert: Callable[..., StructType] | None = None) -> StructType:
    """Convert an Arrow schema to Spark's; timestamps without a zone become ``timestamp_ntz``.

    Args:
        schema: columns as Arrow names them.
        convert: PySpark's own function; that of the release in use without it.
    """
    convert = convert if convert is not None else pandas_types.from_arrow_schema
    return convert(schema, prefer_timestamp_ntz=True)


def in_microseconds(schema: pa.Schema) -> pa.Schema:
    """Convert timestamps on every level of a schema to microseconds, the only unit that Spark supports."""
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
    """Shuffle rows to the tasks that a column numbers; PySpark 4.0 only sends equal numbers to the same task."""
    if hasattr(DataFrame, "repartitionById"):
        return frame.repartitionById(tasks, number)
    return frame.repartition(tasks, number)


def quoted(*parts: str) -> str:
    """A name as Spark's SQL takes it, whatever its parts hold."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)
