"""Changes by key, joined with a table's rows: what a coordinator is to insert, update and delete, in its order.

The join finds the identifiers that HIVE-10165's coordinators want from their caller. A row whose partition or bucket
changes cannot be updated where it is: it is deleted there and inserted where it belongs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError, MutationError, SchemaError, UnknownColumnError
from hudi_hive.formats.hive_bucket import bucket_numbers
from hudi_hive.formats.orc_acid import DELETE, INSERT, UPDATE, BucketProperty
from hudi_hive.metastore.partition_names import DEFAULT_PARTITION
from hudi_hive.mutation.paths import partition_path
from hudi_hive.mutation.reader import AcidReader
from hudi_hive.mutation.row_ids import ROW_ID, ROW_ID_TYPE, row_id_keys
from hudi_hive.mutation.table import AcidTable
from hudi_hive.predicate import RowFilter, parse_filter
from hudi_hive.predicate.row_filter import Dnf

WhenMatched = Literal["update", "delete", "ignore"]
"""What becomes of rows whose key is among the changes."""

WhenNotMatched = Literal["insert", "ignore"]
"""What becomes of changes whose key is not in the table."""

_FEW_VALUES: Final = 1_000
Longs = npt.NDArray[np.int64]


class Coordinator(Protocol):
    """What takes the records: a ``MutatorCoordinator``."""

    def mutate_batch(self, batch: pa.Table, operations: npt.NDArray[np.int8]) -> None:
        """Take records with an operation each."""


@dataclass(frozen=True, slots=True)
class MergeRecords:
    """Records for coordinators, grouped by partition and bucket and ordered by identifier inside, inserts last.

    Args:
        operations: 0 (insert), 1 (update) or 2 (delete) for each record.
        records: the table's columns, its partition keys and ``ROW__ID``, which is null for inserts. Deletes have null
            in all columns but the partition keys and ``ROW__ID``.
        groups: where each group of one partition and bucket begins.
        inserted: rows whose key was not in the table.
        updated: rows with new values, those that move to another partition or bucket among them.
        deleted: rows that are no more.
    """

    operations: npt.NDArray[np.int8]
    records: pa.Table
    groups: Longs
    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def feed(self, coordinator: Coordinator) -> None:
        """Hand all records to one coordinator, which raises what it finds wrong."""
        if len(self.operations):
            coordinator.mutate_batch(self.records, self.operations)

    def split(self, parts: int) -> list[MergeRecords]:
        """At most so many stretches of about equal length for as many coordinators; no group is in two of them.

        Raises:
            InvalidOptionError: fewer than one part.
        """
        if parts < 1:
            raise InvalidOptionError(f"records cannot be split into {parts} parts")
        count = len(self.operations)
        ends = np.append(self.groups[1:], count)
        wanted = np.arange(1, parts) * count / parts
        cuts = [0, *ends[np.searchsorted(ends, wanted)].tolist(), count] if count else [0]
        bounds = sorted(set(cuts))
        return [self._stretch(start, end) for start, end in itertools.pairwise(bounds)]

    def _stretch(self, start: int, end: int) -> MergeRecords:
        groups = self.groups[(self.groups >= start) & (self.groups < end)] - start
        return MergeRecords(self.operations[start:end], self.records.slice(start, end - start), groups)


def merge(
    reader: AcidReader,
    changes: pa.Table,
    on: Sequence[str],
    *,
    when_matched: WhenMatched = "update",
    when_not_matched: WhenNotMatched = "insert",
    delete_where: str | Dnf | RowFilter | None = None,
    writer: int = 0,
) -> MergeRecords:
    """Join changes with the table's rows by key.

    Args:
        reader: of the table, under the snapshot of the transaction that will write.
        changes: a row for each key. Columns of the table that it lacks keep their values in updates, and are null in
            inserts. Columns that the table lacks may only be there for ``delete_where``.
        on: the columns of the key. A null in it matches nothing, as in SQL.
        when_matched: update or delete rows whose key is among the changes, or leave them.
        when_not_matched: insert changes whose key the table does not have, or leave them.
        delete_where: a filter on the changes' columns: those that pass delete the rows of their key, whatever
            ``when_matched`` says, and insert nothing.
        writer: where inserts go in a table without buckets, as given to the coordinator.

    Raises:
        MutationError: two changes of one key, or partitions whose rows a coordinator would not find.
        UnknownColumnError: a column that changes or table do not have.
        SchemaError: a key that cannot be joined by, or a type that does not fit the table's.
        InvalidOptionError: another word for what is to be done.
    """
    if when_matched not in ("update", "delete", "ignore") or when_not_matched not in ("insert", "ignore"):
        raise InvalidOptionError(f"merge does not know when_matched={when_matched!r}, {when_not_matched=}")
    keys = [name.lower() for name in on]
    given = _given(reader, changes, delete_where is not None)
    _check_keys(given, keys, reader.table)
    _check_places(reader)
    removing = _removing(changes, delete_where)
    found = _matching_rows(reader, given, keys, whole=when_matched == "update" and not removing.all())
    rows, places = _pairs(found, given, keys)
    new = np.ones(len(removing), np.bool_)
    new[places] = False
    fresh = np.flatnonzero(new & ~removing) if when_not_matched == "insert" else np.empty(0, np.int64)
    gone = removing[places] | (when_matched == "delete")
    kept = ~gone if when_matched == "update" else np.zeros(len(gone), np.bool_)
    builder = _Builder(reader, given, found, writer)
    builder.delete(rows[gone])
    builder.update(rows[kept], places[kept])
    builder.insert(builder.new_rows(fresh))
    return builder.finish(len(fresh), int(kept.sum()), int(gone.sum()))


# -- what was given ---------------------------------------------------------------------------------------------------


def _given(reader: AcidReader, changes: pa.Table, others: bool) -> pa.Table:
    """The changes' columns that the table has, by its names and types."""
    names = [name.lower() for name in changes.column_names]
    if len(set(names)) < len(names):
        raise SchemaError("columns of the changes differ only in case, or not at all")
    unknown = [name for name in names if name not in reader.schema.names]
    if unknown and not others:
        raise UnknownColumnError(f"table {reader.table.qualified_name} has no column {', '.join(unknown)}")
    fields = [field for field in reader.schema if field.name in names]
    return pa.table([_cast(changes.column(names.index(field.name)), field) for field in fields], pa.schema(fields))


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    kinds = pa.types
    zone = kinds.is_timestamp(column.type) and column.type.tz is not None
    try:
        if zone or (kinds.is_floating(column.type) and not kinds.is_floating(field.type)):
            raise pa.ArrowInvalid("not the same kind")
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise SchemaError(f"column {field.name} is {field.type}, that of the changes {column.type}: {error}") from error


