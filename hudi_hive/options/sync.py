"""Options of hive-sync under Hudi's own names."""

from __future__ import annotations

from typing import Any, Final

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
    between,
    boolean,
    choice,
    field_names,
    items,
    optional_text,
    positive,
    property_lines,
    raw_text,
    whole,
)
from hudi_hive.options.table import BASE_FILE_FORMATS, READ_ONLY_FORMATS

SYNC, WRITE = Face.SYNC, Face.WRITE
_PREFIX: Final = HOODIE_DATASOURCE_HIVE_SYNC_PREFIX
_FACES: Final = (SYNC,)
_OFF: Final = ("false",)

GLUE: Final = "glue"
MODES: Final = ("hms", "hiveql", "jdbc", GLUE)
GLUE_TOOL: Final = "AwsGlueCatalogSyncTool"
STRATEGIES: Final = ("ALL", "RO", "RT")
USUAL_CONNECTIONS: Final = 4
MOST_CONNECTIONS: Final = 64
"""Connections of a sync to the metastore, which has ten of its own to its database unless it is given more."""
_SYNC_TOOLS: Final = {
    "org.apache.hudi.hive.HiveSyncTool": "HiveSyncTool",
    "HiveSyncTool": "HiveSyncTool",
    "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool": GLUE_TOOL,
    "org.apache.hudi.aws.sync.AWSGlueCatalogSyncTool": GLUE_TOOL,
    GLUE_TOOL: GLUE_TOOL,
}
"""Classes of tools, and the tool of each: Hudi had two spellings of one."""


def _tool(name: str, text: str) -> str | None:
    tools = items(name, text)
    others = [tool for tool in tools if tool not in _SYNC_TOOLS]
    takes = f"HiveSyncTool and {GLUE_TOOL} are"
    if others:
        raise InvalidOptionError(f"option {name}: {', '.join(others)} is not supported", remedy=takes)
    chosen = list(dict.fromkeys(_SYNC_TOOLS[tool] for tool in tools))
    if len(chosen) > 1:
        raise InvalidOptionError(
            f"option {name}: one sync keeps one catalog, not {len(chosen)}", remedy="sync again with the other tool"
        )
    return chosen[0] if chosen else None


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
    "How changes are made: by calls to the metastore, by statements, or in AWS Glue in its place.",
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
    choice(*BASE_FILE_FORMATS, *READ_ONLY_FORMATS),
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
CONNECTIONS: Final = Option[int | None](
    "hudi_hive.sync.connections",
    between(1, MOST_CONNECTIONS),
    None,
    "Connections to the metastore, over which batches of partitions are read, added, altered and dropped side by side. "
    f"Without it {USUAL_CONNECTIONS}, and batches that alter or drop go one by one: a metastore on Derby needs that.",
    honoured_by=_FACES,
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
TOOL_CLASS: Final = Option[str | None](
    "hoodie.meta.sync.client.tool.class",
    Parser(_tool, "HiveSyncTool or AwsGlueCatalogSyncTool, with or without package"),
    None,
    "Which tool syncs the table: AwsGlueCatalogSyncTool is the mode `glue`, whatever the mode says.",
    honoured_by=_FACES,
)


_GLUE_PREFIX: Final = "hoodie.datasource.meta.sync.glue."
_MOST_INDEXES: Final = 3
"""Partition indexes that Glue lets a table have."""


def _indexes(name: str, text: str) -> tuple[tuple[str, ...], ...]:
    lists = (tuple(field.strip() for field in index.split(";") if field.strip()) for index in text.split(","))
    indexes = tuple(dict.fromkeys(index for index in lists if index))
    if len(indexes) > _MOST_INDEXES:
        raise InvalidOptionError(
            f"option {name} names {len(indexes)} indexes, Glue has at most {_MOST_INDEXES} of a table",
            remedy="leave some out; fields of one index are separated by semicolons",
        )
    return indexes


def _tags(name: str, text: str) -> tuple[tuple[str, str], ...]:
    tags: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, separator, value = item.partition(":")
        if not separator or not key.strip():
            raise InvalidOptionError(f"option {name}: {item!r} is not of the form key:value", remedy="correct it")
        tags[key.strip()] = value.strip()
    return tuple(tags.items())


def _glue(name: str, parser: Parser[Any], default: Any, summary: str) -> Option[Any]:  # noqa: ANN401
    return Option(_GLUE_PREFIX + name, parser, default, summary, honoured_by=_FACES)


GLUE_DATABASE: Final = _glue(
    "database_name", optional_text, None, "Database in Glue, where it is not that of `hive_sync.database`."
)
GLUE_TABLE: Final = _glue("table_name", optional_text, None, "Name in Glue, where it is not that of `hive_sync.table`.")
GLUE_CATALOG_ID: Final = _glue("catalogId", optional_text, None, "Glue's catalog: the caller's own account by default.")
GLUE_SKIP_TABLE_ARCHIVE: Final = _glue("skip_table_archive", boolean, True, "Keep no old version of a changed table.")
GLUE_ALL_READ_PARALLELISM: Final = _glue(
    "all_partitions_read_parallelism", between(1, 10), 1, "Segments in which all partitions are read side by side."
)
GLUE_CHANGED_READ_PARALLELISM: Final = _glue(
    "changed_partitions_read_parallelism", positive, 1, "Requests under way that read partitions by name."
)
GLUE_CHANGE_PARALLELISM: Final = _glue(
    "partition_change_parallelism", positive, 1, "Requests under way that add, alter or drop partitions."
)
GLUE_METADATA_LISTING: Final = _glue(
    "metadata_file_listing", boolean, False, "Let Athena take partitions and files from the metadata table."
)
GLUE_INDEX_ENABLE: Final = _glue(
    "partition_index_fields.enable", boolean, False, "Keep partition indexes, by which Glue filters partitions."
)
GLUE_INDEX_FIELDS: Final = _glue(
    "partition_index_fields",
    Parser(_indexes, "up to three lists separated by commas, of fields separated by semicolons"),
    (),
    "Fields of the partition indexes; all partition fields by default.",
)
GLUE_RECREATE_ON_ERROR: Final = _glue(
    "recreate_table_on_error", boolean, False, "Make the table anew when Glue refuses a change."
)
GLUE_RESOURCE_TAGS: Final = _glue(
    "resource_tags", Parser(_tags, "a list separated by commas, of key:value"), (), "Tags of a database that is made."
)
GLUE_ENDPOINT: Final = Option[str | None](
    "hoodie.aws.glue.endpoint",
    optional_text,
    None,
    "URL of Glue, where it is not the region's own.",
    honoured_by=_FACES,
)
GLUE_REGION: Final = Option[str | None](
    "hoodie.aws.glue.region",
    optional_text,
    None,
    "Region of Glue, where it is not that of `hoodie.aws.region`, the environment or the profile.",
    honoured_by=_FACES,
)

GLUE_OPTIONS: Final = (
    GLUE_DATABASE,
    GLUE_TABLE,
    GLUE_CATALOG_ID,
    GLUE_SKIP_TABLE_ARCHIVE,
    GLUE_ALL_READ_PARALLELISM,
    GLUE_CHANGED_READ_PARALLELISM,
    GLUE_CHANGE_PARALLELISM,
    GLUE_METADATA_LISTING,
    GLUE_INDEX_ENABLE,
    GLUE_INDEX_FIELDS,
    GLUE_RECREATE_ON_ERROR,
    GLUE_RESOURCE_TAGS,
    GLUE_ENDPOINT,
    GLUE_REGION,
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
    CONNECTIONS,
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
