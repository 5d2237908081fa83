"""Tasks of mutations on Spark: compute partition and bucket of records, then write the files of each.

Each step is a value that can be pickled, and a function for ``mapInArrow``. Columns that a step adds for the next one
begin with ``_hudi_hive_``. Source: the coordinators of HIVE-10165, one for each task.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from hudi_hive.batches import gathered_tables
from hudi_hive.errors import MutationError, RecordIdentifierError
from hudi_hive.formats.orc import DELETE, INSERT, parse_hive_type
from hudi_hive.mutation.acid_table import ROW_ID, ROW_ID_TYPE, AcidTable, partition_path
from hudi_hive.mutation.acid_write import Incoming, MergeRules, MutatorCoordinator, read_incoming
from hudi_hive.mutation.core import join_values
from hudi_hive.spark.write import Batches, as_schema, step
from hudi_hive.write.records import operation_numbers

OPERATION: Final = "_hudi_hive_operation"
BUCKET: Final = "_hudi_hive_bucket"
TASK: Final = "_hudi_hive_task"
REMOVING: Final = "_hudi_hive_removing"
TIMES: Final = "_hudi_hive_times"
MANIFEST: Final = "manifest"

MANIFESTS_SCHEMA: Final = pa.schema([(MANIFEST, pa.string())])

_PLACED_BYTES: Final = 16 << 20
_WRITTEN_BYTES: Final = 16 << 20


def record_schema(table: AcidTable) -> pa.Schema:
    """Columns of records for coordinators: those of the table, its partition keys and ``ROW__ID``."""
    keys = [(key.name, parse_hive_type(key.type).arrow) for key in table.partition_keys]
    return pa.schema([*table.row_schema, *keys, (ROW_ID, ROW_ID_TYPE)])


def placed_schema(table: AcidTable) -> pa.Schema:
    """Columns of records with their partition and bucket."""
    places = [(OPERATION, pa.int8()), (BUCKET, pa.int32()), (TASK, pa.int32())]
    return pa.schema([*record_schema(table), *(pa.field(*place) for place in places)])


@dataclass(frozen=True)
class Placement:
    """How records are distributed to partitions, buckets and tasks.

    Attributes:
        table: text form of the table, with the transaction's ids.
        tasks: number of tasks that write.
        writers: number of files that share the inserts into a partition of a table without buckets.
    """

    table: str = field(repr=False)
    tasks: int
    writers: int

    def writer(self) -> int:
        """Number of the file for inserts that this task sees: the same one whenever the task is run again."""
        context = TaskContext.get()
        return 0 if context is None else int(context.partitionId()) % self.writers

    def place(self, table: AcidTable, records: pa.Table, operations: npt.NDArray[np.int8]) -> pa.Table:
        """Records, checked one by one, with the partition and bucket that they belong to.

        Raises:
            MutationError, SchemaError: as ``MutatorCoordinator.mutate_batch``.
        """
        incoming = read_incoming(table, records, operations, None, self.writer())
        count = len(operations)
        columns = [*_rows(table, incoming), *_keys(table, incoming), _identifiers(incoming)]
        spread = np.array([_number(table, values) for values in incoming.partition_values], np.int64)
        task = (spread[incoming.partitions] + incoming.buckets) % self.tasks if count else np.empty(0, np.int64)
        places = [pa.array(incoming.operations), pa.array(incoming.buckets), pa.array(task.astype(np.int32))]
        return pa.table([*columns, *places], schema=placed_schema(table))


def _rows(table: AcidTable, incoming: Incoming) -> list[pa.ChunkedArray | pa.Array]:
    """The table's columns; null in deletes, which need none of them."""
    schema, count = table.row_schema, len(incoming.operations)
    if incoming.rows is None:
        return [pa.nulls(count, item.type) for item in schema]
    rows = incoming.rows.cast(schema)
    gone = incoming.operations == DELETE
    return list((rows.take(pa.array(np.arange(count), mask=gone)) if gone.any() else rows).columns)


def _keys(table: AcidTable, incoming: Incoming) -> list[pa.Array]:
    """Partition keys in their types, written alike wherever they are the same partition."""
    codes = pa.array(incoming.partitions)
    columns = []
    for place, key in enumerate(table.partition_keys):
        texts = pa.array([values[place] for values in incoming.partition_values], pa.string())
        columns.append(texts.cast(parse_hive_type(key.type).arrow).take(codes))
    return columns


