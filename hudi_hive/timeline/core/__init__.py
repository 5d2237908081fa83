"""The timeline of one table: loads its instants, makes new instant times, and writes instants' files.

Source: docs/format.md#timeline.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562 gives whatever the module holds
    """Loaded on first use: readers write no instants."""
    if name in _HOMES:
        return getattr(import_module(f"hudi_hive.timeline.core.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'hudi_hive.timeline.core' has no attribute {name!r}")
