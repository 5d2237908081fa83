"""Tasks of writes on Spark, from Arrow batches to Arrow batches, with the steps of the local writer.

Each step is a value that can be pickled, and a function for ``mapInArrow``. Columns that a step adds for the next one
begin with ``_hudi_hive_``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from hudi_hive.errors import HudiHiveError
from hudi_hive.metadata.reader import group_indexes
from hudi_hive.read.remote import serialize_error
from hudi_hive.spark.bridge import freeze_imports, in_microseconds
from hudi_hive.spark.write.row_changes import split_rows, with_operations, without_replaced_deletes
from hudi_hive.table.keys import KeyGenerator
from hudi_hive.table.merge import MergeSpec
from hudi_hive.timeline import Timeline
from hudi_hive.write.files import (
    DELETES_SCHEMA,
    PARTITION_PATH,
    RECORD_KEY,
    WRITE_STATUS_SCHEMA,
    TargetSlice,
    WriteContext,
    WriteHandle,
    WriteTask,
    assign_inserts,
    attempts,
    count_by_partition,
    locate_inserts,
    run_write_task,
    split_by_file_group,
)
from hudi_hive.write.index import HITS_SCHEMA, Index, LookupPlan, one_array
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.records import RECORD_KEY_SCHEMA, KeyedRecords, combine, prepare, prepare_keys
from hudi_hive.write.schema import WriterSchema

FILE_ID: Final = "_hudi_hive_file_id"
IS_NEW: Final = "_hudi_hive_is_new"
IS_GONE: Final = "_hudi_hive_is_gone"
GROUP: Final = "_hudi_hive_group"
TASK: Final = "_hudi_hive_task"
HITS: Final = "_hudi_hive_hits"
ORDER: Final = "_hudi_hive_order"

_BUFFERED_BYTES: Final = 512 << 20
_TAGGED_BYTES: Final = 64 << 20
_TASK_ROWS_BITS: Final = 40

Batches = Iterator[pa.RecordBatch]

PLACE_FIELDS: Final = (
    pa.field(FILE_ID, pa.string()),
    pa.field(IS_NEW, pa.bool_()),
    pa.field(IS_GONE, pa.bool_()),
)
"""What tagging adds: the file group (null: any will do), whether the group does not have the record, and whether the
line is not a row but a record to delete from where it was."""


def step(call: Callable[..., Batches]) -> Callable[..., Batches]:
    """A step of a task of Spark's: its errors reach the driver as what they are."""

    @functools.wraps(call)
    def with_serialized_errors(self: object, batches: Batches) -> Batches:
        freeze_imports()
        try:
            yield from call(self, batches)
        except HudiHiveError as error:
            raise serialize_error(error) from None

    return with_serialized_errors


def gathered_tables(batches: Batches, size: int) -> Iterator[pa.Table]:
    """Combine batches to tables of about ``size`` bytes."""
    gathered: list[pa.RecordBatch] = []
    total = 0
    for batch in batches:
        gathered.append(batch)
        total += batch.nbytes
        if total >= size:
            yield pa.Table.from_batches(gathered)
            gathered, total = [], 0
    if gathered:
        yield pa.Table.from_batches(gathered)