def _removing(changes: pa.Table, delete_where: str | Dnf | RowFilter | None) -> npt.NDArray[np.bool_]:
    if delete_where is None:
        return np.zeros(changes.num_rows, np.bool_)
    verdict = parse_filter(delete_where, changes.schema).evaluate(changes.combine_chunks())
    mask: npt.NDArray[np.bool_] = verdict.fill_null(False).to_numpy(zero_copy_only=False)
    return mask


def _check_keys(given: pa.Table, keys: Sequence[str], table: AcidTable) -> None:
    """Refuse keys that cannot be joined by, and two changes of one key."""
    missing = [key for key in keys if key not in given.column_names]
    if missing or not keys:
        raise UnknownColumnError(
            f"the key of a merge into {table.qualified_name} needs columns that changes and table have"
            + (f", not {', '.join(missing)}" if missing else "")
        )
    for key in keys:
        kind = given.schema.field(key).type
        if pa.types.is_nested(kind) or pa.types.is_floating(kind):
            raise SchemaError(f"rows are not joined by column {key!r} of type {kind}")
    counts = given.select(keys).drop_null().group_by(keys).aggregate([([], "count_all")])
    twice = counts.filter(pc.greater(counts["count_all"], 1))
    if twice.num_rows:
        example = twice.select(keys).slice(0, 1).to_pylist()[0]
        raise MutationError(
            f"{twice.num_rows} keys come several times in the changes, {example} for one", remedy="give one row per key"
        )


