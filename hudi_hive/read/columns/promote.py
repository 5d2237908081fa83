"""Promotions of single values, as Hudi allows them between an older file and the table's schema.

int → long, float, double, decimal, string; float → double, decimal, string; wider decimals; date, binary → string;
string → date, decimal, binary; units and zones of timestamps. Values that do not fit their new type are errors, never
cut off.

Source: docs/format.md#schema-evolution-by-name, docs/format.md#type-promotions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.schema import float_text, is_mislabelled, shortest

Convert: TypeAlias = Callable[[pa.Array], pa.Array]


def scalar_promotion(source: pa.DataType, target: pa.DataType) -> Convert | None:
    """The conversion of values of one type to another; None if there is no promotion."""
    if pa.types.is_null(source):
        return lambda array: pa.nulls(len(array), target)
    if _is_text(target):
        return _to_text(source, target)
    if pa.types.is_floating(target):
        return _to_float(source, target)
    if pa.types.is_decimal(target):
        return _to_decimal(source, target)
    if pa.types.is_timestamp(target) and pa.types.is_timestamp(source):
        return _to_timestamp(source, target)
    if _plain_cast(source, target):
        return lambda array: array.cast(target)
    return None


def scalar_of_file(source: pa.DataType, target: pa.DataType) -> Convert | None:
    """Conversion of values of a file or log block, whose type may be labelled wrongly; as :func:`scalar_promotion`."""
    if is_mislabelled(source, target):
        return lambda array: array.view(target)
    return scalar_promotion(source, target)


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow))


def _is_bytes(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow) or pa.types.is_fixed_size_binary(arrow))


def _plain_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """Pairs whose Arrow cast does the right thing, or fails on a value that does not fit."""
    if pa.types.is_integer(target):
        return bool(pa.types.is_integer(source) and source.bit_width < target.bit_width)
    if _is_bytes(target):
        return _is_bytes(source) or _is_text(source)
    if pa.types.is_date32(target):
        return bool(_is_text(source) or pa.types.is_date64(source))
    return bool(pa.types.is_time(target) and pa.types.is_time(source))


def _to_text(source: pa.DataType, target: pa.DataType) -> Convert | None:
    if pa.types.is_fixed_size_binary(source):
        return lambda array: array.cast(pa.binary()).cast(target)
    if _is_text(source) or _is_bytes(source) or pa.types.is_integer(source) or pa.types.is_date(source):
        return lambda array: array.cast(target)
    if pa.types.is_decimal(source):
        return lambda array: array.cast(target)
    if pa.types.is_floating(source):
        return lambda array: _distinct(array, target, lambda values: [float_text(v, source) for v in values])
    return None


def _to_float(source: pa.DataType, target: pa.DataType) -> Convert | None:
    if pa.types.is_integer(source):
        return lambda array: array.cast(target, safe=False)
    if source == pa.float32() and target == pa.float64():
        return _float_to_double
    if pa.types.is_floating(source) and source.bit_width < target.bit_width:
        return lambda array: array.cast(target)
    return None


def _to_decimal(
    source: pa.DataType, target: pa.Decimal32Type | pa.Decimal64Type | pa.Decimal128Type | pa.Decimal256Type
) -> Convert | None:
    if pa.types.is_integer(source):
        # The cast asks for room for every value of the type; through a wide decimal it asks for that of the values.
        wide = pa.decimal256(76, target.scale)
        return lambda array: array.cast(wide).cast(target)
    if _is_text(source):
        return lambda array: array.cast(target)
    if pa.types.is_decimal(source):
        widens = target.scale >= source.scale and target.precision - target.scale >= source.precision - source.scale
        return (lambda array: array.cast(target)) if widens else None
    if pa.types.is_floating(source):
        return lambda array: _distinct(
            array, target, lambda values: [_decimal(v, source, target.scale) for v in values]
        )
    return None


def _to_timestamp(source: pa.TimestampType, target: pa.TimestampType) -> Convert:
    """Convert units and zones; a timestamp without zone counts as UTC.

    Nanoseconds are cut to microseconds: Spark has none finer.
    """

    def convert(array: pa.Array) -> pa.Array:
        if source.unit == "ns" and target.unit != "ns":
            array = pc.floor_temporal(array, unit="microsecond")
        return array.cast(pa.timestamp(target.unit, source.tz)).cast(target)

    return convert


def _float_to_double(array: pa.Array) -> pa.Array:
    """By the shortest decimal text, as Hudi does: 0.1 becomes 0.1, not 0.10000000149011612."""
    return _distinct(array, pa.float64(), lambda values: [float(shortest(value, pa.float32())) for value in values])


def _distinct(array: pa.Array, target: pa.DataType, convert: Callable[[list[float]], list[object]]) -> pa.Array:
    """Convert each distinct value once; in Python, since these promotions are rare."""
    encoded = array.dictionary_encode()
    values = pa.array(convert(encoded.dictionary.to_pylist()), target)
    return values.take(encoded.indices)


def _decimal(value: float, arrow: pa.DataType, scale: int) -> Decimal:
    if not math.isfinite(value):
        raise pa.ArrowInvalid(f"{value} is no decimal")
    with localcontext() as context:
        context.prec = 400
        return Decimal(shortest(value, arrow)).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
