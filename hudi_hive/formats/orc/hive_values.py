"""Converts stored ORC values to those that Hive reads: ``char`` without padding, days of the Julian calendar.

Hive pads ``char`` with spaces when it writes, and these count nowhere: they are left out here, as others' writers do.
Files of Hive 4 have days before 1582-10-15 in the Julian calendar and state it; files without a statement have either
(Hive 2 and 3.1), and Hive 4 reads them as Julian, Hive 3.1 as they are. Source: ORC specification v1 (``calendar`` of
the footer), Hive's ``CharTypeInfo``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedAcidValueError
from hudi_hive.formats.orc.hive_type import HiveType
from hudi_hive.formats.orc.null_struct_children import list_offsets
from hudi_hive.formats.orc.tail import JULIAN, PROLEPTIC_GREGORIAN

_CUT: Final = -141_427
"""1582-10-15 in days since 1970: the calendars agree from here on."""


def has_days(kind: HiveType) -> bool:
    """Whether a type is ``date`` or contains one."""
    return kind.kind == "date" or any(has_days(child) for child in kind.children)


def as_hive_reads(array: pa.Array, kind: HiveType, calendar: int, path: str) -> pa.Array:
    """Convert stored values of a column to those that Hive reads.

    Args:
        array: as it was read, of the Hive type's Arrow type.
        kind: the column's type.
        calendar: the calendar in the file's footer, see :attr:`OrcTail.calendar`; used for dates only.
        path: the file's URI, for messages.

    Raises:
        UnsupportedAcidValueError: dates before 1582-10-15 in a file without a calendar.
    """

    def leaf(values: pa.Array, its: HiveType) -> pa.Array:
        if its.kind == "char":
            return pc.utf8_rtrim(values, " ")
        return days_as_hive_reads(values, calendar, path) if its.kind == "date" else values

    return _each(array, kind, leaf) if _differs(kind, calendar) else array


def _differs(kind: HiveType, calendar: int) -> bool:
    if kind.kind == "char" or (kind.kind == "date" and calendar != PROLEPTIC_GREGORIAN):
        return True
    return any(_differs(child, calendar) for child in kind.children)


def _each(array: pa.Array, kind: HiveType, leaf: Callable[[pa.Array, HiveType], pa.Array]) -> pa.Array:
    """Apply a function to each primitive child of an array."""
    if isinstance(array, pa.StructArray):
        children = [_each(part, child, leaf) for part, child in zip(array.flatten(), kind.children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=list(array.type), mask=array.is_null())
    if isinstance(array, pa.MapArray):
        entry = pa.struct([array.type.key_field.with_nullable(False), array.type.item_field])
        lists = array.cast(pa.list_(entry))
        entries = lists.flatten()
        assert isinstance(entries, pa.StructArray)
        keys, items = (_each(part, child, leaf) for part, child in zip(entries.flatten(), kind.children, strict=True))
        return pa.MapArray.from_arrays(list_offsets(lists), keys, items, type=array.type)
    if isinstance(array, pa.ListArray):
        items = _each(array.flatten(), kind.children[0], leaf)
        return pa.ListArray.from_arrays(list_offsets(array), items, type=array.type)
    return leaf(array, kind)


def days_as_hive_reads(values: pa.Array, calendar: int, path: str) -> pa.Array:
    """Convert stored days to those that Hive reads; arguments and errors as of :func:`as_hive_reads`."""
    least = pc.min(values.cast(pa.int32())).as_py()
    if calendar == PROLEPTIC_GREGORIAN or least is None or least >= _CUT:
        return values
    if calendar != JULIAN:
        raise UnsupportedAcidValueError(
            "a day before 1582-10-15 in a file that does not say its calendar, of which Hive 3 and 4 make other days",
            path=path,
            remedy="read other columns, or let Hive write the rows anew",
        )
    days = values.cast(pa.int32()).fill_null(0).to_numpy()
    moved = np.where(days < _CUT, _proleptic(days.astype(np.int64)), days).astype(np.int32)
    return pa.array(moved, mask=values.is_null().to_numpy(zero_copy_only=False)).cast(values.type)


def _proleptic(days: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Convert days of the Julian calendar to those of the same date in the proleptic Gregorian calendar."""
    # Years from March on, so that the leap day is the last one (Meeus, "Astronomical Algorithms", chapter 7).
    past = days + 2_440_588 + 32_082
    year = (4 * past + 3) // 1461
    in_year = past - 1461 * year // 4
    # Gregorian centuries have a leap day less, but for each fourth; 4800 years before the epoch's count began.
    return in_year + 365 * year + year // 4 - year // 100 + year // 400 - 32_044 - 2_440_588
