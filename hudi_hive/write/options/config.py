"""``WriteConfig``: Hudi's write options as a typed, immutable value; others are refused by name.

Options of the table itself (key fields, type, merge mode) must agree with ``hoodie.properties`` of a table that is
there; of one that is not they say how it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.names import HOODIE_RECORD_MERGE_PROPERTY_PREFIX
from hudi_hive.options import (
    Face,
    Option,
    OptionSet,
    as_texts,
    buckets,
    fill,
    locks,
    metastore,
    services,
    storage,
    sync,
    write,
)
from hudi_hive.options import table as table_options
from hudi_hive.secret_references import SecretOptions
from hudi_hive.table import DEFAULT_TABLE_VERSION, TableConfig, TableDefinition
from hudi_hive.table.merge import MergeSpec, register_mergers
from hudi_hive.table.properties import refuse_to_write
from hudi_hive.write.options.merger_classes import strategies_of
from hudi_hive.write.options.settings import (
    ArchiveSettings,
    CleanSettings,
    ClusteringSettings,
    CompactionSettings,
    ConcurrencySettings,
    DuplicatePolicy,
    FileSettings,
    IndexSettings,
    IndexType,
    MetadataSettings,
    MetricsSettings,
    Operation,
    RowSettings,
    TtlSettings,
)
from hudi_hive.write.options.table_settings import TableSettings
from hudi_hive.write.options.validators import ValidatorSettings

__all__ = ["WRITE_OPTIONS", "Operation", "WriteConfig"]

WRITE_OPTIONS: Final = OptionSet("write", Face.WRITE, Face.LOCK, Face.SYNC)
"""What a write accepts: its own options, those of its locks, and those of the sync behind it."""


@dataclass(frozen=True, slots=True)
class WriteConfig:
    """The configuration of a write, and of its table if that does not exist yet.

    Attributes:
        rows: operation, duplicates, schema changes.
        table: name, type, version, keys, partitioning, ordering, merge mode, change data capture.
        files: sizes, compression, log blocks, order of bulk inserts.
        index: kind of index, bloom filters.
        metadata, compaction, clean, archive, clustering, concurrency, ttl: the services and the locks.
        validators: what checks a write before its commit.
        metrics: whether metrics are reported, and to whom.
        sync_options: options of hive-sync as they were given; the sync checks them.
        commit_metadata: options that go into the commit: those that begin with the prefix for it.
        options: all options as texts, each under all of its names, and what follows from them for dead writers.
    """

    rows: RowSettings
    table: TableSettings
    files: FileSettings
    index: IndexSettings
    metadata: MetadataSettings
    compaction: CompactionSettings
    clean: CleanSettings
    archive: ArchiveSettings
    clustering: ClusteringSettings
    concurrency: ConcurrencySettings
    ttl: TtlSettings = field(default_factory=TtlSettings)
    validators: ValidatorSettings = field(default_factory=ValidatorSettings)
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    sync_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    commit_metadata: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def operation(self) -> Operation:
        """The operation of the write."""
        return self.rows.operation

    @property
    def sync_enabled(self) -> bool:
        """Whether the table is synced to the metastore after the write."""
        return sync.ENABLE.of(self.sync_options) or sync.META_SYNC_ENABLE.of(self.sync_options)

    @property
    def combines(self) -> bool:
        """Whether incoming rows of one key become one before they are written."""
        if self.operation is Operation.UPSERT:
            return self.rows.combine_before_upsert
        if self.operation is Operation.DELETE:
            return self.rows.combine_before_delete
        return self.operation.is_insert and self.rows.combine_before_insert

    @property
    def duplicate_policy(self) -> DuplicatePolicy:
        """What an insert does with rows whose keys the table has already."""
        return DuplicatePolicy.DROP if self.rows.insert_drop_duplicates else self.rows.duplicate_policy

    @property
    def table_properties(self) -> dict[str, str]:
        """Further properties of a new table: of the timestamp key generator and of delete markers."""
        properties = {
            _merge_property(option.name): option.of(self.options)
            for option in table_options.MERGE_PROPERTIES
            if option.present_in(self.options)
        }
        if self.table.key_generator in ("TIMESTAMP", "CUSTOM"):
            formats = [option for option in table_options.TIME_FORMATS if option.present_in(self.options)]
            properties |= {option.name: option.of(self.options) for option in formats}
        if self.table.drop_partition_columns:
            properties[table_options.DROP_PARTITION_COLUMNS.name] = "true"
        return properties

    def table_definition(self) -> TableDefinition:
        """The definition of a new table, by the options.

        Raises:
            InvalidOptionError: the table has no name.
        """
        table = self.table
        if table.name is None:
            raise InvalidOptionError("a new table needs a name", remedy=f"give {table_options.NAME}")
        return TableDefinition(
            name=table.name,
            database=table.database,
            table_type=table.table_type,
            version=table.version or DEFAULT_TABLE_VERSION,
            record_keys=table.record_keys,
            partition_fields=table.partition_fields,
            ordering_fields=table.ordering_fields,
            key_generator=table.key_generator,
            hive_style_partitioning=table.hive_style_partitioning,
            url_encode_partitioning=table.url_encode_partitioning,
            cdc=table.cdc_logging_mode if table.cdc_enabled else False,
            populate_meta_fields=table.populate_meta_fields,
            merge_mode=table.merge_mode,
            payload_class=table.payload_class,
            merge_strategy_id=table.merge_strategy_id if table.merge_mode == "CUSTOM" else None,
            timezone=table.timezone,
            base_file_format=table.base_file_format,
            properties=self.table_properties,
        )

    def with_operation(self, operation: Operation | str) -> WriteConfig:
        """The same configuration for another operation."""
        return replace(self, rows=replace(self.rows, operation=Operation(operation)))

    @classmethod
    def of(cls, options: Mapping[str, Any], table: TableConfig | None = None) -> WriteConfig:
        """Typed configuration of options under Hudi's names.

        Args:
            options: names and values; values may be text, numbers or booleans.
            table: the table to be written; None for one that is still to be made.

        Raises:
            InvalidOptionError: an option is unknown, not supported, has a value that it does not take, or contradicts
                the table or another option.
            UnsupportedTableError: the table is of a version before 6.
        """
        if table is not None:
            refuse_to_write(table)
        texts = {name: text.strip() for name, text in as_texts(options).items()}
        rows = fill(RowSettings, texts)
        noted = _commit_metadata(texts, rows.commit_metadata_prefix)
        WRITE_OPTIONS.check({name: text for name, text in texts.items() if name not in noted or name in WRITE_OPTIONS})
        if table is not None:
            _check_merge(texts, table)
            _check_time_formats(texts, table)
        register_mergers(rows.record_mergers)
        if table is not None:
            _check_log_compaction(texts, table)
        made = TableSettings.of(texts, table, strategies_of(rows.merger_classes))
        if not made.record_keys and write.OPERATION.name not in texts:
            rows = replace(rows, operation=Operation.BULK_INSERT)  # as Hudi; rows with keys of before are upserted
        elif rows.insert_drop_duplicates and rows.operation is Operation.UPSERT:
            rows = replace(rows, operation=Operation.INSERT)  # as Hudi: nothing would be left to update
        concurrency = fill(ConcurrencySettings, texts)
        clean = _clean(texts, concurrency)
        config = cls(
            rows=rows,
            table=made,
            files=fill(FileSettings, texts).for_format(made.base_file_format),
            index=fill(IndexSettings, texts),
            metadata=fill(MetadataSettings, texts),
            compaction=fill(CompactionSettings, texts),
            clean=clean,
            archive=_archive(texts, clean),
            clustering=fill(ClusteringSettings, texts),
            concurrency=concurrency,
            ttl=fill(TtlSettings, texts),
            validators=fill(ValidatorSettings, texts),
            metrics=fill(MetricsSettings, texts),
            sync_options=_of_sync(texts),
            commit_metadata=noted,
            options=_under_all_names(texts, clean, concurrency),
        )
        _check(config)
        return config


def _commit_metadata(texts: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Texts that go into the commit: options of that prefix, which may be the beginning of declared ones too."""
    return {name: text for name, text in texts.items() if name.startswith(prefix)}


