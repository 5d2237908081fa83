"""Options of the table services: compaction, clean, archival, clustering."""

from __future__ import annotations

from typing import Final

from hudi_hive.options.buckets import CONSISTENT_EXECUTIONS, CONSISTENT_PLAN
from hudi_hive.options.declaration import Face, Option
from hudi_hive.options.kinds import CurveBuildMethod, LayoutStrategy, PartitionFilterMode
from hudi_hive.options.parsers import (
    any_text,
    boolean,
    choice,
    integer,
    items,
    java_class,
    mapped,
    member,
    optional,
    positive,
    whole,
)
from hudi_hive.options.write import MB

WRITE = Face.WRITE

# -- compaction --------------------------------------------------------------------------------------------------------

COMPACT_INLINE: Final = Option(
    "hoodie.compact.inline", boolean, False, "Compact behind a commit when it is due.", honoured_by=(WRITE,)
)
COMPACT_SCHEDULE_INLINE: Final = Option(
    "hoodie.compact.schedule.inline",
    boolean,
    False,
    "Plan a compaction behind a commit when it is due, and leave it to others.",
    honoured_by=(WRITE,),
)
COMPACT_AFTER_COMMITS: Final = Option(
    "hoodie.compact.inline.max.delta.commits",
    positive,
    5,
    "Delta commits after which a compaction is due.",
    honoured_by=(WRITE,),
)
COMPACT_AFTER_SECONDS: Final = Option(
    "hoodie.compact.inline.max.delta.seconds",
    positive,
    3600,
    "Seconds after which a compaction is due.",
    honoured_by=(WRITE,),
)
COMPACT_TRIGGER: Final = Option(
    "hoodie.compact.inline.trigger.strategy",
    choice("NUM_COMMITS", "NUM_COMMITS_AFTER_LAST_REQUEST", "TIME_ELAPSED", "NUM_AND_TIME", "NUM_OR_TIME"),
    "NUM_COMMITS",
    "By what it is measured whether a compaction is due.",
    honoured_by=(WRITE,),
)
COMPACTION_STRATEGY: Final = Option(
    "hoodie.compaction.strategy",
    java_class(
        "LogFileSizeBasedCompactionStrategy",
        "LogFileNumBasedCompactionStrategy",
        "BoundedIOCompactionStrategy",
        "UnBoundedCompactionStrategy",
        others="leave the option out for the file groups with most log bytes first",
    ),
    "org.apache.hudi.table.action.compact.strategy.LogFileSizeBasedCompactionStrategy",
    "Which file groups a compaction takes: those with most log bytes, or most log files, up to a bound, or all.",
    honoured_by=(WRITE,),
)
COMPACTION_TARGET_IO: Final = Option(
    "hoodie.compaction.target.io",
    positive,
    500 * 1024,
    "Megabytes that a compaction reads and writes at most, one file group at least.",
    honoured_by=(WRITE,),
)
COMPACTION_LOG_SIZE: Final = Option(
    "hoodie.compaction.logfile.size.threshold",
    whole,
    0,
    "Bytes of log files that a file group needs to be compacted.",
    honoured_by=(WRITE,),
)
COMPACTION_LOG_COUNT: Final = Option(
    "hoodie.compaction.logfile.num.threshold",
    whole,
    0,
    "Number of log files that a file group needs to be compacted.",
    honoured_by=(WRITE,),
)

LOG_COMPACT_INLINE: Final = Option(
    "hoodie.log.compaction.inline", boolean, False, "Merge log blocks of slices behind a commit.", honoured_by=(WRITE,)
)
LOG_COMPACT_BLOCKS: Final = Option(
    "hoodie.log.compaction.blocks.threshold", positive, 5, "Log blocks at which a slice is due.", honoured_by=(WRITE,)
)

# -- clean -------------------------------------------------------------------------------------------------------------

