"""Checks records of a caller and adds their keys, for staging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import (
    KeyGenerationError,
    MutationError,
    RecordIdentifierError,
    RecordPartitionError,
    SchemaError,
    UnknownColumnError,
)
from hudi_hive.mutation.acid_write import column_of
from hudi_hive.mutation.hudi.table import HudiMutationTable
from hudi_hive.read.merge import default_of, keeps
from hudi_hive.schema import META_FIELDS
from hudi_hive.table.merge import MergeSpec
from hudi_hive.write.files import RECORD_KEY
from hudi_hive.write.index import one_array
from hudi_hive.write.records import DELETE, INSERT, OPERATION, RECORD_KEY_SCHEMA, UPDATE, check_required, conformed
from hudi_hive.write.schema import merged_schema

Flags = npt.NDArray[np.bool_]


class RecordStager:
    """Makes records of one table ready to be staged.

    Args:
        table: what they are for.

    Attributes:
        schema: of what :meth:`read` gives: operation, record key, partition path, the table's columns.
    """

    def __init__(self, table: HudiMutationTable) -> None:
        self._table = table
        self._generator = table.generator
        self._writer = table.writer_schema
        self._columns = self._writer.arrow.remove_metadata()
        self._spec = MergeSpec.from_config(table.config)
        self._names = {name.lower(): name for name in self._columns.names}
        self.schema = pa.schema([pa.field(OPERATION, pa.int8()), *RECORD_KEY_SCHEMA, *self._columns])
        keys = [*self._generator.record_fields, *(item.name for item in self._generator.path_fields)]
        self._key_columns = [name for name in self._columns.names if name in {key.partition(".")[0] for key in keys}]
        # Of formatted times the path does not tell the value.
        self._from_path = {
            item.name: at
            for at, item in enumerate(self._generator.path_fields)
            if item.timestamp is None and item.name in self._columns.names
        }

    def path_of(self, values: Sequence[str | None]) -> str:
        """The partition path of partition values.

        Raises:
            MutationError: not one for each partition field, or one that makes no path.
        """
        try:
            return self._generator.path_of(values)
        except KeyGenerationError as error:
            raise MutationError(f"{error.message}, of {self._table.name}", path=self._table.location) from error

    def read(
        self, data: pa.RecordBatch | pa.Table, operations: npt.NDArray[np.int8], values: Sequence[str | None] | None
    ) -> pa.Table:
        """Check records and convert them to staged records.

        Args:
            data: the table's columns; of deletes those of key and partition are looked at alone.
            operations: one for each record.
            values: partition of all records; None to take it from the columns.

        Raises:
            MutationError: partition values of the wrong number or form, an unknown operation, or an update to a value
                that the table's partial update mode passes over.
            UnknownColumnError: a column that the table does not have.
            SchemaError: a missing column, one of the wrong type, or a null where the table takes none.
            RecordIdentifierError: a record without a key.
            RecordPartitionError: a record whose columns say another partition than the values, or none at all.
        """
        if not np.isin(operations, (INSERT, UPDATE, DELETE)).all():
            raise MutationError("operations are 0 (insert), 1 (update) and 2 (delete)")
        path = None if values is None else self.path_of(values)
        whole = self._named(data if isinstance(data, pa.Table) else pa.Table.from_batches([data]))
        if values is not None:
            whole = self._filled(whole, values)
        written = operations != DELETE
        parts = []
        if written.any():
            parts.append(self._rows(_of(whole, written), operations[written], path))
        if not written.all():
            parts.append(self._keys(_of(whole, ~written), path))
        return pa.concat_tables(parts) if parts else self.schema.empty_table()

    def _named(self, data: pa.Table) -> pa.Table:
        """The data's columns under the table's names, without meta columns."""
        chosen = [name for name in data.column_names if name not in META_FIELDS]
        unknown = sorted({name for name in chosen if name.lower() not in self._names})
        if unknown:
            raise UnknownColumnError(f"table {self._table.name} has no column {', '.join(unknown)}")
        names = [self._names[name.lower()] for name in chosen]
        if len(set(names)) < len(names):
            raise SchemaError(f"columns of records for {self._table.name} differ only in case, or not at all")
        return data.select(chosen).rename_columns(names)

    def _filled(self, data: pa.Table, values: Sequence[str | None]) -> pa.Table:
        """With the partition columns that the values tell and the data do not have."""
        for name, value in self.missing_values(values).items():
            if name not in data.column_names:
                data = data.append_column(name, pa.repeat(value, data.num_rows))
        return data

    def missing_values(self, values: Sequence[str | None]) -> dict[str, pa.Scalar]:
        """The values of partition columns that follow from partition values.

        Raises:
            MutationError: a value that is none of its column's type.
        """
        scalars = {}
        for name, at in self._from_path.items():
            kind = self._columns.field(name).type
            try:
                scalars[name] = pa.scalar(values[at], pa.string()).cast(kind)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise MutationError(f"partition value {values[at]!r} of {name} is no {kind}: {error}") from error
        return scalars

    def _rows(self, data: pa.Table, operations: npt.NDArray[np.int8], path: str | None) -> pa.Table:
        missing = [name for name in self._columns.names if name not in data.column_names]
        if missing:
            raise SchemaError(
                f"records for {self._table.name} lack {', '.join(missing)}",
                path=self._table.location,
                remedy="give all columns: inserts and updates write whole rows",
            )
        merged = merged_schema(data.schema, self._writer.avro, self._table.name)
        if merged.changed:
            raise SchemaError(
                f"records for {self._table.name} have types that would change its columns",
                path=self._table.location,
                remedy="cast them, or alter the table before",
            )
        rows = conformed(data, self._columns)
        check_required(rows, self._writer)
        staged = self._staged(rows, rows, pa.array(operations), path)
        if self._spec.partial is not None:
            self._refuse_passed_over(staged, operations == UPDATE)
        return staged

    def _refuse_passed_over(self, staged: pa.Table, updates: Flags) -> None:
        """Where records merge column by column such a value leaves the older one where it is."""
        for item in self._columns:
            if item.name in self._key_columns:
                continue  # which are as they were
            values = one_array(staged.column(item.name))
            lost = updates & ~keeps(values, self._spec, default_of(self._writer.avro, item))
            if lost.any():
                at = int(np.argmax(lost))
                raise MutationError(
                    f"update of record {staged.column(RECORD_KEY)[at].as_py()!r}: {values[at].as_py()!r} in column "
                    f"{item.name} would leave the older value, as {self._table.name} merges column by column",
                    path=self._table.location,
                    remedy="upsert the row to leave it, or delete the record and insert it in a later transaction",
                )

    def _keys(self, data: pa.Table, path: str | None) -> pa.Table:
        chosen = [name for name in self._key_columns if name in data.column_names]
        keys = conformed(data.select(chosen), pa.schema([self._columns.field(name) for name in chosen]))
        nothing = pa.table([pa.nulls(data.num_rows, item.type) for item in self._columns], schema=self._columns)
        return self._staged(keys, nothing, pa.repeat(pa.scalar(DELETE, pa.int8()), data.num_rows), path)

    def _staged(self, keyed: pa.Table, rows: pa.Table, operations: pa.Array, path: str | None) -> pa.Table:
        try:
            keys = self._generator.record_keys(keyed)
        except (KeyGenerationError, UnknownColumnError) as error:
            raise RecordIdentifierError(error.message, path=self._table.location, remedy=error.remedy) from error
        try:
            paths = self._generator.partition_paths(keyed)
            self._generator.check_values(paths)
        except (KeyGenerationError, UnknownColumnError) as error:
            raise RecordPartitionError(error.message, path=self._table.location, remedy=error.remedy) from error
        if path is not None:
            self._check_path(keys, paths, path)
        return pa.table([operations, keys, paths, *rows.columns], schema=self.schema)

    def _check_path(self, keys: pa.Array, paths: pa.Array, path: str) -> None:
        others = pc.not_equal(paths, path)
        if pc.any(others, min_count=0).as_py():
            at = pc.index(others, True).as_py()
            raise RecordPartitionError(
                f"record {keys[at].as_py()!r} is given with partition {path!r}, and its columns say "
                f"{paths[at].as_py()!r}",
                path=self._table.location,
                remedy="give the partition values of the record",
            )

    def to_table(self, records: Sequence[tuple[int, Mapping[str, Any]]], values: Sequence[str | None]) -> pa.Table:
        """Convert single records with operations to columns.

        Args:
            records: operation and values by column; of deletes those of the key are enough.
            values: partition of all of them.

        Raises:
            SchemaError: a column is missing or unknown, or a value does not fit its column.
            MutationError: a partition value that is none of its column's type.
        """
        from_path = {name: value.as_py() for name, value in self.missing_values(values).items()}
        rows = [(operation, {**from_path, **self._record(record)}) for operation, record in records]
        keys = set(self._key_columns)
        checked = []
        for operation, row in rows:
            missing = (keys if operation == DELETE else set(self._columns.names)) - row.keys()
            if missing:
                raise SchemaError(
                    f"a record for {self._table.name} lacks {', '.join(sorted(missing))}",
                    remedy="give a value for each column; of a delete those of key and partition",
                )
            checked.append(row if operation != DELETE else {name: row[name] for name in keys})
        columns = [column_of([row.get(item.name) for row in checked], item, self._table.name) for item in self._columns]
        return pa.table(columns, schema=self._columns)

    def _record(self, record: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(record, Mapping) or not all(isinstance(name, str) for name in record):
            raise SchemaError(f"a record for {self._table.name} is a {type(record).__name__}, not values by column")
        values = {}
        for name, value in record.items():
            if name in META_FIELDS:
                continue
            if name.lower() not in self._names:
                raise SchemaError(f"a record for {self._table.name} has unknown {name}", remedy="leave it out")
            column = self._names[name.lower()]
            if column in values:
                raise SchemaError(f"columns of a record for {self._table.name} differ only in case")
            values[column] = value
        return values


def _of(table: pa.Table, which: Flags) -> pa.Table:
    return table if which.all() else table.filter(pa.array(which))
