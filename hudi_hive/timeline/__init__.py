"""The timeline: in come a table's storage and layout, out come its instants and what their files say, as Arrow tables.

One listing makes a ``Timeline``; metadata, plans and the archive are read when asked for. It knows the files that
commits name, not the files that folders hold. ``TimelineWriter`` makes files of instants.
"""

from hudi_hive.timeline.archive.archive import ArchivedTimeline
from hudi_hive.timeline.core.instant_times import InstantClock
from hudi_hive.timeline.core.timeline import Timeline
from hudi_hive.timeline.core.writer import TimelineWriter
from hudi_hive.timeline.instants.instant import Instant, State, instant_to_millis, millis_to_instant, normalise_instant
from hudi_hive.timeline.payloads.commit import CommitMetadata
from hudi_hive.timeline.payloads.encoders import CommitOut, encode_commit

__all__ = [
    "ArchivedTimeline",
    "CommitMetadata",
    "CommitOut",
    "Instant",
    "InstantClock",
    "State",
    "Timeline",
    "TimelineWriter",
    "encode_commit",
    "instant_to_millis",
    "millis_to_instant",
    "normalise_instant",
]
