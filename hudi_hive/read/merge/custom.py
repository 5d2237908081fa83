"""Merges the log of a slice by a registered merger: versions of a key one after the other, those of all keys at once.

A key's versions are its base row and then its log records in the order of the log. Wave ``k`` merges what has become of
each key with its ``k``-th log record, one call for all keys that have so many. So it does not count when a compaction
came in between, and copy-on-write tables, which merge each write into the base file, show the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedTableError
from hudi_hive.read.merge.log_events import LogEvents
from hudi_hive.read.merge.ordering_values import Flags, Ints, column_of, one_array
from hudi_hive.read.merge.put import put
from hudi_hive.read.merge.slice_merge import BATCH_ROWS, SliceMerge
from hudi_hive.schema import META_FIELDS
from hudi_hive.table.logs import one_batch
from hudi_hive.table.merge import CustomMerger, MergeSpec, RecordVersions


@dataclass(frozen=True, slots=True)
class Versions:
    """A version of each of some keys.

    Attributes:
        rows: columns of the slice, meta columns among them.
        deletes: whether each version is a delete.
        has_row: whether there is a row, and not only a key that is deleted.
    """

    rows: pa.RecordBatch
    deletes: Flags
    has_row: Flags

    def filter(self, keep: Flags) -> Versions:
        """Those of some keys."""
        return Versions(self.rows.filter(pa.array(keep)), self.deletes[keep], self.has_row[keep])


class CustomMerge(SliceMerge):
    """Base rows met with the log by a registered merger.

    Args:
        events: the log.
        spec: how the table merges; it has a merger.
        schema: columns of the rows: all of the table.
        path: the table's base path, for errors.

    Raises:
        UnsupportedTableError: log blocks that hold changed columns only.
    """

    def __init__(self, events: LogEvents, spec: MergeSpec, schema: pa.Schema, path: str | None = None) -> None:
        super().__init__(events.keys, spec, schema)
        assert spec.merger is not None
        self._merger: CustomMerger = spec.merger
        self._events = events
        self._path = path
        for block in events.blocks:
            if block.is_partial:
                raise UnsupportedTableError(
                    f"log blocks of changed columns only, in a table that {self._merger.class_name} merges",
                    path=block.path or path,
                    instant=block.instant,
                    remedy="query read_optimized, or write whole rows",
                )
        self._order = np.argsort(events.key, kind="stable")
        self._count = np.bincount(events.key, minlength=len(events.keys))
        self._start = np.cumsum(self._count) - self._count
        self._data = [name for name in schema.names if name not in META_FIELDS]

    def onto(self, batch: pa.RecordBatch, at: Ints, key: Ints) -> pa.RecordBatch:
        """The batch with the log merged into some rows; arguments as of :meth:`SliceMerge.onto`."""
        base = Versions(batch.take(pa.array(at)), np.zeros(len(at), np.bool_), np.ones(len(at), np.bool_))
        last = self._through(base, key, 0)
        stays = ~last.deletes
        left = last.filter(stays).rows
        columns = [put(column, at[stays], values) for column, values in zip(batch.columns, left.columns, strict=True)]
        batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        if stays.all():
            return batch
        keep = np.ones(batch.num_rows, np.bool_)
        keep[at[~stays]] = False
        return batch.filter(pa.array(keep))

    def new_rows(self) -> Iterator[pa.RecordBatch]:
        """Records of keys that the base does not have."""
        keys = np.flatnonzero(~self.seen)
        for start in range(0, len(keys), BATCH_ROWS):
            last = self.alone(keys[start : start + BATCH_ROWS])
            if not last.deletes.all():
                yield last.filter(~last.deletes).rows

    def alone(self, key: Ints) -> Versions:
        """What the log alone makes of keys."""
        return self._through(self._versions(key, 0), key, 1)

    def _through(self, state: Versions, key: Ints, wave: int) -> Versions:
        """Merge what there is of keys with their log records from a number on."""
        at = np.arange(len(key))
        done: list[Versions] = []
        places: list[Ints] = []
        while len(key):
            more = self._count[key] > wave
            if not more.all():
                done.append(state.filter(~more))
                places.append(at[~more])
                state, key, at = state.filter(more), key[more], at[more]
            if len(key):
                state = self._merge(state, self._versions(key, wave), key)
                wave += 1
        if len(done) == 1:  # and so in the order of the keys
            return done[0]
        order = np.argsort(np.concatenate([at, *places]))
        rows = pa.Table.from_batches([each.rows for each in done], self.schema).take(pa.array(order))
        return Versions(
            one_batch(rows),
            np.concatenate([state.deletes[:0], *(each.deletes for each in done)])[order],
            np.concatenate([state.has_row[:0], *(each.has_row for each in done)])[order],
        )

    def _versions(self, key: Ints, wave: int) -> Versions:
        """The log record of each key of a number."""
        events = self._events
        event = self._order[self._start[key] + wave]
        row = events.row[event]
        named_only = row < 0
        if not named_only.any():
            rows = one_batch(events.rows.take(pa.array(row)))
            return Versions(rows, events.deletes[event], ~named_only)
        at = pa.array(row, mask=named_only)
        columns = {item.name: self._taken(item, at) for item in self.schema}
        for name, values in zip(self.spec.ordering_fields, events.ordering, strict=False):
            if name in columns:
                columns[name] = pc.if_else(pa.array(named_only), values.take(pa.array(event)), columns[name])
        rows = pa.RecordBatch.from_arrays(list(columns.values()), schema=self.schema)
        return Versions(rows, events.deletes[event], ~named_only)

    def _taken(self, item: pa.Field, at: pa.Array) -> pa.Array:
        if at.null_count == len(at):
            return pa.nulls(len(at), item.type)
        return one_array(self._events.rows.column(item.name).take(at))

    def _merge(self, older: Versions, newer: Versions, key: Ints) -> Versions:
        """Call the merger, and give its rows their meta columns."""
        keys = self.keys.take(pa.array(key))
        first, then = (
            RecordVersions(keys, each.rows.select(self._data), pa.array(each.deletes)) for each in (older, newer)
        )
        merged = self._merger.merge(first, then, self._path)
        has_row = older.has_row | newer.has_row
        if (~merged.deletes & ~has_row).any():
            raise self._merger.error("made records of deletes that name nothing but their keys", self._path)
        of_older = pa.array((merged.unchanged & older.has_row) | ~newer.has_row)
        columns = []
        for name, mine, theirs in zip(self.schema.names, older.rows.columns, newer.rows.columns, strict=True):
            is_meta = name in META_FIELDS
            columns.append(pc.if_else(of_older, mine, theirs) if is_meta else merged.rows.column(name))
        rows = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        self._check_keys(rows, older, newer, ~merged.deletes)
        return Versions(rows, merged.deletes, has_row)

    def _check_keys(self, rows: pa.RecordBatch, older: Versions, newer: Versions, stays: Flags) -> None:
        """Refuse rows of other record keys: files are left out by keys, and some tables have no other key."""
        fields = [name for name in self._merger.key_fields if name.partition(".")[0] in self._data]
        for version, chosen in ((newer, stays & newer.has_row), (older, stays & ~newer.has_row)):
            mask = pa.array(chosen)
            for name in fields:
                if not column_of(rows, name).filter(mask).equals(column_of(version.rows, name).filter(mask)):
                    raise self._merger.error(
                        f"gave other values of {name!r}, of which record keys are made", self._path
                    )
