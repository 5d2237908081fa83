"""Options that say what a table is: of a new one how it is made, of one that is there what it must be.

Most of them are properties of ``hoodie.properties`` under another name; writers refuse what contradicts a table.
"""

from __future__ import annotations

from typing import Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.names import (
    HOODIE_COMPACTION_PAYLOAD_CLASS,
    HOODIE_CONSISTENT_LOGICAL_TIMESTAMP_ENABLED,
    HOODIE_DATABASE_NAME,
    HOODIE_DATASOURCE_WRITE_DROP_PARTITION_COLUMNS,
    HOODIE_DATASOURCE_WRITE_HIVE_STYLE_PARTITIONING,
    HOODIE_DATASOURCE_WRITE_PARTITIONPATH_FIELD,
    HOODIE_DATASOURCE_WRITE_PARTITIONPATH_URLENCODE,
    HOODIE_DELTASTREAMER_KEYGEN_TIMEBASED_PREFIX,
    HOODIE_HIVE_TIMESTAMP_FOLDERS,
    HOODIE_KEYGEN_TIMEBASED_PREFIX,
    HOODIE_PAYLOAD_DELETE_FIELD,
    HOODIE_PAYLOAD_DELETE_MARKER,
    HOODIE_POPULATE_META_FIELDS,
    HOODIE_RECORD_MERGE_MODE,
    HOODIE_RECORD_MERGE_PROPERTY_PREFIX,
    HOODIE_RECORD_MERGE_STRATEGY_ID,
    HOODIE_TABLE_BASE_FILE_FORMAT,
    HOODIE_TABLE_CDC_ENABLED,
    HOODIE_TABLE_CDC_SUPPLEMENTAL_LOGGING_MODE,
    HOODIE_TABLE_KEYGENERATOR_CLASS,
    HOODIE_TABLE_KEYGENERATOR_TYPE,
    HOODIE_TABLE_NAME,
    HOODIE_TABLE_ORDERING_FIELDS,
    HOODIE_TABLE_PARTITION_FIELDS,
    HOODIE_TABLE_PRECOMBINE_FIELD,
    HOODIE_TABLE_RECORDKEY_FIELDS,
    HOODIE_TABLE_TIMELINE_TIMEZONE,
    HOODIE_TABLE_TYPE,
    HOODIE_TABLE_VERSION,
    HOODIE_WRITE_COMPLEX_KEYGEN_NEW_ENCODING,
    HOODIE_WRITE_PARTIAL_UPDATE_UNAVAILABLE_VALUE,
)
from hudi_hive.options.declaration import OLDEST_TABLE_VERSION, Face, Option
from hudi_hive.options.kinds import key_generator_name
from hudi_hive.options.parsers import Parser, any_text, boolean, choice, items, mapped, optional_text, text

WRITE, READ, SYNC = Face.WRITE, Face.READ, Face.SYNC

COPY_ON_WRITE: Final = "COPY_ON_WRITE"
MERGE_ON_READ: Final = "MERGE_ON_READ"
MERGE_MODES: Final = ("COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING", "CUSTOM")
TABLE_VERSIONS: Final = (OLDEST_TABLE_VERSION, 8, 9)


def _key_generator(name: str, value: str) -> str:
    kind = key_generator_name(text(name, value))
    if kind == "USER_PROVIDED":
        raise InvalidOptionError(f"option {name}={value}: this key generator is not known", remedy="use one of Hudi's")
    return kind


