"""Checks hits of a global index by reading the records, since keys in files may be deleted.

A key that was deleted in a log file still stands in the base file below, so that a record that moved to another
partition is found in both. And by event time a row moves a record only if it is not older than that.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedTableError
from hudi_hive.metadata.reader import RECORD_INDEX, is_partitioned_index, written_partitions
from hudi_hive.names import FILE_NAME_COLUMN, PARTITION_PATH_COLUMN
from hudi_hive.plan import Query, plan_scan
from hudi_hive.read.merge import no_ordering, not_less, ordering_columns
from hudi_hive.read.scan import read_plan
from hudi_hive.table import MetaClient
from hudi_hive.table.logs import RECORD_KEY
from hudi_hive.table.merge import MergeSpec, Order
from hudi_hive.write.index.tables import HITS_SCHEMA, joined_hits, one_array

_FEW_KEYS: Final = 1_000
_MOST_ROWS: Final = 1 << 20

_FILE_NAME: Final = FILE_NAME_COLUMN
_PARTITION: Final = PARTITION_PATH_COLUMN
_ORDERING: Final = "ordering."
"""What columns of ordering values are called in tables of keys, before the field's name."""


def with_ordering(keys: pa.Table, rows: pa.Table, spec: MergeSpec) -> pa.Table:
    """Add the ordering values to keys, which a global index compares before it moves a record.

    Args:
        keys: ``KEYS_SCHEMA``, a line for each row.
        rows: the rows in the same order.
        spec: how records merge.
    """
    fields = spec.ordering_fields if spec.needs_ordering else ()
    for name, column in zip(fields, ordering_columns(rows, fields), strict=True):
        keys = keys.append_column(_ORDERING + name, column)
    return keys


def resolve_hits(
    client: MetaClient, keys: pa.Table, hits: pa.Table, *, updates_partition: bool
) -> tuple[pa.Table, pa.Table]:
    """Keep the hits of existing records, and the keys that are not older than the records that they would move.

    Args:
        client: the table.
        keys: ``KEYS_SCHEMA``, with what :func:`with_ordering` added.
        hits: ``HITS_SCHEMA``.
        updates_partition: rows move records to their own partition.

    Returns:
        Keys and hits; what is left out of the keys is not to be written.

    Raises:
        UnsupportedTableError: records would move in a table whose records merge column by column, or that has no meta
            columns to read their places from.
    """
    at = pc.index_in(one_array(hits.column("key")), value_set=one_array(keys.column("key")))
    requested = one_array(keys.column("partition")).take(at)
    moved = pc.fill_null(pc.not_equal(requested, one_array(hits.column("partition"))), False)
    moves = updates_partition and bool(pc.any(moved, min_count=0).as_py())
    spec = MergeSpec.from_config(client.config) if moves else None
    if spec is not None and spec.partial is not None:
        raise _refused(client, "whose records merge column by column")
    if spec is not None and spec.merger is not None:
        raise _refused(client, f"whose records the merger {spec.merger.class_name} merges")
    if spec is not None and spec.first_of_equals:
        raise _refused(client, "that keeps the first of equal records")
    by_event = spec is not None and spec.on_base is Order.EVENT_TIME and bool(spec.ordering_fields)
    doubtful = _several(hits) if client.config.is_merge_on_read else np.zeros(hits.num_rows, np.bool_)
    if moves and (by_event or client.config.is_merge_on_read):
        doubtful |= moved.to_numpy(zero_copy_only=False)
    if not doubtful.any():
        return keys, hits
    if not client.config.populate_meta_fields:
        raise _refused(client, "which has no meta columns")
    texts = pc.unique(one_array(hits.column("key")).filter(pa.array(doubtful)))
    unsure = pc.is_in(one_array(hits.column("key")), value_set=texts)
    paths = pc.unique(one_array(hits.column("partition")).filter(unsure)).to_pylist()
    existing = existing_records(client, texts, paths, spec.ordering_fields if by_event and spec is not None else ())
    existing_hits = existing.select(HITS_SCHEMA.names).cast(HITS_SCHEMA)
    hits = joined_hits([hits.filter(pc.invert(unsure)), existing_hits])
    if by_event and spec is not None:
        keys = keys.filter(pa.array(~_older(keys, existing, spec.ordering_fields))).combine_chunks()
    return keys, hits


def without_late_deletes(client: MetaClient, keys: pa.Table, hits: pa.Table) -> pa.Table:
    """Leave out deletes that are older than their records, where a record index would forget keys that stay.

    The log of a slice may hold them, since merging drops them; but the index takes a delete for one that wins.

    Args:
        client: the table.
        keys: as for :func:`resolve_hits`; rows that delete are told by a column ``deleted``.
        hits: ``HITS_SCHEMA``.
    """
    config = client.config
    has_index = config.is_merge_on_read and RECORD_INDEX in written_partitions(config) and config.populate_meta_fields
    if not has_index or not hits.num_rows or "deleted" not in keys.column_names:
        return keys
    deletes = keys.filter(one_array(keys.column("deleted")).fill_null(False))
    spec = MergeSpec.from_config(config) if deletes.num_rows else None
    if spec is None or not spec.compares_deletes:
        return keys
    fields = [_ORDERING + name for name in spec.ordering_fields]
    of_keys, of_hits = _names(client, deletes, hits)
    is_hit = pc.is_in(of_hits, value_set=of_keys)
    if not set(fields) <= set(keys.column_names) or not pc.any(is_hit, min_count=0).as_py():
        return keys
    hits = hits.filter(is_hit)
    paths = pc.unique(one_array(hits.column("partition"))).to_pylist()
    existing = existing_records(client, pc.unique(one_array(hits.column("key"))), paths, spec.ordering_fields)
    of_keys, of_existing = _names(client, deletes, existing)
    at = pc.index_in(of_keys, value_set=of_existing)
    mine = [one_array(deletes.column(name)) for name in fields]
    # One without an ordering value never comes late.
    compared = functools.reduce(pc.and_, (column.is_valid() for column in (at, *mine)))
    compared = pc.and_not(compared, pa.array(no_ordering(mine, deletes.num_rows)))
    mine, at = [column.filter(compared) for column in mine], at.filter(compared)
    theirs = ordering_columns(existing.take(at).combine_chunks(), spec.ordering_fields)
    late = deletes.filter(compared).filter(pa.array(~not_less(mine, theirs, len(at))))
    return keys.filter(pc.invert(pc.is_in(one_array(keys.column("row")), value_set=one_array(late.column("row")))))


