"""Merges changes by key: joins them with the rows of a Hudi table to records for coordinators.

The columns that changes and rows are joined by may be any; what is done is done to records, which are named by the key
fields and partition of the rows that are found. A row whose key or partition changes is deleted, and inserted anew.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import (
    InvalidOptionError,
    KeyGenerationError,
    RecordIdentifierError,
    SchemaError,
    UnknownColumnError,
)
from hudi_hive.mutation.acid_write import (
    MergeClauses,
    WhenMatched,
    WhenNotMatched,
    check_joinable,
    check_keys,
    key_pairs,
    key_tests,
    lowered_names,
)
from hudi_hive.mutation.core import join_values
from hudi_hive.mutation.hudi.coordinator import HudiMutatorCoordinator
from hudi_hive.mutation.hudi.reader import HudiReader
from hudi_hive.mutation.hudi.table import HudiMutationTable
from hudi_hive.predicate import Dnf, RowFilter
from hudi_hive.schema import META_FIELDS
from hudi_hive.write.records import DELETE, INSERT, UPDATE, conformed
from hudi_hive.write.schema import merged_schema

Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class HudiMergeRecords:
    """Records for coordinators.

    Args:
        operations: 0 (insert), 1 (update) or 2 (delete) for each record.
        records: the table's columns; deletes have null in all but those of key and partition.
        inserted: rows whose key was not in the table.
        updated: rows with new values, those that move to another record key or partition among them.
        deleted: rows that are no more.
    """

    operations: npt.NDArray[np.int8]
    records: pa.Table
    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def feed(self, coordinator: HudiMutatorCoordinator) -> None:
        """Pass all records to a coordinator, whose errors are raised."""
        coordinator.mutate_batch(self.records, self.operations)

    def split(self, parts: int) -> list[HudiMergeRecords]:
        """Split into parts of about equal length for separate coordinators.

        Raises:
            InvalidOptionError: fewer than one part.
        """
        if parts < 1:
            raise InvalidOptionError(f"records cannot be split into {parts} parts")
        bounds = np.linspace(0, len(self.operations), parts + 1).astype(np.int64).tolist()
        return [
            HudiMergeRecords(self.operations[start:end], self.records.slice(start, end - start))
            for start, end in itertools.pairwise(bounds)
            if end > start
        ]


@dataclass(frozen=True)
class HudiMergeRules:
    """The rules of a merge, which can be pickled.

    Args:
        table: what is merged into.
        on: the columns of the key. A null in it matches nothing, as in SQL.
        clauses: what is done with matching rows and with other changes.
    """

    table: HudiMutationTable
    on: tuple[str, ...]
    clauses: MergeClauses = field(default_factory=MergeClauses)

    @property
    def schema(self) -> pa.Schema:
        """The table's columns."""
        return self.table.writer_schema.arrow.remove_metadata()

    @property
    def identity(self) -> list[str]:
        """Columns of record key and partition path."""
        generator = self.table.generator
        names = [*generator.record_fields, *(item.name for item in generator.path_fields)]
        fields = {name.partition(".")[0] for name in names}
        return [name for name in self.schema.names if name in fields]

    @property
    def keys(self) -> list[str]:
        """The key's columns as the table names them.

        Raises:
            UnknownColumnError: one that the table does not have, or none at all.
        """
        names = {name.lower(): name for name in self.schema.names}
        missing = [key for key in self.on if key.lower() not in names]
        if missing or not self.on:
            what = f"not {', '.join(missing)}" if missing else "at least one"
            raise UnknownColumnError(f"the key of a merge into {self.table.name} needs columns of the table, {what}")
        return [names[key.lower()] for key in self.on]

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
        columns = {name.lower() for name in (*schema.names, *META_FIELDS)}
        unknown = [name for name in names if name.lower() not in columns]
        if unknown and self.clauses.delete_where is None:
            raise UnknownColumnError(f"table {self.table.name} has no column {', '.join(unknown)}")
        selected = pa.schema([item for item in schema if item.name.lower() in lowered])
        for key in self.keys:
            if key not in selected.names:
                raise UnknownColumnError(f"the changes have no column {key!r}, which is of the key")
            check_joinable(selected, key)
        return pa.schema([pa.field(item.name, item.type) for item in selected])

    def convert(self, changes: pa.Table) -> pa.Table:
        """The changes in the columns and types of :meth:`changes_schema`.

        Raises:
            UnknownColumnError, SchemaError: as there; a column of another type than the table's.
        """
        schema = self.changes_schema(changes.column_names)
        lowered = [name.lower() for name in changes.column_names]
        chosen = changes.select([lowered.index(name.lower()) for name in schema.names]).rename_columns(schema.names)
        avro: Mapping[str, Any] = self.table.writer_schema.avro
        own = {**avro, "fields": [entry for entry in avro["fields"] if entry["name"] in schema.names]}
        if merged_schema(chosen.schema, own, self.table.name).changed:
            raise SchemaError(
                f"changes for {self.table.name} have types that would change its columns", remedy="cast them"
            )
        return conformed(chosen, schema)

    def matched_schema(self, changes_schema: pa.Schema) -> pa.Schema:
        """Columns of the table's rows that a merge looks at: key, identity, and what updates keep."""
        lacking = [name for name in self.schema.names if name not in changes_schema.names]
        names = {*self.keys, *self.identity, *(lacking if self.clauses.when_matched == "update" else ())}
        return pa.schema([pa.field(item.name, item.type) for item in self.schema if item.name in names])

    def records(
        self, changes: pa.Table, removing: Flags, matched: pa.Table, pairs: tuple[Longs, Longs]
    ) -> HudiMergeRecords:
        """Make the records of changes and the rows of their keys.

        Args:
            changes: changes, from :meth:`convert`.
            removing: of them, from ``clauses.removing``.
            matched: rows of the table with the columns of :meth:`matched_schema`.
            pairs: numbers of rows and of changes that have the same key.

        Raises:
            RecordIdentifierError: a change takes its row's key away.
        """
        rows, places = pairs
        new = np.ones(len(removing), np.bool_)
        new[places] = False
        fresh = np.flatnonzero(new & ~removing) if self.clauses.when_not_matched == "insert" else np.empty(0, np.int64)
        gone = removing[places] | (self.clauses.when_matched == "delete")
        updated = ~gone if self.clauses.when_matched == "update" else np.zeros(len(gone), np.bool_)
        moved = updated & self._moves(changes.take(pa.array(places)), matched.take(pa.array(rows)))
        stays = updated & ~moved
        parts = [
            (DELETE, self._named(matched.take(pa.array(rows[gone | moved])))),
            (UPDATE, self._rows(changes.take(pa.array(places[stays])), matched.take(pa.array(rows[stays])))),
            (INSERT, self._rows(changes.take(pa.array(places[moved])), matched.take(pa.array(rows[moved])))),
            (INSERT, self._rows(changes.take(pa.array(fresh)), None)),
        ]
        operations = np.concatenate([np.full(part.num_rows, operation, np.int8) for operation, part in parts])
        records = pa.concat_tables([part for _, part in parts]).combine_chunks()
        return HudiMergeRecords(operations, records, len(fresh), int(updated.sum()), int(gone.sum()))

    def _moves(self, new: pa.Table, old: pa.Table) -> Flags:
        """Which updates give a row another record key or partition: of times in a path a part tells."""
        if not new.num_rows or not set(self.identity) & (set(new.column_names) - set(self.keys)):
            return np.zeros(new.num_rows, np.bool_)
        now = pa.table([new[name] if name in new.column_names else old[name] for name in self.identity], self.identity)
        generator = self.table.generator
        moved = np.zeros(new.num_rows, np.bool_)
        try:
            for made in (generator.record_keys, generator.partition_paths):
                moved |= pc.not_equal(made(now), made(old)).to_numpy(zero_copy_only=False)
        except KeyGenerationError as error:
            raise RecordIdentifierError(error.message, path=self.table.location, remedy=error.remedy) from error
        return moved

    @property
    def _plain(self) -> pa.Schema:
        return pa.schema([pa.field(item.name, item.type) for item in self.schema])

    def _named(self, rows: pa.Table) -> pa.Table:
        """Records to delete."""
        identity = set(self.identity)
        columns = [
            rows[item.name] if item.name in identity else pa.nulls(rows.num_rows, item.type) for item in self._plain
        ]
        return pa.table(columns, schema=self._plain)

    def _rows(self, new: pa.Table, old: pa.Table | None) -> pa.Table:
        """Values after the merge: those of the changes, for others of the table's rows, or null."""
        columns: list[pa.Array | pa.ChunkedArray] = []
        for item in self._plain:
            if item.name in new.column_names:
                columns.append(new[item.name])
            elif old is not None and item.name in old.column_names:
                columns.append(old[item.name])
            else:
                columns.append(pa.nulls(new.num_rows, item.type))
        return pa.table(columns, schema=self._plain)


