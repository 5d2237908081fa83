# ruff: noqa: RUF009 - Option.field() makes a dataclass field
"""Settings of a write by subject; each group is one frozen value whose fields are options with Hudi's defaults.

Sizes are bytes, times are what the option says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hudi_hive.errors import InvalidOptionError
from hudi_hive.metrics import require_prometheus
from hudi_hive.options import (
    CurveBuildMethod,
    DuplicatePolicy,
    IndexType,
    LayoutStrategy,
    Operation,
    PartitionFilterMode,
    base_files,
    buckets,
    locks,
    metrics,
    read,
    services,
    table,
    write,
)
from hudi_hive.table.keys import BucketRules

__all__ = [
    "ArchiveSettings",
    "CleanSettings",
    "ClusteringSettings",
    "CompactionSettings",
    "ConcurrencySettings",
    "DuplicatePolicy",
    "FileSettings",
    "IndexSettings",
    "IndexType",
    "MetadataSettings",
    "MetricsSettings",
    "Operation",
    "RowSettings",
    "TtlSettings",
]


@dataclass(frozen=True, slots=True)
class RowSettings:
    """Which rows go in, and what happens to rows of one key."""

    operation: Operation = write.OPERATION.field()
    combine_before_insert: bool = write.COMBINE_BEFORE_INSERT.field()
    combine_before_upsert: bool = write.COMBINE_BEFORE_UPSERT.field()
    combine_before_delete: bool = write.COMBINE_BEFORE_DELETE.field()
    insert_drop_duplicates: bool = write.INSERT_DROP_DUPLICATES.field()
    duplicate_policy: DuplicatePolicy = write.DUPLICATE_POLICY.field()
    merge_allow_duplicates_on_inserts: bool = write.MERGE_ALLOW_DUPLICATES.field()
    partitions_to_delete: tuple[str, ...] = write.PARTITIONS_TO_DELETE.field()
    overwrite_mode: str = write.OVERWRITE_MODE.field()
    null_for_missing_columns: bool = write.NULL_FOR_MISSING_COLUMNS.field()
    reconcile_schema: bool = write.RECONCILE_SCHEMA.field()
    schema_on_read: bool | None = write.SCHEMA_ON_READ.field()
    alter_check_data: bool = table.ALTER_CHECK_DATA.field()
    commit_metadata_prefix: str = write.COMMIT_METADATA_PREFIX.field()
    record_mergers: tuple[str, ...] = table.RECORD_MERGERS.field()
    merger_classes: tuple[str, ...] = table.MERGER_CLASSES.field()

    @property
    def replaces_table(self) -> bool:
        """Whether the write replaces all rows of the table, not only those of the partitions that its rows name."""
        whole = self.operation is Operation.INSERT_OVERWRITE and self.overwrite_mode == "STATIC"
        return whole or self.operation is Operation.INSERT_OVERWRITE_TABLE


@dataclass(frozen=True, slots=True)
class FileSettings:
    """Sizes and contents of data files."""

    max_file_size: int = write.MAX_FILE_SIZE.field()
    small_file_limit: int = write.SMALL_FILE_LIMIT.field()
    small_file_candidates: int | None = write.SMALL_FILE_CANDIDATES.field()
    record_size_estimate: int = write.RECORD_SIZE_ESTIMATE.field()
    insert_split_size: int = write.INSERT_SPLIT_SIZE.field()
    insert_auto_split: bool = write.INSERT_AUTO_SPLIT.field()
    record_size_threshold: float = write.RECORD_SIZE_THRESHOLD.field()
    block_size: int = base_files.BLOCK_SIZE.field()
    page_size: int = base_files.PAGE_SIZE.field()
    dictionary: bool = base_files.DICTIONARY.field()
    compression: str = base_files.COMPRESSION.field()
    orc_max_file_size: int = base_files.ORC_MAX_FILE_SIZE.field()
    orc_stripe_size: int = base_files.ORC_STRIPE_SIZE.field()
    orc_compression: str = base_files.ORC_COMPRESSION.field()
    hfile_max_file_size: int = base_files.HFILE_MAX_FILE_SIZE.field()
    hfile_compression: str = base_files.HFILE_COMPRESSION.field()
    bloom_enabled: bool = write.BLOOM_ENABLED.field()
    log_block_size: int = write.LOG_BLOCK_SIZE.field()
    log_block_format: str | None = write.LOG_BLOCK_FORMAT.field()
    record_positions: bool = write.RECORD_POSITIONS.field()
    bulk_insert_sort: str = write.BULK_INSERT_SORT.field()
    bulk_insert_sort_columns: tuple[str, ...] = write.BULK_INSERT_SORT_COLUMNS.field()

    def for_format(self, base_file_format: str) -> FileSettings:
        """The settings of a table's files: they keep to the limit of their format beside that of Parquet, as Hudi's.

        Args:
            base_file_format: ``PARQUET``, ``ORC`` or ``HFILE``.
        """
        limits = {"ORC": self.orc_max_file_size, "HFILE": self.hfile_max_file_size}
        return replace(self, max_file_size=min(self.max_file_size, limits.get(base_file_format, self.max_file_size)))


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How rows find their file groups, and the bloom filters of base files."""

    kind: IndexType = write.INDEX_TYPE.field()
    bloom_entries: int = write.BLOOM_ENTRIES.field()
    bloom_fpp: float = write.BLOOM_FPP.field()
    bloom_kind: str = write.BLOOM_FILTER_TYPE.field()
    bloom_max_entries: int = write.BLOOM_MAX_ENTRIES.field()
    bloom_prune_by_ranges: bool = write.BLOOM_PRUNE_BY_RANGES.field()
    bloom_use_metadata: bool = write.BLOOM_USE_METADATA.field()
    bloom_update_partition: bool = write.BLOOM_UPDATE_PARTITION.field()
    simple_update_partition: bool = write.SIMPLE_UPDATE_PARTITION.field()
    record_index_update_partition: bool = write.RECORD_INDEX_UPDATE_PARTITION.field()
    bucket_engine: str = buckets.BUCKET_ENGINE.field()
    bucket_count: int = buckets.BUCKET_COUNT.field()
    bucket_limit: int | None = buckets.BUCKET_MAX.field()
    bucket_floor: int | None = buckets.BUCKET_MIN.field()
    split_threshold: float = buckets.BUCKET_SPLIT.field()
    merge_threshold: float = buckets.BUCKET_MERGE.field()
    bucket_fields: tuple[str, ...] = buckets.BUCKET_FIELDS.field()
    bucket_rules: str | None = buckets.BUCKET_RULES.field()

    @property
    def rules(self) -> BucketRules | None:
        """Buckets by partition; None if all have as many.

        Raises:
            ValueError: see :meth:`BucketRules.parse`.
        """
        return None if self.bucket_rules is None else BucketRules.parse(self.bucket_rules, self.bucket_count)

    @property
    def hashes_consistently(self) -> bool:
        """Whether the index is that of buckets which clustering splits and merges."""
        return self.kind is IndexType.BUCKET and self.bucket_engine == buckets.CONSISTENT_HASHING

    @property
    def numbers_buckets(self) -> bool:
        """Whether ids of file groups begin with the numbers of buckets."""
        return self.kind is IndexType.BUCKET and not self.hashes_consistently

    @property
    def most_buckets(self) -> int:
        """How many buckets a partition may be split to, as many as it has at first in any case."""
        return max(self.bucket_limit or 0, self.bucket_count)

    @property
    def fewest_buckets(self) -> int:
        """How many buckets a partition may be merged to, as many as it has at first at most."""
        return min(self.bucket_floor or self.bucket_count, self.bucket_count)

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

    enable: bool = write.METADATA_ENABLE.field()
    column_stats: bool | None = write.COLUMN_STATS.field()
    column_stats_columns: tuple[str, ...] = write.COLUMN_STATS_COLUMNS.field()
    column_stats_max_columns: int = write.COLUMN_STATS_MAX_COLUMNS.field()
    partition_stats: bool | None = write.PARTITION_STATS.field()
    bloom_filters: bool = write.METADATA_BLOOM_FILTERS.field()
    bloom_filter_groups: int = write.METADATA_BLOOM_GROUPS.field()
    record_index: bool = write.RECORD_INDEX.field()
    record_index_min_groups: int = write.RECORD_INDEX_MIN_GROUPS.field()
    record_index_max_groups: int = write.RECORD_INDEX_MAX_GROUPS.field()
    record_level_index: bool = write.RECORD_LEVEL_INDEX.field()
    record_level_index_min_groups: int = write.RECORD_LEVEL_INDEX_MIN_GROUPS.field()
    record_level_index_max_groups: int = write.RECORD_LEVEL_INDEX_MAX_GROUPS.field()
    record_index_growth: float = write.RECORD_INDEX_GROWTH.field()
    record_index_max_group_size: int = write.RECORD_INDEX_MAX_GROUP_SIZE.field()
    compact_after: int = write.METADATA_COMPACT_AFTER.field()
    validate: bool | None = read.METADATA_VALIDATE.field()

    @property
    def keeps_keys(self) -> bool:
        """Whether the options say that a record index, of the whole table or of each partition, is to be there."""
        return self.record_index or self.record_level_index


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """The report of metadata tables' metrics."""

    on: bool = metrics.METRICS_ON.field()
    reporter: str | None = metrics.REPORTER_TYPE.field()
    of_metadata: bool = metrics.METADATA_METRICS.field()
    prometheus_port: int = metrics.PROMETHEUS_PORT.field()
    json_path: str = metrics.JSON_PATH.field()

    def check(self) -> None:
        """Refuse metrics that nobody can be given.

        Raises:
            InvalidOptionError: metrics are on without a reporter, or the JSON reporter without a local path.
            MissingDependencyError: prometheus-client is not installed.
        """
        if not self.on:
            return
        if self.reporter is None:
            raise InvalidOptionError(
                f"option {metrics.METRICS_ON}=true needs {metrics.REPORTER_TYPE}: Hudi's default, GRAPHITE, is not "
                "supported",
                remedy=f"one of {metrics.CONSOLE}, {metrics.JSON}, {metrics.PROMETHEUS}",
            )
        if self.reporter == metrics.JSON and (not self.json_path or "://" in self.json_path):
            raise InvalidOptionError(
                f"option {metrics.REPORTER_TYPE}={metrics.JSON} needs a local path in {metrics.JSON_PATH}",
                remedy=f"set {metrics.JSON_PATH} to the file that is to hold the metrics",
            )
        if self.reporter == metrics.PROMETHEUS:
            require_prometheus()


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """Compaction of merge-on-read slices."""

    inline: bool = services.COMPACT_INLINE.field()
    schedule_inline: bool = services.COMPACT_SCHEDULE_INLINE.field()
    after_commits: int = services.COMPACT_AFTER_COMMITS.field()
    after_seconds: int = services.COMPACT_AFTER_SECONDS.field()
    trigger: str = services.COMPACT_TRIGGER.field()
    strategy: str = services.COMPACTION_STRATEGY.field()
    target_io_mb: int = services.COMPACTION_TARGET_IO.field()
    log_size_threshold: int = services.COMPACTION_LOG_SIZE.field()
    log_count_threshold: int = services.COMPACTION_LOG_COUNT.field()
    log_inline: bool = services.LOG_COMPACT_INLINE.field()
    log_blocks_threshold: int = services.LOG_COMPACT_BLOCKS.field()


