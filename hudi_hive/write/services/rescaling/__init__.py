"""Gives partitions of a table with a bucket index other numbers of buckets, by rules (RFC-89)."""

from hudi_hive.write.services.rescaling.bucket_rescaling import (
    Rescaling,
    added_rules,
    plan_rescaling,
    rescale_partitions,
    rescaling_rules,
    roll_back_rescaling,
)

__all__ = [
    "Rescaling",
    "added_rules",
    "plan_rescaling",
    "rescale_partitions",
    "rescaling_rules",
    "roll_back_rescaling",
]
