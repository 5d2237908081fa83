"""Values of partition keys as Hive writes them into names of partitions.

Source: Hive writes the text of its writable objects (``TimestampWritableV2``, ``DoubleWritable``, ``HiveDecimal`` …).
"""

from __future__ import annotations

from decimal import Decimal
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import SchemaError, UnsupportedAcidValueError
from hudi_hive.formats.orc import parse_hive_type
from hudi_hive.mutation.acid_table.table import AcidColumn
from hudi_hive.mutation.core import holds
from hudi_hive.schema import java_text

_Texts = TypeVar("_Texts", pa.Array, pa.ChunkedArray)


def padded(texts: _Texts, key: AcidColumn) -> _Texts:
    """Pad texts of type ``char`` as Hive does in names of partitions."""
    kind = parse_hive_type(key.type)
    return pc.utf8_rpad(pc.utf8_rtrim(texts, " "), kind.length) if kind.kind == "char" else texts


def partition_texts(key: AcidColumn, column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Values of a partition key as texts in names of partitions; null for Hive's default partition.

    Args:
        key: the key.
        column: values of its type, or of one whose values are among that type's.

    Raises:
        UnsupportedAcidValueError: a column of another type.
        SchemaError: a value that the key cannot have.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = parse_hive_type(key.type).arrow
    if pa.types.is_null(array.type):
        return array.cast(pa.string())
    if not holds(kind, array.type) or pa.types.is_binary(kind):
        raise UnsupportedAcidValueError(
            f"partition key {key.name} of type {key.type} is not taken from a column of type {array.type}",
            remedy="cast the column, or give partition values as text",
        )
    try:
        typed = array.cast(array.type if pa.types.is_timestamp(array.type) else kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(f"partition key {key.name} is {key.type}, and a value is not: {error}") from error
    if pa.types.is_string(kind):
        return padded(typed, key)
    if pa.types.is_timestamp(typed.type):
        return _times(typed)
    if pa.types.is_floating(kind):
        return java_text(typed, key.name)
    if pa.types.is_decimal(kind):
        return _decimals(typed)
    return typed.cast(pa.string())


def _times(times: pa.Array) -> pa.Array:
    """``2020-01-01 01:02:03.5``: without a fraction that is zero, and without zeros at its end."""
    fine = times if times.type == pa.timestamp("ns") else times.cast(pa.timestamp("us"))
    return pc.utf8_rtrim(pc.utf8_rtrim(fine.cast(pa.string()), "0"), ".")


def _decimals(decimals: pa.Array) -> pa.Array:
    """``1.5`` for 1.500."""
    encoded = decimals.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    texts = [format(value.normalize() if value else Decimal(0), "f") for value in values]
    return pa.array(texts, pa.string()).take(encoded.indices)
