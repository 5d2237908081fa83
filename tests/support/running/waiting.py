"""Waiting for a state of something that goes on beside a test, however slow the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

SECONDS: Final = 300.0
"""The limit of every wait: only what hangs comes to it."""


def wait_until(state: Callable[[], T], what: str) -> T:
    """Look again and again until something is so.

    Args:
        state: what is looked at; waits until it gives something true.
        what: what is waited for, for the message.

    Returns:
        what ``state`` gave.

    Raises:
        AssertionError: it did not come to that.
    """
    start = time.monotonic()
    while not (seen := state()):
        waited = time.monotonic() - start
        assert waited < SECONDS, f"waited {SECONDS:.0f} s in vain: {what}"
        time.sleep(min(0.01 + waited / 20, 0.25))  # what takes long is looked at less often: each look costs
    return seen
