"""Tasks of writes and table services on the executors of a Spark session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pyspark import SparkContext

from hudi_hive.errors import HudiHiveError
from hudi_hive.read.exported import carrying

_T = TypeVar("_T")
_R = TypeVar("_R")


class SparkExecutor:
    """Runs a function over tasks, a Spark task each; Spark runs one again whose executor is lost.

    Args:
        context: a running context of classic PySpark.
    """

    def __init__(self, context: SparkContext) -> None:
        self._context = context

    def map(self, function: Callable[[_T], _R], tasks: Sequence[_T]) -> list[_R]:
        """The results in the order of the tasks."""
        if len(tasks) < 2:
            return [function(task) for task in tasks]
        spread = self._context.parallelize(list(tasks), len(tasks))
        results: list[_R] = spread.map(_told(function)).collect()
        return results


def _told(function: Callable[[_T], _R]) -> Callable[[_T], _R]:
    """The function with errors of this package in a form that reaches the driver."""

    def call(task: _T) -> _R:
        try:
            return function(task)
        except HudiHiveError as error:
            raise carrying(error) from None

    return call
