"""The rules of a merge by key: what happens to changes and to the rows of their keys.

A row whose partition or bucket changes cannot be updated where it is: it is deleted there and inserted where it
belongs. Source: HIVE-10165's coordinators, which want records with identifiers, grouped and ordered.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError, SchemaError, UnknownColumnError
from hudi_hive.formats.hash import bucket_numbers
from hudi_hive.formats.orc import DELETE, INSERT, UPDATE, BucketProperty, parse_hive_type
from hudi_hive.mutation.acid_table import (
    ROW_ID,
    ROW_ID_TYPE,
    AcidColumn,
    AcidTable,
    padded,
    partition_texts,
    row_id_keys,
)
from hudi_hive.mutation.core import holds
from hudi_hive.predicate import Dnf, RowFilter, parse_filter

WhenMatched = Literal["update", "delete", "ignore"]
"""What becomes of rows whose key is among the changes."""

WhenNotMatched = Literal["insert", "ignore"]
"""What becomes of changes whose key is not in the table."""

Longs = npt.NDArray[np.int64]


class RecordConsumer(Protocol):
    """The interface of a coordinator; ``MutatorCoordinator`` implements it."""

    def mutate_batch(self, batch: pa.Table, operations: npt.NDArray[np.int8]) -> None:
        """Mutate records, each by its own operation."""


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

    def feed(self, coordinator: RecordConsumer) -> None:
        """Pass all records to a coordinator, whose errors are raised."""
        if len(self.operations):
            id_column = getattr(coordinator, "record_id_column", ROW_ID)
            names = [id_column if name == ROW_ID else name for name in self.records.column_names]
            coordinator.mutate_batch(self.records.rename_columns(names), self.operations)

    def split(self, parts: int) -> list[MergeRecords]:
        """At most so many stretches of about equal length for as many coordinators; no group is in two of them.

        Raises:
            InvalidOptionError: fewer than one part.
        """
        if parts < 1:
            raise InvalidOptionError(f"records cannot be split into {parts} parts")
        count = len(self.operations)
        ends = np.append(self.groups[1:], count)
        even = np.arange(1, parts) * count / parts
        cuts = [0, *ends[np.searchsorted(ends, even)].tolist(), count] if count else [0]
        bounds = sorted(set(cuts))
        return [self._stretch(start, end) for start, end in itertools.pairwise(bounds)]

    def _stretch(self, start: int, end: int) -> MergeRecords:
        groups = self.groups[(self.groups >= start) & (self.groups < end)] - start
        return MergeRecords(self.operations[start:end], self.records.slice(start, end - start), groups)


@dataclass(frozen=True, slots=True)
class MergeClauses:
    """The clauses of a merge, into tables of either kind.

    Args:
        when_matched: update or delete rows whose key is among the changes, or leave them.
        when_not_matched: insert changes whose key the table does not have, or leave them.
        delete_where: a filter on the changes' columns: those that pass delete the rows of their key, whatever
            ``when_matched`` says, and insert nothing.

    Raises:
        InvalidOptionError: another word for what is to be done.
    """

    when_matched: WhenMatched = "update"
    when_not_matched: WhenNotMatched = "insert"
    delete_where: str | Dnf | RowFilter | None = None

    def __post_init__(self) -> None:
        if self.when_matched not in ("update", "delete", "ignore") or self.when_not_matched not in ("insert", "ignore"):
            words = f"when_matched={self.when_matched!r}, when_not_matched={self.when_not_matched!r}"
            raise InvalidOptionError(f"merge does not know {words}")

    def removing(self, changes: pa.Table) -> npt.NDArray[np.bool_]:
        """Whether each change deletes the rows of its key by ``delete_where``."""
        if self.delete_where is None:
            return np.zeros(changes.num_rows, np.bool_)
        verdict = parse_filter(self.delete_where, changes.schema).evaluate(changes.combine_chunks())
        mask: npt.NDArray[np.bool_] = verdict.fill_null(False).to_numpy(zero_copy_only=False)
        return mask


def lowered_names(names: Sequence[str]) -> list[str]:
    """Names of the changes' columns in lower case.

    Raises:
        SchemaError: columns that differ only in case.
    """
    lowered = [name.lower() for name in names]
    if len(set(lowered)) < len(lowered):
        raise SchemaError("columns of the changes differ only in case, or not at all")
    return lowered


def check_joinable(schema: pa.Schema, key: str) -> None:
    """Refuse a column whose type cannot be joined by.

    Raises:
        SchemaError: it is nested.
    """
    kind = schema.field(key).type
    if pa.types.is_nested(kind):
        raise SchemaError(f"rows are not joined by column {key!r} of type {kind}")


@dataclass(frozen=True, slots=True)
class MergeRules:
    """The rules of a merge, which can be pickled.

    Args:
        table: what is merged into.
        on: the columns of the key, in lower case. A null in it matches nothing, as in SQL.
        clauses: what is done with matching rows and with other changes.
    """

    table: AcidTable
    on: tuple[str, ...]
    clauses: MergeClauses = MergeClauses()

    @property
    def schema(self) -> pa.Schema:
        """The table's columns and partition keys."""
        keys = [(key.name, parse_hive_type(key.type).arrow) for key in self.table.partition_keys]
        return pa.schema([*self.table.row_schema, *keys])

    def changes_schema(self, names: Sequence[str]) -> pa.Schema:
        """The columns of the changes that the table has, with the table's names and types.

        Args:
            names: columns of the changes.

        Raises:
            UnknownColumnError: a column that the table does not have, or a key that one of them does not have.
            SchemaError: columns that differ only in case, or a key that cannot be joined by.
        """
        lowered = lowered_names(names)
        schema = self.schema
        unknown = [name for name in lowered if name not in schema.names]
        if unknown and self.clauses.delete_where is None:
            raise UnknownColumnError(f"table {self.table.qualified_name} has no column {', '.join(unknown)}")
        result = pa.schema([field for field in schema if field.name in lowered])
        missing = [key for key in self.on if key not in result.names]
        if missing or not self.on:
            raise UnknownColumnError(
                f"the key of a merge into {self.table.qualified_name} needs columns that changes and table have"
                + (f", not {', '.join(missing)}" if missing else "")
            )
        for key in self.on:
            check_joinable(result, key)
        return result

    def convert(self, changes: pa.Table) -> pa.Table:
        """Convert changes to :meth:`changes_schema`; ``char`` values lose trailing spaces.

        In partition keys it has them all, as in Hive's names of partitions.

        Raises:
            UnknownColumnError, SchemaError: as there; a column of another type than the table's.
        """
        schema = self.changes_schema(changes.column_names)
        names = [name.lower() for name in changes.column_names]
        columns = [_cast(changes.column(names.index(field.name)), field) for field in schema]
        chars = {column.name for column in self.table.columns if parse_hive_type(column.type).kind == "char"}
        keys = {key.name: key for key in self.table.partition_keys if parse_hive_type(key.type).kind == "char"}
        for place, name in enumerate(schema.names):
            if name in keys:
                columns[place] = padded(columns[place], keys[name])
            elif name in chars:
                columns[place] = pc.utf8_rtrim(columns[place], " ")
        return pa.table(columns, schema)

    def needed(self, changes_schema: pa.Schema) -> list[str]:
        """Columns of the table that a merge reads: keys, partition keys, and those that updates keep."""
        whole = self.clauses.when_matched == "update"
        lacking = [name for name in self.table.row_schema.names if name not in changes_schema.names] if whole else []
        return list(dict.fromkeys([*self.on, *lacking, *self.table.key_names]))

    def records(
        self,
        changes: pa.Table,
        removing: npt.NDArray[np.bool_],
        matched: pa.Table,
        pairs: tuple[Longs, Longs],
        writer: int = 0,
    ) -> MergeRecords:
        """Make the records of changes and the rows of their keys.

        Args:
            changes: changes, from :meth:`convert`.
            removing: of them, from ``clauses.removing``.
            matched: rows of the table with identifiers and the columns of :meth:`needed`.
            pairs: numbers of rows and of changes that have the same key.
            writer: where inserts go in a table without buckets, as given to the coordinator.

        Raises:
            SchemaError: rows to be inserted lack a partition key.
        """
        rows, places = pairs
        new = np.ones(len(removing), np.bool_)
        new[places] = False
        fresh = np.flatnonzero(new & ~removing) if self.clauses.when_not_matched == "insert" else np.empty(0, np.int64)
        gone = removing[places] | (self.clauses.when_matched == "delete")
        updated = ~gone if self.clauses.when_matched == "update" else np.zeros(len(gone), np.bool_)
        builder = _Builder(self.table, self.schema, changes, matched, writer)
        builder.delete(rows[gone])
        builder.update(rows[updated], places[updated])
        builder.insert(builder.new_rows(fresh))
        return builder.finish(len(fresh), int(updated.sum()), int(gone.sum()))


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    try:
        if not holds(field.type, column.type):
            raise pa.ArrowInvalid("not the same kind")
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise SchemaError(f"column {field.name} is {field.type}, that of the changes {column.type}: {error}") from error


