"""Steps that find the file groups of rows: by what an index finds of their keys, or by what their meta columns name.

Rows that a statement read from the table it writes have meta columns, so that their keys are looked up nowhere. Source:
what Hudi calls prepped writes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.batches import gathered_tables
from hudi_hive.spark.write.packed_rows import (
    ROWS,
    TOGETHER_BYTES,
    by_bucket,
    line_slices,
    numbered_rows,
    packed,
    packed_lines,
    parts_of_bucket,
    unpacked,
)
from hudi_hive.spark.write.tasks import (
    FILE_ID,
    IS_NEW,
    KEYS,
    ORDER,
    PLACE_FIELDS,
    Batches,
    PrepareKeys,
    PrepareRows,
    as_schema,
    step,
)
from hudi_hive.table.keys import DEFAULT_PARTITION, NULL_KEY
from hudi_hive.table.merge import MergeSpec
from hudi_hive.timeline import Timeline
from hudi_hive.write.files import PARTITION_PATH, POSITION, RECORD_KEY
from hudi_hive.write.index import HITS_SCHEMA, Index, LookupPlan, one_array
from hudi_hive.write.records import (
    FILE_NAME,
    INSERT,
    OPERATION,
    RECORD_KEY_SCHEMA,
    KeyedRecords,
    with_partitions,
)

_FILE_ID = r"^\.?([^_]+)(_.*)?$"
_TAGGED_BYTES: Final = 64 << 20

HITS: Final = "_hudi_hive_hits"
LINES: Final = "_hudi_hive_lines"

GROUP_LINES: Final = pa.schema(
    [("partition", pa.string()), ("file_id", pa.string()), ("is_new", pa.bool_()), ("count", pa.int64())]
)
"""How many lines file groups get; ``file_id`` is null where any will do, ``is_new`` where that is to be looked up."""

TAGGED: Final = pa.schema([(ROWS, pa.binary()), (LINES, pa.list_(pa.struct(list(GROUP_LINES))))])
"""Packed rows with :data:`PLACE_FIELDS`, and :data:`GROUP_LINES` of them and of such as follow without them."""

PLACED_HITS: Final = HITS_SCHEMA.append(pa.field(POSITION, pa.int64()))
"""Hits with the rows of base files, null where an index does not tell them."""


@dataclass(frozen=True)
class LocateRows:
    """Prepared rows with the file groups that their meta columns name; others are new or to be looked up.

    Attributes:
        prepare: makes prepared rows, as many as came.
        carried: the rows have the meta columns of their records, or null in them.
        inserts_are_new: rows without a name that insert are of no record of the table.
        are_new: so are all others without a name.
    """

    prepare: PrepareRows
    carried: bool
    inserts_are_new: bool = False
    are_new: bool = False

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Rows with :data:`PLACE_FIELDS`."""
        for batch, rows in self.prepare.pairs(batches):
            places = _file_ids(rows, batch) if self.carried else pa.nulls(rows.num_rows, pa.string())
            yield from _with_places(rows, places, self._is_new(rows, places), is_gone=False)

    def _is_new(self, rows: pa.Table, places: pa.Array) -> pa.Array:
        """Whether the table has no record of a row; null where that is not known."""
        unnamed = pc.is_null(places)
        if self.are_new:
            return unnamed
        known = pc.is_valid(places)
        if self.inserts_are_new:
            new = pc.and_(unnamed, pc.equal(one_array(rows.column(OPERATION)), INSERT))
            known = pc.or_(known, pc.and_(new, self._differs_by_values(rows)))
        return pc.if_else(known, unnamed, pa.scalar(None, pa.bool_()))

    def _differs_by_values(self, rows: pa.Table) -> pa.Array:
        """Whether other values than those of a row would make another key or partition path; null equals no null."""
        keys, paths = one_array(rows.column(RECORD_KEY)), one_array(rows.column(PARTITION_PATH)).dictionary_encode()
        folders = max(0, len(self.prepare.generator.path_fields) - 1)
        told = pc.and_(
            pc.equal(pc.count_substring(paths.dictionary, "/"), folders),
            pc.invert(pc.match_substring(paths.dictionary, DEFAULT_PARTITION)),
        )
        return pc.and_(pc.invert(pc.match_substring(keys, f":{NULL_KEY}")), told.take(paths.indices)).fill_null(False)


