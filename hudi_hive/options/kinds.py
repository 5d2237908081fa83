"""Words that options take and that much of the code decides by, as enumerations."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


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
    RECORD_LEVEL_INDEX = "RECORD_LEVEL_INDEX"
    INMEMORY = "INMEMORY"

    @property
    def is_global(self) -> bool:
        """Whether a key is looked for in all partitions, not only in the one that its row names."""
        return self in (
            IndexType.GLOBAL_SIMPLE,
            IndexType.GLOBAL_BLOOM,
            IndexType.RECORD_INDEX,
            IndexType.GLOBAL_RECORD_LEVEL_INDEX,
        )


class LayoutStrategy(StrEnum):
    """In what order clustering brings rows by its sort columns (``hoodie.layout.optimize.strategy``)."""

    LINEAR = "linear"
    ZORDER = "z-order"
    HILBERT = "hilbert"

    @property
    def is_curve(self) -> bool:
        """Whether rows come in the order of a space-filling curve, which counts all sort columns alike."""
        return self is not LayoutStrategy.LINEAR


class CurveBuildMethod(StrEnum):
    """What places a value on a space-filling curve (``hoodie.layout.optimize.curve.build.method``)."""

    DIRECT = "DIRECT"
    SAMPLE = "SAMPLE"


class PartitionFilterMode(StrEnum):
    """Which partitions a clustering is planned for (``hoodie.clustering.plan.partition.filter.mode``)."""

    NONE = "NONE"
    RECENT_DAYS = "RECENT_DAYS"
    SELECTED_PARTITIONS = "SELECTED_PARTITIONS"
    DAY_ROLLING = "DAY_ROLLING"


class QueryType(StrEnum):
    """What a scan shows of a table (``hoodie.datasource.query.type``)."""

    SNAPSHOT = "snapshot"
    READ_OPTIMIZED = "read_optimized"
    INCREMENTAL = "incremental"
    CDC = "cdc"

    @property
    def has_range(self) -> bool:
        """Whether the query is about a range of commits: it has a begin and maybe an end."""
        return self in (QueryType.INCREMENTAL, QueryType.CDC)


class IncrementalFormat(StrEnum):
    """What an incremental query shows of a changed row (``hoodie.datasource.query.incremental.format``)."""

    LATEST_STATE = "latest_state"
    CDC = "cdc"


class MergeType(StrEnum):
    """What a snapshot of merge-on-read slices does with log files (``hoodie.datasource.merge.type``)."""

    PAYLOAD_COMBINE = "payload_combine"
    SKIP_MERGE = "skip_merge"


class HollowCommitPolicy(StrEnum):
    """What an incremental query of a version 6 table does at a pending commit older than a completed one."""

    FAIL = "FAIL"
    BLOCK = "BLOCK"
    USE_TRANSITION_TIME = "USE_TRANSITION_TIME"


KEY_GENERATOR_CLASSES: Final = {
    "SimpleKeyGenerator": "SIMPLE",
    "SimpleAvroKeyGenerator": "SIMPLE_AVRO",
    "ComplexKeyGenerator": "COMPLEX",
    "ComplexAvroKeyGenerator": "COMPLEX_AVRO",
    "TimestampBasedKeyGenerator": "TIMESTAMP",
    "TimestampBasedAvroKeyGenerator": "TIMESTAMP_AVRO",
    "CustomKeyGenerator": "CUSTOM",
    "CustomAvroKeyGenerator": "CUSTOM_AVRO",
    "NonpartitionedKeyGenerator": "NON_PARTITION",
    "NonpartitionedAvroKeyGenerator": "NON_PARTITION_AVRO",
    "GlobalDeleteKeyGenerator": "GLOBAL_DELETE",
    "GlobalAvroDeleteKeyGenerator": "GLOBAL_DELETE_AVRO",
    "AutoRecordGenWrapperKeyGenerator": "AUTO_RECORD",
    "AutoRecordGenWrapperAvroKeyGenerator": "AUTO_RECORD_AVRO",
    "HoodieTableMetadataKeyGenerator": "HOODIE_TABLE_METADATA",
    "SqlKeyGenerator": "SPARK_SQL",
    "UuidKeyGenerator": "SPARK_SQL_UUID",
    "MergeIntoKeyGenerator": "SPARK_SQL_MERGE_INTO",
}
"""Simple names of Hudi's key generators, and their types as ``hoodie.table.keygenerator.type`` has them
(docs/format.md#key-generators)."""


def key_generator_name(text: str) -> str:
    """The type of a key generator that is given by its class or its type; ``USER_PROVIDED`` for one not Hudi's."""
    if text.upper() in KEY_GENERATOR_CLASSES.values():
        return text.upper()
    return KEY_GENERATOR_CLASSES.get(text.rpartition(".")[2], "USER_PROVIDED")
