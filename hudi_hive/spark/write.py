"""Writing DataFrames to Hudi tables: rows stay Arrow batches on the executors, one shuffle brings them to their groups.

Bulk inserts and overwrites go straight from the incoming tasks to new files. Upserts and inserts are prepared, their
keys are looked up where the index says, and each file group's file is written by the task that has all of its rows.
The steps are those of :mod:`hudi_hive.write.local`; the driver holds numbers of rows, names of file groups and records
that move to another partition, never the rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from hudi_hive.errors import InvalidOptionError, PathExistsError, TableNotFoundError
from hudi_hive.metastore.locks import MetastoreLock
from hudi_hive.spark.write_executor import SparkExecutor
from hudi_hive.spark.write_tasks import (
    FILE_ID,
    GROUP,
    HITS,
    IS_NEW,
    PLACE_FIELDS,
    TASK,
    CombineRows,
    LookKeysUp,
    PlaceRows,
    PrepareRows,
    RouteKeys,
    TagRows,
    WriteGroups,
    WriteNewGroups,
)
from hudi_hive.sync.after_write import SyncAfterWrite
from hudi_hive.table import MetaClient, is_hudi_table
from hudi_hive.table.creation import DEFAULT_TABLE_VERSION, create_table
from hudi_hive.table.merge_spec import MergeSpec
from hudi_hive.timeline.instant import REPLACE_COMMIT
from hudi_hive.write.assign import assign_inserts, record_size
from hudi_hive.write.config import WriteConfig
from hudi_hive.write.index import HITS_SCHEMA, Index
from hudi_hive.write.job import PARTITION_PATH, RECORD_KEY
from hudi_hive.write.key_style import table_generator
from hudi_hive.write.local import (
    LocalWriter,
    WriteReport,
    busy_groups,
    newest_slices,
    refuse_clustered_groups,
    small_groups,
)
from hudi_hive.write.locks import table_lock
from hudi_hive.write.schemas import WriterSchema, writer_schema
from hudi_hive.write.settings import DuplicatePolicy, Operation
from hudi_hive.write.work import Groups

MODES: Final = ("append", "overwrite", "error", "errorifexists", "ignore")
_TASKS_PER_CORE: Final = 2


def write(
    frame: DataFrame, path: str | os.PathLike[str], options: Mapping[str, Any] | None = None, mode: str = "append"
) -> WriteReport | None:
    """Write a DataFrame to the Hudi table at a path, under Hudi's own option names; then sync it, if they say so.

    Args:
        frame: the rows; for a delete the columns of key and partition are enough.
        path: base path of the table; it is made from the options if it is not there.
        options: Hudi's write options (``hoodie.datasource.write.…``, ``hoodie.table.name`` …) and those of hive-sync.
        mode: ``append``; ``overwrite``: what the table holds is replaced in one commit, its history stays; ``error``;
            ``ignore``.

    Returns:
        What was written; None when ``ignore`` found a table.

    Raises:
        InvalidOptionError: an option is unknown, not supported, or contradicts the table.
        PathExistsError: mode ``error`` found a table.
        SchemaError: columns that do not fit the table's.
        WriteConflictError: another writer changed the same file groups and completed first.
        WriteError: the write could not be done; the table is as it was.
        SyncError: the rows are written, the metastore was not brought up to date.
    """
    if mode.lower() not in MODES:
        raise InvalidOptionError(f"write mode {mode!r} is not known", remedy=", ".join(MODES))
    base, given, mode = os.fspath(path), dict(options or {}), mode.lower()
    found = is_hudi_table(base)
    if found and mode == "ignore":
        return None
    if found and mode.startswith("error"):
        raise PathExistsError("the table is there already", path=base, remedy="write with mode append or overwrite")
    client = MetaClient.load(base) if found else None
    sync = SyncAfterWrite.asked_by(WriteConfig.of(given, client.config if client is not None else None), base)
    client = client if client is not None else _created(base, given)
    config = WriteConfig.of(given, client.config)
    if found and mode == "overwrite" and not config.operation.replaces:
        config = config.with_operation(Operation.INSERT_OVERWRITE_TABLE)
    report = SparkWriter(client, config).write(frame)
    if sync is not None:
        sync.run(client, report.instant)
    return report


def _created(base: str, options: Mapping[str, Any]) -> MetaClient:
    """The table that the options describe, new."""
    config = WriteConfig.of(options)
    table = config.table
    if table.name is None:
        raise InvalidOptionError("a new table needs a name", remedy="give hoodie.table.name")
    if config.operation in (Operation.DELETE, Operation.DELETE_PARTITION):
        raise TableNotFoundError("there is no table to delete from", path=base, remedy="give the table's base path")
    return create_table(
        base,
        name=table.name,
        database=table.database,
        table_type=table.table_type,
        version=table.version or DEFAULT_TABLE_VERSION,
        record_keys=table.record_keys,
        partition_fields=table.partition_fields,
        ordering_fields=table.ordering_fields,
        key_generator=table.key_generator,
        hive_style_partitioning=table.hive_style_partitioning,
        url_encode_partitioning=table.url_encode_partitioning,
        cdc=table.cdc_logging_mode if table.cdc_enabled else False,
        populate_meta_fields=table.populate_meta_fields,
        merge_mode=table.merge_mode,
        payload_class=table.payload_class,
        timezone=table.timezone,
        properties=config.table_properties,
    )


class SparkWriter(LocalWriter):
    """Writes DataFrames to one Hudi table.

    Args:
        client: the table.
        config: the write's configuration.
    """

    def __init__(self, client: MetaClient, config: WriteConfig) -> None:
        lock = table_lock(config.options, client.storage, metastore=MetastoreLock.of)
        super().__init__(client, config.options, lock=lock)
        self.config = config

    def write(self, frame: DataFrame) -> WriteReport:
        """Write rows the way that ``hoodie.datasource.write.operation`` says; see :func:`write`."""
        self._executor = SparkExecutor(frame.sparkSession.sparkContext)
        if self.config.operation is Operation.DELETE_PARTITION:
            return self.delete_partitions(self.config.rows.partitions_to_delete)
        if self.config.operation is Operation.DELETE:
            return super().write(frame.toArrow())
        return self._serviced(self._written(frame))

    def _written(self, frame: DataFrame) -> WriteReport:
        operation = self.config.operation
        rows = _Rows(frame, self._client, self.config)
        if operation.replaces:
            return self._replace(rows)
        index = Index.of(self.config, self._client)
        straight = operation is Operation.BULK_INSERT and not index.places_inserts
        return self._append(rows) if straight and not self._drops else self._merge(rows)

    # -- straight to new groups --------------------------------------------------------------------------------------

    def _append(self, rows: _Rows) -> WriteReport:
        """Bulk insert."""
        with self._transaction(self._action()) as transaction:
            return self._committed(transaction, self._new_groups(rows, transaction), rows.schema.text)

    def _replace(self, rows: _Rows) -> WriteReport:
        """Insert overwrite, of the partitions that the rows turn out to have or of the table."""
        self._refuse_buckets(self._client)
        with self._transaction(REPLACE_COMMIT) as transaction:
            statuses = self._new_groups(rows, transaction)
            replaced = self._replaced(transaction.client, statuses.column("partition").to_pylist())
            return self._committed(transaction, statuses, rows.schema.text, replaced)

    def _new_groups(self, rows: _Rows, transaction: Any) -> pa.Table:  # noqa: ANN401
        job = rows.job(transaction, self.config)
        size = record_size(transaction.client, self.config.files)
        prepared = rows.prepared(transaction.instant)
        return _statuses(prepared, WriteNewGroups(job, rows.columns, self.config, size))

    # -- to the groups of their records ------------------------------------------------------------------------------

    def _merge(self, rows: _Rows) -> WriteReport:
        """Upsert and insert."""
        with self._transaction(self._action()) as transaction, _kept() as keep:
            client = transaction.client
            job = rows.job(transaction, self.config)
            index = Index.of(self.config, client)
            prepared = keep(rows.prepared(transaction.instant))
            partitions = [row[0] for row in prepared.select(PARTITION_PATH).distinct().collect()]
            looks = self.config.operation is Operation.UPSERT or self._drops
            hits = self._hits(prepared, index, partitions) if looks else None
            tagged = keep(self._tagged(prepared, hits, index, rows))
            self._refuse_duplicates(tagged)
            assignment, groups, handles = self._destinations(client, tagged, partitions, index)
            placed = tagged.mapInArrow(PlaceRows(assignment, groups), _with(tagged.schema, GROUP))
            tasks = max(1, min(groups.num_rows, self._parallelism(rows.session)))
            spread = placed.repartitionById(tasks, sql.col(GROUP) % tasks)
            statuses = _statuses(spread, WriteGroups(job, rows.columns, handles))
            return self._committed(transaction, statuses, rows.schema.text)

    def _parallelism(self, session: SparkSession) -> int:
        return int(session.sparkContext.defaultParallelism) * _TASKS_PER_CORE * 8

    def _hits(self, prepared: DataFrame, index: Index, partitions: list[str]) -> DataFrame | None:
        """Where the keys of rows are: a line a key with the list of its hits; None when there is nowhere to look."""
        plan = index.plan_lookup(sorted(partitions), self._executor)
        if not plan.tasks:
            return None
        keys = prepared.select(sql.col(RECORD_KEY).alias("key"), sql.col(PARTITION_PATH).alias("partition"))
        asked = keys.mapInArrow(RouteKeys(plan), _with(keys.schema, TASK))
        tasks = min(len(plan.tasks), self._parallelism(prepared.sparkSession))
        asked = asked.repartitionById(tasks, sql.col(TASK) % tasks)
        hits = asked.mapInArrow(LookKeysUp(plan), from_arrow_schema(HITS_SCHEMA))
        hit = sql.struct("partition", "file_id")
        by = ["key"] if index.is_global else ["key", "partition"]
        return hits.groupBy(*by).agg(sql.collect_list(hit).alias(HITS))

    def _tagged(self, prepared: DataFrame, hits: DataFrame | None, index: Index, rows: _Rows) -> DataFrame:
        if hits is None:
            nothing = sql.lit(None).cast("array<struct<partition: string, file_id: string>>")
            joined = prepared.withColumn(HITS, nothing)
        else:
            same: Column = prepared[RECORD_KEY] == hits["key"]
            if not index.is_global:
                same = same & (prepared[PARTITION_PATH] == hits["partition"])
            joined = prepared.join(hits, same, "left").select(*[prepared[name] for name in prepared.columns], HITS)
        schema = from_arrow_schema(pa.schema([*rows.columns, *PLACE_FIELDS]))
        drops = self._drops and self.config.duplicate_policy is DuplicatePolicy.DROP
        return joined.mapInArrow(TagRows(index, rows.spec, rows.columns, drops), schema)

    def _refuse_duplicates(self, tagged: DataFrame) -> None:
        if self._drops and self.config.duplicate_policy is DuplicatePolicy.FAIL:
            count = tagged.where(~sql.col(IS_NEW)).count()
            if count:
                raise self._duplicates(count)

    def _destinations(
        self, client: MetaClient, tagged: DataFrame, partitions: list[str], index: Index
    ) -> tuple[pa.Table, pa.Table, tuple[Any, ...]]:
        """File groups for new rows; all groups that get lines, by number, and what happens to each."""
        slices = newest_slices(client, partitions)
        free = tagged.where(sql.col(FILE_ID).isNull()).groupBy(PARTITION_PATH).count().collect()
        counts = {row[0]: row[1] for row in sorted(free)}
        size = record_size(client, self.config.files) if counts else 1
        assignment = assign_inserts(counts, slices, self.config.files, size, busy=busy_groups(client))
        bound = tagged.where(sql.col(FILE_ID).isNotNull()).select(PARTITION_PATH, FILE_ID).distinct().toArrow()
        bound = bound.rename_columns(["partition", "file_id"]).cast(pa.schema(list(HITS_SCHEMA)[1:]))
        groups = pa.concat_tables([bound, assignment.select(["partition", "file_id"])])
        groups = groups.group_by(["partition", "file_id"]).aggregate([]).select(["partition", "file_id"])
        if index.is_global:
            slices = newest_slices(client, pc.unique(groups.column("partition")).to_pylist())
        refuse_clustered_groups(client, groups)
        taking = small_groups(assignment)
        known = Groups.of(slices)
        handles = []
        for group in zip(groups["partition"].to_pylist(), groups["file_id"].to_pylist(), strict=True):
            handle = known.handle(
                group,
                merge_on_read=client.config.is_merge_on_read,
                takes_inserts=group in taking,
                index_sees_logs=index.places_inserts,
            )
            handles.append((handle, known.target(group)))
        return assignment, groups.combine_chunks(), tuple(handles)


class _Rows:
    """The rows of one write, and the schema that they leave the table with."""

    def __init__(self, frame: DataFrame, client: MetaClient, config: WriteConfig) -> None:
        self.session = frame.sparkSession
        self._frame = frame
        self._config = config
        self._client = client
        self._incoming = to_arrow_schema(frame.schema, timezone="UTC")
        self.schema: WriterSchema = writer_schema(self._incoming, client, config)
        self.spec = MergeSpec.from_config(client.config)
        keys = [pa.field(RECORD_KEY, pa.string()), pa.field(PARTITION_PATH, pa.string())]
        self.columns = pa.schema([*keys, *(item.remove_metadata() for item in self.schema.arrow)])

    def prepared(self, instant: str) -> DataFrame:
        """Prepared rows, combined if the options say so."""
        generator = table_generator(self._client, self._config.options)
        step = PrepareRows(self._config, generator, self.schema, self._incoming, self.columns, instant)
        kind = from_arrow_schema(self.columns)
        prepared = self._frame.mapInArrow(step, kind)
        if not self._config.combines:
            return prepared
        tasks = int(self.session.conf.get("spark.sql.shuffle.partitions") or 200)
        cores = self.session.sparkContext.defaultParallelism * _TASKS_PER_CORE
        together = prepared.repartition(min(tasks, max(cores, 1)), RECORD_KEY)
        return together.mapInArrow(CombineRows(self.spec, self.columns), kind)

    def job(self, transaction: Any, config: WriteConfig) -> Any:  # noqa: ANN401
        """The job that writes them."""
        from hudi_hive.write.prepared import Prepared, job_of

        ready = Prepared(self.columns.empty_table(), self.schema.avro, self.spec)
        return job_of(transaction.client, config, transaction.instant, ready)


def _statuses(frame: DataFrame, step: Callable[..., Any]) -> pa.Table:
    from hudi_hive.write.statuses import WRITE_STATUS_SCHEMA

    found = frame.mapInArrow(step, from_arrow_schema(WRITE_STATUS_SCHEMA)).toArrow()
    return found.cast(WRITE_STATUS_SCHEMA).combine_chunks()


def _with(schema: StructType, name: str) -> StructType:
    return StructType([*schema.fields]).add(name, "integer")


@contextmanager
def _kept() -> Iterator[Callable[[DataFrame], DataFrame]]:
    """Frames that are used more than once; given back at the end."""
    frames: list[DataFrame] = []

    def keep(frame: DataFrame) -> DataFrame:
        frames.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        return frames[-1]

    try:
        yield keep
    finally:
        for frame in frames:
            frame.unpersist()


__all__ = ["MODES", "SparkWriter", "write"]
