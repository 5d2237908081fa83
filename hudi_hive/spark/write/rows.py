"""The rows of a write as DataFrames: prepared, combined, sorted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final, TypeAlias

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import StructType

from hudi_hive.schema import META_FIELDS
from hudi_hive.spark.bridge import (
    from_arrow_schema,
    in_session,
    map_in_arrow,
    planning_once,
    plans_once,
    quoted,
    repartition_by_number,
    step_jobs,
    to_arrow_schema,
)
from hudi_hive.spark.versions import SPARK
from hudi_hive.spark.write.executor import all_tasks_ended, task_errors
from hudi_hive.spark.write.located_rows import LocateKeys, LocateRows
from hudi_hive.spark.write.packed_rows import NUMBER, PACKED
from hudi_hive.spark.write.row_changes import OPERATION_FIELD, RowChanges
from hudi_hive.spark.write.tasks import (
    KEYED,
    ORDER,
    PLACE_FIELDS,
    Batches,
    CombinePacked,
    CombineRows,
    KeysOnce,
    PackKeyed,
    PackRows,
    PrepareAndWrite,
    PrepareKeys,
    PrepareRows,
)
from hudi_hive.table import MetaClient
from hudi_hive.table.merge import IS_DELETED, OPERATION, MergeSpec
from hudi_hive.write.coordination import quietly
from hudi_hive.write.files import PARTITION_PATH, RECORD_KEY, WRITE_STATUS_SCHEMA
from hudi_hive.write.index import IndexOptions
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.records import (
    FILE_NAME,
    RECORD_KEY_SCHEMA,
    KeyedRecords,
    carried_files,
    names_records,
    physical_schema,
    row_generator,
    table_generator,
)
from hudi_hive.write.schema import WriterSchema, writer_schema
from hudi_hive.write.writers import refuse_sort_columns

Persist: TypeAlias = Callable[[DataFrame], DataFrame]

TASKS_PER_CORE: Final = 2

KEEP_LEVEL: Final = StorageLevel.DISK_ONLY
"""Where rows that are read several times stay: in memory they would push out what the session has cached, and leave the
JVM with a heap of their size. They cost as much time on the disk, where the shuffle behind them writes them anyway."""


class IncomingRows:
    """The rows of one write, and the schema that they leave the table with.

    Args:
        frame: the rows.
        client: the table.
        config: of the write.
        changes: what the rows are; all are to be put into the table without it.

    Attributes:
        schema: the writer's schema.
        records: none, with the schema of the files that are written.
        columns: of prepared rows.

    Raises:
        InvalidOptionError: a bulk insert is to be sorted by columns that have no order.
    """

    def __init__(
        self, frame: DataFrame, client: MetaClient, config: WriteConfig, changes: RowChanges | None = None
    ) -> None:
        self.session = frame.sparkSession
        self._frame = frame
        self._config = config
        self._client = client
        self._incoming = to_arrow_schema(frame.schema)
        self._operations = None if changes is None else changes.column
        data = pa.schema([item for item in self._incoming if item.name != self._operations])
        self.schema: WriterSchema = writer_schema(data, client, config)
        self.spec = MergeSpec.from_config(client.config)
        columns = [*RECORD_KEY_SCHEMA, *(item.remove_metadata() for item in self.schema.arrow)]
        self.columns = pa.schema(columns if changes is None else [*columns, OPERATION_FIELD])
        named = [item for item in self.columns if item.name not in META_FIELDS]
        refuse_sort_columns(config, pa.schema(named), client.base_path)
        dropped = client.config.partition_fields if client.config.drop_partition_columns else ()
        physical = physical_schema(self.schema.avro, dropped)
        self.records = KeyedRecords(self.columns.empty_table(), physical, self.spec)

    @property
    def may_delete(self) -> bool:
        """Whether there may be rows that delete, and so are written nowhere."""
        marks = {IS_DELETED, OPERATION} & set(self.columns.names)
        return bool(marks) or self.spec.delete_field is not None

    def prepared(self, instant: str) -> DataFrame:
        """KeyedRecords rows, combined if the options say so."""
        kind, step = from_arrow_schema(self.columns), self._prepare(instant)
        if self.combine is None:
            return map_in_arrow(self._frame, step, kind)
        return self.combined(map_in_arrow(self._frame, step, StructType([*kind.fields]).add(ORDER, "long")))

    def written(self, instant: str, step: Callable[[Batches], Batches]) -> pa.Table:
        """Write statuses of a step that writes rows as they come; of rows that are not combined.

        Args:
            instant: of the write.
            step: writes prepared rows.
        """
        return statuses_of(self._frame, PrepareAndWrite(self._prepare(instant), step))

    def _prepare(self, instant: str) -> PrepareRows:
        config, generator = self._config, row_generator(self._client, self._config)
        return PrepareRows(
            config, generator, self.schema, self._incoming, self.columns, instant, config.combines, self._operations
        )

    def keyed(self, instant: str, persist: Persist) -> DataFrame:
        """Prepared rows, packed with their keys, combined if the options say so.

        Args:
            instant: of the write.
            persist: what is read several times.
        """
        return keyed_rows(self._frame, self._prepare(instant), self.combine, persist)

    def keyed_again(self, numbered: DataFrame, persist: Persist) -> DataFrame:
        """Prepared rows with the number of their order, as :meth:`keyed` ones."""
        order = [] if self.combine is None else [ORDER]
        prepared = numbered.select(*[numbered[quoted(name)] for name in (*self.columns.names, *order)])
        return keyed_rows(prepared, None, self.combine, persist)

    @cached_property
    def combine(self) -> CombineRows | None:
        """What makes one row of those of a key; None where the options let them be several."""
        is_global = IndexOptions.of(self._config.index, self._client.config).is_global
        combine = CombineRows(self.spec, self.columns, self.schema, is_global)
        return combine if self._config.combines else None

    def combined(self, numbered: DataFrame) -> DataFrame:
        """One row a key, of prepared rows with the number of their order; those rows if they are not combined."""
        if self.combine is None:
            return numbered.select(*[numbered[quoted(name)] for name in self.columns.names])
        together = numbered.repartition(default_tasks(self.session), RECORD_KEY)
        return map_in_arrow(together, self.combine, from_arrow_schema(self.columns))

    def with_places(self, instant: str, *, named: bool, inserts_are_new: bool = False) -> DataFrame:
        """Prepared rows, not combined, and their file groups.

        Args:
            instant: of the write.
            named: the meta columns are to tell the groups; without them all rows are new.
            inserts_are_new: rows that insert are new, too.
        """
        order = [] if self.combine is None else [pa.field(ORDER, pa.int64())]
        kind = from_arrow_schema(pa.schema([*self.columns, *order, *PLACE_FIELDS]))
        locate = LocateRows(self._prepare(instant), named and self._has_places, inserts_are_new, are_new=not named)
        return map_in_arrow(self._frame, locate, kind)

    @property
    def _has_places(self) -> bool:
        return {RECORD_KEY, PARTITION_PATH, FILE_NAME} <= set(self._frame.columns)

    def named_files(self) -> pa.Table | None:
        """Files that the rows name as those of their records; None where none count."""
        return named_files(self._frame, self._config)


class IncomingKeys:
    """Records to delete, named by their keys.

    Attributes:
        records: none, with the schema of the table.
        spec: how records merge.
    """

    def __init__(self, frame: DataFrame, client: MetaClient, config: WriteConfig) -> None:
        self.records = KeyedRecords.of_table(client)
        self.spec = self.records.spec
        self._config = config
        generator = table_generator(client, config.options)
        self._is_global = IndexOptions.of(config.index, client.config).is_global
        names = [*generator.record_fields, *(item.name for item in generator.path_fields)]
        needed = {name.partition(".")[0].lower() for name in names} | {name.lower() for name in names}
        needed |= {RECORD_KEY, PARTITION_PATH, FILE_NAME}
        self._whole = frame
        self._frame = frame.select(*[frame[f"`{name}`"] for name in frame.columns if name.lower() in needed])
        incoming = to_arrow_schema(self._frame.schema)
        # With the partition columns, also where they are in no file.
        self._step = PrepareKeys(generator, client.schema(), incoming, self._is_global)
        if not incoming.names:
            self._step(iter([pa.record_batch({})])).__next__()  # tells which columns are missing

    def keyed(self, persist: Persist) -> DataFrame:
        """Key and partition path of each record, once and packed; the path is null where the rows do not hold it."""
        return keyed_rows(self._frame, self._step, KeysOnce(self._is_global), persist)

    def keyed_again(self, keys: DataFrame, persist: Persist) -> DataFrame:
        """Key and partition path of some records, as :meth:`keyed` ones."""
        return keyed_rows(keys.select(*RECORD_KEY_SCHEMA.names), None, KeysOnce(self._is_global), persist)

    def with_places(self) -> DataFrame:
        """Key and partition path of each record, with the file group that its meta columns name as its place."""
        kind = from_arrow_schema(pa.schema([*RECORD_KEY_SCHEMA, *PLACE_FIELDS]))
        return map_in_arrow(self._frame, LocateKeys(self._step), kind)

    def named_files(self) -> pa.Table | None:
        """Files that the rows name as those of their records; None where none count."""
        return named_files(self._whole, self._config)


def named_files(frame: DataFrame, config: WriteConfig) -> pa.Table | None:
    """Files that rows name as those of their records (``GROUPS_SCHEMA``), each once; None where none count."""
    if not names_records(config, frame.columns) or not {PARTITION_PATH, FILE_NAME} <= set(frame.columns):
        return None
    columns = [sql.col(name).cast("string").alias(name) for name in (PARTITION_PATH, FILE_NAME)]
    with step_jobs(frame.sparkSession.sparkContext, "find files of rows"):
        return carried_files(SPARK.to_arrow(frame.select(*columns).distinct()))


def keyed_rows(
    frame: DataFrame,
    prepare: Callable[[Batches], Batches] | None,
    combine: CombineRows | KeysOnce | None,
    persist: Persist,
) -> DataFrame:
    """Rows packed with their keys (``KEYED``), by buckets of these, as many as a shuffle has tasks.

    Args:
        frame: the rows.
        prepare: makes prepared rows of them; None where they are prepared.
        combine: makes one row of those of a key; None where they may be several.
        persist: what is read several times.
    """
    buckets = default_tasks(frame.sparkSession)
    rows = persist(map_in_arrow(frame, PackRows(prepare, buckets), from_arrow_schema(PACKED)))
    together = repartition_by_number(in_session_of_steps(rows), buckets, sql.col(NUMBER))
    return persist(map_in_arrow(together, CombinePacked(combine), from_arrow_schema(KEYED)))


def keyed_in_order(rows: DataFrame, persist: Persist, *, by_buckets: bool) -> DataFrame:
    """Prepared rows packed with their keys (``KEYED``), in the order in which they come.

    Args:
        rows: the rows.
        persist: what is read several times.
        by_buckets: of their keys, which divides rows that come one after the other.
    """
    buckets = default_tasks(rows.sparkSession) if by_buckets else 1
    return in_session_of_steps(persist(map_in_arrow(rows, PackKeyed(buckets), from_arrow_schema(KEYED))))


def in_order(rows: DataFrame, config: WriteConfig) -> DataFrame:
    """Rows of a bulk insert as ``hoodie.bulkinsert.sort.mode`` or the sort columns ask for them.

    Sorted ones come to tasks by ranges, so that a task writes few partitions and files of narrow ranges.
    """
    mode, names = config.files.bulk_insert_sort, list(config.files.bulk_insert_sort_columns)
    path, key = sql.col(PARTITION_PATH), sql.col(RECORD_KEY)
    if names:
        return rows.orderBy(path, *[sql.col(f"`{name}`").asc_nulls_last() for name in names])
    if mode == "GLOBAL_SORT":
        return rows.orderBy(path, key)
    if mode == "PARTITION_SORT":
        return rows.sortWithinPartitions(path, key)
    if mode.startswith("PARTITION_PATH_REPARTITION"):
        rows = rows.repartition(default_tasks(rows.sparkSession), path)
    return rows.sortWithinPartitions(path) if mode == "PARTITION_PATH_REPARTITION_AND_SORT" else rows


def takes_any_order(config: WriteConfig) -> bool:
    """Whether :func:`in_order` leaves rows as they are."""
    return config.files.bulk_insert_sort == "NONE" and not config.files.bulk_insert_sort_columns


def default_tasks(spark: SparkSession) -> int:
    """Tasks after a shuffle of rows."""
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
    return min(tasks, max(1, int(spark.sparkContext.defaultParallelism) * TASKS_PER_CORE))


def parallelism(frame: DataFrame) -> int:
    """Most tasks that groups or look-ups are spread over."""
    return int(frame.sparkSession.sparkContext.defaultParallelism) * TASKS_PER_CORE * 8


def session_of_steps(spark: SparkSession) -> SparkSession:
    """A session like another one for queries over rows that are kept already, or are few: each of them is one job."""
    tasks = default_tasks(spark)
    return spark if plans_once(spark, tasks) else planning_once(spark, tasks)


def in_session_of_steps(frame: DataFrame) -> DataFrame:
    """Rows as a frame of :func:`session_of_steps`."""
    return in_session(frame, session_of_steps(frame.sparkSession))


def statuses_of(frame: DataFrame, step: Callable[..., Any]) -> pa.Table:
    """Write statuses of a step that writes files, when none of its tasks runs any more."""
    context = frame.sparkSession.sparkContext
    with step_jobs(context, "write files"), all_tasks_ended(context), task_errors():
        statuses = SPARK.to_arrow(map_in_arrow(frame, step, from_arrow_schema(WRITE_STATUS_SCHEMA)))
    return statuses.cast(WRITE_STATUS_SCHEMA).combine_chunks()


@contextmanager
def persisted_frames() -> Iterator[Callable[[DataFrame], DataFrame]]:
    """Persist DataFrames that are used several times, and unpersist them at the end.

    One that is cached already, by the session's own word, stays so.
    """
    frames: list[DataFrame] = []

    def persist(frame: DataFrame) -> DataFrame:
        level = frame.storageLevel
        if not (level.useMemory or level.useDisk):
            frames.append(frame.persist(KEEP_LEVEL))
        return frame

    try:
        yield persist
    finally:
        for frame in frames:
            # Behind a commit, or behind the error that is the one to be raised.
            quietly("giving cached rows back", None, frame.unpersist)
