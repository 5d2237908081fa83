"""Kinds of changes of records by key, as mutations of Hudi tables number them."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import MutationError

OPERATION: Final = "_hudi_hive_operation"
"""Column of changes that says what each of them is: :data:`INSERT`, :data:`UPDATE` or :data:`DELETE`.

Among prepared rows of an upsert: a deletion, or a row of which an update changed some columns only."""

INSERT: Final = 0
UPDATE: Final = 1
DELETE: Final = 2

_NAMES: Final = ("insert", "update", "delete")
"""Names of the kinds; their places are the kinds' numbers."""


def operation_numbers(column: pa.ChunkedArray) -> npt.NDArray[np.int8]:
    """Convert names of operations, in any case, to numbers.

    Raises:
        MutationError: a word that is none, or null.
    """
    indices = pc.index_in(pc.utf8_lower(column.cast(pa.string())), value_set=pa.array(_NAMES))
    if indices.null_count:
        wrong = column.filter(pc.is_null(indices))[0].as_py()
        raise MutationError(f"there is no operation {wrong!r}", remedy=f"one of {', '.join(_NAMES)}")
    numbers: npt.NDArray[np.int8] = indices.combine_chunks().cast(pa.int8()).to_numpy(zero_copy_only=False)
    return numbers
