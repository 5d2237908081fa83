"""``TableSpec``: the definition of a synced table in the metastore, from table and configuration.

Comes in: configuration, a Hudi table's meta client. Goes out: one ``TableSpec`` per metastore table; no call is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from hudi_hive.errors import SchemaSyncError
from hudi_hive.names import (
    COMMIT_SEQNO_COLUMN,
    COMMIT_TIME_COLUMN,
    FILE_NAME_COLUMN,
    HOODIE_QUERY_AS_RO_TABLE,
    PARTITION_PATH_COLUMN,
    RECORD_KEY_COLUMN,
)
from hudi_hive.sync.config import BucketSpec, HiveSyncConfig, SyncTarget, parse_bucket_spec
from hudi_hive.sync.table.glue_table import glue_comments, glue_location, glue_parameters
from hudi_hive.sync.table.locations import absolute
from hudi_hive.sync.table.parquet_schema import OPTIONAL, StorageField, storage_fields, without_local_times
from hudi_hive.sync.table.spark_schema import column_types, spark_schema_json, spark_table_parameters
from hudi_hive.sync.table.types import metastore_type, type_warnings
from hudi_hive.table.core import MetaClient

LAST_COMMIT = "last_commit_time_sync"
LAST_COMPLETION = "last_commit_completion_time_sync"

META_FIELDS = (
    COMMIT_TIME_COLUMN,
    COMMIT_SEQNO_COLUMN,
    RECORD_KEY_COLUMN,
    PARTITION_PATH_COLUMN,
    FILE_NAME_COLUMN,
)

_PARQUET_OUTPUT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
_PARQUET_SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
_ORC = "org.apache.hadoop.hive.ql.io.orc."
_HUDI = "org.apache.hudi.hadoop."
_OLD = "com.uber.hoodie.hadoop."
_CALLED = {"HFILE": "HFile", "LANCE": "Lance"}


class View(Enum):
    """The kind of query that a metastore table answers: snapshot, read-optimised or real-time."""

    COPY_ON_WRITE = "copy-on-write"
    READ_OPTIMIZED = "read-optimized"
    REALTIME = "realtime"


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the metastore has it: lower-case name, Hive type, comment."""

    name: str
    type: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class HiveClasses:
    """Java class names by which Hive reads a table."""

    input_format: str
    output_format: str
    serde: str


@dataclass(frozen=True)
class TableSpec:
    """The target definition of a metastore table, without the stamp of the sync.

    ``commented`` holds the columns whose comment the sync decides, with their comment (empty: none); without
    ``buckets`` the sync decides nothing about buckets. ``declared_types`` has the types of columns in Spark's JSON, by
    name in lower case, as statements declare them: with times without a zone, which hive-sync takes for numbers.
    """

    database: str
    name: str
    view: View
    base_path: str
    managed: bool
    columns: tuple[Column, ...]
    partition_keys: tuple[Column, ...]
    classes: HiveClasses
    serde_parameters: Mapping[str, str]
    table_parameters: Mapping[str, str]
    commented: Mapping[str, str]
    declared_types: Mapping[str, Any]
    buckets: BucketSpec | None = None
    warnings: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """``database.table``."""
        return f"{self.database}.{self.name}"


def hive_classes(base_file_format: str, view: View, *, pre_apache: bool = False) -> HiveClasses:
    """Class names for files of a format, as ``PARQUET``, and a view (docs/format/hive.md#hive-sync-tables)."""
    realtime = view is View.REALTIME
    if base_file_format == "ORC":
        return HiveClasses(_ORC + "OrcInputFormat", _ORC + "OrcOutputFormat", _ORC + "OrcSerde")
    if base_file_format in _CALLED:
        word = _CALLED[base_file_format]
        name = _HUDI + (f"realtime.Hoodie{word}RealtimeInputFormat" if realtime else f"Hoodie{word}InputFormat")
    elif pre_apache:
        name = _OLD + ("realtime.HoodieRealtimeInputFormat" if realtime else "HoodieInputFormat")
    else:
        name = _HUDI + ("realtime.HoodieParquetRealtimeInputFormat" if realtime else "HoodieParquetInputFormat")
    return HiveClasses(name, _PARQUET_OUTPUT, _PARQUET_SERDE)


def views(config: HiveSyncConfig, table: str, *, merge_on_read: bool) -> tuple[tuple[str, View], ...]:
    """The metastore tables of a Hudi table, in the order of syncing: name and view."""
    if not merge_on_read:
        return ((table, View.COPY_ON_WRITE),)
    if config.strategy == "RO":
        return ((table, View.READ_OPTIMIZED),)
    if config.strategy == "RT":
        return ((table, View.REALTIME),)
    if config.skip_ro_suffix:
        # A name can show one view only: hive-sync itself would go on and turn this table, but not its partitions,
        # into a snapshot view.
        return ((table, View.READ_OPTIMIZED), (f"{table}_rt", View.REALTIME))
    names = [(f"{table}_ro", View.READ_OPTIMIZED), (f"{table}_rt", View.REALTIME)]
    if config.snapshot_with_table_name:
        names.append((table, View.REALTIME))
    return tuple(names)


