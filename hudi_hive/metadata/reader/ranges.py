"""Merges column and partition statistics, and converts their bounds to the column's type.

A bound that cannot be told for sure is null: pruning keeps what it does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnknownColumnError
from hudi_hive.metadata.reader.file_group import GroupRecords
from hudi_hive.metadata.reader.merge import runs, stack
from hudi_hive.metadata.reader.records import STATS_SCHEMA, WRAPPED, WRAPPERS, stats

Columns: TypeAlias = Sequence[str] | Mapping[str, pa.DataType]
"""Columns of a table's schema, or columns of any names with the types that their bounds are to have."""

_SUMS: Final = ("value_count", "null_count", "total_size", "total_uncompressed_size")

_TIME_UNITS: Final = {15: "ms", 16: "us", 17: "ns", 18: "ms", 19: "us", 20: "ns"}
"""Ordinal of a value type that is a timestamp -> unit of its long."""

_DECIMAL: Final = 10
_BYTES: Final = (8, 9)
_MILLIS_OF_YEAR_1: Final = -62_135_596_800_000
_MILLIS_OF_YEAR_10000: Final = 253_402_300_800_000
"""Outside of these a timestamp's long is not milliseconds, since no writer has timestamps before or after them."""


def merge_stats(groups: Iterable[GroupRecords]) -> pa.Table:
    """Merge statistics, deleted ones included: ``key`` and the columns of :data:`STATS_SCHEMA`, sorted by key.

    A deleted record, one behind a deleted one and one with tight bounds replace what is older; others widen it.
    """
    table = stack(groups, stats)
    if not table.num_rows:
        return table.drop_columns(["order"])
    table = table.sort_by([("key", "ascending"), ("order", "ascending")]).combine_chunks()
    run = runs(table, "key")
    index = np.arange(len(run))
    deleted = pc.fill_null(table.column("is_deleted"), False).to_numpy()
    first = np.append(True, run[1:] != run[:-1])
    resets = first | deleted | np.append(False, deleted[:-1]) | table.column("is_tight").to_numpy()
    start = np.zeros(run[-1] + 1, np.int64)
    np.maximum.at(start, run[resets], index[resets])
    counts = index >= start[run]
    rows, run = table.filter(pa.array(counts)).drop_columns(["order"]), run[counts]
    sizes = np.bincount(run)
    if sizes.max() == 1:
        return rows
    several = sizes[run] > 1
    merged = _widen(rows.filter(pa.array(several)))
    return pa.concat_tables([rows.filter(pa.array(~several)), merged]).sort_by("key")


def _widen(table: pa.Table) -> pa.Table:
    """One row per key from several of it.

    Bounds of different types – those of a column that was promoted – have no order here, bytes (unscaled decimals) not
    that of their values, and behind a NaN there may be any number: these leave the merged bound unknown.
    """
    count = table.num_rows
    columns: dict[str, pa.Array | pa.ChunkedArray] = {"key": table.column("key")}
    nothing = pc.fill_null(pc.less_equal(table.column("value_count"), table.column("null_count")), False)
    types = pc.binary_join_element_wise(
        pc.fill_null(table.column("value_type"), 0).cast(pa.string()), pc.fill_null(table.column("type_info"), ""), " "
    )
    present = pa.array(np.zeros(count, np.bool_))
    for side in ("min", "max"):
        bounds = table.column(side).combine_chunks()
        place = pa.nulls(count, pa.int8())
        for number, name in enumerate(WRAPPERS):
            values = columns[f"{side}.{name}"] = pc.struct_field(bounds, name)
            ordered = pc.is_valid(values)
            if pa.types.is_floating(values.type):
                ordered = pc.and_(ordered, pc.invert(pc.fill_null(pc.is_nan(values), False)))
            if not pa.types.is_binary(values.type):
                place = pc.if_else(ordered, pa.scalar(number, pa.int8()), place)
        columns[f"{side}.known"] = pc.or_(pc.is_valid(place), nothing)
        columns[f"{side}.kinds"] = place
        present = pc.or_(present, pc.is_valid(place))
    columns["types"] = pc.if_else(present, types, pa.scalar(None, pa.string()))
    for name in (*_SUMS, "file_name", "column"):
        columns[name] = table.column(name)
    for name in ("value_type", "type_info"):
        columns[name] = pc.if_else(present, table.column(name), pa.scalar(None, STATS_SCHEMA.field(name).type))
    aggregates = [(f"{side}.{name}", side) for side in ("min", "max") for name in WRAPPERS]
    aggregates += [(f"{side}.known", "min") for side in ("min", "max")]
    aggregates += [(name, "count_distinct") for name in ("min.kinds", "max.kinds", "types")]
    aggregates += [(name, "sum") for name in _SUMS]
    aggregates += [(name, "last") for name in ("file_name", "column", "value_type", "type_info")]
    grouped = pa.table(columns).group_by("key", use_threads=False).aggregate(aggregates)
    one_type = pc.less_equal(grouped.column("types_count_distinct"), 1)
    result: dict[str, pa.Array | pa.ChunkedArray] = {"key": grouped.column("key")}
    for side in ("min", "max"):
        fields = [grouped.column(f"{side}.{name}_{side}").combine_chunks() for name in WRAPPERS]
        bounds = pa.StructArray.from_arrays(fields, fields=list(WRAPPED))
        one_kind = pc.less_equal(grouped.column(f"{side}.kinds_count_distinct"), 1)
        one_form = pc.and_(grouped.column(f"{side}.known_min"), pc.and_(one_kind, one_type))
        result[side] = pc.if_else(one_form, bounds, pa.scalar(None, WRAPPED))
    for name in _SUMS:
        result[name] = grouped.column(f"{name}_sum")
    for name in ("file_name", "column", "value_type", "type_info"):
        result[name] = grouped.column(f"{name}_last")
    result["is_deleted"] = result["is_tight"] = pa.array(np.zeros(grouped.num_rows, np.bool_))
    schema = pa.schema([pa.field("key", pa.string()), *STATS_SCHEMA])
    return pa.table([result[name] for name in schema.names], schema=schema)


