"""``TableConfig``: a table's ``.hoodie/hoodie.properties`` as a typed, immutable value.

Source: docs/format.md#table-properties, docs/format.md#table-versions.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from hudi_hive.errors import InvalidPropertiesError, PathNotFoundError, TableNotFoundError, UnsupportedTableError
from hudi_hive.formats import parse_properties
from hudi_hive.names import (
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
    HOODIE_TABLE_METADATA_PARTITIONS,
    HOODIE_TABLE_NAME,
    HOODIE_TABLE_ORDERING_FIELDS,
    HOODIE_TABLE_PARTITION_FIELDS,
    HOODIE_TABLE_PRECOMBINE_FIELD,
    HOODIE_TABLE_RECORDKEY_FIELDS,
    HOODIE_TABLE_TIMELINE_TIMEZONE,
    HOODIE_TABLE_TYPE,
    HOODIE_TABLE_VERSION,
    HOODIE_TIMELINE_HISTORY_PATH,
    HOODIE_TIMELINE_LAYOUT_VERSION,
    HOODIE_TIMELINE_PATH,
)
from hudi_hive.options import key_generator_name, parse_boolean
from hudi_hive.options import table as options
from hudi_hive.storage import Storage
from hudi_hive.table.properties.damage import refuse_damaged

PROPERTIES_PATH = ".hoodie/hoodie.properties"
BACKUP_PATH = ".hoodie/hoodie.properties.backup"

COPY_ON_WRITE, MERGE_ON_READ = options.COPY_ON_WRITE, options.MERGE_ON_READ

SUPPORTED_VERSIONS = options.TABLE_VERSIONS
"""Table versions that are read and written."""

_OLD_VERSIONS = range(options.TABLE_VERSIONS[0])
"""Table versions of Hudi 0.4 to 0.13, which are read as version 6 is and not written."""

LAYOUT_OF_VERSION = {6: 1, 8: 2, 9: 2}
"""Table version -> timeline layout version."""


@dataclass(frozen=True, slots=True)
class TableConfig:
    """The properties of a table from ``hoodie.properties``; absent keys have Hudi's defaults.

    Attributes:
        properties: every key as it stands in the file, unescaped.
        name, database: ``hoodie.table.name``; database is None when absent or empty.
        table_type: ``COPY_ON_WRITE`` or ``MERGE_ON_READ``.
        version, layout: table version (0 to 6, 8, 9) and timeline layout: 1, of version 0 too, or 2.
        timeline_path, history_path: folders of layout 2, relative to ``.hoodie`` and to the timeline folder.
        archive_folder: folder of layout 1's archive, relative to ``.hoodie``.
        timezone: ``LOCAL`` or ``UTC``: the zone that instants are drawn in.
        record_keys: key fields; empty for automatic keys.
        partition_fields: partition columns without the type suffix; empty for a table that is not partitioned.
        partition_field_types: ``SIMPLE`` or ``TIMESTAMP`` for each partition field: how its path value is made.
        ordering_fields: ordering (pre-combine) fields.
        key_generator: name as in ``hoodie.table.keygenerator.type``, ``USER_PROVIDED`` for a class that is not Hudi's,
            None when the file says nothing.
        hive_style_partitioning, url_encode_partitioning: how partition paths are written.
        slash_separated_dates: the date ``2024-03-15`` is in the folder ``2024/03/15``, as of Hudi 1.2.
        drop_partition_columns: the partition columns are not in the data files.
        populate_meta_fields: the five meta columns are in the data files.
        base_file_format: ``parquet``, ``orc``, ``hfile`` or ``lance``: also the extension of base files.
        create_schema: Avro schema JSON at creation, or None.
        metadata_partitions: partitions of the metadata table that are complete.
        merge_mode, merge_strategy_id, payload_class: how records merge, as written; None when absent.
        cdc_enabled, cdc_logging_mode: change data capture; the mode upper-cased.
        bootstrap_base_path: source of a bootstrapped table, or None.
        bootstrap_index_enabled: a bootstrap index tells the source files of skeletons.
        path: the file of the properties, for messages; None where they come from none.
    """

    properties: Mapping[str, str] = field(repr=False)
    name: str
    database: str | None
    table_type: str
    version: int
    layout: int
    timeline_path: str
    history_path: str
    archive_folder: str
    timezone: str
    record_keys: tuple[str, ...]
    partition_fields: tuple[str, ...]
    partition_field_types: tuple[str, ...]
    ordering_fields: tuple[str, ...]
    key_generator: str | None
    hive_style_partitioning: bool
    url_encode_partitioning: bool
    slash_separated_dates: bool
    drop_partition_columns: bool
    populate_meta_fields: bool
    base_file_format: str
    create_schema: str | None = field(repr=False)
    metadata_partitions: tuple[str, ...]
    merge_mode: str | None
    merge_strategy_id: str | None
    payload_class: str | None
    cdc_enabled: bool
    cdc_logging_mode: str
    bootstrap_base_path: str | None
    bootstrap_index_enabled: bool
    path: str | None = field(default=None, compare=False, repr=False)

    @property
    def is_bootstrapped(self) -> bool:
        """Whether a bootstrap made the table, so that base files may be skeletons."""
        return self.bootstrap_base_path is not None

    @property
    def is_partitioned(self) -> bool:
        """Whether the table has partition columns."""
        return bool(self.partition_fields)

    @property
    def is_merge_on_read(self) -> bool:
        """Whether the table's type is MERGE_ON_READ."""
        return self.table_type == MERGE_ON_READ

    @classmethod
    def load(cls, storage: Storage, *, metadata_table: bool = False) -> TableConfig:
        """Read the properties of the table at the root of ``storage``; while they are being rewritten, their backup.

        Args:
            storage: rooted at the table's base path.
            metadata_table: the table is another one's metadata table, whose base files are HFiles.

        Raises:
            TableNotFoundError: there are no properties and no backup.
            InvalidPropertiesError: unreadable, a required key is missing or invalid, or the checksum does not fit.
            UnsupportedTableError: a table version or base file format that is not read.
        """
        path = storage.uri(PROPERTIES_PATH)
        try:
            data = storage.read_bytes(PROPERTIES_PATH)
        except PathNotFoundError:
            try:
                return cls._load_backup(storage, metadata_table)
            except TableNotFoundError:
                # A writer deletes the backup once the file is there again, maybe between the two reads.
                if not storage.exists(PROPERTIES_PATH):
                    raise
                data = storage.read_bytes(PROPERTIES_PATH)
        try:
            return cls.from_bytes(data, path, metadata_table=metadata_table)
        except InvalidPropertiesError:
            # A writer rewrites the file in place, with the old content in the backup until it is done.
            if storage.exists(BACKUP_PATH):
                return cls._load_backup(storage, metadata_table)
            raise

    @classmethod
    def _load_backup(cls, storage: Storage, metadata_table: bool) -> TableConfig:
        try:
            data = storage.read_bytes(BACKUP_PATH)
        except PathNotFoundError:
            raise TableNotFoundError(
                "not a Hudi table: no .hoodie/hoodie.properties",
                path=storage.uri(),
                remedy="give the table's base path, the folder that holds .hoodie",
            ) from None
        return cls.from_bytes(data, storage.uri(BACKUP_PATH), metadata_table=metadata_table)

    @classmethod
    def from_bytes(cls, data: bytes, path: str, *, metadata_table: bool = False) -> TableConfig:
        """Parse the bytes of the file and refuse damaged ones; arguments and errors are those of :meth:`load`."""
        parse = _parsed if len(data) <= _MAX_CACHED_BYTES else _parsed.__wrapped__
        config = parse(data, path, metadata_table)
        return replace(config, properties=dict(config.properties))

    @classmethod
    def from_properties(
        cls, properties: Mapping[str, str], path: str | None = None, *, metadata_table: bool = False
    ) -> TableConfig:
        """Make the configuration of parsed properties; ``path`` is for messages, ``metadata_table`` as in :meth:`load`.

        Raises:
            InvalidPropertiesError: a required key is missing, a value is invalid, or the checksum does not fit.
            UnsupportedTableError: a table version or base file format that is not read.
        """
        get = _Getter(properties, path)
        version = _check_version(get)
        name, database = get.required(HOODIE_TABLE_NAME), get.text(HOODIE_DATABASE_NAME)
        _check_checksum(get, name, database)
        fields, types = _partition_fields(get)
        return cls(
            properties=dict(properties),
            name=name,
            database=database,
            table_type=get.one_of(HOODIE_TABLE_TYPE, COPY_ON_WRITE, (COPY_ON_WRITE, MERGE_ON_READ)),
            version=version,
            layout=_check_layout(get, version),
            timeline_path=get.folder(HOODIE_TIMELINE_PATH, "timeline"),
            history_path=get.folder(HOODIE_TIMELINE_HISTORY_PATH, "history"),
            archive_folder=get.folder(HOODIE_ARCHIVELOG_FOLDER, "archived"),
            timezone=get.one_of(HOODIE_TABLE_TIMELINE_TIMEZONE, "LOCAL", ("LOCAL", "UTC")),
            record_keys=get.items(HOODIE_TABLE_RECORDKEY_FIELDS),
            partition_fields=fields,
            partition_field_types=types,
            ordering_fields=get.items(HOODIE_TABLE_ORDERING_FIELDS) or get.items(HOODIE_TABLE_PRECOMBINE_FIELD),
            key_generator=_key_generator(get),
            hive_style_partitioning=get.flag(HOODIE_DATASOURCE_WRITE_HIVE_STYLE_PARTITIONING, False),
            url_encode_partitioning=get.flag(HOODIE_DATASOURCE_WRITE_PARTITIONPATH_URLENCODE, False),
            slash_separated_dates=_slash_separated_dates(get),
            drop_partition_columns=get.flag(HOODIE_DATASOURCE_WRITE_DROP_PARTITION_COLUMNS, False),
            populate_meta_fields=get.flag(HOODIE_POPULATE_META_FIELDS, True),
            base_file_format=_base_file_format(get, metadata_table),
            create_schema=get.text(HOODIE_TABLE_CREATE_SCHEMA),
            metadata_partitions=get.items(HOODIE_TABLE_METADATA_PARTITIONS),
            merge_mode=get.text(HOODIE_RECORD_MERGE_MODE),
            merge_strategy_id=get.text(HOODIE_RECORD_MERGE_STRATEGY_ID)
            or get.text(HOODIE_COMPACTION_RECORD_MERGER_STRATEGY),
            payload_class=get.text(HOODIE_COMPACTION_PAYLOAD_CLASS),
            cdc_enabled=get.flag(HOODIE_TABLE_CDC_ENABLED, False),
            cdc_logging_mode=(get.text(HOODIE_TABLE_CDC_SUPPLEMENTAL_LOGGING_MODE) or "DATA_BEFORE_AFTER").upper(),
            bootstrap_base_path=get.text(HOODIE_BOOTSTRAP_BASE_PATH),
            bootstrap_index_enabled=_bootstrap_index(get),
            path=path,
        )


