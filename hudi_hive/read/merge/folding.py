"""Merges the log records of a slice with one another, to one record or delete for each key.

Blocks in, oldest first; out come numbers of rows. Event-time ordering has a closed form (greatest ordering value behind
the last delete that has none, later ones first among equals), so that no step goes record by record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedTableError
from hudi_hive.read.merge.keys import distinct_keys, record_keys
from hudi_hive.read.merge.log_events import LogEvents
from hudi_hive.read.merge.ordering_values import Flags, Ints, column_of, ordering_columns, ranks
from hudi_hive.read.merge.partial import column_sources, turns, winner_sources
from hudi_hive.table.logs import LogData, LogDeletes, LogRecords
from hudi_hive.table.merge import IS_DELETED, OPERATION, MergeSpec, Order

_DELETING_OPERATIONS = ("D", "-U")
_NO_KEYS = pa.nulls(0, pa.string())  # an array of a list would load pandas
_NO_FLAGS = np.zeros(0, np.bool_)


@dataclass(frozen=True, slots=True)
class Folded:
    """The merged log of a slice: for each key the record that is left, or that it is deleted.

    Attributes:
        keys: the distinct record keys, in order of first appearance.
        rows: data records.
        row: row of each key's record; -1 where the last word is an entry of a delete block.
        deleted: whether the last word is a delete.
        always: whether that delete wins over any base record.
        ordering: columns of ordering values of the last word.
        sources: columns whose values do not come from ``row``: for each key a row, -1 for "as in the base record".
        present: rows that stand in for -1 where there is no base record: they have the column, if only with a value
            that partial updates pass over.
    """

    keys: pa.Array
    rows: pa.Table
    row: Ints
    deleted: Flags
    always: Flags
    ordering: tuple[pa.Array, ...]
    sources: dict[str, Ints]
    present: dict[str, Ints]


def fold(
    logs: LogRecords, spec: MergeSpec, schema: pa.Schema, reconcile: Callable[[LogData], pa.RecordBatch]
) -> Folded | None:
    """Merge the records and deletes of log files by key; None if there are none.

    Raises:
        UnsupportedTableError: ordering values that cannot be compared.
        CorruptFileError: a record without a key.
    """
    events = log_events(logs, spec, schema, reconcile)
    if events is None:
        return None
    if not spec.deletes_yield:
        events = replace(events, natural=events.natural | _void_entries(events))
    last, cut = _winners(events, spec)
    row, natural = events.row[last], events.natural[last]
    deleted = events.deletes[last]
    blocks = any(block.is_partial for block in events.blocks)
    values = spec.partial is not None and bool(events.blocks)
    sources: dict[str, Ints] = {}
    if values and not spec.partial_in_log:
        sources = winner_sources(events, spec, row)
    elif blocks or values:
        sources = column_sources(events, spec, cut, by_value=True)
    return Folded(
        keys=events.keys,
        rows=events.rows,
        row=row,
        deleted=deleted,
        always=natural | (deleted & (row < 0)) if spec.deletes_yield else natural,
        ordering=tuple(column.take(pa.array(last)) for column in events.ordering),
        sources=sources,
        present=column_sources(events, spec, cut, by_value=False) if blocks and values else {},
    )


class _BlockEvents(NamedTuple):
    """The columns of :class:`LogEvents` for one block; ``batch`` has the records of a data block."""

    keys: pa.Array
    deletes: Flags
    natural: Flags
    ordering: list[pa.Array]
    batch: pa.RecordBatch | None


def log_events(
    logs: LogRecords, spec: MergeSpec, schema: pa.Schema, reconcile: Callable[[LogData], pa.RecordBatch]
) -> LogEvents | None:
    """The records and deletes of log files as columns, oldest first; None if there are none.

    Raises:
        UnsupportedTableError: ordering values of deletes that do not fit.
        CorruptFileError: a record without a key.
    """
    fields = spec.ordering_fields if spec.needs_ordering else ()
    types = [column_of(schema.empty_table(), name).type for name in fields]
    parts: list[_BlockEvents] = []
    rows: list[Ints] = []
    batches: list[pa.RecordBatch] = []
    blocks: list[LogData] = []
    count = 0
    for block in logs.blocks:
        part = _of_deletes(block, spec, types) if isinstance(block, LogDeletes) else _of_data(block, spec, reconcile)
        if not len(part.keys):
            continue
        parts.append(part)
        if isinstance(block, LogData) and part.batch is not None:
            rows.append(np.arange(count, count + part.batch.num_rows, dtype=np.int64))
            batches.append(part.batch)
            blocks.append(block)
            count += part.batch.num_rows
        else:
            rows.append(np.full(len(part.keys), -1, np.int64))
    if not parts:
        return None
    keys, key = distinct_keys(pa.concat_arrays([part.keys for part in parts]))
    ordering = [
        pa.concat_arrays([part.ordering[number].cast(kind) for part in parts]) for number, kind in enumerate(types)
    ]
    return LogEvents(
        keys=keys,
        key=key,
        row=np.concatenate(rows),
        deletes=np.concatenate([part.deletes for part in parts]),
        natural=np.concatenate([part.natural for part in parts]),
        ordering=tuple(ordering),
        rows=pa.Table.from_batches(batches, schema=schema).combine_chunks(),
        blocks=tuple(blocks),
        block=np.repeat(np.arange(len(batches)), [batch.num_rows for batch in batches]),
    )


def _of_deletes(block: LogDeletes, spec: MergeSpec, types: Sequence[pa.DataType]) -> _BlockEvents:
    table = block.table
    count = table.num_rows
    if not count:
        return _BlockEvents(_NO_KEYS, _NO_FLAGS, _NO_FLAGS, [], None)
    has = _one(table.column("has_ordering")).to_numpy(zero_copy_only=False)
    compared = not spec.deletes_yield or all(_compares_with_deletes(kind, block) for kind in types)
    return _BlockEvents(
        keys=_one(table.column("record_key")).cast(pa.string()),
        deletes=np.ones(count, np.bool_),
        natural=~has.astype(np.bool_) if compared else np.ones(count, np.bool_),
        ordering=_delete_ordering(table, types, block),
        batch=None,
    )


def _of_data(block: LogData, spec: MergeSpec, reconcile: Callable[[LogData], pa.RecordBatch]) -> _BlockEvents:
    batch = reconcile(block)
    if not batch.num_rows:
        return _BlockEvents(_NO_KEYS, _NO_FLAGS, _NO_FLAGS, [], batch)
    soft = soft_deletes(batch, spec)
    ordering = ordering_columns(batch, spec.ordering_fields if spec.needs_ordering else ())
    # Version 6 gives such a record its ordering value, whatever it is.
    natural = np.zeros_like(soft) if spec.deletes_yield else soft & no_ordering(ordering, batch.num_rows)
    return _BlockEvents(record_keys(batch, spec, block.path or None), soft, natural, ordering, batch)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def soft_deletes(batch: pa.RecordBatch, spec: MergeSpec) -> Flags:
    """Whether each row deletes, by ``_hoodie_is_deleted``, ``_hoodie_operation`` or the table's delete marker."""
    result = np.zeros(batch.num_rows, np.bool_)
    place = batch.schema.get_field_index(IS_DELETED) if spec.marks_delete else -1
    if place >= 0 and pa.types.is_boolean(batch.schema.field(place).type):
        result |= batch.column(IS_DELETED).fill_null(False).to_numpy(zero_copy_only=False)
    if batch.schema.get_field_index(OPERATION) >= 0:
        values = batch.column(OPERATION).cast(pa.string())
        result |= pc.is_in(values, value_set=pa.array(_DELETING_OPERATIONS, pa.string())).to_numpy(zero_copy_only=False)
    if spec.delete_field is not None:
        values = column_of(batch, spec.delete_field)
        if not pa.types.is_null(values.type):
            marked = pc.equal(values.cast(pa.string()), pa.scalar(spec.delete_marker, pa.string()))
            result |= marked.fill_null(False).to_numpy(zero_copy_only=False)
    return result


