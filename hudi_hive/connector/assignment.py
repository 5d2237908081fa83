"""Type rules of inserts: which Arrow types go into a column, and values that do not fit are refused.

The rules are the strict half of SQL's store assignment: numbers go into wider numbers, and into narrower ones if every
value fits without loss; doubles go into floats; dates go into timestamps; texts go into texts alone. Nothing else is
converted without a CAST.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from hudi_hive.errors import SchemaError


def assigned(values: pa.Array, target: pa.Field) -> pa.Array:
    """Values as the type of a column.

    Args:
        values: of one batch.
        target: the table's column.

    Raises:
        SchemaError: the type does not go into the column's, a value does not fit it, or is null and must not be.
    """
    kind = values.type
    if pt.is_dictionary(kind):
        values = values.cast(kind.value_type)
    if not _goes_into(values.type, target.type):
        raise SchemaError(
            f"column {target.name} is {target.type}, and {values.type} is not converted to it",
            remedy=f"CAST({target.name} AS …) in the query, or give another column",
        )
    try:
        converted = values if values.type == target.type else _converted(values, target.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError) as error:
        raise SchemaError(
            f"a value of column {target.name} does not fit {target.type}: {str(error).splitlines()[0]}",
            remedy="CAST or leave out such values in the query",
        ) from error
    if converted.null_count and not target.nullable:
        raise SchemaError(f"column {target.name} takes no nulls", remedy="leave out such rows")
    return converted


def _goes_into(source: pa.DataType, target: pa.DataType, *, nested: bool = False) -> bool:
    if source == target or pt.is_null(source):
        return True
    if nested and pt.is_floating(source) and pt.is_floating(target) and source.bit_width > target.bit_width:
        return False  # what is too large is looked for in columns alone
    if pt.is_list(target):
        return pt.is_list(source) and _goes_into(source.value_type, target.value_type, nested=True)
    if pt.is_map(target):
        if not pt.is_map(source):
            return False
        kinds = ((source.key_type, target.key_type), (source.item_type, target.item_type))
        return all(_goes_into(one, other, nested=True) for one, other in kinds)
    if pt.is_struct(target):
        if not pt.is_struct(source) or [item.name for item in source] != [item.name for item in target]:
            return False
        return all(_goes_into(one.type, other.type, nested=True) for one, other in zip(source, target, strict=True))
    return any(is_source(source) and is_target(target) for is_source, is_target in _SCALARS)


def _is_number(kind: pa.DataType) -> bool:
    return pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind)


def _is_text(kind: pa.DataType) -> bool:
    return pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)


def _is_bytes(kind: pa.DataType) -> bool:
    return pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_binary_view(kind) or pt.is_fixed_size_binary(kind)


def _is_whole_source(kind: pa.DataType) -> bool:
    return pt.is_integer(kind) or pt.is_decimal(kind)


def _is_date_or_time(kind: pa.DataType) -> bool:
    return pt.is_date(kind) or pt.is_timestamp(kind)


_SCALARS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], bool]], ...] = (
    (_is_whole_source, _is_number),
    (pt.is_floating, pt.is_floating),
    (_is_text, _is_text),
    (_is_bytes, _is_bytes),
    (pt.is_date, pt.is_date),
    (_is_date_or_time, pt.is_timestamp),
    (pt.is_time, pt.is_time),
)


def _converted(values: pa.Array, target: pa.DataType) -> pa.Array:
    source = values.type
    if pt.is_integer(source) and pt.is_decimal(target):
        return values.cast(pa.decimal256(76, target.scale)).cast(target)  # Arrow asks for room for any such number
    if not (pt.is_floating(source) and pt.is_floating(target) and target.bit_width < source.bit_width):
        return values.cast(target)  # zones are UTC: times without one are those of UTC
    narrow = values.cast(target, safe=False)
    became = np.isinf(narrow.to_numpy(zero_copy_only=False)) & ~np.isinf(values.to_numpy(zero_copy_only=False))
    if became.any():
        raise pa.ArrowInvalid("a number is too large")
    return narrow
