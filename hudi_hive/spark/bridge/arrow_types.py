"""Converts schemas between Spark and Arrow, and shuffles rows by number, under all supported releases of PySpark.

The signatures of PySpark's own functions changed with 4.2: before, timestamps are in UTC without an argument that says
so, and Arrow's timestamps without a zone become Spark's ``timestamp`` unless ``timestamp_ntz`` is preferred.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.pandas import types as pandas_types
from pyspark.sql.types import StructType

_MOST_NAMED: Final = 1024
"""Tasks that are named by numbers of their own; hashes spread more of them well enough."""


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
    """Shuffle rows to the tasks that a column numbers, of which there are ``tasks``.

    PySpark before 4.1 only shuffles by a hash, which sends several of few numbers to one task and leaves others idle;
    so it gets numbers whose hashes name the tasks.
    """
    if hasattr(DataFrame, "repartitionById"):
        return frame.repartitionById(tasks, number)
    if 1 < tasks <= _MOST_NAMED:
        named = ",".join(map(str, numbers_of_tasks(tasks)))
        number = sql.expr(f"array({named})")[number]
    return frame.repartition(tasks, number)


@functools.cache
def numbers_of_tasks(tasks: int) -> tuple[int, ...]:
    """For each of some tasks a number whose hash sends it there. Source: Spark's ``Murmur3Hash`` and its ``pmod``."""
    numbers = np.arange(tasks * 32, dtype=np.uint32)
    hashes = _murmur3(numbers).view(np.int32).astype(np.int64) % tasks
    there, first = np.unique(hashes, return_index=True)
    own = np.arange(tasks)
    own[there] = first  # a task that no number names shares one with others
    return tuple(int(number) for number in own)


def _murmur3(numbers: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """The hash of each number of 32 bits, with Spark's seed."""
    mixed = _rotated(numbers * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    mixed = _rotated(mixed ^ np.uint32(42), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    mixed ^= np.uint32(4)
    mixed = (mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    mixed = (mixed ^ (mixed >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return mixed ^ (mixed >> np.uint32(16))


def _rotated(numbers: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    return (numbers << np.uint32(bits)) | (numbers >> np.uint32(32 - bits))


def quoted(*parts: str) -> str:
    """A name as Spark's SQL takes it, whatever its parts hold."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)
