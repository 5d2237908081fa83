"""Tasks of writes on Spark that give lines to file groups and write the files of these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from hudi_hive.batches import gathered_tables, rows_by_number, rows_by_text
from hudi_hive.metadata.reader import group_indexes
from hudi_hive.spark.bridge import release_memory
from hudi_hive.spark.write.located_rows import tables_with_places
from hudi_hive.spark.write.packed_rows import packed_lines, rows_of_lines
from hudi_hive.spark.write.row_changes import split_rows
from hudi_hive.spark.write.tasks import (
    FILE_ID,
    GROUP,
    IS_GONE,
    IS_NEW,
    Batches,
    CombineRows,
    as_schema,
    step,
)
from hudi_hive.table.merge import MergeSpec
from hudi_hive.write.files import (
    PARTITION_PATH,
    POSITION,
    RECORD_KEY,
    WRITE_STATUS_SCHEMA,
    TargetSlice,
    WriteContext,
    WriteHandle,
    WriteTask,
    assign_inserts,
    attempts,
    file_ids_of_task,
    first_positions,
    new_file_id,
    run_write_task,
)
from hudi_hive.write.index import one_array
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.records import KeyedRecords

_BUFFERED_BYTES: Final = 512 << 20
_SORTED_BYTES: Final = 16 << 20


@dataclass(frozen=True)
class PlaceRows:
    """Rows that any group may take get one of those that were assigned; all lines get their group's number.

    A row's key decides, so that a task that runs again gives its rows to the same groups.

    Attributes:
        assignment: file groups for new rows and how many each is to take.
        groups: ``partition`` and ``file_id`` of each group, by number.
        schema: of prepared rows.
        tasks: that write.
    """

    assignment: pa.Table = field(repr=False)
    groups: pa.Table = field(repr=False)
    schema: pa.Schema = field(repr=False)
    tasks: int

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Packed lines with the number of their group, by the number of the task that writes it."""
        shares = _Shares(self.assignment)
        group_names = _paired(self.groups.column("partition"), self.groups.column("file_id"))
        for rows in tables_with_places(batches, self.schema):
            partition, file_id = rows.column(PARTITION_PATH), one_array(rows.column(FILE_ID))
            free = pc.is_null(file_id)
            if pc.any(free, min_count=0).as_py():
                taken = shares.of(partition.filter(free).combine_chunks(), rows.column(RECORD_KEY).filter(free))
                file_id = pc.replace_with_mask(file_id, free, taken)
            number = pc.index_in(_paired(partition, file_id), value_set=group_names.combine_chunks())
            placed = rows.append_column(GROUP, number.cast(pa.int32())).combine_chunks()
            by_task = rows_by_number(number.to_numpy() % self.tasks)
            yield from packed_lines((task, placed.take(pa.array(at))) for task, at in by_task)


class _Shares:
    """Which group takes a new row: by the hash of its key, in the proportions of the assignment."""

    def __init__(self, assignment: pa.Table) -> None:
        self._partitions = assignment.column("partition").combine_chunks()
        self._file_ids = assignment.column("file_id").combine_chunks()
        self._rows = assignment.column("rows").to_numpy()

    def of(self, partitions: pa.Array, keys: pa.ChunkedArray) -> pa.Array:
        encoded = partitions.dictionary_encode()
        partition_ids = encoded.indices.to_numpy(zero_copy_only=False)
        lines = np.full(len(partition_ids), -1, np.int64)
        hashes = group_indexes(one_array(keys).cast(pa.string()), 1 << 20) / float(1 << 20)
        for partition_id, name in enumerate(encoded.dictionary.to_pylist()):
            choices = np.flatnonzero(pc.equal(self._partitions, name).to_numpy(zero_copy_only=False))
            if len(choices):
                mine = np.flatnonzero(partition_ids == partition_id)
                edges = np.cumsum(self._rows[choices]) / self._rows[choices].sum()
                at = np.minimum(np.searchsorted(edges, hashes[mine], side="right"), len(choices) - 1)
                lines[mine] = choices[at]
        return self._file_ids.take(pa.array(lines, mask=lines < 0))


