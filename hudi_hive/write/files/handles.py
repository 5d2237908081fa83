"""Writes the rows of a file group to one file: a new base file, a merged base file, or a log file.

Pure functions of a :class:`~hudi_hive.write.files.WriteContext` and Arrow tables, run in threads here and on executors
of Spark there; each gives one row of ``WRITE_STATUS_SCHEMA``. Every file is new and has a marker before it exists.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats.log import delete_block
from hudi_hive.read.merge import merge_slice, ordering_columns, record_keys, soft_deletes
from hudi_hive.read.scan import BaseScan, mapping_at, read_base_files, skeleton_columns
from hudi_hive.table.bootstrap import is_skeleton
from hudi_hive.table.logs import LogData, LogDeletes, LogRecords, one_batch
from hudi_hive.write.files.base_positions import BasePositions, take_positions
from hudi_hive.write.files.cdc_files import write_changes
from hudi_hive.write.files.context import COMMIT_TIME, FILE_NAME, PARTITION_PATH, RECORD_KEY, Attempt, WriteContext
from hudi_hive.write.files.log_blocks import data_blocks, log_ranges
from hudi_hive.write.files.statuses import status

_NO_TEXT = pa.nulls(0, pa.string())


@dataclass(frozen=True, slots=True)
class TargetSlice:
    """The file group that rows are written to, with its newest slice.

    Attributes:
        partition: partition path.
        file_id: the file group.
        base_instant: instant of the slice; None for a new group.
        base_file: name of its base file, or None.
        base_size: bytes of that file.
        log_version: greatest version of its log files, 0 without any.
        log_files: names of its log files, oldest first.
    """

    partition: str
    file_id: str
    base_instant: str | None = None
    base_file: str | None = None
    base_size: int = 0
    log_version: int = 0
    log_files: tuple[str, ...] = ()


def base_file_name(context: WriteContext, file_id: str, attempt: Attempt) -> str:
    """Name of the base file that this write makes for a group."""
    return f"{file_id}_{attempt.token}_{context.instant}.{context.config.base_file_format}"


def write_new_group(context: WriteContext, attempt: Attempt, target: TargetSlice, rows: Iterable[pa.Table]) -> pa.Table:
    """Write the base file of a new file group.

    Args:
        context: the write.
        attempt: who writes.
        target: the new group.
        rows: tables as :meth:`WriteContext.stamped` takes them.
    """
    name = base_file_name(context, target.file_id, attempt)
    keys: list[pa.Array] = []
    first = 0
    with context.begin_base_file(target.partition, name, statistics=context.ranges) as file:
        for table in rows:
            file.write(context.stamped(table, name, attempt, first, partition=target.partition))
            first += table.num_rows
            if context.tracks_keys:
                keys += table.column(RECORD_KEY).chunks
        written = file.close()
    return status(
        target.partition,
        target.file_id,
        name,
        num_writes=written.rows,
        num_inserts=written.rows,
        size=written.size,
        ranges=written.ranges if context.ranges else None,
        keys_added=pa.concat_arrays(keys) if keys else None,
    )


def write_merged_base(
    context: WriteContext, attempt: Attempt, target: TargetSlice, rows: pa.Table | None, deletes: pa.Table | None = None
) -> pa.Table:
    """Write the next base file of a group: its rows merged with those of this write.

    Args:
        context: the write.
        attempt: who writes.
        target: the group; its slice has a base file and no log files.
        rows: as :meth:`WriteContext.stamped` takes them; marked ones delete.
        deletes: ``record_key`` and ``partition_path`` of records to delete whatever their ordering values are.

    Raises:
        FileVanishedError, CorruptFileError, SchemaError: of the old base file.
        UnsupportedTableError: ordering values that cannot be compared.
    """
    assert target.base_file is not None
    name = base_file_name(context, target.file_id, attempt)
    incoming = None if rows is None or not rows.num_rows else one_batch(context.stamped(rows, name, attempt))
    merge = _Merge(context, incoming, deletes)
    with context.begin_base_file(target.partition, name, merges=True, statistics=context.ranges) as file:
        for batch in merge.batches(_base_batches(context, target)):
            file.write(_renamed(batch, name))
        written = file.close()
    cdc = {}
    if context.logs_changes:
        cdc = write_changes(
            context, attempt, target.partition, target.file_id, merge.before(), merge.after(), merge.removed
        )
    return status(
        target.partition,
        target.file_id,
        name,
        prev_commit=target.base_instant,
        prev_base_file=target.base_file,
        num_writes=written.rows,
        num_inserts=len(merge.added),
        num_updates=merge.updates,
        num_deletes=len(merge.removed),
        size=written.size,
        cdc=cdc or None,
        ranges=written.ranges if context.ranges else None,
        keys_added=merge.added if context.tracks_keys else None,
        keys_removed=merge.removed if context.tracks_keys else None,
    )


def append_log(
    context: WriteContext,
    attempt: Attempt,
    target: TargetSlice,
    rows: pa.Table | None,
    deletes: pa.Table | None = None,
    *,
    new: int = 0,
    updates: pa.Table | None = None,
) -> pa.Table:
    """Write a log file for a group: a block of rows, one of the changed columns of others, then a block of deletes.

    Source: docs/format.md#file-names, docs/format.md#log-files.

    Args:
        context: the write.
        attempt: who writes.
        target: the group.
        rows: as :meth:`WriteContext.stamped` takes them; marked ones go into the block of deletes.
        deletes: ``record_key`` and ``partition_path`` of records to delete, and ordering values; whatever those of the
            records are without them. Both with ``POSITION`` or without.
        new: how many of the rows the group does not have.
        updates: whole rows, of which the block holds :attr:`WriteContext.changed_columns`.
    """
    blocks, batch, marked = _log_rows(context, target, attempt, rows, updates)
    removed, gone = _delete_blocks(context, target, marked, deletes)
    blocks += removed
    name, version = log_file_name(context, target, attempt)
    path = context.begin_file(target.partition, name)
    data = b"".join(blocks)
    context.storage.write_bytes(path, data)
    count = 0 if batch is None else batch.num_rows
    return status(
        target.partition,
        target.file_id,
        name,
        prev_commit=target.base_instant if target.base_instant is not None else context.instant,
        num_writes=count,
        num_inserts=new,
        num_updates=count - new,
        num_deletes=len(gone),
        size=len(data),
        ranges=log_ranges(batch) if batch is not None and context.ranges and count else None,
        log_version=version,
        # The whole slice, newest first, as Hudi does: change data is told from it without a listing.
        log_files=[*reversed(target.log_files), name],
        base_file=target.base_file,
        log_records=count,
        log_blocks=len(blocks),
        # An index of base files knows keys that log files deleted: so every row is told, also where it is not new.
        keys_added=batch.column(RECORD_KEY) if batch is not None and context.tracks_keys else None,
        keys_removed=_forgotten(context, target, gone, marked) if context.tracks_keys else None,
    )


def _forgotten(context: WriteContext, target: TargetSlice, gone: pa.Array, marked: _MarkedRows | None) -> pa.Array:
    """Which of the keys that a log file deletes the record index forgets: those of records that do not stay.

    A registered merger may keep what a delete names, and so does version 6 if a record in the log is newer than the
    delete. An index that knows too many keys is right all the same.
    """
    if context.spec.merger is not None:
        return _NO_TEXT
    if context.spec.deletes_yield and target.log_files and marked is not None:
        return gone.slice(marked.batch.num_rows)
    return gone


class _MarkedRows(NamedTuple):
    """Rows that delete, and the positions of their records."""

    batch: pa.RecordBatch
    positions: BasePositions | None


def _log_rows(
    context: WriteContext, target: TargetSlice, attempt: Attempt, rows: pa.Table | None, updates: pa.Table | None
) -> tuple[list[bytes], pa.RecordBatch | None, _MarkedRows | None]:
    """The data blocks of a log file, the rows in them, and rows that delete."""
    batch: pa.RecordBatch | None = None
    marked: _MarkedRows | None = None
    blocks: list[bytes] = []
    if rows is not None and rows.num_rows:
        rows, places = take_positions(rows, used=context.files.record_positions)
        batch = one_batch(context.stamped(rows, target.file_id, attempt))
        soft = pa.array(soft_deletes(batch, context.spec))
        marked = _MarkedRows(batch.filter(soft), _positions(context, target, places, soft))
        stays = pc.invert(soft)
        batch = batch.filter(stays)
        if batch.num_rows:
            blocks += data_blocks(context, batch, positions=_positions(context, target, places, stays))
    if updates is not None and updates.num_rows:
        first = 0 if batch is None else batch.num_rows
        changed = one_batch(context.stamped(updates, target.file_id, attempt, first))
        blocks += data_blocks(context, changed, changes=True)
        both = [changed] if batch is None else [batch, changed]
        batch = one_batch(pa.Table.from_batches(both))
    return blocks, batch, marked


def _positions(
    context: WriteContext, target: TargetSlice, places: pa.Array | None, chosen: pa.Array | None = None
) -> BasePositions | None:
    """What the headers of a block say of the chosen records; None where they say nothing."""
    if places is None or target.base_file is None:
        return None
    # Rows of a skeleton are those of another file as well.
    instant = None if is_skeleton(target.base_file) else target.base_instant
    return BasePositions.of(instant, places if chosen is None else places.filter(chosen))


def _delete_blocks(
    context: WriteContext, target: TargetSlice, marked: _MarkedRows | None, deletes: pa.Table | None
) -> tuple[list[bytes], pa.Array]:
    """The blocks of a log file that delete, and the keys of records that they delete."""
    blocks: list[bytes] = []
    removed: list[pa.Array] = []
    if marked is not None and marked.batch.num_rows:
        table = _soft_delete_keys(context, target, marked.batch)
        removed.append(table.column("record_key").combine_chunks())
        headers = None if marked.positions is None else marked.positions.headers()
        blocks.append(delete_block(context.instant, table, extra_headers=headers))
    if deletes is not None and deletes.num_rows:
        deletes, places = take_positions(deletes, used=context.files.record_positions)
        removed.append(deletes.column("record_key").combine_chunks())
        positions = _positions(context, target, places)
        headers = None if positions is None else positions.headers()
        blocks.append(delete_block(context.instant, deletes, extra_headers=headers))
    return blocks, pa.concat_arrays(removed) if removed else _NO_TEXT


def log_file_name(context: WriteContext, target: TargetSlice, attempt: Attempt) -> tuple[str, int]:
    """Name and version of the log file that this write makes for a group (docs/format.md#file-names)."""
    if context.config.version >= 8:
        return f".{target.file_id}_{context.instant}.log.1_{attempt.token}", 1
    version = target.log_version + 1
    instant = target.base_instant if target.base_instant is not None else context.instant
    return f".{target.file_id}_{instant}.log.{version}_{attempt.token}", version


def _soft_delete_keys(context: WriteContext, target: TargetSlice, marked: pa.RecordBatch) -> pa.Table:
    """Keys of marked rows, with the ordering values that decide whether they delete."""
    keys = record_keys(marked, context.spec)
    columns = {
        "record_key": keys,
        "partition_path": pa.repeat(pa.scalar(target.partition, pa.string()), marked.num_rows),
    }
    fields = context.spec.ordering_fields
    columns |= dict(zip(fields, ordering_columns(marked, fields), strict=True))
    return pa.table(columns)


def _base_batches(context: WriteContext, target: TargetSlice) -> Iterator[pa.RecordBatch]:
    files = pa.table({"partition": [target.partition], "name": [target.base_file], "size": [target.base_size]})
    mapping = None if target.base_instant is None else mapping_at(context.evolved, target.base_instant)
    scan = BaseScan(target_schema=context.schema, mapping_of=lambda _: mapping)
    if is_skeleton(str(target.base_file)):
        values = skeleton_columns(context.config, target.partition, context.schema)
        scan = replace(scan, partition_columns=values, partition_fields=context.config.partition_fields)
    return read_base_files(context.storage, files, scan, threads=1)


def _renamed(batch: pa.RecordBatch, name: str) -> pa.RecordBatch:
    """Rows with the name of the file that they are in now."""
    at = batch.schema.get_field_index(FILE_NAME)
    if at < 0:
        return batch
    names = pa.repeat(pa.scalar(name, pa.string()), batch.num_rows)
    return batch.set_column(at, batch.schema.field(at), names)


@dataclass
class _Merge:
    """Base rows and those of this write to the rows of the next base file; remembers what changed.

    Attributes:
        context: the write.
        incoming: its rows, with all columns of the file; None for none.
        deletes: keys that it deletes; None for none.
        added: keys that the group did not have.
        removed: keys that it has no more.
        updates: rows that were replaced.
    """

    context: WriteContext
    incoming: pa.RecordBatch | None
    deletes: pa.Table | None
    added: pa.Array = field(default_factory=lambda: _NO_TEXT)
    removed: pa.Array = field(default_factory=lambda: _NO_TEXT)
    updates: int = 0
    _old: list[pa.RecordBatch] = field(default_factory=list)
    _new: list[pa.RecordBatch] = field(default_factory=list)
    _met: list[pa.Array] = field(default_factory=list)
    _further_rows: list[pa.RecordBatch] = field(default_factory=list)

    def batches(self, base: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of the next base file; afterwards the attributes are told."""
        spec, incoming = self.context.spec, self.incoming
        keys = _NO_TEXT if incoming is None else record_keys(incoming, spec)
        if self.context.allows_duplicates and self.deletes is None and incoming is not None:
            yield from base
            self._new.append(incoming)
            self.added = keys
            yield incoming
            return
        leaving = [] if self.deletes is None else self.deletes.column("record_key").chunks
        if incoming is not None:
            leaving = [*leaving, keys.filter(pa.array(soft_deletes(incoming, spec)))]
        deletable = pa.concat_arrays([_NO_TEXT, *leaving])
        named = pa.concat_arrays([keys, deletable])
        if spec.merger is not None:
            deletable = named  # it may delete what no row marks
        spared: list[pa.Array] = []
        base_rows = new_rows = 0
        merged = self._merged(self._tapped(base, named), incoming)
        for batch in itertools.chain(merged, self._further()):
            own = record_keys(batch, spec)
            if len(deletable):
                spared.append(own.filter(pc.is_in(own, value_set=deletable)))
            changed = self._changed(batch, own, keys)
            self._new.append(batch.filter(changed) if self.context.logs_changes else batch.slice(0, 0))
            new_rows += pc.sum(changed).as_py() or 0
            base_rows += batch.num_rows
            yield batch
        met = pa.concat_arrays([_NO_TEXT, *self._met])
        left = pa.concat_arrays([_NO_TEXT, *spared])
        self.removed = _without(deletable.filter(pc.is_in(deletable, value_set=met)).unique(), left)
        self.added = _without(_without(keys, met), _without(deletable, left)).unique()
        self.updates = max(0, new_rows - len(self.added))

    def before(self) -> pa.Table:
        """Rows that the group had of the keys that this write names."""
        return pa.Table.from_batches(self._old, schema=self.context.schema)

    def after(self) -> pa.Table:
        """Rows that this write has put into the group."""
        return pa.Table.from_batches(self._new, schema=self.context.schema)

    def _tapped(self, base: Iterable[pa.RecordBatch], named: pa.Array) -> Iterator[pa.RecordBatch]:
        """Base rows, but of each key that the write names the first one alone."""
        named = named.unique()
        seen = np.zeros(len(named), np.bool_)
        for batch in base:
            keys = record_keys(batch, self.context.spec)
            place = pc.index_in(keys, value_set=named)
            meets = place.is_valid()
            self._met.append(keys.filter(meets))
            if self.context.logs_changes:
                self._old.append(batch.filter(meets))
            further = _further_ones(place.drop_null().to_numpy(), seen)
            if further.any():
                rows = np.flatnonzero(meets.to_numpy(zero_copy_only=False))[further]
                self._further_rows.append(batch.take(pa.array(rows)))
                others = np.ones(batch.num_rows, np.bool_)
                others[rows] = False
                batch = batch.filter(pa.array(others))
            yield batch

    def _further(self) -> Iterator[pa.RecordBatch]:
        """Further rows of keys that the file has more than once: they are updated and deleted as the first ones."""
        while self._further_rows:
            rows = one_batch(pa.Table.from_batches(self._further_rows))
            keys = record_keys(rows, self.context.spec)
            later = pa.array(_further_ones(keys.dictionary_encode().indices.to_numpy(), np.zeros(len(keys), np.bool_)))
            self._further_rows = [rows.filter(later)] if pc.any(later).as_py() else []
            incoming = self.incoming
            if incoming is not None:
                incoming = incoming.filter(pc.is_in(record_keys(incoming, self.context.spec), value_set=keys))
            first = rows.filter(pc.invert(later))
            yield from self._merged([first], incoming)

    def _merged(self, base: Iterable[pa.RecordBatch], incoming: pa.RecordBatch | None) -> Iterator[pa.RecordBatch]:
        context = self.context
        return merge_slice(base, self._records(incoming), context.spec, context.schema, path=context.storage.uri())

    def _changed(self, batch: pa.RecordBatch, own: pa.Array, keys: pa.Array) -> pa.Array:
        if self.context.has_meta:
            return pc.equal(batch.column(COMMIT_TIME), self.context.instant).fill_null(False)
        return pc.is_in(own, value_set=keys)

    def _records(self, incoming: pa.RecordBatch | None) -> LogRecords:
        """The write as a log would hold it."""
        blocks: list[LogData | LogDeletes] = []
        if incoming is not None and incoming.num_rows:
            blocks.append(LogData(self.context.instant, incoming, self.context.avro_schema))
        if self.deletes is not None and self.deletes.num_rows:
            count = self.deletes.num_rows
            table = self.deletes.select(["record_key", "partition_path"])
            table = table.append_column("ordering", pa.nulls(count))
            table = table.append_column("has_ordering", pa.array(np.zeros(count, np.bool_)))
            blocks.append(LogDeletes(self.context.instant, table))
        return LogRecords(tuple(blocks))


def _further_ones(numbers: npt.NDArray[np.integer[Any]], seen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which numbers have come before, by ``seen`` or among these; all of them are seen afterwards."""
    first = np.zeros(len(numbers), np.bool_)
    first[np.unique(numbers, return_index=True)[1]] = True
    further: npt.NDArray[np.bool_] = ~first | seen[numbers]
    seen[numbers] = True
    return further


def _without(keys: pa.Array, others: pa.Array) -> pa.Array:
    return keys if not len(others) else keys.filter(pc.invert(pc.is_in(keys, value_set=others)))


__all__ = [
    "PARTITION_PATH",
    "TargetSlice",
    "append_log",
    "base_file_name",
    "log_file_name",
    "write_merged_base",
    "write_new_group",
]
