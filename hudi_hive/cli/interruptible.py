"""What Ctrl-C and SIGTERM do: end native code, which does not handle Python's signals, and end what goes on and on."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

T = TypeVar("T")

_LAST_TRIES, _LAST_WAIT = 50, 0.2
"""How often work is told to end, and the seconds that it gets for it each time."""

_LOOK_SECONDS: Final = 1.0
"""How long a signal may go unnoticed that comes just before a thread begins to wait, and so does not wake it."""

_ENDING: Final = (signal.SIGINT, signal.SIGTERM)


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
        while not ended.wait(_LOOK_SECONDS):
            pass
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
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end what the block does after the step at hand; a second one interrupts that too.

    The main thread cannot see to it: a signal that comes just before it begins to wait does not wake it, and one that
    comes while it has a lock finds that lock taken. So another thread is told of signals, by a pipe.

    Args:
        stop: called once, in another thread, when the first signal comes; it makes the block end soon.
    """
    came: list[int] = []

    def handle(number: int, frame: object) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)

    def pass_on() -> None:
        while number := os.read(reader, 1)[0]:  # 0: the block has ended
            if number in _ENDING:
                stop()

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    thread = threading.Thread(target=pass_on, name="hudi-hive-signals", daemon=True)
    pipe_before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    before = {number: signal.signal(number, handle) for number in _ENDING}
    thread.start()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(pipe_before)
        os.write(writer, b"\0")
        thread.join()
        os.close(reader)
        os.close(writer)
