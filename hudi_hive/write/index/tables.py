"""Schemas of keys, hits and tags of indexes, and the rules that make tags of hits."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.write.files import POSITION, first_positions

KEYS_SCHEMA: Final = pa.schema([("key", pa.string()), ("partition", pa.string()), ("row", pa.int64())])
"""What is looked for: record key, partition path that the row is given with, a number that names the row.

A further column ``deleted`` (boolean), if there is one, marks rows that delete: they are never moved to another
partition. Other columns are passed over. No two rows have the same key and partition (with a global index: the same
key).
"""

TAG_SCHEMA: Final = pa.schema(
    [
        ("row", pa.int64()),
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("current_partition", pa.string()),
        ("current_file_id", pa.string()),
        ("new_file_id", pa.string()),
    ]
)
"""Where rows go, sorted by row.

``partition`` and ``file_id`` are where the row is to be written; ``file_id`` is null for a row that is new there. The
``current_`` columns are where a record of its key is now, null where there is none. Where ``current_partition`` is not
``partition`` the record moves: it is new in ``partition`` and is to be deleted from ``current_file_id``.
``new_file_id`` is the file group that new rows must be put into, whether it is there already or not (bucket index); it
is null where any will do. A row whose key is in several file groups has several lines, one for each, unless it may
move.
"""

HITS_SCHEMA: Final = pa.schema([("key", pa.string()), ("partition", pa.string()), ("file_id", pa.string())])
"""Where keys were found; a key may be in several file groups.

A further column ``POSITION``, if there is one, has the row of the group's base file at which the key is, the first of
several; null where the file does not have it, or that is not known. Tags have it likewise, of where a record is now.
"""

IntArray = npt.NDArray[np.int64]


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def joined_hits(parts: list[pa.Table]) -> pa.Table:
    """Hits of several look-ups as one table."""
    return pa.concat_tables([HITS_SCHEMA.empty_table(), *parts], promote_options="default").combine_chunks()


def distinct_hits(parts: list[pa.Table]) -> pa.Table:
    """Hits of several look-ups in the same slices as one table: each key once for a slice, at its first row."""
    hits = joined_hits(parts)
    if POSITION not in hits.column_names or sum(bool(part.num_rows) for part in parts) < 2:
        return hits
    return first_positions(hits, HITS_SCHEMA.names)


def locate(keys: pa.Table, hits: pa.Table, *, is_global: bool, updates_partition: bool) -> pa.Table:
    """Tag rows by the places where their keys were found.

    Args:
        keys: :data:`KEYS_SCHEMA`.
        hits: :data:`HITS_SCHEMA`: all hits of these keys; others do no harm.
        is_global: a key stands for one record in the whole table.
        updates_partition: a record that is given with another partition moves there.

    Returns:
        A table of :data:`TAG_SCHEMA`.
    """
    row_of_hit = _first_row(keys, hits, is_global)
    matched = pc.is_valid(row_of_hit)
    hits, at = hits.filter(matched), row_of_hit.filter(matched).to_numpy(zero_copy_only=False).astype(np.int64)
    moves = is_global and updates_partition
    order = _one_each(keys, hits, at) if moves else np.argsort(at, kind="stable")
    at = at[order]
    has_hit = np.zeros(keys.num_rows, np.bool_)
    has_hit[at] = True
    new = np.flatnonzero(~has_hit)
    lines = np.concatenate([at, new])
    place = np.concatenate([order, np.full(len(new), -1, np.int64)])
    sort = np.argsort(lines, kind="stable")
    lines, place = lines[sort], place[sort]
    return _tags(keys.take(pa.array(lines)), hits.take(pa.array(place, mask=place < 0)), moves)


def _tags(keys: pa.Table, current: pa.Table, updates_partition: bool) -> pa.Table:
    """Lines of rows and, next to them, of where they are now (null: nowhere)."""
    requested = one_array(keys.column("partition"))
    there, group = one_array(current.column("partition")), one_array(current.column("file_id"))
    moves: pa.Array
    if updates_partition:
        moves = pc.fill_null(pc.not_equal(requested, there), False)
        if "deleted" in keys.column_names:
            moves = pc.and_not(moves, pc.fill_null(one_array(keys.column("deleted")), False))
    else:
        moves = pa.array(np.zeros(keys.num_rows, np.bool_))
    partition = pc.if_else(moves, requested, pc.coalesce(there, requested))
    file_id = pc.if_else(moves, pa.scalar(None, pa.string()), group)
    unset = pa.nulls(keys.num_rows, pa.string())
    tags = pa.table([one_array(keys.column("row")), partition, file_id, there, group, unset], schema=TAG_SCHEMA)
    return tags.append_column(POSITION, current.column(POSITION)) if POSITION in current.column_names else tags


def _one_each(keys: pa.Table, hits: pa.Table, at: IntArray) -> IntArray:
    """One hit for each row, by row: one in the partition that the row is given with, if there is any.

    A key that is in several places breaks what a global index is for; the row must not be made anew for each of them.
    """
    requested = one_array(keys.column("partition")).take(pa.array(at))
    # Keys of records to delete may have no partition: any place of theirs will do.
    elsewhere = (
        pc.not_equal(requested, one_array(hits.column("partition"))).fill_null(True).to_numpy(zero_copy_only=False)
    )
    order = np.lexsort((elsewhere, at))
    first = np.append(True, at[order][1:] != at[order][:-1]) if len(at) else np.zeros(0, np.bool_)
    chosen: IntArray = order[first]
    return chosen


def _first_row(keys: pa.Table, hits: pa.Table, is_global: bool) -> pa.Array:
    """For each hit the position of the row that it is of, or null."""
    texts, sought = one_array(keys.column("key")), one_array(hits.column("key"))
    if is_global:
        return pc.index_in(sought, value_set=texts)
    return pc.index_in(*_with_partition(sought, hits, texts, keys))


def _with_partition(sought: pa.Array, hits: pa.Table, texts: pa.Array, keys: pa.Table) -> tuple[pa.Array, pa.Array]:
    """Both sides' keys behind a number for their partition."""
    names = pc.unique(one_array(keys.column("partition")))
    if len(names) <= 1:
        here = pc.is_in(one_array(hits.column("partition")), value_set=names)
        return pc.if_else(here, sought, pa.scalar(None, pa.string())), texts
    numbers = pa.array([f"{number}:" for number in range(len(names))], pa.string())
    sides = []
    for table, column in ((hits, sought), (keys, texts)):
        number = numbers.take(pc.index_in(one_array(table.column("partition")), value_set=names))
        sides.append(pc.binary_join_element_wise(number, column, ""))
    return sides[0], sides[1]