_MAX_CACHED_BYTES: Final = 1 << 16


@lru_cache(maxsize=64)
def _parsed(data: bytes, path: str, metadata_table: bool) -> TableConfig:
    """The configuration in bytes; a write reads the same file again and again."""
    properties = parse_properties(data, path=path)
    refuse_damaged(data, properties, path)
    return TableConfig.from_properties(properties, path=path, metadata_table=metadata_table)


@dataclass(frozen=True, slots=True)
class _Getter:
    """Typed look-ups that name the file and the key when a value is wrong."""

    properties: Mapping[str, str]
    path: str | None

    def text(self, key: str) -> str | None:
        return self.properties.get(key, "").strip() or None

    def required(self, key: str) -> str:
        value = self.text(key)
        if value is None:
            raise InvalidPropertiesError(f"required key {key} is missing", path=self.path)
        return value

    def items(self, key: str) -> tuple[str, ...]:
        return tuple(item.strip() for item in self.properties.get(key, "").split(",") if item.strip())

    def flag(self, key: str, default: bool) -> bool:
        value = parse_boolean(self.text(key) or str(default))
        if value is None:
            raise self.invalid(key, "true or false")
        return value

    def number(self, key: str) -> int | None:
        value = self.text(key)
        if value is None:
            return None
        if not (value.isascii() and value.isdigit()) or len(value) > 9:
            raise self.invalid(key, "a whole number")
        return int(value)

    def one_of(self, key: str, default: str, allowed: tuple[str, ...]) -> str:
        value = (self.text(key) or default).upper()
        if value not in allowed:
            raise self.invalid(key, " or ".join(allowed))
        return value

    def folder(self, key: str, default: str) -> str:
        value = (self.text(key) or default).strip("/")
        if not value or ".." in value.split("/"):
            raise self.invalid(key, "a folder inside the table")
        return value

    def invalid(self, key: str, expected: str) -> InvalidPropertiesError:
        return InvalidPropertiesError(f"{key}={self.properties.get(key)!r} is not {expected}", path=self.path)


