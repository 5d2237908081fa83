"""What signals end, whatever the main thread does when they come."""

from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

from hudi_hive.cli.interruptible import run_interruptible, stopped_by_signals
from tests.support.running.waiting import wait_until

HANG = 120.0


def _is_waiting(thread: threading.Thread) -> bool:
    """Whether a thread has begun to wait for a lock, other than for a thread that it starts."""
    frame = sys._current_frames()[thread.ident or 0]
    callers = [frame.f_code]
    while frame.f_back is not None:
        frame = frame.f_back
        callers.append(frame.f_code)
    return callers[0] is threading.Condition.wait.__code__ and threading.Thread.start.__code__ not in callers


def _signalled_while_waiting(number: int, ended: threading.Event) -> bool:
    """Wait for an event while a signal comes that does not wake the main thread, as one that comes just before."""
    main = threading.main_thread()

    def send() -> None:
        wait_until(lambda: _is_waiting(main), "the main thread to wait")
        os.kill(os.getpid(), number)

    sender = threading.Thread(target=send)
    sender.start()
    # Another thread of the process takes it then.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        return ended.wait(HANG)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        sender.join()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_wakes_nothing_ends_the_block(number: int) -> None:
    before = signal.getsignal(number), signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(before[1])
    threads, ended = threading.active_count(), threading.Event()
    with stopped_by_signals(ended.set):
        assert _signalled_while_waiting(number, ended)
    assert (signal.getsignal(number), signal.set_wakeup_fd(-1)) == before
    signal.set_wakeup_fd(before[1])
    assert threading.active_count() == threads


def test_a_signal_at_the_end_of_the_block_has_been_passed_on_behind_it() -> None:
    ended = threading.Event()
    with stopped_by_signals(ended.set):
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.is_set()


def test_a_second_signal_interrupts_the_block() -> None:
    calls: list[int] = []
    with pytest.raises(KeyboardInterrupt), stopped_by_signals(lambda: calls.append(1)):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(HANG)
    assert calls


def test_a_signal_that_wakes_nothing_ends_work_in_another_thread() -> None:
    ended = threading.Event()
    interrupted: list[bool] = []

    def work() -> None:
        wait_until(lambda: _is_waiting(threading.main_thread()), "the main thread to wait")
        os.kill(os.getpid(), signal.SIGINT)
        interrupted.append(ended.wait(HANG))

    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with pytest.raises(KeyboardInterrupt):
            run_interruptible(work, ended.set)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    assert interrupted == [True]
