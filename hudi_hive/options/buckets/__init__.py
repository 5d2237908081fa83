"""Options of the bucket index, and the strategies of clustering that go with it."""

from __future__ import annotations

from typing import Final

from hudi_hive.options.declaration import Face, Option
from hudi_hive.options.parsers import between, choice, decimal_from_zero, items, optional, positive, text

CONSISTENT_HASHING: Final = "CONSISTENT_HASHING"
BUCKET_ENGINE: Final = Option(
    "hoodie.index.bucket.engine",
    choice("SIMPLE", CONSISTENT_HASHING),
    "SIMPLE",
    "Bucket index: a fixed number of buckets, or consistent hashing, whose buckets clustering splits and merges.",
    honoured_by=(Face.WRITE,),
)
BUCKET_COUNT: Final = Option(
    "hoodie.bucket.index.num.buckets",
    # File ids hold the number of the bucket in eight digits.
    between(1, 99_999_999),
    256,
    "Bucket index: buckets of a partition; under consistent hashing those that a new one begins with.",
    honoured_by=(Face.WRITE,),
)
BUCKET_MAX: Final = Option[int | None](
    "hoodie.bucket.index.max.num.buckets",
    optional(positive),
    None,
    "Consistent hashing: above so many buckets a partition is not split; as many as at first if not given, or fewer.",
    honoured_by=(Face.WRITE,),
)
BUCKET_MIN: Final = Option[int | None](
    "hoodie.bucket.index.min.num.buckets",
    optional(positive),
    None,
    "Consistent hashing: below so many buckets a partition is not merged; as many as at first if not given, or more.",
    honoured_by=(Face.WRITE,),
)
BUCKET_SPLIT: Final = Option(
    "hoodie.bucket.index.split.threshold",
    decimal_from_zero,
    2.0,
    "Consistent hashing: clustering splits buckets above so many times the size of a base file "
    "(`hoodie.parquet.max.file.size`).",
    honoured_by=(Face.WRITE,),
)
BUCKET_MERGE: Final = Option(
    "hoodie.bucket.index.merge.threshold",
    decimal_from_zero,
    0.2,
    "Consistent hashing: clustering merges buckets in a row below so many times that size.",
    honoured_by=(Face.WRITE,),
)
BUCKET_FIELDS: Final = Option[tuple[str, ...]](
    "hoodie.bucket.index.hash.field",
    items,
    (),
    "Bucket index: key fields whose values tell the bucket; all of them by default.",
    honoured_by=(Face.WRITE,),
)

BUCKET_RULES: Final = Option[str | None](
    "hoodie.bucket.index.partition.expressions",
    optional(text),
    None,
    "Bucket index: numbers of buckets by partition, `EXPRESSION,BUCKETS` with semicolons between: that of the first "
    "regular expression that is found in the partition's path, else `hoodie.bucket.index.num.buckets`. To be given to "
    "each writer, unless the table itself has such rules (of a rescaling by Hudi), which count.",
    honoured_by=(Face.WRITE,),
)
BUCKET_RULE_TYPE: Final = Option(
    "hoodie.bucket.index.partition.rule.type",
    choice("regex"),
    "regex",
    "Bucket index: what these rules are.",
    harmless={Face.WRITE: "rules of Hudi are regular expressions only; another type is refused"},
)

BUCKET_OPTIONS: Final = (
    BUCKET_ENGINE,
    BUCKET_COUNT,
    BUCKET_MAX,
    BUCKET_MIN,
    BUCKET_SPLIT,
    BUCKET_MERGE,
    BUCKET_FIELDS,
    BUCKET_RULES,
    BUCKET_RULE_TYPE,
)

CONSISTENT_PLAN: Final = "SparkConsistentBucketClusteringPlanStrategy"
CONSISTENT_EXECUTIONS: Final = (
    "SparkConsistentBucketClusteringExecutionStrategy",
    "SingleSparkJobConsistentHashingExecutionStrategy",
)
"""Simple names of Hudi's classes that resize buckets."""