def _of_sync(texts: Mapping[str, str]) -> dict[str, str]:
    """Options of the sync behind the write; options of the table, which it may also take, are the write's own."""
    return SecretOptions({name: text for name, text in texts.items() if name in _SYNC_NAMES})


_OF_AWS: Final = tuple(option for option in storage.STORAGE_OPTIONS if Face.SYNC in option.faces)
_SYNC_OPTIONS: Final[tuple[Option[Any], ...]] = (
    *sync.SYNC_OPTIONS,
    *sync.GLUE_OPTIONS,
    *metastore.METASTORE_OPTIONS,
    *_OF_AWS,
)
_SYNC_NAMES: Final = frozenset(name for one in _SYNC_OPTIONS for name in one.names)


def _under_all_names(
    texts: Mapping[str, str], clean: CleanSettings, concurrency: ConcurrencySettings
) -> dict[str, str]:
    """The options for those who read them by one name, whichever they were given by."""
    options = SecretOptions(texts)
    for name, text in texts.items():
        option = WRITE_OPTIONS.get(name)
        if option is not None and name not in _SYNC_NAMES:
            options |= {other: options.get(other, text) for other in option.names}
    if concurrency.is_multi_writer:
        options |= dict.fromkeys(services.FAILED_WRITES_POLICY.names, clean.failed_writes)
    return options