def _names(client: MetaClient, *tables: pa.Table) -> list[pa.Array]:
    """What tells records apart in tables with keys and partitions: the key, or both with an index of each partition."""
    keys = [one_array(table.column("key")) for table in tables]
    if not is_partitioned_index(client):
        return keys
    paths = [one_array(table.column("partition")) for table in tables]
    return [pc.binary_join_element_wise(path, key, "\n") for path, key in zip(paths, keys, strict=True)]


def _several(hits: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which hits are of a key that has more than one."""
    key_ids = one_array(hits.column("key")).dictionary_encode().indices.to_numpy()
    several: np.ndarray[tuple[int], np.dtype[np.bool_]] = (np.bincount(key_ids) > 1)[key_ids]
    return several


def existing_records(
    client: MetaClient, keys: pa.Array, partitions: Sequence[str], ordering: Sequence[str]
) -> pa.Table:
    """Read the existing records of keys, as queries see them.

    Args:
        client: the table; it has meta columns.
        keys: record keys, each once.
        partitions: where to look.
        ordering: fields of ordering values, dotted below structs.

    Returns:
        ``HITS_SCHEMA``, and behind it the top-level columns of the ordering values.
    """
    plan = plan_scan(client, Query(), _may_be_among(keys), partitions=partitions)
    columns = dict.fromkeys([RECORD_KEY, _PARTITION, _FILE_NAME])
    columns |= dict.fromkeys(name if name in plan.schema.names else name.partition(".")[0] for name in ordering)
    schema = pa.schema([plan.schema.field(name) for name in columns])
    tables = _among(read_plan(client.storage, plan, list(columns)), keys, schema)
    rows = pa.concat_tables([schema.empty_table(), *tables]).combine_chunks()
    file_ids = pc.replace_substring_regex(rows.column(_FILE_NAME), r"(?s)_.*$", "")
    rows = rows.set_column(2, "file_id", file_ids)
    return rows.rename_columns([*HITS_SCHEMA.names, *rows.column_names[3:]])


def _may_be_among(keys: pa.Array) -> pc.Expression:
    """A filter that keeps all of the keys, and is bound in no time however many they are."""
    if len(keys) <= _FEW_KEYS:
        return pc.field(RECORD_KEY).isin(keys)
    ends = pc.min_max(keys)
    return (pc.field(RECORD_KEY) >= ends["min"]) & (pc.field(RECORD_KEY) <= ends["max"])


def _among(batches: Iterator[pa.RecordBatch], keys: pa.Array, schema: pa.Schema) -> Iterator[pa.Table]:
    """Rows of the keys. Batches are held against them together, as each time costs a hash table of the keys."""
    gathered: list[pa.RecordBatch] = []
    count = 0
    for batch in itertools.chain(batches, [None]):
        if batch is not None:
            gathered.append(batch)
            count += batch.num_rows
        if gathered and (batch is None or count >= _MOST_ROWS):
            rows = pa.Table.from_batches(gathered, schema)
            yield rows.filter(pc.is_in(rows.column(RECORD_KEY), value_set=keys))
            gathered, count = [], 0


def _older(keys: pa.Table, existing: pa.Table, fields: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which rows are older than the record that they would move."""
    at = pc.index_in(one_array(keys.column("key")), value_set=one_array(existing.column("key")))
    partition = one_array(existing.column("partition")).take(at)
    moves = pc.fill_null(pc.not_equal(partition, one_array(keys.column("partition"))), False)
    if "deleted" in keys.column_names:
        moves = pc.and_not(moves, pc.fill_null(one_array(keys.column("deleted")), False))
    chosen = keys.filter(moves)
    mine = [one_array(chosen.column(_ORDERING + name)) for name in fields if _ORDERING + name in keys.column_names]
    result = np.zeros(keys.num_rows, np.bool_)
    if len(mine) == len(fields):
        theirs = ordering_columns(existing.take(at.filter(moves)).combine_chunks(), fields)
        result[moves.to_numpy(zero_copy_only=False)] = ~not_less(mine, theirs, chosen.num_rows)
    return result


def _refused(client: MetaClient, why: str) -> UnsupportedTableError:
    return UnsupportedTableError(
        f"moving records to another partition of a table {why} is not supported",
        path=client.base_path,
        remedy="set hoodie.simple.index.update.partition.path (bloom, record) to false, or delete and insert the rows",
    )