def no_ordering(values: Sequence[pa.Array], rows: int) -> Flags:
    """Rows whose ordering value is Hudi's default, the 32-bit 0, which null stands for too."""
    result = np.ones(rows, np.bool_)
    for column in values:
        missing = pc.is_null(column)
        if pa.types.is_int32(column.type):
            missing = pc.or_(missing, pc.equal(column, 0).fill_null(True))
        result &= missing.to_numpy(zero_copy_only=False)
    return result


def _compares_with_deletes(kind: pa.DataType, block: LogDeletes) -> bool:
    """Whether version 6 compares a delete's ordering value with those of records.

    Of texts, dates and decimals it has two classes that do not meet, and the delete wins.
    """
    if pa.types.is_string(kind):
        return block.texts_are_avro
    return not (pa.types.is_date(kind) or pa.types.is_decimal(kind))


def _delete_ordering(table: pa.Table, types: Sequence[pa.DataType], block: LogDeletes) -> list[pa.Array]:
    """Ordering values of a delete block with the types of the table's columns."""
    values = _one(table.column("ordering"))
    parts = values.flatten() if isinstance(values, pa.StructArray) else [values]
    if pa.types.is_null(values.type):
        return [pa.nulls(table.num_rows, kind) for kind in types]
    if len(parts) != len(types) and types:
        raise UnsupportedTableError(
            f"deletes with {len(parts)} ordering values in a table of {len(types)} ordering fields",
            path=block.path or None,
            instant=block.instant,
        )
    try:
        return [_cast(part, kind) for part, kind in zip(parts, types, strict=False)]
    except pa.ArrowException as error:
        raise UnsupportedTableError(
            f"ordering values of type {values.type} of deletes do not fit the ordering column: {error}",
            path=block.path or None,
            instant=block.instant,
        ) from error


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if values.type == kind:
        return values
    if pa.types.is_timestamp(values.type) and pa.types.is_timestamp(kind):
        return values.cast(pa.timestamp(kind.unit, values.type.tz), safe=False).cast(kind)
    if pa.types.is_integer(values.type) and (pa.types.is_date(kind) or pa.types.is_temporal(kind)):
        return values.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
    return values.cast(kind)


