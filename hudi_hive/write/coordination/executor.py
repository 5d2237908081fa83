"""Executors of the tasks of writes and table services: threads of this process, or those of an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

import pyarrow as pa

from hudi_hive.progress import tracked

_T = TypeVar("_T")
_R = TypeVar("_R")


class TaskExecutor(Protocol):
    """Runs a function over tasks. Function, tasks and results can be pickled, and a task may be run more than once."""

    def map(self, function: Callable[[_T], _R], tasks: Sequence[_T]) -> list[_R]:
        """The results in the order of the tasks; the first error is raised once none of the tasks runs any more."""


class LocalExecutor:
    """Runs tasks in threads of this process; Arrow's kernels and readers release the interpreter lock.

    Args:
        threads: tasks at a time; as many as there are processors without it.
        title: what the tasks do, for who watches their progress.
    """

    def __init__(self, threads: int | None = None, title: str = "writing") -> None:
        self._threads = threads if threads is not None else max(1, pa.cpu_count())
        self._title = title

    def map(self, function: Callable[[_T], _R], tasks: Sequence[_T]) -> list[_R]:
        """Results in the order of the tasks."""
        with tracked(self._title, len(tasks), "file groups") as progress:

            def run(task: _T) -> _R:
                result = function(task)
                progress.advance()
                return result

            return self._results(run, tasks)

    def _results(self, run: Callable[[_T], _R], tasks: Sequence[_T]) -> list[_R]:
        if len(tasks) < 2 or self._threads < 2:
            return [run(task) for task in tasks]
        with ThreadPoolExecutor(min(self._threads, len(tasks))) as pool:
            futures = [pool.submit(run, task) for task in tasks]
            try:
                return [future.result() for future in futures]
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