def _identifiers(incoming: Incoming) -> pa.StructArray:
    parts = (incoming.write_ids, incoming.properties, incoming.row_ids)
    arrays = [pa.array(part).cast(item.type) for part, item in zip(parts, ROW_ID_TYPE, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(ROW_ID_TYPE), mask=pa.array(incoming.operations == INSERT))


def _number(table: AcidTable, values: tuple[str | None, ...]) -> int:
    """A number of a partition, the same one in all processes; its buckets go to the tasks that follow."""
    return zlib.crc32(partition_path(table.key_names, values).encode())


# -- the steps --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlaceRecords:
    """Records of the caller, with their operations in words, to where they go.

    Attributes:
        placement: how they are spread.
        changes: whether there may be updates and deletes.
    """

    placement: Placement
    changes: bool

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Records that know where they go."""
        table = AcidTable.decode(self.placement.table)
        for records in gathered_tables(batches, _PLACED_BYTES):
            operations = operation_numbers(records.column(OPERATION))
            if not self.changes and (operations != INSERT).any():
                raise RecordIdentifierError(
                    "updates and deletes name rows of an unknown snapshot, since which others may have written",
                    remedy="give the transaction in which they were read, or the reader as read_under",
                )
            placed = self.placement.place(table, records.drop_columns([OPERATION]), operations)
            yield from placed.combine_chunks().to_batches()


@dataclass(frozen=True)
class WriteGroups:
    """Records of whole partitions and buckets, in order, to files of this attempt at the task.

    Only what the attempt hands back counts, and of all attempts at a task Spark takes what one of them hands back.

    Attributes:
        table: text form of the table, with the transaction's ids.
        storage_options: of the warehouse's file system.
    """

    table: str = field(repr=False)
    storage_options: Mapping[str, Any] = field(repr=False)

    @step
    def __call__(self, batches: Batches) -> Batches:
        """The manifest; nothing if there are no records."""
        text = self._write(batches)
        if text is not None:
            yield pa.record_batch([pa.array([text])], schema=MANIFESTS_SCHEMA)

    def _write(self, batches: Batches) -> str | None:
        table = AcidTable.decode(self.table)
        schema = record_schema(table)
        tables = gathered_tables(batches, _WRITTEN_BYTES)
        first = next(tables, None)
        if first is None:
            return None
        # An error in the block removes the attempt's files; what a lost worker leaves goes with the transaction.
        with MutatorCoordinator(table, storage_options=self.storage_options) as coordinator:
            records: pa.Table | None = first
            while records is not None:
                operations = records.column(OPERATION).to_numpy()
                coordinator.mutate_spread(as_schema(records, schema), operations, records.column(BUCKET).to_numpy())
                records = next(tables, None)
        return coordinator.close().encode()


@dataclass(frozen=True)
class ReadChanges:
    """Changes in the table's columns and types, and whether each deletes the rows of its key.

    Attributes:
        rules: of the merge.
        output: columns of the table that the changes have, and ``REMOVING``.
    """

    rules: MergeRules
    output: pa.Schema

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Changes."""
        for changes in gathered_tables(batches, _PLACED_BYTES):
            read = self.rules.convert(changes).append_column(REMOVING, pa.array(self.rules.clauses.removing(changes)))
            yield from read.cast(self.output).combine_chunks().to_batches()


@dataclass(frozen=True)
class MergePairs:
    """Changes, each beside the rows of its key or alone, to records that know where they go.

    Attributes:
        rules: of the merge.
        placement: how records are spread.
        change_schema: columns of the changes; they come first, then ``REMOVING`` and ``TIMES``.
        row_schema: columns of the rows; they come last, with identifiers, which are null where there is no row.
        sought: of each column of the key the values whose rows were read, and whether they are all or the ends.
    """

    rules: MergeRules
    placement: Placement
    change_schema: pa.Schema
    row_schema: pa.Schema
    sought: Mapping[str, tuple[pa.Array, bool]] = field(default_factory=dict, repr=False)

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Records that know where they go."""
        table = AcidTable.decode(self.placement.table)
        for pairs in gathered_tables(batches, _PLACED_BYTES):
            count = len(self.change_schema)
            changes = (
                pa.table(pairs.columns[:count], names=self.change_schema.names)
                .cast(self.change_schema)
                .combine_chunks()
            )
            refuse_twice(changes.select(list(self.rules.on)), pairs.column(count + 1))
            self._refuse_others(changes)
            rows = (
                pa.table(pairs.columns[count + 2 :], names=self.row_schema.names).cast(self.row_schema).combine_chunks()
            )
            matched = pc.is_valid(rows.column(ROW_ID)).to_numpy()
            places = np.flatnonzero(matched).astype(np.int64)
            removing = pairs.column(count).to_numpy().astype(np.bool_)
            merged = self.rules.records(changes, removing, rows, (places, places), self.placement.writer())
            if len(merged.operations):
                placed = self.placement.place(table, merged.records, merged.operations)
                yield from placed.combine_chunks().to_batches()

    def _refuse_others(self, changes: pa.Table) -> None:
        """Rows of keys that were not sought would be inserted beside those that are there."""
        for key, (values, complete) in self.sought.items():
            column = changes.column(key)
            if complete:
                is_operation: Any = pc.is_in(join_values(column), value_set=pc.unique(join_values(values)))
            elif pa.types.is_floating(column.type):
                continue  # all rows were read
            else:
                is_operation = pc.and_(pc.greater_equal(column, values[0]), pc.less_equal(column, values[1]))
            others = column.filter(pc.and_not(pc.is_valid(column), is_operation))
            if len(others):
                raise MutationError(
                    f"changes came with {key} {others[0].as_py()!r} when they were computed again, and without before",
                    remedy="give rows that are the same whenever they are computed, for one from a file",
                )


def refuse_twice(keys: pa.Table, times: pa.ChunkedArray) -> None:
    """Refuse two changes of one key.

    Args:
        keys: of changes.
        times: how often each of them comes; those with a null may come as often as they like.

    Raises:
        MutationError: there are such.
    """
    twice = keys.filter(pc.greater(times, 1)).drop_null()
    if twice.num_rows:
        raise MutationError(
            f"keys come several times in the changes, {twice.slice(0, 1).to_pylist()[0]} for one",
            remedy="give one row per key",
        )
