"""The timeline of one table: loads its instants, makes new instant times, and writes instants' files.

Source: docs/format.md#timeline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.lazy_names import lazy_names
from hudi_hive.timeline.core.instant_files import timeline_folder
from hudi_hive.timeline.core.timeline import Timeline

if TYPE_CHECKING:
    from hudi_hive.timeline.core.heartbeats import HEARTBEAT_FOLDER, heartbeat_mtimes
    from hudi_hive.timeline.core.instant_times import InstantClock
    from hudi_hive.timeline.core.writer import STAGING, TimelineSettings, TimelineWriter, staging_folder

__all__ = [
    "HEARTBEAT_FOLDER",
    "STAGING",
    "InstantClock",
    "Timeline",
    "TimelineSettings",
    "TimelineWriter",
    "heartbeat_mtimes",
    "staging_folder",
    "timeline_folder",
]

_HOMES = {
    "HEARTBEAT_FOLDER": "heartbeats",
    "InstantClock": "instant_times",
    "STAGING": "writer",
    "TimelineSettings": "writer",
    "TimelineWriter": "writer",
    "heartbeat_mtimes": "heartbeats",
    "staging_folder": "writer",
}

# Loaded on first use: readers write no instants.
__getattr__ = lazy_names(__name__, _HOMES)
