"""Makes new tables: folders and ``hoodie.properties`` as the release of each table version writes them.

Source: docs/format.md#table-layout.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

from hudi_hive.errors import (
    InvalidOptionError,
    LockError,
    PathExistsError,
    SchemaError,
    TableExistsError,
    UnknownColumnError,
    UnsupportedTableError,
)
from hudi_hive.names import (
    HOODIE_ARCHIVELOG_FOLDER,
    HOODIE_BOOTSTRAP_BASE_PATH,
    HOODIE_BOOTSTRAP_INDEX_CLASS,
    HOODIE_BOOTSTRAP_INDEX_TYPE,
    HOODIE_DATABASE_NAME,
    HOODIE_DATASOURCE_WRITE_DROP_PARTITION_COLUMNS,
    HOODIE_DATASOURCE_WRITE_HIVE_STYLE_PARTITIONING,
    HOODIE_DATASOURCE_WRITE_PARTITIONPATH_URLENCODE,
    HOODIE_KEYGEN_PREFIX,
    HOODIE_PARTITION_METAFILE_USE_BASE_FORMAT,
    HOODIE_POPULATE_META_FIELDS,
    HOODIE_RECORD_MERGE_PROPERTY_PREFIX,
    HOODIE_TABLE_BASE_FILE_FORMAT,
    HOODIE_TABLE_CDC_ENABLED,
    HOODIE_TABLE_CDC_SUPPLEMENTAL_LOGGING_MODE,
    HOODIE_TABLE_CHECKSUM,
    HOODIE_TABLE_CREATE_SCHEMA,
    HOODIE_TABLE_FORMAT,
    HOODIE_TABLE_INDEX_DEFS_PATH,
    HOODIE_TABLE_INITIAL_VERSION,
    HOODIE_TABLE_KEYGENERATOR_CLASS,
    HOODIE_TABLE_KEYGENERATOR_TYPE,
    HOODIE_TABLE_LOG_FILE_FORMAT,
    HOODIE_TABLE_MULTIPLE_BASE_FILE_FORMATS_ENABLE,
    HOODIE_TABLE_NAME,
    HOODIE_TABLE_PARTITION_FIELDS,
    HOODIE_TABLE_RECORDKEY_FIELDS,
    HOODIE_TABLE_TIMELINE_TIMEZONE,
    HOODIE_TABLE_TYPE,
    HOODIE_TABLE_VERSION,
    HOODIE_TIMELINE_HISTORY_PATH,
    HOODIE_TIMELINE_LAYOUT_VERSION,
    HOODIE_TIMELINE_PATH,
)
from hudi_hive.options import KEY_GENERATOR_CLASSES
from hudi_hive.options import table as options
from hudi_hive.schema import META_FIELDS, avro_to_arrow
from hudi_hive.storage import Storage
from hudi_hive.table.core.meta_client import MetaClient, is_hudi_table
from hudi_hive.table.merge import MergeSpec, merge_properties, strategy_properties
from hudi_hive.table.properties import (
    COPY_ON_WRITE,
    LAYOUT_OF_VERSION,
    MERGE_ON_READ,
    PROPERTIES_PATH,
    SUPPORTED_VERSIONS,
    TableConfig,
    properties_bytes,
    table_checksum,
)

DEFAULT_TABLE_VERSION: Final = 8
"""Version of a new table when none is asked for."""

CDC_MODES: Final = ("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER")

_CLASS_OF_GENERATOR: Final = {kind: f"org.apache.hudi.keygen.{name}" for name, kind in KEY_GENERATOR_CLASSES.items()}
_NAME = re.compile(r"[^\s/\\.,:]+")
_FOLDERS: Final = (".aux/.bootstrap/.partitions", ".aux/.bootstrap/.fileids", ".temp", ".schema")
_FURTHER_KEYS: Final = frozenset(
    {
        HOODIE_TABLE_LOG_FILE_FORMAT,
        HOODIE_PARTITION_METAFILE_USE_BASE_FORMAT,
        HOODIE_DATASOURCE_WRITE_DROP_PARTITION_COLUMNS,
        HOODIE_TABLE_INDEX_DEFS_PATH,
        HOODIE_BOOTSTRAP_BASE_PATH,
        HOODIE_BOOTSTRAP_INDEX_CLASS,
        HOODIE_BOOTSTRAP_INDEX_TYPE,
    }
)
_FURTHER_PREFIXES: Final = (HOODIE_KEYGEN_PREFIX, HOODIE_RECORD_MERGE_PROPERTY_PREFIX)


@dataclass(frozen=True, kw_only=True)
class TableDefinition:
    """The definition of a new table: the values of its ``hoodie.properties``.

    Attributes:
        name: table name.
        table_type: ``COPY_ON_WRITE`` or ``MERGE_ON_READ``.
        version: table version, 6, 8 or 9.
        record_keys: key columns; empty for keys that the writer makes up.
        partition_fields: partition columns; ``column:SIMPLE`` or ``column:TIMESTAMP`` for the custom key generator.
        ordering_fields: columns that say which of two records of a key is newer.
        key_generator: name as in ``hoodie.table.keygenerator.type``; by the number of columns without it.
        hive_style_partitioning: partition folders are ``column=value``.
        url_encode_partitioning: values in partition folders are escaped.
        cdc: log changes: True for before and after, or one of :data:`CDC_MODES`.
        populate_meta_fields: false leaves the five meta columns out of data files.
        merge_mode: ``COMMIT_TIME_ORDERING``, ``EVENT_TIME_ORDERING`` or ``CUSTOM``; see
            :func:`~hudi_hive.table.merge.properties.merge_properties`.
        payload_class: full name of Hudi's payload class, or of one with a registered merger, in place of a merge mode.
        merge_strategy_id: id of a strategy with a registered merger (:func:`hudi_hive.register_merger`).
        timezone: ``LOCAL`` or ``UTC``: the zone of the table's instants.
        create_schema: Avro schema of the rows without meta columns.
        database: database name, which sync uses.
        base_file_format: ``PARQUET``, ``ORC``, or ``HFILE`` for rows sorted by key.
        properties: further table properties, those of the timestamp key generator for one.

    Source: docs/format.md#table-layout, Hudi's ``HoodieTableConfig``.
    """

    name: str
    table_type: str = COPY_ON_WRITE
    version: int = DEFAULT_TABLE_VERSION
    record_keys: Sequence[str] = ()
    partition_fields: Sequence[str] = ()
    ordering_fields: Sequence[str] = ()
    key_generator: str | None = None
    hive_style_partitioning: bool = False
    url_encode_partitioning: bool = False
    cdc: str | bool = False
    populate_meta_fields: bool = True
    merge_mode: str | None = None
    payload_class: str | None = None
    merge_strategy_id: str | None = None
    timezone: str = "LOCAL"
    create_schema: Mapping[str, Any] | str | None = None
    database: str | None = None
    base_file_format: str = "PARQUET"
    properties: Mapping[str, str] | None = None

    def to_properties(self) -> dict[str, str]:
        """The table's properties, without the checksum.

        Raises:
            InvalidOptionError: a value is wrong or contradicts another one.
            UnknownColumnError: the schema lacks a key, partition or ordering column.
            UnsupportedTableError: a version, key or merge mode that is not supported.
        """
        schema = _schema_text(self.create_schema)
        table_type, version = self.table_type.upper(), self.version
        generator = (self.key_generator or _inferred_generator(self.record_keys, self.partition_fields)).upper()
        _check(self, table_type, generator)
        partition_columns = [_column(field) for field in self.partition_fields]
        _check_columns(schema, [*self.record_keys, *partition_columns, *self.ordering_fields])
        merge_mode = self.merge_mode and self.merge_mode.upper()
        properties = {
            HOODIE_TABLE_NAME: self.name,
            HOODIE_TABLE_TYPE: table_type,
            HOODIE_TABLE_VERSION: str(version),
            HOODIE_TIMELINE_LAYOUT_VERSION: str(LAYOUT_OF_VERSION[version]),
            HOODIE_TABLE_BASE_FILE_FORMAT: self.base_file_format.upper(),
            HOODIE_TABLE_PARTITION_FIELDS: ",".join(partition_columns if version == 6 else self.partition_fields),
            HOODIE_DATASOURCE_WRITE_HIVE_STYLE_PARTITIONING: _flag(self.hive_style_partitioning),
            HOODIE_DATASOURCE_WRITE_PARTITIONPATH_URLENCODE: _flag(self.url_encode_partitioning),
            HOODIE_DATASOURCE_WRITE_DROP_PARTITION_COLUMNS: "false",
            HOODIE_PARTITION_METAFILE_USE_BASE_FORMAT: "false",
            HOODIE_POPULATE_META_FIELDS: _flag(self.populate_meta_fields),
            HOODIE_TABLE_TIMELINE_TIMEZONE: self.timezone.upper(),
            **({HOODIE_TABLE_RECORDKEY_FIELDS: ",".join(self.record_keys)} if self.record_keys else {}),
            **({HOODIE_TABLE_CREATE_SCHEMA: schema} if schema is not None else {}),
            **_cdc_properties(self.cdc),
            **_version_properties(version, generator, self.database),
            **self._merge_properties(merge_mode),
        }
        return properties | _further(self.properties or {}, properties)

    def _merge_properties(self, mode: str | None) -> dict[str, str]:
        fields, strategy = self.ordering_fields, self.merge_strategy_id
        if strategy is None:
            return merge_properties(self.version, self.table_type.upper(), fields, mode, self.payload_class)
        if mode not in (None, "CUSTOM") or self.payload_class is not None:
            raise InvalidOptionError("a merge strategy of its own takes neither another merge mode nor a payload class")
        return strategy_properties(self.version, fields, strategy)


def create_table(
    path: str | os.PathLike[str],
    definition: TableDefinition,
    *,
    storage_options: Mapping[str, Any] | None = None,
    storage: Storage | None = None,
    lock: AbstractContextManager[object] | None = None,
) -> MetaClient:
    """Create an empty table; its ``hoodie.properties`` is written last and in one step.

    Args:
        path: base path; a folder without a table, or none yet.
        definition: what the table is.
        storage_options: as for :class:`~hudi_hive.storage.Storage`.
        storage: use this storage, rooted at the base path.
        lock: keeps others who create the table out; needed where the store cannot create files atomically.

    Raises:
        TableExistsError: there is a table already.
        LockError: the store cannot create files atomically, and there is no lock; nothing was written.
        InvalidOptionError: a value is wrong or contradicts another one; nothing was written.
        UnknownColumnError: the schema lacks a key, partition or ordering column.
        UnsupportedTableError: a version, key or merge mode that is not supported.
    """
    storage = storage if storage is not None else Storage(path, storage_options)
    if storage.uri().rstrip("/").endswith("/.hoodie/metadata"):
        raise UnsupportedTableError(
            "no table is made where a metadata table belongs",
            path=storage.uri(),
            remedy="give the table's base path; `hudi-hive metadata create` makes the metadata table",
        )
    properties = definition.to_properties()
    config = TableConfig.from_properties(
        {**properties, HOODIE_TABLE_CHECKSUM: table_checksum(properties)}, storage.uri(PROPERTIES_PATH)
    )
    MergeSpec.from_config(config)  # refuses what could be written and not be read again
    if lock is None and not storage.creates_atomically:
        raise _not_atomic(storage)
    with lock if lock is not None else nullcontext():
        _write(storage, config, properties)
    if lock is None and not storage.creates_atomically:  # the first file on a store is what shows it
        storage.delete(PROPERTIES_PATH)
        raise _not_atomic(storage)
    return MetaClient(storage, config)


def _not_atomic(storage: Storage) -> LockError:
    return LockError(
        "the store cannot create a file only if it is absent, so that two could create the table at once",
        path=storage.uri(),
        remedy="set hoodie.write.lock.provider among the options: InProcessLockProvider, if nobody else creates it",
    )


def _write(storage: Storage, config: TableConfig, written: Mapping[str, str]) -> None:
    exists = TableExistsError(
        "there is a Hudi table already", path=storage.uri(), remedy="write to it, or give another path"
    )
    if is_hudi_table(storage.uri(), storage=storage):
        raise exists
    own = "archived" if config.layout == 1 else f"{config.timeline_path}/{config.history_path}"
    for folder in (*_FOLDERS, own):
        storage.create_dir(f".hoodie/{folder}")
    try:
        storage.create_if_absent(PROPERTIES_PATH, properties_bytes(written, "Properties saved on"))
    except PathExistsError:
        raise exists from None


def _inferred_generator(record_keys: Sequence[str], partition_fields: Sequence[str]) -> str:
    if not partition_fields:
        return "NON_PARTITION"
    if any(":" in field for field in partition_fields):
        return "CUSTOM"
    return "SIMPLE" if len(partition_fields) == 1 and len(record_keys) <= 1 else "COMPLEX"


def _check(definition: TableDefinition, table_type: str, generator: str) -> None:
    name, version = definition.name, definition.version
    if not _NAME.fullmatch(name):
        raise InvalidOptionError(f"{name!r} is no table name", remedy="leave out blanks and any of / \\ . , :")
    if table_type not in (COPY_ON_WRITE, MERGE_ON_READ):
        raise InvalidOptionError(f"table type {table_type!r} is neither {COPY_ON_WRITE} nor {MERGE_ON_READ}")
    if version not in SUPPORTED_VERSIONS:
        raise InvalidOptionError(f"table version {version} cannot be written", remedy="versions 6, 8 and 9 can")
    if generator not in _CLASS_OF_GENERATOR:
        raise InvalidOptionError(f"unknown key generator {generator!r}", remedy=f"one of {list(_CLASS_OF_GENERATOR)}")
    if definition.base_file_format.upper() not in options.BASE_FILE_FORMATS:
        raise InvalidOptionError(
            f"base files of the format {definition.base_file_format!r} are not written",
            remedy=f"one of {', '.join(options.BASE_FILE_FORMATS)}",
        )
    if definition.timezone.upper() not in ("LOCAL", "UTC"):
        raise InvalidOptionError(f"timeline time zone {definition.timezone!r} is neither LOCAL nor UTC")
    if not definition.populate_meta_fields and definition.base_file_format.upper() == "HFILE":
        raise InvalidOptionError("HFiles are sorted by record keys, which a table without meta columns has not")
    if not definition.populate_meta_fields and not definition.record_keys:
        raise InvalidOptionError("a table without meta columns wants record key columns")
    if generator.startswith("SIMPLE") and len(definition.record_keys) > 1:
        raise InvalidOptionError(f"the key generator {generator} takes one record key column", remedy="use COMPLEX")


def _check_columns(schema: str | None, columns: Sequence[str]) -> None:
    """Every column must be in the schema where there is one; a dotted name by its first part."""
    if schema is None:
        return
    fields = {field["name"] for field in json.loads(schema)["fields"]}
    for column in columns:
        if column not in fields and column.partition(".")[0] not in fields:
            raise UnknownColumnError(
                f"the schema has no column {column!r}", remedy=f"it has {', '.join(sorted(fields))}"
            )


def _schema_text(schema: Mapping[str, Any] | str | None) -> str | None:
    if schema is None:
        return None
    try:
        record = json.loads(schema) if isinstance(schema, str) else dict(schema)
        avro_to_arrow(record)
    except (ValueError, TypeError) as error:
        raise InvalidOptionError(f"the schema is no Avro record: {error}") from error
    columns = [field for field in record["fields"] if field["name"] not in META_FIELDS]
    if not columns:
        raise SchemaError("the schema has no columns")
    return json.dumps({**record, "fields": columns}, separators=(",", ":"))


def _cdc_properties(cdc: str | bool) -> dict[str, str]:
    if cdc is False:
        return {HOODIE_TABLE_CDC_ENABLED: "false"}
    mode = CDC_MODES[-1] if cdc is True else cdc.upper()
    if mode not in CDC_MODES:
        raise InvalidOptionError(f"change logging mode {cdc!r} is not one of {', '.join(CDC_MODES)}")
    return {HOODIE_TABLE_CDC_ENABLED: "true", HOODIE_TABLE_CDC_SUPPLEMENTAL_LOGGING_MODE: mode}


def _version_properties(version: int, generator: str, database: str | None) -> dict[str, str]:
    """What differs from release to release, but for merging."""
    if version == 6:
        return {
            HOODIE_ARCHIVELOG_FOLDER: "archived",
            HOODIE_DATABASE_NAME: database or "",
            HOODIE_TABLE_KEYGENERATOR_CLASS: _CLASS_OF_GENERATOR[generator],
        }
    return {
        HOODIE_TABLE_INITIAL_VERSION: str(version),
        HOODIE_TIMELINE_PATH: "timeline",
        HOODIE_TIMELINE_HISTORY_PATH: "history",
        HOODIE_ARCHIVELOG_FOLDER: "history",
        HOODIE_TABLE_MULTIPLE_BASE_FILE_FORMATS_ENABLE: "false",
        HOODIE_TABLE_KEYGENERATOR_TYPE: generator,
        **({HOODIE_DATABASE_NAME: database} if database else {}),
        **({HOODIE_TABLE_FORMAT: "native"} if version == 9 else {}),
    }


def _further(properties: Mapping[str, str], written: Mapping[str, str]) -> dict[str, str]:
    """The caller's own table properties: none that has an argument, none that we do not know."""
    for key, value in properties.items():
        if key in written and written[key] != value and key not in _FURTHER_KEYS:
            raise InvalidOptionError(f"{key}={value} contradicts the table's {written[key]!r}")
        if key not in written and key not in _FURTHER_KEYS and not key.startswith(_FURTHER_PREFIXES):
            raise InvalidOptionError(f"{key} is no property that a new table can be given")
    return dict(properties)


def _column(field: str) -> str:
    return field.partition(":")[0]


def _flag(value: bool) -> str:
    return "true" if value else "false"
