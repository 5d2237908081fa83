"""``HiveSyncConfig``: the typed options of a sync, from Hudi's option names and the table's properties.

Source: docs/format/rules.md#sync-reads-the-properties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from hudi_hive.errors import InvalidOptionError
from hudi_hive.glue import GlueSettings
from hudi_hive.options import metastore as metastore_options
from hudi_hive.options import options_of
from hudi_hive.options import sync as options
from hudi_hive.options import table as table_options
from hudi_hive.options import write as write_options
from hudi_hive.redaction import redact
from hudi_hive.secret_references import SecretFields
from hudi_hive.storage import Credentials
from hudi_hive.sync.config.buckets import parse_bucket_spec
from hudi_hive.sync.config.extractors import NON_PARTITIONED, find_extractor, infer_extractor
from hudi_hive.sync.config.options import option_values
from hudi_hive.table.properties import TableConfig


@dataclass(frozen=True, kw_only=True)
class HiveSyncConfig(SecretFields):
    """The configuration of a sync; fields that are None are taken from the table's ``hoodie.properties``.

    Args:
        base_path: the table's base path; the metastore gets it as written here.
        metastore_uris: ``thrift://host:port``, several in order of preference; with TLS and a login as
            ``HiveMetastore`` takes them.
        database, table: names in the metastore; by default the table's own, ``default`` for the database.
        mode: how changes are made: ``hms`` by calls to the metastore, ``hiveql`` and ``jdbc`` by DDL statements sent to
            ``jdbc_url``; either way the metastore is read directly. ``glue``: the catalog is AWS Glue, no metastore.
        jdbc_url, username, password: the SQL server of the modes ``hiveql`` and ``jdbc``.
        partition_fields: partition columns; empty for a table registered without partitions.
        partition_extractor: Java class name of the extractor, with or without package; inferred from the fields.
        hive_style_partitioning: whether folders are named ``name=value``; for the inference of the extractor.
        decode_partition: un-escape ``%XX`` in partition values, once, right behind the extractor.
        base_file_format: ``PARQUET``, ``HFILE``, ``ORC`` or ``LANCE``: chooses the Hive classes.
        use_pre_apache_input_format: write the class names of the time before Apache.
        auto_create_database: create the database when it is missing.
        support_timestamp: sync 64-bit timestamps as ``timestamp`` rather than ``bigint``.
        table_properties, serde_properties: extra parameters, (name, value) pairs.
        sync_as_datasource: add the parameters by which Spark knows the table.
        schema_string_length: greatest length of a chunk of Spark's schema text, in characters.
        create_managed_table: register a managed table; nothing here ever deletes its data.
        omit_metadata_fields: leave out the five meta columns.
        batch_size: partitions per call that adds, alters or drops them.
        connections: connections to the metastore, 1 to 64: as many batches of partitions go side by side. None: four,
            over which batches are read and added, while those that alter or drop go one by one, since they wait for
            one another in a metastore on Derby. A client of one's own keeps to the size of its pool too; Glue has
            settings of its own.
        sync_comment: take column comments from the ``doc`` of Avro fields.
        strategy, skip_ro_suffix, snapshot_with_table_name: which tables a merge-on-read table becomes: with ``ALL``
            (the default) ``<table>_ro``, ``<table>_rt`` and, as a second snapshot view, ``<table>``; with ``RO`` or
            ``RT`` only ``<table>``. ``skip_ro_suffix`` calls the read-optimized one ``<table>``; there is no second
            snapshot view then, whatever ``snapshot_with_table_name`` says.
        filter_pushdown, filter_pushdown_max_size: ask the metastore for written partitions by a filter; beyond
            the size (fields times partitions) by their range.
        recreate_on_error: when the metastore refuses a change of the table, drop it (data stays) and make it anew.
        force_recreate: drop a table that exists (data stays) and make it anew, on every sync.
        touch_partitions: tell the metastore of existing partitions that were written to since the last sync.
        bucket_sync, bucket_spec: register the bucket columns ``CLUSTERED BY (…) [SORTED BY (…)] INTO n BUCKETS``.
        metadata_file_listing: take partitions and files from the metadata table where the table has a usable one.
        conditional: move the last-synced stamp only when something else changed.
        spark_version: value of ``spark.sql.create.version``.
        incremental: look only at what was written since the last sync; False compares all partitions.
        no_partition_metadata: register the partition keys but no partitions.
        glue: the catalog of mode ``glue``; what it leaves out of credentials and region comes from
            ``storage_options``, then from the environment.
        storage_options: keyword arguments of the table's file system.

    Raises:
        InvalidOptionError: a value that a field does not take.
    """

    base_path: str = options.BASE_PATH.required_field()
    metastore_uris: tuple[str, ...] | Sequence[str] | str = options.METASTORE_URIS.field(
        stand_ins=metastore_options.URIS.names
    )
    database: str | None = options.DATABASE.field(stand_ins=table_options.DATABASE.names)
    table: str | None = options.TABLE.field(stand_ins=table_options.NAME.names)
    mode: str = options.MODE.field()
    jdbc_url: str = options.JDBC_URL.field(repr=False)  # it may hold a password
    username: str = options.USERNAME.field()
    password: str = options.PASSWORD.field(repr=False)
    partition_fields: tuple[str, ...] | None = options.PARTITION_FIELDS.field(
        stand_ins=table_options.PARTITION_FIELDS.names[::-1]
    )
    partition_extractor: str | None = options.PARTITION_EXTRACTOR.field()
    hive_style_partitioning: bool | None = table_options.HIVE_STYLE_PARTITIONING.field(None)
    decode_partition: bool | None = options.DECODE_PARTITION.field(
        stand_ins=table_options.URL_ENCODE_PARTITIONING.names
    )
    base_file_format: str | None = options.BASE_FILE_FORMAT.field(stand_ins=table_options.BASE_FILE_FORMAT.names)
    use_pre_apache_input_format: bool = options.PRE_APACHE_INPUT_FORMAT.field()
    auto_create_database: bool = options.AUTO_CREATE_DATABASE.field()
    support_timestamp: bool = options.SUPPORT_TIMESTAMP.field()
    table_properties: tuple[tuple[str, str], ...] = options.TABLE_PROPERTIES.field()
    serde_properties: tuple[tuple[str, str], ...] = options.SERDE_PROPERTIES.field()
    sync_as_datasource: bool = options.SYNC_AS_DATASOURCE.field()
    schema_string_length: int = options.SCHEMA_STRING_LENGTH.field()
    create_managed_table: bool = options.CREATE_MANAGED_TABLE.field()
    omit_metadata_fields: bool = options.OMIT_METADATA_FIELDS.field()
    batch_size: int = options.BATCH_SIZE.field()
    connections: int | None = options.CONNECTIONS.field()
    sync_comment: bool = options.SYNC_COMMENT.field()
    strategy: str = options.STRATEGY.field()
    skip_ro_suffix: bool = options.SKIP_RO_SUFFIX.field()
    snapshot_with_table_name: bool = options.SNAPSHOT_WITH_TABLE_NAME.field()
    filter_pushdown: bool = options.FILTER_PUSHDOWN.field()
    filter_pushdown_max_size: int = options.FILTER_PUSHDOWN_SIZE.field()
    recreate_on_error: bool = options.RECREATE_ON_ERROR.field()
    force_recreate: bool = options.FORCE_RECREATE.field()
    touch_partitions: bool = options.TOUCH_PARTITIONS.field()
    bucket_sync: bool = options.BUCKET_SYNC.field()
    bucket_spec: str | None = options.BUCKET_SPEC.field()
    metadata_file_listing: bool = options.METADATA_LISTING.field(stand_ins=write_options.METADATA_ENABLE.names)
    conditional: bool = options.CONDITIONAL.field()
    spark_version: str | None = options.SPARK_VERSION.field()
    incremental: bool = options.INCREMENTAL.field()
    no_partition_metadata: bool = options.NO_PARTITION_METADATA.field()
    glue: GlueSettings = field(default_factory=GlueSettings)
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False)
    warnings: tuple[str, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        names = (item.name for item in fields(self) if item.repr and (item.name != "glue" or self.mode == "glue"))
        shown = {name: getattr(self, name) for name in names}
        return f"HiveSyncConfig({', '.join(f'{name}={redact(repr(value))}' for name, value in shown.items())})"

    _secret_fields = ("base_path", "metastore_uris", "jdbc_url", "username", "password")

    def __post_init__(self) -> None:
        if self.storage_options is not None:
            self._set("storage_options", Credentials(self.storage_options))
        self._normalise()
        self._check_words()
        for name in ("batch_size", "schema_string_length"):
            if getattr(self, name) < 1:
                raise InvalidOptionError(f"{_key(name)}={getattr(self, name)} is not positive")
        if self.connections is not None and not 1 <= self.connections <= options.MOST_CONNECTIONS:
            raise InvalidOptionError(
                f"{_key('connections')}={self.connections} is not from 1 to {options.MOST_CONNECTIONS}"
            )
        if self.partition_extractor is not None:
            find_extractor(self.partition_extractor)
        self._check_buckets()

    def _normalise(self) -> None:
        """Lists as tuples, words in the case that options have."""
        uris = self.metastore_uris
        if isinstance(uris, str):
            uris = tuple(item.strip() for item in uris.split(",") if item.strip())
        self._set("metastore_uris", tuple(uris))
        if self.partition_fields is not None:
            self._set("partition_fields", tuple(self.partition_fields))
        self._set("mode", self.mode.lower())
        self._set("strategy", self.strategy.upper())
        if self.base_file_format is not None:
            self._set("base_file_format", self.base_file_format.upper())

    def _check_words(self) -> None:
        if not self.base_path.strip():
            raise InvalidOptionError(f"{_key('base_path')} is missing", remedy="give the table's base path")
        if self.mode not in options.MODES:
            raise InvalidOptionError(
                f"{_key('mode')}={self.mode} is not supported", remedy=f"{', '.join(options.MODES)} are"
            )
        formats = (*table_options.BASE_FILE_FORMATS, *table_options.READ_ONLY_FORMATS)
        words = {"strategy": options.STRATEGIES, "base_file_format": (None, *formats)}
        for name, allowed in words.items():
            if getattr(self, name) not in allowed:
                supported = ", ".join(filter(None, allowed))
                raise InvalidOptionError(f"{_key(name)}={getattr(self, name)} is not one of {supported}")

    def _check_buckets(self) -> None:
        if self.bucket_spec is not None:
            parse_bucket_spec(self.bucket_spec)
        elif self.bucket_sync:
            raise InvalidOptionError(
                f"{_key('bucket_sync')}=true without {_key('bucket_spec')}",
                remedy="give CLUSTERED BY (columns) INTO n BUCKETS",
            )

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def from_options(
        cls, options: Mapping[str, object], *, storage_options: Mapping[str, Any] | None = None
    ) -> HiveSyncConfig:
        """Make the configuration from Hudi's options (``hoodie.datasource.hive_sync.*``, ``hoodie.meta.sync.*`` …).

        Hive's own ``hive.metastore.uris``, ``use.SSL``, ``truststore.path``, ``sasl.enabled`` and
        ``kerberos.principal`` (all behind ``hive.metastore.``) say where and how to reach the metastore.

        An option that real hive-sync ignores in the ``hms`` mode becomes a warning of the sync's report.

        Raises:
            InvalidOptionError: an option that is unknown or not supported, or a value that it does not take.
        """
        values, warnings = read_options(options)
        if "base_path" not in values:
            raise InvalidOptionError(f"{_key('base_path')} is missing", remedy="give the table's base path")
        return cls(**values, warnings=warnings, storage_options=storage_options)

    def resolve(self, table: TableConfig) -> SyncTarget:
        """Resolve the configuration: take what options leave open from the table's properties.

        Raises:
            InvalidOptionError: an unknown extractor.
        """
        fields = self.partition_fields
        if fields is None:
            unpartitioned = (self.partition_extractor or "").endswith(NON_PARTITIONED)
            fields = () if unpartitioned else table.partition_fields
        warnings = list(self.warnings)
        if tuple(fields) != table.partition_fields:
            own = ", ".join(table.partition_fields) or "none"
            option = ", ".join(fields) or "none"
            warnings.append(f"the options ask for the partition fields {option}; those of the table are {own}")
        hive_style = self.hive_style_partitioning
        if hive_style is None:
            hive_style = table.hive_style_partitioning
        extractor = self.partition_extractor or infer_extractor(fields, hive_style_partitioning=hive_style)
        file_format = self.base_file_format or table.base_file_format.upper()
        if file_format != table.base_file_format.upper():
            warnings.append(
                f"the options ask for {file_format}; the table's files are {table.base_file_format.upper()}"
            )
        if self.skip_ro_suffix and self.snapshot_with_table_name and self.strategy == "ALL" and table.is_merge_on_read:
            warnings.append(
                f"{_key('skip_ro_suffix')} gives the table's name to the read-optimized view: "
                "there is no second snapshot view of that name"
            )
        if self.bucket_spec is not None and not self.bucket_sync:
            warnings.append(f"{_key('bucket_spec')} is not used, since {_key('bucket_sync')} is not true")
        decode = self.decode_partition
        if decode is None:
            decode = table.url_encode_partitioning
        return SyncTarget(
            database=(self.database or table.database or "default"),
            table=(self.table or table.name),
            partition_fields=tuple(fields),
            extractor=extractor,
            decode_partition=decode,
            base_file_format=file_format,
            warnings=tuple(warnings),
        )


def read_options(options: Mapping[str, object]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Fields of a :class:`HiveSyncConfig` that options set, and warnings; see :func:`option_values`."""
    return option_values(HiveSyncConfig, options)


@dataclass(frozen=True, slots=True)
class SyncTarget:
    """The resolved parts of a configuration that depend on the table."""

    database: str
    table: str
    partition_fields: tuple[str, ...]
    extractor: str
    decode_partition: bool
    base_file_format: str
    warnings: tuple[str, ...]


def _key(name: str) -> str:
    return next(option.name for field_name, option in options_of(HiveSyncConfig) if field_name == name)
