"""Mutates Hudi tables by DataFrames of inserts, updates and deletes, or of changes by key, in one instant.

Rows stay Arrow batches on the executors. The driver gets the keys of the changes, with ordering values where the table
has them, looks them up by the table's index in Spark tasks and says where each goes; one join and one shuffle bring
rows to the tasks that write the files of their groups.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from hudi_hive.errors import InvalidOptionError, SchemaError, UnknownColumnError
from hudi_hive.mutation.acid_write import MergeClauses, WhenMatched, WhenNotMatched
from hudi_hive.mutation.core import operation_numbers
from hudi_hive.mutation.hudi import HudiMergeRules, HudiMutationTable, HudiMutatorClient, RecordStager
from hudi_hive.predicate import Dnf, RowFilter
from hudi_hive.spark.bridge import (
    from_arrow_schema,
    map_in_arrow,
    repartition_by_number,
    store_options,
    to_arrow_schema,
)
from hudi_hive.spark.mutate.tasks import REMOVING, TIMES, quoted, refuse_twice
from hudi_hive.spark.session import load
from hudi_hive.spark.write import (
    GROUP,
    IS_GONE,
    IS_NEW,
    Batches,
    SparkExecutor,
    WriteFileGroups,
    as_schema,
    default_tasks,
    gathered_tables,
    persisted_frames,
    statuses_of,
    step,
    sync_of,
    task_errors,
)
from hudi_hive.table import MetaClient
from hudi_hive.write.commit import WriteTransaction
from hudi_hive.write.files import PARTITION_PATH, RECORD_KEY, TargetSlice, WriteHandle
from hudi_hive.write.mutation import MutationPlan, MutationWriter
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.records import OPERATION
from hudi_hive.write.writers import WriteReport


class MergeFields(TypedDict, total=False):
    """What a merge does with rows that have a change and with changes that have no row, as ``MergeClauses``."""

    when_matched: WhenMatched
    when_not_matched: WhenNotMatched
    delete_where: str | Dnf | RowFilter | None


ROW_EXISTS: Final = "_hudi_hive_found"

_BATCH_BYTES: Final = 16 << 20


def mutate_hudi(
    frame: DataFrame,
    path: str | os.PathLike[str],
    *,
    operation: str | None = None,
    on: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    **clauses: Unpack[MergeFields],
) -> WriteReport:
    """Insert, update and delete records of a Hudi table in one transaction, which is one instant.

    With ``on`` the rows are changes by key, as in :func:`hudi_hive.mutation.hudi.merge`; table and changes are joined
    by Spark. With ``operation`` they are records: a column says ``insert``, ``update`` or ``delete``, and the table's
    key fields which record. Attempts of tasks that fail or that Spark runs twice count once. If anything goes wrong,
    nothing is visible.

    Args:
        frame: the rows.
        path: base path of the table.
        operation: name of the column of operations.
        on: the key columns of a merge.
        options: Hudi's write options, and those of hive-sync, to the session's metastore if they name none.
        storage_options: of this call, before those of :func:`~hudi_hive.spark.enable` and of Hadoop's configuration.
        clauses: ``when_matched``, ``when_not_matched`` and ``delete_where`` of a merge; see ``merge``.

    Returns:
        What was written.

    Raises:
        InvalidOptionError: neither or both of ``on`` and ``operation``, or a write option that is wrong.
        UnknownRecordError, DuplicateRecordError, RecordPartitionError, StaleRecordError: a record is not there, there
            already or in another partition, or is newer than its change.
        MutationError: two changes of one key, or an operation that is none.
        UnknownColumnError, SchemaError: columns that do not fit the table's.
        TransactionConflictError, TransactionLockError, TransactionLostError: as ``HudiTransaction.commit``.
    """
    if (operation is None) == (on is None):
        raise InvalidOptionError(
            "a mutation takes either changes by key or records with operations",
            remedy="give on=[…], or operation='name of the column'",
        )
    base, texts = os.fspath(path), dict(options or {})
    executor = SparkExecutor(frame.sparkSession.sparkContext)
    stored = store_options(frame.sparkSession._jsparkSession, base, storage_options)
    config = WriteConfig.of(texts, MetaClient.load(base, stored).config)
    sync = sync_of(frame.sparkSession._jsparkSession, config, base, stored)
    follow = None if sync is None else sync.run
    with HudiMutatorClient(base, texts, storage_options=stored, executor=executor, on_commit=follow) as client:
        transaction = client.new_transaction().begin()
        table = transaction.table()

        def write(writer: MutationWriter, running: WriteTransaction) -> WriteReport:
            with persisted_frames() as persist, task_errors():
                if operation is not None:
                    records = _records(frame, table, operation)
                else:
                    rules = HudiMergeRules(table, tuple(on or ()), MergeClauses(**clauses))
                    rows = load(frame.sparkSession, base, storage_options=storage_options)
                    records = _merged(persist, frame, rows, rules)
                return _written(persist(records), table, writer, running)

        transaction.write_with(write)
        report = transaction.report
        assert report is not None
    return report


# -- records with operations ------------------------------------------------------------------------------------------


def _records(frame: DataFrame, table: HudiMutationTable, operation: str) -> DataFrame:
    """Checked records with their keys and places."""
    chosen = [column for column in frame.columns if column.lower() == operation.lower()]
    if len(chosen) != 1:
        raise UnknownColumnError(f"the rows have no column {operation!r} of operations")
    if len({column.lower() for column in frame.columns}) < len(frame.columns):
        raise SchemaError(f"columns of records for {table.name} differ only in case, or not at all")
    rest = [frame[quoted(column)] for column in frame.columns if column != chosen[0]]
    given = frame.select(*rest, frame[quoted(chosen[0])].cast("string").alias(OPERATION))
    read = ReadRecords(table.encode(), to_arrow_schema(given.schema))
    return map_in_arrow(given, read, from_arrow_schema(_nullable(RecordStager(table).schema)))


def _nullable(schema: pa.Schema) -> pa.Schema:
    """What Spark is told of columns: in deletes all but the key are null."""
    return pa.schema([pa.field(item.name, item.type) for item in schema])


@dataclass(frozen=True)
class ReadRecords:
    """Records of the caller, with their operations in words, as they are staged.

    Attributes:
        table: text form of the table.
        incoming: Arrow types of the records.
    """

    table: str = field(repr=False)
    incoming: pa.Schema

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Records with their keys."""
        intake = RecordStager(HudiMutationTable.decode(self.table))
        for given in gathered_tables(batches, _BATCH_BYTES):
            rows = as_schema(given, self.incoming)
            operations = operation_numbers(rows.column(OPERATION))
            staged = intake.read(rows.drop_columns([OPERATION]), operations, None)
            yield from pa.table(staged.columns, schema=_nullable(intake.schema)).combine_chunks().to_batches()


