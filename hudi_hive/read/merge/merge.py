"""Merges the base file of a slice with its log files.

Base batches and log blocks in, merged batches out: base rows in their order, then new keys in the order of the log.
Base batches that hold no key of the log come out as they are. Filters belong behind the merge: a base row that they
drop may be the one that a log record loses against.

Source: docs/format.md#merge-modes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.read.columns import Reconciler
from hudi_hive.read.merge.custom import CustomMerge
from hudi_hive.read.merge.folding import Folded, fold, log_events
from hudi_hive.read.merge.ordering_values import Flags, Ints, not_less, one_array, ordering_columns, sequence_numbers
from hudi_hive.read.merge.partial import default_of, keeps
from hudi_hive.read.merge.put import put
from hudi_hive.read.merge.slice_merge import BATCH_ROWS, SliceMerge
from hudi_hive.schema import META_FIELDS
from hudi_hive.table.logs import LogData, LogRecords
from hudi_hive.table.merge import MergeSpec, Order

_MOST_WAITING_ROWS = 1 << 20
_MOST_WAITING_BYTES = 64 << 20

Reconcile = Callable[[LogData], pa.RecordBatch]
"""A data block to a batch of the wanted schema; columns that the block lacks are null."""


def merge_slice(
    base_batches: Iterable[pa.RecordBatch] | None,
    logs: LogRecords,
    spec: MergeSpec,
    schema: pa.Schema,
    *,
    reconcile: Reconcile | None = None,
    path: str | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the merged rows of a file slice.

    Args:
        base_batches: rows of the base file with the columns of ``schema``, None or nothing for a slice without one.
        logs: the blocks of its log files that count, oldest first.
        spec: how the table merges.
        schema: columns of the result; they must hold :meth:`MergeSpec.columns`.
        reconcile: data blocks to ``schema``; by name if None.
        path: the table's base path, for errors of a registered merger.

    Yields:
        Batches with ``schema``, none of them empty.

    Raises:
        UnsupportedTableError: ordering values that cannot be compared, keys whose text is not defined.
        CorruptFileError: a record without a key.
        SchemaError: a column of a block cannot become the table's.
        MergerError: the table's registered merger failed, or gave what does not fit.
    """
    merger = _merger(logs, spec, schema, reconcile or _by_name(schema), path)
    if merger is None:
        yield from (batch for batch in base_batches or () if batch.num_rows)
        return
    del logs  # the merger has its rows
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    most = max(BATCH_ROWS, min(len(merger.seen), _MOST_WAITING_ROWS))
    for batch in base_batches or ():
        if not batch.num_rows:
            continue
        waiting.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        del batch  # in the list alone, which gives each back as it is merged
        if rows >= most or size >= _MOST_WAITING_BYTES:
            yield from merger.merged(waiting)
            rows = size = 0
    yield from merger.merged(waiting)
    yield from merger.new_rows()


def _merger(
    logs: LogRecords, spec: MergeSpec, schema: pa.Schema, reconcile: Reconcile, path: str | None
) -> SliceMerge | None:
    """What merges the log by the table's rules; None for a log without records."""
    if spec.merger is not None:
        events = log_events(logs, spec, schema, reconcile)
        return None if events is None else CustomMerge(events, spec, schema, path)
    folded = fold(logs, spec, schema, reconcile)
    data = logs.data
    return None if folded is None else _Merger(folded, spec, schema, data[-1].schema if data else None)


def _by_name(schema: pa.Schema) -> Reconcile:
    return lambda block: Reconciler(block.batch.schema, schema, path=block.path or None).apply(block.batch)