def _check_places(reader: AcidReader) -> None:
    """Refuse partitions that a coordinator, which goes by the values of the keys, would look for somewhere else."""
    for partition in reader.partitions():
        place = partition_path(reader.table.key_names, partition.values)
        # Those of the metastore have URIs, which are found again by their values.
        if ":" not in partition.location and not partition.location.startswith("/") and partition.location != place:
            raise MutationError(
                f"partition {place} of {reader.table.qualified_name} is not in the folder of its name",
                path=partition.location,
            )
        for field, text in zip(reader.key_schema, partition.values, strict=True):
            if text in (None, DEFAULT_PARTITION):
                continue
            if pa.scalar(text).cast(field.type).cast(pa.string()).as_py() != text:
                raise MutationError(f"partition value {text!r} of {field.name} is not how Hive writes a {field.type}")


# -- what is there ----------------------------------------------------------------------------------------------------


def _matching_rows(reader: AcidReader, given: pa.Table, keys: Sequence[str], *, whole: bool) -> pa.Table:
    """Rows of the table whose key columns each have a value of the changes, one batch after the other."""
    values = {key: pc.unique(given[key]).drop_null() for key in keys}
    lacking = [name for name in reader.table.row_schema.names if name not in given.column_names] if whole else []
    columns = list(dict.fromkeys([*keys, *lacking, *reader.table.key_names]))
    schema = reader.output_schema(columns)
    if not all(len(found) for found in values.values()):
        return schema.empty_table()
    tests = [test for key in keys for test in _tests(key, values[key])]
    batches = []
    for batch in reader.read_batches(columns, tests or None):
        mask = np.ones(batch.num_rows, np.bool_)
        for key in keys:
            mask &= pc.is_in(batch.column(key), value_set=values[key]).to_numpy(zero_copy_only=False)
        batches.append(batch if mask.all() else batch.filter(pa.array(mask)))
    return pa.Table.from_batches(batches, schema).combine_chunks()


def _tests(key: str, values: pa.Array) -> list[tuple[str, str, object]]:
    """What a row filter can say of a key's values."""
    if len(values) <= _FEW_VALUES:
        return [(key, "in", values.to_pylist())]
    if pa.types.is_integer(values.type) or pa.types.is_date(values.type) or pa.types.is_string(values.type):
        ends = pc.min_max(values)
        return [(key, ">=", ends["min"].as_py()), (key, "<=", ends["max"].as_py())]
    return []


def _pairs(found: pa.Table, given: pa.Table, keys: Sequence[str]) -> tuple[Longs, Longs]:
    """Numbers of the rows and of the changes that have the same key."""
    names = [f"k{place}" for place in range(len(keys))]

    def numbered(table: pa.Table, number: str) -> pa.Table:
        columns = [table[key] for key in keys]
        return pa.table([*columns, pa.array(np.arange(table.num_rows))], names=[*names, number])

    joined = numbered(found, "row").join(numbered(given, "change"), names, join_type="inner")
    return joined["row"].to_numpy(), joined["change"].to_numpy()


# -- what is to be done -----------------------------------------------------------------------------------------------


