"""Mutates tables by DataFrames of inserts, updates and deletes, or of changes by key, in one transaction.

In come rows and a table, out comes a report of what was committed. Transaction, lock and heartbeat are the driver's;
one shuffle brings each partition and bucket to one task, whose coordinator writes delta files that nobody sees yet.
Source: HIVE-10165, which leaves grouping, ordering and running of tasks to its callers.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, Unpack
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import DataFrame, Window, types
from pyspark.sql import functions as sql

from hudi_hive.errors import InvalidOptionError, MutationStateError, SchemaError, UnknownColumnError
from hudi_hive.formats.orc import INSERT
from hudi_hive.metastore.transactions import ValidWriteIds
from hudi_hive.mutation.acid_table import ROW_ID, ROW_ID_TYPE, AcidReader, AcidTable
from hudi_hive.mutation.acid_write import (
    MergeRules,
    MutationManifest,
    MutatorClient,
    Transaction,
    check_partition_folders,
    key_tests,
    refuse_unregistered,
)
from hudi_hive.mutation.core import TransactionState
from hudi_hive.spark.bridge import (
    from_arrow_schema,
    map_in_arrow,
    quoted,
    repartition_by_number,
    statement_jobs,
    step_jobs,
)
from hudi_hive.spark.mutate.acid_read import metastore_of, rows_of, table_name
from hudi_hive.spark.mutate.settings import Distribution, MutationFields, MutationSettings
from hudi_hive.spark.mutate.tasks import (
    BUCKET,
    MANIFESTS_SCHEMA,
    OPERATION,
    REMOVING,
    TASK,
    TIMES,
    MergePairs,
    PlaceRecords,
    ReadChanges,
    WriteGroups,
    placed_schema,
)
from hudi_hive.spark.versions import SPARK
from hudi_hive.spark.write import all_tasks_ended, persisted_frames, task_errors
from hudi_hive.write.writers import WriteReport

_MOST_VALUES: Final = 100_000
"""Values of a key that the driver collects to leave other rows unread; of more it takes the ends."""

_mutated_tables: WeakKeyDictionary[Transaction, set[str]] = WeakKeyDictionary()
"""Tables that transactions of callers have mutated, or are about to."""

_claiming: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class MutationReport:
    """The report of a mutation.

    Args:
        table: ``database.table``.
        transaction_id: of the transaction.
        write_id: the table's write id of the transaction.
        committed: False if the caller's own transaction is still to be committed.
        inserted: rows inserted, with those that moved to another partition or bucket.
        updated: rows that got new values where they are.
        deleted: rows deleted, with those that moved.
        partitions: values of the partitions written.
    """

    table: str
    transaction_id: int
    write_id: int
    committed: bool
    inserted: int
    updated: int
    deleted: int
    partitions: tuple[tuple[str | None, ...], ...]


def mutate(
    frame: DataFrame,
    table: str | os.PathLike[str],
    *,
    operation: str | None = None,
    on: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    **fields: Unpack[MutationFields],
) -> MutationReport | WriteReport:
    """Insert, update and delete rows of a Hive ACID table, or of a Hudi table at a path, in one transaction.

    With ``on`` the rows are changes by key, as in :func:`hudi_hive.mutation.merge`; table and changes are joined
    by Spark. With ``operation`` they are records: a column says ``insert``, ``update`` or ``delete``, and ``ROW__ID``
    the row, as :func:`hudi_hive.spark.read_acid` gives it. Columns are those of the table and its partition keys; what
    Spark shows as a timestamp in the session's time zone is written as such, because Hive's have no zone.

    Identifiers are unique in a partition alone, so updates and deletes keep the partition keys that their rows were
    read with: under others they would change other rows, which nothing can tell. To move a row delete it and insert it.

    A partition and bucket is written by one task, so that a bucket with most of the changes takes as long as it takes.
    A task that fails or is run twice counts once. If anything goes wrong, nothing is visible. Tasks import this package
    and reach the warehouse, but never the metastore.

    Args:
        frame: the rows.
        table: ``database.table`` of a Hive ACID table; or the base path of a Hudi table, for which
            :func:`hudi_hive.spark.mutate.hudi.mutate_hudi` says more: it takes ``operation``, ``on`` with what
            belongs to it, and ``options``.
        operation: name of the column of operations.
        on: the key columns of a merge. Partition keys among them keep other partitions unread.
        options: of a Hudi table: Hudi's write options.
        fields: the fields of :class:`~hudi_hive.spark.mutate.settings.MutationSettings` by name: ``metastore``,
            ``transaction``, ``read_under``, ``when_matched``, ``when_not_matched``, ``delete_where``,
            ``create_partitions``, ``tasks``, ``writers``, ``storage_options`` and ``record_id_column``.

    Returns:
        What was written; of a Hudi table a ``WriteReport``.

    Raises:
        InvalidOptionError: neither or both of ``on`` and ``operation``, or numbers out of range.
        MutationStateError: the transaction is not open, or has mutated the table before.
        MutationWorkerError: records that break a rule; the class says which.
        MutationError: two changes of one key, or an operation that is none.
        UnknownColumnError, SchemaError: columns that do not fit the table's.
        TransactionLockError, TransactionConflictError, TransactionLostError: as ``Transaction.begin`` and ``commit``.
        UnsupportedAcidTableError: the table cannot be mutated.
    """
    settings = MutationSettings(**fields)
    _check_mode(operation, on, settings)
    if isinstance(table, os.PathLike) or "/" in table:
        from hudi_hive.spark.mutate.hudi import mutate_hudi

        settings.check_hudi()
        return mutate_hudi(
            frame,
            table,
            operation=operation,
            on=on,
            when_matched=settings.when_matched,
            when_not_matched=settings.when_not_matched,
            delete_where=settings.delete_where,
            options=options,
            storage_options=settings.storage_options,
        )
    if options is not None:
        raise InvalidOptionError("options are Hudi's write options, and the table is a Hive ACID table")
    name = ".".join(table_name(os.fspath(table)))
    distribution = settings.distribution(frame)

    settings = replace(settings, storage_options=distribution.storage_options)

    def run(running: Transaction) -> MutationReport:
        manifests = (
            _merged(frame, running, _merge_rules(running, name, on or (), settings), distribution)
            if operation is None
            else _mutated(frame, running, name, operation, distribution, settings)
        )
        running.accept(*manifests)
        return _report(running, name, manifests, committed=settings.transaction is None)

    return _run_in_transaction(frame, name, settings, run)


def _run_in_transaction(
    frame: DataFrame, name: str, settings: MutationSettings, run: Callable[[Transaction], MutationReport]
) -> MutationReport:
    """Run a mutation in the caller's transaction, or in one of its own that is committed."""
    if settings.transaction is not None:
        with statement_jobs(frame.sparkSession.sparkContext, f"mutate {name}"), _only_one(settings.transaction, name):
            return run(settings.transaction)
    client = MutatorClient(
        metastore_of(frame.sparkSession, settings.metastore),
        sinks=[name],
        create_partitions=settings.create_partitions,
        storage_options=settings.storage_options,
    )
    jobs = statement_jobs(frame.sparkSession.sparkContext, f"mutate {name}")
    with jobs, client, _begun(client, settings.read_under) as own:
        report = run(own)
    return report