class _Merger(SliceMerge):
    """Base rows met with the folded log."""

    def __init__(self, folded: Folded, spec: MergeSpec, schema: pa.Schema, newest: Mapping[str, Any] | None) -> None:
        super().__init__(folded.keys, spec, schema)
        self._log = folded
        self._newest = newest
        self._compares = spec.on_base is Order.EVENT_TIME or spec.deletes_in_order

    def new_rows(self) -> Iterator[pa.RecordBatch]:
        """Records of keys that the base does not have."""
        keys = np.flatnonzero(~self.seen & ~self._log.deleted)
        for start in range(0, len(keys), BATCH_ROWS):
            part = keys[start : start + BATCH_ROWS]
            row = self._log.row[part]
            arrays = []
            for name in self.schema.names:
                chosen = row
                for sources in (self._log.present, self._log.sources):
                    if name in sources:
                        chosen = np.where(sources[name][part] < 0, chosen, sources[name][part])
                arrays.append(self._values(name, chosen))
            if arrays:
                yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _values(self, name: str, rows: Ints) -> pa.Array:
        return one_array(self._log.rows.column(name).take(pa.array(rows)))

    def onto(self, batch: pa.RecordBatch, at: Ints, key: Ints) -> pa.RecordBatch:
        """The batch with the log's words on some rows; arguments as of :meth:`SliceMerge.onto`."""
        wins = self._wins(batch, at, key)
        deleted = self._log.deleted[key]
        drop = at[deleted & (wins | self._log.always[key])]
        replaced, key_of = at[wins & ~deleted], key[wins & ~deleted]
        if len(replaced):
            batch = self._replace(batch, replaced, key_of)
        if self.spec.partial is not None and self.spec.loser_fills and not wins.all():
            lost = ~wins & ~deleted
            batch = self._fill(batch, at[lost], key[lost])
        if len(drop):
            keep = np.ones(batch.num_rows, np.bool_)
            keep[drop] = False
            batch = batch.filter(pa.array(keep))
        return batch

    def _wins(self, batch: pa.RecordBatch, at: Ints, key: Ints) -> Flags:
        """Whether the log's word beats the base record."""
        wins = np.ones(len(at), np.bool_)
        if not self._compares or not self._log.ordering:
            return wins
        undecided = ~self._log.always[key]
        if self.spec.on_base is Order.COMMIT_TIME:
            undecided &= self._log.deleted[key]
        open_ = np.flatnonzero(undecided)
        rows, numbers = pa.array(at[open_]), pa.array(key[open_])
        base_ordering = [column.take(rows) for column in ordering_columns(batch, self.spec.ordering_fields)]
        log_ordering = [column.take(numbers) for column in self._log.ordering]
        if self.spec.deletes_yield:
            # Version 6: a base record without ordering value gives way.
            missing = np.ones(len(open_), np.bool_)
            for column in base_ordering:
                missing &= pc.is_null(column).to_numpy(zero_copy_only=False)
            with_ordering = pa.array(np.flatnonzero(~missing))
            result = np.ones(len(open_), np.bool_)
            log_ordering, base_ordering = (
                [c.take(with_ordering) for c in log_ordering],
                [c.take(with_ordering) for c in base_ordering],
            )
            if self.spec.sequence:
                result[~missing] = ~not_less(
                    sequence_numbers(base_ordering), sequence_numbers(log_ordering), len(with_ordering)
                )
            else:
                result[~missing] = self._beats(log_ordering, base_ordering, key[open_][~missing])
        else:
            result = self._beats(log_ordering, base_ordering, key[open_])
        wins[open_] = result
        return wins

    def _beats(self, log: Sequence[pa.Array], base: Sequence[pa.Array], key: Ints) -> Flags:
        """Whether ordering values of the log beat those of base records; with the number of each one's key."""
        wins = not_less(log, base, len(key))
        if not self.spec.first_of_equals:
            return wins
        greater = ~not_less(base, log, len(key))
        return np.where(self._log.deleted[key], wins, greater) if self.spec.equal_deletes else greater

    def _replace(self, batch: pa.RecordBatch, at: Ints, key: Ints) -> pa.RecordBatch:
        row = self._log.row[key]
        arrays = []
        for name, column in zip(self.schema.names, batch.columns, strict=True):
            source = self._log.sources.get(name)
            if source is None:
                arrays.append(put(column, at, self._values(name, row)))
                continue
            has = source[key] >= 0
            arrays.append(put(column, at[has], self._values(name, source[key][has])))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _fill(self, batch: pa.RecordBatch, at: Ints, key: Ints) -> pa.RecordBatch:
        """Partial update modes where the base record wins: its default values are filled from the log."""
        if not len(at):
            return batch
        arrays = []
        for field, column in zip(self.schema, batch.columns, strict=True):
            default = None if self._newest is None else default_of(self._newest, field)
            source = self._log.sources[field.name][key]
            open_ = source >= 0
            if not (self.spec.newest_meta and field.name in META_FIELDS):
                open_ &= ~keeps(column.take(pa.array(at)), self.spec, default)
            arrays.append(put(column, at[open_], self._values(field.name, source[open_])))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
