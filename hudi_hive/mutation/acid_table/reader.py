"""Reads a Hive ACID table under a snapshot as Arrow batches, with row identifiers.

Base and deltas are read by stripe; rows that a delete event names, or that the snapshot may not see, are left out.
Source: Hive's ORC ACID format (HIVE-10165, split update HIVE-14035).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self

import pyarrow as pa

from hudi_hive.errors import (
    InvalidOptionError,
    MutationError,
    SchemaError,
    UnknownColumnError,
    UnsupportedAcidTableError,
)
from hudi_hive.formats.orc import parse_hive_type
from hudi_hive.metastore.client import DEFAULT_PARTITION, Partition, unescape
from hudi_hive.metastore.transactions import TransactionClient, ValidTransactions, ValidWriteIds
from hudi_hive.mutation.acid_table.directories import PartitionState, partition_state
from hudi_hive.mutation.acid_table.partition_reader import PartitionReader, PartitionScan, without_columns
from hudi_hive.mutation.acid_table.row_ids import ROW_ID, ROW_ID_TYPE
from hudi_hive.mutation.acid_table.table import AcidTable
from hudi_hive.predicate import Dnf, RowFilter, parse_filter
from hudi_hive.read.scan import in_order
from hudi_hive.storage import Storage

THREADS: Final = 4
"""Files that are read at a time, and partitions that are listed."""


@dataclass(frozen=True, slots=True)
class AcidPartition:
    """A partition to read.

    Args:
        values: one for each partition key, not escaped; None for Hive's default partition.
        location: its folder, as a URI or relative to the table's; empty for a table without partitions.
    """

    values: tuple[str | None, ...] = ()
    location: str = ""

    @classmethod
    def of(cls, partition: Partition) -> Self:
        """Make the partition of a metastore partition.

        Raises:
            MutationError: it has no location.
        """
        if not partition.sd.location:
            raise MutationError(f"partition {'/'.join(partition.values)} has no location in the metastore")
        values = tuple(None if value == DEFAULT_PARTITION else value for value in partition.values)
        return cls(values, partition.sd.location)


class AcidReader:
    """Reads one ACID table under one snapshot.

    Args:
        table: what the metastore says of it.
        write_ids: the table's valid write ids, as ``get_valid_write_ids`` gives them.
        transactions: the snapshot's valid transactions; needed where a compaction of Hive 4 was at work.
        partitions: those of the metastore; None takes the folders that the warehouse has, registered or not.
        storage: of the table's location; a new one if not given.
        storage_options: for a storage that is made here.
        states: what to read of each partition, chosen before (with ``state``, perhaps in another process); a partition
            is listed if it is not among them.
        threads: files that are read at a time; 1 reads in the caller's thread, nothing ahead.

    Raises:
        MutationError: the write ids are those of another table.
        InvalidOptionError: no thread.
    """

    def __init__(
        self,
        table: AcidTable,
        write_ids: ValidWriteIds,
        transactions: ValidTransactions | None = None,
        *,
        partitions: Sequence[AcidPartition] | None = None,
        storage: Storage | None = None,
        storage_options: Mapping[str, Any] | None = None,
        states: Mapping[AcidPartition, PartitionState] | None = None,
        threads: int = THREADS,
    ) -> None:
        if threads < 1:
            raise InvalidOptionError(f"{threads} threads to read with")
        if write_ids.table and write_ids.table.lower() != table.qualified_name:
            raise MutationError(f"write ids of {write_ids.table} say nothing about {table.qualified_name}")
        self.table = table
        self.storage = storage if storage is not None else Storage(table.location, storage_options)
        self._write_ids = write_ids
        self._transactions = transactions
        self._partitions = partitions
        self._states = states or {}
        self._threads = threads
        self._kinds = {column.name: parse_hive_type(column.type) for column in table.columns}
        keys = [(key.name, parse_hive_type(key.type).arrow) for key in table.partition_keys]
        self.key_schema = pa.schema(keys)
        self.schema = pa.schema([*table.row_schema, *self.key_schema])

    @classmethod
    def open(
        cls,
        client: TransactionClient,
        database: str,
        name: str,
        *,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Self:
        """Open a reader of what is committed now; ``Transaction.reader`` reads what a transaction sees.

        No lock is taken, so the cleaner may remove files in the meantime.

        Args:
            client: of the metastore.
            database: name of the database.
            name: name of the table.
            storage_options: of the warehouse's file system.

        Raises:
            NoSuchObjectError: no such table.
            UnsupportedAcidTableError: it is not a full ACID table.
            MetastoreError: the metastore refuses or cannot be reached.
        """
        table = AcidTable.of(client.table(database, name), sink=False)
        seen = client.valid_transactions()
        write_ids = client.valid_write_ids(database, name, seen)
        partitions = None
        if table.partition_keys:
            partitions = [AcidPartition.of(one) for one in client.metastore.partitions(database, name)]
        return cls(table, write_ids, seen, partitions=partitions, storage_options=storage_options)

    @property
    def write_ids(self) -> ValidWriteIds:
        """The valid write ids of the table."""
        return self._write_ids

    @property
    def transactions(self) -> ValidTransactions | None:
        """The valid transactions, if they were given."""
        return self._transactions

    def partitions(self) -> tuple[AcidPartition, ...]:
        """The partitions that are read: the given ones, or those of the table's folders.

        Raises:
            UnsupportedAcidTableError: a folder that is no partition of the table.
        """
        if self._partitions is None:
            self._partitions = tuple(_discover(self.storage, self.table.key_names))
        return tuple(self._partitions)

    def partitions_that_may_match(self, row_filter: str | Dnf | RowFilter | None) -> tuple[AcidPartition, ...]:
        """Select the partitions in which rows can pass a filter.

        Raises:
            PredicateError: a filter that does not fit the table.
            SchemaError: partition values that are not of their key's type.
        """
        partitions = self.partitions()
        wanted = parse_filter(row_filter, self.schema).partitions_that_may_match(self.key_values(partitions))
        return tuple(itertools.compress(partitions, wanted.to_pylist()))

    def state(self, partition: AcidPartition) -> PartitionState:
        """The folders and files of a partition that the snapshot reads; see :func:`partition_state`."""
        cached = self._states.get(partition)
        if cached is not None:
            return cached
        storage, path = self._place(partition)
        return partition_state(storage, path, self._write_ids, self._transactions)

    def read_batches(
        self,
        columns: Sequence[str] | None = None,
        row_filter: str | Dnf | RowFilter | None = None,
        *,
        with_row_id: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, partition by partition, in no particular order within one.

        Files and listings of several partitions are read ahead, so they may be asked for long before their rows are.
        Stripes in which no row can pass the filter are not read, nor the delete events of a partition of which none
        does.

        Args:
            columns: columns and partition keys, in any case; None for all.
            row_filter: which rows; partitions in which none can pass are not listed.
            with_row_id: put the identifiers into a first column ``ROW__ID``.

        Raises:
            UnknownColumnError: a column that the table does not have.
            PredicateError: a filter that does not fit the table.
            UnsupportedAcidTableError: files that are not understood, see ``directories.partition_state``.
            TimeTravelError: compactions have dropped what the snapshot needs.
            FileVanishedError: the cleaner removed a file of the snapshot.
            SchemaError: a file's column type does not widen to the table's.
        """
        bound = parse_filter(row_filter, self.schema)
        output = self.output_schema(columns, with_row_id)
        partitions = self.partitions_that_may_match(bound)
        values = self.key_values(partitions)
        read = {*output.names, *bound.columns}
        fields = [field for field in self.table.row_schema if field.name in read]
        row_filter = None if bound.is_trivial else bound
        scan = PartitionScan(self._write_ids, fields, self._kinds, output, row_filter, self._threads)
        listings = in_order(
            (
                partial(self._open, partition, {name: values.column(name)[index] for name in values.column_names}, scan)
                for index, partition in enumerate(partitions)
            ),
            self._threads,
        )
        with closing(listings):
            files = (produce for reader in listings for produce in reader.producers())
            with closing(in_order(files, self._threads)) as batches:
                yield from batches

    def read(
        self,
        columns: Sequence[str] | None = None,
        row_filter: str | Dnf | RowFilter | None = None,
        *,
        with_row_id: bool = True,
    ) -> pa.Table:
        """The rows of :meth:`read_batches` in one table."""
        batches = list(self.read_batches(columns, row_filter, with_row_id=with_row_id))
        return pa.Table.from_batches(batches, schema=self.output_schema(columns, with_row_id))

    def output_schema(self, columns: Sequence[str] | None, with_row_id: bool = True) -> pa.Schema:
        """Schema of the batches for the same arguments.

        Raises:
            UnknownColumnError: a column that the table does not have.
        """
        names = self.schema.names if columns is None else [name.lower() for name in columns]
        unknown = [name for name in names if name not in self.schema.names]
        if unknown:
            raise UnknownColumnError(f"table {self.table.qualified_name} has no column {', '.join(unknown)}")
        first = [pa.field(ROW_ID, ROW_ID_TYPE)] if with_row_id else []
        return pa.schema(first + [self.schema.field(name) for name in dict.fromkeys(names)])

    def key_values(self, partitions: Sequence[AcidPartition]) -> pa.Table:
        """A row of typed partition values for each partition.

        Raises:
            SchemaError: values that are not of their key's type.
        """
        count = len(self.key_schema)
        if any(len(partition.values) != count for partition in partitions):
            raise SchemaError(f"partitions of {self.table.qualified_name} have {count} values each")
        if not count:
            return pa.Table.from_batches([without_columns(len(partitions))])
        columns = []
        for place, field in enumerate(self.key_schema):
            texts = [partition.values[place] for partition in partitions]
            stored = pa.array([None if text == DEFAULT_PARTITION else text for text in texts], pa.string())
            try:
                columns.append(stored.cast(field.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise SchemaError(f"partition value of key {field.name} is no {field.type}: {error}") from error
        return pa.table(columns, schema=self.key_schema)

    def _place(self, partition: AcidPartition) -> tuple[Storage, str]:
        """The storage and path of a partition, which may lie outside of the table's folder."""
        location, root = partition.location.rstrip("/"), self.table.location.rstrip("/")
        if location in ("", root):
            return self.storage, ""
        if location.startswith(f"{root}/"):
            return self.storage, location[len(root) + 1 :]
        if not location.startswith("/") and ":/" not in location:
            return self.storage, location
        return Storage(location, self.storage.storage_options, counters=self.storage.counters), ""

    def _open(
        self, partition: AcidPartition, keys: Mapping[str, pa.Scalar], scan: PartitionScan
    ) -> Iterator[PartitionReader]:
        storage, _ = self._place(partition)
        yield PartitionReader(storage, self.state(partition), keys, scan)


def _discover(
    storage: Storage, keys: Sequence[str], path: str = "", values: tuple[str | None, ...] = ()
) -> Iterator[AcidPartition]:
    """The partitions whose folders are there, in order of their names."""
    if not keys:
        yield AcidPartition(values, path)
        return
    listing = storage.list(path, missing_ok=True)
    for folder, is_dir in sorted(zip(listing["path"].to_pylist(), listing["is_dir"].to_pylist(), strict=True)):
        name = folder.rpartition("/")[2]
        if name[:1] in "_.":
            continue
        key, separator, text = name.partition("=")
        if not (is_dir and separator) or unescape(key).lower() != keys[0]:
            raise UnsupportedAcidTableError(
                f"{name!r} is no folder of partition key {keys[0]!r}", path=storage.uri(folder)
            )
        value = None if text == DEFAULT_PARTITION else unescape(text)
        yield from _discover(storage, keys[1:], folder, (*values, value))