@dataclass(frozen=True)
class LocateKeys:
    """Records to delete, with the file groups that their meta columns name.

    Attributes:
        prepare: makes keys of rows.
    """

    prepare: PrepareKeys

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Keys and partition paths with :data:`PLACE_FIELDS`."""
        for batch in batches:
            keys = self.prepare.keys(batch, once=False)  # records of one key may be in several groups
            places = _file_ids(keys, batch)
            known = pc.if_else(pc.is_valid(places), False, pa.scalar(None, pa.bool_()))
            yield from _with_places(keys, places, known, is_gone=True)


def _file_ids(rows: pa.Table, carried: pa.RecordBatch) -> pa.Array:
    """The file group of each row whose key and partition path are still those of its record; else null."""
    same = [
        pc.equal(one_array(rows.column(name)), carried.column(name).cast(pa.string()))
        for name in (RECORD_KEY, PARTITION_PATH)
    ]
    names = carried.column(FILE_NAME).cast(pa.string()).dictionary_encode()
    # Log records carry the file id in the place of a name; names of log files begin with a dot.
    ids = pc.replace_substring_regex(names.dictionary, _FILE_ID, r"\1").take(names.indices)
    usable = pc.and_(pc.and_(*same), pc.not_equal(ids, "")).fill_null(False)
    return pc.if_else(usable, ids, pa.scalar(None, pa.string()))


def _with_places(rows: pa.Table, file_ids: pa.Array, is_new: pa.Array, *, is_gone: bool) -> Batches:
    values = (file_ids, is_new, pa.array(np.full(rows.num_rows, is_gone)), pa.nulls(rows.num_rows, pa.int64()))
    for item, column in zip(PLACE_FIELDS, values, strict=True):
        rows = rows.append_column(item, column)
    yield from rows.combine_chunks().to_batches()


@dataclass(frozen=True)
class RouteKeys:
    """Packed keys to the tasks that look for them.

    Attributes:
        plan: of the look-up.
    """

    plan: LookupPlan

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Packed keys for each task, whose number they have."""
        for keys in unpacked(batches, KEYS):
            keys = keys.combine_chunks()
            numbered = keys.append_column("row", pa.array(np.arange(keys.num_rows)))
            yield from packed_lines((task, keys.take(pa.array(rows))) for task, rows in self.plan.route.rows(numbered))


@dataclass(frozen=True)
class LookKeysUp:
    """Where packed keys are; a task has all keys of the look-up tasks that it does.

    Attributes:
        plan: of the look-up.
        buckets: of keys.
    """

    plan: LookupPlan
    buckets: int

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Packed hits by the buckets of their keys."""
        parts: dict[int, list[pa.Table]] = {}
        for number, keys in numbered_rows(batches):
            parts.setdefault(number, []).append(keys)
        for hits in gathered_tables(self._hits(parts), TOGETHER_BYTES):
            yield from packed_lines(by_bucket(hits, "key", self.buckets), HITS)

    def _hits(self, parts: dict[int, list[pa.Table]]) -> Batches:
        for number in sorted(parts):
            hits = self.plan.tasks[number].lookup(pa.concat_tables(parts.pop(number)).combine_chunks())
            placed = pa.table([*hits.columns[:3], _positions(hits)], names=PLACED_HITS.names)
            yield from placed.cast(PLACED_HITS).to_batches()


@dataclass(frozen=True)
class PackTagged:
    """Rows that know their file groups, packed.

    Attributes:
        schema: of prepared rows.
    """

    schema: pa.Schema

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Lines of :data:`TAGGED`, of which nobody counts the rows."""
        for table in tables_with_places(batches, self.schema):
            for piece in line_slices(table.combine_chunks()):
                columns = [pa.array([packed(piece)], pa.binary()), pa.nulls(1, TAGGED.field(LINES).type)]
                yield pa.RecordBatch.from_arrays(columns, schema=TAGGED)


