"""Options that say how Hudi's own engine goes about its work and never which rows come out: checked, and harmless.

Each has the reason why it may be accepted though nothing here follows it.
"""

from __future__ import annotations

from typing import Any, Final

from hudi_hive.names import (
    HOODIE_SPARK_SQL_INSERT_INTO_OPERATION,
    HOODIE_SPARK_SQL_MERGE_INTO_PARTIAL_UPDATES,
    HOODIE_SQL_BULK_INSERT_ENABLE,
    HOODIE_SQL_INSERT_MODE,
)
from hudi_hive.options.declaration import OLDEST_TABLE_VERSION, Face, Option
from hudi_hive.options.parsers import Parser, boolean, choice, decimal, integer, text

WRITE, READ, INPUT_FORMAT = Face.WRITE, Face.READ, Face.INPUT_FORMAT

_TASKS: Final = "threads, or Spark's own partitions, decide how work is split; rows and files are the same"
_CACHING: Final = "it says what Hudi keeps in Spark's cache while it looks keys up; the keys found are the same"
_MEMORY: Final = (
    "a hint about Hudi's memory that does not change results: hoodie.memory.merge.max.size says how much a merge takes "
    "here before it goes on in parts on the local disk"
)
_SIZING: Final = "it guesses the size of files before they are written; here sizes come from what commits wrote"
_ARCHIVE: Final = "it says how archive files are batched; which instants are archived stays the same"
_MARKERS: Final = "markers are files of their own here, which every release of Hudi understands"
_TIMELINE_SERVER: Final = "there is no timeline server: writers read the timeline themselves"
_LISTING: Final = "it says how Hudi comes by a listing of files; the files are the same"
_CLEAN: Final = "it says how files to clean are looked for; the same files are deleted"
_BEHIND: Final = "the service runs behind the commit either way, and the next write waits for it"
_SCAN: Final = "it chooses between Hudi's ways to read log files; the rows are the same"
_HFILE_BLOCKS: Final = "readers of Hudi lose what is at the end of large blocks: they are small whatever it says"
_ORC_BLOCKS: Final = "it says how stripes lie in the blocks of HDFS; rows and stripes are the same"
_PARQUET: Final = "columns of files are matched by name, or by the table's own ids"


def _harmless(
    name: str,
    parser: Parser[Any],
    summary: str,
    reason: str,
    *others: Face,
    aliases: tuple[str, ...] = (),
    since: int = OLDEST_TABLE_VERSION,
) -> Option[Any]:
    faces = dict.fromkeys((WRITE, *others), reason)
    return Option(name, parser, None, summary, harmless=faces, aliases=aliases, since=since)


_OF_TASKS: Final = tuple(
    _harmless(name, integer, "Tasks that Hudi's engine splits a step into.", _TASKS)
    for name in (
        "hoodie.insert.shuffle.parallelism",
        "hoodie.upsert.shuffle.parallelism",
        "hoodie.delete.shuffle.parallelism",
        "hoodie.bulkinsert.shuffle.parallelism",
        "hoodie.rollback.parallelism",
        "hoodie.archive.delete.parallelism",
        "hoodie.bloom.index.parallelism",
        "hoodie.simple.index.parallelism",
        "hoodie.global.simple.index.parallelism",
        "hoodie.finalize.write.parallelism",
        "hoodie.markers.delete.parallelism",
        "hoodie.combine.parallelism",
        "hoodie.metadata.index.column.stats.parallelism",
        "hoodie.metadata.index.bloom.filter.parallelism",
        "hoodie.metadata.max.init.parallelism",
    )
)
_MEMORY_SUMMARY: Final = "Memory of Hudi's merges, and where they spill."