def column_type(schema: pa.Schema, column: str) -> pa.DataType:
    """Type of a column, or of a field of nested structs by its dotted name.

    Raises:
        UnknownColumnError: the schema has none of this name.
    """
    if column in schema.names:
        return schema.field(column).type
    head, *rest = column.split(".")
    kind = schema.field(head).type if head in schema.names else None
    for name in rest:
        if kind is None or not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
            kind = None
            break
        kind = kind.field(name).type
    if kind is None:
        raise UnknownColumnError(f"no column {column!r}")
    return kind


def typed_ranges(table: pa.Table, kind: pa.DataType, name_column: str) -> pa.Table:
    """Ranges of one column with bounds of its type.

    Args:
        table: live statistics of the column (:data:`STATS_SCHEMA`).
        kind: the column's type in the table's schema.
        name_column: what the first column is called: ``file_name`` or ``partition``.

    Returns:
        Columns ``file_name`` (or ``partition``), ``min``, ``max``, ``null_count``, ``value_count`` (rows, nulls
        included), ``total_size`` and ``total_uncompressed_size`` (bytes), ``is_tight``.
    """
    table = table.combine_chunks()
    types, infos = table.column("value_type"), table.column("type_info")
    # The statistics of a partition may have been made from files of different units.
    mixed = name_column == "partition"
    columns = {
        name_column: table.column("file_name"),
        "min": typed_bounds(table.column("min"), types, infos, kind, mixed),
        "max": typed_bounds(table.column("max"), types, infos, kind, mixed),
        "null_count": table.column("null_count"),
        "value_count": table.column("value_count"),
        "total_size": table.column("total_size"),
        "total_uncompressed_size": table.column("total_uncompressed_size"),
        "is_tight": table.column("is_tight"),
    }
    return pa.table(columns)


def typed_bounds(
    bounds: pa.ChunkedArray, types: pa.ChunkedArray, infos: pa.ChunkedArray, kind: pa.DataType, mixed: bool = False
) -> pa.Array:
    """Convert bounds to values of a type; null where there is none or its meaning is uncertain.

    Args:
        bounds: raw bounds (``WRAPPED``).
        types: what each record says of the type of its bounds, null before table version 9.
        infos: what it adds to that.
        kind: the column's type in the table's schema.
        mixed: a record may tell of several files, in which a timestamp's number may have different units.
    """
    rows = len(bounds)
    result = pa.nulls(rows, kind)
    if not rows:
        return result
    values = bounds.combine_chunks() if isinstance(bounds, pa.ChunkedArray) else bounds
    ordinals = np.asarray(pc.fill_null(types, 0).to_numpy(zero_copy_only=False), np.int64)
    texts = pc.fill_null(infos, "").to_numpy(zero_copy_only=False)
    for wrapper in WRAPPERS:
        present = pc.struct_field(values, wrapper)
        if present.null_count == rows:
            continue
        for ordinal, info in sorted(set(zip(ordinals.tolist(), texts.tolist(), strict=True))):
            mask = pa.array((ordinals == ordinal) & (texts == info))
            chosen = pc.if_else(mask, present, pa.scalar(None, present.type))
            try:
                converted = _convert(wrapper, chosen, ordinal, info, kind, mixed)
            except pa.ArrowInvalid:
                converted = None  # a bound that the column's type does not hold tells nothing
            if converted is not None:
                result = pc.coalesce(result, converted)
    return result


