"""Mutates Hudi tables by DataFrames of inserts, updates and deletes, or of changes by key, in one instant."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypedDict, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from hudi_hive.batches import gathered_tables
from hudi_hive.errors import InvalidOptionError, SchemaError
from hudi_hive.mutation.acid_write import MergeClauses, WhenMatched, WhenNotMatched
from hudi_hive.mutation.hudi import HudiMergeRules, HudiMutationTable, RecordStager
from hudi_hive.predicate import Dnf, RowFilter
from hudi_hive.spark.bridge import from_arrow_schema, map_in_arrow, quoted, to_arrow_schema
from hudi_hive.spark.mutate.tasks import REMOVING, TIMES, refuse_twice
from hudi_hive.spark.session import load
from hudi_hive.spark.write import (
    BATCH_BYTES,
    Batches,
    as_schema,
    commit_changes,
    nullable,
    step,
    write_changes,
)
from hudi_hive.write.writers import WriteReport


class MergeFields(TypedDict, total=False):
    """What a merge does with rows that have a change and with changes that have no row, as ``MergeClauses``."""

    when_matched: WhenMatched
    when_not_matched: WhenNotMatched
    delete_where: str | Dnf | RowFilter | None


ROW_EXISTS: Final = "_hudi_hive_found"


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
    if operation is not None:
        return write_changes(frame, path, operation, options, storage_options=storage_options)

    def records(table: HudiMutationTable, persist: Callable[[DataFrame], DataFrame]) -> DataFrame:
        rules = HudiMergeRules(table, tuple(on or ()), MergeClauses(**clauses))
        rows = load(frame.sparkSession, os.fspath(path), storage_options=storage_options)
        return _merged(persist, frame, rows, rules)

    return commit_changes(frame.sparkSession, path, options, records, storage_options=storage_options)


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
    return map_in_arrow(joined, pairs, from_arrow_schema(nullable(RecordStager(rules.table).schema)))


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
        for rows in gathered_tables(batches, BATCH_BYTES):
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
        for pairs in gathered_tables(batches, BATCH_BYTES):
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
            yield from pa.table(staged.columns, schema=nullable(staging.schema)).combine_chunks().to_batches()
