"""Table services on the executors of a Spark session: a path and Hudi's options in, what was done out.

The same services as those behind a write and of ``hudi-hive table``; file groups are read and written by Spark tasks.
Plans and their runs come apart where ``schedule`` or ``execute`` asks for one of them alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from hudi_hive.errors import InvalidOptionError
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.spark.write.executor import SparkExecutor
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant
from hudi_hive.timeline.archival import ArchiveReport
from hudi_hive.timeline.archival import archive as archive_instants
from hudi_hive.timeline.instants import COMPACTION
from hudi_hive.timeline.payloads import CleanMetadata, RestoreMetadata, RollbackMetadata
from hudi_hive.write.coordination import table_lock
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.rollback import restore as run_restore
from hudi_hive.write.rollback import rollback as run_rollback
from hudi_hive.write.rollback import rollback_failed_writes
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import (
    SORT_COLUMNS,
    execute_clustering,
    execute_compaction,
    pending_clusterings,
    schedule_clustering,
    schedule_compaction,
)
from hudi_hive.write.services import clean as run_clean
from hudi_hive.write.services import cluster as run_clustering
from hudi_hive.write.services import compact as run_compaction

Path = str | os.PathLike[str]


def service_context(spark: SparkSession, path: Path, options: Mapping[str, Any] | None = None) -> ServiceContext:
    """Make the context of table services: the lock of the options, and the session's executors.

    Args:
        spark: a session of classic PySpark.
        path: base path of the table.
        options: Hudi's write options.

    Raises:
        InvalidOptionError: an option that is unknown or not supported.
    """
    client = MetaClient.load(os.fspath(path))
    all_options = WriteConfig.of(options or {}, client.config).options
    lock = table_lock(all_options, client.storage, metastore=MetastoreLock.of)
    return ServiceContext(client, all_options, SparkExecutor(spark.sparkContext), lock=lambda: lock)


def compact(
    spark: SparkSession,
    path: Path,
    options: Mapping[str, Any] | None = None,
    *,
    schedule: bool = False,
    execute: bool = False,
) -> list[Instant]:
    """Merge log files into new base files: run the planned compactions, then plan and run one.

    Args:
        spark, path, options: see :func:`service_context`.
        schedule: only plan one.
        execute: only run what is planned.

    Returns:
        The completed commits; with ``schedule`` the plan, if there is anything to do.
    """
    _one(schedule, execute)
    context = service_context(spark, path, options)
    if schedule:
        return _planned(schedule_compaction(context))
    if execute:
        pending = context.client.timeline.pending({COMPACTION})
        return [execute_compaction(context, instant) for instant in pending]
    return run_compaction(context)


def cluster(
    spark: SparkSession,
    path: Path,
    options: Mapping[str, Any] | None = None,
    *,
    sort_columns: Sequence[str] = (),
    schedule: bool = False,
    execute: bool = False,
) -> list[Instant]:
    """Join small file groups into larger ones: run the planned clusterings, then plan and run one.

    Args:
        spark, path, options: see :func:`service_context`.
        sort_columns: sort the rows of each group by these.
        schedule: only plan one.
        execute: only run what is planned.

    Returns:
        The completed commits; with ``schedule`` the plan, if there is anything to do.
    """
    _one(schedule, execute)
    all_options = dict(options or {})
    if sort_columns:
        all_options[SORT_COLUMNS] = ",".join(sort_columns)
    context = service_context(spark, path, all_options)
    if schedule:
        return _planned(schedule_clustering(context))
    if execute:
        pending = pending_clusterings(context.client)
        return [execute_clustering(context, instant) for instant in pending]
    return run_clustering(context)


def clean(spark: SparkSession, path: Path, options: Mapping[str, Any] | None = None) -> CleanMetadata | None:
    """Delete file slices that no retained commit needs, as ``hoodie.clean.*`` say; None if there are none."""
    return run_clean(service_context(spark, path, options))


def archive(spark: SparkSession, path: Path, options: Mapping[str, Any] | None = None) -> ArchiveReport:
    """Move instants beyond ``hoodie.keep.max.commits`` to the archive, down to ``hoodie.keep.min.commits``."""
    context = service_context(spark, path, options)
    settings = WriteConfig.of(context.options, context.client.config).archive
    with context.lock():
        return archive_instants(
            context.client.reload(),
            min_commits=settings.min_commits,
            max_commits=settings.max_commits,
            beyond_savepoint=settings.beyond_savepoint,
        )


def rollback(
    spark: SparkSession, path: Path, options: Mapping[str, Any] | None = None, *, instant: str | None = None
) -> list[RollbackMetadata]:
    """Undo the last write, or what dead writers left.

    Args:
        spark, path, options: see :func:`service_context`.
        instant: requested time of the write to undo; without it the writes of dead writers.
    """
    context = service_context(spark, path, options)
    return rollback_failed_writes(context) if instant is None else [run_rollback(context, instant)]


def restore(
    spark: SparkSession, path: Path, savepoint: str, options: Mapping[str, Any] | None = None
) -> RestoreMetadata:
    """Bring the table back to a savepoint; what was written after it is deleted for good.

    Args:
        spark, path, options: see :func:`service_context`.
        savepoint: the savepoint's requested time.
    """
    return run_restore(service_context(spark, path, options), savepoint)


def init_metadata(
    spark: SparkSession,
    path: Path,
    options: Mapping[str, Any] | None = None,
    *,
    partitions: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """Make the metadata table, or the partitions of it that are missing; files are listed and read by Spark tasks.

    Args:
        spark, path, options: see :func:`service_context`.
        partitions: partitions of the metadata table that shall be there; what the options say without it.

    Returns:
        The partitions that were made.
    """
    context = service_context(spark, path, options)
    with context.lock():
        writer = MetadataWriter.open(context.client.reload(), context.options)
        return () if writer is None else writer.initialise(partitions, context.executor)


def _one(schedule: bool, execute: bool) -> None:
    if schedule and execute:
        raise InvalidOptionError("schedule and execute are for one of the two alone", remedy="give neither for both")


def _planned(instant: Instant | None) -> list[Instant]:
    return [] if instant is None else [instant]


__all__ = ["archive", "clean", "cluster", "compact", "init_metadata", "restore", "rollback", "service_context"]