def _merge_rules(transaction: Transaction, name: str, on: Sequence[str], settings: MutationSettings) -> MergeRules:
    return MergeRules(transaction.table(*table_name(name)), tuple(key.lower() for key in on), settings.clauses)


def _check_mode(operation: str | None, on: Sequence[str] | None, settings: MutationSettings) -> None:
    if (operation is None) == (on is None):
        raise InvalidOptionError(
            "a mutation takes either changes by key or records with operations",
            remedy="give on=[…], or operation='name of the column'",
        )
    if on is not None and settings.read_under is not None:
        raise InvalidOptionError("read_under is for records with identifiers: a merge reads the rows itself")
    if on is not None and settings.record_id_column is not None:
        raise InvalidOptionError("record_id_column is for records with identifiers: a merge finds the rows by keys")


@contextmanager
def _only_one(transaction: Transaction, name: str) -> Iterator[None]:
    """Refuses the second mutation of a table in one transaction, unless the first one failed."""
    transaction.valid_write_ids(*table_name(name))  # says so if it has not begun
    if transaction.state is not TransactionState.OPEN:
        raise MutationStateError(f"the transaction is {transaction.state.value}, not open")
    with _claiming:
        tables = _mutated_tables.setdefault(transaction, set())
        if name.lower() in tables:
            raise MutationStateError(
                f"table {name} has been mutated in this transaction, and a second mutation would not see its rows",
                remedy="put all rows into one DataFrame, or commit and begin another transaction",
            )
        tables.add(name.lower())
    try:
        yield
    except BaseException:
        tables.discard(name.lower())
        raise


