"""A table snapshot as a logical plan of Spark: its own Parquet or ORC relation over our file index, below a Project.

The Project is there for more than column order: a bare relation would accept INSERT, and Spark would write a file that
is in no commit into the table. With a Project on top Spark refuses every write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from hudi_hive.errors import SchemaError, SparkError
from hudi_hive.names import COMMIT_TIME_COLUMN
from hudi_hive.plan import Query, QueryType
from hudi_hive.schema import META_FIELDS
from hudi_hive.spark.bridge import JavaValue, Jvm, reader_settings, relations, store_options, unlogged
from hudi_hive.spark.scan.changes import changes_plan, records_plan
from hudi_hive.spark.scan.column_sources import ColumnSources
from hudi_hive.spark.scan.hudi_file_index import HudiFileIndex, PlanLog
from hudi_hive.spark.scan.listings import spread_listing
from hudi_hive.spark.scan.merging import MergeFileIndex, install_merge_rule
from hudi_hive.spark.scan.schema import spark_schema
from hudi_hive.spark.scan.snapshot import TableSnapshot
from hudi_hive.storage import Credentials
from hudi_hive.table.keys import DEFAULT_PARTITION

COMMIT_TIME = COMMIT_TIME_COLUMN

_TELLING = (StringType, ByteType, ShortType, IntegerType, LongType, BooleanType, DateType)
"""Types whose value is told by its text in a partition path; others (timestamps, decimals …) have several spellings."""

_FORMATS = {
    "parquet": "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
    "orc": "org.apache.spark.sql.execution.datasources.orc.OrcFileFormat",
    # Of HFiles and Lance files Spark's own reader gets none: their rows come from Arrow.
    "hfile": "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
    "lance": "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
}


@dataclass(slots=True)
class Environment:
    """The state that all sessions of one Spark context share.

    Attributes:
        jvm: the JVM.
        storage_options: those of one call, which go before the session's.
        log: the scans planned.
        extended: identities of the extension registries that have our hooks.
        hooking: those of them whose hooks act in sessions that are made now.
        disabled: weak references to sessions in which nothing of ours acts any more.
    """

    jvm: Jvm
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    log: PlanLog = field(default_factory=PlanLog)
    extended: set[int] = field(default_factory=set)
    hooking: set[int] = field(default_factory=set)
    disabled: list[JavaValue] = field(default_factory=list)

    def disable(self, session: JavaValue) -> None:
        """Refuse what the session asks of the data source from now on."""
        self.enable(session)
        self.disabled.append(self.jvm.view.java.lang.ref.WeakReference(session))

    def enable(self, session: JavaValue) -> None:
        """Undo :meth:`disable`."""
        self.disabled[:] = [one for one in self.disabled if one.get() is not None and one.get() != session]

    def check_enabled(self, session: JavaValue) -> None:
        """Refuse a session that was disabled.

        Raises:
            SparkError: it was.
        """
        if any(one.get() == session for one in self.disabled):
            raise SparkError("this session reads and writes no Hudi tables", remedy="hudi_hive.spark.enable(spark)")

    def store_options(self, session: JavaValue, location: str) -> Credentials:
        """The storage options of a session for files at a location."""
        return store_options(session, location, self.storage_options)


@dataclass(frozen=True, slots=True)
class Declared:
    """A table's name, columns and partition columns in a catalog.

    Attributes:
        name: ``db.table``.
        columns: all columns in order.
        partition_columns: those the catalog calls partition columns.
        table: the ``Entry`` of ``Relations.java``; None where there is none.
    """

    name: str
    columns: StructType
    partition_columns: tuple[str, ...]
    table: JavaValue


@dataclass(frozen=True, slots=True)
class Scanned:
    """A table's snapshot, the columns that are shown of it, in order, and where each comes from."""

    snapshot: TableSnapshot
    columns: StructType
    sources: ColumnSources


def relation_plan(
    environment: Environment, session: JavaValue, location: str, query: Query, declared: Declared | None = None
) -> JavaValue:
    """The logical plan that reads a table.

    Args:
        environment: of the Spark context.
        session: the JVM's session.
        location: the base path as Hadoop writes it.
        query: the question.
        declared: what the catalog says; without it the columns are those of the table itself.

    Raises:
        HudiHiveError: the table cannot be read, or not with this query.
    """
    records = records_plan(session, location, query, lambda: environment.store_options(session, location))
    if records is not None:
        return records
    snapshot = table_snapshot(environment, session, location, query, declared)
    if query.query_type is QueryType.CDC:
        return changes_plan(session, snapshot)
    plan = _guarded(environment, session, scanned(snapshot, declared), declared)
    if query.query_type is QueryType.INCREMENTAL:
        plan = _only_commits(environment.jvm, plan, commit_times(snapshot))
    return plan


