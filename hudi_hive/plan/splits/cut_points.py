"""Reads the places of Parquet row groups and ORC stripes, at which large files are cut into splits."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from hudi_hive.plan.splits.splits import ROW_GROUP_SCHEMA
from hudi_hive.storage import Storage
from hudi_hive.table.bootstrap import open_table_file
from hudi_hive.table.view import list_concurrently


def read_row_groups(storage: Storage, paths: Sequence[str]) -> pa.Table:
    """Read the row groups of files to a table of ``ROW_GROUP_SCHEMA``; each file is opened once.

    Args:
        storage: rooted at the table's base path.
        paths: Parquet and ORC files, relative to it.

    Raises:
        FileVanishedError: a file is not there any more.
        CorruptFileError: a footer cannot be decoded.
    """

    def read(path: str) -> pa.Table:
        with open_table_file(storage, path) as file:
            ranges = file.row_ranges()
        starts, sizes = zip(*ranges, strict=True) if ranges else ((), ())
        columns = [pa.repeat(pa.scalar(path), len(ranges)), pa.array(starts, pa.int64()), pa.array(sizes, pa.int64())]
        return pa.table(columns, ROW_GROUP_SCHEMA)

    return pa.concat_tables([ROW_GROUP_SCHEMA.empty_table(), *list_concurrently(storage, read, paths)])