def _begun(client: MutatorClient, read_under: AcidReader | ValidWriteIds | None) -> Transaction:
    transaction = client.new_transaction()
    if read_under is None:
        return transaction.begin()
    return transaction.begin([read_under.write_ids if isinstance(read_under, AcidReader) else read_under])


def _report(
    transaction: Transaction, name: str, manifests: Sequence[MutationManifest], *, committed: bool
) -> MutationReport:
    groups = [group for manifest in manifests for group in manifest.groups]
    return MutationReport(
        name,
        transaction.id,
        transaction.table(*table_name(name)).write_id,
        committed,
        sum(group.inserts for group in groups),
        sum(group.updates for group in groups),
        sum(group.deletes for group in groups),
        tuple(dict.fromkeys(group.partition for group in groups)),
    )


# -- records with operations ------------------------------------------------------------------------------------------


def _identified(frame: DataFrame, table: AcidTable, operation: str, record_id_column: str | None) -> DataFrame:
    """The rows with their identifiers under the name that the tasks look for."""
    if record_id_column is None or record_id_column.lower() == ROW_ID.lower():
        return frame
    chosen = record_id_column.lower()
    if chosen in (operation.lower(), *(column.name for column in table.columns), *table.key_names):
        raise InvalidOptionError(
            f"record_id_column {record_id_column!r} is a column of {table.qualified_name}, or that of operations",
            remedy="rename the column of identifiers",
        )
    if chosen not in (column.lower() for column in frame.columns):
        raise UnknownColumnError(f"the rows have no column {record_id_column!r} of identifiers")
    if ROW_ID.lower() in (column.lower() for column in frame.columns):
        raise SchemaError(f"the rows have a column {ROW_ID} beside {record_id_column}", remedy="leave one out")
    names = [ROW_ID if column.lower() == chosen else column for column in frame.columns]
    return frame.toDF(*names)


def _mutated(
    frame: DataFrame,
    transaction: Transaction,
    name: str,
    operation: str,
    distribution: Distribution,
    settings: MutationSettings,
) -> list[MutationManifest]:
    table = transaction.table(*table_name(name))
    frame = _identified(frame, table, operation, settings.record_id_column)
    chosen = [column for column in frame.columns if column.lower() == operation.lower()]
    if len(chosen) != 1:
        raise UnknownColumnError(f"the rows have no column {operation!r} of operations")
    if len({column.lower() for column in frame.columns}) < len(frame.columns):
        raise SchemaError(f"columns of records for {name} differ only in case, or not at all")
    plain = _zoneless(frame)
    rest = [plain[quoted(column)] for column in plain.columns if column != chosen[0]]
    records = plain.select(*rest, plain[quoted(chosen[0])].cast("string").alias(OPERATION))
    step = PlaceRecords(distribution.placement(table), settings.has_snapshot)
    return _written(map_in_arrow(records, step, from_arrow_schema(placed_schema(table))), table, distribution)


def _written(placed: DataFrame, table: AcidTable, distribution: Distribution) -> list[MutationManifest]:
    """Records to the files of their partitions and buckets; the manifests of the attempts that count."""
    together = repartition_by_number(placed, distribution.tasks, sql.col(TASK))
    keys = [sql.col(quoted(name)) for name in table.key_names]
    identifier = [sql.col(f"{ROW_ID}.{field.name}") for field in ROW_ID_TYPE]
    ordered = together.sortWithinPartitions(*keys, sql.col(BUCKET), sql.col(OPERATION) == INSERT, *identifier)
    step = WriteGroups(table.encode(), distribution.storage_options)
    context = placed.sparkSession.sparkContext
    with step_jobs(context, "write files"), all_tasks_ended(context), task_errors():
        encoded = SPARK.to_arrow(map_in_arrow(ordered, step, from_arrow_schema(MANIFESTS_SCHEMA)))
    return [MutationManifest.decode(text) for text in encoded.column(0).to_pylist()]


# -- changes by key ---------------------------------------------------------------------------------------------------


