"""Mergers of users for tests: ways of merging that Hudi has too, and one that it has not, over Arrow columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive import MergedRecords, RecordVersions

EVENT_TIME = "com.acme.EventTime"
NON_DEFAULTS = "com.acme.NonDefaults"
SUM = "com.acme.Sum"
STRATEGY = "7f6b0f0c-3c63-4f2a-9d0e-1f1f6c5a0001"


def _chosen(take_older: pa.Array, older: RecordVersions, newer: RecordVersions) -> pa.RecordBatch:
    columns = [pc.if_else(take_older, a, b) for a, b in zip(older.rows.columns, newer.rows.columns, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=newer.rows.schema)


def event_time(older: RecordVersions, newer: RecordVersions) -> MergedRecords:
    """As ``EventTimeAvroPayload`` in table version 8: the greater ``ts``, the later one among equals."""
    mine, theirs = newer.rows.column("ts"), older.rows.column("ts")
    plain = pc.and_(newer.deletes, pc.is_null(mine))  # a delete without ordering value deletes
    stays = pc.and_(pc.invert(plain), pc.less(mine, theirs).fill_null(False))
    return MergedRecords(_chosen(stays, older, newer), pc.if_else(stays, older.deletes, newer.deletes), stays)


def non_defaults(older: RecordVersions, newer: RecordVersions) -> MergedRecords:
    """As ``OverwriteNonDefaultsWithLatestAvroPayload``: nulls of the newer row leave the older values."""
    lends = pc.invert(older.deletes)
    columns = [
        pc.if_else(pc.and_(lends, pc.is_null(mine)), theirs, mine)
        for theirs, mine in zip(older.rows.columns, newer.rows.columns, strict=True)
    ]
    return MergedRecords(pa.RecordBatch.from_arrays(columns, schema=newer.rows.schema), newer.deletes)


def total(older: RecordVersions, newer: RecordVersions) -> MergedRecords:
    """The sum of column ``n``; a delete that the newest row brings deletes."""
    at = newer.rows.schema.get_field_index("n")
    before = pc.if_else(older.deletes, 0, older.rows.column(at)).fill_null(0)
    rows = newer.rows.set_column(at, newer.rows.schema.field(at), pc.add(before, newer.rows.column(at)))
    return MergedRecords(pa.table(rows.columns, schema=rows.schema), newer.deletes)


def longest_fold(older: RecordVersions, newer: RecordVersions) -> MergedRecords:
    """Joins the texts of column ``name`` in the order in which they come."""
    at = newer.rows.schema.get_field_index("name")
    texts = pc.binary_join_element_wise(older.rows.column(at), newer.rows.column(at), ">", null_handling="skip")
    rows = newer.rows.set_column(at, newer.rows.schema.field(at), texts)
    return MergedRecords(rows, pa.array(np.zeros(rows.num_rows, np.bool_)))


def latest(older: RecordVersions, newer: RecordVersions) -> MergedRecords:
    """The later version."""
    return MergedRecords(newer.rows, newer.deletes)
