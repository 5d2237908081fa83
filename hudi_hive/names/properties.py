"""The names of table properties and of the options that readers and writers store or look up by name.

They are Hudi's own (``HoodieTableConfig`` and its kin); what options do is declared in :mod:`hudi_hive.options`.
"""

from __future__ import annotations

from typing import Final

HOODIE_PREFIX: Final = "hoodie."
HOODIE_ARCHIVELOG_FOLDER: Final = "hoodie.archivelog.folder"
HOODIE_BOOTSTRAP_BASE_PATH: Final = "hoodie.bootstrap.base.path"
HOODIE_BOOTSTRAP_INDEX_CLASS: Final = "hoodie.bootstrap.index.class"
HOODIE_BOOTSTRAP_INDEX_ENABLE: Final = "hoodie.bootstrap.index.enable"
HOODIE_BOOTSTRAP_INDEX_TYPE: Final = "hoodie.bootstrap.index.type"
HOODIE_BOOTSTRAP_MODE_SELECTOR: Final = "hoodie.bootstrap.mode.selector"
HOODIE_BOOTSTRAP_MODE_SELECTOR_REGEX: Final = "hoodie.bootstrap.mode.selector.regex"
HOODIE_BOOTSTRAP_MODE_SELECTOR_REGEX_MODE: Final = "hoodie.bootstrap.mode.selector.regex.mode"
HOODIE_COMPACTION_PAYLOAD_CLASS: Final = "hoodie.compaction.payload.class"
HOODIE_COMPACTION_RECORD_MERGER_STRATEGY: Final = "hoodie.compaction.record.merger.strategy"
HOODIE_DATABASE_NAME: Final = "hoodie.database.name"
HOODIE_DATASOURCE_HIVE_SYNC_PREFIX: Final = "hoodie.datasource.hive_sync."
HOODIE_DATASOURCE_HIVE_SYNC_JDBCURL: Final = HOODIE_DATASOURCE_HIVE_SYNC_PREFIX + "jdbcurl"
HOODIE_DATASOURCE_META_SYNC_PREFIX: Final = "hoodie.datasource.meta.sync."
HOODIE_DATASOURCE_META_SYNC_BASE_PATH: Final = "hoodie.datasource.meta.sync.base.path"
HOODIE_DATASOURCE_QUERY_TYPE: Final = "hoodie.datasource.query.type"
HOODIE_DATASOURCE_WRITE_DROP_PARTITION_COLUMNS: Final = "hoodie.datasource.write.drop.partition.columns"
HOODIE_DATASOURCE_WRITE_HIVE_STYLE_PARTITIONING: Final = "hoodie.datasource.write.hive_style_partitioning"
HOODIE_CONSISTENT_LOGICAL_TIMESTAMP_ENABLED: Final = (
    "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled"
)
HOODIE_DATASOURCE_WRITE_OPERATION: Final = "hoodie.datasource.write.operation"
HOODIE_DATASOURCE_WRITE_PARTITIONPATH_FIELD: Final = "hoodie.datasource.write.partitionpath.field"
HOODIE_DATASOURCE_WRITE_PARTITIONPATH_URLENCODE: Final = "hoodie.datasource.write.partitionpath.urlencode"
HOODIE_DATASOURCE_WRITE_SLASH_SEPARATED_DATE_PARTITIONING: Final = (
    "hoodie.datasource.write.slash.separated.date.partitioning"
)
HOODIE_DATASOURCE_WRITE_SLASH_SEPARATED_DATE_PARTITIONPATH: Final = (
    "hoodie.datasource.write.slash.separated.date.partitionpath"
)
HOODIE_DELTASTREAMER_KEYGEN_TIMEBASED_PREFIX: Final = "hoodie.deltastreamer.keygen.timebased."
HOODIE_KEYGEN_PREFIX: Final = "hoodie.keygen."
HOODIE_KEYGEN_TIMEBASED_PREFIX: Final = "hoodie.keygen.timebased."
HOODIE_META_SYNC_PREFIX: Final = "hoodie.meta.sync."
HOODIE_METADATA_PREFIX: Final = "hoodie.metadata."
HOODIE_PARTITION_METAFILE_USE_BASE_FORMAT: Final = "hoodie.partition.metafile.use.base.format"
HOODIE_PAYLOAD_DELETE_FIELD: Final = "hoodie.payload.delete.field"
HOODIE_PAYLOAD_DELETE_MARKER: Final = "hoodie.payload.delete.marker"
HOODIE_POPULATE_META_FIELDS: Final = "hoodie.populate.meta.fields"
HOODIE_QUERY_AS_RO_TABLE: Final = "hoodie.query.as.ro.table"
HOODIE_RECORD_MERGE_MODE: Final = "hoodie.record.merge.mode"
HOODIE_RECORD_MERGE_PROPERTY_PREFIX: Final = "hoodie.record.merge.property."
HOODIE_RECORD_MERGE_STRATEGY_ID: Final = "hoodie.record.merge.strategy.id"
HOODIE_HIVE_TIMESTAMP_FOLDERS: Final = "hoodie.hive.partition.timestamps.as.text"
HOODIE_SPARK_SQL_INSERT_INTO_OPERATION: Final = "hoodie.spark.sql.insert.into.operation"
HOODIE_SQL_BULK_INSERT_ENABLE: Final = "hoodie.sql.bulk.insert.enable"
HOODIE_SQL_INSERT_MODE: Final = "hoodie.sql.insert.mode"
HOODIE_SPARK_SQL_MERGE_INTO_PARTIAL_UPDATES: Final = "hoodie.spark.sql.merge.into.partial.updates"
HOODIE_TABLE_BASE_FILE_FORMAT: Final = "hoodie.table.base.file.format"
HOODIE_TABLE_CDC_ENABLED: Final = "hoodie.table.cdc.enabled"
HOODIE_TABLE_CDC_SUPPLEMENTAL_LOGGING_MODE: Final = "hoodie.table.cdc.supplemental.logging.mode"
HOODIE_TABLE_CHECKSUM: Final = "hoodie.table.checksum"
HOODIE_TABLE_CREATE_SCHEMA: Final = "hoodie.table.create.schema"
HOODIE_TABLE_FORMAT: Final = "hoodie.table.format"
HOODIE_TABLE_INDEX_DEFS_PATH: Final = "hoodie.table.index.defs.path"
HOODIE_TABLE_INITIAL_VERSION: Final = "hoodie.table.initial.version"
HOODIE_TABLE_KEYGENERATOR_CLASS: Final = "hoodie.table.keygenerator.class"
HOODIE_TABLE_KEYGENERATOR_TYPE: Final = "hoodie.table.keygenerator.type"
HOODIE_TABLE_LEGACY_PAYLOAD_CLASS: Final = "hoodie.table.legacy.payload.class"
HOODIE_TABLE_LOG_FILE_FORMAT: Final = "hoodie.table.log.file.format"
HOODIE_TABLE_METADATA_PARTITIONS: Final = "hoodie.table.metadata.partitions"
HOODIE_TABLE_METADATA_PARTITIONS_INFLIGHT: Final = "hoodie.table.metadata.partitions.inflight"
HOODIE_TABLE_MULTIPLE_BASE_FILE_FORMATS_ENABLE: Final = "hoodie.table.multiple.base.file.formats.enable"
HOODIE_TABLE_NAME: Final = "hoodie.table.name"
HOODIE_TABLE_ORDERING_FIELDS: Final = "hoodie.table.ordering.fields"
HOODIE_TABLE_PARTIAL_UPDATE_MODE: Final = "hoodie.table.partial.update.mode"
HOODIE_TABLE_PARTITION_FIELDS: Final = "hoodie.table.partition.fields"
HOODIE_TABLE_PRECOMBINE_FIELD: Final = "hoodie.table.precombine.field"
HOODIE_TABLE_RECORDKEY_FIELDS: Final = "hoodie.table.recordkey.fields"
HOODIE_TABLE_TIMELINE_TIMEZONE: Final = "hoodie.table.timeline.timezone"
HOODIE_TABLE_TYPE: Final = "hoodie.table.type"
HOODIE_TABLE_VERSION: Final = "hoodie.table.version"
HOODIE_TIMELINE_HISTORY_PATH: Final = "hoodie.timeline.history.path"
HOODIE_TIMELINE_LAYOUT_VERSION: Final = "hoodie.timeline.layout.version"
HOODIE_TIMELINE_PATH: Final = "hoodie.timeline.path"
HOODIE_WRITE_COMPLEX_KEYGEN_NEW_ENCODING: Final = "hoodie.write.complex.keygen.new.encoding"
HOODIE_WRITE_CONCURRENCY_PREFIX: Final = "hoodie.write.concurrency."
HOODIE_WRITE_LOCK_PREFIX: Final = "hoodie.write.lock."
HOODIE_WRITE_PARTIAL_UPDATE_UNAVAILABLE_VALUE: Final = "hoodie.write.partial.update.unavailable.value"

