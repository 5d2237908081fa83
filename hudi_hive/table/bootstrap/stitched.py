"""A skeleton and its source file as one base file: rows are put together by their place in both files.

Both have the same rows in the same order, in row groups of their own. What a filter leaves out of either is left out of
both, row by row.

Source: docs/format.md#bootstrapped-tables; Hudi's ``BootstrapOperator`` and ``HoodieFileGroupReader``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.base import (
    BATCH_ROWS,
    BaseFile,
    ByteRange,
    NamedColumns,
    empty_columns,
    in_range,
    read_row_groups,
    row_groups_of,
)
from hudi_hive.predicate import RowFilter
from hudi_hive.table.bootstrap.names import RESTORE_SOURCE


class StitchedFile(NamedColumns):
    """An open skeleton with its open source file, which it closes.

    Args:
        skeleton: holds the meta columns.
        source: holds the other columns; meta columns in it do not count.

    Raises:
        CorruptFileError: they have different numbers of rows.
    """

    def __init__(self, skeleton: BaseFile, source: BaseFile) -> None:
        self._skeleton, self._source = skeleton, source
        if skeleton.num_rows != source.num_rows:
            source.close()
            raise CorruptFileError(
                f"the source file has {source.num_rows} rows, and the skeleton {skeleton.path} has {skeleton.num_rows}",
                path=source.path,
                remedy=RESTORE_SOURCE,
            )
        own = set(skeleton.schema.names)
        others = [field for field in source.schema if field.name not in own]
        super().__init__(skeleton.path, pa.schema([*skeleton.schema, *others], source.schema.metadata))

    @property
    def num_rows(self) -> int:
        """Number of rows of each of the files."""
        return self._skeleton.num_rows

    @property
    def writer(self) -> str:
        """The program that wrote the skeleton."""
        return self._skeleton.writer

    def groups(self, skip: RowFilter | None) -> tuple[int, int]:
        """Number of row groups of the source, and of those in which a row can pass."""
        selected = self._rows_left(skip)
        groups = row_groups_of(self._source, None)
        starts = np.cumsum([0, *(group.rows for group in groups)])
        left = sum(bool(selected[start:end].any()) for start, end in pairwise(starts))
        return len(groups), left

    def row_ranges(self) -> list[ByteRange]:
        """One part: the row groups of the two files do not begin at the same rows."""
        ranges = self._skeleton.row_ranges()
        return [(0, max((start + length for start, length in ranges), default=0))]

    def batches(
        self,
        columns: Sequence[str],
        *,
        skip: RowFilter | None = None,
        byte_range: ByteRange | None = None,
        batch_size: int = BATCH_ROWS,
        use_threads: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """Read rows as record batches; see :meth:`BaseFile.batches`."""
        names = self.require_columns(columns)
        (part,) = self.row_ranges()
        if not in_range(part, byte_range):
            return
        selected = self._rows_left(skip)
        if not names:
            yield empty_columns(int(selected.sum()))
            return
        own = [name for name in names if name in self._skeleton.schema.names]
        others = [name for name in names if name not in own]
        parts = [(file, some) for file, some in ((self._skeleton, own), (self._source, others)) if some]
        streams = [_rows(file, some, selected, batch_size, use_threads) for file, some in parts]
        for pieces in _side_by_side(streams):
            arrays: dict[str, pa.Array] = {}
            for piece in pieces:
                arrays |= dict(zip(piece.schema.names, piece.columns, strict=True))
            schema = pa.schema([self.schema.field(name) for name in names], self.schema.metadata)
            yield pa.RecordBatch.from_arrays([arrays[name] for name in names], schema=schema)

    def close(self) -> None:
        """Close both files."""
        self._skeleton.close()
        self._source.close()

    def _rows_left(self, skip: RowFilter | None) -> npt.NDArray[np.bool_]:
        """Which rows the statistics of neither file rule out."""
        selected = np.ones(self.num_rows, np.bool_)
        if skip is None:
            return selected
        for file, theirs in ((self._skeleton, True), (self._source, False)):
            there = [name for name in skip.columns if (name in self._skeleton.schema.names) == theirs]
            part = skip.restrict(there) if there else None
            groups = row_groups_of(file, None if part is None else RowFilter(part.root, file.schema))
            selected &= np.repeat([group.may_pass for group in groups], [group.rows for group in groups])
        return selected


def _rows(
    file: BaseFile, columns: Sequence[str], selected: npt.NDArray[np.bool_], batch_size: int, use_threads: bool
) -> Iterator[pa.RecordBatch]:
    """The selected rows of one of the files, in their order."""
    at = 0
    for number, group in enumerate(row_groups_of(file, None)):
        first, at = at, at + group.rows
        if not selected[first:at].any():
            continue
        for batch in read_row_groups(file, columns, [number], batch_size=batch_size, use_threads=use_threads):
            keep = selected[first : first + batch.num_rows]
            first += batch.num_rows
            yield batch if keep.all() else batch.filter(pa.array(keep))


def _side_by_side(streams: Sequence[Iterator[pa.RecordBatch]]) -> Iterator[list[pa.RecordBatch]]:
    """Pieces of equally many rows of streams that have equally many rows."""
    if len(streams) == 1:
        yield from ([batch] for batch in streams[0] if batch.num_rows)
        return
    waiting: list[pa.RecordBatch | None] = [None] * len(streams)
    while True:
        for number, stream in enumerate(streams):
            batch = waiting[number]
            while batch is None or not batch.num_rows:
                batch = next(stream, None)
                if batch is None:
                    return
            waiting[number] = batch
        pieces = [batch for batch in waiting if batch is not None]
        rows = min(batch.num_rows for batch in pieces)
        yield [batch.slice(0, rows) for batch in pieces]
        waiting = [batch.slice(rows) for batch in pieces]
