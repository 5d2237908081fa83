"""ORC files below the level of rows: footers, statistics, and Hive's ACID files with their five event columns.

Source: ORC specification v1; docs/format/hive.md#hive-acid-events, docs/format/hive.md#hive-acid-orc-footer.
"""

from __future__ import annotations

from hudi_hive.formats.orc.acid import ACID_FIELDS, DELETE, INSERT, UPDATE, BucketProperty, Key, first_descent
from hudi_hive.formats.orc.acid_writer import CODECS, DeleteDeltaWriter, DeltaWriter
from hudi_hive.formats.orc.column_ranges import stripe_ranges
from hudi_hive.formats.orc.footer import read_stripes
from hudi_hive.formats.orc.held_output import HeldOutput
from hudi_hive.formats.orc.hive_type import HiveType, parse_hive_type
from hudi_hive.formats.orc.hive_values import as_hive_reads, has_days
from hudi_hive.formats.orc.tail import JULIAN, PROLEPTIC_GREGORIAN, parse_tail, read_tail
from hudi_hive.formats.orc.wide_timestamps import is_out_of_range, read_wide_stripe
from hudi_hive.formats.orc.writable import writable

__all__ = [
    "ACID_FIELDS",
    "CODECS",
    "DELETE",
    "INSERT",
    "JULIAN",
    "PROLEPTIC_GREGORIAN",
    "UPDATE",
    "BucketProperty",
    "DeleteDeltaWriter",
    "DeltaWriter",
    "HeldOutput",
    "HiveType",
    "Key",
    "as_hive_reads",
    "first_descent",
    "has_days",
    "is_out_of_range",
    "parse_hive_type",
    "parse_tail",
    "read_stripes",
    "read_tail",
    "read_wide_stripe",
    "stripe_ranges",
    "writable",
]
