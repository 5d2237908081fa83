"""Options of hive-sync under Hudi's own names."""

from __future__ import annotations

from typing import Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.names import (
    HOODIE_DATASOURCE_HIVE_SYNC_JDBCURL,
    HOODIE_DATASOURCE_HIVE_SYNC_PREFIX,
    HOODIE_DATASOURCE_META_SYNC_BASE_PATH,
)
from hudi_hive.options.declaration import Face, Option, Refused
from hudi_hive.options.parsers import (
    Parser,
    any_text,
    boolean,
    choice,
    field_names,
    items,
    positive,
    property_lines,
    raw_text,
    whole,
)

SYNC, WRITE = Face.SYNC, Face.WRITE
_PREFIX: Final = HOODIE_DATASOURCE_HIVE_SYNC_PREFIX
_FACES: Final = (SYNC,)
_OFF: Final = ("false",)

MODES: Final = ("hms", "hiveql", "jdbc")
STRATEGIES: Final = ("ALL", "RO", "RT")
BASE_FILE_FORMATS: Final = ("PARQUET", "HFILE", "ORC")
_SYNC_TOOLS: Final = ("org.apache.hudi.hive.HiveSyncTool", "HiveSyncTool")


def _tool(name: str, text: str) -> tuple[str, ...]:
    tools = items(name, text)
    others = [tool for tool in tools if tool not in _SYNC_TOOLS]
    if others:
        raise InvalidOptionError(f"option {name}: {', '.join(others)} is not supported", remedy="HiveSyncTool is")
    return tools


