"""Options of Hudi whose effect there is not here: refused by name, but for values that say what is done anyway."""

from __future__ import annotations

from typing import Final

from hudi_hive.names import (
    HOODIE_BOOTSTRAP_BASE_PATH,
    HOODIE_DATASOURCE_WRITE_SLASH_SEPARATED_DATE_PARTITIONING,
    HOODIE_DATASOURCE_WRITE_SLASH_SEPARATED_DATE_PARTITIONPATH,
    HOODIE_PARTITION_METAFILE_USE_BASE_FORMAT,
    HOODIE_TABLE_MULTIPLE_BASE_FILE_FORMATS_ENABLE,
)
from hudi_hive.options.declaration import OLDEST_TABLE_VERSION, Face, Option, Refused
from hudi_hive.options.parsers import any_text

_OFF: Final = ("false",)


def _unsupported(name: str, but_for: tuple[str, ...], remedy: str, *, since: int = OLDEST_TABLE_VERSION) -> Option[str]:
    return Option(name, any_text, "", "Not supported.", refused={Face.WRITE: Refused(remedy, but_for)}, since=since)


UNSUPPORTED_OPTIONS: Final = (
    _unsupported("hoodie.index.class", ("",), "index classes of your own are not known: set hoodie.index.type"),
    _unsupported(
        "hoodie.storage.layout.partitioner.class",
        ("", "org.apache.hudi.table.action.commit.sparkbucketindexpartitioner"),
        "rows are brought to the buckets by the index alone",
    ),
    _unsupported(
        "hoodie.metadata.dir.filter.regex", ("",), "every folder with a partition metafile is in the metadata table"
    ),
    _unsupported("hoodie.metadata.auto.initialize", ("true",), "set hoodie.metadata.enable=false where none is wanted"),
    _unsupported("hoodie.fail.on.timeline.archiving", _OFF, "the commit stands; see services.failed of its report"),
    _unsupported("hoodie.auto.commit", ("true",), "a write is one commit"),
    _unsupported("hoodie.parquet.writelegacyformat.enabled", ("", "false", "auto"), "lists have three levels"),
    _unsupported("hoodie.payload.event.time.field", ("",), "commits do not hold the range of event times"),
    _unsupported("hoodie.write.track.event.time.watermark", _OFF, "commits do not hold the range of event times"),
    _unsupported(
        "hoodie.datasource.write.schema.allow.auto.evolution.column.drop",
        _OFF,
        "columns that rows lack stay; drop them with HudiTable.update_schema or `hudi-hive schema alter`",
    ),
    _unsupported("hoodie.parquet.outputtimestamptype", ("timestamp_micros",), "timestamps are written in microseconds"),
    _unsupported(
        "hoodie.metadata.index.column.stats.file.group.count", ("2",), "column statistics have two file groups"
    ),
    _unsupported(
        "hoodie.metadata.index.partition.stats.file.group.count",
        ("1",),
        "partition statistics have one file group",
        since=8,
    ),
    _unsupported("hoodie.clustering.preserve.commit.metadata", ("true",), "records keep their commit times"),
    _unsupported(
        "hoodie.clustering.updates.strategy",
        ("", "org.apache.hudi.client.clustering.update.strategy.sparkrejectupdatestrategy"),
        "updates of file groups under pending clustering are refused",
    ),
    _unsupported(
        "hoodie.write.lock.conflict.resolution.strategy",
        ("", "org.apache.hudi.client.transaction.simpleconcurrentfilewritesconflictresolutionstrategy"),
        "writers conflict when they change the same file groups",
    ),
    _unsupported(
        "hoodie.write.concurrency.early.conflict.detection.strategy",
        ("", "org.apache.hudi.table.marker.simpledirectmarkerbaseddetectionstrategy"),
        "writers look at the markers before each file, without a lock",
    ),
    _unsupported(
        "hoodie.write.concurrency.early.conflict.check.commit.conflict",
        _OFF,
        "conflicts with commits that are complete show at the commit",
    ),
    _unsupported("hoodie.allow.operation.metadata.field", _OFF, "the column _hoodie_operation is not written"),
    _unsupported(HOODIE_TABLE_MULTIPLE_BASE_FILE_FORMATS_ENABLE, _OFF, "base files of a table are of one format"),
    _unsupported(HOODIE_BOOTSTRAP_BASE_PATH, ("",), "hudi_hive.spark.bootstrap makes bootstrapped tables"),
    _unsupported("hoodie.write.ignore.failed", _OFF, "a failed write is an error"),
    _unsupported(
        "hoodie.bulkinsert.user.defined.partitioner.class",
        (
            "",
            "org.apache.hudi.execution.bulkinsert.rowcustomcolumnssortpartitioner",
            "org.apache.hudi.execution.bulkinsert.rddcustomcolumnssortpartitioner",
        ),
        "use hoodie.bulkinsert.sort.mode, or hoodie.bulkinsert.user.defined.partitioner.sort.columns",
    ),
    _unsupported(
        "hoodie.write.partial.update.enable", _OFF, "log blocks with a part of the columns are not written", since=8
    ),
    _unsupported(
        "hoodie.log.compaction.enable",
        _OFF,
        "for a table Hudi itself goes by hoodie.log.compaction.inline; those of the metadata table compaction merges",
    ),
    _unsupported("hoodie.metadata.log.compaction.enable", _OFF, "log blocks are merged by compaction"),
    _unsupported(HOODIE_DATASOURCE_WRITE_SLASH_SEPARATED_DATE_PARTITIONING, _OFF, "partition by a timestamp generator"),
    _unsupported(
        HOODIE_DATASOURCE_WRITE_SLASH_SEPARATED_DATE_PARTITIONPATH, _OFF, "partition by a timestamp generator"
    ),
    _unsupported(HOODIE_PARTITION_METAFILE_USE_BASE_FORMAT, _OFF, "partition metafiles are text"),
    _unsupported("hoodie.optimistic.consistency.guard.enable", _OFF, "storage is taken to be consistent"),
    _unsupported("hoodie.write.schema", ("",), "the schema is that of the rows"),
    _unsupported("hoodie.write.commit.callback.on", _OFF, "call back after the write returned"),
    _unsupported("hoodie.merge.data.validation.enabled", _OFF, "rows are counted in the write's own way"),
    _unsupported("hoodie.layout.optimize.enable", _OFF, "Hudi itself goes by hoodie.layout.optimize.strategy alone"),
)