def _check_version(get: _Getter) -> int:
    version = get.number(HOODIE_TABLE_VERSION)
    if version is None:
        if get.number(HOODIE_TIMELINE_LAYOUT_VERSION) not in (None, 0, 1):
            raise InvalidPropertiesError("required key hoodie.table.version is missing", path=get.path)
        return 0  # releases before 0.6.0 wrote none
    if version not in _OLD_VERSIONS and version not in SUPPORTED_VERSIONS:
        raise UnsupportedTableError(
            f"table version {version} is not supported",
            path=get.path,
            remedy="versions up to 6, 8 and 9 are; let Hudi complete the upgrade or downgrade",
        )
    return version


def _check_layout(get: _Getter, version: int) -> int:
    """The layout of the timeline's names: 1 for the old layout 0, too, in which states were renamed, not added."""
    layout = get.number(HOODIE_TIMELINE_LAYOUT_VERSION)
    due = LAYOUT_OF_VERSION.get(version, 1)
    if layout not in (None, due) and not (layout == 0 and version in _OLD_VERSIONS):
        raise InvalidPropertiesError(
            f"timeline layout {layout} does not go with table version {version}", path=get.path
        )
    return due


def is_old(config: TableConfig) -> bool:
    """Whether a table is of a version before 6, which is read only."""
    return config.version in _OLD_VERSIONS


