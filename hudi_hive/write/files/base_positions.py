"""Rows of base files that log records are for: the order that they give log blocks, and what headers say of them.

Source: docs/format.md#record-positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats.log import HeaderKey, RecordPositions

POSITION: Final = "_hudi_hive_position"
"""Name of a further column of rows and deletes of a file group, if there is one: the row of the group's base file that
the record is at; null where that is not known."""


@dataclass(frozen=True, slots=True)
class BasePositions:
    """The rows of a base file that the records of a log block are for.

    Attributes:
        base_instant: instant of the base file.
        rows: row numbers, ascending.
    """

    base_instant: str
    rows: npt.NDArray[np.int64]

    @classmethod
    def of(cls, base_instant: str | None, positions: pa.Array | None) -> BasePositions | None:
        """The positions of records that are in their order; None where one is not known, or two records have the same.

        Args:
            base_instant: instant of the base file; None without one.
            positions: of each record; None for none.
        """
        if base_instant is None or positions is None or positions.null_count:
            return None
        rows = positions.to_numpy(zero_copy_only=False)
        return cls(base_instant, rows) if (rows[1:] > rows[:-1]).all() else None

    def headers(self, start: int = 0, end: int | None = None) -> Mapping[HeaderKey, str]:
        """Header entries of a block of the records from ``start`` up to ``end``, or of all."""
        return RecordPositions.encoded(self.base_instant, self.rows[start:end]).headers


def first_positions(rows: pa.Table, names: list[str]) -> pa.Table:
    """Rows of which those with the same values are one, at the first of their positions.

    Args:
        rows: with :data:`POSITION` or without.
        names: of the columns to compare, which the result has, and the positions if there are some.
    """
    if POSITION not in rows.column_names:
        return rows.group_by(names, use_threads=False).aggregate([])
    rows = rows.group_by(names, use_threads=False).aggregate([(POSITION, "min")])
    return rows.rename_columns([*names, POSITION])


def take_positions(rows: pa.Table, *, used: bool = True) -> tuple[pa.Table, pa.Array | None]:
    """Bring rows into the order of their positions, those without one behind the others.

    Args:
        rows: with :data:`POSITION` or without.
        used: log blocks are to have positions; else the rows stay in their order.

    Returns:
        The rows without that column, and the column; None where there is none, or it is not used.
    """
    if POSITION not in rows.column_names:
        return rows, None
    column = rows.column(POSITION).combine_chunks()
    positions = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    rows = rows.drop_columns([POSITION])
    if not used or positions.null_count == len(positions):
        return rows, None
    order = pc.sort_indices(positions)  # of equal ones the order stays
    if (np.diff(order.to_numpy().astype(np.int64)) == 1).all():
        return rows, positions
    return rows.take(order), positions.take(order)
