"""Options of a read, of a stream of commits, and of a stream that is written to a table."""

from __future__ import annotations

from typing import Any, Final

from hudi_hive.names import HOODIE_DATASOURCE_QUERY_TYPE, HOODIE_QUERY_AS_RO_TABLE
from hudi_hive.options.declaration import Face, Option, Refused
from hudi_hive.options.kinds import HollowCommitPolicy, IncrementalFormat, MergeType, QueryType
from hudi_hive.options.parsers import any_text, boolean, items, local_folder, member, positive, text, whole
from hudi_hive.options.write import NO_FILTERS, NO_LISTING

WRITE, READ, STREAM, INPUT_FORMAT, SYNC = Face.WRITE, Face.READ, Face.STREAM, Face.INPUT_FORMAT, Face.SYNC

_CLASSES: Final = Refused(
    "a job reads as its input format's class says (HoodieParquetInputFormat, HoodieParquetRealtimeInputFormat), and a "
    "range of commits with hoodie.<table>.consume.mode=INCREMENTAL"
)
_JOB_RANGE: Final = Refused("a job gives its range by hoodie.<table>.consume.start.timestamp and .end.timestamp")
_START: Final = Refused("hoodie.datasource.streaming.startOffset says where a stream starts")
_MADE_BY_NAME: Final = Refused("an index is made by create_index or CREATE INDEX", but_for=("true", "false"))

QUERY_TYPE: Final = Option[QueryType | None](
    HOODIE_DATASOURCE_QUERY_TYPE,
    member(QueryType),
    None,
    "What a scan shows of a table; with a begin, the rows of a range of commits.",
    honoured_by=(READ, STREAM),
    refused={INPUT_FORMAT: _CLASSES},
)
BEGIN: Final = Option[str | None](
    "hoodie.datasource.read.begin.instanttime",
    text,
    None,
    "Begin of a range of commits, exclusive.",
    honoured_by=(READ,),
    refused={STREAM: _START, INPUT_FORMAT: _JOB_RANGE},
)
END: Final = Option[str | None](
    "hoodie.datasource.read.end.instanttime",
    text,
    None,
    "End of a range of commits, inclusive; the newest one by default.",
    honoured_by=(READ,),
    refused={STREAM: _START, INPUT_FORMAT: _JOB_RANGE},
)
AS_OF: Final = Option[str | None](
    "as.of.instant",
    text,
    None,
    "Show the table as of this time.",
    honoured_by=(READ, INPUT_FORMAT),
    refused={STREAM: _START},
)
FULL_SCAN_FALLBACK: Final = Option(
    "hoodie.datasource.read.incr.fallback.fulltablescan.enable",
    boolean,
    False,
    "Ranges whose files were cleaned: filter the newest snapshot in place of refusing.",
    honoured_by=(READ, STREAM, INPUT_FORMAT),
)
HOLLOW_POLICY: Final = Option(
    "hoodie.read.timeline.holes.resolution.policy",
    member(HollowCommitPolicy),
    HollowCommitPolicy.FAIL,
    "Ranges of version 6: what to do at a pending commit older than a completed one.",
    honoured_by=(READ, STREAM, INPUT_FORMAT),
    aliases=("hoodie.datasource.read.handle.hollow.commit",),
)
PARTITION_VALUES_FROM_PATH: Final = Option(
    "hoodie.datasource.read.extract.partition.values.from.path",
    boolean,
    False,
    "Take partition columns from the path even where files hold them.",
    honoured_by=(READ, STREAM, INPUT_FORMAT),
)
PATH_GLOB: Final = Option[str | None](
    "hoodie.datasource.read.incr.path.glob",
    text,
    None,
    "Ranges: only files whose path below the table matches.",
    honoured_by=(READ, STREAM),
    refused={INPUT_FORMAT: Refused("give partition folders, or globs of them, as the job's input paths")},
)
END_INSTANT_SCHEMA: Final = Option(
    "hoodie.datasource.read.schema.use.end.instanttime",
    boolean,
    False,
    "Ranges: show the schema as of the last commit in place of the newest.",
    honoured_by=(READ, STREAM, INPUT_FORMAT),
)
METADATA_VALIDATE: Final = Option[bool | None](
    "hoodie.metadata.validate",
    boolean,
    None,
    "List folders beside the metadata table: reads log differences and go by the folders, a write refuses to begin.",
    honoured_by=(WRITE, READ, INPUT_FORMAT),
    harmless={STREAM: NO_LISTING},
)
LISTING_PARALLELISM: Final = Option[int | None](
    "hoodie.file.listing.parallelism",
    positive,
    None,
    "Tasks in which Spark lists many folders of a table without metadata table, at most (200, and 4 a core).",
    harmless={
        WRITE: "threads, or tasks of Spark, list the folders of a table; the files are the same",
        READ: "it says how many tasks of Spark list folders; the files and rows are the same",
        STREAM: NO_LISTING,
    },
)
DATA_SKIPPING: Final = Option(
    "hoodie.enable.data.skipping",
    boolean,
    True,
    "Leave files out by the statistics and bloom filters of the metadata table.",
    honoured_by=(READ,),
    harmless={STREAM: NO_FILTERS},
)
INCREMENTAL_FORMAT: Final = Option(
    "hoodie.datasource.query.incremental.format",
    member(IncrementalFormat),
    IncrementalFormat.LATEST_STATE,
    "Ranges: rows as they are at its end, or what changed, with images before and after.",
    honoured_by=(READ, STREAM),
    refused={INPUT_FORMAT: Refused("read changes with HudiTable.scan(query_type='cdc')", ("latest_state",))},
)
MERGE_TYPE: Final = Option(
    "hoodie.datasource.merge.type",
    member(MergeType),
    MergeType.PAYLOAD_COMBINE,
    "Whether log records are merged into base rows, or shown beside them.",
    honoured_by=(READ, STREAM, INPUT_FORMAT),
)
READ_OPTIMIZED: Final = Option(
    HOODIE_QUERY_AS_RO_TABLE,
    boolean,
    False,
    "Show the read-optimised view; a sync writes it into the catalog's entry of that view.",
    honoured_by=(READ,),
    refused={
        STREAM: Refused("stream from the table without _ro: its read-optimised view has no ranges", ("false",)),
        INPUT_FORMAT: _CLASSES,
    },
)


