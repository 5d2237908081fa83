"""Converts ordering values to integers that compare as Hudi compares the values.

Source: docs/format.md#merge-modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnknownColumnError, UnsupportedTableError

Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]


def ordering_columns(batch: pa.RecordBatch | pa.Table, fields: Sequence[str]) -> list[pa.Array]:
    """The columns of the ordering fields (dotted for fields of structs); a missing one has type null.

    Raises:
        UnknownColumnError: a dotted name that goes through something other than structs.
    """
    return [column_of(batch, name) for name in fields]


def column_of(batch: pa.RecordBatch | pa.Table, name: str) -> pa.Array:
    """A column, or a field of structs by its dotted name; of type null if it is missing."""
    index = batch.schema.get_field_index(name)
    if index >= 0:
        return one_array(batch.column(index))
    head, _, rest = name.partition(".")
    index = batch.schema.get_field_index(head)
    if index < 0 or not rest:
        return pa.nulls(batch.num_rows)
    try:
        return pc.struct_field(one_array(batch.column(index)), rest.split("."))
    except (pa.ArrowException, KeyError) as error:
        raise UnknownColumnError(f"no field {name!r} to merge by") from error


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.nulls(0, column.type)])


def as_numbers(array: pa.Array) -> Ints | None:
    """Convert values to 64-bit integers of the same order, null to 0 (Hudi's default); None if the type has no order.

    Doubles are ordered as Java's ``Double.compareTo``: -0.0 below 0.0, NaN above all.
    """
    arrow = array.type
    if pa.types.is_null(arrow):
        return np.zeros(len(array), np.int64)
    if pa.types.is_floating(arrow):
        return _of_doubles(array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False))
    if pa.types.is_boolean(arrow):
        array = array.cast(pa.int8())
    elif pa.types.is_date32(arrow) or pa.types.is_time32(arrow):
        array = array.view(pa.int32())
    elif pa.types.is_timestamp(arrow) or pa.types.is_time64(arrow) or pa.types.is_date64(arrow):
        array = array.view(pa.int64())
    elif not pa.types.is_integer(arrow):
        return None
    values = array.cast(pa.int64())
    if values.null_count:
        values = values.fill_null(0)
    return np.asarray(values.to_numpy(zero_copy_only=False), np.int64)


def _of_doubles(values: npt.NDArray[np.float64]) -> Ints:
    values = np.where(np.isnan(values), np.nan, values)
    bits = values.view(np.int64)
    # Bits of negative doubles fall while the numbers rise.
    return np.where(bits < 0, bits ^ np.int64(0x7FFF_FFFF_FFFF_FFFF), bits)


def ranks(columns: Sequence[pa.Array], rows: int) -> Ints:
    """An integer for each row that orders rows by the columns in turn; equal rows have equal integers.

    Raises:
        UnsupportedTableError: nulls among values that have no zero (text): their order is not defined.
    """
    if not columns:
        return np.zeros(rows, np.int64)
    parts = [_ranks_of(column) for column in columns]
    if len(parts) == 1:
        return parts[0]
    order = np.lexsort(parts[::-1])
    changed = np.zeros(rows, np.bool_)
    for part in parts:
        changed[1:] |= part[order][1:] != part[order][:-1]
    result = np.empty(rows, np.int64)
    result[order] = np.cumsum(changed)
    return result


def _ranks_of(column: pa.Array) -> Ints:
    numbers = as_numbers(column)
    if numbers is not None:
        return numbers
    if 0 < column.null_count < len(column):
        raise _null_among(column.type)
    try:
        ranks = pc.rank(column, tiebreaker="dense")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise UnsupportedTableError(f"records cannot be ordered by values of type {column.type}") from error
    return np.asarray(ranks.to_numpy(zero_copy_only=False)).astype(np.int64)


def not_less(left: Sequence[pa.Array], right: Sequence[pa.Array], rows: int) -> Flags:
    """Whether each row of ``left`` is greater than or equal to that of ``right``, field by field.

    Raises:
        UnsupportedTableError: as of :func:`ranks`.
    """
    result = np.ones(rows, np.bool_)
    undecided = np.ones(rows, np.bool_)
    for mine, theirs in zip(left, right, strict=True):
        greater, equal = _compare(mine, theirs)
        result[undecided] = (greater | equal)[undecided]
        undecided &= equal
    return result


def sequence_numbers(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Parse texts ``file.position`` to the number of the file and the position in it.

    Raises:
        UnsupportedTableError: a value that is no such text.
    """
    (texts,) = columns
    try:
        parts = pc.split_pattern(texts, ".")
        if texts.null_count or pc.min(pc.list_value_length(parts), min_count=0).as_py() == 1:
            raise pa.ArrowInvalid("a value that has no position")
        return [pc.list_element(parts, number).cast(pa.int64()) for number in range(2)]
    except (pa.ArrowException, TypeError) as error:
        raise UnsupportedTableError(f"ordering values that are not file.position: {error}") from error


def _compare(left: pa.Array, right: pa.Array) -> tuple[Flags, Flags]:
    mine, theirs = as_numbers(left), as_numbers(right)
    if mine is not None and theirs is not None:
        return mine > theirs, mine == theirs
    nulls = pc.is_null(left).to_numpy(zero_copy_only=False), pc.is_null(right).to_numpy(zero_copy_only=False)
    if (nulls[0] != nulls[1]).any():
        raise _null_among(left.type if mine is None else right.type)
    if left.type != right.type:
        raise UnsupportedTableError(f"an ordering value of type {left.type} and one of type {right.type}")
    greater = pc.greater(left, right).fill_null(False).to_numpy(zero_copy_only=False)
    equal = pc.equal(left, right).fill_null(True).to_numpy(zero_copy_only=False)
    return greater, equal


def _null_among(arrow: pa.DataType) -> UnsupportedTableError:
    return UnsupportedTableError(
        f"ordering values of type {arrow} with nulls among them: null counts as the number 0, which they cannot be "
        "compared with",
        remedy="query read_optimized, or write the records again with ordering values",
    )