NAME: Final = Option[str | None](
    HOODIE_TABLE_NAME,
    text,
    None,
    "Name of the table; a new one needs it.",
    honoured_by=(WRITE, SYNC),
    aliases=("hoodie.datasource.write.table.name",),
)
DATABASE: Final = Option(
    HOODIE_DATABASE_NAME,
    optional_text,
    None,
    "Database that the table belongs to; a sync registers it there.",
    honoured_by=(WRITE, SYNC),
)
TYPE: Final = Option(
    "hoodie.datasource.write.table.type",
    choice(COPY_ON_WRITE, MERGE_ON_READ),
    COPY_ON_WRITE,
    "Whether updates rewrite base files or go to log files.",
    honoured_by=(WRITE,),
    aliases=(HOODIE_TABLE_TYPE,),
)
VERSION: Final = Option[int | None](
    "hoodie.write.table.version",
    mapped({str(version): version for version in TABLE_VERSIONS}),
    None,
    "Version of a new table: 6 as Hudi 0.x writes it, 8 as 1.0, 9 as 1.1.",
    honoured_by=(WRITE,),
    aliases=(HOODIE_TABLE_VERSION,),
)
AUTO_UPGRADE: Final = Option(
    "hoodie.write.auto.upgrade",
    boolean,
    False,
    "A write first upgrades the table to `hoodie.write.table.version`, where that is above its own.",
    honoured_by=(WRITE,),
)
RECORD_KEY_FIELDS: Final = Option[tuple[str, ...]](
    "hoodie.datasource.write.recordkey.field",
    items,
    (),
    "Fields that make up a row's key; without any, keys are made up.",
    honoured_by=(WRITE,),
    aliases=(HOODIE_TABLE_RECORDKEY_FIELDS,),
)
PARTITION_FIELDS: Final = Option[tuple[str, ...]](
    HOODIE_DATASOURCE_WRITE_PARTITIONPATH_FIELD,
    items,
    (),
    "Fields that make up a row's partition; `field:TIMESTAMP` and `field:SIMPLE` with the custom key generator.",
    honoured_by=(WRITE, SYNC),
    aliases=(HOODIE_TABLE_PARTITION_FIELDS,),
)
ORDERING_FIELDS: Final = Option[tuple[str, ...]](
    "hoodie.datasource.write.precombine.field",
    items,
    (),
    "Fields that decide which of two rows of a key is the newer one.",
    honoured_by=(WRITE,),
    aliases=(HOODIE_TABLE_PRECOMBINE_FIELD, HOODIE_TABLE_ORDERING_FIELDS, "hoodie.payload.ordering.field"),
)
KEY_GENERATOR: Final = Option[str | None](
    "hoodie.datasource.write.keygenerator.class",
    Parser(_key_generator, "one of Hudi's key generators, by class or by type"),
    None,
    "How keys and partition paths are made of fields; by default it follows from the fields.",
    honoured_by=(WRITE,),
    aliases=(
        "hoodie.datasource.write.keygenerator.type",
        HOODIE_TABLE_KEYGENERATOR_CLASS,
        HOODIE_TABLE_KEYGENERATOR_TYPE,
    ),
)
HIVE_STYLE_PARTITIONING: Final = Option(
    HOODIE_DATASOURCE_WRITE_HIVE_STYLE_PARTITIONING,
    boolean,
    False,
    "Name partition folders `field=value`; a sync takes the extractor of such folders.",
    honoured_by=(WRITE, SYNC),
)
URL_ENCODE_PARTITIONING: Final = Option(
    HOODIE_DATASOURCE_WRITE_PARTITIONPATH_URLENCODE,
    boolean,
    False,
    "Escape what partition values hold beyond letters and digits; a sync takes it back.",
    honoured_by=(WRITE, SYNC),
)
DROP_PARTITION_COLUMNS: Final = Option(
    HOODIE_DATASOURCE_WRITE_DROP_PARTITION_COLUMNS,
    boolean,
    False,
    "Leave the partition columns out of data files.",
    honoured_by=(WRITE,),
)
POPULATE_META_FIELDS: Final = Option(
    HOODIE_POPULATE_META_FIELDS,
    boolean,
    True,
    "Write the meta columns (commit time, key, partition, file) beside the row's own.",
    honoured_by=(WRITE,),
)
BASE_FILE_FORMATS: Final = ("PARQUET", "ORC", "HFILE")
"""Formats of base files that are written."""

READ_ONLY_FORMATS: Final = ("LANCE",)
"""Formats of base files that are read and synced, and not written."""

BASE_FILE_FORMAT: Final = Option(
    HOODIE_TABLE_BASE_FILE_FORMAT,
    choice(*BASE_FILE_FORMATS),
    "PARQUET",
    "Format of base files.",
    honoured_by=(WRITE, SYNC),
    aliases=("hoodie.base.file.format",),
)
MERGE_MODE: Final = Option[str | None](
    "hoodie.write.record.merge.mode",
    choice(*MERGE_MODES),
    None,
    "Which of two rows of a key stays: the later commit's, or the one with the greater ordering value.",
    honoured_by=(WRITE,),
    aliases=(HOODIE_RECORD_MERGE_MODE,),
)
MERGE_STRATEGY_ID: Final = Option(
    "hoodie.write.record.merge.strategy.id",
    optional_text,
    None,
    "The merge mode, by the id of its strategy.",
    honoured_by=(WRITE,),
    aliases=(HOODIE_RECORD_MERGE_STRATEGY_ID, "hoodie.datasource.write.record.merger.strategy"),
)
PAYLOAD_CLASS: Final = Option(
    "hoodie.datasource.write.payload.class",
    optional_text,
    None,
    "Hudi's payload class, in place of a merge mode.",
    honoured_by=(WRITE,),
    aliases=(HOODIE_COMPACTION_PAYLOAD_CLASS,),
)
MERGER_CLASSES: Final = Option(
    "hoodie.write.record.merge.custom.implementation.classes",
    items,
    (),
    "Merger classes, each of which has a registered Python merger: the one of the table's strategy merges.",
    honoured_by=(WRITE,),
    aliases=("hoodie.datasource.write.record.merger.impls",),
)
RECORD_MERGERS: Final = Option(
    "hudi_hive.record.mergers",
    items,
    (),
    "Python mergers for payload or merger classes, for this process: `class=module:attribute`, or "
    "`class@strategy-id=module:attribute`.",
    honoured_by=(WRITE, READ),
)
CDC_ENABLED: Final = Option(
    HOODIE_TABLE_CDC_ENABLED,
    boolean,
    False,
    "Log changes beside the data, for change data queries.",
    honoured_by=(WRITE,),
)
CDC_LOGGING_MODE: Final = Option(
    HOODIE_TABLE_CDC_SUPPLEMENTAL_LOGGING_MODE,
    choice("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER"),
    "DATA_BEFORE_AFTER",
    "How much of a changed row the log of changes holds.",
    honoured_by=(WRITE,),
)
TIMEZONE: Final = Option(
    HOODIE_TABLE_TIMELINE_TIMEZONE,
    choice("LOCAL", "UTC"),
    "LOCAL",
    "Zone of the times in the timeline.",
    honoured_by=(WRITE,),
)