@dataclass(frozen=True, slots=True)
class CleanSettings:
    """Removal of old file versions, and of what dead writers left."""

    automatic: bool = services.CLEAN_AUTOMATIC.field()
    policy: str = services.CLEAN_POLICY.field()
    commits_retained: int = services.CLEAN_COMMITS.field()
    hours_retained: int = services.CLEAN_HOURS.field()
    versions_retained: int = services.CLEAN_VERSIONS.field()
    trigger_commits: int = services.CLEAN_TRIGGER_COMMITS.field()
    failed_writes: str = services.FAILED_WRITES_POLICY.field()


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """Archival of old instants."""

    automatic: bool = services.ARCHIVE_AUTOMATIC.field()
    min_commits: int = services.KEEP_MIN_COMMITS.field()
    max_commits: int = services.KEEP_MAX_COMMITS.field()
    beyond_savepoint: bool = services.ARCHIVE_BEYOND_SAVEPOINT.field()


@dataclass(frozen=True, slots=True)
class ClusteringSettings:
    """Rewriting of small or unsorted file groups."""

    inline: bool = services.CLUSTERING_INLINE.field()
    schedule_inline: bool = services.CLUSTERING_SCHEDULE_INLINE.field()
    after_commits: int = services.CLUSTERING_AFTER_COMMITS.field()
    sort_columns: tuple[str, ...] = services.CLUSTERING_SORT_COLUMNS.field()
    small_file_limit: int = services.CLUSTERING_SMALL_FILE_LIMIT.field()
    target_file_size: int = services.CLUSTERING_TARGET_SIZE.field()
    max_group_size: int = services.CLUSTERING_MAX_GROUP_SIZE.field()
    max_groups: int = services.CLUSTERING_MAX_GROUPS.field()
    single_groups: bool = services.CLUSTERING_SINGLE_GROUPS.field()
    incremental: bool = services.INCREMENTAL_SERVICES.field()
    partition_regex: str | None = services.CLUSTERING_PARTITION_REGEX.field()
    partitions: tuple[str, ...] = services.CLUSTERING_PARTITIONS.field()
    plan_class: str | None = services.CLUSTERING_PLAN_STRATEGY.field()
    execution_class: str | None = services.CLUSTERING_EXECUTION_STRATEGY.field()
    filter_mode: PartitionFilterMode = services.CLUSTERING_PARTITION_FILTER.field()
    lookback: int = services.CLUSTERING_LOOKBACK.field()
    skipped: int = services.CLUSTERING_SKIPPED.field()
    begin_partition: str | None = services.CLUSTERING_BEGIN_PARTITION.field()
    end_partition: str | None = services.CLUSTERING_END_PARTITION.field()
    layout: LayoutStrategy = services.LAYOUT_STRATEGY.field()
    build_method: CurveBuildMethod = services.CURVE_BUILD_METHOD.field()
    sample_size: int = services.CURVE_SAMPLE_SIZE.field()

    @property
    def execution(self) -> str:
        """Simple name of the execution strategy's class, which the plan names."""
        return (self.execution_class or services.SORT_AND_SIZE_EXECUTIONS[0]).rpartition(".")[2]

    @property
    def bucket_execution(self) -> str:
        """The same under consistent hashing."""
        return (self.execution_class or buckets.CONSISTENT_EXECUTIONS[0]).rpartition(".")[2]

    @property
    def keeps_files_apart(self) -> bool:
        """Whether each file group is an input group of its own, which is written as one."""
        return (self.plan_class or "").rpartition(".")[2] == services.SINGLE_FILE_PLAN

    @property
    def names_consistent(self) -> bool:
        """Whether a strategy of consistent hashing is named."""
        return buckets.CONSISTENT_PLAN in self._named or bool(self._named.intersection(buckets.CONSISTENT_EXECUTIONS))

    @property
    def names_others(self) -> bool:
        """Whether a strategy is named that is not one of consistent hashing."""
        return bool(self._named.difference([buckets.CONSISTENT_PLAN, *buckets.CONSISTENT_EXECUTIONS]))

    @property
    def _named(self) -> frozenset[str]:
        """Simple names of the classes that are given."""
        return frozenset(name.rpartition(".")[2] for name in (self.plan_class, self.execution_class) if name)

    @property
    def partition_filter(self) -> PartitionFilterMode:
        """The filter mode, which the class of a plan strategy stands for as well."""
        name = (self.plan_class or "").rpartition(".")[2]
        if name in services.RECENT_DAYS_PLANS:
            return PartitionFilterMode.RECENT_DAYS
        if name in services.SELECTED_PARTITIONS_PLANS:
            return PartitionFilterMode.SELECTED_PARTITIONS
        return self.filter_mode

    def check(self) -> None:
        """Refuse strategies that do not go together.

        Raises:
            InvalidOptionError: one file for each group of plans that join groups, selected partitions without the first
                and the last, a curve of clusterings behind writes without sort columns, or a pattern that is none.
        """
        if self.execution == services.SINGLE_FILE_EXECUTION and not self.keeps_files_apart:
            raise InvalidOptionError(
                f"{services.CLUSTERING_EXECUTION_STRATEGY}={self.execution_class} writes plans of one file for each "
                "group alone",
                remedy=f"set {services.CLUSTERING_PLAN_STRATEGY}={services.SINGLE_FILE_PLAN}",
            )
        begins = self.begin_partition is not None or self.end_partition is not None
        if self.partition_filter is PartitionFilterMode.SELECTED_PARTITIONS and not begins:
            raise InvalidOptionError(
                f"{services.CLUSTERING_PARTITION_FILTER}={self.partition_filter} has no partitions",
                remedy=f"give {services.CLUSTERING_BEGIN_PARTITION}, {services.CLUSTERING_END_PARTITION} or both",
            )
        if self.inline or self.schedule_inline:
            self.check_layout()
        try:
            re.compile(self.partition_regex or "")
        except re.error as error:
            raise InvalidOptionError(
                f"{services.CLUSTERING_PARTITION_REGEX}={self.partition_regex} is no regular expression: {error}",
                remedy="correct it, or leave the option out",
            ) from error

    def check_layout(self) -> None:
        """Refuse a curve through no columns.

        Raises:
            InvalidOptionError: a space-filling curve without sort columns.
        """
        if self.layout.is_curve and not self.sort_columns:
            raise InvalidOptionError(
                f"{services.LAYOUT_STRATEGY}={self.layout} orders rows by sort columns, and there are none",
                remedy=f"give {services.CLUSTERING_SORT_COLUMNS}",
            )