def _merge_property(name: str) -> str:
    """The table property that holds an option of the merge: readers merge by what the table says."""
    return HOODIE_RECORD_MERGE_PROPERTY_PREFIX + name


def _check_merge(texts: Mapping[str, str], table: TableConfig) -> None:
    """Readers merge by the table's properties: options that say something else would be followed by nobody."""
    for option in table_options.MERGE_PROPERTIES:
        there = table.properties.get(_merge_property(option.name)) or table.properties.get(option.name) or ""
        for name in option.present_in(texts):
            if texts[name] != there.strip():
                raise InvalidOptionError(
                    f"option {name}={texts[name]} contradicts the table, which has {there.strip() or 'none'}",
                    remedy="leave the option out, or write another table",
                )


def _check_time_formats(texts: Mapping[str, str], table: TableConfig) -> None:
    """Partition paths are made as the table's properties say: options that say something else would not be followed."""
    for option in table_options.TIME_FORMATS:
        there = next((table.properties[name] for name in option.names if name in table.properties), None)
        for name in option.present_in(texts) if there is not None else []:
            if texts[name] != there:
                raise InvalidOptionError(
                    f"option {name}={texts[name]} contradicts the table, which has {there}",
                    remedy="leave the option out, or write another table",
                )


def _check_log_compaction(texts: Mapping[str, str], table: TableConfig) -> None:
    """Log blocks are merged without base files, which does not do where a record is made of several."""
    option = services.LOG_COMPACT_INLINE
    if option.of(texts) and table.is_merge_on_read and MergeSpec.from_config(table).makes_rows:
        raise InvalidOptionError(
            f"option {option}=true is not supported for a table with partial updates or a registered merger",
            remedy=f"compact the table by {services.COMPACT_INLINE}",
        )


def _clean(texts: Mapping[str, str], concurrency: ConcurrencySettings) -> CleanSettings:
    """Of several writers, none may roll back what it takes for a dead one's while that one is at work."""
    clean = fill(CleanSettings, texts)
    if concurrency.is_multi_writer and not services.FAILED_WRITES_POLICY.present_in(texts):
        return replace(clean, failed_writes="LAZY")
    return clean


def _archive(texts: Mapping[str, str], clean: CleanSettings) -> ArchiveSettings:
    """Unless they are texts, the bounds are lifted above the commits that the cleaner keeps."""
    archive = fill(ArchiveSettings, texts)
    lift = clean.commits_retained + 10 - archive.min_commits
    if lift <= 0 or clean.policy != "KEEP_LATEST_COMMITS" or any(one.present_in(texts) for one in _KEEP):
        return archive
    return replace(archive, min_commits=archive.min_commits + lift, max_commits=archive.max_commits + lift)


_KEEP: Final = (services.KEEP_MIN_COMMITS, services.KEEP_MAX_COMMITS)


def _check(config: WriteConfig) -> None:
    """What options may not say together."""
    config.metrics.check()
    if config.validators.queries() and config.ttl.inline:
        raise InvalidOptionError(
            f"{locks.VALIDATORS} does not check what {services.TTL_INLINE} deletes", remedy="leave one of them out"
        )
    config.clustering.check()
    if config.ttl.inline:
        config.ttl.check()
    if not 0 < config.index.bloom_fpp < 1:
        raise InvalidOptionError(f"{write.BLOOM_FPP}={config.index.bloom_fpp} must be above 0 and below 1")
    if config.archive.min_commits >= config.archive.max_commits:
        raise InvalidOptionError(
            f"{services.KEEP_MAX_COMMITS}={config.archive.max_commits} must be greater than "
            f"{services.KEEP_MIN_COMMITS}={config.archive.min_commits}"
        )
    if config.clean.policy == "KEEP_LATEST_COMMITS" and config.archive.min_commits <= config.clean.commits_retained:
        raise InvalidOptionError(
            f"{services.KEEP_MIN_COMMITS}={config.archive.min_commits} must be greater than "
            f"{services.CLEAN_COMMITS}={config.clean.commits_retained}",
            remedy=f"raise {services.KEEP_MIN_COMMITS}, or incremental queries would miss instants whose files are "
            "there",
        )
    if config.concurrency.is_multi_writer and config.clean.failed_writes == "EAGER":
        raise InvalidOptionError(
            f"{services.FAILED_WRITES_POLICY}=EAGER would roll back writers that are at work under "
            f"{locks.CONCURRENCY_MODE}={config.concurrency.mode}",
            remedy="set it to LAZY",
        )
    if config.concurrency.early_detection and config.concurrency.mode == "NON_BLOCKING_CONCURRENCY_CONTROL":
        raise InvalidOptionError(
            f"{locks.EARLY_DETECTION}=true contradicts {locks.CONCURRENCY_MODE}={config.concurrency.mode}, in which "
            "several writers append to one file group",
            remedy="leave one of them out",
        )
    if config.concurrency.is_multi_writer and not config.concurrency.lock_provider:
        raise InvalidOptionError(
            f"{locks.CONCURRENCY_MODE}={config.concurrency.mode} needs {locks.LOCK_PROVIDER}",
            remedy="name FileSystemBasedLockProvider, HiveMetastoreBasedLockProvider or, when all writers are threads "
            "of one process, InProcessLockProvider",
        )
    if config.index.kind is IndexType.BUCKET:
        _check_bucket_fields(config)
    _check_bucket_rules(config.index)
    _check_strategies(config)
    if not config.table.record_keys:
        _check_without_key(config)


