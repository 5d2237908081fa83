# ruff: noqa: RUF009 - option() makes a dataclass field
"""Settings of a write under Hudi's option names, by subject; each group is one frozen value with Hudi's defaults.

Sizes are bytes, times are what the option says. Options that several releases name differently have all their names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hudi_hive.write.options.option_fields import (
    decimal,
    flag,
    fraction,
    integer,
    items,
    member,
    option,
    optional_text,
    positive,
    text,
    whole,
    word,
)

_MB = 1024 * 1024


class Operation(StrEnum):
    """What a write does (``hoodie.datasource.write.operation``)."""

    BULK_INSERT = "bulk_insert"
    INSERT = "insert"
    UPSERT = "upsert"
    DELETE = "delete"
    INSERT_OVERWRITE = "insert_overwrite"
    INSERT_OVERWRITE_TABLE = "insert_overwrite_table"
    DELETE_PARTITION = "delete_partition"

    @property
    def commit_name(self) -> str:
        """Its name in commit metadata, ``operationType`` (docs/format.md#commit-metadata)."""
        return self.value.upper()

    @property
    def replaces(self) -> bool:
        """Whether it ends as a ``replacecommit``: file groups of before are replaced, not updated."""
        return self in (Operation.INSERT_OVERWRITE, Operation.INSERT_OVERWRITE_TABLE, Operation.DELETE_PARTITION)

    @property
    def is_insert(self) -> bool:
        """Whether its rows go in as new ones, with no look for rows of the same key in the table."""
        return self in (
            Operation.BULK_INSERT,
            Operation.INSERT,
            Operation.INSERT_OVERWRITE,
            Operation.INSERT_OVERWRITE_TABLE,
        )


class DuplicatePolicy(StrEnum):
    """What an insert does with rows whose keys the table has (``hoodie.datasource.insert.dup.policy``)."""

    NONE = "none"
    DROP = "drop"
    FAIL = "fail"


class IndexType(StrEnum):
    """How the file group of a key is found (``hoodie.index.type``)."""

    SIMPLE = "SIMPLE"
    GLOBAL_SIMPLE = "GLOBAL_SIMPLE"
    BLOOM = "BLOOM"
    GLOBAL_BLOOM = "GLOBAL_BLOOM"
    BUCKET = "BUCKET"
    RECORD_INDEX = "RECORD_INDEX"
    GLOBAL_RECORD_LEVEL_INDEX = "GLOBAL_RECORD_LEVEL_INDEX"

    @property
    def is_global(self) -> bool:
        """Whether a key is looked for in all partitions, not only in the one that its row names."""
        return self not in (IndexType.SIMPLE, IndexType.BLOOM, IndexType.BUCKET)


@dataclass(frozen=True, slots=True)
class RowSettings:
    """Which rows go in, and what happens to rows of one key."""

    operation: Operation = option("hoodie.datasource.write.operation", Operation.UPSERT, member(Operation))
    combine_before_insert: bool = option("hoodie.combine.before.insert", False, flag)
    combine_before_upsert: bool = option("hoodie.combine.before.upsert", True, flag)
    combine_before_delete: bool = option("hoodie.combine.before.delete", True, flag)
    insert_drop_duplicates: bool = option("hoodie.datasource.write.insert.drop.duplicates", False, flag)
    duplicate_policy: DuplicatePolicy = option(
        "hoodie.datasource.insert.dup.policy", DuplicatePolicy.NONE, member(DuplicatePolicy)
    )
    merge_allow_duplicates_on_inserts: bool = option("hoodie.merge.allow.duplicate.on.inserts", True, flag)
    partitions_to_delete: tuple[str, ...] = option("hoodie.datasource.write.partitions.to.delete", (), items)
    overwrite_mode: str = option("hoodie.datasource.overwrite.mode", "DYNAMIC", word("STATIC", "DYNAMIC"))
    null_for_missing_columns: bool = option("hoodie.write.set.null.for.missing.columns", True, flag)
    reconcile_schema: bool = option("hoodie.datasource.write.reconcile.schema", False, flag)
    schema_on_read: bool | None = option("hoodie.schema.on.read.enable", None, flag)
    commit_metadata_prefix: str = option("hoodie.datasource.write.commitmeta.key.prefix", "_", text)

    @property
    def replaces_table(self) -> bool:
        """Whether the write replaces all rows of the table, not only those of the partitions that its rows name."""
        whole = self.operation is Operation.INSERT_OVERWRITE and self.overwrite_mode == "STATIC"
        return whole or self.operation is Operation.INSERT_OVERWRITE_TABLE


@dataclass(frozen=True, slots=True)
class FileSettings:
    """Sizes and contents of data files."""

    max_file_size: int = option("hoodie.parquet.max.file.size", 120 * _MB, positive)
    small_file_limit: int = option("hoodie.parquet.small.file.limit", 100 * _MB, integer)
    record_size_estimate: int = option("hoodie.copyonwrite.record.size.estimate", 1024, positive)
    insert_split_size: int = option("hoodie.copyonwrite.insert.split.size", 500_000, positive)
    insert_auto_split: bool = option("hoodie.copyonwrite.insert.auto.split", True, flag)
    record_size_threshold: float = option("hoodie.record.size.estimation.threshold", 1.0, decimal)
    block_size: int = option("hoodie.parquet.block.size", 120 * _MB, positive)
    page_size: int = option("hoodie.parquet.page.size", _MB, positive)
    dictionary: bool = option("hoodie.parquet.dictionary.enabled", True, flag)
    compression: str = option(
        "hoodie.parquet.compression.codec", "gzip", word("gzip", "snappy", "zstd", "uncompressed", "lz4")
    )
    bloom_enabled: bool = option(
        "hoodie.parquet.bloom.filter.enabled", True, flag, "hoodie.parquet.writer.bloom.enabled"
    )
    log_block_size: int = option("hoodie.logfile.data.block.max.size", 256 * _MB, positive)
    log_block_format: str | None = option("hoodie.logfile.data.block.format", None, word("avro", "parquet"))
    bulk_insert_sort: str = option(
        "hoodie.bulkinsert.sort.mode",
        "NONE",
        word(
            "NONE", "GLOBAL_SORT", "PARTITION_SORT", "PARTITION_PATH_REPARTITION", "PARTITION_PATH_REPARTITION_AND_SORT"
        ),
    )
    bulk_insert_sort_columns: tuple[str, ...] = option(
        "hoodie.bulkinsert.user.defined.partitioner.sort.columns", (), items
    )


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How rows find their file groups, and the bloom filters of base files."""

    kind: IndexType = option("hoodie.index.type", IndexType.SIMPLE, member(IndexType))
    bloom_entries: int = option("hoodie.index.bloom.num_entries", 60_000, positive)
    bloom_fpp: float = option("hoodie.index.bloom.fpp", 1e-9, fraction)
    bloom_kind: str = option("hoodie.bloom.index.filter.type", "DYNAMIC_V0", word("DYNAMIC_V0", "SIMPLE"))
    bloom_max_entries: int = option("hoodie.bloom.index.filter.dynamic.max.entries", 100_000, positive)
    bloom_prune_by_ranges: bool = option("hoodie.bloom.index.prune.by.ranges", True, flag)
    bloom_use_metadata: bool = option("hoodie.bloom.index.use.metadata", False, flag)
    bloom_update_partition: bool = option("hoodie.bloom.index.update.partition.path", True, flag)
    simple_update_partition: bool = option("hoodie.simple.index.update.partition.path", True, flag)
    record_index_update_partition: bool = option("hoodie.record.index.update.partition.path", False, flag)
    bucket_engine: str = option("hoodie.index.bucket.engine", "SIMPLE", word("SIMPLE", "CONSISTENT_HASHING"))
    bucket_count: int = option("hoodie.bucket.index.num.buckets", 256, positive)
    bucket_fields: tuple[str, ...] = option("hoodie.bucket.index.hash.field", (), items)

    @property
    def updates_partition(self) -> bool:
        """Whether a row found in another partition moves to the one that it names now (global kinds only)."""
        if self.kind is IndexType.GLOBAL_BLOOM:
            return self.bloom_update_partition
        if self.kind is IndexType.GLOBAL_SIMPLE:
            return self.simple_update_partition
        return self.kind.is_global and self.record_index_update_partition


@dataclass(frozen=True, slots=True)
class MetadataSettings:
    """The metadata table."""

    enable: bool = option("hoodie.metadata.enable", True, flag)
    column_stats: bool | None = option("hoodie.metadata.index.column.stats.enable", None, flag)
    column_stats_columns: tuple[str, ...] = option("hoodie.metadata.index.column.stats.column.list", (), items)
    column_stats_max_columns: int = option("hoodie.metadata.index.column.stats.max.columns.to.index", 32, positive)
    partition_stats: bool | None = option("hoodie.metadata.index.partition.stats.enable", None, flag)
    bloom_filters: bool = option("hoodie.metadata.index.bloom.filter.enable", False, flag)
    bloom_filter_groups: int = option("hoodie.metadata.index.bloom.filter.file.group.count", 4, positive)
    record_index: bool = option(
        "hoodie.metadata.record.index.enable",
        False,
        flag,
        "hoodie.metadata.global.record.level.index.enable",
    )
    record_index_min_groups: int = option(
        "hoodie.metadata.record.index.min.filegroup.count",
        10,
        positive,
        "hoodie.metadata.global.record.level.index.min.filegroup.count",
    )
    record_index_max_groups: int = option(
        "hoodie.metadata.record.index.max.filegroup.count",
        10_000,
        positive,
        "hoodie.metadata.global.record.level.index.max.filegroup.count",
    )
    record_index_growth: float = option("hoodie.metadata.record.index.growth.factor", 2.0, decimal)
    record_index_max_group_size: int = option("hoodie.metadata.record.index.max.filegroup.size", 1024 * _MB, positive)
    compact_after: int = option("hoodie.metadata.compact.max.delta.commits", 10, positive)


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """Compaction of merge-on-read slices."""

    inline: bool = option("hoodie.compact.inline", False, flag)
    schedule_inline: bool = option("hoodie.compact.schedule.inline", False, flag)
    after_commits: int = option("hoodie.compact.inline.max.delta.commits", 5, positive)
    after_seconds: int = option("hoodie.compact.inline.max.delta.seconds", 3600, positive)
    trigger: str = option(
        "hoodie.compact.inline.trigger.strategy",
        "NUM_COMMITS",
        word("NUM_COMMITS", "NUM_COMMITS_AFTER_LAST_REQUEST", "TIME_ELAPSED", "NUM_AND_TIME", "NUM_OR_TIME"),
    )
    strategy: str = option(
        "hoodie.compaction.strategy",
        "org.apache.hudi.table.action.compact.strategy.LogFileSizeBasedCompactionStrategy",
        text,
    )
    target_io_mb: int = option("hoodie.compaction.target.io", 500 * 1024, positive)
    log_size_threshold: int = option("hoodie.compaction.logfile.size.threshold", 0, whole)
    log_count_threshold: int = option("hoodie.compaction.logfile.num.threshold", 0, whole)


@dataclass(frozen=True, slots=True)
class CleanSettings:
    """Removal of old file versions, and of what dead writers left."""

    automatic: bool = option("hoodie.clean.automatic", True, flag, "hoodie.clean.auto")
    policy: str = option(
        "hoodie.cleaner.policy",
        "KEEP_LATEST_COMMITS",
        word("KEEP_LATEST_COMMITS", "KEEP_LATEST_BY_HOURS", "KEEP_LATEST_FILE_VERSIONS"),
        "hoodie.clean.policy",
    )
    commits_retained: int = option("hoodie.cleaner.commits.retained", 10, positive, "hoodie.clean.commits.retained")
    hours_retained: int = option("hoodie.cleaner.hours.retained", 24, positive, "hoodie.clean.hours.retained")
    versions_retained: int = option(
        "hoodie.cleaner.fileversions.retained", 3, positive, "hoodie.clean.fileversions.retained"
    )
    trigger_commits: int = option("hoodie.clean.max.commits", 1, positive, "hoodie.clean.trigger.max.commits")
    failed_writes: str = option(
        "hoodie.cleaner.policy.failed.writes",
        "EAGER",
        word("EAGER", "LAZY", "NEVER"),
        "hoodie.clean.failed.writes.policy",
    )


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """Archival of old instants."""

    automatic: bool = option("hoodie.archive.automatic", True, flag)
    min_commits: int = option("hoodie.keep.min.commits", 20, positive)
    max_commits: int = option("hoodie.keep.max.commits", 30, positive)
    beyond_savepoint: bool = option("hoodie.archive.beyond.savepoint", False, flag)


@dataclass(frozen=True, slots=True)
class ClusteringSettings:
    """Rewriting of small or unsorted file groups."""

    inline: bool = option("hoodie.clustering.inline", False, flag, "hoodie.datasource.clustering.inline.enable")
    schedule_inline: bool = option("hoodie.clustering.schedule.inline", False, flag)
    after_commits: int = option("hoodie.clustering.inline.max.commits", 4, positive)
    sort_columns: tuple[str, ...] = option("hoodie.clustering.plan.strategy.sort.columns", (), items)
    small_file_limit: int = option("hoodie.clustering.plan.strategy.small.file.limit", 300 * _MB, positive)
    target_file_size: int = option("hoodie.clustering.plan.strategy.target.file.max.bytes", 1024 * _MB, positive)
    max_group_size: int = option("hoodie.clustering.plan.strategy.max.bytes.per.group", 2048 * _MB, positive)
    max_groups: int = option("hoodie.clustering.plan.strategy.max.num.groups", 30, positive)
    plan_strategy: str | None = option("hoodie.clustering.plan.strategy.class", None, optional_text)
    execution_strategy: str | None = option("hoodie.clustering.execution.strategy.class", None, optional_text)
    partition_regex: str | None = option("hoodie.clustering.plan.strategy.partition.regex.pattern", None, optional_text)
    partitions: tuple[str, ...] = option("hoodie.clustering.plan.strategy.partition.selected", (), items)


@dataclass(frozen=True, slots=True)
class ConcurrencySettings:
    """Several writers: modes, locks, heartbeats, markers."""

    mode: str = option(
        "hoodie.write.concurrency.mode",
        "SINGLE_WRITER",
        word("SINGLE_WRITER", "OPTIMISTIC_CONCURRENCY_CONTROL", "NON_BLOCKING_CONCURRENCY_CONTROL"),
    )
    lock_provider: str | None = option("hoodie.write.lock.provider", None, optional_text)
    lock_path: str | None = option("hoodie.write.lock.filesystem.path", None, optional_text)
    lock_expire_minutes: int = option("hoodie.write.lock.filesystem.expire", 0, whole)
    lock_client_retries: int = option("hoodie.write.lock.client.num_retries", 50, whole)
    lock_client_retry_ms: int = option("hoodie.write.lock.client.wait_time_ms_between_retry", 5000, positive)
    lock_database: str | None = option("hoodie.write.lock.hivemetastore.database", None, optional_text)
    lock_table: str | None = option("hoodie.write.lock.hivemetastore.table", None, optional_text)
    lock_uris: tuple[str, ...] = option("hoodie.write.lock.hivemetastore.uris", (), items)
    heartbeat_ms: int = option("hoodie.client.heartbeat.interval_in_ms", 60_000, positive)
    heartbeat_misses: int = option("hoodie.client.heartbeat.tolerable.misses", 2, whole)

    @property
    def is_multi_writer(self) -> bool:
        """Whether other writers may be at work on the table at the same time."""
        return self.mode != "SINGLE_WRITER"
