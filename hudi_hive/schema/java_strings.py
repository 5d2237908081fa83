"""Converts values to the text of Java's ``toString``, of which Hudi makes record keys and partition paths.

Columns in, columns of text out. Floats are converted one distinct value at a time, everything else by Arrow's kernels.

Source: docs/format.md#record-keys.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedTableError

_EPOCH: Final = dt.datetime(1970, 1, 1)


def java_text(values: pa.Array, name: str, *, consistent_timestamps: bool = False) -> pa.Array:
    """Convert each value of a column to the text of Java's ``toString``; null stays null.

    Integers and booleans are plain, floats in Java's notation (``1.0E10``), dates ``2024-01-31``, decimals with their
    full scale, timestamps the raw number in the column's unit.

    Args:
        values: a column.
        name: the column's name, for messages.
        consistent_timestamps: timestamps as ``2024-01-31 10:00:00.0`` in place of numbers
            (``hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled``), in this machine's zone.

    Raises:
        UnsupportedTableError: values of a type that makes no key: bytes, structs, lists, maps.
    """
    arrow = values.type
    if pa.types.is_string(arrow):
        return values
    if pa.types.is_null(arrow):
        return pa.nulls(len(values), pa.string())
    if isinstance(values, pa.DictionaryArray):
        return java_text(values.dictionary, name, consistent_timestamps=consistent_timestamps).take(values.indices)
    if pa.types.is_timestamp(arrow):
        return _timestamps(values) if consistent_timestamps else values.view(pa.int64()).cast(pa.string())
    if pa.types.is_time32(arrow):
        return values.view(pa.int32()).cast(pa.string())
    if pa.types.is_time64(arrow):
        return values.view(pa.int64()).cast(pa.string())
    if pa.types.is_floating(arrow):
        return _floats(values)
    if pa.types.is_integer(arrow) or pa.types.is_boolean(arrow) or pa.types.is_date(arrow):
        return values.cast(pa.string())
    if pa.types.is_decimal(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow):
        return values.cast(pa.string())
    raise UnsupportedTableError(
        f"field {name!r} of type {arrow} cannot be part of a record key or partition path",
        remedy="use fields of text, numbers, dates or timestamps",
    )


def float_text(value: float, arrow: pa.DataType) -> str:
    """Convert a float or double to Java's text: ``1.0``, ``1.0E10``, ``1.5E-5``, ``NaN``, ``Infinity``."""
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(shortest(value, arrow)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + int(exponent)  # digits before the decimal point
    prefix = "-" if sign else ""
    if text == "0":
        return prefix + "0.0"
    text = text.lstrip("0")
    if -3 < point <= 7:
        if point <= 0:
            return f"{prefix}0.{'0' * -point}{text}"
        whole, fraction = text[:point].ljust(point, "0"), text[point:]
        return f"{prefix}{whole}.{fraction or '0'}"
    return f"{prefix}{text[0]}.{text[1:] or '0'}E{point - 1}"


def shortest(value: float, arrow: pa.DataType) -> str:
    """The shortest decimal text that parses to the same value of a float type."""
    text = repr(float(value)) if arrow == pa.float64() else str(np.float32(value))
    if len(Decimal(text).normalize().as_tuple().digits) == 1:
        # Java writes at least two digits, the closest ones: the least double is 4.9E-324 there, not 5e-324.
        two = f"{value:.1e}"
        same = float(two) == value if arrow == pa.float64() else np.float32(two) == np.float32(value)
        return two if same else text
    return text


def _floats(values: pa.Array) -> pa.Array:
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    encoded = values.dictionary_encode()
    texts = [float_text(value, values.type) for value in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


def _timestamps(values: pa.Array) -> pa.Array:
    """Convert timestamps to the text of ``java.sql.Timestamp``: local time, with at least one digit of the fraction."""
    assert pa.types.is_timestamp(values.type)
    per_second = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}[values.type.unit]
    encoded = values.view(pa.int64()).dictionary_encode()
    texts = []
    for number in encoded.dictionary.to_pylist():
        # Java's division cuts off towards zero.
        millis = number * 1000 if per_second == 1 else int(Decimal(number) / (per_second // 1000))
        local = (_EPOCH.replace(tzinfo=dt.UTC) + dt.timedelta(milliseconds=millis)).astimezone()
        fraction = f"{local.microsecond // 1000:03d}".rstrip("0") or "0"
        texts.append(f"{local.year:04d}-{local:%m-%d %H:%M:%S}.{fraction}")
    return pa.array(texts, pa.string()).take(encoded.indices)


def text_or(values: pa.Array, null: str, empty: str) -> pa.Array:
    """Replace nulls and empty texts by the given words."""
    filled = values.fill_null(null) if values.null_count else values
    return pc.if_else(pc.equal(pc.binary_length(filled), 0), empty, filled)