def _check_bucket_fields(config: WriteConfig) -> None:
    """Records of one key must be in one bucket."""
    keys = config.table.record_keys
    others = [name for name in config.index.bucket_fields if name not in keys]
    if others or not keys:
        raise InvalidOptionError(
            f"{buckets.BUCKET_FIELDS}={','.join(others)} is no field of the record key",
            remedy=f"the record key is made of {', '.join(keys) or 'no fields'}",
        )


def _check_bucket_rules(index: IndexSettings) -> None:
    """Rules of buckets are understood, and for an index that has them."""
    if index.bucket_rules is None:
        return
    name = f"{buckets.BUCKET_RULES}={index.bucket_rules}"
    if not index.numbers_buckets:
        raise InvalidOptionError(
            f"{name} is for bucket indexes of a fixed number of buckets",
            remedy=f"leave it out, or set {write.INDEX_TYPE}=BUCKET and {buckets.BUCKET_ENGINE}=SIMPLE",
        )
    try:
        _ = index.rules
    except ValueError as error:
        raise InvalidOptionError(f"{name}: {error}", remedy="give EXPRESSION,BUCKETS;EXPRESSION,BUCKETS …") from error


def _check_strategies(config: WriteConfig) -> None:
    """Buckets of consistent hashing are clustered by the strategies that keep rows in them, and others by others."""
    index, clustering = config.index, config.clustering
    name = f"{buckets.BUCKET_ENGINE}={buckets.CONSISTENT_HASHING}"
    if not index.hashes_consistently:
        if clustering.names_consistent:
            raise InvalidOptionError(
                f"strategies of consistent hashing cluster with {name} alone",
                remedy=f"leave {services.CLUSTERING_PLAN_STRATEGY} and {services.CLUSTERING_EXECUTION_STRATEGY} out",
            )
        return
    if config.table.table_type != table_options.MERGE_ON_READ:
        raise InvalidOptionError(
            f"{name} does not work with {config.table.table_type} tables",
            remedy=f"write a table of the type {table_options.MERGE_ON_READ}, or set {buckets.BUCKET_ENGINE}=SIMPLE",
        )
    if clustering.names_others:
        raise InvalidOptionError(
            f"{name} has strategies of clustering of its own, which rows stay in their buckets by",
            remedy=f"leave {services.CLUSTERING_PLAN_STRATEGY} and {services.CLUSTERING_EXECUTION_STRATEGY} out",
        )
    if clustering.layout.is_curve:
        raise InvalidOptionError(
            f"{services.LAYOUT_STRATEGY}={clustering.layout} is not supported with {name}",
            remedy=f"leave it out; {services.CLUSTERING_SORT_COLUMNS} sorts the rows of each bucket",
        )


def _check_without_key(config: WriteConfig) -> None:
    """A table without key fields makes keys up, which are in the meta columns alone."""
    if not config.table.populate_meta_fields:
        raise InvalidOptionError(
            "a table without record key fields needs its meta columns: its keys are nowhere else",
            remedy=f"give {table_options.RECORD_KEY_FIELDS}, or leave {table_options.POPULATE_META_FIELDS} on",
        )
    if config.operation.is_insert and config.duplicate_policy is not DuplicatePolicy.NONE:
        raise InvalidOptionError("a table without record key fields has no duplicates to drop or to fail at")