CLEAN_AUTOMATIC: Final = Option(
    "hoodie.clean.automatic",
    boolean,
    True,
    "Delete old file slices behind commits.",
    honoured_by=(WRITE,),
    aliases=("hoodie.clean.auto",),
)
CLEAN_POLICY: Final = Option(
    "hoodie.cleaner.policy",
    choice("KEEP_LATEST_COMMITS", "KEEP_LATEST_BY_HOURS", "KEEP_LATEST_FILE_VERSIONS"),
    "KEEP_LATEST_COMMITS",
    "What a clean keeps.",
    honoured_by=(WRITE,),
    aliases=("hoodie.clean.policy",),
)
CLEAN_COMMITS: Final = Option(
    "hoodie.cleaner.commits.retained",
    positive,
    10,
    "Commits whose file slices are kept.",
    honoured_by=(WRITE,),
    aliases=("hoodie.clean.commits.retained",),
)
CLEAN_HOURS: Final = Option(
    "hoodie.cleaner.hours.retained",
    positive,
    24,
    "Hours for which file slices are kept.",
    honoured_by=(WRITE,),
    aliases=("hoodie.clean.hours.retained",),
)
CLEAN_INCREMENTAL: Final = Option(
    "hoodie.cleaner.incremental.mode",
    boolean,
    True,
    "Look for old file slices only in partitions written since the last clean.",
    honoured_by=(WRITE,),
    aliases=("hoodie.clean.incremental.enabled",),
)
CLEAN_VERSIONS: Final = Option(
    "hoodie.cleaner.fileversions.retained",
    positive,
    3,
    "Newest slices of a file group that are kept.",
    honoured_by=(WRITE,),
    aliases=("hoodie.clean.fileversions.retained",),
)
CLEAN_TRIGGER_COMMITS: Final = Option(
    "hoodie.clean.max.commits",
    positive,
    1,
    "Commits after which a clean is due.",
    honoured_by=(WRITE,),
    aliases=("hoodie.clean.trigger.max.commits",),
)
FAILED_WRITES_POLICY: Final = Option(
    "hoodie.cleaner.policy.failed.writes",
    choice("EAGER", "LAZY", "NEVER"),
    "EAGER",
    "When writes of dead writers are rolled back: by the next write, by the clean, or by hand.",
    honoured_by=(WRITE,),
    aliases=("hoodie.clean.failed.writes.policy",),
)

# -- archival ----------------------------------------------------------------------------------------------------------

ARCHIVE_AUTOMATIC: Final = Option(
    "hoodie.archive.automatic", boolean, True, "Move old instants to the archive behind commits.", honoured_by=(WRITE,)
)
KEEP_MIN_COMMITS: Final = Option(
    "hoodie.keep.min.commits", positive, 20, "Instants that an archival leaves active.", honoured_by=(WRITE,)
)
KEEP_MAX_COMMITS: Final = Option(
    "hoodie.keep.max.commits", positive, 30, "Active instants beyond which an archival is due.", honoured_by=(WRITE,)
)
ARCHIVE_BEYOND_SAVEPOINT: Final = Option(
    "hoodie.archive.beyond.savepoint",
    boolean,
    False,
    "Archive past savepoints, whose own instants stay.",
    honoured_by=(WRITE,),
)

# -- clustering --------------------------------------------------------------------------------------------------------

