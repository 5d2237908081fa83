"""Write options that set no field: ones about the engine alone, ones that others read, ones that are refused.

Refused are options whose effect we do not have; the values that ask for nothing are taken.
"""

from __future__ import annotations

from typing import Final

from hudi_hive.write.options.option_fields import Read, decimal, flag, integer, text, word

ENGINE_ONLY: Final[dict[str, Read]] = {
    "hoodie.parquet.compression.ratio": decimal,
    "hoodie.logfile.max.size": integer,
    "hoodie.logfile.to.parquet.compression.ratio": decimal,
    "hoodie.cleaner.incremental.mode": flag,
    "hoodie.clean.incremental.enabled": flag,
    "hoodie.clean.async": flag,
    "hoodie.clean.async.enabled": flag,
    "hoodie.clean.allow.multiple": flag,
    "hoodie.clean.multiple.enabled": flag,
    "hoodie.rollback.using.markers": flag,
    "hoodie.write.markers.type": word("DIRECT", "TIMELINE_SERVER_BASED"),
    "hoodie.write.lock.wait_time_ms": integer,
    "hoodie.write.lock.num_retries": integer,
    "hoodie.write.lock.wait_time_ms_between_retry": integer,
    "hoodie.time.generator.max_expected_clock_skew_ms": integer,
    "hoodie.insert.shuffle.parallelism": integer,
    "hoodie.upsert.shuffle.parallelism": integer,
    "hoodie.delete.shuffle.parallelism": integer,
    "hoodie.bulkinsert.shuffle.parallelism": integer,
    "hoodie.rollback.parallelism": integer,
    "hoodie.cleaner.parallelism": integer,
    "hoodie.clean.parallelism": integer,
    "hoodie.archive.async": flag,
    "hoodie.commits.archival.batch": integer,
    "hoodie.archive.delete.parallelism": integer,
    "hoodie.archive.merge.enable": flag,
    "hoodie.archive.merge.files.batch.size": integer,
    "hoodie.archive.merge.small.file.limit.bytes": integer,
    "hoodie.timeline.compaction.batch.size": integer,
    "hoodie.bloom.index.parallelism": integer,
    "hoodie.bloom.index.use.caching": flag,
    "hoodie.bloom.index.use.treebased.filter": flag,
    "hoodie.bloom.index.bucketized.checking": flag,
    "hoodie.bloom.index.keys.per.bucket": integer,
    "hoodie.simple.index.parallelism": integer,
    "hoodie.simple.index.use.caching": flag,
    "hoodie.global.simple.index.parallelism": integer,
    "hoodie.record.index.use.caching": flag,
    "hoodie.storage.layout.type": word("DEFAULT", "BUCKET"),
    "hoodie.finalize.write.parallelism": integer,
    "hoodie.file.listing.parallelism": integer,
    "hoodie.markers.delete.parallelism": integer,
    "hoodie.markers.timeline_server_based.batch.num_threads": integer,
    "hoodie.markers.timeline_server_based.batch.interval_ms": integer,
    "hoodie.embed.timeline.server": flag,
    "hoodie.embed.timeline.server.async": flag,
    "hoodie.embed.timeline.server.reuse.enabled": flag,
    "hoodie.datasource.write.row.writer.enable": flag,
    "hoodie.write.status.storage.level": text,
    "hoodie.write.buffer.limit.bytes": integer,
    "hoodie.write.executor.type": text,
    "hoodie.combine.parallelism": integer,
    "hoodie.memory.merge.fraction": decimal,
    "hoodie.memory.merge.max.size": integer,
    "hoodie.memory.compaction.fraction": decimal,
    "hoodie.memory.compaction.max.size": integer,
    "hoodie.memory.spillable.map.path": text,
    "hoodie.memory.dfs.buffer.max.size": integer,
    "hoodie.common.spillable.diskmap.type": text,
    "hoodie.common.diskmap.compression.enabled": flag,
    "hoodie.filesystem.view.type": text,
    "hoodie.filesystem.view.remote.timeout.secs": integer,
    "hoodie.merge.use.record.positions": flag,
    "hoodie.file.group.reader.enabled": flag,
    "hoodie.metadata.index.column.stats.parallelism": integer,
    "hoodie.metadata.index.column.stats.inMemory.projection.threshold": integer,
    "hoodie.metadata.index.bloom.filter.parallelism": integer,
    "hoodie.metadata.index.check.timeout.seconds": integer,
    "hoodie.metadata.max.init.parallelism": integer,
    "hoodie.metadata.max.logfile.size": integer,
    "hoodie.metadata.max.reader.memory": integer,
    "hoodie.metadata.max.reader.buffer.size": integer,
    "hoodie.metadata.spillable.map.path": text,
    "hoodie.metadata.optimized.log.blocks.scan.enable": flag,
    "hoodie.optimized.log.blocks.scan.enable": flag,
    "hoodie.consistency.check.enabled": flag,
    "hoodie.write.complex.keygen.validation.enable": flag,
    "hoodie.write.auto.upgrade": flag,
    "hoodie.avro.schema.validate": flag,
    "hoodie.avro.schema.external.transformation": flag,
    "hoodie.parquet.field_id.write.enabled": flag,
    "hoodie.spark.sql.insert.into.operation": text,
    "hoodie.spark.sql.optimized.writes.enable": flag,
}
"""Options that say how Hudi's own engine goes about it, never which rows come out: checked, of no further effect."""

