"""Reads the column ranges of a Parquet file from the statistics of its row groups.

Only statistics that can be trusted count: in the order of the column's type, whole, and for floating-point columns
without NaN among the bounds.

Source: Parquet format, ``Statistics`` and ``ColumnOrder`` of "parquet.thrift".
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from hudi_hive.predicate import ColumnRange, Node, own_columns, walk_outlines

_NAN_SHOWS: Final = "parquet-mr"
"""Writer whose bounds take NaN for the greatest value, so that bounds without NaN prove that there is none."""


def column_ranges(metadata: Any, schema: pa.Schema, root: Node) -> dict[tuple[str, ...], ColumnRange]:  # noqa: ANN401
    """Ranges of the columns that a filter reads, in each row group, by column path.

    Args:
        metadata: pyarrow's ``FileMetaData``.
        schema: Arrow schema of the file.
        root: the filter's tree, bound to columns of the file.
    """
    paths = {column.path for node in walk_outlines(root) for column in own_columns(node)}
    leaves = _leaves(metadata, paths) if paths else {}
    rows = pa.array([metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)], pa.int64())
    nan_possible = not str(metadata.created_by or "").startswith(_NAN_SHOWS)
    return {path: _range(metadata, index, _type_at(schema, path), rows, nan_possible) for path, index in leaves.items()}


def _leaves(metadata: Any, paths: set[tuple[str, ...]]) -> dict[tuple[str, ...], int]:  # noqa: ANN401
    """Index of the leaf column of each path that is one.

    Names with dots in them could be two things and are left out.
    """
    path_of_name = {".".join(path): path for path in paths if not any("." in name for name in path)}
    leaves: dict[tuple[str, ...], int] = {}
    for index in range(metadata.num_columns):
        path = path_of_name.get(metadata.schema.column(index).path)
        if path is not None:
            if path in leaves:
                return {}
            leaves[path] = index
    return leaves


def _type_at(schema: pa.Schema, path: tuple[str, ...]) -> pa.DataType:
    arrow = schema.field(path[0]).type
    for name in path[1:]:
        assert isinstance(arrow, pa.StructType)
        arrow = arrow.field(name).type
    return arrow


def _range(metadata: Any, index: int, arrow: pa.DataType, rows: pa.Array, nan_possible: bool) -> ColumnRange:  # noqa: ANN401
    convert = _converter(arrow)
    minimum: list[object] = []
    maximum: list[object] = []
    nulls: list[int | None] = []
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(index).statistics
        low = high = None
        if statistics is not None and statistics.has_min_max and convert is not None:
            low, high = convert(statistics.min_raw), convert(statistics.max_raw)
            if low is None or high is None or low != low or high != high:
                low = high = None
        minimum.append(low)
        maximum.append(high)
        nulls.append(statistics.null_count if statistics is not None and statistics.has_null_count else None)
    bounds_type = pa.int64() if _is_counted(arrow) else arrow
    # Shortened bounds of texts are still bounds, but no values of the column.
    exact = not (pa.types.is_string(arrow) or pa.types.is_binary(arrow))
    return ColumnRange(
        _bounds(minimum, bounds_type, arrow),
        _bounds(maximum, bounds_type, arrow),
        pa.array(nulls, pa.int64()),
        rows,
        nan_possible=nan_possible,
        exact=exact,
    )


def _is_counted(arrow: pa.DataType) -> bool:
    """Whether values are integers that count days or time units."""
    return bool(pa.types.is_timestamp(arrow) or pa.types.is_date(arrow) or pa.types.is_time(arrow))


def _bounds(values: list[object], bounds_type: pa.DataType, arrow: pa.DataType) -> pa.Array:
    array = pa.array(values, bounds_type)
    if bounds_type == arrow:
        return array
    return (array.cast(pa.int32()) if arrow.bit_width == 32 else array).cast(arrow)


def _converter(arrow: pa.DataType) -> Callable[[Any], object] | None:
    """A function that converts the raw value of a statistic to a value of the Arrow type (of integers for times)."""
    if pa.types.is_boolean(arrow) or pa.types.is_integer(arrow) or _is_counted(arrow):
        return lambda raw: raw if isinstance(raw, (bool, int)) else None
    if pa.types.is_floating(arrow):
        return lambda raw: raw if isinstance(raw, float) else None
    if pa.types.is_string(arrow):
        return _text
    if pa.types.is_binary(arrow):
        return lambda raw: raw if isinstance(raw, bytes) else None
    if pa.types.is_decimal(arrow):
        return lambda raw: _decimal(raw, arrow.scale)
    return None


def _text(raw: object) -> str | None:
    if isinstance(raw, str):
        return raw
    try:
        return raw.decode() if isinstance(raw, bytes) else None
    except UnicodeDecodeError:
        return None  # cut in the middle of a character


def _decimal(raw: object, scale: int) -> Decimal | None:
    if isinstance(raw, bytes):
        raw = int.from_bytes(raw, "big", signed=True)
    if not isinstance(raw, int):
        return None
    return Decimal((int(raw < 0), tuple(int(digit) for digit in str(abs(raw))), -scale))