BASE_PATH: Final = Option(
    HOODIE_DATASOURCE_META_SYNC_BASE_PATH,
    any_text,
    "",
    "The table's base path, as the metastore gets it.",
    honoured_by=_FACES,
)
METASTORE_URIS: Final = Option[tuple[str, ...]](
    _PREFIX + "metastore.uris", items, (), "Addresses of the metastore.", honoured_by=_FACES
)
DATABASE: Final = Option[str | None](
    _PREFIX + "database",
    any_text,
    None,
    "Database in the metastore; the table's own by default.",
    honoured_by=_FACES,
)
TABLE: Final = Option[str | None](
    _PREFIX + "table", any_text, None, "Name in the metastore; the table's own by default.", honoured_by=_FACES
)
MODE: Final = Option(
    _PREFIX + "mode",
    choice(*MODES),
    "hms",
    "How changes are made: by calls to the metastore, or by statements.",
    honoured_by=_FACES,
)
USE_JDBC: Final = Option[bool | None](
    _PREFIX + "use_jdbc",
    boolean,
    None,
    "Chooses the mode `jdbc` or `hiveql` when none is given.",
    honoured_by=_FACES,
)
JDBC_URL: Final = Option(
    HOODIE_DATASOURCE_HIVE_SYNC_JDBCURL,
    any_text,
    "jdbc:hive2://localhost:10000",
    "Address of the SQL server; `hms` needs none.",
    honoured_by=_FACES,
)
USERNAME: Final = Option(
    _PREFIX + "username", any_text, "hive", "User of the SQL server; `hms` needs none.", honoured_by=_FACES
)
PASSWORD: Final = Option(
    _PREFIX + "password", raw_text, "hive", "Password of the SQL server; `hms` needs none.", honoured_by=_FACES
)
BASE_FILE_FORMAT: Final = Option[str | None](
    _PREFIX + "base_file_format",
    choice(*BASE_FILE_FORMATS),
    None,
    "Chooses the Hive classes; the table's own format by default.",
    honoured_by=_FACES,
)
PARTITION_FIELDS: Final = Option[tuple[str, ...] | None](
    _PREFIX + "partition_fields",
    field_names,
    None,
    "Partition columns; the table's own by default.",
    honoured_by=_FACES,
)
PARTITION_EXTRACTOR: Final = Option[str | None](
    _PREFIX + "partition_extractor_class",
    any_text,
    None,
    "How values are taken out of partition paths, by Java class; inferred by default.",
    honoured_by=_FACES,
)
DECODE_PARTITION: Final = Option[bool | None](
    "hoodie.meta.sync.decode_partition", boolean, None, "Un-escape %XX in partition values.", honoured_by=_FACES
)
PRE_APACHE_INPUT_FORMAT: Final = Option(
    _PREFIX + "use_pre_apache_input_format",
    boolean,
    False,
    "Class names of the time before Apache.",
    honoured_by=_FACES,
)
AUTO_CREATE_DATABASE: Final = Option(
    _PREFIX + "auto_create_database", boolean, True, "Make the database when it is missing.", honoured_by=_FACES
)
SKIP_RO_SUFFIX: Final = Option(
    _PREFIX + "skip_ro_suffix",
    boolean,
    False,
    "Call the read-optimised view by the table's name, without _ro.",
    honoured_by=_FACES,
)
SUPPORT_TIMESTAMP: Final = Option(
    _PREFIX + "support_timestamp",
    boolean,
    False,
    "Register timestamps as `timestamp`, not `bigint`.",
    honoured_by=_FACES,
)
TABLE_PROPERTIES: Final = Option[tuple[tuple[str, str], ...]](
    _PREFIX + "table_properties", property_lines, (), "Further parameters of the table.", honoured_by=_FACES
)
SERDE_PROPERTIES: Final = Option[tuple[tuple[str, str], ...]](
    _PREFIX + "serde_properties", property_lines, (), "Further parameters of its serde.", honoured_by=_FACES
)
SYNC_AS_DATASOURCE: Final = Option(
    _PREFIX + "sync_as_datasource",
    boolean,
    True,
    "Add the parameters by which Spark knows the table.",
    honoured_by=_FACES,
)
SCHEMA_STRING_LENGTH: Final = Option(
    _PREFIX + "schema_string_length_thresh",
    positive,
    4000,
    "Characters of a piece of Spark's schema text.",
    honoured_by=_FACES,
)
CREATE_MANAGED_TABLE: Final = Option(
    _PREFIX + "create_managed_table", boolean, False, "Register a managed table.", honoured_by=_FACES
)
OMIT_METADATA_FIELDS: Final = Option(
    _PREFIX + "omit_metadata_fields", boolean, False, "Leave the meta columns out.", honoured_by=_FACES
)
BATCH_SIZE: Final = Option(
    _PREFIX + "batch_num", positive, 1000, "Partitions of one call to the metastore.", honoured_by=_FACES
)
BATCHING: Final = Option(
    _PREFIX + "batching.enabled",
    boolean,
    True,
    "Send partitions in batches.",
    harmless={SYNC: "partitions are always sent in batches of batch_num"},
)
SYNC_COMMENT: Final = Option(
    _PREFIX + "sync_comment", boolean, False, "Register the comments of columns.", honoured_by=_FACES
)
STRATEGY: Final = Option(
    _PREFIX + "table.strategy",
    choice(*STRATEGIES),
    "ALL",
    "Which views of a merge-on-read table are registered.",
    honoured_by=_FACES,
)
FILTER_PUSHDOWN: Final = Option(
    _PREFIX + "filter_pushdown_enabled",
    boolean,
    False,
    "Ask the metastore for written partitions by a filter.",
    honoured_by=_FACES,
)
FILTER_PUSHDOWN_SIZE: Final = Option(
    _PREFIX + "filter_pushdown_max_size",
    whole,
    1000,
    "Values of such a filter; beyond it a range is asked for.",
    honoured_by=_FACES,
)
RECREATE_ON_ERROR: Final = Option(
    _PREFIX + "recreate_table_on_error",
    boolean,
    False,
    "Make the table anew when the metastore refuses a change.",
    honoured_by=_FACES,
)
FORCE_RECREATE: Final = Option(
    "hoodie.meta.sync.force.recreate.table", boolean, False, "Make the table anew in every sync.", honoured_by=_FACES
)
CONDITIONAL: Final = Option(
    "hoodie.datasource.meta_sync.condition.sync",
    boolean,
    False,
    "Move the last-synced stamp only when something else changed.",
    honoured_by=_FACES,
)
SPARK_VERSION: Final = Option[str | None](
    "hoodie.meta_sync.spark.version",
    any_text,
    None,
    "Version of Spark that the table's parameters name.",
    honoured_by=_FACES,
)
SNAPSHOT_WITH_TABLE_NAME: Final = Option(
    "hoodie.meta.sync.sync_snapshot_with_table_name",
    boolean,
    True,
    "Register the snapshot of a merge-on-read table under the table's own name too.",
    honoured_by=_FACES,
)
INCREMENTAL: Final = Option(
    "hoodie.meta.sync.incremental",
    boolean,
    True,
    "Look only at what was written since the last sync.",
    honoured_by=_FACES,
)
NO_PARTITION_METADATA: Final = Option(
    "hoodie.meta.sync.no_partition_metadata",
    boolean,
    False,
    "Register partition keys but no partitions.",
    honoured_by=_FACES,
)
METADATA_LISTING: Final = Option(
    "hoodie.meta.sync.metadata_file_listing",
    boolean,
    True,
    "Take partitions and files from the metadata table.",
    honoured_by=_FACES,
)
TOUCH_PARTITIONS: Final = Option(
    "hoodie.meta.sync.touch.partitions.enabled",
    boolean,
    False,
    "Tell the metastore of partitions that were written to.",
    honoured_by=_FACES,
)
BUCKET_SYNC: Final = Option(_PREFIX + "bucket_sync", boolean, False, "Register bucket columns.", honoured_by=_FACES)
BUCKET_SPEC: Final = Option[str | None](
    _PREFIX + "bucket_sync_spec",
    any_text,
    None,
    "`CLUSTERED BY (...) [SORTED BY (...)] INTO n BUCKETS`.",
    honoured_by=_FACES,
)
_OF_THE_WRITE: Final = "it says whether a write is followed by a sync; this is the sync"
ENABLE: Final = Option(
    _PREFIX + "enable",
    boolean,
    False,
    "Sync the table behind a write.",
    honoured_by=(WRITE,),
    harmless={SYNC: _OF_THE_WRITE},
)
META_SYNC_ENABLE: Final = Option(
    "hoodie.datasource.meta.sync.enable",
    boolean,
    False,
    "Sync the table behind a write.",
    honoured_by=(WRITE,),
    harmless={SYNC: _OF_THE_WRITE},
)
TOOL_CLASS: Final = Option[tuple[str, ...]](
    "hoodie.meta.sync.client.tool.class",
    Parser(_tool, "HiveSyncTool"),
    (),
    "Which tools sync the table.",
    harmless={SYNC: "HiveSyncTool, which is what syncs here, is the only one taken; others are refused by name"},
)