_TIME_FORMAT: Final = (
    "timestamp.type",
    "timestamp.scalar.time.unit",
    "input.dateformat",
    "input.dateformat.list.delimiter.regex",
    "input.timezone",
    "output.dateformat",
    "output.timezone",
    "timezone",
)
TIME_FORMATS: Final = ("hoodie.keygen.timebased.", "hoodie.deltastreamer.keygen.timebased.")
"""Beginnings of the options of the timestamp key generator; what follows is the same."""

_MERGE: Final = "hoodie.record.merge.property."
MERGE_PROPERTIES: Final[dict[str, str]] = {
    start + name: _MERGE + name
    for name in (
        "hoodie.payload.delete.field",
        "hoodie.payload.delete.marker",
        "hoodie.write.partial.update.unavailable.value",
    )
    for start in ("", _MERGE)
}
"""Options of the merge → the table properties that hold them: readers merge by what the table says."""

PASSED_ON: Final = frozenset(
    {
        *(start + name for start in TIME_FORMATS for name in _TIME_FORMAT),
        *MERGE_PROPERTIES,
        "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled",
        "hoodie.write.complex.keygen.new.encoding",
        "hoodie.write.lock.heartbeat_interval_ms",
    }
)
"""Options that the key generator, the merge and the locks read themselves."""