def as_schema(rows: pa.RecordBatch | pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows of Spark's with the Arrow types of ``schema``, which Spark names otherwise (zones, items of lists)."""
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
    table = table.select(schema.names)
    try:
        return table.cast(schema)
    except pa.ArrowInvalid:
        # The fields of a struct that is null are null, even where Spark says that they never are.
        return table.cast(pa.schema([pa.field(one.name, _with_nullable_fields(one.type)) for one in schema]))


def _with_nullable_fields(arrow: pa.DataType) -> pa.DataType:
    """A type whose structs may have null in all fields."""
    if pa.types.is_struct(arrow):
        return pa.struct([pa.field(one.name, _with_nullable_fields(one.type)) for one in arrow])
    if pa.types.is_map(arrow):
        return pa.map_(arrow.key_type, _with_nullable_fields(arrow.item_type))
    return pa.list_(_with_nullable_fields(arrow.value_type)) if pa.types.is_list(arrow) else arrow


@dataclass(frozen=True)
class PrepareRows:
    """Incoming rows get keys, partition paths and the table's columns.

    Attributes:
        config: the write's configuration.
        generator: makes keys like those that the table has.
        schema: the writer's schema.
        incoming: Arrow types of the rows as the user gave them.
        output: columns to give.
        instant: the write's instant, for keys that are made up.
        numbered: whether a column tells the order in which the rows came.
        operations: name of the column that says what each row is; None where all are rows to put into the table.
    """

    config: WriteConfig
    generator: KeyGenerator
    schema: WriterSchema
    incoming: pa.Schema
    output: pa.Schema
    instant: str
    numbered: bool = False
    operations: str | None = None

    @step
    def __call__(self, batches: Batches) -> Batches:
        """KeyedRecords rows."""
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        first = 0
        for batch in batches:
            incoming = as_schema(batch, self.incoming)
            data = incoming if self.operations is None else incoming.drop_columns([self.operations])
            rows = prepare(data, self.config, self.generator, self.schema, instant=self.instant, task=task, first=first)
            if self.operations is not None:
                rows = with_operations(rows, incoming.column(self.operations))
            rows = rows.select(self.output.names).cast(in_microseconds(self.output))
            if self.numbered:
                start = (task << _TASK_ROWS_BITS) + first
                rows = rows.append_column(ORDER, pa.array(np.arange(start, start + rows.num_rows)))
            first += rows.num_rows
            yield from rows.to_batches()


@dataclass(frozen=True)
class PrepareKeys:
    """Incoming rows name records to delete.

    Attributes:
        generator: makes keys like those that the table has.
        table: the table's columns.
        incoming: Arrow types of the rows as the user gave them.
        across_partitions: keys are found in all partitions, so that the partition's columns may be missing.
    """

    generator: KeyGenerator
    table: pa.Schema | None
    incoming: pa.Schema
    across_partitions: bool

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Keys and partition paths."""
        for batch in batches:
            rows = as_schema(batch, self.incoming)
            keys = prepare_keys(rows, self.generator, self.table, across_partitions=self.across_partitions)
            yield from keys.to_batches()


@dataclass(frozen=True)
class CombineRows:
    """Rows of one key become one; a task has all rows of its keys, numbered by the order in which they came.

    Attributes:
        spec: how records merge.
        columns: of prepared rows.
        schema: the writer's schema.
        across_partitions: a key is one record whatever its partition.
    """

    spec: MergeSpec
    columns: pa.Schema
    schema: WriterSchema
    across_partitions: bool

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Combined rows."""
        gathered = list(batches)
        if not gathered:
            return
        rows = pa.Table.from_batches(gathered)
        del gathered
        if pc.count_distinct(rows.column(RECORD_KEY)).as_py() < rows.num_rows:
            rows = rows.sort_by(ORDER)  # of equal rows the last one stays, and a shuffle keeps no order
        rows = without_replaced_deletes(as_schema(rows, self.columns))
        combined = combine(rows, self.spec, across_partitions=self.across_partitions, schema=self.schema)
        yield from combined.cast(in_microseconds(combined.schema)).to_batches()


@dataclass(frozen=True)
class RouteKeys:
    """Keys to the tasks that look for them.

    Attributes:
        plan: of the look-up.
    """

    plan: LookupPlan

    @step
    def __call__(self, batches: Batches) -> Batches:
        """A line for each task and key."""
        for batch in batches:
            keys = pa.table([batch.column(0), batch.column(1)], names=["key", "partition"])
            keys = keys.append_column("row", pa.array(np.arange(keys.num_rows)))
            for task, rows in self.plan.route.rows(keys):
                chosen = keys.select(["key", "partition"]).take(pa.array(rows))
                number = pa.array(np.full(len(rows), task, np.int32))
                yield from chosen.append_column(TASK, number).combine_chunks().to_batches()


@dataclass(frozen=True)
class LookKeysUp:
    """Where keys are; a task has all keys of the look-up tasks that it does.

    Attributes:
        plan: of the look-up.
    """

    plan: LookupPlan

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Hits."""
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        if not tables:
            return
        keys = pa.concat_tables(tables)
        for number in pc.unique(keys.column(TASK)).to_pylist():
            sought = keys.filter(pc.equal(keys.column(TASK), number)).select(["key", "partition"]).combine_chunks()
            yield from self.plan.tasks[number].lookup(sought).cast(HITS_SCHEMA).to_batches()


@dataclass(frozen=True)
class TagRows:
    """Rows and what was found of their keys to rows that know their file groups.

    Attributes:
        index: of the write.
        timeline: the table's as the write began, which all tasks go by.
        spec: how records merge.
        schema: of prepared rows.
        drops: rows whose records the table has are left out.
    """

    index: Index = field(repr=False)
    timeline: Timeline = field(repr=False)
    spec: MergeSpec
    schema: pa.Schema
    drops: bool = False

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Tagged rows, and records to delete elsewhere."""
        self.index.client = self.index.client.at(self.timeline)
        for table in gathered_tables(batches, _TAGGED_BYTES):
            rows = as_schema(table, self.schema).combine_chunks()
            ready = KeyedRecords(rows, {}, self.spec)
            keys = ready.index_keys()
            tags = self.index.locate(keys.combine_chunks(), _flat_hits(rows, one_array(table.column(HITS))))
            if self.drops:
                tags = tags.filter(pc.is_null(tags.column("current_file_id")))
            yield from self._tagged(rows, tags, ready.marked())

    def _tagged(self, rows: pa.Table, tags: pa.Table, marked: pa.Array) -> Batches:
        new = pc.is_null(tags.column("file_id"))
        idle = pc.and_(new, marked.take(tags.column("row").combine_chunks()))  # deletes what is nowhere
        moved = pc.fill_null(pc.not_equal(tags.column("current_partition"), tags.column("partition")), False)
        gone, tags = tags.filter(moved), tags.filter(pc.invert(idle))
        lines = rows.take(tags.column("row"))
        at = lines.schema.get_field_index(PARTITION_PATH)
        lines = lines.set_column(at, lines.schema.field(at), tags.column("partition"))
        places = pc.coalesce(tags.column("file_id"), tags.column("new_file_id"))
        yield from _placed(lines, places, pc.is_null(tags.column("file_id")), False)
        if gone.num_rows:
            yield from _leaving(rows, gone)


@dataclass(frozen=True)
class TagKeys:
    """Keys and what was found of them to the records that are deleted, with their file groups.

    Attributes:
        index: of the write.
        timeline: the table's as the write began.
        spec: how records merge.
    """

    index: Index = field(repr=False)
    timeline: Timeline = field(repr=False)
    spec: MergeSpec

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Records to delete."""
        self.index.client = self.index.client.at(self.timeline)
        for table in gathered_tables(batches, _TAGGED_BYTES):
            rows = as_schema(table, RECORD_KEY_SCHEMA).combine_chunks()
            keys = KeyedRecords(rows, {}, self.spec).index_keys(deleted=True)
            tags = self.index.locate(keys.combine_chunks(), _flat_hits(rows, one_array(table.column(HITS))))
            yield from _leaving(rows, tags.filter(pc.is_valid(tags.column("current_file_id"))))


def _leaving(rows: pa.Table, gone: pa.Table) -> Batches:
    """Lines of records to delete from where they are, with the columns of ``rows``."""
    empty = [pa.nulls(gone.num_rows, item.type) for item in rows.schema]
    left = pa.table(empty, schema=rows.schema)
    keys = rows.column(RECORD_KEY).take(gone.column("row"))
    for name, values in ((RECORD_KEY, keys), (PARTITION_PATH, gone.column("current_partition"))):
        at = left.schema.get_field_index(name)
        left = left.set_column(at, left.schema.field(at), values)
    yield from _placed(left, gone.column("current_file_id"), pa.repeat(False, gone.num_rows), True)


def _flat_hits(rows: pa.Table, hits: pa.Array) -> pa.Table:
    """The hits of all rows, from the list that the join put beside each row."""
    counts = pc.fill_null(pc.list_value_length(hits), 0).to_numpy(zero_copy_only=False)
    keys = rows.column(RECORD_KEY).take(pa.array(np.repeat(np.arange(rows.num_rows), counts)))
    flat = pc.list_flatten(hits)
    assert isinstance(flat, pa.StructArray)
    return pa.table([keys, flat.field(0), flat.field(1)], names=HITS_SCHEMA.names).cast(HITS_SCHEMA).combine_chunks()


def _placed(rows: pa.Table, file_id: pa.ChunkedArray, is_new: pa.ChunkedArray | pa.Array, is_gone: bool) -> Batches:
    gone = pa.repeat(is_gone, rows.num_rows)
    for item, values in zip(PLACE_FIELDS, (file_id, is_new, gone), strict=True):
        rows = rows.append_column(item, values)
    yield from rows.cast(in_microseconds(rows.schema)).combine_chunks().to_batches()


@dataclass(frozen=True)
class PlaceRows:
    """Rows that any group may take get one of those that were assigned; all lines get their group's number.

    A row's key decides, so that a task that runs again gives its rows to the same groups.

    Attributes:
        assignment: file groups for new rows and how many each is to take.
        groups: ``partition`` and ``file_id`` of each group, by number.
    """

    assignment: pa.Table = field(repr=False)
    groups: pa.Table = field(repr=False)

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Lines with the number of their group."""
        shares = _Shares(self.assignment)
        group_names = _paired(self.groups.column("partition"), self.groups.column("file_id"))
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            partition, file_id = rows.column(PARTITION_PATH), rows.column(FILE_ID)
            file_id = pc.coalesce(file_id, shares.of(partition.combine_chunks(), rows.column(RECORD_KEY)))
            number = pc.index_in(_paired(partition, file_id), value_set=group_names.combine_chunks())
            yield from rows.append_column(GROUP, number.cast(pa.int32())).combine_chunks().to_batches()


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
        hashes = group_indexes(keys.to_pylist(), 1 << 20) / float(1 << 20)
        for partition_id, name in enumerate(encoded.dictionary.to_pylist()):
            choices = np.flatnonzero(pc.equal(self._partitions, name).to_numpy(zero_copy_only=False))
            if len(choices):
                mine = np.flatnonzero(partition_ids == partition_id)
                edges = np.cumsum(self._rows[choices]) / self._rows[choices].sum()
                at = np.minimum(np.searchsorted(edges, hashes[mine], side="right"), len(choices) - 1)
                lines[mine] = choices[at]
        return self._file_ids.take(pa.array(lines, mask=lines < 0))


def _paired(partitions: pa.ChunkedArray, file_ids: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(file_ids, partitions, "/")


@dataclass(frozen=True)
class WriteFileGroups:
    """Lines of some file groups to a file for each of them; a task has all lines of its groups.

    Attributes:
        context: the write.
        schema: of prepared rows.
        groups: what happens to each group, by number.
    """

    context: WriteContext
    schema: pa.Schema
    groups: tuple[tuple[WriteHandle, TargetSlice], ...] = field(repr=False)

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Statuses."""
        lines = list(batches)
        if not lines:
            return
        table = pa.Table.from_batches(lines)
        del lines  # only the sorted rows are needed below
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
            new = int(pc.sum(rows.column(IS_NEW)).as_py() or 0)
            own = rows.select(self.schema.names).cast(self.schema)
            keys = pa.table(
                [gone.column(RECORD_KEY), gone.column(PARTITION_PATH)], names=["record_key", "partition_path"]
            )
            split = split_rows(own, keys, handle, self.context)
            task = WriteTask(handle, target, next(numbers), split.rows, split.deletes, new, split.updates)
            yield from run_write_task((self.context, task)).cast(WRITE_STATUS_SCHEMA).to_batches()


@dataclass(frozen=True)
class WriteNewFileGroups:
    """Rows straight to new file groups, as they come: bulk inserts and overwrites.

    Attributes:
        context: the write.
        schema: of prepared rows.
        config: the write's configuration.
        spec: how records merge.
        row_size: bytes of a row in a file.
    """

    context: WriteContext
    schema: pa.Schema
    config: WriteConfig
    spec: MergeSpec
    row_size: int

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Statuses."""
        gathered: list[pa.Table] = []
        size = 0
        for batch in batches:
            gathered.append(as_schema(batch, self.schema))
            size += gathered[-1].nbytes
            if size >= _BUFFERED_BYTES:
                yield from self._write(pa.concat_tables(gathered))
                gathered, size = [], 0
        if gathered:
            yield from self._write(pa.concat_tables(gathered))

    def _write(self, rows: pa.Table) -> Batches:
        marked = KeyedRecords(rows, {}, self.spec).marked()
        if pc.any(marked, min_count=0).as_py():
            rows = rows.filter(pc.invert(marked))  # deletes what is in no new group
        partitions = rows.column(PARTITION_PATH).combine_chunks()
        assignment = assign_inserts(count_by_partition(partitions), None, self.config.files, self.row_size)
        locations = locate_inserts(np.arange(rows.num_rows), partitions, assignment)
        numbers = attempts()
        for group, own, new, _ in split_by_file_group(rows, locations, DELETES_SCHEMA.empty_table()):
            task = WriteTask(WriteHandle.CREATE, TargetSlice(*group), next(numbers), own, None, new)
            yield from run_write_task((self.context, task)).cast(WRITE_STATUS_SCHEMA).to_batches()