CLUSTERING_INLINE: Final = Option(
    "hoodie.clustering.inline",
    boolean,
    False,
    "Cluster behind a commit when it is due.",
    honoured_by=(WRITE,),
    aliases=("hoodie.datasource.clustering.inline.enable",),
)
CLUSTERING_SCHEDULE_INLINE: Final = Option(
    "hoodie.clustering.schedule.inline",
    boolean,
    False,
    "Plan a clustering behind a commit when it is due, and leave it to others.",
    honoured_by=(WRITE,),
)
CLUSTERING_AFTER_COMMITS: Final = Option(
    "hoodie.clustering.inline.max.commits",
    positive,
    4,
    "Commits after which a clustering is due.",
    honoured_by=(WRITE,),
)
CLUSTERING_SORT_COLUMNS: Final = Option[tuple[str, ...]](
    "hoodie.clustering.plan.strategy.sort.columns",
    items,
    (),
    "Columns by which clustered rows are sorted.",
    honoured_by=(WRITE,),
)
CLUSTERING_SMALL_FILE_LIMIT: Final = Option(
    "hoodie.clustering.plan.strategy.small.file.limit",
    positive,
    300 * MB,
    "Base files below so many bytes are clustered.",
    honoured_by=(WRITE,),
)
CLUSTERING_TARGET_SIZE: Final = Option(
    "hoodie.clustering.plan.strategy.target.file.max.bytes",
    positive,
    1024 * MB,
    "Bytes of the files that clustering makes.",
    honoured_by=(WRITE,),
)
CLUSTERING_MAX_GROUP_SIZE: Final = Option(
    "hoodie.clustering.plan.strategy.max.bytes.per.group",
    positive,
    2048 * MB,
    "Bytes that are joined in one group of a plan.",
    honoured_by=(WRITE,),
)
CLUSTERING_MAX_GROUPS: Final = Option(
    "hoodie.clustering.plan.strategy.max.num.groups", positive, 30, "Groups of a plan.", honoured_by=(WRITE,)
)
CLUSTERING_SINGLE_GROUPS: Final = Option(
    "hoodie.clustering.plan.strategy.single.group.clustering.enabled",
    boolean,
    False,
    "Cluster file groups that are alone in their partition too; they are always where rows are sorted. "
    "`CALL run_clustering` has it on.",
    honoured_by=(WRITE,),
)
INCREMENTAL_SERVICES: Final = Option(
    "hoodie.table.services.incremental.enabled",
    boolean,
    False,
    "Leave partitions alone in which nothing was written since they were clustered. `CALL run_clustering` has it on.",
    honoured_by=(WRITE,),
)
SIZE_BASED_PLANS: Final = (
    "SparkSizeBasedClusteringPlanStrategy",
    "JavaSizeBasedClusteringPlanStrategy",
    "FlinkSizeBasedClusteringPlanStrategy",
)
RECENT_DAYS_PLANS: Final = (
    "SparkRecentDaysClusteringPlanStrategy",
    "JavaRecentDaysClusteringPlanStrategy",
    "FlinkRecentDaysClusteringPlanStrategy",
)
SELECTED_PARTITIONS_PLANS: Final = (
    "SparkSelectedPartitionsClusteringPlanStrategy",
    "FlinkSelectedPartitionsClusteringPlanStrategy",
)
SINGLE_FILE_PLAN: Final = "SparkSingleFileSortPlanStrategy"
CLUSTERING_PLAN_STRATEGY: Final = Option(
    "hoodie.clustering.plan.strategy.class",
    optional(
        java_class(
            *SIZE_BASED_PLANS,
            *RECENT_DAYS_PLANS,
            *SELECTED_PARTITIONS_PLANS,
            SINGLE_FILE_PLAN,
            CONSISTENT_PLAN,
            others="leave the option out; hoodie.clustering.plan.partition.filter.mode chooses partitions",
        )
    ),
    None,
    "How file groups are chosen: small ones, by size; those of recent or of selected partitions set the filter mode, "
    "as in Hudi; `SparkSingleFileSortPlanStrategy` makes each file group an input group of its own, written as one. "
    "Under consistent hashing `SparkConsistentBucketClusteringPlanStrategy` alone, the default there.",
    honoured_by=(WRITE,),
)
SORT_AND_SIZE_EXECUTIONS: Final = ("SparkSortAndSizeExecutionStrategy", "JavaSortAndSizeExecutionStrategy")
SINGLE_FILE_EXECUTION: Final = "SparkSingleFileSortExecutionStrategy"
CLUSTERING_EXECUTION_STRATEGY: Final = Option(
    "hoodie.clustering.execution.strategy.class",
    optional(
        java_class(
            *SORT_AND_SIZE_EXECUTIONS,
            SINGLE_FILE_EXECUTION,
            *CONSISTENT_EXECUTIONS,
            others="leave the option out for rows sorted and cut by size",
        )
    ),
    None,
    "How chosen groups are written, which their plan names: sorted and cut by size, or with "
    "`SparkSingleFileSortExecutionStrategy` one for each, as `SparkSingleFileSortPlanStrategy` plans; or by bucket.",
    honoured_by=(WRITE,),
)
CLUSTERING_PARTITION_FILTER: Final = Option(
    "hoodie.clustering.plan.partition.filter.mode",
    member(PartitionFilterMode),
    PartitionFilterMode.NONE,
    "Which partitions are clustered: all; the last ones by name (`RECENT_DAYS`); those from one to another by name "
    "(`SELECTED_PARTITIONS`); each 24th by name, by the hour of the day (`DAY_ROLLING`).",
    honoured_by=(WRITE,),
)
CLUSTERING_LOOKBACK: Final = Option(
    "hoodie.clustering.plan.strategy.daybased.lookback.partitions",
    integer,
    2,
    "`RECENT_DAYS`: how many partitions; all for 0 or less.",
    honoured_by=(WRITE,),
)
CLUSTERING_SKIPPED: Final = Option(
    "hoodie.clustering.plan.strategy.daybased.skipfromlatest.partitions",
    integer,
    0,
    "`RECENT_DAYS`: how many of the last partitions are left alone.",
    honoured_by=(WRITE,),
)
CLUSTERING_BEGIN_PARTITION: Final = Option(
    "hoodie.clustering.plan.strategy.cluster.begin.partition",
    optional(any_text),
    None,
    "`SELECTED_PARTITIONS`: the first partition, by name.",
    honoured_by=(WRITE,),
)
CLUSTERING_END_PARTITION: Final = Option(
    "hoodie.clustering.plan.strategy.cluster.end.partition",
    optional(any_text),
    None,
    "`SELECTED_PARTITIONS`: the last partition, by name.",
    honoured_by=(WRITE,),
)
LAYOUT_STRATEGY: Final = Option(
    "hoodie.layout.optimize.strategy",
    mapped({**{one.value: one for one in LayoutStrategy}, "zorder": LayoutStrategy.ZORDER}),
    LayoutStrategy.LINEAR,
    "How clustered rows are ordered by the sort columns: by one after the other, or along a space-filling curve, by "
    "which files hold narrow ranges of each of them. A plan keeps it for its run.",
    honoured_by=(WRITE,),
)
CURVE_BUILD_METHOD: Final = Option(
    "hoodie.layout.optimize.curve.build.method",
    member(CurveBuildMethod),
    CurveBuildMethod.DIRECT,
    "What places values on the curve: their bits, or how many values of a sample lie below, which spreads values "
    "evenly that are not.",
    honoured_by=(WRITE,),
)
CURVE_SAMPLE_SIZE: Final = Option(
    "hoodie.layout.optimize.build.curve.sample.size",
    positive,
    200_000,
    "Rows of an input group that are sampled with the method `SAMPLE`.",
    honoured_by=(WRITE,),
)
CLUSTERING_PARTITION_REGEX: Final = Option(
    "hoodie.clustering.plan.strategy.partition.regex.pattern",
    optional(any_text),
    None,
    "Only partitions whose path matches are clustered.",
    honoured_by=(WRITE,),
)
CLUSTERING_PARTITIONS: Final = Option[tuple[str, ...]](
    "hoodie.clustering.plan.strategy.partition.selected",
    items,
    (),
    "Only these partitions are clustered.",
    honoured_by=(WRITE,),
)

