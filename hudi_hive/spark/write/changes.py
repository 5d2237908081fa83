"""Writes DataFrames of inserts, updates and deletes of records to Hudi tables, in one instant.

Rows stay Arrow batches on the executors. The driver gets the keys of the changes, with ordering values where the table
has them, looks them up by the table's index in Spark tasks and says where each goes; one join and one shuffle bring
rows to the tasks that write the files of their groups.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from hudi_hive.batches import gathered_tables
from hudi_hive.errors import SchemaError, UnknownColumnError
from hudi_hive.mutation.hudi import HudiMutationTable, HudiMutatorClient, RecordStager
from hudi_hive.spark.bridge import (
    from_arrow_schema,
    map_in_arrow,
    quoted,
    repartition_by_number,
    statement_jobs,
    step_jobs,
    store_options,
    to_arrow_schema,
)
from hudi_hive.spark.versions import SPARK
from hudi_hive.spark.write.executor import SparkExecutor, table_label, task_errors
from hudi_hive.spark.write.file_steps import WriteFileGroups
from hudi_hive.spark.write.rows import default_tasks, persisted_frames, statuses_of
from hudi_hive.spark.write.tasks import (
    GROUP,
    IS_GONE,
    IS_NEW,
    Batches,
    as_schema,
    step,
)
from hudi_hive.spark.write.write_frame import sync_of
from hudi_hive.table import MetaClient
from hudi_hive.write.commit import WriteTransaction
from hudi_hive.write.files import PARTITION_PATH, RECORD_KEY, TargetSlice, WriteHandle
from hudi_hive.write.mutation import MutationPlan, MutationWriter
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.records import OPERATION, operation_numbers
from hudi_hive.write.writers import WriteReport

BATCH_BYTES: Final = 16 << 20
"""Most bytes of rows that a task looks at together."""

Records = Callable[[HudiMutationTable, Callable[[DataFrame], DataFrame]], DataFrame]
"""Makes the records of a commit for the table as it is when the commit begins; its second argument persists frames."""


def write_changes(
    frame: DataFrame,
    path: str | os.PathLike[str],
    operation: str,
    options: Mapping[str, Any] | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
    check: Callable[[MetaClient], None] | None = None,
) -> WriteReport:
    """Insert, update and delete records of a Hudi table, as a column of operations says, in one instant.

    Args:
        frame: the records.
        path: base path of the table.
        operation: name of the column that says ``insert``, ``update`` or ``delete``.
        options, storage_options, check: as for :func:`commit_changes`.

    Raises:
        HudiHiveError: as :func:`commit_changes`.
    """

    def records(table: HudiMutationTable, persist: Callable[[DataFrame], DataFrame]) -> DataFrame:
        return _records(frame, table, operation)

    return commit_changes(frame.sparkSession, path, options, records, storage_options=storage_options, check=check)


def commit_changes(
    spark: SparkSession,
    path: str | os.PathLike[str],
    options: Mapping[str, Any] | None,
    records: Records,
    *,
    storage_options: Mapping[str, Any] | None = None,
    check: Callable[[MetaClient], None] | None = None,
) -> WriteReport:
    """Commit changes of records to a Hudi table in one instant, then sync it if the options say so.

    Args:
        spark: the session.
        path: base path of the table.
        options: Hudi's write options, and those of hive-sync.
        records: makes the records when the commit has begun.
        storage_options: of this call, before those of :func:`~hudi_hive.spark.enable` and of Hadoop's configuration.
        check: raises if the table, as it is when the commit begins, is not the one that the records were made for.

    Raises:
        UnknownRecordError, DuplicateRecordError, RecordPartitionError, StaleRecordError: a record is not there, there
            already or in another partition, or is newer than its change.
        MutationError: two changes of one key.
        TransactionConflictError, TransactionLockError, TransactionLostError: as ``HudiTransaction.commit``.
    """
    base, texts = os.fspath(path), dict(options or {})
    stored = store_options(spark._jsparkSession, base, storage_options)
    client = MetaClient.load(base, stored)
    config = WriteConfig.of(texts, client.config)
    sync = sync_of(spark._jsparkSession, config, base, stored)
    follow = None if sync is None else sync.run
    executor = SparkExecutor(spark.sparkContext)
    jobs = statement_jobs(spark.sparkContext, f"mutate {table_label(client)}")
    mutator = HudiMutatorClient(base, texts, storage_options=stored, executor=executor, on_commit=follow)
    with jobs, mutator:
        transaction = mutator.new_transaction().begin()
        table = transaction.table()

        def write(writer: MutationWriter, running: WriteTransaction) -> WriteReport:
            if check is not None:
                check(running.client)
            with persisted_frames() as persist, task_errors():
                return _written(persist(records(table, persist)), table, writer, running)

        transaction.write_with(write)
        report = transaction.report
        assert report is not None
    return report


def nullable(schema: pa.Schema) -> pa.Schema:
    """A schema whose columns may be null, as all but the key are in deletes."""
    return pa.schema([pa.field(item.name, item.type) for item in schema])


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
    return map_in_arrow(given, read, from_arrow_schema(nullable(RecordStager(table).schema)))


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
        for given in gathered_tables(batches, BATCH_BYTES):
            rows = as_schema(given, self.incoming)
            operations = operation_numbers(rows.column(OPERATION))
            staged = intake.read(rows.drop_columns([OPERATION]), operations, None)
            yield from pa.table(staged.columns, schema=nullable(intake.schema)).combine_chunks().to_batches()


def _written(
    records: DataFrame, table: HudiMutationTable, writer: MutationWriter, running: WriteTransaction
) -> WriteReport:
    """Records to the files of their groups, and the instant completed."""
    client = running.client
    schema = nullable(RecordStager(table).schema)
    with step_jobs(records.sparkSession.sparkContext, "look records up"):
        slim = SPARK.to_arrow(records.select(*[quoted(name) for name in writer.lookup_columns(client)]))
    plan = writer.plan(running, as_schema(slim, pa.schema([schema.field(name) for name in slim.column_names])))
    lines, handles = _lines(slim, plan)
    keyed = writer.keyed_records(client, schema.empty_table().drop_columns([OPERATION]))
    context = writer.write_context(
        running, keyed, [target for handle, target in handles if handle is WriteHandle.MERGE]
    )
    columns = pa.schema([item for item in schema if item.name != OPERATION])
    session = records.sparkSession
    rows = records.drop(OPERATION).join(session.createDataFrame(lines), [RECORD_KEY, PARTITION_PATH])
    tasks = max(1, min(len(handles), default_tasks(session) * 8))
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


__all__ = ["BATCH_BYTES", "Records", "commit_changes", "nullable", "write_changes"]