# -- to the files -----------------------------------------------------------------------------------------------------


def _written(
    records: DataFrame, table: HudiMutationTable, writer: MutationWriter, running: WriteTransaction
) -> WriteReport:
    """Records to the files of their groups, and the instant completed."""
    client = running.client
    schema = _nullable(RecordStager(table).schema)
    slim = records.select(*[quoted(name) for name in writer.lookup_columns(client)]).toArrow()
    plan = writer.plan(running, as_schema(slim, pa.schema([schema.field(name) for name in slim.column_names])))
    lines, handles = _lines(slim, plan)
    keyed = writer.keyed_records(client, schema.empty_table().drop_columns([OPERATION]))
    context = writer.write_context(
        running, keyed, [target for handle, target in handles if handle is WriteHandle.MERGE]
    )
    columns = pa.schema([item for item in schema if item.name != OPERATION])
    session = records.sparkSession
    rows = records.drop(OPERATION).join(session.createDataFrame(lines), [RECORD_KEY, PARTITION_PATH])
    tasks = max(1, min(len(handles), default_tasks(records) * 8))
    spread = repartition_by_number(rows, tasks, sql.col(GROUP) % tasks)
    statuses = statuses_of(spread, WriteFileGroups(context, columns, handles))
    return writer.complete(running, plan, statuses, keyed)


def _lines(slim: pa.Table, plan: MutationPlan) -> tuple[pa.Table, tuple[tuple[WriteHandle, TargetSlice], ...]]:
    """Where each record goes by the number of its group, and what happens to each group."""
    lines = plan.lines
    pairs = lines.group_by(["partition", "file_id"], use_threads=False).aggregate([])
    groups = list(zip(pairs["partition"].to_pylist(), pairs["file_id"].to_pylist(), strict=True))
    names = [pc.binary_join_element_wise(one["file_id"], one["partition"], "/") for one in (lines, pairs)]
    number = pc.index_in(names[0], value_set=names[1].combine_chunks()).cast(pa.int32())
    handles = tuple((plan.groups.handle(group), plan.groups.target(group)) for group in groups)
    row = lines.column("row")
    columns = [slim.column(name).take(row) for name in (RECORD_KEY, PARTITION_PATH)]
    table = pa.table(
        [*columns, number, lines["is_new"], lines["is_gone"]],
        names=[RECORD_KEY, PARTITION_PATH, GROUP, IS_NEW, IS_GONE],
    )
    return table.combine_chunks(), handles


