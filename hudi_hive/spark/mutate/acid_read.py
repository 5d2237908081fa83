"""Hive ACID tables as DataFrames: rows of a snapshot with the identifiers that updates and deletes need.

The driver chooses partitions and folders once; each task reads the files of some buckets with the reader of
:mod:`hudi_hive.mutation`, in Arrow batches, and lists nothing. Source: HIVE-10165, which leaves reading to its callers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from hudi_hive.errors import InvalidOptionError, SparkError
from hudi_hive.metastore.client import HiveMetastore
from hudi_hive.metastore.connection import SECURITY, secured_uris
from hudi_hive.metastore.transactions import TransactionClient, ValidTransactions, ValidWriteIds
from hudi_hive.mutation.acid_table import AcidPartition, AcidReader, AcidTable, PartitionState
from hudi_hive.mutation.core import join_values
from hudi_hive.predicate import Dnf, RowFilter
from hudi_hive.spark.bridge import from_arrow_schema, map_in_arrow, store_options
from hudi_hive.spark.versions import SPARK
from hudi_hive.spark.write import Batches, step
from hudi_hive.storage import Credentials, layered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_hive.mutation.acid_write import Transaction

_LISTING_THREADS: Final = 8
_TASKS_PER_CORE: Final = 4
_URIS: Final = "hive.metastore.uris"

Metastore = str | Iterable[str] | HiveMetastore
"""URIs of a metastore, or a client of it."""


def read_acid(
    spark: SparkSession,
    table: str | AcidReader,
    *,
    metastore: Metastore | None = None,
    transaction: Transaction | None = None,
    columns: Sequence[str] | None = None,
    row_filter: str | Dnf | RowFilter | None = None,
    with_row_id: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Read a Hive ACID table under one snapshot, which all actions on the DataFrame share.

    Args:
        spark: the session.
        table: ``database.table``, or a reader with a snapshot of its own.
        metastore: URIs of the metastore or a client of it; by default the session's.
        transaction: read what this transaction sees; otherwise, what is committed now. Identifiers for
            :func:`hudi_hive.spark.mutate.mutate_frame` are read in its transaction, or by a reader that it is told of.
        columns: columns and partition keys; all by default.
        row_filter: which rows, as ``AcidReader.read_batches`` has it; partitions in which none can pass are not listed.
        with_row_id: put the identifiers into a first column ``ROW__ID``, a struct.
        storage_options: of the warehouse's file system, where tasks run too.

    Raises:
        InvalidOptionError: a name that is not ``database.table``, or no metastore.
        NoSuchObjectError: no such table.
        UnsupportedAcidTableError: it is not a full ACID table, or holds files that are not understood.
        UnknownColumnError: a column that it does not have.
        PredicateError: a filter that does not fit it.
    """
    if isinstance(table, AcidReader):
        reader = table
    elif transaction is not None:
        reader = transaction.reader(*table_name(table))
    else:
        with client_of(spark, metastore) as client:
            transactions = TransactionClient(client)
            stored = store_options(spark._jsparkSession, None, storage_options)
            reader = AcidReader.open(transactions, *table_name(table), storage_options=stored)
    options = layered(storage_options, reader.storage.storage_options)
    return rows_of(spark, reader, columns, row_filter, with_row_id=with_row_id, storage_options=options)


def rows_of(
    spark: SparkSession,
    reader: AcidReader,
    columns: Sequence[str] | None = None,
    row_filter: str | Dnf | RowFilter | None = None,
    *,
    with_row_id: bool = True,
    storage_options: Mapping[str, Any] | None = None,
    among: Mapping[str, pa.Array] | None = None,
) -> DataFrame:
    """The rows that a reader sees, read by tasks.

    Args:
        spark: the session.
        reader: of the table.
        columns, row_filter, with_row_id, storage_options: as :func:`read_acid`.
        among: for columns, all values that are wanted: rows with others, or null, are left out, and partitions that
            cannot have them are not listed.

    Raises:
        UnsupportedAcidTableError, UnknownColumnError, PredicateError: as :func:`read_acid`.
    """
    schema = reader.output_schema(columns, with_row_id)
    key_values = dict(among or {})
    partitions = _matching_partitions(reader, reader.partitions_that_may_match(row_filter), key_values)
    with ThreadPoolExecutor(_LISTING_THREADS, thread_name_prefix="acid") as threads:
        states = list(threads.map(reader.state, partitions))
    bucketed = reader.table.buckets > 0
    units = tuple(
        (partition, one)
        for partition, state in zip(partitions, states, strict=True)
        for one in state.by_bucket(bucketed=bucketed)
    )
    read = ReadBuckets(
        reader.table.encode(),
        reader.write_ids,
        reader.transactions,
        units,
        tuple(schema.names[1:] if with_row_id else schema.names),
        row_filter,
        with_row_id,
        key_values,
        Credentials(storage_options or {}),
    )
    return map_in_arrow(_numbers(spark, len(units)), read, from_arrow_schema(schema))


