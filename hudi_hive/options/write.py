"""Options of a write: which rows go in, files, the index, the metadata table."""

from __future__ import annotations

from typing import Final

from hudi_hive.names import HOODIE_DATASOURCE_WRITE_OPERATION
from hudi_hive.options.base_files import FORMAT_OPTIONS
from hudi_hive.options.buckets import BUCKET_OPTIONS
from hudi_hive.options.declaration import Face, Option
from hudi_hive.options.kinds import DuplicatePolicy, IndexType, Operation
from hudi_hive.options.parsers import (
    boolean,
    choice,
    decimal,
    fraction,
    integer,
    items,
    member,
    positive,
    text,
    whole,
)

WRITE, READ, SYNC, INPUT_FORMAT, STREAM = Face.WRITE, Face.READ, Face.SYNC, Face.INPUT_FORMAT, Face.STREAM
NO_FILTERS: Final = "a batch of a stream has no filter by which files could be left out"
NO_LISTING: Final = "a batch of a stream takes its files from commit metadata"
MB: Final = 1024 * 1024

# -- rows --------------------------------------------------------------------------------------------------------------

OPERATION: Final = Option(
    HOODIE_DATASOURCE_WRITE_OPERATION,
    member(Operation),
    Operation.UPSERT,
    "What a write does with its rows.",
    honoured_by=(WRITE,),
)
COMBINE_BEFORE_INSERT: Final = Option(
    "hoodie.combine.before.insert", boolean, False, "Inserts: make one row of rows of one key.", honoured_by=(WRITE,)
)
COMBINE_BEFORE_UPSERT: Final = Option(
    "hoodie.combine.before.upsert", boolean, True, "Upserts: make one row of rows of one key.", honoured_by=(WRITE,)
)
COMBINE_BEFORE_DELETE: Final = Option(
    "hoodie.combine.before.delete",
    boolean,
    True,
    "Deletes: make one of several of one key.",
    harmless={WRITE: "a key that is named twice is deleted once either way"},
)
INSERT_DROP_DUPLICATES: Final = Option(
    "hoodie.datasource.write.insert.drop.duplicates",
    boolean,
    False,
    "Inserts: leave out rows whose keys the table has; an upsert becomes an insert.",
    honoured_by=(WRITE,),
)
DUPLICATE_POLICY: Final = Option(
    "hoodie.datasource.insert.dup.policy",
    member(DuplicatePolicy),
    DuplicatePolicy.NONE,
    "Inserts: what becomes of rows whose keys the table has.",
    honoured_by=(WRITE,),
)
MERGE_ALLOW_DUPLICATES: Final = Option(
    "hoodie.merge.allow.duplicate.on.inserts",
    boolean,
    True,
    "Inserts into a file that has the key: keep both rows.",
    honoured_by=(WRITE,),
)
PARTITIONS_TO_DELETE: Final = Option[tuple[str, ...]](
    "hoodie.datasource.write.partitions.to.delete",
    items,
    (),
    "Paths, or patterns with `*`, of the partitions that `delete_partition` deletes.",
    honoured_by=(WRITE,),
)
OVERWRITE_MODE: Final = Option(
    "hoodie.datasource.overwrite.mode",
    choice("STATIC", "DYNAMIC"),
    "DYNAMIC",
    "Whether `insert_overwrite` replaces the whole table or the partitions of its rows.",
    honoured_by=(WRITE,),
)
NULL_FOR_MISSING_COLUMNS: Final = Option(
    "hoodie.write.set.null.for.missing.columns",
    boolean,
    True,
    "Fill columns that rows lack with nulls, else refuse the rows; `df.write` that appends, and streams, have `false`.",
    honoured_by=(WRITE,),
)
RECONCILE_SCHEMA: Final = Option(
    "hoodie.datasource.write.reconcile.schema",
    boolean,
    False,
    "Rows may lack columns of the table, whatever else is said of missing columns.",
    honoured_by=(WRITE,),
)
SCHEMA_ON_READ: Final = Option[bool | None](
    "hoodie.schema.on.read.enable",
    boolean,
    None,
    "Follow columns by their ids through renames and changes of order; writes keep the ids.",
    honoured_by=(WRITE, READ, STREAM, INPUT_FORMAT),
)
COMMIT_METADATA_PREFIX: Final = Option(
    "hoodie.datasource.write.commitmeta.key.prefix",
    text,
    "_",
    "Options that begin with it go into the commit's extra metadata.",
    honoured_by=(WRITE,),
)