def table_snapshot(
    environment: Environment, session: JavaValue, location: str, query: Query, declared: Declared | None = None
) -> TableSnapshot:
    """The table as it is now; arguments as for :func:`relation_plan`."""
    fields = None if declared is None else declared.partition_columns
    stored = environment.store_options(session, location)
    return TableSnapshot(location, query, stored, fields, lambda: spread_listing(query))


def scanned(snapshot: TableSnapshot, declared: Declared | None = None) -> Scanned:
    """Make the scan of a snapshot: its columns and their sources; ``declared`` as for :func:`relation_plan`."""
    own = snapshot.columns
    columns = own if declared is None else _declared_columns(declared, own, snapshot)
    columns = _formatted_as_text(snapshot, columns)
    return Scanned(snapshot, columns, _column_sources(snapshot, columns, own))


def columns_as_of(snapshot: TableSnapshot, time: str) -> StructType:
    """The columns that a scan shows of the table as of a requested time."""
    return _formatted_as_text(snapshot, spark_schema(snapshot.client, time))


def _declared_columns(declared: Declared, own: StructType, snapshot: TableSnapshot) -> StructType:
    """The catalog's columns; for time travel to before some of them existed, the table's columns of then.

    Raises:
        SchemaError: the schema goes by ids, and the catalog has a column that the table has no more.
    """
    if snapshot.schema_time is None and not snapshot.evolves:
        return declared.columns
    known = {name.lower() for name in (*own.names, *declared.partition_columns, *META_FIELDS)}
    unknown = [name for name in declared.columns.names if name.lower() not in known]
    if snapshot.schema_time is not None:
        if unknown or (snapshot.evolves and _kinds(declared.columns) != _kinds(own)):
            return own
    elif unknown:
        raise SchemaError(
            f"{declared.name} has columns in the catalog that the table has not: {', '.join(unknown)}",
            path=snapshot.location,
            remedy="the table's schema has changed since it was synced; sync it again",
        )
    return declared.columns


def _kinds(columns: StructType) -> dict[str, DataType]:
    return {field.name.lower(): field.dataType for field in columns.fields}


def _formatted_as_text(snapshot: TableSnapshot, columns: StructType) -> StructType:
    """Columns that a key generator formats into the path, asked for from there: their text is all the path holds."""
    if not snapshot.query.options.partition_values_from_path:
        return columns
    config = snapshot.client.config
    kinds = zip(config.partition_fields, config.partition_field_types, strict=True)
    formatted = {name.lower() for name, kind in kinds if kind != "SIMPLE"}
    return StructType(
        [
            StructField(field.name, StringType(), True, field.metadata) if field.name.lower() in formatted else field
            for field in columns.fields
        ]
    )


def _column_sources(snapshot: TableSnapshot, columns: StructType, own: StructType) -> ColumnSources:
    """Decide for each partition column whether its value comes from the path or from the file.

    A path value serves when it is the column's own value. It is not for key generators that format timestamps, and not
    for strings when there is a default partition, which holds empty strings beside nulls. Such columns are read from
    the file, unless it does not have them or the catalog gives them another type: then only the path can tell.
    """
    config = snapshot.client.config
    by_name = {field.name.lower(): field for field in columns.fields}
    own_types = {field.name.lower(): field.dataType for field in own.fields}
    kinds = dict(zip(map(str.lower, config.partition_fields), config.partition_field_types, strict=True))
    from_path = snapshot.query.options.partition_values_from_path or config.drop_partition_columns
    has_default: bool | None = None
    path: list[StructField] = []
    hidden: list[StructField] = []
    for name in snapshot.partition_fields:
        column = by_name.get(name.lower())
        if column is None:
            continue
        in_file = own_types.get(name.lower()) == column.dataType and not config.drop_partition_columns
        is_readable = kinds.get(name.lower(), "SIMPLE") == "SIMPLE" and isinstance(column.dataType, _TELLING)
        if from_path or not in_file:
            path.append(column)
        elif is_readable and isinstance(column.dataType, StringType):
            if has_default is None:
                has_default = _has_default_partition(snapshot)
            (hidden if has_default else path).append(column)
        elif is_readable:
            path.append(column)
    names = {field.name for field in path}
    data = StructType([field for field in columns.fields if field.name not in names])
    return ColumnSources(data, StructType(path), StructType(hidden))


