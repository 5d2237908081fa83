"""The timeline of a table: its instants, the metadata and plans in their files, its archive and its writers.

One listing makes a ``Timeline``; metadata, plans and the archive are read on demand. It knows the files that
commits name, not the files that folders hold. ``TimelineWriter`` makes files of instants.

Source: docs/format.md#timeline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.lazy_names import lazy_names
from hudi_hive.timeline.core import Timeline, timeline_folder
from hudi_hive.timeline.instants import Instant, State, instant_to_millis, millis_to_instant, normalise_instant
from hudi_hive.timeline.payloads import CommitMetadata

if TYPE_CHECKING:
    from hudi_hive.timeline.archive import ArchivedTimeline
    from hudi_hive.timeline.core import InstantClock, TimelineWriter
    from hudi_hive.timeline.payloads import NewCommitMetadata, encode_commit

__all__ = [
    "ArchivedTimeline",
    "CommitMetadata",
    "Instant",
    "InstantClock",
    "NewCommitMetadata",
    "State",
    "Timeline",
    "TimelineWriter",
    "encode_commit",
    "instant_to_millis",
    "millis_to_instant",
    "normalise_instant",
    "timeline_folder",
]

_HOMES = {
    "ArchivedTimeline": "archive",
    "InstantClock": "core",
    "NewCommitMetadata": "payloads",
    "TimelineWriter": "core",
    "encode_commit": "payloads",
}

# Loaded on first use: readers write no instants, and few read archived ones.
__getattr__ = lazy_names(__name__, _HOMES)