def _unsupported(name: str, remedy: str, *but_for: str) -> Option[str]:
    refused = Refused(remedy, ("", *but_for))
    return Option(name, any_text, "", "Not supported.", refused={READ: refused, STREAM: refused, INPUT_FORMAT: refused})


_MERGED_IN_PARTS: Final = dict.fromkeys(
    (READ, STREAM, INPUT_FORMAT, WRITE),
    "log files of more than half of it are merged in parts on the local disk; the rows are the same",
)
MERGE_MEMORY: Final = Option(
    "hoodie.memory.merge.max.size",
    positive,
    256 << 20,
    "Bytes of memory to merge the log files of a slice in; more of them are merged in parts on the local disk.",
    harmless=_MERGED_IN_PARTS,
)
SERVICE_MEMORY: Final = Option[int | None](
    "hoodie.memory.compaction.max.size",
    positive,
    None,
    "The same of compactions and clusterings; hoodie.memory.merge.max.size without it.",
    harmless=dict.fromkeys((WRITE, INPUT_FORMAT), _MERGED_IN_PARTS[WRITE]),
)
SPILL_FOLDER: Final = Option[str | None](
    "hoodie.memory.spillable.map.path",
    local_folder,
    None,
    "Folder on the local disk for what merging does not keep in memory; the system's for temporary files without it.",
    harmless=dict.fromkeys(
        _MERGED_IN_PARTS, "it says where parts of a merge are kept meanwhile; the rows are the same"
    ),
)
MERGE_POSITIONS: Final = Option(
    "hoodie.merge.use.record.positions",
    boolean,
    True,
    "Take from log blocks which rows of the base file their records replace, in place of reading the file's keys.",
    harmless=dict.fromkeys(
        _MERGED_IN_PARTS, "it says whether positions or record keys tell which rows are replaced; the rows are the same"
    ),
    since=8,
)
SECONDARY_INDEX: Final = Option(
    "hoodie.metadata.index.secondary.enable",
    boolean,
    True,
    "Reads ask secondary indexes, which like the record index rely on each key being in the table once.",
    honoured_by=(READ,),
    refused={WRITE: _MADE_BY_NAME},
    harmless={STREAM: NO_FILTERS},
    since=8,
)
EXPRESSION_INDEX: Final = Option(
    "hoodie.metadata.index.expression.enable",
    boolean,
    True,
    "Reads ask expression indexes for filters on functions of columns.",
    honoured_by=(READ,),
    refused={WRITE: _MADE_BY_NAME},
    harmless={STREAM: NO_FILTERS},
    since=8,
)