def storage_schema(client: MetaClient, config: HiveSyncConfig) -> tuple[StorageField, ...]:
    """The Parquet fields of a table: meta columns unless left out, data columns, dropped partition columns.

    Times without a zone are annotated: where statements made the metastore's table, Spark shows them as such.

    Raises:
        SchemaSyncError: the schema is not known, or a column cannot be converted.
    """
    schema = client.avro_schema()
    if schema is None:
        raise SchemaSyncError(
            "the table's schema is not known: no commit holds one",
            path=client.base_path,
            remedy="write a commit, or set hoodie.table.create.schema",
        )
    fields = list(storage_fields(schema, local_times=True))
    names = {field.name for field in fields}
    if not config.omit_metadata_fields:
        fields = [_text_field(name) for name in META_FIELDS if name not in names] + fields
    if client.config.drop_partition_columns:
        fields += [_text_field(name) for name in client.config.partition_fields if name not in names]
    return tuple(fields)


def _text_field(name: str) -> StorageField:
    return StorageField(name, OPTIONAL, "binary", "STRING")


def build_spec(
    client: MetaClient,
    config: HiveSyncConfig,
    target: SyncTarget,
    name: str,
    view: View,
    fields: Sequence[StorageField],
) -> TableSpec:
    """Make the definition of the metastore table ``name`` that shows ``view`` of the table.

    Raises:
        SchemaSyncError: a column that Hive cannot hold, or two columns whose names differ in case alone.
    """
    in_glue, base_path = config.mode == "glue", absolute(config.base_path)
    if in_glue:
        base_path = glue_location(base_path)
    by_name = {field.name: field for field in fields}
    partition_fields, warnings = _as_spelled(target.partition_fields, by_name)
    keys = tuple(
        Column(key.lower(), _type(by_name[key], config) if key in by_name else "string") for key in partition_fields
    )
    data = [field for field in fields if field.name not in set(partition_fields)]
    columns = tuple(Column(field.name.lower(), _type(field, config)) for field in data)
    _check_names((*columns, *keys), client)
    buckets = parse_bucket_spec(config.bucket_spec) if config.bucket_sync and config.bucket_spec else None
    _check_buckets(buckets, columns, client)
    serde, parameters = dict(config.serde_properties), dict(config.table_properties)
    if config.sync_as_datasource:
        serde |= {"path": base_path, HOODIE_QUERY_AS_RO_TABLE: str(view is View.READ_OPTIMIZED).lower()}
        parameters |= spark_table_parameters(
            spark_schema_json(without_local_times(fields), partition_fields),
            partition_fields,
            chunk_length=config.schema_string_length,
            spark_version=config.spark_version,
        )
    comments = _comments(data) if config.sync_comment else {}
    if in_glue:
        parameters |= glue_parameters(config.glue, [key.name for key in keys])
        comments = glue_comments(comments)
    return TableSpec(
        database=target.database.lower(),
        name=name.lower(),
        view=view,
        base_path=base_path,
        managed=config.create_managed_table,
        columns=columns,
        partition_keys=keys,
        classes=hive_classes(target.base_file_format, view, pre_apache=config.use_pre_apache_input_format),
        serde_parameters=serde,
        table_parameters=parameters,
        commented=comments,
        declared_types=column_types(spark_schema_json(fields)) if config.sync_as_datasource else {},
        buckets=buckets,
        warnings=(*target.warnings, *warnings, *type_warnings(tuple(fields))),
    )


def _comments(fields: Sequence[StorageField]) -> dict[str, str]:
    """The comments of columns that hive-sync takes: only of those that Avro spells as the metastore, in lower case."""
    return {field.name: field.doc or "" for field in fields if field.name == field.name.lower()}


def _as_spelled(
    partition_fields: Sequence[str], columns: Mapping[str, StorageField]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Partition fields as the table's columns spell them, and what to say of those that were spelled otherwise.

    Case does not count in Hive: a field ``COUNTRY`` is the column ``country``, not another one beside it.
    """
    spellings: dict[str, list[str]] = {}
    for name in columns:
        spellings.setdefault(name.lower(), []).append(name)
    fields, warnings = [], []
    for name in partition_fields:
        others = spellings.get(name.lower(), [])
        spelled = name if name in columns or len(others) != 1 else others[0]
        if spelled != name:
            warnings.append(f"the partition field {name} is taken for the table's column {spelled}")
        fields.append(spelled)
    return tuple(fields), tuple(warnings)


def _check_buckets(buckets: BucketSpec | None, columns: Sequence[Column], client: MetaClient) -> None:
    """Hive buckets by data columns only."""
    if buckets is None:
        return
    names = {column.name for column in columns}
    for name in (*buckets.columns, *(name for name, _ in buckets.sorted_by)):
        if name not in names:
            raise SchemaSyncError(
                f"the bucket column {name} is no column of the table",
                path=client.base_path,
                remedy="correct hoodie.datasource.hive_sync.bucket_sync_spec",
            )


def _type(field: StorageField, config: HiveSyncConfig) -> str:
    return metastore_type(field, support_timestamp=config.support_timestamp)


def _check_names(columns: Sequence[Column], client: MetaClient) -> None:
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            raise SchemaSyncError(
                f"two columns are called {column.name} when case does not count, as in Hive", path=client.base_path
            )
        seen.add(column.name)
