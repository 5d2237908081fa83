"""Runs several producers at a time and yields their results in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Final, Generic, TypeVar

from hudi_hive.progress import ProgressStep

T = TypeVar("T")
R = TypeVar("R")

_BUFFERED: Final = 4
"""Results of one producer that may wait to be taken."""

_AHEAD: Final = 4
"""Producers started ahead, times the number of threads."""


def in_order(producers: Iterable[Callable[[], Iterator[T]]], threads: int) -> Generator[T, None, None]:
    """Yield the results of producers that run concurrently, in the order of the producers.

    Up to ``threads`` of them run at the same time and wait when too many of their results were not taken. An error of a
    producer is raised in its place. Closing the generator stops them.
    """
    source = iter(producers)
    first = list(_take(source, 2))
    if threads <= 1 or len(first) < 2:
        for produce in first:
            yield from produce()
        for produce in source:
            yield from produce()
        return
    stop = threading.Event()
    running: deque[_Channel[T]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="hudi-hive-read") as pool:

        def start(produce: Callable[[], Iterator[T]]) -> None:
            channel: _Channel[T] = _Channel(stop)
            running.append(channel)
            pool.submit(channel.run, produce)

        try:
            for produce in first:
                start(produce)
            for produce in _take(source, threads * _AHEAD):
                start(produce)
            while running:
                # The oldest one always has a thread, so taking from it comes to an end.
                yield from running[0].results()
                running.popleft()
                for produce in _take(source, 1):
                    start(produce)
        finally:
            stop.set()
            for channel in running:
                channel.release()


def _take(source: Iterator[T], count: int) -> Iterator[T]:
    for _ in range(count):
        try:
            yield next(source)
        except StopIteration:
            return


def counted(producer: Callable[[], Iterator[T]], step: ProgressStep) -> Callable[[], Iterator[T]]:
    """The same producer, which tells a step of work when its last result was taken."""

    def produce() -> Iterator[T]:
        yield from producer()
        step.advance()

    return produce


class _End:
    """Ends a producer's results, well or with an error."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _Channel(Generic[R]):
    """Results of one producer on their way from its thread to the consumer."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._queue: SimpleQueue[R | _End] = SimpleQueue()
        self._room = threading.Semaphore(_BUFFERED)

    def run(self, produce: Callable[[], Iterator[R]]) -> None:
        """In the pool's thread: produce until done or stopped."""
        try:
            if not self._stop.is_set():
                for result in produce():
                    self._room.acquire()
                    if self._stop.is_set():
                        break
                    self._queue.put(result)
        except BaseException as error:  # handed to the consumer, whatever it is
            self._queue.put(_End(error))
        else:
            self._queue.put(_End(None))

    def results(self) -> Iterator[R]:
        """In the consumer's thread: the results until the end."""
        while True:
            item = self._queue.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            self._room.release()
            yield item

    def release(self) -> None:
        """Wake a producer that waits for room, so that it sees the stop."""
        self._room.release()
