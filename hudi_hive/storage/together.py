"""Runs calls that wait for a store at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final, Protocol, TypeVar

_T = TypeVar("_T")

_THREADS: Final = 32
_INTERRUPT_S: Final = 0.5
"""Most seconds until an interrupt is noticed that came when a wait was about to begin: Python's locks miss that one."""


class Place(Protocol):
    """The interface of what calls wait for; ``Storage`` implements it."""

    @property
    def is_local(self) -> bool:
        """Whether the files are on the local disk."""


def run_together(storage: Place, calls: Sequence[Callable[[], _T]]) -> list[_T]:
    """Call functions that each wait for a remote store at the same time; one after the other for a local disk.

    Args:
        storage: what they wait for.
        calls: the functions.

    Returns:
        What each returned, in their order.

    Raises:
        Exception: what the first of them in their order raised, once all have ended.
    """
    if storage.is_local or len(calls) < 2:
        return [call() for call in calls]
    threads = ThreadPoolExecutor(min(_THREADS, len(calls)), thread_name_prefix="hudi-wait")
    try:
        futures = [threads.submit(call) for call in calls]
        while wait(futures, _INTERRUPT_S).not_done:
            pass
    finally:  # after an interrupt those that have not begun do not begin any more
        threads.shutdown(wait=False, cancel_futures=True)
    return [future.result() for future in futures]
