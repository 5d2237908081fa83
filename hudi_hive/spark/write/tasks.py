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

from hudi_hive.batches import gathered_tables, rows_by_number
from hudi_hive.errors import HudiHiveError
from hudi_hive.read.remote import serialize_error
from hudi_hive.spark.bridge import in_microseconds, release_memory
from hudi_hive.spark.write.row_changes import with_operations, without_replaced_deletes
from hudi_hive.table.keys import KeyGenerator
from hudi_hive.table.merge import MergeSpec
from hudi_hive.timeline import Timeline
from hudi_hive.write.files import PARTITION_PATH, POSITION, RECORD_KEY
from hudi_hive.write.index import HITS_SCHEMA, Index, LookupPlan, one_array
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.records import RECORD_KEY_SCHEMA, KeyedRecords, combine, prepare, prepare_keys, with_partitions
from hudi_hive.write.schema import WriterSchema

FILE_ID: Final = "_hudi_hive_file_id"
IS_NEW: Final = "_hudi_hive_is_new"
IS_GONE: Final = "_hudi_hive_is_gone"
GROUP: Final = "_hudi_hive_group"
TASK: Final = "_hudi_hive_task"
HITS: Final = "_hudi_hive_hits"
ORDER: Final = "_hudi_hive_order"

_TAGGED_BYTES: Final = 64 << 20
_TASK_ROWS_BITS: Final = 40

Batches = Iterator[pa.RecordBatch]

PLACE_FIELDS: Final = (
    pa.field(FILE_ID, pa.string()),
    pa.field(IS_NEW, pa.bool_()),
    pa.field(IS_GONE, pa.bool_()),
    pa.field(POSITION, pa.int64()),
)
"""What tagging adds: the file group (null: any will do), whether the group does not have the record, whether the line
is not a row but a record to delete from where it was, and at which row of the group's base file the record is (null:
not known)."""

PLACED_HITS: Final = HITS_SCHEMA.append(pa.field(POSITION, pa.int64()))
"""Hits with the rows of base files, null where an index does not tell them."""


def step(call: Callable[..., Batches]) -> Callable[..., Batches]:
    """A step of a task of Spark's: its errors reach the driver as what they are, and it leaves no memory taken."""

    @functools.wraps(call)
    def with_serialized_errors(self: object, batches: Batches) -> Batches:
        try:
            yield from call(self, batches)
        except HudiHiveError as error:
            raise serialize_error(error) from None
        finally:
            release_memory()

    return with_serialized_errors


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
        for _, rows in self.pairs(batches):
            yield from rows.to_batches()

    def pairs(self, batches: Batches) -> Iterator[tuple[pa.RecordBatch, pa.Table]]:
        """Batches as they come, each with its rows prepared."""
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
            yield batch, rows


@dataclass(frozen=True)
class PrepareAndWrite:
    """Incoming rows are prepared in the process that writes them, so that they do not go back to Spark in between.

    Attributes:
        prepare: makes prepared rows.
        write: takes them.
    """

    prepare: PrepareRows
    write: Callable[[Batches], Batches]

    def __call__(self, batches: Batches) -> Batches:
        """What ``write`` gives."""
        return self.write(self.prepare(batches))


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
            yield from self.keys(batch, once=True).to_batches()

    def keys(self, batch: pa.RecordBatch, *, once: bool) -> pa.Table:
        """Keys and partition paths of a batch: each once, or a line a row."""
        rows = as_schema(batch, self.incoming)
        return prepare_keys(rows, self.generator, self.table, across_partitions=self.across_partitions, once=once)


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
        combined = self.combined(pa.Table.from_batches(gathered))
        yield from combined.cast(in_microseconds(combined.schema)).to_batches()

    def combined(self, rows: pa.Table) -> pa.Table:
        """One row a key, of rows with the number of their order."""
        if pc.count_distinct(rows.column(RECORD_KEY)).as_py() < rows.num_rows:
            rows = rows.sort_by(ORDER)  # of equal rows the last one stays, and a shuffle keeps no order
        rows = without_replaced_deletes(as_schema(rows, self.columns))
        return combine(rows, self.spec, across_partitions=self.across_partitions, schema=self.schema)


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
        keys = pa.concat_tables(tables).combine_chunks()
        at = keys.column(TASK).to_numpy()
        keys = keys.select(["key", "partition"])
        for number, rows in rows_by_number(at):
            sought = keys.take(pa.array(rows)).combine_chunks()
            hits = self.plan.tasks[number].lookup(sought)
            placed = pa.table([*hits.columns[:3], _positions(hits)], names=PLACED_HITS.names)
            yield from placed.cast(PLACED_HITS).to_batches()


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
        lines = with_partitions(self.index.client, self.spec, rows.take(tags.column("row")), tags.column("partition"))
        places = pc.coalesce(tags.column("file_id"), tags.column("new_file_id"))
        new = pc.is_null(tags.column("file_id"))
        positions = pc.if_else(new, pa.scalar(None, pa.int64()), _positions(tags))
        yield from _placed(lines, places, new, False, positions)
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
    is_new = pa.repeat(False, gone.num_rows)
    yield from _placed(left, gone.column("current_file_id"), is_new, True, _positions(gone))


def _positions(places: pa.Table) -> pa.ChunkedArray | pa.Array:
    """The rows of base files that hits or tags tell; null where they tell none."""
    told = POSITION in places.column_names
    return places.column(POSITION) if told else pa.nulls(places.num_rows, pa.int64())


def _flat_hits(rows: pa.Table, hits: pa.Array) -> pa.Table:
    """The hits of all rows, from the list that the join put beside each row."""
    counts = pc.fill_null(pc.list_value_length(hits), 0).to_numpy(zero_copy_only=False)
    keys = rows.column(RECORD_KEY).take(pa.array(np.repeat(np.arange(rows.num_rows), counts)))
    flat = pc.list_flatten(hits)
    assert isinstance(flat, pa.StructArray)
    return pa.table([keys, *flat.flatten()], names=PLACED_HITS.names).cast(PLACED_HITS).combine_chunks()


def _placed(
    rows: pa.Table,
    file_id: pa.ChunkedArray,
    is_new: pa.ChunkedArray | pa.Array,
    is_gone: bool,
    positions: pa.ChunkedArray | pa.Array,
) -> Batches:
    gone = pa.repeat(is_gone, rows.num_rows)
    for item, values in zip(PLACE_FIELDS, (file_id, is_new, gone, positions), strict=True):
        rows = rows.append_column(item, values)
    yield from rows.cast(in_microseconds(rows.schema)).combine_chunks().to_batches()
