"""Base files read in one call, for tests of what an open one gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from hudi_hive.formats.base import BATCH_ROWS, ByteRange, open_base_file, select
from hudi_hive.predicate import RowFilter, parse_filter
from hudi_hive.storage import Storage


def read_batches(
    storage: Storage,
    path: str,
    columns: Sequence[str] | None = None,
    file_filter: RowFilter | None = None,
    batch_size: int = BATCH_ROWS,
    *,
    byte_range: ByteRange | None = None,
) -> Iterator[pa.RecordBatch]:
    """Rows of one base file as they stand in it.

    Args:
        storage: where the file is.
        path: relative to the storage's root.
        columns: top-level columns in the order wanted; None for all.
        file_filter: only rows that pass; its columns must be in the file with the filter's types.
        batch_size: greatest number of rows of a batch.
        byte_range: see :meth:`BaseFile.batches`.

    Raises:
        FileVanishedError, CorruptFileError, UnsupportedFormatError: see :func:`open_base_file`.
        UnknownColumnError: a column that the file does not have.
    """
    with open_base_file(storage, path) as file:
        wanted = list(file.schema.names if columns is None else columns)
        row_filter = None if file_filter is None or file_filter.is_trivial else parse_filter(file_filter, file.schema)
        needed = wanted if row_filter is None else list(dict.fromkeys([*wanted, *row_filter.columns]))
        for batch in file.batches(needed, skip=row_filter, byte_range=byte_range, batch_size=batch_size):
            if row_filter is not None:
                batch = batch.filter(row_filter.evaluate(batch))
            if batch.num_rows:
                yield batch if needed == wanted else select(batch, wanted)