def _void_entries(events: LogEvents) -> Flags:
    """Entries of delete blocks that say nothing: what they meet is a delete without ordering value, which stays.

    Left in, their ordering value would hold off records that such a delete does not.
    """
    entry = (events.row < 0) & ~events.natural
    result = np.zeros(len(entry), np.bool_)
    if not events.natural.any() or not entry.any():
        return result
    order = np.argsort(events.key, kind="stable")
    place = np.arange(len(order))
    first = np.maximum.accumulate(np.where(np.diff(events.key[order], prepend=-1) != 0, place, 0))
    last_entry = np.maximum.accumulate(np.where(entry[order], -1, place))
    result[order] = entry[order] & (last_entry >= first) & events.natural[order[last_entry]]
    return result


def _winners(events: LogEvents, spec: MergeSpec) -> tuple[Ints, Ints]:
    """Each key's last word, and the event that voids it and all before it (-1 for none)."""
    keys, count = len(events.keys), len(events.key)
    position = np.arange(count)
    winner = np.zeros(keys, np.int64)
    winner[events.key] = position  # of equal keys the last assignment stays
    cut = np.full(keys, -1, np.int64)
    if spec.in_log is Order.COMMIT_TIME and not spec.deletes_in_order:
        void = np.flatnonzero(events.deletes)
        cut[events.key[void]] = void
        return winner, cut
    void = np.flatnonzero(events.natural)
    cut[events.key[void]] = void
    if spec.version == 8 and any(pa.types.is_string(column.type) for column in events.ordering):
        # Of texts version 8 cannot tell that a delete is older than a log record, but later ones are held against it.
        entry = np.flatnonzero((events.row < 0) & ~events.natural)
        np.maximum.at(cut, events.key[entry], entry - 1)
    current = position > cut[events.key]
    several = np.bincount(events.key[current], minlength=keys) > 1
    contested = np.flatnonzero(current & several[events.key])
    if not len(contested):
        return winner, cut
    rank = ranks([column.take(pa.array(contested)) for column in events.ordering], len(contested))
    if spec.in_log is Order.COMMIT_TIME or spec.equal_deletes:
        _by_turns(events, contested, rank, winner, in_order=spec.equal_deletes)
        return winner, cut
    if spec.deletes_yield:
        alive = _behind_deletes(events, contested, rank, winner)
        contested, rank = contested[alive], rank[alive]
    _greatest(events.key[contested], rank, contested, winner, first=spec.first_of_equals)
    return winner, cut


def _by_turns(events: LogEvents, contested: Ints, rank: Ints, winner: Ints, *, in_order: bool) -> None:
    """Set each key's winner where deletes go by ordering value, the later one among equals, but records do not.

    Records replace one another as they come, or, in order, the one of a greater ordering value replaces an earlier one.
    """
    key, deletes = events.key[contested], events.deletes[contested]
    last = np.zeros(len(events.keys), np.int64)
    for number, turn in enumerate(turns(key)):
        old = last[key[turn]]
        either = deletes[turn] | deletes[old]
        free = rank[turn] > rank[old] if in_order else ~either
        wins = free | (either & (rank[turn] >= rank[old])) | (number == 0)
        last[key[turn[wins]]] = turn[wins]
    winner[key] = contested[last[key]]


def _greatest(key: Ints, rank: Ints, position: Ints, winner: Ints, *, first: bool) -> None:
    """Set each key's winner to the position of the greatest rank, among equals the first or the last one."""
    order = np.lexsort((-position if first else position, rank, key))
    winner[key[order]] = position[order]


def _behind_deletes(events: LogEvents, contested: Ints, rank: Ints, winner: Ints) -> Flags:
    """Version 6: which contested records are left behind the last delete that takes effect.

    An entry of a delete block takes effect if no record since the last one that did has a greater ordering value. Each
    pass finds at least the next one of every key, and most often the last.
    """
    key = events.key[contested]
    entry = events.row[contested] < 0
    if not entry.any():
        return np.ones(len(contested), np.bool_)
    dense = np.unique(rank, return_inverse=True)[1].astype(np.int64) + 1
    order = np.lexsort((contested, key))
    span = int(dense.max()) + 1
    left = order
    cut = np.full(len(events.keys), -1, np.int64)
    while True:
        base = key[left] * span
        highest = np.maximum.accumulate(base + np.where(entry[left], 0, dense[left]))
        effective = left[entry[left] & (base + dense[left] >= highest)]
        if not len(effective):
            break
        cut[key[effective]] = contested[effective]
        left = left[contested[left] > cut[key[left]]]
    void = cut >= 0
    winner[void] = cut[void]
    alive = np.zeros(len(contested), np.bool_)
    alive[left[~entry[left]]] = True
    return alive