def _unsupported(name: str, remedy: str, but_for: tuple[str, ...] = _OFF) -> Option[str]:
    return Option(name, any_text, "", "Not supported.", refused={SYNC: Refused(remedy, but_for)})


SYNC_OPTIONS: Final = (
    BASE_PATH,
    METASTORE_URIS,
    DATABASE,
    TABLE,
    MODE,
    USE_JDBC,
    JDBC_URL,
    USERNAME,
    PASSWORD,
    BASE_FILE_FORMAT,
    PARTITION_FIELDS,
    PARTITION_EXTRACTOR,
    DECODE_PARTITION,
    PRE_APACHE_INPUT_FORMAT,
    AUTO_CREATE_DATABASE,
    SKIP_RO_SUFFIX,
    SUPPORT_TIMESTAMP,
    TABLE_PROPERTIES,
    SERDE_PROPERTIES,
    SYNC_AS_DATASOURCE,
    SCHEMA_STRING_LENGTH,
    CREATE_MANAGED_TABLE,
    OMIT_METADATA_FIELDS,
    BATCH_SIZE,
    BATCHING,
    SYNC_COMMENT,
    STRATEGY,
    FILTER_PUSHDOWN,
    FILTER_PUSHDOWN_SIZE,
    RECREATE_ON_ERROR,
    FORCE_RECREATE,
    CONDITIONAL,
    SPARK_VERSION,
    SNAPSHOT_WITH_TABLE_NAME,
    INCREMENTAL,
    NO_PARTITION_METADATA,
    METADATA_LISTING,
    TOUCH_PARTITIONS,
    BUCKET_SYNC,
    BUCKET_SPEC,
    ENABLE,
    META_SYNC_ENABLE,
    TOOL_CLASS,
    _unsupported(
        _PREFIX + "ignore_exceptions",
        "a sync that did not do what it says fails; catch hudi_hive.errors.HudiHiveError around it",
    ),
    _unsupported(_PREFIX + "use_spark_catalog", "the metastore is called directly"),
    _unsupported(_PREFIX + "assume_date_partitioning", "Hudi removed it; name the partition fields"),
    _unsupported(
        "hoodie.meta_sync.global.replicate.timestamp",
        "two clusters are synced one by one, each by a sync of its own",
        (),
    ),
    _unsupported("hivesyncglobal.<name>", "two clusters are synced one by one, each by a sync of its own", ()),
)
