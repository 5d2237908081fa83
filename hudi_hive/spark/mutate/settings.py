"""Further arguments of a mutation by Spark, beside the rows, the table and what is done with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from pyspark.sql import DataFrame

from hudi_hive.errors import InvalidOptionError
from hudi_hive.metastore.transactions import ValidWriteIds
from hudi_hive.mutation.acid_table import MAX_BUCKETS, AcidReader, AcidTable
from hudi_hive.mutation.acid_write import MergeClauses, Transaction, WhenMatched, WhenNotMatched
from hudi_hive.predicate import Dnf, RowFilter
from hudi_hive.spark.bridge import store_options
from hudi_hive.spark.mutate.acid_read import Metastore
from hudi_hive.spark.mutate.tasks import Placement
from hudi_hive.spark.write import default_tasks

_ACID_ONLY = ("metastore", "transaction", "read_under", "tasks", "writers", "record_id_column")


class MutationFields(TypedDict, total=False):
    """The fields of :class:`MutationSettings` as arguments by name."""

    metastore: Metastore | None
    transaction: Transaction | None
    read_under: AcidReader | ValidWriteIds | None
    when_matched: WhenMatched
    when_not_matched: WhenNotMatched
    delete_where: str | Dnf | RowFilter | None
    create_partitions: bool
    tasks: int | None
    writers: int | None
    storage_options: Mapping[str, Any] | None
    record_id_column: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationSettings:
    """How a mutation is run.

    Attributes:
        metastore: URIs of the metastore or a client of it; by default the session's.
        transaction: one that has begun and has the table as a sink, which the caller commits or aborts; by default a
            transaction of its own. It takes one mutation of a table: another one would not see what the first one did.
        read_under: what the identifiers were read under, if that was before the transaction: it is given up if
            somebody has written the table since.
        when_matched, when_not_matched, delete_where: see :func:`hudi_hive.mutation.merge`.
        create_partitions: of an own transaction: register unknown partitions in the metastore.
        tasks: number of tasks that write.
        writers: number of files, at most 4095, that share the inserts into a partition of a table without buckets;
            an input partition's rows go to one of them. By default as many as tasks.
        storage_options: of the warehouse's file system, where tasks run too.
        record_id_column: of records with operations: the column of their identifiers, ``ROW__ID`` by default.
    """

    metastore: Metastore | None = None
    transaction: Transaction | None = None
    read_under: AcidReader | ValidWriteIds | None = None
    when_matched: WhenMatched = "update"
    when_not_matched: WhenNotMatched = "insert"
    delete_where: str | Dnf | RowFilter | None = None
    create_partitions: bool = True
    tasks: int | None = None
    writers: int | None = None
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False)
    record_id_column: str | None = None

    @property
    def clauses(self) -> MergeClauses:
        """What a merge does with rows that have a change and with changes that have no row."""
        return MergeClauses(self.when_matched, self.when_not_matched, self.delete_where)

    @property
    def has_snapshot(self) -> bool:
        """Whether identifiers were read under a snapshot, so that records may change rows, not only insert."""
        return self.transaction is not None or self.read_under is not None

    def check_hudi(self) -> None:
        """Check that there is nothing that only a Hive ACID table takes.

        Raises:
            InvalidOptionError: there is; the error names it.
        """
        needless = [name for name in _ACID_ONLY if getattr(self, name) is not None]
        if needless:
            raise InvalidOptionError(
                f"{', '.join(needless)} belong to a mutation of a Hive ACID table", remedy="give a Hudi table options"
            )

    def distribution(self, frame: DataFrame) -> Distribution:
        """The numbers of tasks and files for some rows.

        Raises:
            InvalidOptionError: they are out of range.
        """
        count = default_tasks(frame.sparkSession) if self.tasks is None else self.tasks
        files = min(count, MAX_BUCKETS - 1) if self.writers is None else self.writers
        if count < 1 or not 0 < files < MAX_BUCKETS:
            raise InvalidOptionError(
                f"{count} tasks, {files} writers: at least one, and at most {MAX_BUCKETS - 1} writers"
            )
        stored = store_options(frame.sparkSession._jsparkSession, None, self.storage_options)
        return Distribution(count, files, stored)


@dataclass(frozen=True, slots=True)
class Distribution:
    """How a mutation's rows are distributed over tasks and files.

    Attributes:
        tasks: number of tasks that write.
        writers: number of files that share the inserts into a partition of a table without buckets.
        storage_options: of the warehouse's file system.
    """

    tasks: int
    writers: int
    storage_options: Mapping[str, Any] = field(repr=False)

    def placement(self, table: AcidTable) -> Placement:
        """What tasks need to place records of a table."""
        return Placement(table.encode(), self.tasks, self.writers)