ROW_OPTIONS: Final = (
    OPERATION,
    COMBINE_BEFORE_INSERT,
    COMBINE_BEFORE_UPSERT,
    COMBINE_BEFORE_DELETE,
    INSERT_DROP_DUPLICATES,
    DUPLICATE_POLICY,
    MERGE_ALLOW_DUPLICATES,
    PARTITIONS_TO_DELETE,
    OVERWRITE_MODE,
    NULL_FOR_MISSING_COLUMNS,
    RECONCILE_SCHEMA,
    SCHEMA_ON_READ,
    COMMIT_METADATA_PREFIX,
)

# -- files -------------------------------------------------------------------------------------------------------------

MAX_FILE_SIZE: Final = Option(
    "hoodie.parquet.max.file.size",
    positive,
    120 * MB,
    "Bytes that a base file is to have at most; inserts are parted by it.",
    honoured_by=(WRITE,),
)
SMALL_FILE_LIMIT: Final = Option(
    "hoodie.parquet.small.file.limit",
    integer,
    100 * MB,
    "Base files below so many bytes take in inserts; 0 or less: none does.",
    honoured_by=(WRITE,),
)
SMALL_FILE_CANDIDATES: Final = Option[int | None](
    "hoodie.merge.small.file.group.candidates.limit",
    whole,
    None,
    "Merge-on-read: how many base files without log files take in inserts, the smallest ones; all if not given.",
    honoured_by=(WRITE,),
)
RECORD_SIZE_ESTIMATE: Final = Option(
    "hoodie.copyonwrite.record.size.estimate",
    positive,
    1024,
    "Bytes of a row, while no commit tells.",
    honoured_by=(WRITE,),
)
INSERT_SPLIT_SIZE: Final = Option(
    "hoodie.copyonwrite.insert.split.size",
    positive,
    500_000,
    "Rows of a new file group, when they are not parted by size.",
    honoured_by=(WRITE,),
)
INSERT_AUTO_SPLIT: Final = Option(
    "hoodie.copyonwrite.insert.auto.split",
    boolean,
    True,
    "Part inserts by the size of files, not by a number of rows.",
    honoured_by=(WRITE,),
)
RECORD_SIZE_THRESHOLD: Final = Option(
    "hoodie.record.size.estimation.threshold",
    decimal,
    1.0,
    "How much of a small file limit a commit must have written for its rows' size to count.",
    honoured_by=(WRITE,),
)
BLOOM_ENABLED: Final = Option(
    "hoodie.parquet.bloom.filter.enabled",
    boolean,
    True,
    "Write a bloom filter of the keys into base files.",
    honoured_by=(WRITE,),
    aliases=("hoodie.parquet.writer.bloom.enabled",),
)
LOG_BLOCK_SIZE: Final = Option(
    "hoodie.logfile.data.block.max.size",
    positive,
    256 * MB,
    "Bytes of a data block of log files.",
    honoured_by=(WRITE,),
)
RECORD_POSITIONS: Final = Option(
    "hoodie.write.record.positions",
    boolean,
    True,
    "Log blocks of updates and deletes say at which rows of the base file their records are, so that readers need not "
    "read its keys. Parquet base files whose keys a write looks up: with a bloom or simple index.",
    honoured_by=(WRITE,),
    since=8,
)
LOG_BLOCK_FORMAT: Final = Option[str | None](
    "hoodie.logfile.data.block.format",
    choice("avro", "parquet"),
    None,
    "Format of data blocks of log files; Avro by default.",
    honoured_by=(WRITE,),
)
BULK_INSERT_SORT: Final = Option(
    "hoodie.bulkinsert.sort.mode",
    choice(
        "NONE", "GLOBAL_SORT", "PARTITION_SORT", "PARTITION_PATH_REPARTITION", "PARTITION_PATH_REPARTITION_AND_SORT"
    ),
    "NONE",
    "Bulk inserts: how rows are brought into order.",
    honoured_by=(WRITE,),
)
BULK_INSERT_SORT_COLUMNS: Final = Option[tuple[str, ...]](
    "hoodie.bulkinsert.user.defined.partitioner.sort.columns",
    items,
    (),
    "Bulk inserts: columns by which rows are sorted.",
    honoured_by=(WRITE,),
)

FILE_OPTIONS: Final = (
    MAX_FILE_SIZE,
    SMALL_FILE_LIMIT,
    SMALL_FILE_CANDIDATES,
    RECORD_SIZE_ESTIMATE,
    INSERT_SPLIT_SIZE,
    INSERT_AUTO_SPLIT,
    RECORD_SIZE_THRESHOLD,
    *FORMAT_OPTIONS,
    BLOOM_ENABLED,
    LOG_BLOCK_SIZE,
    LOG_BLOCK_FORMAT,
    RECORD_POSITIONS,
    BULK_INSERT_SORT,
    BULK_INSERT_SORT_COLUMNS,
)