def refuse_to_write(config: TableConfig, path: str | None = None) -> None:
    """Refuse to change a table of a version, or with base files of a format, that is read only.

    Args:
        config: its properties.
        path: its base path, for the error, where that is known.

    Raises:
        UnsupportedTableError: the table is of a version before 6, or its base files are Lance files.
    """
    refuse_format(config, path)
    if is_old(config):
        raise UnsupportedTableError(
            f"table {config.name} is of version {config.version}: such tables are read, and not written",
            path=path,
            remedy="upgrade it to version 6 first: a write of Hudi 0.15 does, and `hudi-hive table upgrade` from 5",
        )


def refuse_format(config: TableConfig, path: str | None = None) -> None:
    """Refuse to change a table with base files of a format that is read only; arguments as of :func:`refuse_to_write`.

    Raises:
        UnsupportedTableError: the table's base files are Lance files.
    """
    if config.base_file_format.upper() in options.READ_ONLY_FORMATS:
        raise UnsupportedTableError(
            f"table {config.name} has base files of the format {config.base_file_format.upper()}: such tables are "
            "read, and not written",
            path=path,
            remedy="write it with Hudi",
        )


def _check_checksum(get: _Getter, name: str, database: str | None) -> None:
    """The checksum is the CRC-32 of ``database.table``: it guards the names alone (docs/format.md#table-properties)."""
    written = get.text(HOODIE_TABLE_CHECKSUM)
    if written is None:
        return
    expected = zlib.crc32(f"{database or ''}.{name}".encode())
    if written != str(expected):
        raise InvalidPropertiesError(
            f"hoodie.table.checksum={written} does not fit the names, which give {expected}",
            path=get.path,
            remedy="the file is damaged or was edited by hand; restore hoodie.table.name and hoodie.database.name",
        )


