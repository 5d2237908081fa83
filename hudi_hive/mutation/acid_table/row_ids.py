"""Row identifiers as Arrow columns, and sets of deleted rows.

An identifier is (write id, bucket property, row id), unique in a partition (HIVE-10165, Hive's ORC ACID format). The
same row may be deleted by several transactions.

Source: docs/format/hive.md#hive-acid-events.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import RecordIdentifierError, UnsupportedAcidTableError
from hudi_hive.mutation.core import RECORD_ID

ROW_ID: Final = RECORD_ID
"""Name of the column with a row's identifier, as Hive has it."""

ROW_ID_TYPE: Final = pa.struct([("writeid", pa.int64()), ("bucketid", pa.int32()), ("rowid", pa.int64())])
"""Hive's type of that column: the write id that inserted the row, the bucket property, the number of the row from 0."""

Longs = npt.NDArray[np.int64]


class RowIdColumns(NamedTuple):
    """Row identifiers by part, equally many of each."""

    write_ids: Longs
    bucket_properties: Longs
    row_ids: Longs


_BITS: Final = 63


def row_id_array(keys: RowIdColumns) -> pa.StructArray:
    """Make a column of row identifiers."""
    parts = [pa.array(part.astype(field.type.to_pandas_dtype())) for part, field in zip(keys, ROW_ID_TYPE, strict=True)]
    return pa.StructArray.from_arrays(parts, fields=list(ROW_ID_TYPE))


def row_id_keys(column: pa.Array | pa.ChunkedArray) -> RowIdColumns:
    """Split a column of row identifiers into its three parts.

    Raises:
        RecordIdentifierError: the column is none, or a row has no identifier.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    names = [field.name for field in ROW_ID_TYPE]
    if not isinstance(array, pa.StructArray) or [field.name for field in array.type] != names:
        raise RecordIdentifierError(f"column {ROW_ID} is {array.type}, not {ROW_ID_TYPE}")
    parts = array.flatten()
    if any(part.null_count for part in parts):
        raise RecordIdentifierError("a row has no identifier", remedy="read the table with its row identifiers")
    first, second, third = (part.to_numpy(zero_copy_only=False).astype(np.int64, copy=False) for part in parts)
    return RowIdColumns(first, second, third)


def key_order(keys: RowIdColumns) -> Longs:
    """The sort order of identifiers in ACID files: by write id, bucket property, row id."""
    return np.lexsort((keys[2], keys[1], keys[0]))


class DeletedRows:
    """The set of identifiers of a partition's delete events.

    The first two parts have few distinct values; their pairs are numbered and packed into one number with the row id,
    so that a look-up is a binary search over plain 64-bit integers.

    Args:
        keys: identifiers in any order, any number of times.

    Raises:
        UnsupportedAcidTableError: so many pairs and row ids that they do not fit 63 bits.
    """

    def __init__(self, keys: RowIdColumns) -> None:
        writes, properties, rows = keys
        self._writes, self._properties = np.unique(writes), np.unique(properties)
        self._last = int(rows.max()) if len(rows) else -1
        self._shift = max(1, self._last.bit_length())
        pairs = self._pair_numbers(writes, properties)[0]
        self._pairs = np.unique(pairs)
        if len(self._pairs).bit_length() + self._shift > _BITS:
            raise UnsupportedAcidTableError(f"deleted row ids up to {self._last} in {len(self._pairs)} statements")
        self._keys = np.unique(np.searchsorted(self._pairs, pairs).astype(np.int64) << self._shift | rows)

    @classmethod
    def of(cls, parts: Iterable[RowIdColumns]) -> DeletedRows:
        """Make the set of the identifiers of several files."""
        empty = RowIdColumns(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
        columns = list(zip(*[empty, *parts], strict=True))
        return cls(RowIdColumns(*(np.concatenate(column) for column in columns)))

    def __len__(self) -> int:
        return len(self._keys)

    def mask(self, keys: RowIdColumns) -> npt.NDArray[np.bool_]:
        """Whether each identifier is in the set."""
        writes, properties, rows = keys
        result: npt.NDArray[np.bool_] = np.zeros(len(rows), np.bool_)
        if not len(self) or not len(rows) or writes.min() > self._writes[-1] or writes.max() < self._writes[0]:
            return result
        pairs, present = self._pair_numbers(writes, properties)
        present &= (rows >= 0) & (rows <= self._last)
        places = np.flatnonzero(present)
        numbers, present = _find(self._pairs, pairs[places])
        places, numbers = places[present], numbers[present]
        deleted = _find(self._keys, numbers << self._shift | rows[places])[1]
        result[places[deleted]] = True
        return result

    def _pair_numbers(self, writes: Longs, properties: Longs) -> tuple[Longs, npt.NDArray[np.bool_]]:
        """A number for each (write id, bucket property), and whether both are known."""
        first, one = _find(self._writes, writes)
        second, two = _find(self._properties, properties)
        return first * max(1, len(self._properties)) + second, one & two


def _find(values: Longs, numbers: Longs) -> tuple[Longs, npt.NDArray[np.bool_]]:
    """Places of numbers in sorted ones, and whether they are there."""
    if not len(values):
        return np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.bool_)
    if len(values) == 1:
        return np.zeros(len(numbers), np.int64), numbers == values[0]
    places = np.minimum(np.searchsorted(values, numbers), len(values) - 1).astype(np.int64, copy=False)
    return places, values[places] == numbers