class _Builder:
    """Collects records, then puts them into the coordinators' order."""

    def __init__(self, reader: AcidReader, given: pa.Table, found: pa.Table, writer: int) -> None:
        self._table, self._schema = reader.table, reader.schema
        self._given, self._found, self._writer = given, found, writer
        self._full = pa.schema([*reader.schema, pa.field(ROW_ID, ROW_ID_TYPE)])
        self._parts: list[pa.Table] = []
        self._operations: list[npt.NDArray[np.int8]] = []
        self._buckets: list[Longs] = []

    def delete(self, rows: Longs) -> None:
        """Delete rows of the table."""
        old = self._found.take(pa.array(rows))
        named = {ROW_ID, *self._table.key_names}
        columns = [old[field.name] if field.name in named else pa.nulls(len(rows), field.type) for field in self._full]
        self._add(DELETE, pa.table(columns, self._full), _bucket_of(old))

    def update(self, rows: Longs, changes: Longs) -> None:
        """Give rows new values, and another place where these say so."""
        old, new = self._found.take(pa.array(rows)), self.new_rows(changes, rows)
        was = _bucket_of(old)
        moved = np.zeros(len(rows), np.bool_) if not self._table.buckets else self._bucket(new) != was
        for key in self._table.key_names:
            same = pc.fill_null(pc.equal(old[key], new[key]), False)
            both_null = pc.and_(pc.is_null(old[key]), pc.is_null(new[key]))
            moved |= ~pc.or_(same, both_null).to_numpy()
        stays = new.append_column(self._full.field(ROW_ID), old[ROW_ID]).filter(pa.array(~moved))
        self._add(UPDATE, stays, was[~moved])
        self.delete(rows[moved])
        self.insert(new.filter(pa.array(moved)))

    def insert(self, rows: pa.Table) -> None:
        """Insert rows."""
        ids = pa.nulls(rows.num_rows, ROW_ID_TYPE)
        self._add(INSERT, rows.append_column(self._full.field(ROW_ID), ids), self._bucket(rows))

    def new_rows(self, changes: Longs, rows: Longs | None = None) -> pa.Table:
        """Values after the merge: those of the changes, for others of the table's rows, or null."""
        lacking = [key for key in self._table.key_names if key not in self._given.column_names]
        if rows is None and lacking and len(changes):
            raise SchemaError(f"rows to be inserted lack the partition key {', '.join(lacking)}")
        columns = []
        for field in self._schema:
            if field.name in self._given.column_names:
                columns.append(self._given[field.name].take(pa.array(changes)))
            elif rows is not None and len(rows):
                columns.append(self._found[field.name].take(pa.array(rows)))
            else:
                columns.append(pa.nulls(len(changes), field.type))
        return pa.table(columns, self._schema)

    def _bucket(self, rows: pa.Table) -> Longs:
        if not self._table.buckets or not rows.num_rows:
            return np.full(rows.num_rows, self._writer, np.int64)
        columns = [rows[name].combine_chunks() for name in self._table.bucket_columns]
        version = self._table.bucketing_version
        numbers = bucket_numbers(columns, self._table.bucket_types, self._table.buckets, version)
        return numbers.astype(np.int64)

    def _add(self, operation: int, records: pa.Table, buckets: Longs) -> None:
        self._parts.append(records)
        self._operations.append(np.full(records.num_rows, operation, np.int8))
        self._buckets.append(buckets)

    def finish(self, inserted: int, updated: int, deleted: int) -> MergeRecords:
        """All records in order."""
        records = pa.concat_tables(self._parts).combine_chunks()
        operations, buckets = np.concatenate(self._operations), np.concatenate(self._buckets)
        partitions = _codes(records, self._table.key_names)
        ids = np.full((3, len(operations)), -1, np.int64)
        has_id = operations != INSERT
        if has_id.any():
            ids[:, has_id] = row_id_keys(records[ROW_ID].filter(pa.array(has_id)))
        order = np.lexsort((ids[2], ids[1], ids[0], operations == INSERT, buckets, partitions))
        buckets, partitions = buckets[order], partitions[order]
        begins = (np.diff(buckets, prepend=-1) != 0) | (np.diff(partitions, prepend=-1) != 0)
        groups = np.flatnonzero(begins).astype(np.int64)
        return MergeRecords(operations[order], records.take(pa.array(order)), groups, inserted, updated, deleted)


def _bucket_of(rows: pa.Table) -> Longs:
    """Bucket numbers of rows by their identifiers."""
    if not rows.num_rows:
        return np.empty(0, np.int64)
    return BucketProperty.decode(row_id_keys(rows[ROW_ID])[1])[0].astype(np.int64)


def _codes(records: pa.Table, keys: Sequence[str]) -> Longs:
    """A number for the partition of each record."""
    codes = np.zeros(records.num_rows, np.int64)
    for key in keys:
        encoded = records[key].combine_chunks().dictionary_encode(null_encoding="encode")
        codes = codes * max(1, len(encoded.dictionary)) + encoded.indices.to_numpy(zero_copy_only=False)
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return codes
