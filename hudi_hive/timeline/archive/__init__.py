"""Reads archived instants: the archive log of table versions up to 6 and the LSM timeline of version 8 and later."""

from __future__ import annotations

from hudi_hive.timeline.archive.archive import ArchivedTimeline

__all__ = [
    "ArchivedTimeline",
]
