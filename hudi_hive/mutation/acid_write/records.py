"""Converts single Python records to columns.

Arrow makes Arrow values of Python's rather freely when it is told a type: ``1.5`` becomes the whole number 1, a
time its day, a number a date, a time of some zone one of UTC. What is another value then is refused here, as it is in
batches.
"""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from hudi_hive.errors import RecordIdentifierError, SchemaError
from hudi_hive.formats.orc import DELETE
from hudi_hive.mutation.acid_table import ROW_ID, ROW_ID_TYPE, AcidTable

_MICROS: Final = {"s": 1_000_000, "ms": 1_000}
"""Microseconds of units that are coarser."""

_ID_NAMES = tuple(field.name for field in ROW_ID_TYPE)


def to_table(
    table: AcidTable, records: Sequence[tuple[int, Mapping[str, Any]]], record_id_column: str = ROW_ID
) -> pa.Table:
    """Convert records to a table of the columns of the table and that of identifiers.

    Args:
        table: what they are for.
        records: an operation and the values by column of each; of deletes, the identifier alone is looked at.
        record_id_column: the name of the identifier's column, in any case.

    Raises:
        SchemaError: a record lacks a column or has another one, or a value that its column does not hold.
        RecordIdentifierError: something that is no row's identifier.
    """
    schema = table.row_schema
    id_name, names = record_id_column.lower(), set(schema.names)
    lowered = [_lowered(table, operation, record, names, id_name) for operation, record in records]
    ids = [_row_id(record.get(id_name)) for record in lowered]
    # What else a delete holds is not looked at.
    written = [record if operation != DELETE else {} for (operation, _), record in zip(records, lowered, strict=True)]
    name = table.qualified_name
    columns = [column_of([record.get(field.name) for record in written], field, name) for field in schema]
    try:
        return pa.table([*columns, pa.array(ids, ROW_ID_TYPE)], names=[*schema.names, record_id_column])
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise RecordIdentifierError(f"a record for {table.qualified_name} has no right identifier: {error}") from error


def _lowered(table: AcidTable, operation: int, record: object, names: set[str], id_name: str) -> dict[str, Any]:
    """A record by lower-case names, which are the table's."""
    if not isinstance(record, Mapping) or not all(isinstance(name, str) for name in record):
        raise SchemaError(f"a record for {table.qualified_name} is a {type(record).__name__}, not values by column")
    lowered = {name.lower(): value for name, value in record.items()}
    if len(lowered) < len(record):
        raise SchemaError(f"columns of a record for {table.qualified_name} differ only in case")
    missing = names - lowered.keys() if operation != DELETE else ()
    unknown = lowered.keys() - names - {id_name}
    if missing or unknown:
        what = f"lacks {', '.join(sorted(missing))}" if missing else f"has unknown {', '.join(sorted(unknown))}"
        raise SchemaError(f"a record for {table.qualified_name} {what}", remedy="give a value for each column")
    return lowered


def column_of(values: Sequence[object], field: pa.Field, table: str) -> pa.Array:
    """Convert Python values to one column; values that Arrow would change are refused.

    Args:
        values: one for each record.
        field: the column.
        table: its name, for messages.

    Raises:
        SchemaError: a value that the column does not hold.
    """
    try:
        odd = next((value for value in values if not _is_same(value, field.type)), None)
        if odd is not None:
            raise pa.ArrowInvalid(f"{odd!r} is no value of type {field.type}")
        return pa.array(values, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SchemaError(f"a record for {table} does not fit its column {field.name}: {error}") from error


def _is_same(value: object, kind: pa.DataType) -> bool:
    """Whether Arrow, told the type, makes the same value or refuses it."""
    if value is None:
        return True
    kinds = pa.types
    if kinds.is_integer(kind):
        return isinstance(value, numbers.Integral)
    if kinds.is_floating(kind):
        return not isinstance(value, bool) and not (kinds.is_float32(kind) and _is_beyond_float(value))
    if kinds.is_date(kind):
        return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)
    if kinds.is_time(kind):
        ticks = _MICROS.get(kind.unit, 1)
        return isinstance(value, datetime.time) and value.tzinfo is None and value.microsecond % ticks == 0
    if kinds.is_timestamp(kind):
        return isinstance(value, datetime.datetime) and _is_same_time(value, kind)
    if kinds.is_map(kind):
        pairs = value.items() if isinstance(value, Mapping) else _parts(value)
        return all(_is_same(one, kind.key_type) and _is_same(other, kind.item_type) for one, other in pairs)
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        return not isinstance(value, str | bytes | Mapping) and all(
            _is_same(part, kind.value_type) for part in _parts(value)
        )
    if kinds.is_struct(kind):
        fields = {field.name: field.type for field in kind}
        if isinstance(value, tuple) and len(value) == len(fields):
            value = dict(zip(fields, value, strict=True))
        return isinstance(value, Mapping) and all(
            name in fields and _is_same(part, fields[name]) for name, part in value.items()
        )
    return True


def _is_beyond_float(value: object) -> bool:
    """Whether a number that is not infinite would be."""
    return isinstance(value, numbers.Real) and math.isfinite(value) and bool(np.isinf(_as_float(value)))


def _as_float(value: numbers.Real) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(float(value))


def _is_same_time(value: datetime.datetime, kind: pa.TimestampType) -> bool:
    """Whether it is no finer than the type, and has no zone that it would lose."""
    if kind.tz is None and value.tzinfo is not None:
        return False
    # pandas' times have nanoseconds beside.
    finer = getattr(value, "nanosecond", 0) and kind.unit != "ns"
    return not finer and value.microsecond % _MICROS.get(kind.unit, 1) == 0


def _parts(value: object) -> Iterable[Any]:
    if not isinstance(value, Iterable):
        raise TypeError(f"{value!r} has no parts")
    return value


def _row_id(value: object) -> dict[str, object] | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        lowered = {str(name).lower(): part for name, part in value.items()}
        if lowered.keys() != set(_ID_NAMES):
            raise RecordIdentifierError(f"{dict(value)} is no {ROW_ID}", remedy=f"it has {', '.join(_ID_NAMES)}")
        return lowered
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or len(value) != len(_ID_NAMES):
        raise RecordIdentifierError(f"{value!r} is no {ROW_ID}", remedy=f"it has {', '.join(_ID_NAMES)}")
    return dict(zip(_ID_NAMES, value, strict=True))
