"""Where the row groups of Parquet files and the stripes of ORC files lie, so that large files can be cut."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from hudi_hive.formats.base import open_base_file
from hudi_hive.plan.splits.splits import ROW_GROUP_SCHEMA
from hudi_hive.storage import Storage
from hudi_hive.table.view import list_concurrently


def read_row_groups(storage: Storage, paths: Sequence[str]) -> pa.Table:
    """Row groups of files, a table of :data:`~hudi_hive.plan.splits.splits.ROW_GROUP_SCHEMA`; one open for each file.

    Args:
        storage: rooted at the table's base path.
        paths: Parquet and ORC files, relative to it.

    Raises:
        FileVanishedError: a file is not there any more.
        CorruptFileError: a footer cannot be decoded.
    """

    def read(path: str) -> pa.Table:
        with open_base_file(storage, path) as file:
            ranges = file.row_ranges()
        starts, sizes = zip(*ranges, strict=True) if ranges else ((), ())
        columns = [pa.repeat(pa.scalar(path), len(ranges)), pa.array(starts, pa.int64()), pa.array(sizes, pa.int64())]
        return pa.table(columns, ROW_GROUP_SCHEMA)

    return pa.concat_tables([ROW_GROUP_SCHEMA.empty_table(), *list_concurrently(storage, read, paths)])
