"""Instants of the timeline: their times, actions, states and the names of their files.

Source: docs/format.md#instants.
"""

from __future__ import annotations

from hudi_hive.timeline.instants.instant import (
    ACTIONS,
    CLEAN,
    CLUSTERING,
    COMMIT,
    COMPACTION,
    COMPLETED_WRITE_ACTIONS,
    DELTA_COMMIT,
    FULL_BOOTSTRAP_INSTANT,
    INDEXING,
    LOG_COMPACTION,
    METADATA_BOOTSTRAP_INSTANT,
    REPLACE_COMMIT,
    RESTORE,
    ROLLBACK,
    SAVEPOINT,
    WRITE_ACTIONS,
    Instant,
    InstantOrder,
    State,
    comparable_action,
    instant_file_name,
    instant_to_millis,
    millis_to_instant,
    normalise_instant,
    parse_instant_name,
)

__all__ = [
    "ACTIONS",
    "CLEAN",
    "CLUSTERING",
    "COMMIT",
    "COMPACTION",
    "COMPLETED_WRITE_ACTIONS",
    "DELTA_COMMIT",
    "FULL_BOOTSTRAP_INSTANT",
    "INDEXING",
    "LOG_COMPACTION",
    "METADATA_BOOTSTRAP_INSTANT",
    "REPLACE_COMMIT",
    "RESTORE",
    "ROLLBACK",
    "SAVEPOINT",
    "WRITE_ACTIONS",
    "Instant",
    "InstantOrder",
    "State",
    "comparable_action",
    "instant_file_name",
    "instant_to_millis",
    "millis_to_instant",
    "normalise_instant",
    "parse_instant_name",
]