def _merged(
    frame: DataFrame, transaction: Transaction, rules: MergeRules, distribution: Distribution
) -> list[MutationManifest]:
    table = rules.table
    reader = transaction.reader(table.database, table.name)
    check_partition_folders(reader)
    changes_schema = rules.changes_schema(frame.columns)
    step = ReadChanges(rules, changes_schema.append(pa.field(REMOVING, pa.bool_())))
    with persisted_frames() as persist, task_errors():
        changes = persist(map_in_arrow(_zoneless(frame), step, from_arrow_schema(step.output)))
        with step_jobs(frame.sparkSession.sparkContext, "find values of keys"):
            values = {key: _values(changes, key, changes_schema.field(key).type) for key in rules.on}
        pairs, rows_schema = _pairs(changes, reader, rules, changes_schema, values, distribution)
        merge = MergePairs(rules, distribution.placement(table), changes_schema, rows_schema, values)
        manifests = _written(map_in_arrow(pairs, merge, from_arrow_schema(placed_schema(table))), table, distribution)
    groups = [group for manifest in manifests for group in manifest.groups if group.inserts or group.updates]
    refuse_unregistered(reader, dict.fromkeys(group.partition for group in groups))
    return manifests


def _pairs(
    changes: DataFrame,
    reader: AcidReader,
    rules: MergeRules,
    changes_schema: pa.Schema,
    values: Mapping[str, tuple[pa.Array, bool]],
    distribution: Distribution,
) -> tuple[DataFrame, pa.Schema]:
    """Each change with the rows of its key, or alone; and the rows' columns."""
    tests = (
        [test for key in rules.on for test in key_tests(key, *values[key])]
        if all(len(keys) for keys, _ in values.values())
        else []
    )
    among = {key: keys for key, (keys, complete) in values.items() if complete}
    columns = rules.needed(changes_schema)
    schema = reader.output_schema(columns)
    session = changes.sparkSession
    rows = rows_of(session, reader, columns, tests or None, storage_options=distribution.storage_options, among=among)
    # Names of its own for each side, as both have the key.
    right = [sql.col(quoted(name)).alias(f"change_{place}") for place, name in enumerate(changes_schema.names)]
    keys = [f"change_{changes_schema.get_field_index(key)}" for key in rules.on]
    times = sql.count(sql.lit(1)).over(Window.partitionBy(*keys)).alias(TIMES)
    changed = changes.select(*right, REMOVING).select("*", times)
    left = rows.select(*[sql.col(quoted(name)).alias(f"row_{place}") for place, name in enumerate(schema.names)])
    same = [left[f"row_{schema.get_field_index(key)}"] == changed[one] for key, one in zip(rules.on, keys, strict=True)]
    joined = left.join(changed, same, "right_outer")
    return joined.select(*changed.columns, *left.columns), schema


def _values(changes: DataFrame, key: str, kind: pa.DataType) -> tuple[pa.Array, bool]:
    """Values of a key among the changes: all of them if they are not too many, or the least and the greatest."""
    column = sql.col(quoted(key))
    keys = changes.select(column).where(column.isNotNull())
    values = SPARK.to_arrow(keys.distinct().limit(_MOST_VALUES + 1)).column(0).cast(kind).combine_chunks()
    if len(values) <= _MOST_VALUES:
        return values, True
    ends = SPARK.to_arrow(keys.agg(sql.min(column), sql.max(column)))
    return pa.concat_arrays([ends.column(place).cast(kind).combine_chunks() for place in range(2)]), False


# -- columns ----------------------------------------------------------------------------------------------------------


def _zoneless(frame: DataFrame) -> DataFrame:
    """Instants as what clocks in the session's time zone show, which is what Hive's timestamps are."""
    columns = []
    for item in frame.schema.fields:
        column = frame[quoted(item.name)]
        plain = _without_zone(item.dataType)
        columns.append(column if plain == item.dataType else column.cast(plain).alias(item.name))
    return frame.select(*columns)


def _without_zone(kind: types.DataType) -> types.DataType:
    if isinstance(kind, types.TimestampType):
        return types.TimestampNTZType()
    if isinstance(kind, types.ArrayType):
        return types.ArrayType(_without_zone(kind.elementType), kind.containsNull)
    if isinstance(kind, types.MapType):
        return types.MapType(_without_zone(kind.keyType), _without_zone(kind.valueType), kind.valueContainsNull)
    if isinstance(kind, types.StructType):
        return types.StructType(
            [types.StructField(item.name, _without_zone(item.dataType), item.nullable) for item in kind.fields]
        )
    return kind