def tables_with_places(batches: Batches, schema: pa.Schema) -> Iterator[pa.Table]:
    """Rows with :data:`PLACE_FIELDS`, packed or not, with the same types.

    Args:
        batches: lines of packed rows, or rows.
        schema: of prepared rows.
    """
    first = next(batches, None)
    if first is None:
        return
    everything = itertools.chain([first], batches)
    if ROWS in first.schema.names:
        yield from unpacked(everything)
        return
    # A line that deletes has null in all columns but the key's.
    columns = [pa.field(item.name, item.type) for item in schema]
    added = [pa.field(ORDER, pa.int64()), *PLACE_FIELDS]
    types = pa.schema([*columns, *(item for item in added if item.name in first.schema.names)])
    for table in gathered_tables(everything, TOGETHER_BYTES):
        yield as_schema(table, types)


def _rows_and_hits(batches: Batches, buckets: int) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Rows, and hits of their keys: of lines of rows and lines of hits, or of rows alone, which nobody looked up."""
    nothing = PLACED_HITS.empty_table()
    rows: dict[int, list[pa.Table]] = {}
    hits: dict[int, list[pa.Table]] = {}
    for batch in batches:
        if HITS not in batch.schema.names:
            for table in unpacked([batch], size=_TAGGED_BYTES):
                yield table, nothing
            continue
        for name, tables in ((ROWS, rows), (HITS, hits)):
            for number, table in numbered_rows([batch], name):
                tables.setdefault(number, []).append(table)
    for number in sorted(rows):
        found = pa.concat_tables([nothing, *hits.pop(number, [])]).combine_chunks()
        yield from parts_of_bucket(pa.concat_tables(rows.pop(number)), found, buckets, _TAGGED_BYTES)


@dataclass(frozen=True)
class TagRows:
    """Packed rows and what was found of their keys to rows that know their file groups.

    Attributes:
        index: of the write.
        timeline: the table's as the write began, which all tasks go by.
        spec: how records merge.
        schema: of prepared rows.
        buckets: of keys.
        drops: rows whose records the table has are left out.
    """

    index: Index = field(repr=False)
    timeline: Timeline = field(repr=False)
    spec: MergeSpec
    schema: pa.Schema
    buckets: int
    drops: bool = False

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Lines of :data:`TAGGED`: rows, and records to delete elsewhere."""
        self.index.client = self.index.client.at(self.timeline)
        for table, hits in _rows_and_hits(batches, self.buckets):
            rows = as_schema(table, self.schema).combine_chunks()
            ready = KeyedRecords(rows, {}, self.spec)
            keys = ready.index_keys()
            tags = self.index.locate(keys.combine_chunks(), hits)
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
    """Packed keys and what was found of them to the records that are deleted, with their file groups.

    Attributes:
        index: of the write.
        timeline: the table's as the write began.
        spec: how records merge.
        buckets: of keys.
    """

    index: Index = field(repr=False)
    timeline: Timeline = field(repr=False)
    spec: MergeSpec
    buckets: int

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Lines of :data:`TAGGED`: records to delete."""
        self.index.client = self.index.client.at(self.timeline)
        for table, hits in _rows_and_hits(batches, self.buckets):
            rows = as_schema(table, RECORD_KEY_SCHEMA).combine_chunks()
            keys = KeyedRecords(rows, {}, self.spec).index_keys(deleted=True)
            tags = self.index.locate(keys.combine_chunks(), hits)
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
    names = [PARTITION_PATH, FILE_ID, IS_NEW]
    counts = rows.group_by(names, use_threads=False).aggregate([([], "count_all")])
    values = pa.StructArray.from_arrays([one_array(column) for column in counts.columns], fields=list(GROUP_LINES))
    lines: pa.Array = pa.ListArray.from_arrays(pa.array([0, counts.num_rows], pa.int32()), values)
    for piece in line_slices(rows.combine_chunks()):
        yield pa.RecordBatch.from_arrays([pa.array([packed(piece)], pa.binary()), lines], schema=TAGGED)
        lines = pa.nulls(1, lines.type)


__all__ = [
    "GROUP_LINES",
    "HITS",
    "LINES",
    "PLACED_HITS",
    "TAGGED",
    "LocateKeys",
    "LocateRows",
    "LookKeysUp",
    "PackTagged",
    "RouteKeys",
    "TagKeys",
    "TagRows",
    "tables_with_places",
]