@dataclass(frozen=True, slots=True)
class TtlSettings:
    """Deletion of partitions that have become old."""

    inline: bool = services.TTL_INLINE.field()
    by_creation: bool = services.TTL_BY_CREATION.field()
    days: int = services.TTL_DAYS.field()
    partitions: tuple[str, ...] = services.TTL_PARTITIONS.field()
    most: int = services.TTL_MOST.field()

    def check(self) -> None:
        """Refuse a lifetime that is none.

        Raises:
            InvalidOptionError: no number of days above zero is given.
        """
        if self.days <= 0:
            raise InvalidOptionError(
                f"partitions expire after {services.TTL_DAYS} days, and it is {self.days}",
                remedy=f"set {services.TTL_DAYS} to the days for which partitions are kept",
            )


@dataclass(frozen=True, slots=True)
class ConcurrencySettings:
    """Several writers: modes, locks, heartbeats, markers."""

    mode: str = locks.CONCURRENCY_MODE.field()
    lock_provider: str | None = locks.LOCK_PROVIDER.field()
    heartbeat_ms: int = locks.HEARTBEAT_INTERVAL.field()
    heartbeat_misses: int = locks.HEARTBEAT_MISSES.field()
    conflict_retries: int = locks.CONFLICT_RETRIES.field()
    early_detection: bool = locks.EARLY_DETECTION.field()

    @property
    def is_multi_writer(self) -> bool:
        """Whether other writers may be at work on the table at the same time."""
        return self.mode != "SINGLE_WRITER"