HARMLESS_OPTIONS: Final = (
    *_OF_TASKS,
    _harmless(
        "hoodie.cleaner.parallelism",
        integer,
        "Tasks that Hudi's engine splits a clean into.",
        _TASKS,
        aliases=("hoodie.clean.parallelism",),
    ),
    # -- files
    _harmless("hoodie.parquet.compression.ratio", decimal, "Guess of how far Parquet compresses.", _SIZING),
    _harmless("hoodie.logfile.to.parquet.compression.ratio", decimal, "Guess of how far log files compress.", _SIZING),
    _harmless(
        "hoodie.logfile.max.size",
        integer,
        "Bytes after which Hudi begins another log file.",
        "each delta commit writes log files of its own, and appends to none",
    ),
    _harmless("hoodie.hfile.block.size", integer, "Bytes of a block of HFiles.", _HFILE_BLOCKS),
    _harmless("hoodie.orc.block.size", integer, "Bytes of a block of the file system.", _ORC_BLOCKS),
    _harmless("hoodie.parquet.field_id.write.enabled", boolean, "Write field ids into Parquet files.", _PARQUET),
    _harmless(
        "hoodie.write.buffer.limit.bytes",
        integer,
        "Buffer between Hudi's reading and writing threads.",
        "rows go through in Arrow batches; files and rows are the same",
    ),
    _harmless(
        "hoodie.write.executor.type",
        text,
        "How Hudi's reading and writing threads hand rows over.",
        "rows go through in Arrow batches; files and rows are the same",
    ),
    _harmless(
        "hoodie.write.status.storage.level",
        text,
        "How Spark keeps the outcome of writes.",
        "outcomes of writes are small tables on the driver",
    ),
    _harmless(
        "hoodie.datasource.write.row.writer.enable",
        boolean,
        "Bulk inserts without Avro records.",
        "rows stay columns either way; files and rows are the same",
    ),
    _harmless(
        "hoodie.spark.sql.optimized.writes.enable",
        boolean,
        "Shorter ways of Hudi's own SQL statements.",
        "it speeds up statements of Hudi's SQL extension, which is not used",
    ),
    _harmless(
        HOODIE_SPARK_SQL_INSERT_INTO_OPERATION,
        text,
        "Operation of INSERT INTO statements: `insert`, `upsert` or `bulk_insert`.",
        "Spark's INSERT INTO takes it from the session's settings; writes name hoodie.datasource.write.operation",
    ),
    _harmless(
        HOODIE_SQL_INSERT_MODE,
        text,
        "Operation of INSERT INTO statements, as older releases name it: `upsert`, `strict` or `non-strict`.",
        "Spark's INSERT INTO takes it from the session's settings; writes name hoodie.datasource.write.operation",
    ),
    _harmless(
        HOODIE_SQL_BULK_INSERT_ENABLE,
        boolean,
        "INSERT INTO statements in mode `non-strict` are bulk inserts.",
        "Spark's INSERT INTO takes it from the session's settings; writes name hoodie.datasource.write.operation",
    ),
    _harmless(
        HOODIE_SPARK_SQL_MERGE_INTO_PARTIAL_UPDATES,
        boolean,
        "Log blocks of MERGE INTO hold the updated columns alone, in merge-on-read tables from version 8 on.",
        "MERGE INTO takes it from the session's settings; readers see the same rows either way",
    ),
    _harmless(
        "hoodie.avro.schema.validate",
        boolean,
        "Check that rows fit the table's schema.",
        "rows are checked against the table's schema in every write",
    ),
    _harmless(
        "hoodie.avro.schema.external.transformation",
        boolean,
        "Rewrite rows of older files to a wider schema while merging.",
        "rows of older files get the types of the table's schema in every merge",
    ),
    _harmless(
        "hoodie.consistency.check.enabled",
        boolean,
        "Wait until object stores list what was written.",
        "storage is taken to be consistent; a file that is missing fails the write",
    ),
    _harmless(
        "hoodie.write.complex.keygen.validation.enable",
        boolean,
        "Refuse complex keys of one field whose encoding is not told.",
        "the encoding is found out from the table's own keys, and one that contradicts them is refused",
    ),
    _harmless(
        "hoodie.storage.layout.type",
        choice("DEFAULT", "BUCKET"),
        "Where rows are put.",
        "rows are put where hoodie.index.type says",
    ),
    # -- markers, rollbacks, timeline server
    _harmless("hoodie.rollback.using.markers", boolean, "Find files of failed writes by markers.", _MARKERS),
    _harmless("hoodie.write.markers.type", choice("DIRECT", "TIMELINE_SERVER_BASED"), "Who writes markers.", _MARKERS),
    _harmless(
        "hoodie.markers.timeline_server_based.batch.num_threads", integer, "Threads that write markers.", _MARKERS
    ),
    _harmless(
        "hoodie.markers.timeline_server_based.batch.interval_ms", integer, "Milliseconds between markers.", _MARKERS
    ),
    _harmless("hoodie.embed.timeline.server", boolean, "Start a timeline server.", _TIMELINE_SERVER),
    _harmless("hoodie.embed.timeline.server.async", boolean, "Start it in the background.", _TIMELINE_SERVER),
    _harmless("hoodie.embed.timeline.server.reuse.enabled", boolean, "Share it among writers.", _TIMELINE_SERVER),
    _harmless("hoodie.filesystem.view.type", text, "How Hudi keeps its view of files.", _LISTING),
    _harmless("hoodie.filesystem.view.remote.timeout.secs", integer, "Patience with the timeline server.", _LISTING),
    _harmless(
        "hoodie.time.generator.max_expected_clock_skew_ms",
        integer,
        "How far the clocks of writers may differ.",
        "instants are drawn under the table's lock, and never before one that the timeline has",
    ),
    # -- services
    _harmless(
        "hoodie.clean.allow.multiple",
        boolean,
        "Plan a clean while another is pending.",
        _CLEAN,
        aliases=("hoodie.clean.multiple.enabled",),
    ),
    _harmless(
        "hoodie.clean.trigger.strategy",
        choice("NUM_COMMITS"),
        "By what it is measured whether a clean is due.",
        "commits are what is counted, the one strategy that Hudi has",
    ),
    _harmless(
        "hoodie.clean.async",
        boolean,
        "Clean beside the write.",
        _BEHIND,
        aliases=("hoodie.clean.async.enabled",),
    ),
    _harmless("hoodie.archive.async", boolean, "Archive beside the write.", _BEHIND),
    _harmless("hoodie.commits.archival.batch", integer, "Instants of a batch of the archive.", _ARCHIVE),
    _harmless("hoodie.archive.merge.enable", boolean, "Merge small archive files.", _ARCHIVE),
    _harmless("hoodie.archive.merge.files.batch.size", integer, "Archive files that are merged.", _ARCHIVE),
    _harmless("hoodie.archive.merge.small.file.limit.bytes", integer, "Archive files that are small.", _ARCHIVE),
    _harmless("hoodie.timeline.compaction.batch.size", integer, "Files of a merge of the archive.", _ARCHIVE, since=8),
    # -- index
    _harmless("hoodie.bloom.index.use.caching", boolean, "Cache the rows of a look-up.", _CACHING),
    _harmless("hoodie.bloom.index.use.treebased.filter", boolean, "Keep ranges of keys in a tree.", _CACHING),
    _harmless("hoodie.bloom.index.bucketized.checking", boolean, "Spread look-ups by file.", _CACHING),
    _harmless("hoodie.bloom.index.keys.per.bucket", integer, "Keys of such a task.", _CACHING),
    _harmless("hoodie.simple.index.use.caching", boolean, "Cache the rows of a look-up.", _CACHING),
    _harmless("hoodie.record.index.use.caching", boolean, "Cache the rows of a look-up.", _CACHING),
    # -- memory
    _harmless("hoodie.memory.merge.fraction", decimal, _MEMORY_SUMMARY, _MEMORY, INPUT_FORMAT),
    _harmless("hoodie.memory.compaction.fraction", decimal, _MEMORY_SUMMARY, _MEMORY, INPUT_FORMAT),
    _harmless("hoodie.memory.dfs.buffer.max.size", integer, _MEMORY_SUMMARY, _MEMORY, INPUT_FORMAT),
    _harmless("hoodie.common.spillable.diskmap.type", text, _MEMORY_SUMMARY, _MEMORY, INPUT_FORMAT),
    _harmless("hoodie.common.diskmap.compression.enabled", boolean, _MEMORY_SUMMARY, _MEMORY, INPUT_FORMAT),
    _harmless("hoodie.metadata.spillable.map.path", text, _MEMORY_SUMMARY, _MEMORY),
    _harmless("hoodie.metadata.max.reader.memory", integer, "Memory of reads of the metadata table.", _MEMORY),
    _harmless("hoodie.metadata.max.reader.buffer.size", integer, "Buffer of reads of the metadata table.", _MEMORY),
    # -- reading while writing
    _harmless(
        "hoodie.file.group.reader.enabled",
        boolean,
        "Read with Hudi's newer reader.",
        "it chooses between Hudi's readers; the rows are the same",
        READ,
        INPUT_FORMAT,
    ),
    _harmless("hoodie.metadata.optimized.log.blocks.scan.enable", boolean, "Read log blocks in another order.", _SCAN),
    _harmless("hoodie.optimized.log.blocks.scan.enable", boolean, "Read log blocks in another order.", _SCAN),
    _harmless(
        "hoodie.metadata.index.column.stats.inMemory.projection.threshold",
        integer,
        "Rows of column ranges up to which Hudi prunes without Spark.",
        "files are always pruned in this process",
    ),
    _harmless(
        "hoodie.metadata.max.logfile.size",
        integer,
        "Bytes after which Hudi begins another log file in the metadata table.",
        "each commit writes log files of its own there",
    ),
    Option(
        "hoodie.datasource.read.file.index.listing.mode",
        text,
        None,
        "When Hudi's file index lists partitions.",
        harmless={READ: _LISTING},
    ),
)