def _has_default_partition(snapshot: TableSnapshot) -> bool:
    """Whether a folder of the table is that of null; folders of partitions need not be listed to see their names."""
    config = snapshot.client.config
    fields, is_hive_style = config.partition_fields, config.hive_style_partitioning
    # Elsewhere a value with slashes may stand before the last one, at whatever depth that is.
    is_told = len(fields) == 1 or is_hive_style or (config.url_encode_partitioning and not config.is_bootstrapped)
    if not (snapshot.walks_folders and is_told):
        return _names_default(snapshot.partition_paths())
    names: list[str] = []

    def are_above(folders: Sequence[str]) -> npt.NDArray[np.bool_]:
        names.extend(folders)
        paths = pa.array(folders, pa.string())
        if is_hive_style:
            last = pc.starts_with(pc.replace_substring_regex(paths, r"(?s)^.*/", ""), f"{fields[-1]}=")
        else:
            last = pc.greater_equal(pc.count_substring(paths, "/"), len(fields) - 1)
        above: npt.NDArray[np.bool_] = pc.invert(last).to_numpy(zero_copy_only=False)
        return above

    listed = snapshot.partitions_within(are_above)
    return _names_default([*names, *listed.partitions])


def _names_default(paths: Sequence[str]) -> bool:
    return bool(pc.any(pc.match_substring(pa.array(paths, pa.string()), DEFAULT_PARTITION), min_count=0).as_py())


def _guarded(environment: Environment, session: JavaValue, scan: Scanned, declared: Declared | None) -> JavaValue:
    """``Project(columns, LogicalRelation(HadoopFsRelation(our index)))``."""
    name = declared.name if declared is not None else scan.snapshot.location
    index = file_index(environment, session, scan, name).face()
    # REFRESH TABLE needs the catalog's table in the relation.
    table = declared.table if declared is not None else None
    parts = _parts(environment, scan, index, scan.sources.data)
    return relations(environment.jvm).plan(*parts, session, table, json.dumps(scan.columns.names))


def file_index(environment: Environment, session: JavaValue, scan: Scanned, name: str) -> HudiFileIndex:
    """The file index of a scan; ``name`` is what to call the table in logs."""
    jvm = environment.jvm
    arguments = (jvm, session, scan.snapshot, scan.sources, name, environment.log)
    if not scan.snapshot.may_be_split:
        return HudiFileIndex(*arguments)
    install_merge_rule(jvm, session)
    return MergeFileIndex(*arguments)


def files_relation(
    environment: Environment, session: JavaValue, scan: Scanned, index: JavaValue, data: StructType
) -> JavaValue:
    """``HadoopFsRelation`` over an index: a bare one takes INSERT, so there must be a guard.

    Args:
        environment: of the Spark context.
        session: the JVM's session.
        scan: what it shows.
        index: its files, as Spark sees them.
        data: the columns of its files; partition columns among them stay in their place.
    """
    return relations(environment.jvm).relation(*_parts(environment, scan, index, data), session)


def _parts(environment: Environment, scan: Scanned, index: JavaValue, data: StructType) -> tuple[JavaValue, ...]:
    settings = reader_settings(scan.snapshot.location, environment.storage_options)
    with unlogged():
        made = environment.jvm.map(settings) if settings else None
    kind = _FORMATS[scan.snapshot.client.config.base_file_format]
    return index, scan.sources.path.json(), data.json(), kind, made


def commit_times(snapshot: TableSnapshot) -> list[str]:
    """The commits of an incremental query, as rows name them: a base file also holds rows that older commits wrote."""
    times = snapshot.fixed_plan().commit_times
    assert times is not None
    listed: list[str] = times.to_pylist()
    if any(not (time.isascii() and time.isdigit()) for time in listed):
        raise SparkError("a commit's time is not a number, which no writer of Hudi makes")
    return listed


def _only_commits(jvm: Jvm, plan: JavaValue, times: list[str]) -> JavaValue:
    """Keep rows written by some commits."""
    listed = ", ".join(f"'{time}'" for time in times)
    text = f"{COMMIT_TIME} IN ({listed})" if times else "false"
    condition = jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser").parseExpression(text)
    return jvm.package("catalyst.plans.logical").Filter(condition, plan)