# -- index -------------------------------------------------------------------------------------------------------------

INDEX_TYPE: Final = Option(
    "hoodie.index.type", member(IndexType), IndexType.SIMPLE, "How a key's file group is found.", honoured_by=(WRITE,)
)
BLOOM_ENTRIES: Final = Option(
    "hoodie.index.bloom.num_entries", positive, 60_000, "Keys that a bloom filter is made for.", honoured_by=(WRITE,)
)
BLOOM_FPP: Final = Option(
    "hoodie.index.bloom.fpp",
    fraction,
    1e-9,
    "Share of wrong hits that a bloom filter may have; above 0 and below 1.",
    honoured_by=(WRITE,),
)
BLOOM_FILTER_TYPE: Final = Option(
    "hoodie.bloom.index.filter.type",
    choice("DYNAMIC_V0", "SIMPLE"),
    "DYNAMIC_V0",
    "Whether bloom filters grow with the number of keys.",
    honoured_by=(WRITE,),
)
BLOOM_MAX_ENTRIES: Final = Option(
    "hoodie.bloom.index.filter.dynamic.max.entries",
    positive,
    100_000,
    "Keys up to which a bloom filter grows.",
    honoured_by=(WRITE,),
)
BLOOM_PRUNE_BY_RANGES: Final = Option(
    "hoodie.bloom.index.prune.by.ranges",
    boolean,
    True,
    "Bloom indexes: look into no file whose range of keys does not hold the key.",
    honoured_by=(WRITE,),
)
BLOOM_USE_METADATA: Final = Option(
    "hoodie.bloom.index.use.metadata",
    boolean,
    False,
    "Bloom indexes: take ranges and filters from the metadata table where it has them.",
    honoured_by=(WRITE,),
)
BLOOM_UPDATE_PARTITION: Final = Option(
    "hoodie.bloom.index.update.partition.path",
    boolean,
    True,
    "GLOBAL_BLOOM: a row moves to the partition that it names now.",
    honoured_by=(WRITE,),
)
SIMPLE_UPDATE_PARTITION: Final = Option(
    "hoodie.simple.index.update.partition.path",
    boolean,
    True,
    "GLOBAL_SIMPLE: a row moves to the partition that it names now.",
    honoured_by=(WRITE,),
)
RECORD_INDEX_UPDATE_PARTITION: Final = Option(
    "hoodie.record.index.update.partition.path",
    boolean,
    False,
    "Record index: a row moves to the partition that it names now.",
    honoured_by=(WRITE,),
)
INDEX_OPTIONS: Final = (
    INDEX_TYPE,
    BLOOM_ENTRIES,
    BLOOM_FPP,
    BLOOM_FILTER_TYPE,
    BLOOM_MAX_ENTRIES,
    BLOOM_PRUNE_BY_RANGES,
    BLOOM_USE_METADATA,
    BLOOM_UPDATE_PARTITION,
    SIMPLE_UPDATE_PARTITION,
    RECORD_INDEX_UPDATE_PARTITION,
    *BUCKET_OPTIONS,
)

# -- metadata table ----------------------------------------------------------------------------------------------------

