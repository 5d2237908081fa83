"""Chooses of the files of each instant the one of its highest state."""

from __future__ import annotations

from collections.abc import Iterable

from hudi_hive.timeline.instants import Instant


def highest_states(instants: Iterable[Instant]) -> list[Instant]:
    """The instant of the highest state for each requested time and comparable action."""
    best: dict[tuple[str, str], Instant] = {}
    for instant in instants:
        key = (instant.requested, instant.comparable_action)
        known = best.get(key)
        if known is None or _rank(instant) > _rank(known):
            best[key] = instant
    return list(best.values())


def _rank(instant: Instant) -> tuple[int, str]:
    # Two completed files of one instant must not be; if they are, the later completion counts, in any listing order.
    return int(instant.state), instant.completed or ""
