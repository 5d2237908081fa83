"""Tasks of writes on Spark, from Arrow batches to Arrow batches, with the steps of the local writer.

Each step is a value that can be pickled, and a function for ``mapInArrow``. Columns that a step adds for the next one
begin with ``_hudi_hive_``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from hudi_hive.batches import gathered_tables
from hudi_hive.errors import HudiHiveError
from hudi_hive.read.remote import serialize_error
from hudi_hive.spark.bridge import in_microseconds, release_memory
from hudi_hive.spark.write.packed_rows import (
    PACKED,
    TOGETHER_BYTES,
    by_bucket,
    line_slices,
    numbered_rows,
    packed,
    packed_lines,
)
from hudi_hive.spark.write.row_changes import with_operations, without_replaced_deletes
from hudi_hive.table.keys import KeyGenerator
from hudi_hive.table.merge import MergeSpec
from hudi_hive.write.files import PARTITION_PATH, POSITION, RECORD_KEY
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.records import RECORD_KEY_SCHEMA, combine, prepare, prepare_keys
from hudi_hive.write.schema import WriterSchema

FILE_ID: Final = "_hudi_hive_file_id"
IS_NEW: Final = "_hudi_hive_is_new"
IS_GONE: Final = "_hudi_hive_is_gone"
GROUP: Final = "_hudi_hive_group"
KEYS: Final = "_hudi_hive_keys"
PARTITIONS: Final = "_hudi_hive_partitions"
ORDER: Final = "_hudi_hive_order"

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

KEYED: Final = pa.schema([*PACKED, (KEYS, pa.binary()), (PARTITIONS, pa.list_(pa.string()))])
"""Packed rows by the buckets of their keys; their keys and partition paths, packed, too; and the different partition
paths of them and of such as follow without them."""


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
class KeysOnce:
    """Records to delete, each once; a task has all lines of its keys.

    Attributes:
        across_partitions: a key is one record whatever its partition.
    """

    across_partitions: bool

    def combined(self, keys: pa.Table) -> pa.Table:
        """Each record once."""
        if self.across_partitions:
            once = keys.group_by(RECORD_KEY, use_threads=False).aggregate([(PARTITION_PATH, "first")])
            return once.rename_columns([RECORD_KEY, PARTITION_PATH])
        return keys.group_by(RECORD_KEY_SCHEMA.names, use_threads=False).aggregate([])


@dataclass(frozen=True)
class PackRows:
    """Rows to packed ones, by the buckets of their keys.

    Attributes:
        prepare: makes prepared rows of those that come; None where they are prepared.
        buckets: how many.
    """

    prepare: Callable[[Batches], Batches] | None
    buckets: int

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Lines of ``PACKED``."""
        for rows in gathered_tables(batches if self.prepare is None else self.prepare(batches), TOGETHER_BYTES):
            yield from packed_lines(by_bucket(rows, RECORD_KEY, self.buckets))


@dataclass(frozen=True)
class CombinePacked:
    """Packed rows of some buckets, which a task has all of, to packed rows with their keys.

    Attributes:
        combine: makes one row of those of a key; None where they may be several.
    """

    combine: CombineRows | KeysOnce | None

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Lines of :data:`KEYED`."""
        buckets: dict[int, list[pa.Table]] = {}
        for number, rows in numbered_rows(batches):
            buckets.setdefault(number, []).append(rows)
        for number in sorted(buckets):
            together = pa.concat_tables(buckets.pop(number)).combine_chunks()
            rows = together if self.combine is None else self.combine.combined(together)
            del together
            yield from _keyed(number, rows.combine_chunks())


@dataclass(frozen=True)
class PackKeyed:
    """Rows to packed ones with their keys, in the order in which they come.

    Attributes:
        buckets: of keys.
    """

    buckets: int

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Lines of :data:`KEYED`."""
        for rows in gathered_tables(batches, TOGETHER_BYTES):
            for number, own in by_bucket(rows, RECORD_KEY, self.buckets):
                yield from _keyed(number, own.combine_chunks())


def _keyed(number: int, rows: pa.Table) -> Batches:
    paths: list[str] | None = rows.column(PARTITION_PATH).unique().to_pylist()
    for piece in line_slices(rows):
        keys = pa.table([piece.column(RECORD_KEY), piece.column(PARTITION_PATH)], names=["key", "partition"])
        values = ([number], [packed(piece)], [packed(keys)], [paths])
        columns = [pa.array(value, item.type) for value, item in zip(values, KEYED, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=KEYED)
        paths = None
