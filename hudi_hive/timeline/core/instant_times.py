"""Makes instant times that are greater than every time on a timeline, even if the clock is behind it.

Where the clock is behind the timeline, because it was set back or another machine's is ahead, the next time is the
timeline's greatest plus one millisecond. A time after which there is none (``99999999999999999``, which is no date, or
the end of the year 9999) bars all that would have to come after it: it is refused before anything is announced.

Source: docs/format.md#instants, docs/format.md#states-and-payloads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from hudi_hive.errors import TimelineError
from hudi_hive.timeline.core.timeline import Timeline
from hudi_hive.timeline.instants import millis_to_instant

_DIGITS: Final = 17
_FIXED: Final = "0000"
"""What the fixed instants of bootstraps and metadata tables begin with, which are no dates."""


class InstantClock:
    """Makes instant times of 17 digits, each greater than the one before.

    Several processes are kept apart by the table's lock: a writer draws while it holds it, from a timeline that it
    read under it.

    Args:
        now_ms: the wall clock, in milliseconds since the epoch.
    """

    def __init__(self, now_ms: Callable[[], int] | None = None) -> None:
        self._now_ms = now_ms if now_ms is not None else lambda: time.time_ns() // 1_000_000
        self._last = ""
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, object]:
        return {"last": self._last}

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__init__()  # type: ignore[misc]
        self._last = state["last"]

    def new_instant(self, timeline: Timeline | None = None, timezone: str | None = None) -> str:
        """Make a requested time that is greater than all requested and completion times of a timeline.

        Where the wall clock is behind the timeline (another machine's is ahead, or the zone's clock was set back), the
        timeline's greatest time plus one millisecond.

        Args:
            timeline: as read just now; None for a table without one.
            timezone: the table's ``hoodie.table.timeline.timezone``; the timeline's without it.

        Raises:
            TimelineError: an instant of the timeline has a time after which there is none.
        """
        zone = timezone or (timeline.timezone if timeline is not None else "LOCAL")
        return self._draw(greatest_time(timeline) if timeline is not None else "", zone)

    def completion_time(self, timeline: Timeline | None, requested: str, timezone: str | None = None) -> str:
        """Make a completion time that is greater than the requested time and all times of a timeline.

        To be drawn under the table's lock, from a timeline that was read under it.

        Raises:
            TimelineError: an instant of the timeline has a time after which there is none.
        """
        zone = timezone or (timeline.timezone if timeline is not None else "LOCAL")
        greatest = greatest_time(timeline) if timeline is not None else ""
        return self._draw(max(greatest, requested[:_DIGITS]), zone)

    def _draw(self, floor_time: str, timezone: str) -> str:
        with self._lock:
            floor = max(floor_time, self._last)
            drawn = millis_to_instant(self._now_ms(), timezone)
            if drawn <= floor:
                drawn = next_time(floor)
            self._last = drawn
            return drawn


def greatest_time(timeline: Timeline) -> str:
    """The greatest requested or completion time of the active timeline, cut to 17 digits; empty without instants."""
    times = [instant.requested for instant in timeline.instants]
    times += [instant.completed for instant in timeline.instants if instant.completed]
    return max((time[:_DIGITS] for time in times), default="")


def next_time(instant: str) -> str:
    """The instant time one millisecond later, also across a change of daylight saving time.

    Args:
        instant: digits; of 14 digits the last millisecond counts, of more than 17 the first 17.

    Raises:
        TimelineError: it is no time, or the last one.
    """
    digits = instant + "999" if len(instant) == 14 else instant[:_DIGITS]
    if digits.startswith(_FIXED):
        return str(int(digits) + 1).rjust(_DIGITS, "0")
    try:
        if len(digits) != _DIGITS:
            raise ValueError(digits)
        moment = datetime.strptime(digits[:14], "%Y%m%d%H%M%S") + timedelta(milliseconds=int(digits[14:]) + 1)
    except (ValueError, OverflowError) as error:
        raise TimelineError(
            "no instant time comes after this one, which is no date or the last: nothing can be written",
            instant=instant,
            remedy="find out who made this instant; once it is known to hold nothing, move its files out of the "
            "timeline folder",
        ) from error
    return f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03d}".rjust(_DIGITS, "0")