# -- changes by key ---------------------------------------------------------------------------------------------------


def _merged(
    persist: Callable[[DataFrame], DataFrame], frame: DataFrame, rows: DataFrame, rules: HudiMergeRules
) -> DataFrame:
    """Changes, joined with the table's rows of their keys, as checked records.

    What others commit while this runs is seen, and found out when the transaction commits: its records were not there,
    or not as they are, when it began.
    """
    changes_schema = rules.changes_schema(frame.columns)
    read = ReadHudiChanges(rules, to_arrow_schema(frame.schema), changes_schema.append(pa.field(REMOVING, pa.bool_())))
    changes = persist(map_in_arrow(frame, read, from_arrow_schema(read.output)))
    rows_schema = rules.matched_schema(changes_schema)
    keys = rules.keys
    # Names of its own for each side, as both have the key.
    right = [sql.col(quoted(name)).alias(f"change_{place}") for place, name in enumerate(changes_schema.names)]
    by = [f"change_{changes_schema.get_field_index(key)}" for key in keys]
    times = sql.count(sql.lit(1)).over(Window.partitionBy(*by)).alias(TIMES)
    changed = changes.select(*right, REMOVING).select("*", times)
    for key in keys:
        shown, joined_as = (
            rows.schema[key].dataType,
            from_arrow_schema(pa.schema([changes_schema.field(key)]))[0].dataType,
        )
        if shown != joined_as:
            raise SchemaError(f"rows are not joined by column {key!r}, which Spark reads as {shown.simpleString()}")
    left = [sql.col(quoted(name)).alias(f"row_{place}") for place, name in enumerate(rows_schema.names)]
    seen = rows.select(*left, sql.lit(True).alias(ROW_EXISTS))
    same = [seen[f"row_{rows_schema.get_field_index(key)}"] == changed[one] for key, one in zip(keys, by, strict=True)]
    joined = seen.join(changed, same, "right_outer").select(*changed.columns, *seen.columns)
    pairs = MergeHudiPairs(rules, changes_schema, rows_schema)
    return map_in_arrow(joined, pairs, from_arrow_schema(_nullable(RecordStager(rules.table).schema)))


@dataclass(frozen=True)
class ReadHudiChanges:
    """Changes in the table's columns and types, and whether each deletes the rows of its key.

    Attributes:
        rules: of the merge.
        incoming: Arrow types of the changes.
        output: columns of the table that the changes have, and ``REMOVING``.
    """

    rules: HudiMergeRules
    incoming: pa.Schema
    output: pa.Schema

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Changes."""
        for rows in gathered_tables(batches, _BATCH_BYTES):
            changes = as_schema(rows, self.incoming)
            read = self.rules.convert(changes).append_column(REMOVING, pa.array(self.rules.clauses.removing(changes)))
            yield from read.cast(self.output).combine_chunks().to_batches()


@dataclass(frozen=True)
class MergeHudiPairs:
    """Changes, each beside the rows of its key or alone, to checked records.

    Attributes:
        rules: of the merge.
        change_schema: columns of the changes; they come first, then ``REMOVING`` and ``TIMES``.
        row_schema: columns of the rows, then ``ROW_EXISTS``, which is null where there is no row.
    """

    rules: HudiMergeRules
    change_schema: pa.Schema
    row_schema: pa.Schema

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Records with their keys."""
        staging = RecordStager(self.rules.table)
        count = len(self.change_schema)
        for pairs in gathered_tables(batches, _BATCH_BYTES):
            changes = (
                pa.table(pairs.columns[:count], names=self.change_schema.names)
                .cast(self.change_schema)
                .combine_chunks()
            )
            refuse_twice(changes.select(self.rules.keys), pairs.column(count + 1))
            rows = (
                pa.table(pairs.columns[count + 2 : -1], names=self.row_schema.names)
                .cast(self.row_schema)
                .combine_chunks()
            )
            places = np.flatnonzero(pc.is_valid(pairs.column(ROW_EXISTS)).to_numpy()).astype(np.int64)
            removing = pairs.column(count).to_numpy().astype(np.bool_)
            merged = self.rules.records(changes, removing, rows, (places, places))
            staged = staging.read(merged.records, merged.operations, None)
            yield from pa.table(staged.columns, schema=_nullable(staging.schema)).combine_chunks().to_batches()
