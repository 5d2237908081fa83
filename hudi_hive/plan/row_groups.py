"""Where the row groups of Parquet files lie, told by their footers, so that large files can be cut."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from hudi_hive.formats.base_file import open_base_file
from hudi_hive.plan.splits import ROW_GROUP_SCHEMA
from hudi_hive.storage import Storage


def read_row_groups(storage: Storage, paths: Sequence[str]) -> pa.Table:
    """Row groups of files, a table of :data:`~hudi_hive.plan.splits.ROW_GROUP_SCHEMA`; one open for each file.

    Args:
        storage: rooted at the table's base path.
        paths: Parquet files, relative to it.

    Raises:
        FileVanishedError: a file is not there any more.
        CorruptFileError: a footer cannot be decoded.
    """
    tables = [ROW_GROUP_SCHEMA.empty_table()]
    for path in paths:
        with open_base_file(storage, path) as file:
            ranges = file.row_ranges()
        starts, sizes = zip(*ranges, strict=True) if ranges else ((), ())
        columns = [pa.repeat(pa.scalar(path), len(ranges)), pa.array(starts, pa.int64()), pa.array(sizes, pa.int64())]
        tables.append(pa.table(columns, ROW_GROUP_SCHEMA))
    return pa.concat_tables(tables)