def _key_generator(get: _Getter) -> str | None:
    kind = get.text(HOODIE_TABLE_KEYGENERATOR_TYPE)
    if kind is not None:
        return kind.upper()
    class_name = get.text(HOODIE_TABLE_KEYGENERATOR_CLASS)
    if class_name is None:
        return None
    return key_generator_name(class_name)


def _partition_fields(get: _Getter) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Partition columns and how each path value is made: the custom generator writes ``field:TIMESTAMP``."""
    generator = _key_generator(get) or ""
    # Version 6 keeps no suffix for the custom generator: any of its fields may be a formatted timestamp then.
    is_formatted = generator.startswith(("TIMESTAMP", "CUSTOM")) or _slash_separated_dates(get)
    default = "TIMESTAMP" if is_formatted else "SIMPLE"
    names: list[str] = []
    types: list[str] = []
    for entry in get.items(HOODIE_TABLE_PARTITION_FIELDS):
        name, _, suffix = entry.partition(":")
        names.append(name)
        types.append(suffix.upper() or default)
    for kind in types:
        if kind not in ("SIMPLE", "TIMESTAMP"):
            raise get.invalid(HOODIE_TABLE_PARTITION_FIELDS, "a list of field, field:SIMPLE or field:TIMESTAMP")
    return tuple(names), tuple(types)


def _slash_separated_dates(get: _Getter) -> bool:
    """Whether dates make a folder for year, month and day each: by either name that Hudi had for it."""
    names = (
        HOODIE_DATASOURCE_WRITE_SLASH_SEPARATED_DATE_PARTITIONING,
        HOODIE_DATASOURCE_WRITE_SLASH_SEPARATED_DATE_PARTITIONPATH,
    )
    return any(get.flag(name, False) for name in names)


def _bootstrap_index(get: _Getter) -> bool:
    """Whether there is an index of bootstrap: of no class or type that keeps none (Hudi's ``NoOpBootstrapIndex``).

    Raises:
        UnsupportedTableError: an index class that is not Hudi's.
    """
    if not get.flag(HOODIE_BOOTSTRAP_INDEX_ENABLE, True):
        return False
    kind, class_name = get.text(HOODIE_BOOTSTRAP_INDEX_TYPE), get.text(HOODIE_BOOTSTRAP_INDEX_CLASS)
    name = kind.upper() if kind is not None else (class_name or "HFILE").rpartition(".")[2]
    if name in ("NO_OP", "NoOpBootstrapIndex"):
        return False
    if name not in ("HFILE", "HFileBootstrapIndex"):
        raise UnsupportedTableError(
            f"bootstrap index {class_name or kind} is not supported", path=get.path, remedy="HFileBootstrapIndex is"
        )
    return True


def _base_file_format(get: _Getter, metadata_table: bool) -> str:
    value = (get.text(HOODIE_TABLE_BASE_FILE_FORMAT) or "PARQUET").upper()
    if value == "HFILE" and not metadata_table and _key_generator(get) == "HOODIE_TABLE_METADATA":
        raise UnsupportedTableError(
            "a metadata table (base file format HFILE) is only read, by HudiTable.open and Spark's data source hudi",
            path=get.path,
            remedy="give the table that it belongs to; `hudi-hive read` and `hudi-hive metadata` look into it",
        )
    if value not in (*options.BASE_FILE_FORMATS, *options.READ_ONLY_FORMATS):
        raise UnsupportedTableError(
            f"base file format {value} is not supported", path=get.path, remedy="Parquet, ORC, HFile and Lance are"
        )
    return value.lower()