READ_OPTIONS: Final = (
    QUERY_TYPE,
    BEGIN,
    END,
    AS_OF,
    FULL_SCAN_FALLBACK,
    HOLLOW_POLICY,
    PARTITION_VALUES_FROM_PATH,
    PATH_GLOB,
    END_INSTANT_SCHEMA,
    METADATA_VALIDATE,
    LISTING_PARALLELISM,
    DATA_SKIPPING,
    SECONDARY_INDEX,
    EXPRESSION_INDEX,
    INCREMENTAL_FORMAT,
    MERGE_TYPE,
    READ_OPTIMIZED,
    _unsupported("hoodie.datasource.read.incr.filters", "filter with row_filter, or with WHERE"),
    _unsupported("hoodie.datasource.read.paths", "open the table by its base path"),
    _unsupported(
        "hoodie.datasource.read.incr.table.version", "ranges are requested times in version 6, completion times above"
    ),
    _unsupported("hoodie.read.blob.inline.mode", "blobs are shown with their bytes", "content"),
    MERGE_MEMORY,
    SERVICE_MEMORY,
    SPILL_FOLDER,
    MERGE_POSITIONS,
)

# -- streams -----------------------------------------------------------------------------------------------------------

START_OFFSET: Final = Option(
    "hoodie.datasource.streaming.startOffset",
    text,
    "earliest",
    "Where a new stream begins: `earliest`, `latest` or a time, exclusive.",
    honoured_by=(STREAM,),
)
MAX_COMMITS: Final = Option[int | None](
    "maxCommitsPerTrigger", positive, None, "Commits of a batch, at most.", honoured_by=(STREAM,)
)
MAX_BYTES: Final = Option[int | None](
    "maxBytesPerTrigger",
    positive,
    None,
    "Bytes written by the commits of a batch, at most; one commit at least.",
    honoured_by=(STREAM,),
)
FAIL_ON_DATA_LOSS: Final = Option(
    "failOnDataLoss",
    boolean,
    True,
    "Refuse to go on from a commit that the timeline does not have any more.",
    honoured_by=(STREAM,),
)

STREAM_OPTIONS: Final = (START_OFFSET, MAX_COMMITS, MAX_BYTES, FAIL_ON_DATA_LOSS)

# -- streams that write ------------------------------------------------------------------------------------------------

_SINK: Final = Face.SINK

