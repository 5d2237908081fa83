"""Tasks of writes and table services on the executors of a Spark session."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark import RDD, SparkContext
from pyspark.errors import PySparkException

from hudi_hive.errors import HudiHiveError, SparkError, WriteError
from hudi_hive.options import parse_java_boolean
from hudi_hive.read.remote import deserialize_error, serialize_error
from hudi_hive.secret_references import collected_secrets
from hudi_hive.spark.bridge import release_memory, ship, step_jobs
from hudi_hive.table import MetaClient

_T = TypeVar("_T")
_R = TypeVar("_R")
_S = TypeVar("_S")

_MOST_TASKS: Final = 10_000
"""Tasks of Spark in one job: the driver holds some kilobytes of each. More tasks of ours run several to one."""

_LOSERS_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.05

_TRACEBACKS: Final = "SPARK_SIMPLIFIED_TRACEBACK"
"""What Spark sets for the Python workers of queries, and not for those of RDDs."""

_making: Final = threading.Lock()


def table_label(client: MetaClient) -> str:
    """What Spark's pages call a table: its name, and its database if it knows one."""
    config = client.config
    return config.name if config.database is None else f"{config.database}.{config.name}"


class SparkExecutor:
    """Runs a function over tasks, a Spark task each; Spark runs one again that failed or whose executor is lost.

    Args:
        context: a running context of classic PySpark.
    """

    def __init__(self, context: SparkContext) -> None:
        self._context = context

    def map(self, function: Callable[[_T], _R], tasks: Sequence[_T]) -> list[_R]:
        """The results in the order of the tasks.

        Raises:
            HudiHiveError: what a task raised; a ``SparkError`` for errors that are not of this package.
        """
        if len(tasks) < 2:
            return [function(task) for task in tasks]
        with self._running(function):
            return self._collected(self._spread(function, tasks))

    def exchange(
        self,
        spread: Callable[[_T], list[tuple[int, _R]]],
        gather: Callable[[int, list[_R]], _S],
        tasks: Sequence[_T],
        numbers: int,
    ) -> list[_S]:
        """Results of ``gather`` for what tasks of ``spread`` gave by number, through a shuffle; in their order.

        Raises:
            As :meth:`map`.
        """
        if not tasks:
            return []
        with self._running(gather):
            parted = self._spread(spread, tasks).flatMap(iter).groupByKey(numbers, int)
            step = ship(self._context, _with_serialized_errors(_Gather(gather)))
            results = self._collected(parted.map(step))
        return [result for _, result in sorted(results, key=_number)]

    def _spread(self, function: Callable[[_T], _R], tasks: Sequence[_T]) -> RDD[_R]:
        """The results of a function over tasks, by as many tasks of Spark up to a number."""
        with collected_secrets() as secrets:
            spread = self._context.parallelize(list(tasks), min(len(tasks), _MOST_TASKS))
        return spread.map(ship(self._context, _with_serialized_errors(function), secrets))

    def _collected(self, made: RDD[_R]) -> list[_R]:
        with _workers_of_queries(self._context):
            made.id()  # has the RDD made, once, with the environment of its workers
        return made.collect()

    @contextmanager
    def _running(self, function: Callable[..., Any]) -> Iterator[None]:
        """Context manager for a job: its label, and errors of this package."""
        try:
            with step_jobs(self._context, function), task_errors(), all_tasks_ended(self._context):
                yield
        except (PySparkException, Py4JJavaError) as error:
            # Services undo what they began when an error of this package comes, and tell it as such.
            raise SparkError(f"tasks failed on Spark: {str(error).strip().splitlines()[0]}") from error


class _Gather(Generic[_R, _S]):
    """Gathers what tasks gave for a number."""

    def __init__(self, gather: Callable[[int, list[_R]], _S]) -> None:
        self._gather = gather

    def __call__(self, item: tuple[int, Iterable[_R]]) -> tuple[int, _S]:
        number, parts = item
        return number, self._gather(number, list(parts))


def _number(item: tuple[int, object]) -> int:
    return item[0]


@contextmanager
def _workers_of_queries(context: SparkContext) -> Iterator[None]:
    """Context manager in which RDDs are made for the Python workers that run steps of queries.

    Spark starts a daemon and workers for each environment, and each worker loads all its modules anew. Where a session
    has ``spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled`` off, RDDs have workers of their own.
    """
    with _making:
        if _TRACEBACKS in context.environment:
            yield
            return
        context.environment[_TRACEBACKS] = "1"
        try:
            yield
        finally:
            del context.environment[_TRACEBACKS]


def _with_serialized_errors(function: Callable[[_T], _R]) -> Callable[[_T], _R]:
    """The function with errors of this package in a form that reaches the driver; it leaves no memory taken."""

    def call(task: _T) -> _R:
        try:
            return function(task)
        except HudiHiveError as error:
            raise serialize_error(error) from None
        finally:
            release_memory()

    return call


@contextmanager
def task_errors() -> Iterator[None]:
    """Context manager that raises errors of tasks unchanged from Spark's calls."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        ours = deserialize_error(str(error))
        if ours is None:
            raise
        raise ours from None


@contextmanager
def all_tasks_ended(context: SparkContext) -> Iterator[None]:
    """Context manager that waits for the end of all tasks which Spark started in the block.

    With speculation, Spark goes on when the first of two attempts is done and only then stops the other one; when a job
    fails, its other tasks are stopped behind the error. What those write after files of failed attempts were removed
    would stay in the table.

    Raises:
        WriteError: an attempt cannot be stopped.
    """
    tag = f"hudi-hive-{uuid4().hex}"
    context.addJobTag(tag)
    try:
        yield
    except BaseException:
        context.removeJobTag(tag)
        _all_ended(context, tag)
        raise
    context.removeJobTag(tag)
    speculative = parse_java_boolean(context._jsc.sc().conf().get("spark.speculation", "false"))
    if speculative and not _all_ended(context, tag):
        raise WriteError(
            "a task that Spark ran twice does not stop", remedy="write again, or without spark.speculation"
        )


def _all_ended(context: SparkContext, tag: str) -> bool:
    """Wait for the tasks of a tag to end; whether they did in time."""
    # What the tracker knows comes by this bus.
    context._jsc.sc().listenerBus().waitUntilEmpty()
    ends = time.monotonic() + _LOSERS_SECONDS
    while _running(context, tag):
        if time.monotonic() > ends:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _running(context: SparkContext, tag: str) -> int:
    """Tasks of the jobs of a tag that run now."""
    tracker: Any = context._jsc.sc().statusTracker()
    running = 0
    for job in tracker.getJobIdsForTag(tag):
        job_info = tracker.getJobInfo(job)
        for stage in job_info.get().stageIds() if job_info.isDefined() else ():
            info = tracker.getStageInfo(stage)
            running += int(info.get().numActiveTasks()) if info.isDefined() else 0
    return running
