# ruff: noqa: RUF009 - Option.field() makes a dataclass field
"""Typed read options of Hudi (``hoodie.*``, ``as.of.instant``); options without effect here are refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from hudi_hive.options import (
    Face,
    HollowCommitPolicy,
    IncrementalFormat,
    MergeType,
    OptionSet,
    QueryType,
    as_texts,
    fill,
    read,
    table,
    write,
)
from hudi_hive.table.merge import register_mergers

__all__ = ["HollowCommitPolicy", "IncrementalFormat", "MergeType", "QueryType", "ReadOptions"]

_READ_OPTIONS: Final = OptionSet("read", Face.READ)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Hudi's options for a read, typed; None where the user said nothing.

    Attributes:
        query_type: ``hoodie.datasource.query.type``.
        begin, end: ``hoodie.datasource.read.begin.instanttime`` (exclusive) and ``…end.instanttime`` (inclusive).
        as_of: ``as.of.instant``.
        full_scan_fallback: ``hoodie.datasource.read.incr.fallback.fulltablescan.enable``: when files of the range were
            cleaned, filter the newest snapshot by commit time in place of refusing.
        hollow_policy: ``hoodie.read.timeline.holes.resolution.policy``; table version 6 only.
        partition_values_from_path: ``hoodie.datasource.read.extract.partition.values.from.path``.
        path_glob: ``hoodie.datasource.read.incr.path.glob``: only files whose path, relative to the table, matches.
        end_instant_schema: ``hoodie.datasource.read.schema.use.end.instanttime``: an incremental query shows the schema
            as of its last commit in place of the newest.
        schema_evolution: ``hoodie.schema.on.read.enable``: resolve renamed and reordered columns by their ids; when
            absent they are resolved wherever the table holds ids.
        metadata_enable: ``hoodie.metadata.enable``: partitions and files come from the metadata table where there is
            one (the default), or from directory listings.
        metadata_validate: ``hoodie.metadata.validate``: list folders as well, log differences, go by the listing.
        listing_parallelism: ``hoodie.file.listing.parallelism``: tasks in which Spark lists folders, at most.
        data_skipping: ``hoodie.enable.data.skipping``: leave files out by statistics and bloom filters of the metadata
            table (the default).
        record_index: ``hoodie.metadata.record.index.enable``: the caller says that each record key is in the table
            once, so that the record index may leave files out; inserts without index look-up can make that untrue.
        record_level_index: ``hoodie.metadata.record.level.index.enable``: each record key is in each partition once, so
            that a record index of each partition may leave files out.
        secondary_index: ``hoodie.metadata.index.secondary.enable``: secondary indexes may leave files out (the
            default); they too rely on each record key being in the table once.
        expression_index: ``hoodie.metadata.index.expression.enable``: expression indexes may leave files out (the
            default).
        incremental_format: ``hoodie.datasource.query.incremental.format``: ``cdc`` turns an incremental query into one
            for change data.
        merge_type: ``hoodie.datasource.merge.type``: ``skip_merge`` gives base rows and log records side by side.
        record_mergers: ``hudi_hive.record.mergers``: Python mergers, which are registered for this process.
        merge_memory: ``hoodie.memory.merge.max.size``: bytes of memory for merging the log files of a slice.
        spill_folder: ``hoodie.memory.spillable.map.path``: where merges go on that do not fit in them.
        merge_positions: ``hoodie.merge.use.record.positions``: positions of log blocks may tell which base rows their
            records replace, without the keys of the base file.
    """

    query_type: QueryType | None = read.QUERY_TYPE.field()
    begin: str | None = read.BEGIN.field()
    end: str | None = read.END.field()
    as_of: str | None = read.AS_OF.field()
    full_scan_fallback: bool = read.FULL_SCAN_FALLBACK.field()
    hollow_policy: HollowCommitPolicy = read.HOLLOW_POLICY.field()
    partition_values_from_path: bool = read.PARTITION_VALUES_FROM_PATH.field()
    path_glob: str | None = read.PATH_GLOB.field()
    end_instant_schema: bool = read.END_INSTANT_SCHEMA.field()
    schema_evolution: bool | None = write.SCHEMA_ON_READ.field()
    metadata_enable: bool | None = write.METADATA_ENABLE.field(None)
    metadata_validate: bool | None = read.METADATA_VALIDATE.field()
    listing_parallelism: int | None = read.LISTING_PARALLELISM.field()
    data_skipping: bool = read.DATA_SKIPPING.field()
    record_index: bool = write.RECORD_INDEX.field()
    record_level_index: bool = write.RECORD_LEVEL_INDEX.field()
    secondary_index: bool = read.SECONDARY_INDEX.field()
    expression_index: bool = read.EXPRESSION_INDEX.field()
    incremental_format: IncrementalFormat = read.INCREMENTAL_FORMAT.field()
    merge_type: MergeType = read.MERGE_TYPE.field()
    record_mergers: tuple[str, ...] = table.RECORD_MERGERS.field()
    merge_memory: int = read.MERGE_MEMORY.field()
    spill_folder: str | None = read.SPILL_FOLDER.field()
    merge_positions: bool = read.MERGE_POSITIONS.field()

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> ReadOptions:
        """Typed options of a mapping under Hudi's names.

        Args:
            options: names and values; values may be texts, numbers or booleans.

        Raises:
            InvalidOptionError: an option is unknown, not supported, has a value that it does not take, or contradicts
                another one.
        """
        texts = as_texts(options)
        _READ_OPTIONS.check(texts)
        parsed = fill(cls, texts)
        register_mergers(parsed.record_mergers)
        if parsed.query_type is None and read.READ_OPTIMIZED.of(texts):
            return replace(parsed, query_type=QueryType.READ_OPTIMIZED)
        return parsed
