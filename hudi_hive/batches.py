"""Arrow batches: gathered to tables of some size, and divided by a number or a text of each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def gathered_tables(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Combine batches to tables of about ``size`` bytes.

    Args:
        batches: of one schema.
        size: bytes; a table has as many batches as it takes to reach them.
    """
    gathered: list[pa.RecordBatch] = []
    total = 0
    for batch in batches:
        gathered.append(batch)
        total += batch.nbytes
        if total >= size:
            yield pa.Table.from_batches(gathered)
            gathered, total = [], 0
    if gathered:
        yield pa.Table.from_batches(gathered)


def rows_by_number(numbers: npt.NDArray[Any]) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Give each number that some rows have, in ascending order, with the positions of its rows, in theirs.

    Args:
        numbers: an integer a row. They are sorted once: to look for each number's rows costs numbers times rows.
    """
    order = np.argsort(numbers, kind="stable")
    distinct, starts = np.unique(numbers[order], return_index=True)
    yield from zip(distinct.tolist(), np.split(order, starts[1:]), strict=False)


def rows_by_text(texts: pa.Array) -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
    """Give each text that some rows have, as they first come, with the positions of its rows, in theirs.

    Args:
        texts: a text a row, none of them null.
    """
    encoded = texts.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    for number, rows in rows_by_number(encoded.indices.to_numpy()):
        yield names[number], rows


__all__ = ["gathered_tables", "rows_by_number", "rows_by_text"]