DEFINING_PROPERTIES: Final = frozenset(
    {
        HOODIE_ARCHIVELOG_FOLDER,
        HOODIE_BOOTSTRAP_BASE_PATH,
        HOODIE_BOOTSTRAP_INDEX_CLASS,
        HOODIE_BOOTSTRAP_INDEX_ENABLE,
        HOODIE_BOOTSTRAP_INDEX_TYPE,
        HOODIE_COMPACTION_PAYLOAD_CLASS,
        HOODIE_COMPACTION_RECORD_MERGER_STRATEGY,
        HOODIE_DATABASE_NAME,
        HOODIE_DATASOURCE_WRITE_DROP_PARTITION_COLUMNS,
        HOODIE_DATASOURCE_WRITE_HIVE_STYLE_PARTITIONING,
        HOODIE_DATASOURCE_WRITE_PARTITIONPATH_URLENCODE,
        HOODIE_DATASOURCE_WRITE_SLASH_SEPARATED_DATE_PARTITIONING,
        HOODIE_DATASOURCE_WRITE_SLASH_SEPARATED_DATE_PARTITIONPATH,
        HOODIE_POPULATE_META_FIELDS,
        HOODIE_RECORD_MERGE_MODE,
        HOODIE_RECORD_MERGE_STRATEGY_ID,
        HOODIE_TABLE_BASE_FILE_FORMAT,
        HOODIE_TABLE_CDC_ENABLED,
        HOODIE_TABLE_CDC_SUPPLEMENTAL_LOGGING_MODE,
        HOODIE_TABLE_CHECKSUM,
        HOODIE_TABLE_CREATE_SCHEMA,
        HOODIE_TABLE_KEYGENERATOR_CLASS,
        HOODIE_TABLE_KEYGENERATOR_TYPE,
        HOODIE_TABLE_LEGACY_PAYLOAD_CLASS,
        HOODIE_TABLE_METADATA_PARTITIONS,
        HOODIE_TABLE_NAME,
        HOODIE_TABLE_ORDERING_FIELDS,
        HOODIE_TABLE_PARTIAL_UPDATE_MODE,
        HOODIE_TABLE_PARTITION_FIELDS,
        HOODIE_TABLE_PRECOMBINE_FIELD,
        HOODIE_TABLE_RECORDKEY_FIELDS,
        HOODIE_TABLE_TIMELINE_TIMEZONE,
        HOODIE_TABLE_TYPE,
        HOODIE_TABLE_VERSION,
        HOODIE_TIMELINE_HISTORY_PATH,
        HOODIE_TIMELINE_LAYOUT_VERSION,
        HOODIE_TIMELINE_PATH,
    }
)
"""Properties without which a table reads as another one: what it is, how its rows merge, where its timeline is."""