METADATA_ENABLE: Final = Option(
    "hoodie.metadata.enable",
    boolean,
    True,
    "Writes keep the metadata table; reads, jobs and syncs take partitions and files from it.",
    honoured_by=(WRITE, READ, INPUT_FORMAT, SYNC),
    harmless={STREAM: NO_LISTING},
)
COLUMN_STATS: Final = Option[bool | None](
    "hoodie.metadata.index.column.stats.enable",
    boolean,
    None,
    "Keep ranges of columns in the metadata table; by default from table version 8 on.",
    honoured_by=(WRITE,),
)
COLUMN_STATS_COLUMNS: Final = Option[tuple[str, ...]](
    "hoodie.metadata.index.column.stats.column.list",
    items,
    (),
    "Columns whose ranges are kept; the first ones by default.",
    honoured_by=(WRITE,),
)
COLUMN_STATS_MAX_COLUMNS: Final = Option(
    "hoodie.metadata.index.column.stats.max.columns.to.index",
    positive,
    32,
    "How many columns have their ranges kept, if none are named.",
    honoured_by=(WRITE,),
)
PARTITION_STATS: Final = Option[bool | None](
    "hoodie.metadata.index.partition.stats.enable",
    boolean,
    None,
    "Keep ranges of columns for whole partitions too; by default with those of files.",
    honoured_by=(WRITE,),
    since=8,
)
METADATA_BLOOM_FILTERS: Final = Option(
    "hoodie.metadata.index.bloom.filter.enable",
    boolean,
    False,
    "Keep the bloom filters of base files in the metadata table.",
    honoured_by=(WRITE,),
)
METADATA_BLOOM_GROUPS: Final = Option(
    "hoodie.metadata.index.bloom.filter.file.group.count",
    positive,
    4,
    "File groups of these bloom filters.",
    honoured_by=(WRITE,),
)
RECORD_INDEX: Final = Option(
    "hoodie.metadata.record.index.enable",
    boolean,
    False,
    "Writes keep where each key is; reads trust it to leave files out for filters on the key.",
    honoured_by=(WRITE, READ),
    harmless={STREAM: NO_FILTERS},
    aliases=("hoodie.metadata.global.record.level.index.enable",),
)
RECORD_INDEX_MIN_GROUPS: Final = Option(
    "hoodie.metadata.record.index.min.filegroup.count",
    positive,
    10,
    "File groups of the record index, at least.",
    honoured_by=(WRITE,),
    aliases=("hoodie.metadata.global.record.level.index.min.filegroup.count",),
)
RECORD_INDEX_MAX_GROUPS: Final = Option(
    "hoodie.metadata.record.index.max.filegroup.count",
    positive,
    10_000,
    "File groups of the record index, at most.",
    honoured_by=(WRITE,),
    aliases=("hoodie.metadata.global.record.level.index.max.filegroup.count",),
)
RECORD_LEVEL_INDEX: Final = Option(
    "hoodie.metadata.record.level.index.enable",
    boolean,
    False,
    "Writes keep where each key is in a record index of each partition, in which a key counts once a partition; reads "
    "trust it to leave files out for filters on the key.",
    honoured_by=(WRITE, READ),
    harmless={STREAM: NO_FILTERS},
    since=9,
)
RECORD_LEVEL_INDEX_MIN_GROUPS: Final = Option(
    "hoodie.metadata.record.level.index.min.filegroup.count",
    positive,
    1,
    "File groups of the record index of a partition, at least; those of a partition that is new have so many.",
    honoured_by=(WRITE,),
    aliases=("hoodie.metadata.partitioned.record.index.min.filegroup.count",),
    since=9,
)
RECORD_LEVEL_INDEX_MAX_GROUPS: Final = Option(
    "hoodie.metadata.record.level.index.max.filegroup.count",
    positive,
    10,
    "File groups of the record index of a partition, at most.",
    honoured_by=(WRITE,),
    aliases=("hoodie.metadata.partitioned.record.index.max.filegroup.count",),
    since=9,
)
RECORD_INDEX_GROWTH: Final = Option(
    "hoodie.metadata.record.index.growth.factor",
    decimal,
    2.0,
    "How many times the keys of today the record index is laid out for.",
    honoured_by=(WRITE,),
)
RECORD_INDEX_MAX_GROUP_SIZE: Final = Option(
    "hoodie.metadata.record.index.max.filegroup.size",
    positive,
    1024 * MB,
    "Bytes of a file group of the record index, at most.",
    honoured_by=(WRITE,),
)
METADATA_COMPACT_AFTER: Final = Option(
    "hoodie.metadata.compact.max.delta.commits", positive, 10, "Commits between its compactions.", honoured_by=(WRITE,)
)

METADATA_INDEX_ASYNC: Final = Option(
    "hoodie.metadata.index.async",
    boolean,
    False,
    "Writes make no index: `hudi-hive table service --index`, `metadata init` and `CREATE INDEX` build them beside the "
    "writers, who add to an index from the moment on that its build begins.",
    honoured_by=(WRITE,),
)
INDEX_CHECK_TIMEOUT: Final = Option(
    "hoodie.metadata.index.check.timeout.seconds",
    whole,
    900,
    "How long the build of an index waits for writes that were running when it began, before it gives up.",
    honoured_by=(WRITE,),
)

METADATA_OPTIONS: Final = (
    METADATA_ENABLE,
    METADATA_INDEX_ASYNC,
    INDEX_CHECK_TIMEOUT,
    COLUMN_STATS,
    COLUMN_STATS_COLUMNS,
    COLUMN_STATS_MAX_COLUMNS,
    PARTITION_STATS,
    METADATA_BLOOM_FILTERS,
    METADATA_BLOOM_GROUPS,
    RECORD_INDEX,
    RECORD_INDEX_MIN_GROUPS,
    RECORD_INDEX_MAX_GROUPS,
    RECORD_LEVEL_INDEX,
    RECORD_LEVEL_INDEX_MIN_GROUPS,
    RECORD_LEVEL_INDEX_MAX_GROUPS,
    RECORD_INDEX_GROWTH,
    RECORD_INDEX_MAX_GROUP_SIZE,
    METADATA_COMPACT_AFTER,
)
