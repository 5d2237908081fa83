"""Table services on the executors of a Spark session: a path and Hudi's options in, what was done out.

The same services as those behind a write and of ``hudi-hive table``; file groups are read and written by Spark tasks.
Plans and their runs come apart where ``schedule`` or ``execute`` asks for one of them alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.spark.bridge import statement_jobs, store_options
from hudi_hive.spark.write.executor import SparkExecutor, table_label
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant
from hudi_hive.timeline.archival import ArchiveReport
from hudi_hive.timeline.payloads import CleanMetadata, RestoreMetadata, RollbackMetadata
from hudi_hive.write.services import TableServices

Path = str | os.PathLike[str]


def table_services(
    spark: SparkSession,
    path: Path,
    options: Mapping[str, Any] | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> TableServices:
    """The services of a table, with the lock that the options name and the session's executors.

    Args:
        spark: a session of classic PySpark.
        path: base path of the table.
        options: Hudi's write options.
        storage_options: of this call, before those of :func:`~hudi_hive.spark.enable` and of Hadoop's configuration.

    Raises:
        InvalidOptionError: an option that is unknown or not supported.
    """
    base = os.fspath(path)
    client = MetaClient.load(base, store_options(spark._jsparkSession, base, storage_options))
    executor = SparkExecutor(spark.sparkContext)
    return TableServices.open(client, options, executor=executor, metastore_lock=MetastoreLock.connect)


@contextmanager
def _running(
    spark: SparkSession,
    what: str,
    path: Path,
    options: Mapping[str, Any] | None,
    storage_options: Mapping[str, Any] | None,
) -> Iterator[TableServices]:
    """The services of a table, whose jobs are described as those of one statement."""
    services = table_services(spark, path, options, storage_options=storage_options)
    with statement_jobs(spark.sparkContext, f"{what} {table_label(services.client)}"):
        yield services


def compact(
    spark: SparkSession,
    path: Path,
    options: Mapping[str, Any] | None = None,
    *,
    schedule: bool = False,
    execute: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> list[Instant]:
    """Merge log files into new base files: run the planned compactions, then plan and run one.

    Args:
        spark, path, options, storage_options: see :func:`table_services`.
        schedule: only plan one.
        execute: only run what is planned.

    Returns:
        The completed commits; with ``schedule`` the plan, if there is anything to do.
    """
    with _running(spark, "compact", path, options, storage_options) as services:
        return services.compact(schedule=schedule, execute=execute)


def log_compact(
    spark: SparkSession,
    path: Path,
    options: Mapping[str, Any] | None = None,
    *,
    schedule: bool = False,
    execute: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> list[Instant]:
    """Merge log blocks of file slices without their base files: run the planned log compactions, then a new one.

    Args:
        spark, path, options, storage_options: see :func:`table_services`.
        schedule: only plan one.
        execute: only run what is planned.

    Returns:
        The completed delta commits; with ``schedule`` the plan, if there is anything to do.
    """
    with _running(spark, "log compact", path, options, storage_options) as services:
        return services.log_compact(schedule=schedule, execute=execute)


def cluster(
    spark: SparkSession,
    path: Path,
    options: Mapping[str, Any] | None = None,
    *,
    sort_columns: Sequence[str] = (),
    layout: str | None = None,
    schedule: bool = False,
    execute: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> list[Instant]:
    """Join small file groups into larger ones: run the planned clusterings, then plan and run one.

    Args:
        spark, path, options, storage_options: see :func:`table_services`.
        sort_columns: sort the rows of each group by these.
        layout: how: ``linear``, or along a space-filling curve, ``z-order`` or ``hilbert``.
        schedule: only plan one.
        execute: only run what is planned.

    Returns:
        The completed commits; with ``schedule`` the plan, if there is anything to do.
    """
    with _running(spark, "cluster", path, options, storage_options) as services:
        return services.cluster(sort_columns=sort_columns, layout=layout, schedule=schedule, execute=execute)


def clean(
    spark: SparkSession,
    path: Path,
    options: Mapping[str, Any] | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> CleanMetadata | None:
    """Delete file slices that no retained commit needs, as ``hoodie.clean.*`` say; None if there are none."""
    with _running(spark, "clean", path, options, storage_options) as services:
        return services.clean()


def archive(
    spark: SparkSession,
    path: Path,
    options: Mapping[str, Any] | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> ArchiveReport:
    """Move instants beyond ``hoodie.keep.max.commits`` to the archive, down to ``hoodie.keep.min.commits``."""
    with _running(spark, "archive", path, options, storage_options) as services:
        return services.archive()


def rollback(
    spark: SparkSession,
    path: Path,
    options: Mapping[str, Any] | None = None,
    *,
    instant: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> list[RollbackMetadata]:
    """Undo the last write, or what dead writers left.

    Args:
        spark, path, options, storage_options: see :func:`table_services`.
        instant: requested time of the write to undo; without it the writes of dead writers.
    """
    with _running(spark, "rollback", path, options, storage_options) as services:
        return services.rollback(instant)


def restore(
    spark: SparkSession,
    path: Path,
    savepoint: str,
    options: Mapping[str, Any] | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> RestoreMetadata:
    """Bring the table back to a savepoint; what was written after it is deleted for good.

    Args:
        spark, path, options, storage_options: see :func:`table_services`.
        savepoint: the savepoint's requested time.
    """
    with _running(spark, "restore", path, options, storage_options) as services:
        return services.restore(savepoint)


def init_metadata(
    spark: SparkSession,
    path: Path,
    options: Mapping[str, Any] | None = None,
    *,
    partitions: Sequence[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> tuple[str, ...]:
    """Make the metadata table, or the partitions of it that are missing; files are listed and read by Spark tasks.

    Args:
        spark, path, options, storage_options: see :func:`table_services`.
        partitions: partitions of the metadata table that shall be there; what the options say without it.

    Returns:
        The partitions that were made.
    """
    with _running(spark, "init_metadata", path, options, storage_options) as services:
        return services.metadata.init(partitions).created


__all__ = [
    "archive",
    "clean",
    "cluster",
    "compact",
    "init_metadata",
    "log_compact",
    "restore",
    "rollback",
    "table_services",
]


def create_index(
    spark: SparkSession,
    path: Path,
    name: str,
    column: str,
    kind: str = "secondary_index",
    index_options: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Make a secondary or expression index of all rows, which each write keeps in step from then on.

    Args:
        spark, path, options: see :func:`table_services`.
        name: of the index.
        column: the column, a field of structs by its dotted name.
        kind: ``secondary_index``; ``column_stats`` or ``bloom_filters`` for an expression index.
        index_options: of an expression index ``expr``, the function, and its further arguments.

    Raises:
        MetadataTableError: the index is there, or cannot be made.
        UnknownColumnError: the table has no such column.
    """
    table_services(spark, path, options).metadata.create_index(name, kind, [column], index_options)


def drop_index(spark: SparkSession, path: Path, name: str, options: Mapping[str, Any] | None = None) -> None:
    """Drop a secondary or expression index.

    Args:
        spark, path, options: see :func:`table_services`.
        name: of the index, with or without the prefix of its partition of the metadata table.

    Raises:
        MetadataTableError: the table has no such index.
    """
    services = table_services(spark, path, options)
    there = set(services.context.client.config.metadata_partitions)
    names = [one for one in (name, f"secondary_index_{name}", f"expr_index_{name}") if one in there]
    services.metadata.delete(names[:1] or [name])