def _convert(
    wrapper: str, values: pa.Array, ordinal: int, info: str, kind: pa.DataType, mixed: bool
) -> pa.Array | None:
    simple = wrapper.removesuffix("Wrapper")
    if pa.types.is_boolean(kind):
        return values if simple == "Boolean" else None
    if pa.types.is_integer(kind):
        return values.cast(kind) if simple in ("Int", "Long") else None
    if pa.types.is_floating(kind):
        # A float's double may differ from how the reader widens it, so only integers are widened here.
        exact = {"Float": pa.float32(), "Double": pa.float64()}.get(simple) == kind
        return values.cast(kind, safe=False) if exact or simple in ("Int", "Long") else None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return values.cast(kind) if simple == "String" else None
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return values.cast(kind) if simple == "Bytes" and ordinal in (0, *_BYTES) else None
    if pa.types.is_decimal(kind):
        if simple == "Decimal":
            return values.cast(kind)
        return decimals_of_bytes(values, info).cast(kind) if simple == "Bytes" and ordinal == _DECIMAL else None
    if pa.types.is_date(kind):
        return values.cast(pa.date32()).cast(kind) if simple in ("Date", "LocalDate", "Int") else None
    return _times(simple, values, ordinal, kind, mixed)


def _times(simple: str, values: pa.Array, ordinal: int, kind: pa.DataType, mixed: bool) -> pa.Array | None:
    if pa.types.is_time(kind):
        if simple == "TimeMicros" or (simple == "Long" and ordinal == 14):
            return values.cast(pa.int64()).cast(pa.time64("us")).cast(kind)
        return values.cast(pa.time32("ms")).cast(kind) if simple == "Int" and ordinal == 13 else None
    if not pa.types.is_timestamp(kind):
        return None
    unit = _TIME_UNITS.get(ordinal)
    if kind.unit == "ms" and unit != "ms":
        return None  # made of a file that may call milliseconds something else
    if simple == "TimestampMicros":
        return values.cast(pa.timestamp("us", kind.tz)).cast(kind)
    if simple != "Long":
        return None
    if unit is None:
        # Without a type of its own the bound is the file's raw number. Its unit is the file's, not the table's: Spark's
        # row writer makes milliseconds, if so configured, of columns that the table's schema has in microseconds.
        if ordinal or mixed:
            return None
        unit = "us"
        clear = pc.or_(pc.less(values, _MILLIS_OF_YEAR_1), pc.greater_equal(values, _MILLIS_OF_YEAR_10000))
        values = pc.if_else(clear, values, pa.scalar(None, pa.int64()))
    return values.cast(pa.timestamp(unit, kind.tz)).cast(kind)


def decimals_of_bytes(values: pa.Array, info: str) -> pa.Array:
    """Decimals from big-endian two's complement; ``info`` is ``precision,scale``."""
    scale = int(info.partition(",")[2])
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    starts, ends = offsets[:-1].astype(np.int64), offsets[1:].astype(np.int64)
    usable = (ends > starts) & (ends - starts <= 16)
    words = np.zeros((len(values), 16), np.uint8)
    if len(data):
        sign = np.where(data[np.minimum(starts, len(data) - 1)] >= 0x80, 0xFF, 0).astype(np.uint8)
        for at in range(16):
            byte = ends - 1 - at
            words[:, at] = np.where(byte >= starts, data[np.clip(byte, 0, len(data) - 1)], sign)
    raw = pa.Array.from_buffers(pa.decimal128(38, scale), len(values), [None, pa.py_buffer(words.tobytes())])
    valid = pc.and_(values.is_valid(), pa.array(usable))
    return pc.if_else(valid, raw, pa.scalar(None, raw.type))