# -- what keys and merges read themselves ------------------------------------------------------------------------------


def _time_format(name: str, summary: str) -> Option[str]:
    return Option(
        HOODIE_KEYGEN_TIMEBASED_PREFIX + name,
        any_text,
        "",
        summary,
        honoured_by=(WRITE,),
        aliases=(HOODIE_DELTASTREAMER_KEYGEN_TIMEBASED_PREFIX + name,),
    )


TIME_FORMATS: Final = (
    _time_format("timestamp.type", "Timestamp key generator: what the field holds."),
    _time_format("timestamp.scalar.time.unit", "Timestamp key generator: unit of the field's numbers (SCALAR)."),
    _time_format("input.dateformat", "Timestamp key generator: formats of the field's texts."),
    _time_format("input.dateformat.list.delimiter.regex", "Timestamp key generator: what separates these formats."),
    _time_format("input.timezone", "Timestamp key generator: zone of texts that name none."),
    _time_format("output.dateformat", "Timestamp key generator: format of partition paths."),
    _time_format("output.timezone", "Timestamp key generator: zone of partition paths."),
    _time_format("timezone", "Timestamp key generator: zone of both."),
)


def _merge_property(name: str, summary: str) -> Option[str]:
    return Option(
        name,
        any_text,
        "",
        summary,
        honoured_by=(WRITE,),
        aliases=(HOODIE_RECORD_MERGE_PROPERTY_PREFIX + name,),
    )


DELETE_FIELD: Final = _merge_property(HOODIE_PAYLOAD_DELETE_FIELD, "Field whose value marks a row as deleted.")
DELETE_MARKER: Final = _merge_property(HOODIE_PAYLOAD_DELETE_MARKER, "Value of that field that marks it.")
UNAVAILABLE_VALUE: Final = _merge_property(
    HOODIE_WRITE_PARTIAL_UPDATE_UNAVAILABLE_VALUE, "Value that stands for a column that was not captured."
)
MERGE_PROPERTIES: Final = (DELETE_FIELD, DELETE_MARKER, UNAVAILABLE_VALUE)

CONSISTENT_TIMESTAMPS: Final = Option(
    HOODIE_CONSISTENT_LOGICAL_TIMESTAMP_ENABLED,
    boolean,
    False,
    "Show timestamps in keys as text in place of numbers.",
    honoured_by=(WRITE,),
)
TIMESTAMP_FOLDERS: Final = Option(
    HOODIE_HIVE_TIMESTAMP_FOLDERS,
    boolean,
    False,
    "Write timestamps in partition paths as text, as SQL statements do, in place of numbers.",
    honoured_by=(WRITE,),
)
NEW_COMPLEX_ENCODING: Final = Option(
    HOODIE_WRITE_COMPLEX_KEYGEN_NEW_ENCODING,
    boolean,
    True,
    "Write keys of the complex key generator with one field without the field's name.",
    honoured_by=(WRITE,),
)
ALTER_CHECK_DATA: Final = Option(
    "hoodie.schema.alter.check.data",
    boolean,
    False,
    "Changes of the schema read columns whose types change, and refuse values that do not fit (our own option).",
    honoured_by=(WRITE,),
)

TABLE_OPTIONS: Final = (
    NAME,
    DATABASE,
    TYPE,
    VERSION,
    AUTO_UPGRADE,
    RECORD_KEY_FIELDS,
    PARTITION_FIELDS,
    ORDERING_FIELDS,
    KEY_GENERATOR,
    HIVE_STYLE_PARTITIONING,
    URL_ENCODE_PARTITIONING,
    DROP_PARTITION_COLUMNS,
    POPULATE_META_FIELDS,
    BASE_FILE_FORMAT,
    MERGE_MODE,
    MERGE_STRATEGY_ID,
    PAYLOAD_CLASS,
    MERGER_CLASSES,
    RECORD_MERGERS,
    CDC_ENABLED,
    CDC_LOGGING_MODE,
    TIMEZONE,
    *TIME_FORMATS,
    *MERGE_PROPERTIES,
    CONSISTENT_TIMESTAMPS,
    TIMESTAMP_FOLDERS,
    NEW_COMPLEX_ENCODING,
    ALTER_CHECK_DATA,
)
