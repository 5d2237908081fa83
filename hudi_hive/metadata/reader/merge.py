"""Merges the records of a file group, by type of record, as columns.

What a base file and log blocks hold of some keys goes in, one row per live entry comes out.

Source: docs/format.md#metadata-records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.metadata.reader.file_group import BlockRecords, GroupRecords

IntArray: TypeAlias = npt.NDArray[np.int64]

ENTRIES_SCHEMA: Final = pa.schema([("key", pa.string()), ("name", pa.string()), ("size", pa.int64())])
"""Entries of the ``files`` partition: a partition's key, a file's name and bytes (or, of the record that names all
partitions, a partition's name and 0)."""

_ENTRY_ROWS: Final = pa.schema([*ENTRIES_SCHEMA, ("deleted", pa.bool_()), ("order", pa.int64())])


def merge_entries(groups: Iterable[GroupRecords]) -> pa.Table:
    """Merge file lists to existing entries, a table of :data:`ENTRIES_SCHEMA` sorted by key and name.

    A tombstone takes away what is older; of live entries of one name the size is the greatest since then.
    """
    groups = list(groups)
    table = pa.concat_tables(
        [_ENTRY_ROWS.empty_table(), *(_explode(part) for group in groups for part in group.payloads)]
    )
    if not table.num_rows:
        return ENTRIES_SCHEMA.empty_table()
    table = _after_deletes(table, groups)
    table = table.sort_by([("key", "ascending"), ("name", "ascending"), ("order", "ascending")])
    run = runs(table, "key", "name")
    deleted = table.column("deleted").to_numpy()
    # The entries behind the last tombstone of their run are the ones that count.
    index = np.arange(len(run))
    last_tombstone = np.full(run[-1] + 1 if len(run) else 0, -1, np.int64)
    np.maximum.at(last_tombstone, run[deleted], index[deleted])
    behind = index > last_tombstone[run]
    alive, run = table.filter(pa.array(behind)), run[behind]
    if (run[1:] != run[:-1]).all():
        return alive.select(ENTRIES_SCHEMA.names).cast(ENTRIES_SCHEMA)
    merged = alive.group_by(["key", "name"], use_threads=False).aggregate([("size", "max")])
    return merged.rename_columns({"size_max": "size"}).select(ENTRIES_SCHEMA.names).cast(ENTRIES_SCHEMA)


def _explode(part: BlockRecords) -> pa.Table:
    lists = part.values.drop_null() if part.values.null_count else part.values
    keys = part.keys.filter(pc.is_valid(part.values)) if part.values.null_count else part.keys
    if not len(lists):
        return _ENTRY_ROWS.empty_table()
    if not isinstance(lists, pa.MapArray):
        raise ValueError(f"file lists are {lists.type}, not a map")
    offsets = lists.offsets.to_numpy()
    first, last = int(offsets[0]), int(offsets[-1])
    rows = np.repeat(np.arange(len(lists)), np.diff(offsets))
    items = lists.items.slice(first, last - first)
    columns = [
        keys.take(pa.array(rows)),
        lists.keys.slice(first, last - first),
        pc.struct_field(items, "size"),
        pc.struct_field(items, "isDeleted"),
        pa.array(np.full(len(rows), part.order)),
    ]
    return pa.table(columns, schema=_ENTRY_ROWS)


def newest_records(groups: Iterable[GroupRecords], flatten: Callable[[BlockRecords], pa.Table]) -> pa.Table:
    """The newest record of each key that is not deleted: of bloom filters, record index and secondary index.

    Args:
        groups: what the file groups hold.
        flatten: makes columns of values; its table has a row per value.

    Returns:
        The columns of ``flatten`` behind ``key``.
    """
    table = stack(groups, flatten)
    if not table.num_rows:
        return table.drop_columns(["order"])
    table = table.sort_by([("key", "ascending"), ("order", "ascending")])
    run = runs(table, "key")
    last = np.append(run[1:] != run[:-1], True)
    return table.filter(pa.array(last)).drop_columns(["order"])


def stack(groups: Iterable[GroupRecords], flatten: Callable[[BlockRecords], pa.Table]) -> pa.Table:
    """All records that are not deleted, oldest first: ``key``, ``order`` and the columns of ``flatten``."""
    groups = list(groups)
    tables: list[pa.Table] = []
    for group in groups:
        for part in group.payloads:
            valid = pc.is_valid(part.values)
            flat = flatten(BlockRecords(part.order, part.keys.filter(valid), part.values.filter(valid), part.schema))
            flat = flat.add_column(0, "order", pa.array(np.full(flat.num_rows, part.order)))
            tables.append(flat.add_column(0, "key", part.keys.filter(valid)))
    if not tables:
        empty = flatten(BlockRecords(0, pa.array([], pa.string()), pa.nulls(0), {}))
        return empty.add_column(0, "order", pa.array([], pa.int64())).add_column(0, "key", pa.array([], pa.string()))
    return _after_deletes(pa.concat_tables(tables), groups)


def _after_deletes(table: pa.Table, groups: list[GroupRecords]) -> pa.Table:
    """Rows that no delete block behind them took away. Keys of different file groups differ."""
    deletes = [(order, keys) for group in groups for order, keys in group.deletes]
    if not deletes:
        return table
    keys = pa.concat_arrays([keys for _, keys in deletes])
    distinct = keys.unique()
    last = np.full(len(distinct), -1, np.int64)
    at = pc.index_in(keys, value_set=distinct).to_numpy()
    np.maximum.at(last, at, np.repeat([order for order, _ in deletes], [len(part) for _, part in deletes]))
    row = pc.fill_null(pc.index_in(table.column("key"), value_set=distinct), -1).to_numpy()
    gone = (row >= 0) & (table.column("order").to_numpy() < last[np.maximum(row, 0)])
    return table.filter(pa.array(~gone))


def runs(table: pa.Table, *columns: str) -> IntArray:
    """For each row of a sorted table the number of its run of equal rows."""
    change = np.zeros(table.num_rows, np.bool_)
    for name in columns:
        column = table.column(name)
        differs = pc.fill_null(pc.not_equal(column.slice(1), column.slice(0, max(len(column) - 1, 0))), True)
        change[1:] |= differs.to_numpy()
    return np.cumsum(change)
