"""What Ctrl-C and SIGTERM do: end native code, which does not handle Python's signals, and end what goes on and on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

_LAST_TRIES, _LAST_WAIT = 50, 0.2
"""How often work is told to end, and the seconds that it gets for it each time."""


def run_interruptible(work: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """Run a function in another thread while this one waits, so that signals are handled at once.

    Args:
        work: what to do.
        interrupt: called from this thread, perhaps several times, when a signal breaks the waiting off; it makes
            ``work`` end soon.

    Returns:
        What the work returns.

    Raises:
        KeyboardInterrupt: a signal came.
        BaseException: whatever the work raises.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    # Not the thread's own state: before Python 3.13, a join() that a signal breaks off takes the running thread for an
    # ended one from then on.
    ended = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    worker = threading.Thread(target=run, name="hudi-hive-command", daemon=True)
    try:
        worker.start()
        ended.wait()
    except BaseException:
        for _ in range(_LAST_TRIES):  # not once: work that is between two native calls notices nothing
            interrupt()
            if ended.wait(_LAST_WAIT):
                break
        errors.clear()  # its traceback would keep the work's objects to the end of the process
        raise
    if errors:
        raise errors.pop()
    return results.pop()


@contextmanager
def stopped_by_signals(stop: Callable[[], None], is_stopped: Callable[[], bool]) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end what the block does after the step at hand; a second one interrupts that too.

    Args:
        stop: called in a signal handler; it makes the block end soon.
        is_stopped: whether it was called.
    """

    def handle(number: int, frame: object) -> None:
        if is_stopped():
            raise KeyboardInterrupt
        stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