def merge(
    reader: HudiReader,
    changes: pa.Table,
    on: Sequence[str],
    *,
    when_matched: WhenMatched = "update",
    when_not_matched: WhenNotMatched = "insert",
    delete_where: str | Dnf | RowFilter | None = None,
) -> HudiMergeRecords:
    """Join changes with the table's rows by key.

    Args:
        reader: of the transaction that will write.
        changes: a row for each key. Columns of the table that it lacks keep their values in updates, and are null in
            inserts. Columns that the table lacks may only be there for ``delete_where``.
        on: the columns of the key. A null in it matches nothing, as in SQL.
        when_matched: update or delete rows whose key is among the changes, or leave them.
        when_not_matched: insert changes whose key the table does not have, or leave them.
        delete_where: a filter on the changes' columns: those that pass delete the rows of their key, whatever
            ``when_matched`` says, and insert nothing.

    Raises:
        MutationError: two changes of one key.
        UnknownColumnError: a column that changes or table do not have.
        SchemaError: a key that cannot be joined by, or a type that does not fit the table's.
        RecordIdentifierError: a change takes its row's key away.
        InvalidOptionError: another word for what is to be done.
    """
    rules = HudiMergeRules(reader.table, tuple(on), MergeClauses(when_matched, when_not_matched, delete_where))
    typed_changes = rules.convert(changes)
    keys = rules.keys
    check_keys(typed_changes, keys)
    matched = _matching_rows(reader, typed_changes, rules)
    removing = rules.clauses.removing(changes)
    return rules.records(typed_changes, removing, matched, key_pairs(matched, typed_changes, keys))


def _matching_rows(reader: HudiReader, changes: pa.Table, rules: HudiMergeRules) -> pa.Table:
    """Rows of the table whose key columns each have a value of the changes."""
    schema = rules.matched_schema(changes.schema)
    values = {key: pc.unique(changes[key]).drop_null() for key in rules.keys}
    if not all(len(distinct) for distinct in values.values()):
        return schema.empty_table()
    tests = [test for key, distinct in values.items() for test in key_tests(key, distinct)]
    rows = reader.read(schema.names, tests or None).cast(schema)
    mask = np.ones(rows.num_rows, np.bool_)
    for key, distinct in values.items():
        sought = pc.unique(join_values(distinct))
        mask &= pc.is_in(join_values(rows[key]), value_set=sought).to_numpy(zero_copy_only=False)
    return rows.filter(pa.array(mask)).combine_chunks()
