"""Moves old instants from the active to the archived timeline.

Source: docs/format.md#archived-timeline.
"""

from __future__ import annotations

from hudi_hive.timeline.archival.archive_files import HistoryArchiveWriter, LogArchiveWriter, StateFile
from hudi_hive.timeline.archival.archive_writer import MAX_COMMITS, MIN_COMMITS, ArchiveReport, archive
from hudi_hive.timeline.archival.selection import rollbacks_of

__all__ = [
    "MAX_COMMITS",
    "MIN_COMMITS",
    "ArchiveReport",
    "HistoryArchiveWriter",
    "LogArchiveWriter",
    "StateFile",
    "archive",
    "rollbacks_of",
]
