"""Reads a metadata table as a table of its records: key, type, and a column for each kind of record.

Source: docs/format.md#metadata-records; the rows are those that Hudi's own reader gives of ``.hoodie/metadata``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from hudi_hive.errors import UnsupportedTableError
from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import partition_rows, row_partitions, row_schema
from hudi_hive.options import MergeType, QueryType, read
from hudi_hive.plan import Query
from hudi_hive.predicate import RowFilter
from hudi_hive.read.scan.files import output_schema

KEY = "key"

_BATCH_ROWS = 64 * 1024
_MOST_KEYS = 1000
"""With more keys than this in a filter, reading all records costs less than looking each up."""


def check_records_query(query: Query, path: str) -> None:
    """Refuse what cannot be asked of a metadata table: it has no history of its own rows.

    Args:
        query: the question.
        path: of the metadata table, for the error.

    Raises:
        UnsupportedTableError: the query is no snapshot, or asks for it in another way.
    """
    options = query.options
    others = {
        f"a {query.query_type} query": query.query_type is not QueryType.SNAPSHOT,
        "time travel": query.as_of is not None,
        read.METADATA_VALIDATE.name: bool(options.metadata_validate),
        read.MERGE_TYPE.name: options.merge_type is MergeType.SKIP_MERGE,
        read.PARTITION_VALUES_FROM_PATH.name: options.partition_values_from_path,
    }
    for what, is_requested in others.items():
        if is_requested:
            raise UnsupportedTableError(
                f"{what} is not possible on a metadata table", path=path, remedy="read its newest snapshot"
            )


def read_records(
    table: MetadataTable,
    columns: Sequence[str] | None = None,
    row_filter: RowFilter | None = None,
    limit: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read the records of all partitions of a metadata table, in the order of their names.

    A filter on ``key`` by equality or ``IN`` reads only the file groups and blocks that can hold those keys.

    Args:
        table: the metadata table.
        columns: columns to return; all without it.
        row_filter: bound to :func:`~hudi_hive.metadata.reader.row_schema`; only rows that pass it are returned.
        limit: at most so many rows.

    Raises:
        UnknownColumnError: there is no such column.
        CorruptFileError: a file cannot be decoded.
    """
    schema = row_schema(table)
    names = output_schema(schema, None if columns is None else tuple(columns)).names
    required = None if row_filter is None else row_filter.required_values(KEY)
    keys = None
    if required is not None and pa.types.is_string(required.type) and len(required) <= _MOST_KEYS:
        keys = required.to_pylist()
    left = limit
    for partition in row_partitions(table):
        rows = partition_rows(table, partition, schema, keys)
        if row_filter is not None:
            rows = rows.filter(row_filter.evaluate(rows))
        rows = (rows if left is None else rows.slice(0, left)).select(names)
        left = None if left is None else left - rows.num_rows
        yield from rows.to_batches(max_chunksize=_BATCH_ROWS)
        if left == 0:
            return