# -- what is to be done -----------------------------------------------------------------------------------------------


class _Builder:
    """Collects records, then puts them into the coordinators' order."""

    def __init__(self, table: AcidTable, schema: pa.Schema, changes: pa.Table, matched: pa.Table, writer: int) -> None:
        self._table, self._schema = table, schema
        self._changes, self._matched, self._writer = changes, matched, writer
        self._full = pa.schema([*schema, pa.field(ROW_ID, ROW_ID_TYPE)])
        self._parts: list[pa.Table] = []
        self._operations: list[npt.NDArray[np.int8]] = []
        self._buckets: list[Longs] = []

    def delete(self, rows: Longs) -> None:
        """Delete rows of the table."""
        old = self._matched.take(pa.array(rows))
        named = {ROW_ID, *self._table.key_names}
        columns = [old[field.name] if field.name in named else pa.nulls(len(rows), field.type) for field in self._full]
        self._add(DELETE, pa.table(columns, self._full), _bucket_of(old))

    def update(self, rows: Longs, changes: Longs) -> None:
        """Give rows new values, and another place where these say so."""
        old, new = self._matched.take(pa.array(rows)), self.new_rows(changes, rows)
        was = _bucket_of(old)
        moved = np.zeros(len(rows), np.bool_) if not self._table.buckets else self._bucket(new) != was
        for key in self._table.partition_keys:
            was_in, is_in = partition_texts(key, old[key.name]), partition_texts(key, new[key.name])
            same = pc.fill_null(pc.equal(was_in, is_in), False)
            both_null = pc.and_(pc.is_null(was_in), pc.is_null(is_in))
            moved |= ~pc.or_(same, both_null).to_numpy(zero_copy_only=False)
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
        lacking = [key for key in self._table.key_names if key not in self._changes.column_names]
        if rows is None and lacking and len(changes):
            raise SchemaError(f"rows to be inserted lack the partition key {', '.join(lacking)}")
        columns: list[pa.Array | pa.ChunkedArray] = []
        for field in self._schema:
            if field.name in self._changes.column_names:
                columns.append(self._changes[field.name].take(pa.array(changes)))
            elif rows is not None and len(rows):
                columns.append(self._matched[field.name].take(pa.array(rows)))
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
        partitions = _partition_numbers(records, self._table.partition_keys)
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


def _partition_numbers(records: pa.Table, keys: Sequence[AcidColumn]) -> Longs:
    """A number for the partition of each record."""
    numbers = np.zeros(records.num_rows, np.int64)
    for key in keys:
        encoded = partition_texts(key, records[key.name]).dictionary_encode(null_encoding="encode")
        numbers = numbers * max(1, len(encoded.dictionary)) + encoded.indices.to_numpy(zero_copy_only=False)
        numbers = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    return numbers
