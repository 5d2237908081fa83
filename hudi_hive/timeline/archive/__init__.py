"""Reads archived instants: the archive log of table versions up to 6 and the LSM timeline of version 8 and later.

Source: docs/format.md#archive-of-layout-1, docs/format.md#lsm-timeline.
"""

from __future__ import annotations

from hudi_hive.timeline.archive.archive import ArchivedTimeline

__all__ = [
    "ArchivedTimeline",
]
