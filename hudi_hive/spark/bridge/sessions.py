"""A session of the JVM as PySpark's, and its settings."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple

from pyspark import RDD, SparkContext
from pyspark.sql import DataFrame, SparkSession

from hudi_hive.spark.versions import SPARK, JavaValue

_ADAPTIVE: Final = "spark.sql.adaptive.enabled"
_SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"
_BATCH_BYTES: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
_BATCH_LINES: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_TO_FRAME: Final = "toDF"

_MOST_BYTES: Final = 64 << 20
"""What such a session sends a step of Python at once."""
_MOST_LINES: Final = 1024
"""Lines of at most 256 kB that such a session sends at once with PySpark that does not count bytes: before 4.1."""

_making = threading.Lock()


class _PlanningOnce(NamedTuple):
    """A session that was made of another one, with a number of tasks."""

    of: JavaValue
    tasks: int
    session: SparkSession


_made_before: ContextVar[list[_PlanningOnce] | None] = ContextVar("hudi_hive_sessions", default=None)


def python_session(session: JavaValue) -> SparkSession:
    """PySpark's session over one of the JVM, which ``RDD.toDF`` goes on not to know of."""
    context = SparkContext._active_spark_context
    assert context is not None
    with _making:
        # Each new one has RDD.toDF make frames of its own, also those of the user.
        of_user = getattr(RDD, _TO_FRAME, None)
        try:
            return _python_session(context, session)
        finally:
            if of_user is not None:
                setattr(RDD, _TO_FRAME, of_user)


def _python_session(context: SparkContext, session: JavaValue) -> SparkSession:
    if getattr(SparkSession, "_instantiatedSession") is not None:  # noqa: B009 - PySpark has no other name for it
        return SparkSession(context, session)
    # PySpark makes the first that it sees the JVM's default; where no Python drives Spark there is another.
    sessions = _classic(context, "SparkSession")
    default = sessions.getDefaultSession()
    made = SparkSession(context, session)
    if default.isDefined():
        sessions.setDefaultSession(default.get())
    return made


def session_settings(session: JavaValue) -> dict[str, str]:
    """Names and texts of all that is set in a session of the JVM."""
    return SPARK.session_settings(session)


def planning_once(spark: SparkSession, tasks: int) -> SparkSession:
    """A session like another one that plans each query once, before it runs.

    Adaptive execution runs a job for each shuffle and plans anew behind it. That costs more than it saves where rows
    are few, or go to tasks that are numbered already.

    Args:
        spark: the other session, whose settings, views and functions it has.
        tasks: after each shuffle.
    """
    made = _made_before.get()
    for one in made or ():
        if one.tasks == tasks and one.of == spark._jsparkSession:
            return one.session
    session = python_session(spark._jsparkSession.cloneSession())
    for name, text in _settings(session, tasks).items():
        session.conf.set(name, text)
    if made is not None:
        made.append(_PlanningOnce(spark._jsparkSession, tasks, session))
    return session


def plans_once(spark: SparkSession, tasks: int) -> bool:
    """Whether a session is like those of :func:`planning_once`."""
    return all(spark.conf.get(name) == text for name, text in _settings(spark, tasks).items())


def _settings(spark: SparkSession, tasks: int) -> dict[str, str]:
    """What such a session sets, by names; its lines may be packed rows, of which few are to be sent at once."""
    counts_bytes = spark.conf.isModifiable(_BATCH_BYTES)
    batch = (_BATCH_BYTES, f"{_MOST_BYTES}b") if counts_bytes else (_BATCH_LINES, str(_MOST_LINES))
    return dict([(_ADAPTIVE, "false"), (_SHUFFLE_PARTITIONS, str(tasks)), batch])


@contextmanager
def shared_sessions() -> Iterator[None]:
    """Context manager in which :func:`planning_once` makes no second session of one.

    A clone builds its parser, analyzer and optimizer anew, and settings do not change while a statement runs.
    """
    if _made_before.get() is not None:
        yield
        return
    token = _made_before.set([])
    try:
        yield
    finally:
        _made_before.reset(token)


def in_session(frame: DataFrame, session: SparkSession) -> DataFrame:
    """The rows of a frame as one of another session, which plans the queries over them."""
    if frame.sparkSession is session:
        return frame
    frames = _classic(session.sparkContext, "Dataset")
    return DataFrame(frames.ofRows(session._jsparkSession, frame._jdf.queryExecution().analyzed()), session)


def _classic(context: SparkContext, name: str) -> JavaValue:
    """A class of the JVM's sessions and frames."""
    return getattr(context._jvm, f"org.apache.spark.sql.{SPARK.classic}.{name}".replace("..", "."))