def _paired(partitions: pa.ChunkedArray, file_ids: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(file_ids, partitions, "/")


@dataclass(frozen=True)
class WriteFileGroups:
    """Lines of some file groups, packed or not, to a file for each of them; a task has all lines of its groups.

    Attributes:
        context: the write.
        schema: of prepared rows.
        groups: what happens to each group, by number.
        untagged: the rows were neither combined nor looked up: new ones that delete are left out.
        combine: makes one row of untagged ones of a key, by the number of their order; None for no such thing.
    """

    context: WriteContext
    schema: pa.Schema
    groups: tuple[tuple[WriteHandle, TargetSlice], ...] = field(repr=False)
    untagged: bool = False
    combine: CombineRows | None = None

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Statuses."""
        table = rows_of_lines(batches)
        if table is None:
            return
        numbers = attempts()
        order = np.argsort(table.column(GROUP).to_numpy(), kind="stable")
        group = table.column(GROUP).to_numpy()[order]
        starts = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
        table = table.take(pa.array(order))
        for start, end in zip(starts, np.append(starts[1:], len(group)), strict=True):
            part = table.slice(start, end - start).combine_chunks()
            handle, target = self.groups[group[start]]
            gone = part.filter(part.column(IS_GONE))
            rows = part.filter(pc.invert(part.column(IS_GONE)))
            own, new = self._own(rows)
            if not own.num_rows and not gone.num_rows:
                continue
            split = split_rows(own, _leaving(gone), handle, self.context)
            task = WriteTask(handle, target, next(numbers), split.rows, split.deletes, new, split.updates)
            yield from run_write_task((self.context, task)).cast(WRITE_STATUS_SCHEMA).to_batches()

    def _own(self, rows: pa.Table) -> tuple[pa.Table, int]:
        """The rows of a group, and how many of them it does not have."""
        if not self.untagged:
            own = rows.select(self.schema.names).cast(self.schema)
            if POSITION in rows.column_names:
                own = own.append_column(POSITION, rows.column(POSITION))
            return own, int(pc.sum(rows.column(IS_NEW)).as_py() or 0)
        if self.combine is None:
            own, is_new = rows.select(self.schema.names).cast(self.schema), rows.column(IS_NEW)
        else:
            there = one_array(rows.column(RECORD_KEY).filter(pc.invert(rows.column(IS_NEW)))).unique()
            own = self.combine.combined(rows).cast(self.schema)
            is_new = pc.invert(pc.is_in(own.column(RECORD_KEY), value_set=there))
        deletes = KeyedRecords(own, {}, self.context.spec).marked()
        idle = pc.and_(is_new, deletes)  # deletes what is nowhere
        return own.filter(pc.invert(idle)), int(pc.sum(pc.and_not(is_new, deletes)).as_py() or 0)


def _leaving(gone: pa.Table) -> pa.Table:
    """Keys and places of records to delete, each once."""
    keys = pa.table({"record_key": gone.column(RECORD_KEY), "partition_path": gone.column(PARTITION_PATH)})
    names = keys.column_names
    if POSITION in gone.column_names:
        keys = keys.append_column(POSITION, gone.column(POSITION))
    return first_positions(keys, names)


@dataclass(frozen=True)
class WriteNewFileGroups:
    """Rows straight to new file groups, as they come: bulk inserts and overwrites.

    Attributes:
        context: the write.
        schema: of prepared rows.
        config: the write's configuration.
        spec: how records merge.
        row_size: bytes of a row in a file.
        seed: of the ids of the groups, so that a task that runs again makes the same ones.
    """

    context: WriteContext
    schema: pa.Schema
    config: WriteConfig
    spec: MergeSpec
    row_size: int
    seed: str = field(default_factory=new_file_id)

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Statuses."""
        context = TaskContext.get()
        ids = file_ids_of_task(self.seed, 0 if context is None else context.partitionId())
        waiting = _WaitingRows()
        for table in gathered_tables(batches, _SORTED_BYTES):
            waiting.add(self._remaining(as_schema(table, self.schema)))
            if waiting.size >= _BUFFERED_BYTES:
                yield from self._write(waiting, ids)
                waiting = _WaitingRows()
        yield from self._write(waiting, ids)

    def _remaining(self, rows: pa.Table) -> pa.Table:
        """Rows that are written: what others delete is in no new group."""
        marked = KeyedRecords(rows, {}, self.spec).marked()
        return rows.filter(pc.invert(marked)) if pc.any(marked, min_count=0).as_py() else rows

    def _write(self, waiting: _WaitingRows, ids: Iterator[str]) -> Batches:
        numbers = attempts()
        assignment = assign_inserts(waiting.counts(), None, self.config.files, self.row_size, new_ids=ids)
        for line in assignment.to_pylist():
            target = TargetSlice(line["partition"], line["file_id"])
            rows = waiting.taken(target.partition, line["rows"])
            task = WriteTask(WriteHandle.CREATE, target, next(numbers), rows, None, rows.num_rows)
            yield from run_write_task((self.context, task)).cast(WRITE_STATUS_SCHEMA).to_batches()
            release_memory()


class _WaitingRows:
    """Rows that wait for their file groups, by partition, in the order in which they came.

    Attributes:
        size: bytes of all rows that were added.
    """

    def __init__(self) -> None:
        self.size = 0
        self._rows: dict[str, list[pa.Table]] = {}

    def add(self, rows: pa.Table) -> None:
        """Take rows on; they are copied once, so that those of a partition stand side by side."""
        positions = list(rows_by_text(one_array(rows.column(PARTITION_PATH))))
        if not positions:
            return
        together = rows.take(pa.array(np.concatenate([own for _, own in positions])))
        self.size += together.nbytes
        start = 0
        for partition, own in positions:
            self._rows.setdefault(partition, []).append(together.slice(start, len(own)))
            start += len(own)

    def counts(self) -> dict[str, int]:
        """Rows of each partition."""
        return {partition: sum(table.num_rows for table in tables) for partition, tables in self._rows.items()}

    def taken(self, partition: str, count: int) -> pa.Table:
        """The first rows of a partition, which do not wait any more."""
        tables, taken = self._rows[partition], []
        while count:
            taken.append(tables[0].slice(0, count))
            count -= taken[-1].num_rows
            tables[0] = tables[0].slice(taken[-1].num_rows)
            if not tables[0].num_rows:
                del tables[0]
        return pa.concat_tables(taken)


__all__ = ["PlaceRows", "WriteFileGroups", "WriteNewFileGroups"]