REFUSED: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "hoodie.datasource.compaction.async.enable": (
        ("false",),
        "nothing runs in the background: plan with hoodie.compact.schedule.inline, run `hudi-hive table compact`",
    ),
    "hoodie.clustering.async.enabled": (
        ("false",),
        "nothing runs in the background: plan with hoodie.clustering.schedule.inline, run `hudi-hive table cluster`",
    ),
    "hoodie.datasource.clustering.async.enable": (
        ("false",),
        "nothing runs in the background: plan with hoodie.clustering.schedule.inline, run `hudi-hive table cluster`",
    ),
    "hoodie.index.class": (("",), "index classes of your own are not known: set hoodie.index.type"),
    "hoodie.storage.layout.partitioner.class": (
        ("", "org.apache.hudi.table.action.commit.sparkbucketindexpartitioner"),
        "rows are brought to the buckets by the index alone",
    ),
    "hoodie.metadata.dir.filter.regex": (("",), "every folder with a partition metafile is in the metadata table"),
    "hoodie.metadata.auto.initialize": (("true",), "set hoodie.metadata.enable=false where none is wanted"),
    "hoodie.metrics.on": (("false",), "what a write did is in its report"),
    "hoodie.fail.on.timeline.archiving": (("false",), "the commit stands; see services.failed of its report"),
    "hoodie.auto.commit": (("true",), "a write is one commit"),
    "hoodie.parquet.writelegacyformat.enabled": (("", "false", "auto"), "lists have three levels"),
    "hoodie.payload.event.time.field": (("",), "commits do not hold the range of event times"),
    "hoodie.write.track.event.time.watermark": (("false",), "commits do not hold the range of event times"),
    "hoodie.datasource.write.schema.allow.auto.evolution.column.drop": (
        ("false",),
        "columns that rows lack stay; drop them with HudiTable.update_schema or `hudi-hive schema alter`",
    ),
    "hoodie.parquet.outputtimestamptype": (("timestamp_micros",), "timestamps are written in microseconds"),
    "hoodie.metadata.index.column.stats.file.group.count": (("2",), "column statistics have two file groups"),
    "hoodie.metadata.index.partition.stats.file.group.count": (("1",), "partition statistics have one file group"),
    "hoodie.clustering.async.max.commits": (("4",), "schedule clustering with `hudi-hive table cluster`"),
    "hoodie.clustering.preserve.commit.metadata": (("true",), "records keep their commit times"),
    "hoodie.clustering.updates.strategy": (
        ("", "org.apache.hudi.client.clustering.update.strategy.sparkrejectupdatestrategy"),
        "updates of file groups under pending clustering are refused",
    ),
    "hoodie.write.lock.conflict.resolution.strategy": (
        ("", "org.apache.hudi.client.transaction.simpleconcurrentfilewritesconflictresolutionstrategy"),
        "writers conflict when they change the same file groups",
    ),
    "hoodie.write.concurrency.early.conflict.detection.enable": (("false",), "conflicts show when a write completes"),
    "hoodie.allow.operation.metadata.field": (("false",), "the column _hoodie_operation is not written"),
    "hoodie.table.multiple.base.file.formats.enable": (("false",), "base files are Parquet"),
    "hoodie.bootstrap.base.path": (("",), "bootstrap tables with Hudi's own tools"),
    "hoodie.datasource.write.streaming.ignore.failed.batch": (("false",), "a failed write is an error"),
    "hoodie.write.ignore.failed": (("false",), "a failed write is an error"),
    "hoodie.datasource.write.streaming.disable.compaction": (("false",), "set hoodie.compact.inline"),
    "hoodie.bulkinsert.user.defined.partitioner.class": (
        (
            "",
            "org.apache.hudi.execution.bulkinsert.rowcustomcolumnssortpartitioner",
            "org.apache.hudi.execution.bulkinsert.rddcustomcolumnssortpartitioner",
        ),
        "use hoodie.bulkinsert.sort.mode, or hoodie.bulkinsert.user.defined.partitioner.sort.columns",
    ),
    "hoodie.write.partial.update.enable": (("false",), "log blocks with a part of the columns are not written"),
    "hoodie.log.compaction.inline": (("false",), "log blocks are merged by compaction"),
    "hoodie.log.compaction.enable": (("false",), "log blocks are merged by compaction"),
    "hoodie.metadata.log.compaction.enable": (("false",), "log blocks are merged by compaction"),
    "hoodie.metadata.index.async": (("false",), "build the index with `hudi-hive metadata init`"),
    "hoodie.metadata.index.secondary.enable": (("false",), "secondary indexes are not written"),
    "hoodie.metadata.index.expression.enable": (("false",), "expression indexes are not written"),
    "hoodie.metadata.record.level.index.enable": (("false",), "the record index covers the whole table"),
    "hoodie.datasource.write.slash.separated.date.partitionpath": (("false",), "partition by a timestamp generator"),
    "hoodie.partition.metafile.use.base.format": (("false",), "partition metafiles are text"),
    "hoodie.optimistic.consistency.guard.enable": (("false",), "storage is taken to be consistent"),
    "hoodie.write.schema": (("",), "the schema is that of the rows"),
    "hoodie.write.commit.callback.on": (("false",), "call back after the write returned"),
    "hoodie.precommit.validators": (("",), "check the rows before they are written"),
    "hoodie.merge.data.validation.enabled": (("false",), "rows are counted in the write's own way"),
    "hoodie.layout.optimize.enable": (("false",), "cluster with hoodie.clustering.plan.strategy.sort.columns"),
    "hoodie.layout.optimize.strategy": (("linear",), "space-filling curves are not written"),
}
"""Known options that are not supported → the values that ask for nothing, and what to do in place of it."""