def _numbers(spark: SparkSession, count: int) -> DataFrame:
    """Numbers from 0, spread over tasks, of a size that Spark does not know.

    It would take the size of the numbers for that of the rows that come of them, and send these to all executors.
    """
    tasks = max(1, min(count, int(spark.sparkContext.defaultParallelism) * _TASKS_PER_CORE))
    numbers = spark.range(0, count, 1, tasks).select("id")
    unknown = spark._jsparkSession.createDataFrame(numbers._jdf.toJavaRDD(), numbers._jdf.schema())
    return SPARK.frame_class(unknown, spark)


def _matching_partitions(
    reader: AcidReader, partitions: Sequence[AcidPartition], key_values: Mapping[str, pa.Array]
) -> list[AcidPartition]:
    """Those partitions whose values are among the wanted ones."""
    values = reader.key_values(partitions)
    if not all(len(found) for found in key_values.values()):
        return []
    mask = np.ones(len(partitions), np.bool_)
    for name in reader.key_schema.names:
        if name in key_values:
            mask &= _is_in(values.column(name).combine_chunks(), key_values[name])
    return list(itertools.compress(partitions, mask.tolist()))


def _is_in(column: pa.Array, values: pa.Array) -> Any:  # noqa: ANN401 - a numpy array
    sought = pc.unique(join_values(values))
    return pc.is_in(join_values(column), value_set=sought, skip_nulls=True).to_numpy(zero_copy_only=False)


@dataclass(frozen=True)
class ReadBuckets:
    """A task that reads the rows of numbered buckets.

    Attributes:
        table: text form of the table.
        write_ids: the snapshot's.
        transactions: the snapshot's.
        units: partition and state of each bucket, by number.
        columns: to read.
        row_filter: which rows.
        with_row_id: whether identifiers come first.
        among: values that are wanted, by column; all of them are among ``columns``.
        storage_options: of the warehouse's file system.
    """

    table: str = field(repr=False)
    write_ids: ValidWriteIds
    transactions: ValidTransactions | None
    units: tuple[tuple[AcidPartition, PartitionState], ...] = field(repr=False)
    columns: tuple[str, ...]
    row_filter: str | Dnf | RowFilter | None
    with_row_id: bool
    among: Mapping[str, pa.Array] = field(repr=False)
    storage_options: Mapping[str, Any] = field(repr=False)

    @step
    def __call__(self, batches: Batches) -> Batches:
        """The rows of the buckets whose numbers are in the first column."""
        table = AcidTable.decode(self.table)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                partition, state = self.units[number]
                reader = AcidReader(
                    table,
                    self.write_ids,
                    self.transactions,
                    partitions=[partition],
                    storage_options=self.storage_options,
                    states={partition: state},
                )
                for rows in reader.read_batches(self.columns, self.row_filter, with_row_id=self.with_row_id):
                    yield self._filtered(rows)

    def _filtered(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        mask = np.ones(rows.num_rows, np.bool_)
        for name, values in self.among.items():
            mask &= _is_in(rows.column(name), values)
        return rows if mask.all() else rows.filter(pa.array(mask))


# -- names and metastores ---------------------------------------------------------------------------------------------


def table_name(text: str) -> tuple[str, str]:
    """Database and name of ``database.table``.

    Raises:
        InvalidOptionError: it is none.
    """
    database, _, name = text.partition(".")
    if not (database and name) or "." in name:
        raise InvalidOptionError(f"{text!r} is not database.table")
    return database, name


def metastore_of(spark: SparkSession, metastore: Metastore | None) -> Metastore:
    """The given metastore, or that of the session.

    Raises:
        InvalidOptionError: the session has none.
    """
    if metastore is not None:
        return metastore
    java = spark.sparkContext._jsc
    if java is None:
        raise SparkError("the session was stopped")
    configuration = java.hadoopConfiguration()
    names = (_URIS, *SECURITY)
    settings = {name: str(configuration.get(name)) for name in names if configuration.get(name)}
    if not settings.get(_URIS):
        raise InvalidOptionError(
            f"the session names no metastore ({_URIS})", remedy="give metastore='thrift://host:port'"
        )
    return list(secured_uris(settings))


@contextmanager
def client_of(spark: SparkSession, metastore: Metastore | None) -> Iterator[HiveMetastore]:
    """Open a client of the metastore, which is closed at the end unless it is the caller's."""
    found = metastore_of(spark, metastore)
    if isinstance(found, HiveMetastore):
        yield found
        return
    with HiveMetastore(found) as client:
        yield client