# -- lifetime of partitions --------------------------------------------------------------------------------------------

TTL_INLINE: Final = Option(
    "hoodie.partition.ttl.inline", boolean, False, "Delete expired partitions behind commits.", honoured_by=(WRITE,)
)
_TTL_CLASS: Final = "org.apache.hudi.table.action.ttl.strategy."
TTL_BY_CREATION: Final = Option(
    "hoodie.partition.ttl.management.strategy.type",
    mapped(
        {"KEEP_BY_TIME": False, "KEEP_BY_CREATION_TIME": True}
        | {_TTL_CLASS + "KeepByTimeStrategy": False, _TTL_CLASS + "KeepByCreationTimeStrategy": True}
    ),
    False,
    "Whether the age of a partition is that of its newest commit, or that of its creation.",
    honoured_by=(WRITE,),
    aliases=("hoodie.partition.ttl.strategy.class",),
)
TTL_DAYS: Final = Option(
    "hoodie.partition.ttl.strategy.days.retain",
    integer,
    -1,
    "Days after which a partition expires.",
    honoured_by=(WRITE,),
)
TTL_PARTITIONS: Final = Option[tuple[str, ...]](
    "hoodie.partition.ttl.strategy.partition.selected",
    items,
    (),
    "Only these partitions expire.",
    honoured_by=(WRITE,),
)
TTL_MOST: Final = Option(
    "hoodie.partition.ttl.strategy.max.delete.partitions",
    positive,
    1000,
    "Partitions deleted at once, the oldest.",
    honoured_by=(WRITE,),
)