CHECKPOINT_IDENTIFIER: Final = Option(
    "hoodie.datasource.write.streaming.checkpoint.identifier",
    text,
    "default_single_writer",
    "The name under which commits keep the number of a stream's last batch; each stream into a table has its own.",
    honoured_by=(_SINK,),
)
STREAM_RETRIES: Final = Option(
    "hoodie.datasource.write.streaming.retry.count",
    positive,
    3,
    "Tries of a batch that fails.",
    honoured_by=(_SINK,),
)
STREAM_RETRY_INTERVAL: Final = Option(
    "hoodie.datasource.write.streaming.retry.interval.ms",
    whole,
    2000,
    "Milliseconds before the second try of a batch, twice as many before each further one.",
    honoured_by=(_SINK,),
)
IGNORE_FAILED_BATCH: Final = Option(
    "hoodie.datasource.write.streaming.ignore.failed.batch",
    boolean,
    False,
    "Go on without a batch that failed at all tries: its rows are lost.",
    honoured_by=(_SINK,),
    refused={WRITE: Refused("a failed write is an error", ("false",))},
)
DISABLE_COMPACTION: Final = Option(
    "hoodie.datasource.write.streaming.disable.compaction",
    boolean,
    False,
    "Leave the compaction of the table to other processes.",
    honoured_by=(_SINK,),
    refused={WRITE: Refused("a write that is no stream compacts by hoodie.compact.inline alone", ("false",))},
)
ASYNC_COMPACTION: Final = Option(
    "hoodie.datasource.compaction.async.enable",
    boolean,
    True,
    "Plan compactions of a merge-on-read table behind batches, and run them beside the stream.",
    honoured_by=(_SINK,),
    refused={
        WRITE: Refused(
            "nothing runs beside a write that is no stream: plan with hoodie.compact.schedule.inline, run "
            "`hudi-hive table compact`",
            ("false",),
        )
    },
)
ASYNC_CLUSTERING: Final = Option(
    "hoodie.clustering.async.enabled",
    boolean,
    False,
    "Plan clusterings behind batches, and run them beside the stream.",
    honoured_by=(_SINK,),
    refused={
        WRITE: Refused(
            "nothing runs beside a write that is no stream: plan with hoodie.clustering.schedule.inline, run "
            "`hudi-hive table cluster`",
            ("false",),
        )
    },
    aliases=("hoodie.datasource.clustering.async.enable",),
)
ASYNC_CLUSTERING_COMMITS: Final = Option(
    "hoodie.clustering.async.max.commits",
    positive,
    4,
    "Commits after which a clustering beside a stream is due.",
    honoured_by=(_SINK,),
    refused={WRITE: Refused("schedule clustering with `hudi-hive table cluster`", ("4",))},
)

SINK_OPTIONS: Final = (
    CHECKPOINT_IDENTIFIER,
    STREAM_RETRIES,
    STREAM_RETRY_INTERVAL,
    IGNORE_FAILED_BATCH,
    DISABLE_COMPACTION,
    ASYNC_COMPACTION,
    ASYNC_CLUSTERING,
    ASYNC_CLUSTERING_COMMITS,
)

SPARK_PYTHON: Final = Option[str | None](
    "spark.hudi_hive.python",
    any_text,
    None,
    "A setting of spark-sql and spark-shell, where the jar of docs/spark-jar.md reads it: the Python that plans "
    "statements; without it the one that wrote the jar.",
)
SPARK_LOG_RECORDS: Final = Option(
    "spark.hudi_hive.log.records.bytes",
    whole,
    1 << 30,
    "A setting of Spark's sessions: bytes of records of log files that executors keep, in memory or on their disks, so "
    "that Spark's own reader reads the base files of slices with log files. 0: Python tasks merge such slices in "
    "every statement.",
)
SPARK_PLANNED_PARTITIONS: Final = Option(
    "spark.hudi_hive.planned.partitions",
    whole,
    20_000,
    "A setting of Spark's sessions: partitions of a snapshot up to which the driver looks files up in the metadata "
    "table and chooses slices by itself; executors do that for more of them (docs/scale.md).",
)
SPARK_MERGERS: Final = Option(
    "spark.hudi_hive.record.mergers",
    items,
    (),
    "A setting that Spark is started with: Python mergers for payload or merger classes, which are registered when "
    "sessions are enabled (`class=module:attribute`, or `class@strategy-id=module:attribute`).",
)
SESSION_OPTIONS: Final[tuple[Option[Any], ...]] = (
    SPARK_PYTHON,
    SPARK_LOG_RECORDS,
    SPARK_PLANNED_PARTITIONS,
    SPARK_MERGERS,
)
