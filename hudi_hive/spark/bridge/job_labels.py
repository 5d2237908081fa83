"""What Spark's pages call the jobs of a statement: the statement, and the step of it that a job is.

A job is described as ``hudi upsert lake.trips: write files``; the jobs of a statement are one group, unless the caller
has put them into one, by which it may cancel them. Afterwards group and description are the caller's again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Final
from uuid import uuid4

from pyspark import SparkContext

from hudi_hive.spark.bridge.sessions import shared_sessions

_DESCRIPTION: Final = "spark.job.description"
_GROUP: Final = "spark.jobGroup.id"
_VERB: Final = re.compile(r"^[A-Z ]+(?= )")

_statement: ContextVar[str] = ContextVar("hudi_hive_statement", default="")


@contextmanager
def statement_jobs(context: SparkContext, statement: str) -> Iterator[None]:
    """Describe the jobs of a statement; what it does by another one counts as its own.

    Args:
        context: the jobs' context.
        statement: what it does, to which table; words in capitals at its beginning are written small.
    """
    if _statement.get():
        yield
        return
    text = "hudi " + _VERB.sub(lambda verb: verb[0].lower(), statement)
    properties = {_DESCRIPTION: text}
    if context.getLocalProperty(_GROUP) is None:
        properties[_GROUP] = f"hudi-{uuid4().hex}"
    token = _statement.set(text)
    try:
        with _local_properties(context, properties), shared_sessions():
            yield
    finally:
        _statement.reset(token)


@contextmanager
def step_jobs(context: SparkContext, step: str | Callable[..., Any]) -> Iterator[None]:
    """Describe the jobs of one step of the statement that is under way.

    Args:
        context: the jobs' context.
        step: what it does; or the function that its tasks run, whose name says it.
    """
    text = f"{_statement.get() or 'hudi'}: {step if isinstance(step, str) else _words(step)}"
    with _local_properties(context, {_DESCRIPTION: text}):
        yield


def _words(function: Callable[..., Any]) -> str:
    while isinstance(function, partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__).strip("_")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()


@contextmanager
def _local_properties(context: SparkContext, properties: dict[str, str]) -> Iterator[None]:
    """Set properties of this thread's jobs."""
    before: dict[str, Any] = {name: context.getLocalProperty(name) for name in properties}
    for name, value in properties.items():
        context.setLocalProperty(name, value)
    try:
        yield
    finally:
        if context._jsc is not None:  # a context that was stopped meanwhile
            for name, value in before.items():
                context.setLocalProperty(name, value)