_CLEANING: Final = (
    CLEAN_AUTOMATIC,
    CLEAN_POLICY,
    CLEAN_COMMITS,
    CLEAN_HOURS,
    CLEAN_VERSIONS,
    CLEAN_INCREMENTAL,
    CLEAN_TRIGGER_COMMITS,
)
_ARCHIVAL: Final = (ARCHIVE_AUTOMATIC, KEEP_MIN_COMMITS, KEEP_MAX_COMMITS, ARCHIVE_BEYOND_SAVEPOINT)
_LIFETIMES: Final = (TTL_INLINE, TTL_BY_CREATION, TTL_DAYS, TTL_PARTITIONS, TTL_MOST)
_LAYOUTS: Final = (LAYOUT_STRATEGY, CURVE_BUILD_METHOD, CURVE_SAMPLE_SIZE)
SERVICE_OPTIONS: Final = (
    COMPACT_INLINE,
    COMPACT_SCHEDULE_INLINE,
    COMPACT_AFTER_COMMITS,
    COMPACT_AFTER_SECONDS,
    COMPACT_TRIGGER,
    COMPACTION_STRATEGY,
    COMPACTION_TARGET_IO,
    COMPACTION_LOG_SIZE,
    COMPACTION_LOG_COUNT,
    LOG_COMPACT_INLINE,
    LOG_COMPACT_BLOCKS,
    *_CLEANING,
    FAILED_WRITES_POLICY,
    *_ARCHIVAL,
    CLUSTERING_INLINE,
    CLUSTERING_SCHEDULE_INLINE,
    CLUSTERING_AFTER_COMMITS,
    CLUSTERING_SORT_COLUMNS,
    CLUSTERING_SMALL_FILE_LIMIT,
    CLUSTERING_TARGET_SIZE,
    CLUSTERING_MAX_GROUP_SIZE,
    CLUSTERING_MAX_GROUPS,
    CLUSTERING_SINGLE_GROUPS,
    INCREMENTAL_SERVICES,
    CLUSTERING_PLAN_STRATEGY,
    CLUSTERING_EXECUTION_STRATEGY,
    CLUSTERING_PARTITION_REGEX,
    CLUSTERING_PARTITIONS,
    *_LIFETIMES,
    CLUSTERING_PARTITION_FILTER,
    CLUSTERING_LOOKBACK,
    CLUSTERING_SKIPPED,
    CLUSTERING_BEGIN_PARTITION,
    CLUSTERING_END_PARTITION,
    *_LAYOUTS,
)
