"""Rows of a write as bytes, many in a line of Spark's, on their way from one step of Python to the next.

What Spark's shuffles and caches cost depends on the number of lines, not of rows: each line is copied, compared and
converted by code that the JVM has to compile first. Source: Arrow's IPC streaming format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.batches import rows_by_number
from hudi_hive.metadata.reader import group_indexes
from hudi_hive.write.files import RECORD_KEY
from hudi_hive.write.index import one_array

NUMBER: Final = "_hudi_hive_number"
ROWS: Final = "_hudi_hive_rows"

PACKED: Final = pa.schema([(NUMBER, pa.int32()), (ROWS, pa.binary())])
"""Packed rows that go to the task of a number."""

TOGETHER_BYTES: Final = 16 << 20
"""Rows that a step takes at once."""

_LINE_BYTES: Final = 256 << 10
"""Rows in a line: :func:`~hudi_hive.spark.bridge.planning_once` says how many lines Spark sends a step at once."""


def packed(rows: pa.Table) -> bytes:
    """Rows as a line holds them."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue().to_pybytes()


def line_slices(rows: pa.Table) -> Iterator[pa.Table]:
    """Rows in slices for lines of their own: none for no rows."""
    lines = max(1, -(-rows.nbytes // _LINE_BYTES))
    step = max(1, -(-rows.num_rows // lines))
    for first in range(0, rows.num_rows, step):
        yield rows.slice(first, step)


def packed_lines(numbered: Iterable[tuple[int, pa.Table]], rows: str = ROWS) -> Iterator[pa.RecordBatch]:
    """Lines of numbers and packed rows.

    Args:
        numbered: rows and their number.
        rows: name of the column of packed rows.
    """
    for number, table in numbered:
        for piece in line_slices(table.combine_chunks()):
            columns = [pa.array([number], pa.int32()), pa.array([packed(piece)], pa.binary())]
            yield pa.record_batch(columns, names=[NUMBER, rows])


def unpacked(lines: Iterable[pa.RecordBatch], rows: str = ROWS, size: int = TOGETHER_BYTES) -> Iterator[pa.Table]:
    """The rows of lines, those of several lines together.

    Args:
        lines: with packed rows, or null in their place.
        rows: name of the column of packed rows.
        size: bytes; a table has the rows of as many lines as it takes to reach them.
    """
    gathered: list[pa.Table] = []
    total = 0
    for _, table in numbered_rows(lines, rows):
        gathered.append(table)
        total += table.nbytes
        if total >= size:
            yield pa.concat_tables(gathered).combine_chunks()
            gathered, total = [], 0
    if gathered:
        yield pa.concat_tables(gathered).combine_chunks()


def numbered_rows(lines: Iterable[pa.RecordBatch], rows: str = ROWS) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each line, and its number: 0 where lines have none."""
    for batch in lines:
        count = batch.num_rows
        numbers = batch.column(NUMBER).to_pylist() if NUMBER in batch.schema.names else [0] * count
        values = batch.column(rows)
        for at in range(count):
            value = values[at].as_py()
            if value is not None:
                yield numbers[at], pa.ipc.open_stream(value).read_all()


def rows_of_lines(lines: Iterable[pa.RecordBatch]) -> pa.Table | None:
    """All rows of a task, packed or not; None for none."""
    batches = [batch for batch in lines if batch.num_rows]
    if not batches:
        return None
    if ROWS not in batches[0].schema.names:
        return pa.Table.from_batches(batches)
    # What takes rows out of very many chunks is slow.
    return pa.concat_tables([table for _, table in numbered_rows(batches)], promote_options="default").combine_chunks()


def by_bucket(rows: pa.Table, key: str, buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """Rows by the bucket that a hash of their record key gives them.

    Args:
        rows: of any columns.
        key: name of the column of record keys.
        buckets: how many.
    """
    if buckets == 1:
        yield 0, rows
        return
    for number, at in rows_by_number(bucket_numbers(rows, key, buckets)):
        yield number, rows.take(pa.array(at))


def parts_of_bucket(rows: pa.Table, hits: pa.Table, buckets: int, size: int) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Rows of a bucket, and hits of their keys, in parts that have all of a key.

    Args:
        rows: prepared rows.
        hits: their hits.
        buckets: of which this is one.
        size: bytes of rows in a part, about.
    """
    parts = max(1, -(-rows.nbytes // size))
    if parts == 1:
        yield rows, hits
        return
    # Numbers of a multiple of buckets: their remainder is the bucket, which is the same for all of these.
    own, found = (
        bucket_numbers(table, name, buckets * parts) // buckets for table, name in ((rows, RECORD_KEY), (hits, "key"))
    )
    hits_of_part = dict(rows_by_number(found))
    nothing = np.empty(0, np.int64)
    for part, at in rows_by_number(own):
        yield rows.take(pa.array(at)), hits.take(pa.array(hits_of_part.get(part, nothing)))


def bucket_numbers(rows: pa.Table, key: str, buckets: int) -> npt.NDArray[np.int64]:
    """The bucket of each row."""
    return group_indexes(one_array(rows.column(key)).cast(pa.string()), buckets)


__all__ = [
    "NUMBER",
    "PACKED",
    "ROWS",
    "TOGETHER_BYTES",
    "by_bucket",
    "line_slices",
    "numbered_rows",
    "packed",
    "packed_lines",
    "parts_of_bucket",
    "rows_of_lines",
    "unpacked",
]
